//! What was not lived here obliges to nothing, whatever it is and however it came.

use kith_providers::render;
use kith_sessions::desk::RowTarget;
use kith_testkit::clock::{START, numbered_id};
use kith_testkit::events::{any_event_log, fixed_cases};
use kith_testkit::tools::CountingTool;
use kith_testkit::transcript::transcript;
use kith_testkit::validators::{validate_anthropic, validate_openai_chat};
use kith_vocab::event::SourceTag;
use kith_vocab::event::models::{ModelRequested, Purpose, Wire};
use kith_vocab::ids::EventId;
use kith_vocab::json::Json;
use kith_vocab::validate::validate;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::branching::mover;
use super::*;
use crate::context::context;
use crate::fixture::ask_in;
use crate::state::State;

/// The log as a session that begins with a history has it: all of it tagged, its duties gone.
fn inherited(log: &[Event], tag: SourceTag) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for event in log {
        let event = Event { source_tag: Some(tag), ..event.clone() };
        let is_second = |it: &Event| {
            it.body.type_name() == event.body.type_name()
                && event.body.type_name().ends_with("_snapshot")
        };
        if validate(&event).is_ok() && !events.iter().any(is_second) {
            events.push(Event { seq: events.len() as u64 + 1, ..event });
        }
    }
    events
}

/// The log of a session that began like any other, without what a person still wants done in it.
fn lived(log: &[Event]) -> Vec<Event> {
    let mut events = transcript("snapshot be kind | tools write_file").events;
    for event in &mut events {
        event.id = EventId::from_uuid(numbered_id(START, (1 << 41) + event.seq));
    }
    for event in log {
        let is_second =
            matches!(event.body, Body::InstructionSnapshot(_) | Body::ToolsetSnapshot(_));
        // A compaction that was under way is wanted too.
        let is_compaction = |it: &ModelRequested| it.purpose == Purpose::Compact;
        let is_wish = matches!(event.body, Body::QueueUpdate(_) | Body::CompactRequested(_))
            || matches!(&event.body, Body::ModelRequested(it) if is_compaction(it));
        if !is_second && !is_wish {
            events.push(Event { seq: events.len() as u64 + 1, ..event.clone() });
        }
    }
    events
}

/// A house with a model that has one answer, and a tool that must not run.
fn house() -> (TestHouse, Arc<ScriptedModel>, CountingTool) {
    let (model, tool) = (Arc::new(script().says("Here.")), CountingTool::new("write_file"));
    let house = TestHouse::with_tools(&model, vec![Arc::new(tool.clone())]);
    (house, model, tool)
}

/// Nothing happens to the session by itself; its first own message is answered, with the history.
async fn check(
    (house, model, tool): &(TestHouse, Arc<ScriptedModel>, CountingTool),
    engine: Engine,
    id: SessionId,
) -> Result<(), TestCaseError> {
    let file = house.file(id);
    prop_assert!(resume(&engine).await.is_empty());
    engine.kill();
    let engine = house.engine();
    prop_assert!(resume(&engine).await.is_empty());
    engine.wake(id);
    within(engine.until_rest()).await;
    prop_assert_eq!((model.bodies().len(), tool.runs()), (0, 0));
    prop_assert_eq!(house.file(id), file);

    let history = State::of(&house.events(id));
    let header = house.store().read(id, None, &mut |_| ()).unwrap().header;
    let event = message("first own", header.thread_id.as_str(), "and now?");
    let report = ask_in(&engine, &event, RowTarget::Session(id)).await.unwrap();
    prop_assert_eq!(report.text.as_str(), "Here.");
    prop_assert_eq!((model.bodies().len(), tool.runs()), (1, 0));
    let body = model.bodies().remove(0).bytes;
    let outline = validate_openai_chat(&body).map_err(TestCaseError::fail)?;
    prop_assert!(outline.elements.last().unwrap().contains("and now?"));
    let text = String::from_utf8(body).unwrap();
    for message in history.conversation.finished() {
        for element in &message.elements {
            if let kith_vocab::conversation::ElementKind::Text(words) = &element.kind {
                let quoted = Json::of(words);
                let within = quoted.as_str().trim_matches('"');
                prop_assert!(text.contains(within), "{within} is not in {text}");
            }
        }
    }
    let state = State::of(&house.events(id));
    let shown = context(&state);
    let parameters = Json::empty_object();
    let request = shown.request("scripted", "scripted", &parameters);
    let body =
        render::render(Wire::Anthropic, &request, &std::collections::BTreeMap::new()).unwrap();
    validate_anthropic(&body).map_err(TestCaseError::fail)?;
    Ok(())
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().unwrap().block_on(work)
}

fn tree_of(log: &[Event]) -> Vec<EventId> {
    log.iter().filter(|it| it.is_tree()).map(|it| it.id).collect()
}

proptest! {
    #![proptest_config(fixed_cases(48))]

    #[test]
    fn an_adopted_history_runs_asks_and_answers_nothing(
        log in any_event_log(30),
        tag in prop_oneof![Just(SourceTag::PrimingScript), Just(SourceTag::Clone)],
    ) {
        run(async {
            let parts = house();
            let engine = parts.0.engine();
            let header = parts.0.adopt(&engine, ROOM, &inherited(&log, tag)).await;
            check(&parts, engine, header.session_id).await
        })?;
    }

    #[test]
    fn a_clone_runs_asks_and_answers_nothing(
        log in any_event_log(30),
        at in any::<prop::sample::Index>(),
    ) {
        run(async {
            let parts = house();
            let (house, engine) = (&parts.0, parts.0.engine());
            let log = lived(&log);
            let source = house.adopt(&engine, ROOM, &log).await;
            let tree = tree_of(&log);
            let at = (!tree.is_empty()).then(|| LeafId::Event(*at.get(&tree)));
            let id = house.new_session_id();
            match engine.clone_session(source.session_id, at, id).await {
                Ok(made) => {
                    prop_assert!(house.events(id).iter().all(|it| !it.is_lived()));
                    prop_assert_eq!(State::of(&house.events(id)).leaf(), made.leaf.event());
                    check(&parts, engine, id).await
                }
                Err(EngineError::Place(_)) => Ok(()),
                Err(error) => Err(TestCaseError::fail(error.to_string())),
            }
        })?;
    }

    #[test]
    fn a_branched_session_runs_asks_and_answers_nothing(
        log in any_event_log(30),
        at in any::<prop::sample::Index>(),
    ) {
        run(async {
            let parts = house();
            let (house, engine) = (&parts.0, parts.0.engine());
            let log = lived(&log);
            let id = house.adopt(&engine, ROOM, &log).await.session_id;
            let tree = tree_of(&log);
            let to = if tree.is_empty() { LeafId::Start } else { LeafId::Event(*at.get(&tree)) };
            let leaf = engine.branch(id, to, mover(house)).await.unwrap();
            let state = State::of(&house.events(id));
            prop_assert_eq!((state.leaf(), state.turn.is_none()), (leaf.event(), true));
            check(&parts, engine, id).await
        })?;
    }
}
