console.log(require("./sum.js")(1, 2));
