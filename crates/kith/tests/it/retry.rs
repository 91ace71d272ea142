//! Failed turns are retried with the model they began with.

use kith_testkit::server::ServerReply;

use crate::check;
use crate::house::{House, Running, Vendor, of_type};

fn refused() -> ServerReply {
    ServerReply::Raw {
        status: 401,
        content_type: "application/json".to_owned(),
        body: br#"{"error":{"message":"no such key"}}"#.to_vec(),
    }
}

#[test]
fn a_turn_goes_on_only_with_the_model_it_began_with() {
    let first = Vendor::new([ServerReply::Hang, ServerReply::text("the answer")]);
    let second = Vendor::new([ServerReply::text("to another message")]);
    let house = House::asking(&first);
    let mut running = house.start(&["ask", "a secret", "--stream-json"]);
    running.until("model_requested");
    first.until_asked(1);
    running.signal("KILL");
    running.finish();

    // Another server is configured: it gets nothing of the turn, and the person is told.
    let house = house.with("OPENAI_BASE_URL", &second.server.base_url());
    check!(house.kith(&["retry"]), @r"
    exit 1
    --- stderr
    error: the message was for model `gpt-5-mini` (`gpt-5-mini` of openai), but here `gpt-5-mini` is `gpt-5-mini` of openai at `http://[server]/v1`: restore its settings, or send the message again
    hint: run `kith retry` when the model is available again
    ");
    check!(house.kith(&["ask", "--new", "something else"]), @r"
    exit 0
    --- stdout
    to another message
    ");
    let seen = second.requests();
    assert!(seen.iter().all(|it| !String::from_utf8_lossy(&it.body).contains("a secret")));
    assert_eq!(seen.len(), 1);

    let house = house.with("OPENAI_BASE_URL", &first.server.base_url());
    let sessions = house.json(&["session", "ls", "--json"]);
    let cut_short = sessions["sessions"][1]["sessionId"].as_str().unwrap();
    check!(house.kith(&["retry", "--session", cut_short]), @r"
    exit 0
    --- stdout
    the answer
    ");
    assert_eq!((first.requests().len(), second.requests().len()), (2, 1));
}

#[test]
fn a_conversation_with_another_model_gets_nothing_of_what_others_left_unfinished() {
    let first = Vendor::new([ServerReply::Hang]);
    let second = Vendor::new([ServerReply::text("hi")]);
    let house = House::asking(&first);
    let mut running = house.start(&["ask", "a secret", "--thread", "web:room:9", "--stream-json"]);
    running.until("model_requested");
    first.until_asked(1);
    running.signal("KILL");
    running.finish();
    let house = house.with("OPENAI_BASE_URL", &second.server.base_url());
    let ran = house.kith_with_input(&[], "hello\n").succeeded();
    assert_eq!(ran.stdout, "hi\n");
    assert!(ran.stderr.contains("was for model"), "{}", ran.stderr);
    let seen = second.requests();
    assert_eq!(seen.len(), 1);
    assert!(!String::from_utf8_lossy(&seen[0].body).contains("a secret"));
}

#[test]
fn a_failed_turn_is_retried_once_and_one_that_ended_well_is_not() {
    let vendor = Vendor::new([refused(), ServerReply::text("at last")]);
    let house = House::asking(&vendor);
    assert_eq!(house.kith(&["ask", "hello"]).code, 3);
    check!(house.kith(&["retry"]), @r"
    exit 0
    --- stdout
    at last
    ");
    check!(house.kith(&["retry"]), @r"
    exit 1
    --- stderr
    error: the last turn of session `[short]` succeeded: there is nothing to retry
    ");
    check!(house.kith(&["cancel"]), @r"
    exit 0
    --- stderr
    note: no turn is running in session [short]
    ");
    let log = house.log();
    assert_eq!(of_type(&log, "user_message").len(), 1);
    assert_eq!(of_type(&log, "turn_ended").len(), 2);
}

#[test]
fn a_message_that_failed_without_a_model_is_retried_when_sent_again() {
    let away = ServerReply::Raw {
        status: 401,
        content_type: "application/json".to_owned(),
        body: br#"{"error":{"message":"no such key"}}"#.to_vec(),
    };
    let vendor = Vendor::new([away, ServerReply::text("at last")]);
    let house = House::asking(&vendor);
    let ask = ["ask", "hello", "--message-id", "m1"];
    assert_eq!(house.kith(&ask).code, 3);
    assert_eq!(house.kith(&ask).succeeded().stdout, "at last\n");
    assert_eq!(house.kith(&ask).succeeded().stdout, "at last\n");
    assert_eq!((vendor.requests().len(), of_type(&house.log(), "user_message").len()), (2, 1));
}

#[test]
fn a_turn_is_cancelled_from_another_terminal() {
    let vendor = Vendor::new([ServerReply::Trickle { pause_ms: 1 }, ServerReply::text("again")]);
    let house = House::asking(&vendor);
    let mut running = house.start(&["ask", "talk for ever", "--stream-json"]);
    running.until("drip");
    let answer = house.json(&["cancel", "--json"]);
    assert_eq!((&answer["ok"], &answer["wasRunning"]), (&true.into(), &true.into()));
    let ran = running.finish();
    assert_eq!((ran.code, &Running::last_line(&ran)["error"]["code"]), (1, &"cancelled".into()));
    assert_eq!(of_type(&house.log(), "turn_ended")[0]["reason"], "cancelled");
    assert_eq!(house.json(&["retry", "--json"])["text"], "again");
}

#[test]
fn cancel_and_retry_mean_the_conversation_of_the_folder() {
    let script = [refused(), ServerReply::text("elsewhere"), ServerReply::text("at last")];
    let vendor = Vendor::new(script);
    let house = House::asking(&vendor);
    house.write("sub/notes.md", "");
    assert_eq!(house.kith(&["ask", "hello"]).code, 3);
    house.kith_in("sub", &["ask", "and here?"]).succeeded();
    check!(house.kith_in("sub", &["retry"]), @r"
    exit 1
    --- stderr
    error: the last turn of session `[short]` succeeded: there is nothing to retry
    ");
    check!(house.kith(&["retry"]), @r"
    exit 0
    --- stdout
    at last
    ");
    house.write("other/notes.md", "");
    check!(house.kith_in("other", &["cancel"]), @r"
    exit 1
    --- stderr
    error: no conversation in this folder yet
    hint: name a session; `kith session ls` lists them
    ");
}

#[test]
fn a_message_that_is_sent_again_does_not_take_up_another_ones_turn() {
    let vendor = Vendor::new([refused(), ServerReply::Trickle { pause_ms: 1 }]);
    let house = House::asking(&vendor);
    assert_eq!(house.kith(&["ask", "one", "--message-id", "m1"]).code, 3);
    let mut running = house.start(&["ask", "two", "--stream-json"]);
    running.until("drip");
    running.signal("INT");
    assert_eq!(running.finish().code, 130);
    assert_eq!(house.kith(&["ask", "one", "--message-id", "m1"]).code, 3);
    assert_eq!(vendor.requests().len(), 2);
}

#[test]
fn ctrl_c_stops_a_turn_that_is_retried() {
    let vendor = Vendor::new([refused(), ServerReply::Trickle { pause_ms: 1 }]);
    let house = House::asking(&vendor);
    assert_eq!(house.kith(&["ask", "hello"]).code, 3);
    let mut running = house.start(&["retry", "--stream-json"]);
    running.until("drip");
    running.signal("INT");
    assert_eq!(running.finish().code, 130);
}

#[test]
fn a_retry_tells_of_its_own_turn_and_not_of_what_waits_behind_it() {
    let vendor = Vendor::new([
        ServerReply::Trickle { pause_ms: 1 },
        ServerReply::text("the first"),
        ServerReply::text("the second"),
    ]);
    let house = House::asking(&vendor);
    let mut first = house.start(&["ask", "one", "--stream-json"]);
    first.until("drip");
    let second = house.start(&["ask", "two", "--json"]);
    while of_type(&house.log(), "queue_update").is_empty() {
        std::thread::yield_now();
    }
    first.signal("INT");
    first.finish();
    let held = second.finish();
    assert_eq!((held.code, &held.json()["end"]), (4, &"held".into()));
    assert_eq!(house.json(&["retry", "--json"])["text"], "the first");
}

#[test]
fn a_new_conversation_stops_the_turn_that_runs_in_the_thread() {
    let vendor = Vendor::new([ServerReply::Trickle { pause_ms: 1 }, ServerReply::text("anew")]);
    let house = House::asking(&vendor);
    let mut running = house.start(&["ask", "talk for ever", "--stream-json"]);
    running.until("drip");
    let ran = house.kith_with_input(&[], "/new\nhello\n");
    assert_eq!((ran.code, ran.stdout.trim()), (0, "anew"), "{}", ran.stderr);
    assert!(ran.stderr.contains("(stopping)"), "{}", ran.stderr);
    let stopped = running.finish();
    assert_eq!(Running::last_line(&stopped)["error"]["code"], "cancelled");
}
