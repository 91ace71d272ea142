//! The leaf moves, and nothing else: at rest, in the middle of a turn, after a crash.

use kith_providers::demo::demo;
use kith_sessions::desk::RowTarget;
use kith_testkit::files::{CrashModel, Fault, Written};
use kith_testkit::scripted::ScriptedModels;
use kith_testkit::tools::CountingTool;
use kith_testkit::transcript::{Transcript, transcript};
use kith_vocab::event::calls::{Decision, Via};
use kith_vocab::event::control::LeafReason;
use kith_vocab::ids::EventId;
use serde_json::json;

use super::prompts::prove;
use super::*;
use crate::command::CommandAction;
use crate::report::TurnReport;
use crate::state::State;

/// Someone who moves the leaf and has seen nothing in particular.
pub(super) fn mover(house: &TestHouse) -> BranchCommand {
    BranchCommand {
        id: house.new_event_id(),
        client_id: "cli".to_owned(),
        user_id: "owner".to_owned(),
        expected_leaf: None,
    }
}

/// A house with a model that answers so many messages, each by its number.
fn talkative(n: usize) -> (TestHouse, Arc<ScriptedModel>) {
    let model = (0..n).fold(script(), |it, n| it.says(&format!("Answer {n}.")));
    let model = Arc::new(model.says("Otherwise.").says("Still."));
    (TestHouse::new(&model), model)
}

async fn talk(house: &TestHouse, engine: &Engine, n: usize) -> Vec<TurnReport> {
    let mut reports = Vec::new();
    for n in 0..n {
        *house.setup.prompt.lock().unwrap() = format!("Edited {n} times.");
        let event = message(&format!("m{n}"), ROOM, &format!("question {n}"));
        reports.push(ask(engine, &event).await.unwrap());
    }
    reports
}

fn moves(events: &[Event]) -> Vec<Option<EventId>> {
    let moved = events.iter().filter_map(|event| match &event.body {
        Body::LeafMoved(it) => Some((it.to, it.reason)),
        _ => None,
    });
    moved.inspect(|(_, reason)| assert_eq!(*reason, LeafReason::Branch)).map(|(to, _)| to).collect()
}

fn last_body(model: &ScriptedModel) -> String {
    String::from_utf8(model.bodies().pop().unwrap().bytes).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_branch_moves_only_the_leaf_and_keeps_the_snapshot() {
    let (house, model) = talkative(3);
    let engine = house.engine();
    let reports = talk(&house, &engine, 3).await;
    let id = reports[0].session_id;
    let before = house.events(id);
    let to = LeafId::from(reports[0].leaf);
    assert_eq!(engine.branch(id, to, mover(&house)).await.unwrap(), to);
    let after = house.events(id);
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(after.len(), before.len() + 1);
    assert_eq!(moves(&after), [reports[0].leaf]);

    "Be stern.".clone_into(&mut house.setup.prompt.lock().unwrap());
    let report = ask(&engine, &message("m9", ROOM, "another way")).await.unwrap();
    assert_eq!((report.session_id, report.text.as_str()), (id, "Otherwise."));
    let body = last_body(&model);
    let has = |text: &str| body.contains(text);
    assert!(has("question 0") && has("Answer 0.") && has("another way"), "{body}");
    assert!(!has("question 1") && !has("question 2") && !has("Answer 2."), "{body}");
    assert!(has("Edited 0 times.") && !has("Be stern."), "{body}");
    let events = house.events(id);
    let n_snapshots = events.iter().filter(|it| matches!(it.body, Body::InstructionSnapshot(_)));
    assert_eq!(n_snapshots.count(), 1);
    prove(&house, id, &model);

    // The same after opening the file again.
    engine.kill();
    ask(&house.engine(), &message("m10", ROOM, "and on")).await.unwrap();
    assert!(!last_body(&model).contains("question 1"));
    prove(&house, id, &model);
}

#[tokio::test(start_paused = true)]
async fn a_message_leads_to_before_it_and_start_to_before_all() {
    let (house, model) = talkative(2);
    let engine = house.engine();
    let reports = talk(&house, &engine, 2).await;
    let id = reports[0].session_id;
    let events = house.events(id);
    let messages: Vec<EventId> = events
        .iter()
        .filter(|it| matches!(it.body, Body::UserMessage(_)))
        .map(|it| it.id)
        .collect();
    for (to, expected) in [
        (LeafId::Event(messages[1]), reports[0].leaf),
        (LeafId::from(reports[1].leaf), reports[1].leaf),
        (LeafId::Event(messages[0]), None),
        (LeafId::from(reports[1].leaf), reports[1].leaf),
        (LeafId::Start, None),
    ] {
        let leaf = engine.branch(id, to, mover(&house)).await.unwrap();
        assert_eq!(leaf, LeafId::from(expected), "{to}");
        assert_eq!(State::of(&house.events(id)).leaf(), expected);
    }
    ask(&engine, &message("m9", ROOM, "begin")).await.unwrap();
    assert!(!last_body(&model).contains("question"));
}

#[tokio::test(start_paused = true)]
async fn a_branch_to_what_is_not_in_the_tree_is_refused_and_writes_nothing() {
    let (house, _) = talkative(1);
    let engine = house.engine();
    let reports = talk(&house, &engine, 1).await;
    let id = reports[0].session_id;
    let other = ask(&engine, &message("o1", "cli:room:b", "hello")).await.unwrap();
    let file = house.file(id);
    let ended = house.events(id).pop().unwrap();
    assert_eq!(ended.body.type_name(), "turn_ended");
    for (wrong, words) in [
        (house.new_event_id(), "has no event"),
        (other.leaf.unwrap(), "has no event"),
        (ended.id, "is of type `turn_ended`, which is not part of the conversation"),
    ] {
        let error = engine.branch(id, LeafId::Event(wrong), mover(&house)).await.unwrap_err();
        assert!(matches!(error, EngineError::Place(_)), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    for taken in [ended.id, reports[0].leaf.unwrap()] {
        let command = BranchCommand { id: taken, ..mover(&house) };
        let error = engine.branch(id, LeafId::Start, command).await.unwrap_err();
        assert_eq!(error.to_string(), format!("the id `{taken}` already belongs to another event"));
    }
    let nowhere = house.new_session_id();
    engine.branch(nowhere, LeafId::Start, mover(&house)).await.unwrap_err();
    assert_eq!(house.file(id), file);
}

#[tokio::test(start_paused = true)]
async fn of_two_branches_with_the_same_expected_leaf_one_wins() {
    let (house, _) = talkative(3);
    let engine = house.engine();
    let reports = talk(&house, &engine, 3).await;
    let id = reports[0].session_id;
    let expected_leaf = Some(LeafId::from(reports[2].leaf));
    let one = (reports[0].leaf.into(), BranchCommand { expected_leaf, ..mover(&house) });
    let two = (reports[1].leaf.into(), BranchCommand { expected_leaf, ..mover(&house) });
    let (first, second) = tokio::join!(
        engine.branch(id, one.0, one.1.clone()),
        engine.branch(id, two.0, two.1.clone())
    );
    let (won, lost) = match (first, second) {
        (Ok(leaf), Err(error)) | (Err(error), Ok(leaf)) => (leaf, error),
        other => panic!("{other:?}"),
    };
    let EngineError::Conflict { present, expected, .. } = lost else { panic!("{lost}") };
    assert_eq!((present, Some(expected)), (won, expected_leaf));
    assert_eq!(moves(&house.events(id)), [won.event()]);
    // Who asks again under the same id gets the same answer, and nothing more is written.
    let file = house.file(id);
    let winner = if one.0 == won { one } else { two };
    assert_eq!(engine.branch(id, winner.0, winner.1).await.unwrap(), won);
    assert_eq!(house.file(id), file);
}

#[tokio::test(start_paused = true)]
async fn a_branch_to_where_the_conversation_is_writes_nothing() {
    let (house, _) = talkative(1);
    let engine = house.engine();
    let reports = talk(&house, &engine, 1).await;
    let (id, leaf) = (reports[0].session_id, LeafId::from(reports[0].leaf));
    let file = house.file(id);
    assert_eq!(engine.branch(id, leaf, mover(&house)).await.unwrap(), leaf);
    assert_eq!(house.file(id), file);
}

/// Branches to the end of the first turn while the second one is in the middle of something.
async fn branch_while_it_runs(
    house: &TestHouse,
    is_there: impl Fn() -> bool,
    expects: impl Fn(&[Event]) -> Option<LeafId>,
) -> (TurnReport, SessionId) {
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap();
    let (id, leaf) = (first.session_id, LeafId::from(first.leaf));
    let second = message("m2", ROOM, "two");
    let follower = engine.send(&second, RowTarget::Current).await.unwrap();
    until(is_there).await;
    let command = BranchCommand { expected_leaf: expects(&house.events(id)), ..mover(house) };
    assert_eq!(engine.branch(id, leaf, command).await.unwrap(), leaf);
    let report = within(follower.end()).await.unwrap();
    assert!(house.desk_is_clear(id).await);
    let third = ask(&engine, &message("m3", ROOM, "three")).await.unwrap();
    assert_eq!(third.text, "Three.");
    // The stopped turn is told as it was to whoever asks again.
    let again = ask(&engine, &second).await.unwrap();
    assert_eq!(again.end, MessageEnd::Cancelled);
    (report, id)
}

#[tokio::test(start_paused = true)]
async fn a_branch_stops_the_request_that_runs_and_ends_its_turn_in_one_batch() {
    let model = Arc::new(script().says("One.").waits_after("Half an answ").says("Three."));
    let house = TestHouse::new(&model);
    let last = |events: &[Event]| Some(LeafId::from(State::of(events).leaf()));
    let (report, id) = branch_while_it_runs(&house, || model.bodies().len() > 1, last).await;
    assert_eq!((report.end, report.text.as_str()), (MessageEnd::Cancelled, "Half an answ"));
    let outline = house.outline(id);
    let ended = "1/4 assistant_message stopReason=cancelled [Half an answ]\n2/4 cancel_requested\n\
                 3/4 turn_ended reason=cancelled\n4/4 leaf_moved reason=branch\n";
    assert!(outline.contains(ended), "{outline}");
    let body = last_body(&model);
    assert!(body.contains("One.") && !body.contains("two"), "{body}");
}

#[tokio::test(start_paused = true)]
async fn a_branch_stops_the_tool_that_runs_and_what_was_done_stays_done() {
    let tool = CountingTool::new("write_file").waiting();
    let calls = [("write_file", json!({})), ("write_file", json!({}))];
    let model = Arc::new(script().says("One.").calls("Doing.", &calls).says("Three."));
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool.clone())]);
    let (report, id) = branch_while_it_runs(&house, || tool.runs() > 0, |_| None).await;
    assert_eq!((report.end, tool.runs()), (MessageEnd::Cancelled, 1));
    let outline = house.outline(id);
    let ended = "4/5 turn_ended reason=cancelled\n5/5 leaf_moved reason=branch\n";
    assert!(outline.contains(ended), "{outline}");
    assert_eq!(outline.matches("tool_result outcome=cancelled").count(), 2, "{outline}");
}

/// Branches from a log that was left in some state, in a process that has just begun.
async fn check_left(line: &str, to: &str, expected: &str) {
    let tool = CountingTool::new("write_file");
    let house = TestHouse::with_tools(&Arc::new(script()), vec![Arc::new(tool.clone())]);
    let engine = house.engine();
    let log: Transcript = transcript(line);
    let id = house.adopt(&engine, ROOM, &log.events).await.session_id;
    engine.branch(id, LeafId::Event(log.event(to)), mover(&house)).await.unwrap();
    let outline = house.outline(id);
    let added: Vec<&str> = outline.lines().skip(log.events.len()).collect();
    assert_eq!(added.join("\n"), expected);
    assert_eq!(tool.runs(), 0);
    assert!(State::of(&house.events(id)).turn.is_none());
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_person_is_decided_by_the_branch() {
    check_left(
        "snapshot be kind | tools write_file | user: a | asked model | model#m1: b | ended done \
         | user: c | started models=scripted | asked model \
         | model: ok, write_file=c1, write_file=c2 | hold c1 | hold c2 | asked c1 | asked c2",
        "m1",
        "1/7 approval_decided reason=the turn ended before anyone answered\n\
         2/7 approval_decided reason=the turn ended before anyone answered\n\
         3/7 cancel_requested\n\
         4/7 tool_result outcome=cancelled [Cancelled by the user before it ran.]\n\
         5/7 tool_result outcome=cancelled [Cancelled by the user before it ran.]\n\
         6/7 turn_ended reason=cancelled\n\
         7/7 leaf_moved reason=branch",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_was_cut_short_is_ended_and_not_taken_up() {
    // Also if its model cannot be asked from here, or an earlier version did not record it.
    for models in ["started models=scripted", "note x"] {
        check_left(
            &format!(
                "snapshot be kind | tools write_file | user#u1: a | {models} | asked model \
                 | model: ok, write_file=c1 | free c1 | start c1"
            ),
            "u1",
            "1/5 resumed\n\
             2/5 cancel_requested\n\
             3/5 tool_result outcome=interrupted [Interrupted: the program ended while this ran. \
             It may or may not have taken effect; look before you try again.]\n\
             4/5 turn_ended reason=cancelled\n\
             5/5 leaf_moved reason=branch",
        )
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_branch_goes_back_before_a_compaction_that_was_let_go() {
    let model = Arc::new(script().says("Now.").says("Then."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let log = transcript(
        "snapshot be kind | tools write_file | user: early words | asked model | model#m1: early \
         answer | ended done | user: more | asked model | model: yes | ended done | user#k: kept \
         | asked compact | compact keep=k the summary | asked model | model: on | ended done",
    );
    let id = house.adopt(&engine, ROOM, &log.events).await.session_id;
    ask(&engine, &message("m1", ROOM, "now")).await.unwrap();
    assert!(!last_body(&model).contains("early words"));
    engine.branch(id, LeafId::Event(log.event("m1")), mover(&house)).await.unwrap();
    ask(&engine, &message("m2", ROOM, "then")).await.unwrap();
    let body = last_body(&model);
    assert!(body.contains("early words") && !body.contains("the summary"), "{body}");
}

#[tokio::test(start_paused = true)]
async fn kill_at_every_write_of_a_branch_moves_the_leaf_once() {
    let line = "snapshot be kind | tools write_file | user: a | asked model | model#m1: b \
                | ended done | user: c | started models=scripted | asked model \
                | model: ok, write_file=c1 | free c1 | start c1";
    let log = transcript(line);
    let to = LeafId::Event(log.event("m1"));
    let mut n_kills = 0;
    for at in 1.. {
        let tool = CountingTool::new("write_file");
        let mut house = TestHouse::with_tools(&Arc::new(script()), vec![Arc::new(tool.clone())]);
        let engine = house.engine();
        let id = house.adopt(&engine, ROOM, &log.events).await.session_id;
        let command = mover(&house);
        house.files.plan(house.files.count() + at, Fault::Kill { written: Written::Half });
        let killed = engine.branch(id, to, command.clone()).await.is_err();
        engine.kill();
        house.files = house.files.reboot(CrashModel::PowerCut);
        let engine = house.engine();
        assert_eq!(engine.branch(id, to, command).await.unwrap(), to);
        assert_eq!(moves(&house.events(id)), [Some(log.event("m1"))], "{at}");
        let n_ended = house.outline(id).matches("turn_ended").count();
        assert_eq!((n_ended, tool.runs()), (2, 0), "{at}");
        if !killed {
            break;
        }
        n_kills += 1;
    }
    assert!(n_kills >= 2, "{n_kills}");
}

#[tokio::test(start_paused = true)]
async fn who_expects_another_leaf_stops_no_turn() {
    let model = Arc::new(script().says("Answer.").waits());
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "hi")).await.unwrap();
    let id = first.session_id;
    let event = message("m9", ROOM, "take your time");
    let follower = engine.send(&event, RowTarget::Current).await.unwrap();
    until(|| model.bodies().len() > 1).await;
    let command = BranchCommand { expected_leaf: Some(first.leaf.into()), ..mover(&house) };
    let error = engine.branch(id, LeafId::Start, command).await.unwrap_err();
    assert!(matches!(error, EngineError::Conflict { .. }), "{error}");
    assert!(State::of(&house.events(id)).turn.is_some());
    house.command(&engine, id, CommandAction::Cancel { key: None }).await.unwrap();
    assert_eq!(within(follower.end()).await.unwrap().end, MessageEnd::Cancelled);
    assert!(moves(&house.events(id)).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_turn_a_branch_ended_is_not_said_again() {
    let event = message("m1", ROOM, "write hello to note.txt");
    let demo_house = |tool: &CountingTool| {
        let models = ScriptedModels::one(Arc::new(demo()));
        TestHouse::asking(Arc::new(models), vec![Arc::new(tool.clone())])
    };
    let house = demo_house(&CountingTool::new("write_file"));
    ask(&house.engine(), &event).await.unwrap();
    let mut n_open = 0;
    for at in 1..=house.files.count() {
        let tool = CountingTool::new("write_file");
        let mut house = demo_house(&tool);
        house.files.plan(at, Fault::Kill { written: Written::All });
        let engine = house.engine();
        ask(&engine, &event).await.unwrap_err();
        engine.kill();
        house.files = house.files.reboot(CrashModel::ProcessKilled);
        let Some(id) = house.store().list().unwrap_or_default().pop() else { continue };
        let model = Arc::new(script().says("Only if it was never said."));
        house.models = Arc::new(ScriptedModels::one(model.clone()));
        let engine = house.engine();
        // The session is made with its first message, so that stands in the log.
        assert!(house.outline(id).contains("user_message"));
        engine.branch(id, LeafId::Start, mover(&house)).await.unwrap();
        assert!(house.desk_is_clear(id).await, "{at}");
        n_open += 1;
        let report = ask(&engine, &event).await.unwrap();
        assert!(model.bodies().is_empty(), "{at}: {report:?}");
        assert!(tool.runs() <= 1);
    }
    assert!(n_open > 2, "{n_open}");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_cancelled_leaves_no_question_open() {
    let tool = CountingTool::new("write_file");
    let house = TestHouse::with_tools(&Arc::new(script()), vec![Arc::new(tool.clone())]);
    let engine = house.engine();
    let log = transcript(
        "snapshot be kind | tools write_file | user: a | started models=scripted | asked model \
         | model: ok, write_file=c1 | hold c1 | asked c1",
    );
    let id = house.adopt(&engine, ROOM, &log.events).await.session_id;
    house.command(&engine, id, CommandAction::Cancel { key: None }).await.unwrap();
    within(engine.until_rest()).await;
    let decided = house.events(id).into_iter().find_map(|event| match event.body {
        Body::ApprovalDecided(it) => Some((it.decision, it.via)),
        _ => None,
    });
    assert_eq!(decided, Some((Decision::Deny, Via::Cancel)));
    assert_eq!(tool.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn of_two_branches_that_open_a_session_both_are_answered() {
    let (house, _) = talkative(2);
    let engine = house.engine();
    let id = talk(&house, &engine, 2).await[0].session_id;
    let leaf = house.events(id).iter().rfind(|event| event.is_tree()).unwrap().id;
    engine.kill();
    let engine = house.engine();
    let expected_leaf = Some(LeafId::Event(leaf));
    let branch = || CommandAction::Branch { to: LeafId::Start, expected_leaf };
    let both = async {
        tokio::join!(house.command(&engine, id, branch()), house.command(&engine, id, branch()))
    };
    let (first, second) = within(both).await;
    assert_eq!(first.unwrap().leaf, LeafId::Start);
    assert!(matches!(second, Err(EngineError::Conflict { .. })));
    assert_eq!(moves(&house.events(id)), [None]);
}
