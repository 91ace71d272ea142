//! Messages that wait behind a running turn or steer it, from other terminals; summaries and costs.

use kith_testkit::gate::Gate;
use kith_testkit::server::ServerReply;
use serde_json::json;

use crate::check;
use crate::house::{House, Vendor, of_type, types};

/// The words of a request, as the vendor got them.
fn words_of(vendor: &Vendor, n: usize) -> String {
    vendor.bodies()[n]["messages"].to_string()
}

/// Waits until so many messages wait in the conversation.
pub(crate) fn until_waiting(house: &House, n: usize) {
    let mut seen = String::new();
    for _ in 0..1_000 {
        let waiting = house.kith(&["queue", "ls", "--json"]).json();
        let counts = ["steers", "followUps"].map(|queue| waiting[queue].as_array().map(Vec::len));
        if counts.into_iter().flatten().sum::<usize>() == n {
            return;
        }
        seen = waiting.to_string();
    }
    panic!("{n} messages never wait: {seen}");
}

#[test]
fn waiting_messages_are_listed_edited_moved_removed_and_released() {
    let vendor = Vendor::new([
        ServerReply::Hang,
        ServerReply::text("one"),
        ServerReply::text("two"),
        ServerReply::text("three"),
    ]);
    let house = House::asking(&vendor);
    let mut running = house.start(&["ask", "work", "--stream-json"]);
    running.until("model_requested");
    vendor.until_asked(1);
    let waiting: Vec<_> = ["first", "second", "third"]
        .into_iter()
        .enumerate()
        .map(|(n, text)| {
            let waiting = house.start(&["queue", "add", text]);
            until_waiting(&house, n + 1);
            waiting
        })
        .collect();
    check!(house.kith(&["queue", "ls"]), @r"
    exit 0
    --- stdout
      1  message  first
      2  message  second
      3  message  third
    ");
    let ran = house.kith(&["queue", "edit", "2", "the second, changed"]).succeeded();
    assert!(ran.stdout.starts_with("3 messages wait"), "{}", ran.stdout);
    let ran = house.kith(&["queue", "move", "3", "1"]).succeeded();
    assert!(ran.stdout.starts_with("3 messages wait"), "{}", ran.stdout);
    let ran = house.kith(&["queue", "rm", "2"]).succeeded();
    assert!(ran.stdout.starts_with("2 messages wait"), "{}", ran.stdout);
    check!(house.kith(&["queue", "ls"]), @r"
    exit 0
    --- stdout
      1  message  third
      2  message  the second, changed
    ");
    check!(house.kith(&["queue", "go"]), @r"
    exit 1
    --- stderr
    error: a turn is running in session `[short]`
    hint: wait for it to finish, or stop it with `kith cancel`
    ");
    // After a turn that was stopped nothing goes on by itself.
    house.kith(&["cancel"]).succeeded();
    running.finish();
    let codes: Vec<i32> = waiting.into_iter().map(|it| it.finish().code).collect();
    assert_eq!(codes, [1, 4, 4]);
    check!(house.kith(&["queue", "ls"]), @r"
    exit 0
    --- stdout
      1  message  third
      2  message  the second, changed
    --- stderr
    note: the last turn did not end well, so they wait until your next message is answered; `kith queue go` continues now
    ");
    check!(house.kith(&["queue", "go"]), @r"
    exit 0
    --- stdout
    the next message of session [short] is being answered
    ");
    assert!(words_of(&vendor, 1).contains("third"));
    check!(house.kith(&["queue", "ls"]), @r"
    exit 0
    --- stderr
    note: nothing waits in session [short]
    ");
    assert!(words_of(&vendor, 2).contains("the second, changed"));
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}

#[test]
fn a_message_that_does_not_wait_cannot_be_removed() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    check!(house.kith(&["queue", "rm", "7"]), @r"
    exit 1
    --- stderr
    error: there is no waiting message `7`
    hint: `kith queue ls` lists them with their numbers
    ");
}

#[test]
fn a_steer_from_another_terminal_reaches_the_running_turn() {
    let gate = Gate::new();
    let read = ServerReply::calls("", &[("read_file", serde_json::json!({ "path": "USER.md" }))]);
    let vendor = Vendor::new([read.behind(&gate), ServerReply::text("as you wish")]);
    let house = House::asking(&vendor);
    let mut running = house.start(&["ask", "work", "--stream-json"]);
    running.until("model_requested");
    vendor.until_asked(1);
    let steer = house.start(&["steer", "only the tests"]);
    until_waiting(&house, 1);
    gate.open();
    assert_eq!(steer.finish().code, 0);
    assert_eq!(running.finish().code, 0);
    let log = house.log();
    assert_eq!(of_type(&log, "user_message").len(), 1);
    assert!(words_of(&vendor, 1).contains("only the tests"), "{}", types(&log));
}

#[test]
fn a_conversation_is_summarised_by_hand_and_costs_are_summed() {
    let vendor = Vendor::new([
        ServerReply::text("the order is ORD-4711"),
        ServerReply::text("## Facts\n- an order was discussed"),
        ServerReply::text("go on then"),
    ]);
    let house = House::asking(&vendor);
    check!(house.kith(&["compact"]), @r"
    exit 1
    --- stderr
    error: no conversation in this folder yet
    hint: name a session; `kith session ls` lists them
    ");
    house.kith(&["ask", "which order?"]).succeeded();
    let ran = house.kith(&["compact", "--json"]).succeeded();
    assert!(ran.json()["compact"].is_string());
    house.kith(&["ask", "and now?"]).succeeded();
    let last = words_of(&vendor, 2);
    assert!(last.contains("an order was discussed") && last.contains("ORD-4711"), "{last}");
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
    let costs = house.json(&["cost", "--by", "model", "--json"]);
    assert_eq!(costs["total"]["nRequests"], 3);
    assert_eq!(costs["rows"][0]["name"], "openai/gpt-5-mini");
}

#[test]
fn sessions_whose_costs_cannot_be_read_are_counted_in_one_note() {
    let house = House::new();
    for text in ["say one", "say two", "say three"] {
        house.kith(&["ask", "--new", text]).succeeded();
    }
    let unread = |n: usize| {
        for file in house.session_files().iter().take(n) {
            std::fs::write(file, "no session\n").unwrap();
        }
        house.kith(&["cost"]).succeeded().stderr
    };
    assert!(unread(1).ends_with(" could not be read and is not counted; `kith doctor` says why\n"));
    assert_eq!(
        unread(2),
        "note: 2 sessions could not be read and are not counted; `kith doctor` lists them\n"
    );
}

#[test]
fn removing_a_session_gives_nothing_of_the_days_budget_back() {
    let vendor = Vendor::new([ServerReply::Hang]);
    let house = House::asking(&vendor);
    house.write("kith.toml", "[budget]\ntokensPerDay = 25000\n");
    house.kith(&["trust", "."]).succeeded();
    // A stopped request counts with what was sent: about 10,000 tokens.
    let long = "read this ".repeat(3_000);
    let running = house.start(&["ask", &long]);
    vendor.until_asked(1);
    running.signal("INT");
    assert_eq!(running.finish().code, 130);
    house.kith(&["session", "rm", "latest", "--yes"]).succeeded();
    let ran = house.kith(&["ask", &long]);
    assert!(ran.stderr.contains("of 25000 tokens used today"), "{}", ran.stderr);
    assert_eq!(vendor.requests().len(), 1);
    // What counts in the budget is shown.
    for by in ["day", "model", "thread"] {
        let costs = house.json(&["cost", "--by", by, "--json"]);
        assert_eq!((&costs["rows"], &costs["removed"]["nRequests"]), (&json!([]), &json!(1)));
        assert!(costs["removed"]["usage"]["input"].as_u64() > Some(9_000), "{costs}");
        assert_eq!(costs["total"], costs["removed"]);
    }
    let shown = house.kith(&["cost"]).succeeded().stdout;
    assert!(shown.starts_with("removed sessions       1 requests"), "{shown}");
}
