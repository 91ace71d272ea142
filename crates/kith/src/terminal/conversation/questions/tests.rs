use kith_testkit::transcript::transcript;
use kith_vocab::event::Body;
use kith_vocab::json::Json;
use serde_json::json;

use super::*;
use crate::program::terminal::conversation::tests::{item, text};

const SHOWN: Duration = Duration::from_secs(5);
/// Long enough for keys to count.
const LATER: Duration = Duration::from_secs(10);

/// A conversation in which calls are asked about; the first would run this command.
fn asking(line: &str, command: &str, language: ScreenLanguage) -> (ShownConversation, Vec<Event>) {
    let mut events = transcript(line).events;
    for event in &mut events {
        if let Body::ApprovalRequested(asked) = &mut event.body {
            asked.command = Some(command.into());
            asked.summary = "write_file a.txt".into();
        }
        if let Body::CallJudged(judged) = &mut event.body {
            judged.facts = Json::of(&json!({ "diff": "@@ -1 +1 @@\n-old\n+new\n" }));
        }
    }
    let mut conversation = ShownConversation::new(language, 0);
    let asked = events.iter().position(|it| matches!(it.body, Body::ApprovalDecided(_)));
    let rest = events.split_off(asked.unwrap_or(events.len()));
    for event in &events {
        conversation.take(&item(event), 60, SHOWN);
    }
    (conversation, rest)
}

fn rows(conversation: &ShownConversation, columns: usize, rows_max: usize) -> String {
    text(&conversation.question_rows(columns, rows_max, LATER, 0))
}

fn press(conversation: &mut ShownConversation, key: Key) -> Option<QuestionStep> {
    conversation.question_key(KeyPress::plain(key), LATER)
}

const ONE: &str = "user: go | asked model | model: ok, write_file=c1 | hold c1 | asked c1";
const TWO: &str = "user: go | asked model | model: ok, write_file=c1, write_file=c2 | hold c1 | \
                   hold c2 | asked c1 | asked c2";

#[test]
fn a_question_is_shown_whole_with_its_risk_and_its_keys() {
    let (mut conversation, _) = asking(ONE, "make\nmake test", ScreenLanguage::English);
    let expected =
        "? write_file a.txt [C1]\n    make\n    make test\n  none, it is a test\n  y yes · n no";
    assert_eq!(rows(&conversation, 60, 20), expected);
    assert_eq!(
        press(&mut conversation, Key::Char('y')),
        Some(QuestionStep::Answered(QuestionAnswer {
            approval_id: conversation.questions.waiting[0].approval_id.clone(),
            answer: ApprovalAnswer::Allow,
            for_minutes: None,
        }))
    );
    assert_eq!(press(&mut conversation, Key::Char('x')), None, "it is for the input");
    assert_eq!(press(&mut conversation, Key::Char('a')), None, "nothing is offered");
}

#[test]
fn a_key_that_was_on_its_way_when_the_question_came_is_no_answer() {
    let (mut conversation, _) = asking(ONE, "make", ScreenLanguage::English);
    let soon = SHOWN + Duration::from_millis(100);
    assert_eq!(conversation.question_key(KeyPress::plain(Key::Char('y')), soon), None);
    let rows = text(&conversation.question_rows(60, 20, soon, 0));
    assert!(!rows.contains("y yes"), "{rows}");
}

#[test]
fn a_key_that_was_on_its_way_to_one_question_does_not_answer_the_next() {
    let line = format!("{TWO} | allow c1");
    let (mut conversation, rest) = asking(&line, "make", ScreenLanguage::English);
    conversation.take(&item(&rest[0]), 80, LATER);
    assert_eq!(press(&mut conversation, Key::Char('y')), None);
    let yes = KeyPress::plain(Key::Char('y'));
    assert!(conversation.question_key(yes, LATER + KEYS_AFTER).is_some());
}

#[test]
fn a_question_that_does_not_fit_is_printed_whole_once() {
    let command = (0..50).map(|n| format!("step {n}")).collect::<Vec<_>>().join("\n");
    let (mut conversation, _) = asking(ONE, &command, ScreenLanguage::English);
    let shown = rows(&conversation, 60, 10);
    assert_eq!(shown.lines().count(), 10);
    assert!(shown.contains("… the whole question stands above\n  y yes · n no"), "{shown}");
    let printed = text(&conversation.long_question(60, 10));
    assert!((0..50).all(|n| printed.contains(&format!("    step {n}"))), "{printed}");
    assert_eq!(conversation.long_question(60, 10), []);
}

#[test]
fn in_20_columns_nothing_of_a_question_is_lost() {
    let (conversation, _) = asking(ONE, "cargo test --workspace --quiet", ScreenLanguage::Chinese);
    let lines = conversation.question_rows(20, 30, LATER, 0);
    assert!(lines.iter().all(|line| line.width() <= 20), "{lines:?}");
    let shown = text(&lines);
    for word in ["cargo", "--workspace", "--quiet", "同意", "拒绝"] {
        assert!(shown.contains(word), "{shown}");
    }
}

#[test]
fn the_diff_of_a_write_is_shown_in_colour() {
    let (mut conversation, _) = asking(ONE, "x", ScreenLanguage::English);
    conversation.questions.waiting[0].command = None;
    let lines = conversation.question_rows(60, 20, LATER, 0);
    let styled = |start: &str| {
        let line = lines.iter().find(|line| line.text().trim_start().starts_with(start)).unwrap();
        line.spans.iter().find_map(|span| span.style.colour)
    };
    assert_eq!(styled("+new"), Some(Colour::Green));
    assert_eq!(styled("-old"), Some(Colour::Red));
}

#[test]
fn what_may_stand_is_offered_unless_a_rule_says_to_ask_each_time() {
    let (mut conversation, _) = asking(TWO, "git status", ScreenLanguage::English);
    let view = |question: &ShownQuestion| PendingApprovalView {
        approval_id: question.approval_id.clone(),
        code: String::new(),
        session_id: "01a1e262-00a1-728f-a060-67db5b565f37".parse().unwrap(),
        thread_id: "cli:room:test".parse().unwrap(),
        tool: String::new(),
        summary: String::new(),
        command: None,
        paths: Vec::new(),
        diff: None,
        diff_lines_left_out: None,
        input: None,
        risk: String::new(),
        approvers: Vec::new(),
        expires_at: 0,
        grant: Some("git status".to_owned()),
        question: String::new(),
    };
    let views: Vec<PendingApprovalView> = conversation.questions.waiting.iter().map(view).collect();
    conversation.questions.waiting[1].is_ruled = true;
    conversation.set_offers(&views);
    let shown = rows(&conversation, 120, 20);
    assert!(
        shown.contains("y yes · a yes, and do not ask again about `git status` for 1 hour · n no"),
        "{shown}"
    );
    let Some(QuestionStep::Answered(answer)) = press(&mut conversation, Key::Char('a')) else {
        panic!("it is offered");
    };
    assert_eq!((answer.answer, answer.for_minutes), (ApprovalAnswer::Allow, Some(60)));
    press(&mut conversation, Key::Tab);
    assert_eq!(press(&mut conversation, Key::Char('a')), None);
}

#[test]
fn several_questions_wait_and_tab_goes_round() {
    let (mut conversation, _) = asking(TWO, "make", ScreenLanguage::English);
    assert!(rows(&conversation, 60, 20).contains("Tab next question (1/2)"));
    assert_eq!(press(&mut conversation, Key::Tab), Some(QuestionStep::Chosen));
    let shown = rows(&conversation, 60, 20);
    assert!(shown.contains("[C2]") && shown.contains("(2/2)"), "{shown}");
    press(&mut conversation, Key::Tab);
    assert!(rows(&conversation, 60, 20).contains("[C1]"));
}

#[test]
fn an_answer_from_elsewhere_takes_the_question_away_and_says_who_gave_it() {
    let line = format!("{ONE} | allow c1");
    let (mut conversation, rest) = asking(&line, "make", ScreenLanguage::English);
    assert!(conversation.has_question());
    let told = text(&conversation.take(&item(&rest[0]), 80, LATER));
    assert_eq!(told, "✓ allowed (owner, in another terminal): write_file a.txt [C1]");
    assert!(!conversation.has_question());
    assert_eq!(rows(&conversation, 60, 20), "");
}

#[test]
fn an_answer_from_here_names_nobody() {
    let line = format!("{ONE} | deny c1");
    let (mut conversation, rest) = asking(&line, "make", ScreenLanguage::Chinese);
    let id = conversation.questions.waiting[0].approval_id.clone();
    conversation.answering(&id, rest[0].id);
    assert!(rows(&conversation, 60, 20).contains("发送中"));
    let told = text(&conversation.take(&item(&rest[0]), 80, LATER));
    assert_eq!(told, "✗ 已拒绝：write_file a.txt [C1]");
}

#[test]
fn a_question_that_expired_says_so() {
    let line = format!("{ONE} | expired c1");
    let (mut conversation, rest) = asking(&line, "make", ScreenLanguage::English);
    let expires_at = conversation.questions.waiting[0].expires_at;
    let soon = text(&conversation.question_rows(60, 20, LATER, expires_at - 90_000));
    assert!(soon.contains("  expires in 1 min 30 s"), "{soon}");
    let told = text(&conversation.take(&item(&rest[0]), 80, LATER));
    assert_eq!(told, "✗ not answered in time: write_file a.txt [C1]");
}
