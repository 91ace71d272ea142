use kith_testkit::transcript::transcript;

use super::*;

/// The first difference in a log of that transcript, in words.
fn difference(line: &str) -> String {
    let mut replayer = Replayer::default();
    for event in transcript(line).events {
        // The bytes of requests in transcripts are made up.
        let mut event = event;
        if let Body::ModelRequested(it) = &mut event.body {
            it.renderer_version = 0;
        }
        replayer.read(&event);
    }
    replayer.difference.map_or_else(String::new, |it| format!("{}: {}", it.event_type, it.what))
}

#[test]
fn what_was_decided_must_follow_from_what_was_before() {
    let begin = "snapshot x | tools look | user: hi | started";
    for (rest, expected) in [
        ("asked model | model: hello | ended done", ""),
        (
            "asked model | model: hello | ended cancelled",
            "turn_ended: it ended as cancelled, but the next step is to end the turn as done",
        ),
        ("asked model | ended done", "turn_ended: it ended as done, but the next step is to wait"),
        ("model: hello", "assistant_message: it answers a request that is not open"),
        ("asked model | asked model", "model_requested: the next step is to wait"),
        (
            "asked model | model: , look=c1 | start c1",
            "tool_started: the call is not the next that may run",
        ),
        ("asked model | model: , look=c1 | free c1 | start c1 | done c1 | asked model", ""),
        (
            "asked model | model: a, look=c1 | asked model",
            "model_requested: the next step is to judge calls",
        ),
        ("compact keep=u1 x", "compact: no summary was asked for"),
    ] {
        let begin = begin.replace("user:", "user#u1:");
        assert_eq!(difference(&format!("{begin} | {rest}")), expected, "{rest}");
    }
}
