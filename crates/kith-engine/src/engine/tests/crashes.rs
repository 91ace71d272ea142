//! Messages with the plug pulled at every write.

#![allow(clippy::print_stdout, reason = "the counts are what these tests are run for")]

use kith_providers::demo::demo;
use kith_sessions::desk::{Inbox, RowTarget};
use kith_testkit::files::{CrashModel, Fault, Written};
use kith_testkit::scripted::ScriptedModels;
use kith_testkit::tools::CountingTool;
use kith_vocab::event::messages::Outcome;
use kith_vocab::ids::EventId;
use kith_vocab::ingress::IngressEvent;
use serde_json::json;

use super::*;
use crate::report::TurnReport;

/// A house with the built-in model, which does what it is told.
fn demo_house(tool: &CountingTool) -> TestHouse {
    let models = ScriptedModels::one(Arc::new(demo()));
    TestHouse::asking(Arc::new(models), vec![Arc::new(tool.clone())])
}

fn wish() -> IngressEvent {
    message("m1", ROOM, "write hello to note.txt")
}

/// Says something, and notes every event that was shown meanwhile.
async fn ask_watching(
    engine: &Engine,
    event: &IngressEvent,
    seen: &mut Vec<EventId>,
) -> Result<TurnReport, EngineError> {
    let mut row = engine.send(event, RowTarget::Current).await?;
    loop {
        match within(row.next()).await? {
            RowProgress::Item(FeedItem::Event(event)) => seen.push(event.id),
            RowProgress::Item(_) => (),
            RowProgress::Settled(report) => return Ok(report),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn kill_at_every_write_and_sync_of_a_turn_loses_and_doubles_nothing() {
    let tool = CountingTool::new("write_file");
    let house = demo_house(&tool);
    let report = ask(&house.engine(), &wish()).await.unwrap();
    assert_eq!((report.end, tool.runs()), (MessageEnd::Done, 1));
    let n_operations = house.files.count();
    assert!(n_operations > 10, "{:#?}", house.files.operations());

    let (mut lost, mut doubled, mut n_kills) = (0, 0, 0);
    for crash in CrashModel::EACH {
        for written in Written::EACH {
            for at in 1..=n_operations {
                n_kills += 1;
                let (l, d) = kill_at(at, written, crash).await;
                lost += l;
                doubled += d;
            }
        }
    }
    println!("M = {n_operations}, kills = {n_kills}, lost = {lost}, doubled = {doubled}");
    assert_eq!((lost, doubled), (0, 0));
}

/// Kills a turn at one operation, restarts, delivers the message again; what was lost or doubled?
async fn kill_at(at: usize, written: Written, crash: CrashModel) -> (usize, usize) {
    let (event, tool) = (wish(), CountingTool::new("write_file"));
    let mut house = demo_house(&tool);
    house.files.plan(at, Fault::Kill { written });
    let mut seen = Vec::new();
    let engine = house.engine();
    ask_watching(&engine, &event, &mut seen).await.unwrap_err();
    engine.kill();

    house.files = house.files.reboot(crash);
    let engine = house.engine();
    let report = ask_watching(&engine, &event, &mut seen).await;
    let report = report.unwrap_or_else(|error| panic!("{at} {written:?} {crash:?}: {error}"));
    assert!(!report.text.is_empty(), "{at} {written:?} {crash:?}");
    within(engine.until_rest()).await;
    assert!(house.desk_is_clear(report.session_id).await);
    engine.kill();

    // What the second process went on with must outlive a power cut, also what the first one had
    // not made durable.
    house.files = house.files.reboot(CrashModel::PowerCut);
    let events = house.events(report.session_id);
    let is_there = |id: &EventId| events.iter().any(|event| event.id == *id);
    let mut lost = seen.iter().filter(|id| !is_there(id)).count();
    let mut doubled = tool.runs().saturating_sub(1);
    let count = |fits: &dyn Fn(&Event) -> bool| events.iter().filter(|event| fits(event)).count();
    let n_said = count(&|it| it.ingress_key.as_deref() == Some(event.key.as_str()));
    lost += usize::from(n_said == 0);
    doubled += n_said.saturating_sub(1);
    let ended_as = |outcome: Outcome| {
        count(&|it| matches!(&it.body, Body::ToolResult(result) if result.outcome == outcome))
    };
    // What ran and came back is in the log; what ran and did not is reported as unknown.
    let (n_done, n_unknown) = (ended_as(Outcome::Done), ended_as(Outcome::Interrupted));
    lost += tool.runs().saturating_sub(n_done + n_unknown);
    doubled += n_done.saturating_sub(1);
    (lost, doubled)
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_at_every_write_loses_nothing_and_the_thread_goes_on() {
    let tool = CountingTool::new("write_file");
    let house = demo_house(&tool);
    ask(&house.engine(), &wish()).await.unwrap();
    for at in 1..=house.files.count() {
        for fault in [Fault::Full, Fault::ReadOnly, Fault::FailSync, Fault::ShortWrite] {
            let tool = CountingTool::new("write_file");
            let house = demo_house(&tool);
            house.files.plan(at, fault);
            let engine = house.engine();
            // A fault that waits for a fitting operation may find none; then nothing failed.
            if ask(&engine, &wish()).await.is_err() {
                house.files.heal();
                let report = ask(&engine, &wish()).await.unwrap();
                assert!(!report.text.is_empty());
            }
            assert!(tool.runs() <= 1, "{at} {fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_goes_on_by_itself_when_the_disk_has_room_again() {
    let tool = CountingTool::new("write_file");
    let house = demo_house(&tool);
    ask(&house.engine(), &wish()).await.unwrap();
    for at in 1..=house.files.count() {
        let tool = CountingTool::new("write_file");
        let house = demo_house(&tool);
        house.files.plan(at, Fault::Full);
        let engine = house.engine();
        let row = engine.send(&wish(), RowTarget::Current).await.unwrap();
        let id = row.session_id();
        let mut followed = engine.subscribe(id, &ResumePoint::default()).await.unwrap().1;
        // A disk that is full from the last sync on is full too late.
        if within(row.end()).await.is_ok() {
            continue;
        }
        // Nobody asks again: time passes, and the host looks by itself, less and less often.
        let mut n_failures = 0;
        loop {
            match within(followed.next()).await.unwrap() {
                FeedItem::Failed(_) => n_failures += 1,
                FeedItem::Event(it) if matches!(it.body, Body::TurnEnded(_)) => break,
                _ => (),
            }
            if n_failures == 8 {
                house.files.heal();
            }
        }
        let waits = house.clock.slept();
        for wait in [1_000, 2_000, 4_000, 32_000, 60_000] {
            assert!(waits.contains(&wait), "{at}: {waits:?}");
        }
        within(engine.until_rest()).await;
        assert!(house.desk_is_clear(id).await && tool.runs() <= 1, "{at}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_turn_at_a_time_per_thread_and_every_message_once() {
    let model = Arc::new((0..20).fold(script(), |model, n| model.says(&format!("{n}"))));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let events: Vec<_> =
        (0..20).map(|n| message(&format!("m{n}"), ROOM, &format!("say {n}"))).collect();
    let asked = events.iter().map(|event| async { ask(&engine, event).await.unwrap() });
    let reports = futures_util::future::join_all(asked).await;
    assert_eq!(model.bodies().len(), 20);
    let log = house.events(reports[0].session_id);
    let order: Vec<&str> = log
        .iter()
        .map(|event| event.body.type_name())
        .filter(|kind| matches!(*kind, "user_message" | "turn_ended"))
        .collect();
    assert_eq!(order, ["user_message", "turn_ended"].repeat(20));
    // In the order in which they were accepted.
    let texts: Vec<usize> = reports.iter().map(|it| it.text.parse().unwrap()).collect();
    assert_eq!(texts, (0..20).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_message_that_waits_behind_another_is_said_once_and_in_its_place() {
    let model = Arc::new(script().says("Zero.").says("One.").says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = ask(&engine, &message("m0", ROOM, "zero")).await.unwrap();
    let one = engine.accept(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    let two = engine.accept(&message("m2", ROOM, "two"), RowTarget::Current).await.unwrap();
    // Whoever waits for the second comes first.
    let second = engine.follow_row(&two).await.unwrap();
    engine.wake(two.session_id);
    assert_eq!(within(second.end()).await.unwrap().text, "Two.");
    // Its author was slow, and somebody else's message has woken the driver meanwhile.
    let late = engine.follow_row(&one).await.unwrap();
    assert_eq!(within(late.end()).await.unwrap().text, "One.");
    assert_eq!(model.bodies().len(), 3);
    let events = house.events(first.session_id);
    let n_said = events.iter().filter(|it| matches!(it.body, Body::UserMessage(_))).count();
    assert_eq!(n_said, 3);
}

#[tokio::test(start_paused = true)]
async fn what_was_accepted_before_a_crash_is_taken_up_at_the_start() {
    let model = Arc::new(script().says("One.").says("Two.").says("Three."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    for n in 0..3 {
        let event = message(&format!("m{n}"), &format!("cli:room:{n}"), "hello");
        engine.accept(&event, RowTarget::Current).await.unwrap();
    }
    engine.kill();

    let engine = house.engine();
    assert_eq!(resume(&engine).await.len(), 3);
    assert_eq!(model.bodies().len(), 3);
    assert!(resume(&engine).await.is_empty());
}

/// Lets a turn be cut short at its next request so often, and then looks at what is in its log.
async fn cut_short(model: ScriptedModel, n_cuts: usize) -> (TestHouse, Arc<ScriptedModel>) {
    let model = Arc::new(model);
    let house = TestHouse::new(&model);
    let engine = house.engine();
    engine.accept(&message("m1", ROOM, "go"), RowTarget::Current).await.unwrap();
    engine.kill();
    for n in 0..n_cuts {
        let n_asked = model.bodies().len();
        let engine = house.engine();
        engine.resume_all().await.unwrap();
        until(|| model.bodies().len() > n_asked).await;
        pass_a_while().await;
        engine.kill();
        assert!(house.desk.sessions_with_open_rows().await.unwrap().len() == 1, "{n}");
    }
    (house, model)
}

#[tokio::test(start_paused = true)]
async fn a_turn_of_which_nothing_comes_is_given_up_and_can_be_retried() {
    let waiting = (0..3).fold(script(), |model, _| model.waits());
    let (house, model) = cut_short(waiting.says("At last."), 3).await;
    let engine = house.engine();
    let id = resume(&engine).await[0];
    assert_eq!(model.bodies().len(), 3);
    insta::assert_snapshot!(house.ending(id, 8), @r"
    5/5 model_requested
    1/2 resumed
    2/2 model_requested
    1/2 resumed
    2/2 model_requested
    1/3 resumed
    2/3 notice
    3/3 turn_ended reason=failed
    ");
    house
        .command(&engine, id, crate::command::CommandAction::Retry { key: None, attended: true })
        .await
        .unwrap();
    within(engine.until_rest()).await;
    let report = ask(&engine, &message("m1", ROOM, "go")).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("At last.", MessageEnd::Done));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_makes_progress_may_be_cut_short_any_number_of_times() {
    // Each life of the host gets as far as one more result.
    let mut model = script();
    for n in 0..8 {
        model = model.calls("", &[("write_file", json!({ "n": n }))]).waits();
    }
    let (house, model) = cut_short(model.says("Done."), 8).await;
    let id = resume(&house.engine()).await[0];
    assert_eq!(model.bodies().len(), 17);
    let outline = house.outline(id);
    assert_eq!(outline.matches("resumed").count(), 8, "{outline}");
    assert!(outline.ends_with("[Done.]\n2/2 turn_ended reason=done\n"), "{outline}");
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_resumed_also_if_nothing_was_under_way_when_it_was_left() {
    let model = Arc::new(script().fails(kith_vocab::event::models::FailureKind::Network, true));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let accepted = engine.accept(&message("m1", ROOM, "go"), RowTarget::Current).await.unwrap();
    let id = accepted.session_id;
    let mut followed = engine.subscribe(id, &ResumePoint::default()).await.unwrap().1;
    engine.wake(id);
    // It waits before it asks again.
    event_of(&mut followed, |body| matches!(body, Body::ModelFailed(_))).await;
    engine.kill();
    house.clock.advance(crate::fixture::DAY_MS);
    resume(&house.engine()).await;
    insta::assert_snapshot!(house.ending(id, 5), @r"
    1/1 model_failed kind=network attempt=1
    1/2 resumed
    2/2 model_requested
    1/2 assistant_message stopReason=end_turn [(end of script)]
    2/2 turn_ended reason=done
    ");
}
