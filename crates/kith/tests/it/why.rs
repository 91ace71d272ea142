//! Requests are explained, sessions replayed, and messages asked again of another model.

use kith_testkit::server::ServerReply;

use crate::check;
use crate::house::{House, Vendor};

#[test]
fn each_byte_of_a_request_has_its_source() {
    let house = House::new();
    check!(house.kith(&["why"]), @r"
    exit 1
    --- stderr
    error: no conversation in this folder yet
    hint: name a session; `kith session ls` lists them
    ");
    house.kith(&["ask", "list the files"]).succeeded();
    let found = house.json(&["why", "--json"]);
    assert_eq!((&found["proof"], &found["change"]["cause"]), (&"same".into(), &"continued".into()));
    let body = house.kith(&["why", "--body"]).succeeded().stdout;
    assert_eq!(found["bodyBytes"].as_u64().unwrap(), body.len() as u64);
    let spans = found["spans"].as_array().unwrap();
    let text_of = |n: usize| {
        let place = |key: &str| usize::try_from(spans[n][key].as_u64().unwrap()).unwrap();
        &body[place("start")..place("end")]
    };
    assert_eq!(spans[0]["source"]["section"]["name"], "baseline");
    assert!(text_of(0).starts_with("You are "));
    let said = (0..spans.len()).find(|n| text_of(*n) == "list the files").unwrap();
    assert_eq!(spans[said]["source"]["event"]["eventType"], "user_message");
    for (place, message) in [("latest@7", "asked no model"), ("latest@x", "not the number")] {
        let ran = house.kith(&["why", place]);
        assert!(ran.code != 0 && ran.stderr.contains(message), "{}", ran.shown());
    }
}

#[test]
fn a_session_is_replayed_and_a_message_asked_again_of_another_model() {
    let vendor = Vendor::new([ServerReply::text("one"), ServerReply::text("two")]);
    let house = House::asking(&vendor);
    house.kith(&["ask", "first"]).succeeded();
    house.kith(&["ask", "say hello"]).succeeded();
    check!(house.kith(&["session", "rerun", "latest", "--model", "demo"]), @r"
    exit 0
    --- stdout
    hello
    ");
    check!(house.kith(&["session", "replay", "latest"]), @r"
    exit 0
    --- stdout
    replayed 18 events; all 9 decisions came out the same
    ");
    check!(house.kith(&["session", "rerun", "latest", "--at", "zzz"]), @r"
    exit 1
    --- stderr
    error: there is no message at or before `zzz`
    hint: `kith session tree` lists the events of a session
    ");
    let why = house.json(&["why", "--json"]);
    assert_eq!(why["change"]["cause"], "otherModel");
}
