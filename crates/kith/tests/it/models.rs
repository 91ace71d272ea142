//! Which model is asked, and failures of models.

use kith_testkit::server::ServerReply;
use serde_json::json;

use crate::check;
use crate::house::{House, Vendor, of_type, types};

fn raw(status: u16, body: &str) -> ServerReply {
    let content_type = "application/json".to_owned();
    ServerReply::Raw { status, content_type, body: body.as_bytes().to_vec() }
}

/// An answer of Anthropic Messages.
fn claude(text: &str) -> ServerReply {
    let block = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": text}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 7, "cache_read_input_tokens": 5, "output_tokens": 3}});
    let stop = json!({"type": "message_stop"});
    stream(&[block, end, stop])
}

/// An answer of OpenAI Responses.
fn response(text: &str) -> ServerReply {
    let delta = json!({"type": "response.output_text.delta", "output_index": 0, "delta": text});
    let end = json!({"type": "response.completed", "response": {"status": "completed"}});
    stream(&[delta, end])
}

fn stream(events: &[serde_json::Value]) -> ServerReply {
    let body = events.iter().map(|event| format!("data: {event}\n\n")).collect::<Vec<_>>().concat();
    let content_type = "text/event-stream".to_owned();
    ServerReply::Raw { status: 200, content_type, body: body.into_bytes() }
}

#[test]
fn the_key_of_anthropic_comes_first_and_a_name_finds_its_vendor() {
    let anthropic = Vendor::new([claude("I am Claude"), claude("still Claude")]);
    let openai = Vendor::new([ServerReply::text("I am not")]);
    let house = House::asking(&openai)
        .with("ANTHROPIC_API_KEY", "sk-ant-0123456789")
        .with("ANTHROPIC_BASE_URL", &anthropic.server.base_url());
    let answer = house.json(&["ask", "hi", "--json"]);
    assert_eq!(
        (&answer["text"], &answer["usage"]["cacheRead"]),
        (&json!("I am Claude"), &json!(5))
    );
    assert_eq!(house.json(&["ask", "hi", "--model", "gpt-4o", "--json"])["text"], "I am not");
    assert_eq!(house.json(&["ask", "hi", "--model", "claude-x", "--json"])["text"], "still Claude");
    let requests = anthropic.requests();
    assert_eq!(requests[0].path, "/v1/messages");
    assert_eq!(requests[0].header("x-api-key"), Some("sk-ant-0123456789"));
    assert_eq!(requests[0].header("authorization"), None);
    let models: Vec<_> = anthropic.bodies().iter().map(|it| it["model"].clone()).collect();
    assert_eq!(models, ["claude-sonnet-5-5", "claude-x"]);
    assert_eq!(openai.bodies()[0]["model"], "gpt-4o");
    // Each answer names the model that gave it.
    let log = house.log();
    let named = of_type(&log, "assistant_message").into_iter().map(|it| &it["model"]);
    assert!(named.eq(["claude-sonnet-5-5", "gpt-4o", "claude-x"]), "{log:?}");
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
    // The settings win over any key.
    house.write("kith.toml", "[models]\nuse = \"demo\"\n");
    house.kith(&["ask", "say hi"]).succeeded();
    assert_eq!((anthropic.requests().len(), openai.requests().len()), (2, 1));
}

#[test]
fn a_model_of_the_settings_speaks_the_wire_that_they_name() {
    let vendor = Vendor::new([response("over Responses"), claude("over Messages")]);
    let house = House::new().with("KEY", "sk-test-0123456789");
    let url = vendor.server.base_url();
    let model = |name: &str, wire: &str| {
        format!(
            "[models.{name}]\nwire = \"{wire}\"\nbaseUrl = \"{url}\"\napiKey = \"${{KEY}}\"\nmaxTokens = 9\n"
        )
    };
    house.write("kith.toml", model("r", "openai_responses") + &model("a", "anthropic"));
    house.kith(&["trust", "."]).succeeded();
    assert_eq!(house.json(&["ask", "hi", "--model", "r", "--json"])["text"], "over Responses");
    assert_eq!(house.json(&["ask", "hi", "--model", "a", "--json"])["text"], "over Messages");
    let (requests, bodies) = (vendor.requests(), vendor.bodies());
    assert_eq!(
        (requests[0].path.as_str(), requests[1].path.as_str()),
        ("/v1/responses", "/v1/messages")
    );
    assert_eq!((&bodies[0]["max_output_tokens"], &bodies[1]["max_tokens"]), (&json!(9), &json!(9)));
    let verified = house.json(&["session", "verify", "latest", "--json"]);
    assert_eq!((&verified["ok"], &verified["requests"]), (&json!(true), &json!(2)));
}

#[test]
fn an_unknown_model_is_named_and_nothing_is_written() {
    let house = House::new();
    check!(house.kith(&["ask", "hi", "--model", "gpt-9"]), @"
    exit 1
    --- stderr
    error: unknown model `gpt-9`: it is not in the settings, and no API key is set
    hint: set ANTHROPIC_API_KEY or OPENAI_API_KEY to use a vendor's models by name, or use `--model demo`, which needs no key
    ");
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn the_environment_names_server_and_model() {
    let vendor = Vendor::new([ServerReply::text("hello"), ServerReply::text("hello")]);
    let house = House::asking(&vendor).with("OPENAI_MODEL", "small");
    check!(house.kith(&["ask", "hi"]), @"
    exit 0
    --- stdout
    hello
    ");
    house.kith(&["ask", "hi", "--model", "large"]).succeeded();
    let models: Vec<_> = vendor.bodies().iter().map(|it| it["model"].clone()).collect();
    assert_eq!(models, ["small", "large"]);
    assert_eq!(vendor.requests()[0].path, "/v1/chat/completions");
}

#[test]
fn an_empty_key_is_no_key() {
    let house = House::new().with("OPENAI_API_KEY", "").with("ANTHROPIC_API_KEY", " ");
    let ran = house.kith(&["ask", "hello"]).succeeded();
    assert!(ran.stderr.contains("demo"), "{}", ran.stderr);
}

#[test]
fn an_invalid_address_is_refused_before_anything_is_written() {
    let house = House::new().with("OPENAI_API_KEY", "k").with("OPENAI_BASE_URL", "localhost");
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: OPENAI_BASE_URL is not valid; expected an address such as `https://api.openai.com/v1`
    ");
    let house = house.with("OPENAI_BASE_URL", "http://localhost:1/v1/chat/completions");
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: OPENAI_BASE_URL contains the path of a request; set it to `http://localhost:1/v1`
    ");
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn a_server_that_answers_with_a_page_is_reported_and_the_message_is_kept() {
    let vendor = Vendor::new([ServerReply::Html]);
    let house = House::asking(&vendor);
    check!(house.kith(&["ask", "hi"]), @"
    exit 3
    --- stderr
    error: `openai` answered with a web page instead of a model's answer: check the base URL
    hint: your message is saved: `kith retry --session [short]` asks again, `kith session show [short]` shows it
    ");
    let log = house.log();
    insta::assert_snapshot!(types(&log), @"session_header instruction_snapshot toolset_snapshot user_message turn_started model_requested model_failed notice turn_ended");
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
    check!(house.kith(&["session", "show", "latest"]), @"
    exit 0
    --- stdout
    owner:
      hi

    ! The turn failed: `openai` answered with a web page instead of a model's answer: check the base URL.
    ");
}

#[test]
fn a_wrong_key_is_reported_without_trying_again() {
    let vendor = Vendor::new([raw(401, r#"{"error":{"message":"no such key"}}"#)]);
    let house = House::asking(&vendor);
    check!(house.kith(&["ask", "hi"]), @r"
    exit 3
    --- stderr
    error: `openai` refused the API key from OPENAI_API_KEY (status 401): check it; it said: no such key
    hint: your message is saved: `kith retry --session [short]` asks again, `kith session show [short]` shows it
    ");
    assert_eq!(vendor.requests().len(), 1);
}

#[test]
fn too_many_requests_are_tried_again_and_the_wait_is_explained() {
    let vendor = Vendor::new([
        ServerReply::TooManyRequests { retry_after_secs: 0 },
        ServerReply::text("at last"),
    ]);
    let house = House::asking(&vendor);
    check!(house.kith(&["ask", "hi"]), @r"
    exit 0
    --- stdout
    at last
    --- stderr
    note: `openai` refused the request: rate limit reached (status 429); it said: the script says so; retrying
    ");
    let requests = vendor.requests();
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["requests"], 2);
}

#[test]
fn a_server_that_fails_every_time_is_given_up() {
    let fails = || ServerReply::TooManyRequests { retry_after_secs: 0 };
    let vendor = Vendor::new([fails(), fails(), fails(), fails(), ServerReply::text("too late")]);
    let house = House::asking(&vendor);
    check!(house.kith(&["ask", "hi", "--json"]), @r#"
    exit 3
    --- stdout
    {"ok":false,"error":{"code":"model_failed","message":"`openai` refused the request: rate limit reached (status 429); it said: the script says so","hint":"your message is saved: `kith retry --session [short]` asks again, `kith session show [short]` shows it"}}
    --- stderr
    note: `openai` refused the request: rate limit reached (status 429); it said: the script says so; retrying
    "#);
    assert_eq!(vendor.requests().len(), 4);
    let log = house.log();
    assert_eq!(of_type(&log, "turn_ended")[0]["reason"], "failed");
}

#[test]
fn a_wait_of_an_hour_is_reported_instead() {
    let vendor = Vendor::new([ServerReply::TooManyRequests { retry_after_secs: 3600 }]);
    let house = House::asking(&vendor);
    let ran = house.kith(&["ask", "hi"]);
    assert_eq!((ran.code, vendor.requests().len()), (3, 1), "{}", ran.stderr);
}

#[test]
fn a_server_error_and_a_cut_stream_are_tried_again() {
    let whole = ServerReply::text("a whole answer");
    let half = whole.body().len() / 2;
    let vendor = Vendor::new([ServerReply::ServerError, whole.clone().cut_after(half), whole]);
    let house = House::asking(&vendor);
    let answer = house.json(&["ask", "hi", "--json"]);
    assert_eq!(answer["text"], "a whole answer");
    let log = house.log();
    let failed: Vec<_> =
        of_type(&log, "model_failed").iter().map(|it| it["kind"].clone()).collect();
    assert_eq!(failed, ["status", "cut"]);
    assert_eq!(of_type(&log, "assistant_message").len(), 1);
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}

#[test]
fn an_empty_answer_is_tried_again() {
    let vendor = Vendor::new([ServerReply::text(""), ServerReply::text("here I am")]);
    let house = House::asking(&vendor);
    check!(house.kith(&["ask", "hi"]), @"
    exit 0
    --- stdout
    here I am
    --- stderr
    note: `openai` returned an empty answer; retrying
    ");
}

#[test]
fn arguments_that_are_not_json_are_told_to_the_model_and_the_turn_goes_on() {
    let broken = ServerReply::Calls {
        text: String::new(),
        calls: vec![("read_file".to_owned(), "{\"path\": ".to_owned())],
    };
    let vendor = Vendor::new([broken, ServerReply::text("I see")]);
    let house = House::asking(&vendor);
    let answer = house.json(&["ask", "hi", "--json"]);
    assert_eq!(answer["text"], "I see");
    let log = house.log();
    let result = of_type(&log, "tool_result")[0];
    assert_eq!(result["outcome"], "failed");
    let bodies = vendor.bodies();
    let told = bodies[1]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(told["role"], "tool");
    assert!(told["content"].as_str().unwrap().contains("not one whole JSON object"), "{told}");
}

#[test]
fn a_tool_that_does_not_exist_is_told_to_the_model_and_the_turn_goes_on() {
    let vendor = Vendor::new([
        ServerReply::calls("", &[("launch", json!({}))]),
        ServerReply::text("then not"),
    ]);
    let house = House::asking(&vendor);
    assert_eq!(house.json(&["ask", "hi", "--json"])["text"], "then not");
}

#[test]
fn a_model_that_calls_for_ever_is_stopped_at_a_limit_and_it_is_told() {
    let call = || ServerReply::calls("", &[("list_files", json!({}))]);
    let vendor = Vendor::new((0..20).map(|_| call()));
    let house = House::asking(&vendor);
    check!(house.kith(&["ask", "hi"]), @r#"
    exit 4
    --- stderr
    note: The turn stopped at its limit of 5 identical calls in a row. Say "go on" to continue.
    "#);
    assert_eq!(of_type(&house.log(), "turn_ended")[0]["reason"], "bound");
    let answer = house.json(&["ask", "go on", "--json"]);
    assert_eq!((&answer["end"], &answer["bound"]), (&json!("bound"), &json!("repeats")));
}

#[test]
fn an_unreachable_server_is_reported() {
    // The server is gone before it is asked, so its port is closed.
    let vendor = Vendor::new([]);
    let house = House::asking(&vendor);
    drop(vendor);
    let ran = house.kith(&["ask", "hi", "--json"]);
    assert_eq!(ran.code, 3);
    let error = &ran.json()["error"];
    assert_eq!(error["code"], "model_failed");
    assert!(error["message"].as_str().unwrap().contains("Connection refused"), "{error}");
}

#[test]
fn control_characters_of_an_answer_are_made_visible() {
    let said = "clear\u{1b}[2J title\u{1b}]0;x\u{7} back\u{202e}wards\u{9b}A\r\nend";
    let vendor = Vendor::new([ServerReply::text(said), ServerReply::text(said)]);
    let house = House::asking(&vendor);
    check!(house.kith(&["ask", "hi"]), @r"
    exit 0
    --- stdout
    clear\u{1b}[2J title\u{1b}]0;x\u{7} back\u{202e}wards\u{9b}A
    end
    ");
    let ran = house.kith(&["ask", "hi", "--json"]).succeeded();
    assert!(!ran.stdout.trim_end().contains(|ch: char| ch.is_control() || ch == '\u{202e}'));
    assert_eq!(ran.json()["text"], said);
}

/// A house that asks `a` at this server, and `demo` if that fails.
fn with_fallback(vendor: &Vendor) -> House {
    let house = House::new();
    let url = vendor.server.base_url();
    house.write(
        "kith.toml",
        format!(
            "[models]\nuse = \"a\"\nfallbacks = [\"demo\"]\n[models.a]\nwire = \"openai_chat\"\n\
             baseUrl = \"{url}\"\napiKey = \"${{KEY}}\"\n"
        ),
    );
    house.kith(&["trust", "."]).succeeded();
    house
}

#[test]
fn a_turn_that_goes_over_to_another_model_says_so() {
    let vendor = Vendor::new([raw(401, ""), raw(401, "")]);
    let house = with_fallback(&vendor).with("KEY", "sk-test-0123456789");
    check!(house.kith(&["ask", "say one"]), @"
    exit 0
    --- stdout
    one
    --- stderr
    note: `a` refused the API key from KEY (status 401): check it; `demo` is asked instead
    ");
    let ran = house.kith(&["ask", "say two", "--stream-json"]).succeeded();
    assert!(ran.stdout.contains(r#""fallback":"demo""#), "{}", ran.stdout);
    let shown = house.kith(&["session", "show", "latest"]).succeeded().stdout;
    let told = "! The model failed: `a` refused the API key from KEY (status 401): check it. \
                `demo` is asked instead.";
    assert_eq!(shown.matches(told).count(), 2, "{shown}");
    assert!(!shown.contains("; retried"), "{shown}");
}

#[test]
fn a_model_without_its_key_is_passed_over_with_a_note() {
    let vendor = Vendor::new([]);
    let house = with_fallback(&vendor);
    check!(house.kith(&["ask", "say one"]), @"
    exit 0
    --- stdout
    one
    --- stderr
    note: model `a` is passed over: the settings use the environment variable `KEY`, which is not set; `demo` is asked instead
    ");
    check!(house.kith(&["ask", "say one", "--model", "a"]), @"
    exit 1
    --- stderr
    error: the settings use the environment variable `KEY`, which is not set
    hint: `export KEY=…`, or use `--model demo`, which needs no key
    ");
    let doctor = house.kith(&["doctor"]).stdout;
    assert!(doctor.contains("model `a` is passed over"), "{doctor}");
}
