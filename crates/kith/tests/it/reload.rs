//! Settings and trust that change while a host runs: they count from the next turn on.

use kith_testkit::server::ServerReply;
use serde_json::{Value, json};

use crate::house::{House, Vendor, of_type};
use crate::many::Staying;

/// The field of each event of this type, in order.
fn each(house: &House, event_type: &str, field: &str) -> Vec<Value> {
    of_type(&house.log(), event_type).iter().map(|it| it[field].clone()).collect()
}

#[test]
fn limits_policy_and_language_count_from_the_next_turn_of_a_running_host() {
    let house = House::new();
    house.write("kith.toml", "[limits]\nsteps = 9\n");
    let mut host = Staying::new(&house, &["--model", "demo"], "list the files");
    host.hear();
    house.write("kith.toml", "[limits]\nsteps = 8\n[policy]\ndeny = [\"list_files\"]\n");
    house.write("../user/.kith/config.toml", "[ui]\nlanguage = \"zh\"\n");
    host.say("list the files");
    host.hear();
    host.end();
    let limits: Vec<Value> =
        each(&house, "turn_started", "limits").iter().map(|it| it["steps"].clone()).collect();
    assert_eq!(limits, [9, 8]);
    assert_eq!(each(&house, "turn_started", "language"), ["en", "zh"]);
    assert_eq!(each(&house, "call_judged", "verdict"), ["allow", "deny"]);
}

#[test]
fn another_model_of_the_settings_is_asked_from_the_next_turn_on() {
    let vendors = ["one", "two"].map(|it| Vendor::new([ServerReply::text(it)]));
    let house = House::new();
    let settings = |vendor: &Vendor| {
        let url = vendor.server.base_url();
        let model = format!("wire = \"openai_chat\"\nbaseUrl = \"{url}\"\nmodel = \"tiny\"\n");
        house.write("kith.toml", format!("[models]\nuse = \"a\"\n[models.a]\n{model}"));
    };
    settings(&vendors[0]);
    let mut host = Staying::new(&house, &[], "hello");
    assert_eq!(host.hear(), "one");
    settings(&vendors[1]);
    host.say("hello");
    assert_eq!(host.hear(), "two");
    host.end();
}

#[test]
fn while_a_changed_file_cannot_be_read_a_running_host_refuses_messages() {
    let house = House::new();
    let mut host = Staying::new(&house, &["--model", "demo"], "say hi");
    assert_eq!(host.hear(), "hi");
    house.write("kith.toml", "[limits]\nstep = 9\n");
    host.say("say more");
    let (code, stderr) = host.end();
    assert_eq!(code, 1);
    assert!(stderr.contains("kith.toml` line 2: unknown key `step` in `[limits]`"), "{stderr}");
    assert_eq!(each(&house, "user_message", "type").len(), 1);
}

#[test]
fn a_running_host_refuses_messages_when_its_house_is_no_longer_trusted() {
    let house = House::new();
    house.write(".git/HEAD", "ref: refs/heads/main\n");
    house.kith(&["trust"]).succeeded();
    let mut host = Staying::new(&house, &["--model", "demo"], "say hi");
    assert_eq!(host.hear(), "hi");
    house.kith(&["trust", "rm", "."]).succeeded();
    host.say("say more");
    let (code, stderr) = host.end();
    assert_eq!(code, 1);
    assert!(stderr.contains("which is not trusted yet"), "{stderr}");
    assert_eq!(each(&house, "user_message", "type"), [json!("user_message")]);
}
