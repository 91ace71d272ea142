//! The leaf moves, and nothing else: at rest, in the middle of a turn, after a crash.

use kith_testkit::transcript::{Transcript, transcript};
use kith_vocab::event::calls::{Decision, Via};
use kith_vocab::event::control::{EndReason, LeafReason};

use super::*;

/// Looks before a test gives up on what it waits for.
const LOOKS_MAX: usize = 1_000_000;

pub(super) fn branch(house: &House, session_id: SessionId, to: LeafId) -> Branch {
    Branch {
        agent_id: "main".to_owned(),
        thread_id: "cli:room:a".parse().unwrap(),
        session_id,
        id: EventId::from_uuid(house.clock.new_id()),
        to,
        expected_leaf: None,
        by: "owner".to_owned(),
        client_id: "cli".to_owned(),
    }
}

/// Says so many messages, each answered by its number.
async fn talk(house: &House, engine: &Engine, n: usize) -> (Vec<Report>, ScriptedModel) {
    let model = (0..n).fold(ScriptedModel::new([]), |it, n| it.says(&format!("Answer {n}.")));
    let mut reports = Vec::new();
    for n in 0..n {
        *house.prompt.lock().unwrap() = format!("Edited {n} times.");
        let event = message(&format!("m{n}"), "cli:room:a", &format!("question {n}"));
        reports.push(ask(engine, &event, &model).await.unwrap());
    }
    (reports, model)
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

#[tokio::test]
async fn a_branch_moves_only_the_leaf_and_keeps_the_snapshot() {
    let house = House::new();
    let engine = house.engine().await;
    let (reports, model) = talk(&house, &engine, 3).await;
    let id = reports[0].session_id;
    let before = house.events(id);
    let to = LeafId::from(reports[0].leaf);
    let leaf = engine.branch(&branch(&house, id, to), &Unwatched).await.unwrap();
    assert_eq!(leaf, to);
    let after = house.events(id);
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(after.len(), before.len() + 1);
    assert_eq!(moves(&after), [reports[0].leaf]);

    *house.prompt.lock().unwrap() = "Be stern.".to_owned();
    let model = model.says("Otherwise.");
    let event = message("m9", "cli:room:a", "another way");
    let report = ask(&engine, &event, &model).await.unwrap();
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
    drop(engine);
    let engine = house.engine().await;
    let model = model.says("Still.");
    ask(&engine, &message("m10", "cli:room:a", "and on"), &model).await.unwrap();
    assert!(!last_body(&model).contains("question 1"));
    prove(&house, id, &model);
}

#[tokio::test]
async fn a_message_leads_to_before_it_and_start_to_before_all() {
    let house = House::new();
    let engine = house.engine().await;
    let (reports, _) = talk(&house, &engine, 2).await;
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
        let leaf = engine.branch(&branch(&house, id, to), &Unwatched).await.unwrap();
        assert_eq!(leaf, LeafId::from(expected), "{to}");
        assert_eq!(State::of(&house.events(id)).leaf(), expected);
    }
    let model = ScriptedModel::new([]).says("Anew.");
    ask(&engine, &message("m9", "cli:room:a", "begin"), &model).await.unwrap();
    assert!(!last_body(&model).contains("question"));
}

#[tokio::test]
async fn a_branch_to_what_is_not_in_the_tree_is_refused_and_writes_nothing() {
    let house = House::new();
    let engine = house.engine().await;
    let (reports, _) = talk(&house, &engine, 1).await;
    let id = reports[0].session_id;
    let model = ScriptedModel::new([]).says("Elsewhere.");
    let other = ask(&engine, &message("o1", "cli:room:b", "hello"), &model).await.unwrap();
    let file = house.file(id);
    let ended = house.events(id).pop().unwrap();
    assert_eq!(ended.body.type_name(), "turn_ended");
    let unknown = EventId::from_uuid(house.clock.new_id());
    for (wrong, words) in [
        (unknown, "has no event"),
        (other.leaf.unwrap(), "has no event"),
        (ended.id, "is of type `turn_ended`, which is not part of the conversation"),
    ] {
        let wish = branch(&house, id, LeafId::Event(wrong));
        let error = engine.branch(&wish, &Unwatched).await.unwrap_err();
        assert!(matches!(error, EngineError::Place(_)), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    for taken in [ended.id, reports[0].leaf.unwrap()] {
        let wish = Branch { id: taken, ..branch(&house, id, LeafId::Start) };
        let error = engine.branch(&wish, &Unwatched).await.unwrap_err();
        assert_eq!(error.to_string(), format!("the id `{taken}` is that of another event"));
    }
    let nowhere = branch(&house, SessionId::from_uuid(house.clock.new_id()), LeafId::Start);
    engine.branch(&nowhere, &Unwatched).await.unwrap_err();
    assert_eq!(house.file(id), file);
}

#[tokio::test]
async fn of_two_branches_with_the_same_expected_leaf_one_wins() {
    let house = House::new();
    let engine = house.engine().await;
    let (reports, _) = talk(&house, &engine, 3).await;
    let id = reports[0].session_id;
    let expected_leaf = Some(LeafId::from(reports[2].leaf));
    let one = Branch { expected_leaf, ..branch(&house, id, reports[0].leaf.into()) };
    let two = Branch { expected_leaf, ..branch(&house, id, reports[1].leaf.into()) };
    let (first, second) =
        tokio::join!(engine.branch(&one, &Unwatched), engine.branch(&two, &Unwatched));
    let (won, lost) = match (first, second) {
        (Ok(leaf), Err(error)) | (Err(error), Ok(leaf)) => (leaf, error),
        other => panic!("{other:?}"),
    };
    let EngineError::Conflict { present, expected, .. } = lost else { panic!("{lost}") };
    assert_eq!((present, Some(expected)), (won, expected_leaf));
    assert_eq!(moves(&house.events(id)), [won.event()]);
    // Who asks again under the same id gets the same answer, and nothing more is written.
    let file = house.file(id);
    let winner = if LeafId::from(reports[0].leaf) == won { &one } else { &two };
    assert_eq!(engine.branch(winner, &Unwatched).await.unwrap(), won);
    assert_eq!(house.file(id), file);
}

#[tokio::test]
async fn a_branch_to_where_the_conversation_is_writes_nothing() {
    let house = House::new();
    let engine = house.engine().await;
    let (reports, _) = talk(&house, &engine, 1).await;
    let file = house.file(reports[0].session_id);
    let wish = branch(&house, reports[0].session_id, reports[0].leaf.into());
    assert_eq!(engine.branch(&wish, &Unwatched).await.unwrap(), reports[0].leaf.into());
    assert_eq!(house.file(reports[0].session_id), file);
}

/// Branches to the end of the first turn while the second one is in the middle of something.
async fn branch_while_it_runs(
    house: &House,
    model: ScriptedModel,
    is_there: impl Fn() -> bool,
    expects: impl Fn(&[Event]) -> Option<LeafId>,
) -> (Report, LeafId, SessionId) {
    let engine = house.engine().await;
    let first_model = ScriptedModel::new([]).says("One.");
    let first = ask(&engine, &message("m1", "cli:room:a", "one"), &first_model).await.unwrap();
    let second = message("m2", "cli:room:a", "two");
    let moving = async {
        for _ in 0..LOOKS_MAX {
            if is_there() || model.bodies().len() > 1 {
                break;
            }
            tokio::task::yield_now().await;
        }
        let mut events = Vec::new();
        house.store().read(first.session_id, None, &mut |event| events.push(event)).unwrap();
        let wish = branch(house, first.session_id, first.leaf.into());
        let wish = Branch { expected_leaf: expects(&events), ..wish };
        engine.branch(&wish, &Unwatched).await.unwrap()
    };
    let (report, leaf) = tokio::join!(ask(&engine, &second, &model), moving);
    assert_eq!(leaf, first.leaf.into());
    assert!(engine.desk.unclosed(first.session_id).await.unwrap().is_empty());
    let next = ScriptedModel::new([]).says("Three.");
    let third = ask(&engine, &message("m3", "cli:room:a", "three"), &next).await.unwrap();
    assert_eq!(third.text, "Three.");
    let body = last_body(&next);
    assert!(body.contains("One.") && !body.contains("two"), "{body}");
    // The stopped turn is told as it was to whoever asks again.
    let again = ask(&engine, &second, &next).await.unwrap();
    assert_eq!(again.end, Some(EndReason::Cancelled));
    (report.unwrap(), leaf, first.session_id)
}

#[tokio::test]
async fn a_branch_stops_the_request_that_runs_and_ends_its_turn_in_one_batch() {
    let house = House::new();
    let n_asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&n_asked);
    let scripted = ScriptedModel::new([])
        .waits_after("Half an answ")
        .with_hook(move |n| counter.store(n, Ordering::SeqCst));
    let is_there = || n_asked.load(Ordering::SeqCst) > 0;
    let last = |events: &[Event]| Some(LeafId::from(State::of(events).leaf()));
    let (report, _, id) = Box::pin(branch_while_it_runs(&house, scripted, is_there, last)).await;
    assert_eq!((report.end, report.text.as_str()), (Some(EndReason::Cancelled), "Half an answ"));
    let outline = house.outline(id);
    let ended = "1/4 assistant_message stopReason=cancelled [Half an answ]\n2/4 cancel_requested\n\
                 3/4 turn_ended reason=cancelled\n4/4 leaf_moved reason=branch\n";
    assert!(outline.contains(ended), "{outline}");
}

#[tokio::test]
async fn a_branch_stops_the_tool_that_runs_and_what_was_done_stays_done() {
    let mut house = House::new();
    house.tool = CountingTool::new("write_file").waiting();
    let tool = house.tool.clone();
    let calls = [("write_file", serde_json::json!({})), ("write_file", serde_json::json!({}))];
    let model = ScriptedModel::new([]).calls("Doing.", &calls);
    let running = branch_while_it_runs(&house, model, || tool.runs() > 0, |_| None);
    let (report, _, id) = Box::pin(running).await;
    assert_eq!(report.end, Some(EndReason::Cancelled));
    assert_eq!(house.tool.runs(), 1);
    let outline = house.outline(id);
    let ended = "4/5 turn_ended reason=cancelled\n5/5 leaf_moved reason=branch\n";
    assert!(outline.contains(ended), "{outline}");
    assert_eq!(outline.matches("tool_result outcome=cancelled").count(), 2, "{outline}");
}

/// Branches from a log that was left in some state, in a process that has just begun.
async fn check_left(line: &str, to: &str, expected: &str) {
    let house = House::new();
    let engine = house.engine().await;
    let log: Transcript = transcript(line);
    let header = house.adopt(&engine, "cli:room:a", &log.events).await;
    let wish = branch(&house, header.session_id, LeafId::Event(log.event(to)));
    engine.branch(&wish, &Unwatched).await.unwrap();
    let outline = house.outline(header.session_id);
    let added: Vec<&str> = outline.lines().skip(log.events.len()).collect();
    assert_eq!(added.join("\n"), expected);
    assert_eq!(house.tool.runs(), 0);
    assert!(State::of(&house.events(header.session_id)).turn.is_none());
}

#[tokio::test]
async fn what_waits_for_a_person_is_decided_by_the_branch() {
    check_left(
        "snapshot be kind | tools write_file | user: a | asked model | model#m1: b | ended done \
         | user: c | asked model | model: ok, write_file=c1, write_file=c2 | hold c1 | hold c2 \
         | asked c1 | asked c2",
        "m1",
        "1/7 approval_decided reason=the turn ended before an answer came\n\
         2/7 approval_decided reason=the turn ended before an answer came\n\
         3/7 cancel_requested\n\
         4/7 tool_result outcome=cancelled [Cancelled by the user before it ran.]\n\
         5/7 tool_result outcome=cancelled [Cancelled by the user before it ran.]\n\
         6/7 turn_ended reason=cancelled\n\
         7/7 leaf_moved reason=branch",
    )
    .await;
}

#[tokio::test]
async fn a_turn_that_was_cut_short_is_ended_and_not_taken_up() {
    check_left(
        "snapshot be kind | tools write_file | user#u1: a | asked model \
         | model: ok, write_file=c1 | free c1 | start c1",
        "u1",
        "1/5 resumed\n\
         2/5 cancel_requested\n\
         3/5 tool_result outcome=interrupted [Interrupted: the program ended while this ran. It \
         may or may not have taken effect; look before you try again.]\n\
         4/5 turn_ended reason=cancelled\n\
         5/5 leaf_moved reason=branch",
    )
    .await;
}

#[tokio::test]
async fn a_branch_goes_back_before_a_compaction_that_was_let_go() {
    let house = House::new();
    let engine = house.engine().await;
    let log = transcript(
        "snapshot be kind | tools write_file | user: early words | asked model | model#m1: early \
         answer | ended done | user: more | asked model | model: yes | ended done | user#k: kept \
         | asked compact | compact keep=k the summary | asked model | model: on | ended done",
    );
    let header = house.adopt(&engine, "cli:room:a", &log.events).await;
    let model = ScriptedModel::new([]).says("Now.").says("Then.");
    ask(&engine, &message("m1", "cli:room:a", "now"), &model).await.unwrap();
    assert!(!last_body(&model).contains("early words"));
    let wish = branch(&house, header.session_id, LeafId::Event(log.event("m1")));
    engine.branch(&wish, &Unwatched).await.unwrap();
    ask(&engine, &message("m2", "cli:room:a", "then"), &model).await.unwrap();
    let body = last_body(&model);
    assert!(body.contains("early words") && !body.contains("the summary"), "{body}");
}

#[tokio::test]
async fn kill_at_every_write_of_a_branch_moves_the_leaf_once() {
    let line = "snapshot be kind | tools write_file | user: a | asked model | model#m1: b \
                | ended done | user: c | asked model | model: ok, write_file=c1 | free c1 | start c1";
    let log = transcript(line);
    let mut n_kills = 0;
    for at in 1.. {
        let mut house = House::new();
        let engine = house.engine().await;
        let header = house.adopt(&engine, "cli:room:a", &log.events).await;
        let id = header.session_id;
        let wish = branch(&house, id, LeafId::Event(log.event("m1")));
        house.files.plan(house.files.count() + at, Fault::Kill { written: Written::Half });
        let killed = engine.branch(&wish, &Unwatched).await.is_err();
        drop(engine);
        house.files = house.files.reboot(CrashModel::PowerCut);
        let engine = house.engine().await;
        let leaf = engine.branch(&wish, &Unwatched).await.unwrap();
        assert_eq!(leaf, LeafId::Event(log.event("m1")));
        assert_eq!(moves(&house.events(id)), [Some(log.event("m1"))], "{at}");
        let n_ended = house.outline(id).matches("turn_ended").count();
        assert_eq!((n_ended, house.tool.runs()), (2, 0), "{at}");
        if !killed {
            break;
        }
        n_kills += 1;
    }
    assert!(n_kills >= 2, "{n_kills}");
}

#[tokio::test]
async fn who_expects_another_leaf_stops_no_turn() {
    let house = House::new();
    let engine = house.engine().await;
    let (reports, _) = talk(&house, &engine, 1).await;
    let id = reports[0].session_id;
    let model = ScriptedModel::new([]).waits();
    let cancel = CancellationToken::new();
    let event = message("m9", "cli:room:a", "take your time");
    let accepted = engine.accept(&event, Target::Current).await.unwrap();
    let run = Run { provider: &model, watcher: &Unwatched, cancel: &cancel };
    let moving = async {
        for _ in 0..LOOKS_MAX {
            if !model.bodies().is_empty() {
                break;
            }
            tokio::task::yield_now().await;
        }
        let wish = branch(&house, id, LeafId::Start);
        let wish = Branch { expected_leaf: Some(reports[0].leaf.into()), ..wish };
        let error = engine.branch(&wish, &Unwatched).await.unwrap_err();
        assert!(matches!(error, EngineError::Conflict { .. }), "{error}");
        assert!(State::of(&house.events(id)).turn.is_some());
        cancel.cancel();
    };
    let (report, ()) = tokio::join!(engine.run(&accepted, run), moving);
    assert_eq!(report.unwrap().end, Some(EndReason::Cancelled));
    assert!(moves(&house.events(id)).is_empty());
}

#[tokio::test]
async fn a_message_whose_turn_a_branch_ended_is_not_said_again() {
    let event = message("m1", "cli:room:a", "write hello to note.txt");
    let house = House::new();
    ask(&house.engine().await, &event, &demo()).await.unwrap();
    let mut n_open = 0;
    for at in 1..=house.files.count() {
        let mut house = House::new();
        house.files.plan(at, Fault::Kill { written: Written::All });
        let engine = house.engine().await;
        ask(&engine, &event, &demo()).await.unwrap_err();
        drop(engine);
        house.files = house.files.reboot(CrashModel::ProcessKilled);
        let Some(id) = house.store().list().unwrap_or_default().pop() else { continue };
        let engine = house.engine().await;
        let is_said = house.outline(id).contains("user_message");
        engine.branch(&branch(&house, id, LeafId::Start), &Unwatched).await.unwrap();
        assert_eq!(engine.desk.unclosed(id).await.unwrap().is_empty(), is_said, "{at}");
        n_open += usize::from(is_said);
        let model = ScriptedModel::new([]).says("Only if it was never said.");
        let report = ask(&engine, &event, &model).await.unwrap();
        assert_eq!(model.bodies().is_empty(), is_said, "{at}: {report:?}");
        assert!(house.tool.runs() <= 1);
    }
    assert!(n_open > 2, "{n_open}");
}

#[tokio::test]
async fn a_turn_that_is_cancelled_leaves_no_question_open() {
    let house = House::new();
    let engine = house.engine().await;
    let log = transcript(
        "snapshot be kind | tools write_file | user: a | asked model | model: ok, write_file=c1 \
         | hold c1 | asked c1",
    );
    let id = house.adopt(&engine, "cli:room:a", &log.events).await.session_id;
    let accepted = engine.accept(&message("m1", "cli:room:a", "b"), Target::Current).await.unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let model = ScriptedModel::new([]);
    engine
        .run(&accepted, Run { provider: &model, watcher: &Unwatched, cancel: &cancel })
        .await
        .unwrap();
    let decided = house.events(id).into_iter().find_map(|event| match event.body {
        Body::ApprovalDecided(it) => Some((it.decision, it.via)),
        _ => None,
    });
    assert_eq!(decided, Some((Decision::Deny, Via::Cancel)));
    assert_eq!(house.tool.runs(), 0);
}
