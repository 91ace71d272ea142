use kith_testkit::transcript::transcript;

use super::*;

/// The pieces of an answer, as a host sends them.
fn delta(request_id: EventId, text: &str) -> AnswerDelta {
    let (kind, text) = (AnswerDeltaKind::Text, text.to_owned());
    AnswerDelta { stream_seq: 1, request_id, block: 0, call_id: None, kind, text }
}

/// Everything that was printed, with notes in their own lines.
fn screen(shown: &ShownTurn) -> String {
    let text = |it: &Printed| match it {
        Printed::Part(text) => text.clone(),
        Printed::Line(line) => format!("{line}\n"),
        Printed::Note(text) => format!("note: {text}\n"),
    };
    shown.printed.iter().map(text).collect()
}

/// A request, the answer to it, and one more request.
fn answered(text: &str) -> (EventId, Event, EventId) {
    let line =
        format!("user: hi | asked model | model: {text} | ended done | user: on | asked model");
    let events = transcript(&line).events;
    let asked: Vec<EventId> = events
        .iter()
        .filter(|event| matches!(event.body, Body::ModelRequested(_)))
        .map(|event| event.id)
        .collect();
    let answer = events.into_iter().find(|event| matches!(event.body, Body::AssistantMessage(_)));
    let mut answer = answer.unwrap();
    if let Body::AssistantMessage(it) = &mut answer.body {
        it.request_id = Some(asked[0]);
    }
    (asked[0], answer, asked[1])
}

#[test]
fn an_answer_that_grew_is_not_printed_again() {
    let (request, answer, _) = answered("one two three");
    let mut shown = ShownTurn::default();
    shown.add(&delta(request, "one "));
    shown.add(&delta(request, "two"));
    // The last delta was lost.
    shown.write(&answer);
    assert_eq!(screen(&shown), "one two three\n");
}

#[test]
fn events_that_the_next_host_repeats_are_shown_once() {
    let (request, answer, _) = answered("one two three");
    let mut shown = ShownTurn::default();
    shown.catch_up(&[delta(request, "one ")]);
    shown.catch_up(&[delta(request, "one two")]);
    shown.catch_up(&[delta(request, "one")]);
    shown.write(&answer);
    shown.write(&answer);
    assert_eq!(screen(&shown), "one two three\n");
}

#[test]
fn an_answer_that_was_cut_off_is_not_continued_by_the_next() {
    let (request, answer, before) = answered("one two three");
    let mut shown = ShownTurn::default();
    shown.add(&delta(before, "one tw"));
    shown.add(&delta(request, "one "));
    shown.write(&answer);
    assert_eq!(screen(&shown), "one tw\n  [the answer was cut off]\none two three\n");
}

#[test]
fn a_retry_at_once_is_told_only_where_it_tells_something() {
    let events = transcript("user: hi | asked model | failed timeout").events;
    let mut event = events.into_iter().find(|it| matches!(it.body, Body::ModelFailed(_))).unwrap();
    for (kind, wait_ms, is_told) in [
        (FailureKind::Timeout, Some(0), false),
        (FailureKind::Timeout, Some(500), true),
        (FailureKind::Network, Some(0), false),
        (FailureKind::Network, Some(500), true),
        (FailureKind::Empty, Some(0), true),
        (FailureKind::Status, None, false),
    ] {
        let at = wait_ms.map(|wait_ms: u64| event.ts + wait_ms);
        if let Body::ModelFailed(it) = &mut event.body {
            (it.kind, it.retry_at) = (kind, at);
        }
        let told = retry_in_words(&event);
        assert_eq!(
            told.is_some_and(|it| it.ends_with("; retrying")),
            is_told,
            "{kind:?} {wait_ms:?}"
        );
    }
    // Another model is always named.
    if let Body::ModelFailed(it) = &mut event.body {
        (it.kind, it.retry_at, it.fallback) =
            (FailureKind::Network, Some(event.ts), Some("other".to_owned()));
    }
    assert!(retry_in_words(&event).unwrap().ends_with("`other` is asked instead"));
}

#[test]
fn line_by_line_a_call_is_told_with_what_it_was_for_and_why_it_failed() {
    let line = "user: go | asked model | model: ok, read_file=c1, exec_shell=c2 | free c1 | start c1 \
                | fail c1 `a` does not exist | hold c2 | asked c2 | deny c2 | refused c2 Refused: not now.";
    let shown_in = |language| {
        let mut shown = ShownTurn { language, ..ShownTurn::default() };
        transcript(line).events.iter().for_each(|event| shown.write(event));
        screen(&shown)
    };
    insta::assert_snapshot!(shown_in(ScreenLanguage::English), @"
    ok
      • read_file c1 · failed: `a` does not exist
      • exec_shell c2 · refused: not now.
    ");
    insta::assert_snapshot!(shown_in(ScreenLanguage::Chinese), @"
    ok
      • read_file c1 · 失败：`a` 不存在
      • exec_shell c2 · 已拒绝：not now.
    ");
}
