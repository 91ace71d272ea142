const test = require("node:test");
const assert = require("node:assert");
const http = require("node:http");
const sum = require("./sum.js");

test("two numbers are added", () => assert.equal(sum(1, 2), 3));

test("a server answers on the loopback device", async () => {
  const server = http.createServer((_, response) => response.end("hello"));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const answer = await fetch(`http://127.0.0.1:${server.address().port}/`);
  assert.equal(await answer.text(), "hello");
  server.closeAllConnections();
  server.close();
});
