use kith_testkit::events::{any_event_log, fixed_cases};
use kith_testkit::transcript::transcript;
use kith_vocab::ids::EventId;
use proptest::prelude::*;

use super::*;

const COLUMNS: usize = 40;

fn conversation(language: ScreenLanguage) -> ShownConversation {
    ShownConversation::new(language, 1_000)
}

pub(super) fn item(event: &Event) -> SubscriptionItem {
    SubscriptionItem::Turn(TurnItem::Event(Box::new(event.clone())))
}

fn delta(request_id: EventId, text: &str) -> SubscriptionItem {
    let (kind, text) = (AnswerDeltaKind::Text, text.to_owned());
    let delta = AnswerDelta { stream_seq: 1, request_id, block: 0, call_id: None, kind, text };
    SubscriptionItem::Turn(TurnItem::Delta(delta))
}

pub(super) fn text(lines: &[Line]) -> String {
    lines.iter().map(|line| line.text().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn show(conversation: &mut ShownConversation, events: &[Event]) -> String {
    let mut lines = Vec::new();
    for event in events {
        lines.extend(conversation.take(&item(event), COLUMNS, Duration::from_secs(3)));
    }
    text(&lines)
}

#[test]
fn a_turn_is_printed_with_who_spoke_and_what_it_used() {
    let events = transcript("user: hi | asked model | model: **one** | ended done").events;
    let mut conversation = conversation(ScreenLanguage::English);
    let shown = show(&mut conversation, &events);
    assert!(shown.contains("(in another terminal)\n> hi\n\none\n"), "{shown}");
    assert!(!conversation.is_running());
}

#[test]
fn what_runs_has_a_row_and_it_goes_when_it_ends() {
    let events = transcript("user: hi | asked model | model: one | ended done").events;
    let mut conversation = conversation(ScreenLanguage::Chinese);
    let (begin, rest) = events.split_at(events.len() - 2);
    show(&mut conversation, begin);
    let rows = text(&conversation.live(COLUMNS, 10, Duration::from_secs(8)));
    assert_eq!(rows, "⠙ 等待模型 · 5 s");
    show(&mut conversation, rest);
    assert_eq!(conversation.live(COLUMNS, 10, Duration::from_secs(8)), []);
}

#[test]
fn an_answer_that_grows_is_printed_once_whatever_is_lost() {
    let source = "First.\n\n- one\n- two\n\n```\nlet a;\nlet b;\n```\n\nLast *words*.";
    let line = "user: hi | asked model | model: x | ended done";
    let mut events = transcript(line).events;
    let request = events
        .iter()
        .find_map(|it| matches!(it.body, Body::ModelRequested(_)).then_some(it.id))
        .unwrap();
    for event in &mut events {
        if let Body::AssistantMessage(it) = &mut event.body {
            it.request_id = Some(request);
            it.message.content = vec![Block::text(source.to_owned())];
        }
    }
    let whole = text(&super::super::markdown::rendered(source, COLUMNS));
    for n_chars in 1..12 {
        for heard in [source.len(), 20, 30, 0] {
            let mut conversation = conversation(ScreenLanguage::English);
            let place = events.iter().position(|it| matches!(it.body, Body::AssistantMessage(_)));
            let (before, after) = events.split_at(place.unwrap());
            show(&mut conversation, before);
            let mut lines = Vec::new();
            let chars: Vec<char> = source[..heard].chars().collect();
            for piece in chars.chunks(n_chars) {
                let piece: String = piece.iter().collect();
                lines.extend(conversation.take(&delta(request, &piece), COLUMNS, Duration::ZERO));
            }
            lines.extend(conversation.take(&item(&after[0]), COLUMNS, Duration::ZERO));
            assert_eq!(text(&lines), whole, "{n_chars} {heard}");
        }
    }
}

#[test]
fn an_answer_that_begins_anew_after_a_lost_host_stands_apart() {
    let events =
        transcript("user: hi | asked model | asked model | model: one | ended done").events;
    let is_request = |it: &Event| matches!(it.body, Body::ModelRequested(_));
    let second = events.iter().rposition(is_request).unwrap();
    let first = events.iter().find(|it| is_request(it)).unwrap().id;
    let mut conversation = conversation(ScreenLanguage::English);
    let (before, after) = events.split_at(second);
    show(&mut conversation, before);
    conversation.take(&delta(first, "on"), COLUMNS, Duration::ZERO);
    let shown = show(&mut conversation, after);
    let expected = "on\n(the answer was interrupted; asking\n  again)\n\none\n";
    assert!(shown.starts_with(expected), "{shown}");
}

#[test]
fn the_outcome_of_a_refused_call_is_said_once() {
    let line = "user: go | asked model | model: ok, exec_shell=c1 | hold c1 | asked c1 | deny c1 \
                | refused c1 Refused: not now. | ended done";
    let mut conversation = conversation(ScreenLanguage::English);
    let shown = show(&mut conversation, &transcript(line).events);
    assert!(shown.contains("exec_shell c1 · refused: not now."), "{shown}");
}

#[test]
fn a_long_block_is_printed_as_it_comes_and_whole() {
    let list: String = (0..2_000).map(|n| format!("- item {n}\n")).collect::<Vec<_>>().concat();
    let code = format!("```\n{}```\n", "let a;\n".repeat(3_000));
    for source in [list, code, "word ".repeat(10_000), "x".repeat(30_000), "你好".repeat(9_000)] {
        let mut answer = ShownAnswer::default();
        let id = transcript("user: hi").events[0].id;
        let mut shown = Vec::new();
        let chars: Vec<char> = source.chars().collect();
        for piece in chars.chunks(50) {
            shown.extend(answer.add(id, &piece.iter().collect::<String>(), COLUMNS));
            assert!(answer.open_rows(COLUMNS).len() < 1_000);
        }
        shown.extend(answer.complete(id, &source, COLUMNS));
        let letters = |text: &str| text.replace([' ', '\n', '•', '-', '`'], "");
        assert_eq!(letters(&text(&shown)), letters(&source));
    }
}

#[test]
fn a_message_is_shown_until_it_has_arrived() {
    let mut conversation = conversation(ScreenLanguage::English);
    conversation.sent("id".to_owned(), "on its way".to_owned());
    assert_eq!(text(&conversation.live(COLUMNS, 10, Duration::ZERO)), "  sending: on its way");
    assert!(conversation.forget_pending("id"));
    assert_eq!(conversation.live(COLUMNS, 10, Duration::ZERO), []);
}

proptest! {
    #![proptest_config(fixed_cases(64))]

    #[test]
    fn no_log_is_too_wide_for_the_screen(events in any_event_log(30), columns in 10_usize..80) {
        let mut conversation = conversation(ScreenLanguage::English);
        for event in &events {
            let mut lines = conversation.take(&item(event), columns, Duration::ZERO);
            lines.extend(conversation.live(columns, 8, Duration::from_secs(1)));
            for line in lines {
                prop_assert!(line.width() <= columns + 1, "{columns}: {}", line.text());
            }
        }
    }
}

#[test]
fn the_last_lines_of_a_running_call_are_shown_until_it_ends() {
    let events = transcript(
        "user: go | asked model | model: ok, exec_shell=c1 | free c1 | start c1 | done c1 fine",
    )
    .events;
    let mut conversation = conversation(ScreenLanguage::English);
    let (running, ended) = events.split_at(events.len() - 1);
    show(&mut conversation, running);
    for n in 1..=7 {
        let kind = AnswerDeltaKind::Progress;
        let (request_id, text) = (events[0].id, format!("line {n}\n"));
        let delta = AnswerDelta { stream_seq: n, request_id, block: 0, call_id: None, kind, text };
        let item = SubscriptionItem::Turn(TurnItem::Delta(delta));
        assert_eq!(conversation.take(&item, COLUMNS, Duration::from_secs(3)), []);
    }
    let rows = text(&conversation.live(COLUMNS, 10, Duration::from_secs(4)));
    assert!(rows.ends_with("  │ line 3\n  │ line 4\n  │ line 5\n  │ line 6\n  │ line 7"), "{rows}");
    show(&mut conversation, ended);
    let rows = text(&conversation.live(COLUMNS, 10, Duration::from_secs(4)));
    assert!(!rows.contains('│'), "{rows}");
}
