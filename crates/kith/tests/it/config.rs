//! `kith.toml` and `~/.kith/config.toml`.

use kith_testkit::server::ServerReply;

use crate::check;
use crate::house::{House, Vendor};

#[test]
fn a_misspelt_setting_is_refused_with_file_line_and_the_nearest_name() {
    let house = House::new();
    house.write(
        "kith.toml",
        "[models]\nuse = \"main\"\n[models.main]\nwire = \"demo\"\nbaseurl = \"x\"\n",
    );
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: `[house]/kith.toml` line 5: there is no `baseurl` in a model
    hint: did you mean `baseUrl`?
    ");
    check!(house.kith(&["ask", "hi", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"invalid_request","message":"`[house]/kith.toml` line 5: there is no `baseurl` in a model","line":5,"hint":"did you mean `baseUrl`?"}}
    "#);
    assert_eq!(house.files(), ["Agent.md", "kith.toml"]);
}

#[test]
fn a_wrong_type_broken_toml_and_what_is_not_obeyed_are_refused_with_their_line() {
    let house = House::new();
    house.write("kith.toml", "[models.a]\nwire = 3\n");
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: `[house]/kith.toml` line 2: invalid type: integer `3`, expected a string
    ");
    house.write("kith.toml", "[models\n");
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: `[house]/kith.toml` line 1: unclosed table, expected `]`
    ");
    house.write("kith.toml", "# rules\n[policy]\ndeny = [\"rm\"]\n");
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: `[house]/kith.toml` line 2: `policy` is not obeyed by this version yet
    hint: put a `#` before it, so that nobody relies on it
    ");
}

#[test]
fn a_key_in_plain_text_is_refused_and_not_shown() {
    let house = House::new();
    let text = "[models.a]\nwire = \"openai_chat\"\napiKey = \"sk-secret\"\n";
    house.write("kith.toml", text);
    check!(house.kith(&["ask", "hi"]), @r#"
    exit 1
    --- stderr
    error: `[house]/kith.toml` line 3: a key must not stand here in plain text
    hint: write `apiKey = "${NAME}"` and set NAME in the environment
    "#);
}

#[test]
fn a_file_that_cannot_be_settings_is_refused() {
    let house = House::new();
    house.write("kith.toml", b"# \xff\n");
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: `[house]/kith.toml` is not UTF-8 text
    ");
    house.write("kith.toml", " ".repeat(2 * 1024 * 1024));
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: `[house]/kith.toml` is larger than 1 MiB
    ");
    std::fs::remove_file(house.path("kith.toml")).unwrap();
    std::fs::create_dir(house.path("kith.toml")).unwrap();
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: `[house]/kith.toml` is not a file; remove it
    ");
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn a_model_of_the_settings_is_asked_with_its_key_and_parameters() {
    let vendor = Vendor::new([ServerReply::text("hello"), ServerReply::text("hello")]);
    let mut house = House::new();
    let url = vendor.server.base_url();
    house.write(
        "kith.toml",
        format!(
            "[models]\nuse = \"local\"\n[models.local]\nwire = \"openai_chat\"\nbaseUrl = \"{url}\"\n\
             apiKey = \"${{MY_KEY}}\"\nmodel = \"tiny\"\nmaxTokens = 99\n\
             parameters = {{ temperature = 0.5 }}\n"
        ),
    );
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: the environment variable `MY_KEY`, named in kith.toml, is not set
    hint: `export MY_KEY=…`, or use `--model demo`, which needs no key
    ");
    house.set("MY_KEY", "k-1");
    let ran = house.kith(&["ask", "hi"]).succeeded();
    assert_eq!(ran.stderr, "");
    house.unset("MY_KEY");
    let body = &vendor.bodies()[0];
    assert_eq!(body["model"], "tiny");
    assert_eq!(body["temperature"], 0.5);
    assert_eq!(body["max_tokens"], 99);
    assert_eq!(vendor.requests()[0].header("authorization"), Some("Bearer k-1"));
    house.kith(&["ask", "hi", "--model", "demo"]).succeeded();
    assert_eq!(vendor.requests().len(), 1);
}

#[test]
fn a_model_that_the_settings_do_not_describe_is_named() {
    let house = House::new();
    house.write("kith.toml", "[models]\nuse = \"main\"\n");
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: kith.toml chooses the model `main`, but has no `[models.main]`
    hint: add `[models.main]`, or use `demo`
    ");
    house.write("kith.toml", "[models.main]\nwire = \"telepathy\"\n");
    check!(house.kith(&["ask", "hi", "--model", "main"]), @"
    exit 1
    --- stderr
    error: kith.toml: `[models.main]` has the wire `telepathy`, which does not exist
    hint: wires are `openai_chat`, `anthropic`, `openai_responses` and `demo`
    ");
    house.write("kith.toml", "[models.main]\nwire = \"anthropic\"\n");
    check!(house.kith(&["ask", "hi", "--model", "main"]), @"
    exit 3
    --- stderr
    error: the wire `anthropic` is not built yet (`[models.main]` asks for it)
    hint: `--model demo` needs no key; OPENAI_API_KEY with OPENAI_BASE_URL reaches any compatible server
    ");
}

#[test]
fn the_users_settings_hold_for_every_house_and_the_nearer_wins() {
    let house = House::new();
    let user = "[models]\nuse = \"mine\"\n[models.mine]\nwire = \"demo\"\n";
    house.write("../user/.kith/config.toml", user);
    let ran = house.kith(&["ask", "say hi"]).succeeded();
    assert_eq!(ran.stderr, "");
    house.write("kith.toml", "[models]\nuse = \"other\"\n");
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: kith.toml chooses the model `other`, but has no `[models.other]`
    hint: add `[models.other]`, or use `demo`
    ");
}
