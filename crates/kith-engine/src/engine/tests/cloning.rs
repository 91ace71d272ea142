//! A clone has the source's path and snapshot, and nothing of what binds the source.

use kith_sessions::desk::{MemoryDesk, ThreadRecords};
use kith_testkit::files::{CrashModel, Fault, Written};
use kith_testkit::tools::CountingTool;
use kith_testkit::transcript::transcript;
use kith_testkit::validators::{assert_stable, validate_openai_chat};
use kith_vocab::event::SourceTag;
use kith_vocab::event::control::SkillIndexSnapshot;
use kith_vocab::header::{Audience, HeaderMeta, Priming, SessionHeader};
use serde_json::json;

use super::branching::mover;
use super::*;
use crate::fixture::header;
use crate::report::TurnReport;

async fn clone(
    house: &TestHouse,
    engine: &Engine,
    source: SessionId,
    at: Option<LeafId>,
) -> Result<ClonedSession, EngineError> {
    engine.clone_session(source, at, house.new_session_id()).await
}

async fn ask_in_clone(engine: &Engine, session: &ClonedSession) -> TurnReport {
    let event = message("in the clone", session.thread_id.as_str(), "and now?");
    ask(engine, &event).await.unwrap()
}

fn header_of(house: &TestHouse, id: SessionId) -> SessionHeader {
    house.store().read(id, None, &mut |_| ()).unwrap().header
}

#[tokio::test(start_paused = true)]
async fn a_clone_begins_with_the_path_and_the_same_snapshot() {
    let tool = CountingTool::new("write_file");
    let model = script()
        .calls("Doing.", &[("write_file", json!({}))])
        .says("One.")
        .says("Two.")
        .says("Cloned.");
    let model = Arc::new(model);
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool.clone())]);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap();
    ask(&engine, &message("m2", ROOM, "two")).await.unwrap();
    "Be stern.".clone_into(&mut house.setup.prompt.lock().unwrap());
    let source = first.session_id;
    let file = house.file(source);

    let made = clone(&house, &engine, source, Some(first.leaf.into())).await.unwrap();
    assert_eq!(made.leaf, first.leaf.into());
    assert_eq!(made.thread_id.as_str(), format!("web:room:{}", made.session_id));
    let header = header_of(&house, made.session_id);
    let origin = header.cloned_from.unwrap();
    assert_eq!((origin.session_id, Some(origin.event_id)), (source, first.leaf));
    assert_eq!(header.meta.title.as_deref(), None, "it is called by its own first words");

    let (from, to) = (house.events(source), house.events(made.session_id));
    let kinds: Vec<_> = to.iter().map(|it| it.body.type_name()).collect();
    let path = ["user_message", "assistant_message", "tool_result", "assistant_message"];
    assert_eq!(kinds[..2], ["instruction_snapshot", "toolset_snapshot"]);
    assert_eq!(kinds[2..], path);
    for event in &to {
        let origin = from.iter().find(|it| it.id == event.id).unwrap();
        let same = Event { seq: event.seq, source_tag: Some(SourceTag::Clone), ..origin.clone() };
        assert_eq!(*event, same);
    }
    assert_eq!((tool.runs(), house.file(source) == file), (1, true));

    let report = ask_in_clone(&engine, &made).await;
    assert_eq!((report.session_id, report.text.as_str()), (made.session_id, "Cloned."));
    let bodies = model.bodies();
    let body = String::from_utf8(bodies.last().unwrap().bytes.clone()).unwrap();
    assert!(body.contains("Be kind.") && !body.contains("Be stern."), "{body}");
    assert!(body.contains("One.") && !body.contains("two"), "{body}");
    // It goes on as the source would: each element of its second request, and then what is new.
    let outline = |at: usize| validate_openai_chat(&bodies[at].bytes).unwrap();
    assert_stable(&outline(1), &outline(3));
    assert_eq!((tool.runs(), house.file(source)), (1, file));
}

#[tokio::test(start_paused = true)]
async fn what_binds_only_the_source_stays_there() {
    let tool = CountingTool::new("write_file");
    let model = Arc::new(script().says("Here."));
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool.clone())]);
    let engine = house.engine();
    let mut log = transcript(
        "snapshot be kind | tools write_file | notice SKILLS | primed user: primed \
         | primed model: yes | title A garden | user: a | asked model | model#m1: b | ended done \
         | queue later | queue steer aside | notice hm | user: c | asked model \
         | model: ok, write_file=c1 | hold c1 | asked c1",
    );
    let skills = SkillIndexSnapshot { entries: Vec::new() };
    log.events[2].body = Body::SkillIndexSnapshot(skills);
    let source = house.adopt(&engine, ROOM, &log.events).await.session_id;
    let made = clone(&house, &engine, source, None).await.unwrap();
    // The turn that is open is left out.
    assert_eq!((made.leaf, made.leaves_a_turn_out), (LeafId::Event(log.event("m1")), true));
    let events = house.events(made.session_id);
    let told: Vec<String> = events
        .iter()
        .map(|it| format!("{:?} {}", it.source_tag.unwrap(), it.body.type_name()))
        .collect();
    assert_eq!(
        told,
        [
            "Clone instruction_snapshot",
            "Clone toolset_snapshot",
            "Clone skill_index_snapshot",
            "PrimingScript user_message",
            "PrimingScript assistant_message",
            "Clone user_message",
            "Clone assistant_message",
        ]
    );
    let header = header_of(&house, made.session_id);
    assert_eq!(header.meta.title.as_deref(), Some("A garden"));
    assert_eq!(ask_in_clone(&engine, &made).await.text, "Here.");
    assert_eq!((tool.runs(), model.bodies().len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn the_audience_and_the_priming_are_inherited() {
    let house = TestHouse::new(&Arc::new(script()));
    let engine = house.engine();
    let log = transcript("snapshot be kind | tools write_file | primed user: a | primed model: b");
    let priming = Some(Priming { script_refs: vec!["x".to_owned()], show_in_ui: false });
    let meta = HeaderMeta { title: None, priming: priming.clone() };
    let header = header(house.new_session_id());
    let header = SessionHeader { audience: Audience::Shared, meta, ..header };
    engine.adopt(&header, log.events).await.unwrap();
    let made = clone(&house, &engine, header.session_id, None).await.unwrap();
    let read = header_of(&house, made.session_id);
    assert_eq!((read.audience, read.meta.priming), (Audience::Shared, priming));
    let threads = house.desk.threads().await.unwrap();
    let thread = threads.iter().find(|it| it.session_id == made.session_id).unwrap();
    assert_eq!((thread.audience, &thread.thread_id), (Audience::Shared, &made.thread_id));
}

#[tokio::test(start_paused = true)]
async fn a_clone_at_start_has_the_snapshot_and_nothing_was_said() {
    let house = TestHouse::new(&Arc::new(script().says("One.").says("Anew.")));
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap();
    let made = clone(&house, &engine, first.session_id, Some(LeafId::Start)).await.unwrap();
    assert_eq!(made.leaf, LeafId::Start);
    assert_eq!(house.events(made.session_id).len(), 2);
    assert_eq!(ask_in_clone(&engine, &made).await.text, "Anew.");
    // And a clone of the clone.
    let again = clone(&house, &engine, made.session_id, None).await.unwrap();
    assert_eq!(house.events(again.session_id).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_clone_at_what_is_not_in_the_tree_is_refused_and_makes_nothing() {
    let house = TestHouse::new(&Arc::new(script().says("One.")));
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap();
    let id = first.session_id;
    let ended = house.events(id).pop().unwrap().id;
    for wrong in [house.new_event_id(), ended] {
        let error = clone(&house, &engine, id, Some(LeafId::Event(wrong))).await.unwrap_err();
        assert!(matches!(error, EngineError::Place(_)), "{error}");
    }
    clone(&house, &engine, house.new_session_id(), None).await.unwrap_err();
    // An id that is in use for something else.
    let error = engine.clone_session(id, None, id).await.unwrap_err();
    assert!(matches!(error, EngineError::Taken { .. }), "{error}");
    assert_eq!(house.store().list().unwrap(), [id]);
}

#[tokio::test(start_paused = true)]
async fn a_session_without_anything_cannot_be_cloned() {
    let house = TestHouse::new(&Arc::new(script()));
    let engine = house.engine();
    let log = transcript("notice imported");
    let header = house.adopt(&engine, ROOM, &log.events).await;
    let error = clone(&house, &engine, header.session_id, None).await.unwrap_err();
    assert_eq!(error.to_string(), "the session has nothing to clone yet");
}

#[tokio::test(start_paused = true)]
async fn a_damaged_session_is_cloned_as_far_as_it_can_be_read() {
    let house = TestHouse::new(&Arc::new(script().says("One.").says("Two.").says("Here.")));
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap();
    let second = ask(&engine, &message("m2", ROOM, "two")).await.unwrap();
    within(engine.until_rest()).await;
    let id = first.session_id;
    let mut bytes = house.file(id);
    let at = bytes.windows(4).rposition(|it| it == b"Two.").unwrap();
    bytes[at] ^= 1;
    house.files.write_raw(house.store().path(id), &bytes);
    let lost = clone(&house, &engine, id, Some(second.leaf.into())).await.unwrap_err();
    assert!(matches!(lost, EngineError::Place(_)), "{lost}");
    let made = clone(&house, &engine, id, None).await.unwrap();
    assert_eq!((made.leaf, made.damage.is_some()), (first.leaf.into(), true));
    assert_eq!(ask_in_clone(&engine, &made).await.text, "Here.");
    // A branch would have to write there, and is refused.
    let refused = engine.branch(id, LeafId::Start, mover(&house)).await.unwrap_err();
    assert!(refused.to_string().contains("is read-only"), "{refused}");
    assert_eq!(house.file(id), bytes);
}

#[tokio::test(start_paused = true)]
async fn long_texts_are_shared_and_not_copied() {
    let house = TestHouse::new(&Arc::new(script().says("One.")));
    let engine = house.engine();
    let event = message("m1", ROOM, &"long ".repeat(20_000));
    let first = ask(&engine, &event).await.unwrap();
    let made = clone(&house, &engine, first.session_id, None).await.unwrap();
    assert!(house.file(made.session_id).len() < 20_000);
    let said = |id| {
        house.events(id).iter().find_map(|it| match &it.body {
            Body::UserMessage(it) => it.message.content[0].as_text().map(str::len),
            _ => None,
        })
    };
    assert_eq!(said(made.session_id), said(first.session_id));
    assert_eq!(said(made.session_id), Some(100_000));
}

#[tokio::test(start_paused = true)]
async fn kill_at_every_write_of_a_clone_makes_one_or_none() {
    let log = transcript(
        "snapshot be kind | tools write_file | user: a | asked model | model: b | ended done",
    );
    let mut n_kills = 0;
    for at in 1.. {
        let mut house = TestHouse::new(&Arc::new(script()));
        let engine = house.engine();
        let source = house.adopt(&engine, ROOM, &log.events).await.session_id;
        let id = house.new_session_id();
        house.files.plan(house.files.count() + at, Fault::Kill { written: Written::Half });
        let killed = engine.clone_session(source, None, id).await.is_err();
        engine.kill();
        house.files = house.files.reboot(CrashModel::PowerCut);
        let engine = house.engine();
        let made = engine.clone_session(source, None, id).await.unwrap();
        assert_eq!((made.session_id, house.store().list().unwrap().len()), (id, 2), "{at}");
        let current = house.desk.current_session("main", &made.thread_id).await.unwrap();
        assert_eq!(current, Some(id), "{at}");
        if !killed {
            break;
        }
        n_kills += 1;
    }
    assert!(n_kills >= 3, "{n_kills}");
}

#[tokio::test(start_paused = true)]
async fn a_clone_that_its_thread_did_not_learn_of_is_found_again() {
    let mut house = TestHouse::new(&Arc::new(script()));
    let engine = house.engine();
    let log = transcript("snapshot be kind | tools write_file | user: a | model: b | ended done");
    let source = house.adopt(&engine, ROOM, &log.events).await.session_id;
    let made = clone(&house, &engine, source, None).await.unwrap();
    // The desk was lost, as if the program had ended before it was told.
    engine.kill();
    house.desk = MemoryDesk::new("device");
    let engine = house.engine();
    let again = engine.clone_session(source, None, made.session_id).await.unwrap();
    assert_eq!(again, made);
    let current = house.desk.current_session("main", &made.thread_id).await.unwrap();
    assert_eq!(current, Some(made.session_id));
}

#[tokio::test(start_paused = true)]
async fn a_clone_of_long_texts_is_written_in_several_batches() {
    let model = Arc::new(script().says("One.").says("Two.").says("Three."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let long = "x".repeat(600 * 1024);
    let id = ask(&engine, &message("m1", ROOM, &long)).await.unwrap().session_id;
    ask(&engine, &message("m2", ROOM, &long)).await.unwrap();
    ask(&engine, &message("m3", ROOM, &long)).await.unwrap();
    let made = clone(&house, &engine, id, None).await.unwrap();
    let file = String::from_utf8(house.file(made.session_id)).unwrap();
    let n_long = file.lines().filter(|line| line.contains("\"blob\":")).count();
    let n_batches = file
        .lines()
        .skip(1)
        .filter(|line| !line.contains("\"batch\":[") || line.contains("\"batch\":[1,"))
        .count();
    assert_eq!((n_long, n_batches), (3, 3), "one batch for each long text");
}
