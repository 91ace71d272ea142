//! `kith.toml` and `~/.kith/config.toml`.

use kith_testkit::server::ServerReply;
use serde_json::json;

use crate::check;
use crate::house::{House, Vendor, of_type};

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
    error: `[house]/kith.toml` line 5: unknown key `baseurl` in `[models.main]`
    hint: did you mean `baseUrl`?
    ");
    check!(house.kith(&["ask", "hi", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"invalid_request","message":"`[house]/kith.toml` line 5: unknown key `baseurl` in `[models.main]`","line":5,"hint":"did you mean `baseUrl`?"}}
    "#);
    assert_eq!(house.files(), ["Agent.md", "kith.toml"]);
}

#[test]
fn a_wrong_type_and_broken_toml_are_refused_with_their_line() {
    let house = House::new();
    house.write("kith.toml", "[models.a]\nwire = 3\n");
    check!(house.kith(&["ask", "hi"]), @r#"
    exit 1
    --- stderr
    error: `[house]/kith.toml` line 2: `models.a.wire` must be one of `"openai_chat"`, `"anthropic"`, `"openai_responses"`, `"demo"`
    "#);
    house.write("kith.toml", "[models\n");
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: `[house]/kith.toml` line 1: unclosed table, expected `]`
    ");
    house.write("kith.toml", "# rules\n[policy]\ndeny = \"rm\"\n");
    check!(house.kith(&["ask", "hi", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"invalid_request","message":"`[house]/kith.toml` line 3: `policy.deny` must be a list","line":3}}
    "#);
    house.write("kith.toml", "");
    house.write("../user/.kith/config.toml", "[limits]\nstep = 3\n");
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: `[root]/user/.kith/config.toml` line 2: unknown key `step` in `[limits]`
    hint: did you mean `steps`?
    ");
    assert_eq!(house.files(), ["Agent.md", "kith.toml"]);
}

#[test]
fn a_key_in_plain_text_is_refused_and_not_shown() {
    let house = House::new();
    let text = "[models.a]\nwire = \"anthropic\"\napiKey = \"sk-secret\"\n";
    house.write("kith.toml", text);
    check!(house.kith(&["ask", "hi"]), @r#"
    exit 1
    --- stderr
    error: `[house]/kith.toml` line 3: `models.a.apiKey` must not be written in plain text
    hint: set an environment variable and write `"${NAME}"`
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
             parameters = {{ temperature = 0.5, stream_options = false }}\n"
        ),
    );
    house.kith(&["trust"]).succeeded();
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: the settings use the environment variable `MY_KEY`, which is not set
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
    assert_eq!(body.get("stream_options"), None);
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
    error: the settings name the model `main`, but have no `[models.main]`
    hint: add `[models.main]`, or use `demo`
    ");
    house.write("kith.toml", "[models.main]\nwire = \"telepathy\"\n");
    check!(house.kith(&["ask", "hi", "--model", "main"]), @r#"
    exit 1
    --- stderr
    error: `[house]/kith.toml` line 2: `models.main.wire` must be one of `"openai_chat"`, `"anthropic"`, `"openai_responses"`, `"demo"`
    "#);
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
    error: the settings name the model `other`, but have no `[models.other]`
    hint: add `[models.other]`, or use `demo`
    ");
}

/// The first event of this type, of the only session.
fn first(house: &House, event_type: &str) -> serde_json::Value {
    of_type(&house.log(), event_type)[0].clone()
}

#[test]
fn the_limits_of_a_turn_are_those_of_the_settings() {
    let house = House::new();
    house.write("kith.toml", "[limits]\nsteps = 1\nwall = \"10m\"\ntokens = 50000\ncost = 0.25\n");
    let ran = house.kith(&["ask", "list the files", "--model", "demo"]);
    assert_eq!(ran.code, 4, "{}", ran.shown());
    let limits = &first(&house, "turn_started")["limits"];
    let expected = json!({ "steps": 1, "repeats": 5, "wallMs": 600_000, "tokens": 50_000, "costMicros": 250_000 });
    assert_eq!(*limits, expected);
    assert_eq!(first(&house, "turn_ended")["bound"], "steps");
    assert!(ran.stderr.contains("limit of 1 model request"), "{}", ran.stderr);
}

#[test]
fn a_turn_is_told_in_the_language_of_the_settings_else_of_the_user() {
    for (settings, user, expected) in [
        ("", "", "en"),
        ("", "- **Preferred language:** 中文\n", "zh"),
        ("[ui]\nlanguage = \"en\"\n", "- **Preferred language:** 中文\n", "en"),
        ("[ui]\nlanguage = \"zh\"\n", "", "zh"),
        ("[ui]\nlanguage = \"auto\"\n", "Language: Chinese\n", "zh"),
    ] {
        let house = House::new();
        house.write("kith.toml", settings);
        house.write("USER.md", user);
        house.kith(&["ask", "say hi", "--model", "demo"]).succeeded();
        assert_eq!(first(&house, "turn_started")["language"], expected, "{settings}{user}");
    }
}

#[test]
fn an_answer_says_what_it_cost_where_the_model_has_a_price() {
    let vendor = Vendor::new([ServerReply::text("hello")]);
    let house = House::new();
    let url = vendor.server.base_url();
    house.write(
        "kith.toml",
        format!(
            "[models]\nuse = \"a\"\n[models.a]\nwire = \"openai_chat\"\nbaseUrl = \"{url}\"\n\
             price = {{ input = 1, output = 1000 }}\n"
        ),
    );
    let answer = house.json(&["ask", "hi", "--json"]);
    let usage = &answer["usage"];
    let tokens = |name: &str| usage[name].as_u64().unwrap();
    assert!(tokens("output") > 0, "{usage}");
    assert_eq!(
        tokens("costMicros"),
        tokens("input") + tokens("cacheRead") + 1000 * tokens("output")
    );
}

#[test]
fn the_doctor_counts_the_problems_it_does_not_list() {
    let house = House::new();
    let model = |n: usize| format!("[models.m{n}]\nwire = \"demo\"\n");
    house.write("kith.toml", (0..103).map(model).collect::<String>());
    let told = house.kith(&["doctor"]).succeeded();
    assert!(told.stdout.contains(" and 3 more\n"), "{}", told.stdout);
}

#[test]
fn files_that_the_settings_deny_are_not_read() {
    for (settings, reason) in [
        ("mode = \"deny\"", "denies every call"),
        ("deny = [\"list_files\"]", "denies it"),
        ("deny = [\"list_files(**)\"]", "denies it"),
    ] {
        let house = House::new();
        house.write("kith.toml", format!("[policy]\n{settings}\n"));
        house.kith(&["ask", "list the files", "--model", "demo"]).succeeded();
        let judged = first(&house, "call_judged");
        assert_eq!(judged["verdict"], "deny", "{settings}");
        assert!(judged["reason"].as_str().unwrap().contains(reason), "{judged}");
    }
}

#[test]
fn the_doctor_lists_the_keys_in_force_and_those_without_effect() {
    let house = House::new();
    house.write("kith.toml", "[limits]\nsteps = 9\ncost = 1\n[policy]\ndeny = [\"rm\"]\n");
    house.write("../user/.kith/config.toml", "[limits]\nsteps = 3\n[ui]\nlanguage = \"zh\"\n");
    let told = house.json(&["doctor", "--json"]);
    let checks = told["checks"].as_array().unwrap();
    let about = |name: &str| -> Vec<String> {
        let found = checks.iter().filter(|check| check["name"] == name);
        let root = house.path("").parent().unwrap().display().to_string();
        found
            .map(|it| format!("{}: {}", it["state"], it["detail"]).replace('"', ""))
            .map(|it| it.replace(&root, ""))
            .collect()
    };
    assert_eq!(told["ok"], true);
    assert_eq!(
        about("settings"),
        ["ok: read `/house/kith.toml` and `/user/.kith/config.toml`: limits.cost, \
             limits.steps, policy.deny, ui.language"]
    );
    assert_eq!(
        about("setting"),
        ["warn: `limits.cost` has no effect because the model has no price"]
    );
}
