//! A clone has the source's path and snapshot, and nothing of what binds the source.

use kith_testkit::transcript::transcript;
use kith_vocab::event::control::SkillIndexSnapshot;
use kith_vocab::header::Priming;

use super::branching::branch;
use super::*;

async fn clone(
    house: &House,
    engine: &Engine,
    source: SessionId,
    at: Option<LeafId>,
) -> Result<Cloned, EngineError> {
    engine.clone_session(source, at, SessionId::from_uuid(house.clock.new_id())).await
}

async fn ask_in(engine: &Engine, session: &Cloned, model: &ScriptedModel) -> Report {
    let event = message("in the clone", session.thread_id.as_str(), "and now?");
    ask(engine, &event, model).await.unwrap()
}

#[tokio::test]
async fn a_clone_begins_with_the_path_and_the_same_snapshot() {
    let house = House::new();
    let engine = house.engine().await;
    let model = ScriptedModel::new([])
        .calls("Doing.", &[("write_file", serde_json::json!({}))])
        .says("One.")
        .says("Two.")
        .says("Cloned.");
    let first = ask(&engine, &message("m1", "cli:room:a", "one"), &model).await.unwrap();
    ask(&engine, &message("m2", "cli:room:a", "two"), &model).await.unwrap();
    *house.prompt.lock().unwrap() = "Be stern.".to_owned();
    let source = first.session_id;
    let file = house.file(source);

    let made = clone(&house, &engine, source, Some(first.leaf.into())).await.unwrap();
    assert_eq!(made.leaf, first.leaf.into());
    assert_eq!(made.thread_id.as_str(), format!("web:room:{}", made.session_id));
    let header = house.store().read(made.session_id, None, &mut |_| ()).unwrap().header;
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
    assert_eq!(house.tool.runs(), 1);
    assert_eq!(house.file(source), file);

    let report = ask_in(&engine, &made, &model).await;
    assert_eq!((report.session_id, report.text.as_str()), (made.session_id, "Cloned."));
    let bodies = model.bodies();
    let body = String::from_utf8(bodies.last().unwrap().bytes.clone()).unwrap();
    assert!(body.contains("Be kind.") && !body.contains("Be stern."), "{body}");
    assert!(body.contains("One.") && !body.contains("two"), "{body}");
    // It goes on as the source would: each element of its second request, and then what is new.
    let outline = |at: usize| validate_openai_chat(&bodies[at].bytes).unwrap();
    assert_stable(&outline(1), &outline(3));
    assert_eq!((house.tool.runs(), house.file(source)), (1, file));
}

#[tokio::test]
async fn what_binds_only_the_source_stays_there() {
    let house = House::new();
    let engine = house.engine().await;
    let mut log = transcript(
        "snapshot be kind | tools write_file | notice SKILLS | primed user: primed | primed model: yes | title A \
         garden | user: a | asked model | model#m1: b | ended done | queue later | queue steer \
         aside | notice hm | user: c | asked model | model: ok, write_file=c1 | hold c1 | asked c1",
    );
    let skills = SkillIndexSnapshot { entries: Vec::new() };
    log.events[2].body = Body::SkillIndexSnapshot(skills);
    let header = house.adopt(&engine, "cli:room:a", &log.events).await;
    let made = clone(&house, &engine, header.session_id, None).await.unwrap();
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
    let header = house.store().read(made.session_id, None, &mut |_| ()).unwrap().header;
    assert_eq!(header.meta.title.as_deref(), Some("A garden"));
    let model = ScriptedModel::new([]).says("Here.");
    assert_eq!(ask_in(&engine, &made, &model).await.text, "Here.");
    assert_eq!((house.tool.runs(), model.bodies().len()), (0, 1));
}

#[tokio::test]
async fn the_audience_and_the_priming_are_inherited() {
    let house = House::new();
    let engine = house.engine().await;
    let log = transcript("snapshot be kind | tools write_file | primed user: a | primed model: b");
    let priming = Some(Priming { script_refs: vec!["x".to_owned()], show_in_ui: false });
    let header = crate::fixture::header(SessionId::from_uuid(house.clock.new_id()));
    let meta = HeaderMeta { title: None, priming: priming.clone() };
    let header = SessionHeader { audience: Audience::Shared, meta, ..header };
    engine.adopt(&header, &log.events).await.unwrap();
    let made = clone(&house, &engine, header.session_id, None).await.unwrap();
    let read = house.store().read(made.session_id, None, &mut |_| ()).unwrap().header;
    assert_eq!((read.audience, read.meta.priming), (Audience::Shared, priming));
    let threads = engine.desk.threads().await.unwrap();
    let thread = threads.iter().find(|it| it.session_id == made.session_id).unwrap();
    assert_eq!((thread.audience, &thread.thread_id), (Audience::Shared, &made.thread_id));
}

#[tokio::test]
async fn a_clone_at_start_has_the_snapshot_and_nothing_was_said() {
    let house = House::new();
    let engine = house.engine().await;
    let model = ScriptedModel::new([]).says("One.").says("Anew.");
    let first = ask(&engine, &message("m1", "cli:room:a", "one"), &model).await.unwrap();
    let made = clone(&house, &engine, first.session_id, Some(LeafId::Start)).await.unwrap();
    assert_eq!(made.leaf, LeafId::Start);
    assert_eq!(house.events(made.session_id).len(), 2);
    assert_eq!(ask_in(&engine, &made, &model).await.text, "Anew.");
    // And a clone of the clone.
    let again = clone(&house, &engine, made.session_id, None).await.unwrap();
    assert_eq!(house.events(again.session_id).len(), 4);
}

#[tokio::test]
async fn a_clone_at_what_is_not_in_the_tree_is_refused_and_makes_nothing() {
    let house = House::new();
    let engine = house.engine().await;
    let model = ScriptedModel::new([]).says("One.");
    let first = ask(&engine, &message("m1", "cli:room:a", "one"), &model).await.unwrap();
    let id = first.session_id;
    let ended = house.events(id).pop().unwrap().id;
    for wrong in [EventId::from_uuid(house.clock.new_id()), ended] {
        let error = clone(&house, &engine, id, Some(LeafId::Event(wrong))).await.unwrap_err();
        assert!(matches!(error, EngineError::Place(_)), "{error}");
    }
    let nobody = SessionId::from_uuid(house.clock.new_id());
    clone(&house, &engine, nobody, None).await.unwrap_err();
    // An id that is in use for something else.
    let error = engine.clone_session(id, None, id).await.unwrap_err();
    assert!(matches!(error, EngineError::Taken { .. }), "{error}");
    assert_eq!(house.store().list().unwrap(), [id]);
}

#[tokio::test]
async fn a_session_without_anything_cannot_be_cloned() {
    let house = House::new();
    let engine = house.engine().await;
    let log = transcript("notice imported");
    let header = house.adopt(&engine, "cli:room:a", &log.events).await;
    let error = clone(&house, &engine, header.session_id, None).await.unwrap_err();
    assert_eq!(error.to_string(), "there is nothing in the session that a clone could begin with");
}

#[tokio::test]
async fn a_damaged_session_is_cloned_as_far_as_it_can_be_read() {
    let house = House::new();
    let engine = house.engine().await;
    let model = ScriptedModel::new([]).says("One.").says("Two.").says("Here.");
    let first = ask(&engine, &message("m1", "cli:room:a", "one"), &model).await.unwrap();
    let second = ask(&engine, &message("m2", "cli:room:a", "two"), &model).await.unwrap();
    let id = first.session_id;
    let mut bytes = house.file(id);
    let at = bytes.windows(4).rposition(|it| it == b"Two.").unwrap();
    bytes[at] ^= 1;
    house.files.write_raw(house.store().path(id), &bytes);
    let lost = clone(&house, &engine, id, Some(second.leaf.into())).await.unwrap_err();
    assert!(matches!(lost, EngineError::Place(_)), "{lost}");
    let made = clone(&house, &engine, id, None).await.unwrap();
    assert_eq!((made.leaf, made.damage.is_some()), (first.leaf.into(), true));
    assert_eq!(ask_in(&engine, &made, &model).await.text, "Here.");
    // A branch would have to write there, and is refused.
    let wish = branch(&house, id, LeafId::Start);
    let refused = engine.branch(&wish, &Unwatched).await.unwrap_err();
    assert!(refused.to_string().contains("damaged"), "{refused}");
    assert_eq!(house.file(id), bytes);
}

#[tokio::test]
async fn long_texts_are_shared_and_not_copied() {
    let house = House::new();
    let engine = house.engine().await;
    let model = ScriptedModel::new([]).says("One.");
    let event = message("m1", "cli:room:a", &"long ".repeat(20_000));
    let first = ask(&engine, &event, &model).await.unwrap();
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

#[tokio::test]
async fn kill_at_every_write_of_a_clone_makes_one_or_none() {
    let log = transcript(
        "snapshot be kind | tools write_file | user: a | asked model | model: b \
                          | ended done",
    );
    let mut n_kills = 0;
    for at in 1.. {
        let mut house = House::new();
        let engine = house.engine().await;
        let source = house.adopt(&engine, "cli:room:a", &log.events).await.session_id;
        let id = SessionId::from_uuid(house.clock.new_id());
        house.files.plan(house.files.count() + at, Fault::Kill { written: Written::Half });
        let killed = engine.clone_session(source, None, id).await.is_err();
        drop(engine);
        house.files = house.files.reboot(CrashModel::PowerCut);
        let engine = house.engine().await;
        let made = engine.clone_session(source, None, id).await.unwrap();
        assert_eq!((made.session_id, house.store().list().unwrap().len()), (id, 2), "{at}");
        let current = engine.desk.current_session("main", &made.thread_id).await.unwrap();
        assert_eq!(current, Some(id), "{at}");
        if !killed {
            break;
        }
        n_kills += 1;
    }
    assert!(n_kills >= 3, "{n_kills}");
}

#[tokio::test]
async fn a_clone_that_its_thread_did_not_learn_of_is_found_again() {
    let mut house = House::new();
    let engine = house.engine().await;
    let log = transcript("snapshot be kind | tools write_file | user: a | model: b | ended done");
    let source = house.adopt(&engine, "cli:room:a", &log.events).await.session_id;
    let made = clone(&house, &engine, source, None).await.unwrap();
    // The desk was lost, as if the program had ended before it was told.
    drop(engine);
    house.dir = tempfile::tempdir().unwrap();
    let engine = house.engine().await;
    let again = engine.clone_session(source, None, made.session_id).await.unwrap();
    assert_eq!(again, made);
    let current = engine.desk.current_session("main", &made.thread_id).await.unwrap();
    assert_eq!(current, Some(made.session_id));
}
