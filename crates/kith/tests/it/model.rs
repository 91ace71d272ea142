//! `kith model`: listing, choosing and testing models.

use std::fs;

use kith_testkit::server::ServerReply;
use serde_json::{Value, json};

use crate::check;
use crate::house::{House, Vendor};

const SETTINGS: &str = "# mine\n[models.big]\nwire = \"anthropic\"\nmodel = \"claude-sonnet-5-5\"\n\
                        apiKey = \"${BIG_KEY}\"\n\n[models.small]   # the usual one\n\
                        wire = \"openai_chat\"\nbaseUrl = \"http://localhost:1/v1\"\n\
                        contextWindow = 4096\nprice = { input = 0.5, output = 1 }\n";

fn house() -> House {
    let house = House::new();
    house.write("kith.toml", SETTINGS);
    house.kith(&["trust", "."]).succeeded();
    house
}

fn row<'a>(list: &'a Value, name: &str) -> &'a Value {
    list["models"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()
}

#[test]
fn the_list_says_what_is_used_and_where_each_fact_comes_from() {
    let mut house = house();
    let list = house.json(&["model", "ls", "--json"]);
    let big = row(&list, "big");
    assert_eq!((&big["wire"], &big["hasKey"]), (&json!("anthropic"), &json!(false)));
    assert_eq!(
        (&big["contextWindow"], &big["contextWindowFrom"]),
        (&json!(1_000_000), &json!("table"))
    );
    let price = json!({"input": 2_000_000, "output": 10_000_000, "cacheRead": 200_000, "cacheWrite": 2_500_000});
    assert_eq!((&big["price"], &big["priceFrom"]), (&price, &json!("table")));
    let small = row(&list, "small");
    assert_eq!((&small["contextWindow"], &small["priceFrom"]), (&json!(4096), &json!("settings")));
    assert_eq!(
        (&row(&list, "demo")["used"], &list["tableDate"]),
        (&json!(true), &json!("2026-11-17"))
    );
    // A vendor's key chooses its model; a proxy may charge otherwise.
    house.set("OPENAI_API_KEY", "sk-test-0123456789");
    let list = house.json(&["model", "ls", "--json"]);
    let mini = row(&list, "gpt-5-mini");
    assert_eq!((&mini["used"], &mini["price"]["input"]), (&json!(true), &json!(250_000)));
    assert_eq!(list["reason"], "`OPENAI_API_KEY` is set");
    house.set("OPENAI_BASE_URL", "http://localhost:1/v1");
    let list = house.json(&["model", "ls", "--json"]);
    let mini = row(&list, "gpt-5-mini");
    assert_eq!((&mini["price"], &mini["priceFrom"]), (&Value::Null, &json!("unknown")));
    let ran = house.kith(&["model", "ls"]).succeeded();
    let lines: Vec<&str> = ran.stdout.lines().take(5).collect();
    assert_eq!(
        lines,
        [
            "  big         claude-sonnet-5-5 · anthropic · https://api.anthropic.com · 1000000 tokens (as of 2026-11-17) · 2.00 in, 10.00 out USD per million tokens (as of 2026-11-17) · BIG_KEY is not set",
            "  small       openai_chat · http://localhost:1/v1 · 4096 tokens · 0.50 in, 1.00 out USD per million tokens",
            "* gpt-5-mini  openai_chat · http://localhost:1/v1 · 128000 tokens assumed · price unknown · key from OPENAI_API_KEY",
            "  demo        built in, no key needed",
            "Uses gpt-5-mini: `OPENAI_API_KEY` is set.",
        ]
    );
}

#[test]
fn model_use_writes_one_key_and_refuses_unknown_models() {
    let house = house();
    check!(house.kith(&["model", "use", "smal"]), @"
    exit 1
    --- stderr
    error: unknown model `smal`: the settings have no `[models.smal]`
    hint: did you mean `small`?
    ");
    assert_eq!(fs::read_to_string(house.path("kith.toml")).unwrap(), SETTINGS);
    check!(house.kith(&["model", "use", "small"]), @"
    exit 0
    --- stdout
    wrote `use = \"small\"` under `[models]` of `[house]/kith.toml`
    ");
    let text = fs::read_to_string(house.path("kith.toml")).unwrap();
    assert_eq!(
        text.replacen("[models]\nuse = \"small\"\n", "", 1).replace('\n', ""),
        SETTINGS.replace('\n', "")
    );
    assert_eq!(row(&house.json(&["model", "ls", "--json"]), "small")["used"], true);
    let used = house.json(&["model", "use", "demo", "--json"]);
    assert_eq!((&used["before"], &used["name"]), (&json!("small"), &json!("demo")));
    assert_eq!(
        fs::read_to_string(house.path("kith.toml")).unwrap(),
        text.replacen("\"small\"", "\"demo\"", 1)
    );
    house.kith(&["ask", "say hi"]).succeeded();
}

#[test]
fn model_test_prints_one_line_per_check() {
    let vendor = Vendor::new([
        ServerReply::calls("", &[("list_files", json!({"path": "."}))]),
        ServerReply::text("done"),
        ServerReply::text("I cannot"),
        ServerReply::Raw {
            status: 401,
            content_type: "application/json".to_owned(),
            body: b"{\"error\":{\"message\":\"wrong key\"}}".to_vec(),
        },
    ]);
    let house = House::asking(&vendor);
    check!(house.kith(&["model", "test"]), @"
    exit 0
    --- stdout
    reachable     yes
    key accepted  yes
    streams       yes
    calls a tool  yes
    context size  128000 tokens assumed; if it is another, set `contextWindow` in kith.toml
    ");
    let ran = house.kith(&["model", "test"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("calls a tool  no: it answered in words; use"), "{}", ran.stdout);
    let ran = house.kith(&["model", "test", "--json"]);
    let told = ran.json();
    assert_eq!((ran.code, &told["ok"], &told["checks"][0]["ok"]), (1, &json!(false), &json!(true)));
    assert_eq!((&told["checks"][1]["ok"], &told["checks"][2]["ok"]), (&json!(false), &Value::Null));
    // Nobody had a conversation.
    assert_eq!(house.json(&["session", "ls", "--json"])["sessions"], json!([]));
    // Nobody is there.
    let house = House::new()
        .with("OPENAI_API_KEY", "sk-test-0123456789")
        .with("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    let ran = house.kith_bounded(&["model", "test"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.starts_with("reachable     no: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("key accepted  not checked\n"), "{}", ran.stdout);
}
