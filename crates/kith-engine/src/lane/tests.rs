//! Messages through desk, lane, log and model, with the plug pulled at every write.

#![allow(clippy::print_stdout, reason = "the counts are what these tests are run for")]

mod branching;
mod cloning;
mod expecting;
mod obligations;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use kith_providers::demo::demo;
use kith_testkit::clock::FakeClock;
use kith_testkit::files::{CrashModel, Fault, MemoryFiles, Written};
use kith_testkit::policies::AllowAll;
use kith_testkit::scripted::ScriptedModel;
use kith_testkit::tools::CountingTool;
use kith_testkit::transcript::transcript;
use kith_testkit::validators::{Outline, assert_stable, validate_openai_chat};
use kith_vocab::event::control::{LeafMoved, LeafReason};
use kith_vocab::event::messages::{
    Author, HarnessItem, HarnessItemEvent, HarnessKind, IngressRef, Origin, Outcome, Trust,
};
use kith_vocab::event::{Event, SourceTag};
use kith_vocab::header::Audience;
use kith_vocab::json::Json;
use kith_vocab::provider::{Delta, Tap};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::fixture::{Unwatched, first_events};
use crate::state::State;
use crate::verify::Verifier;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// A house on a disk in memory, with a real desk. Restarting keeps disk and desk.
struct House {
    dir: TempDir,
    files: MemoryFiles,
    clock: Arc<FakeClock>,
    tool: CountingTool,
    /// What the next session's snapshot will say.
    prompt: Arc<Mutex<String>>,
    /// Whether the model is told when that, or the day, has changed since.
    tells_news: bool,
}

struct TestOpening {
    prompt: Arc<Mutex<String>>,
    tool: CountingTool,
    tells_news: bool,
}

impl Opening for TestOpening {
    fn first_events(&self, header: &SessionHeader) -> Result<Vec<Body>, OpeningError> {
        Ok(first_events(&self.prompt.lock().unwrap(), &self.tools(header)?))
    }

    fn tools(&self, _: &SessionHeader) -> Result<Vec<Arc<dyn Tool>>, OpeningError> {
        Ok(vec![Arc::new(self.tool.clone())])
    }

    fn news(&self, header: &SessionHeader, told: &Told<'_>, now: u64) -> Vec<Body> {
        if !self.tells_news {
            return Vec::new();
        }
        let (prompt, day) = (self.prompt.lock().unwrap().clone(), now / DAY_MS);
        let given = told.snapshot.unwrap().system_prompt();
        let facts = [
            (HarnessKind::DateChange, json!(header.created_at / DAY_MS), json!(day)),
            (HarnessKind::RuntimeNotice, json!(given), json!(prompt)),
        ];
        let mut news = Vec::new();
        for (kind, first, now) in facts {
            let now = json!({ "path": "Agent.md", "is": now });
            let last = told.data(kind).last().map(|data| data.read().unwrap());
            if last.unwrap_or(json!({ "path": "Agent.md", "is": first })) != now {
                news.push(reminder(kind, &now));
            }
        }
        news
    }
}

fn reminder(kind: HarnessKind, data: &serde_json::Value) -> Body {
    let (origin, visibility) = (Origin::System, kind.usual_visibility());
    let (content, data) = (format!("Now it is {data}."), Some(Json::of(data)));
    Body::HarnessItem(HarnessItemEvent {
        item: HarnessItem { kind, origin, content, visibility, data },
        trust: Trust::Owner,
        author: None,
        queue_item_id: None,
        merged_into: None,
        primed: None,
    })
}

impl House {
    fn new() -> House {
        House {
            dir: tempfile::tempdir().unwrap(),
            files: MemoryFiles::new(),
            // Beyond the ids of any transcript.
            clock: Arc::new(FakeClock::starting_at_id(1_000_000)),
            tool: CountingTool::new("write_file"),
            prompt: Arc::new(Mutex::new("Be kind.".to_owned())),
            tells_news: false,
        }
    }

    fn telling_news() -> House {
        House { tells_news: true, ..House::new() }
    }

    fn store(&self) -> SessionStore {
        SessionStore::new(Arc::new(self.files.clone()), &PathBuf::from("/house/.kith"))
    }

    async fn engine(&self) -> Engine {
        let path = self.dir.path().join("state.db");
        let desk = Desk::open(&path, "device".to_owned()).await.unwrap();
        let (prompt, tool) = (Arc::clone(&self.prompt), self.tool.clone());
        let opening = TestOpening { prompt, tool, tells_news: self.tells_news };
        let clock: Arc<dyn Clock> = self.clock.clone();
        let put_away = Shelf::new(&self.dir.path().join("index.db"));
        Engine::new(self.store(), desk, clock, Arc::new(AllowAll), Arc::new(opening), put_away)
    }

    /// A session of the thread that is in the middle of whatever the transcript says.
    async fn adopt(&self, engine: &Engine, thread: &str, events: &[Event]) -> SessionHeader {
        let header = crate::fixture::header(SessionId::from_uuid(self.clock.new_id()));
        let header = SessionHeader { thread_id: thread.parse().unwrap(), ..header };
        engine.adopt(&header, events).await.unwrap();
        header
    }

    fn file(&self, id: SessionId) -> Vec<u8> {
        self.files.contents(self.store().path(id)).unwrap()
    }

    fn outline(&self, id: SessionId) -> String {
        crate::fixture::outline(&String::from_utf8(self.file(id)).unwrap())
    }

    /// Every event of a session, in order.
    fn events(&self, id: SessionId) -> Vec<Event> {
        let mut events = Vec::new();
        let reading = self.store().read(id, None, &mut |event| events.push(event)).unwrap();
        assert_eq!(reading.tail, kith_sessions::read::Tail::Clean);
        events
    }
}

fn message(key: &str, thread: &str, text: &str) -> IngressEvent {
    IngressEvent {
        key: format!("cli:local:{key}"),
        agent_id: "main".to_owned(),
        thread_id: thread.parse().unwrap(),
        audience: Audience::Owner,
        client_id: "cli".to_owned(),
        author: Author { user_id: "owner".to_owned(), display_name: "owner".to_owned() },
        trust: Trust::Owner,
        ingress: IngressRef {
            platform: "cli".to_owned(),
            account: "local".to_owned(),
            message_id: key.to_owned(),
            correlation_id: key.to_owned(),
        },
        ts: 1,
        cwd: "/work".to_owned(),
        expected_leaf: None,
        content: IngressContent::Text { text: text.to_owned() },
    }
}

async fn ask(
    engine: &Engine,
    event: &IngressEvent,
    provider: &dyn Provider,
) -> Result<Report, EngineError> {
    ask_watched(engine, event, provider, &Unwatched).await
}

async fn ask_watched(
    engine: &Engine,
    event: &IngressEvent,
    provider: &dyn Provider,
    watcher: &dyn Watcher,
) -> Result<Report, EngineError> {
    let accepted = engine.accept(event, Target::Current).await?;
    let cancel = CancellationToken::new();
    engine.run(&accepted, Run { provider, watcher, cancel: &cancel }).await
}

/// Remembers which events were said to be on disk.
#[derive(Default)]
struct Acknowledged(Mutex<Vec<EventId>>);

impl Tap for Acknowledged {
    fn delta(&self, _: Delta<'_>) {}
}

impl Watcher for Acknowledged {
    fn written(&self, events: &[Event]) {
        self.0.lock().unwrap().extend(events.iter().map(|event| event.id));
    }
}

#[tokio::test]
async fn a_message_is_answered_and_a_repeated_key_gets_the_first_answer_again() {
    let house = House::new();
    let model = ScriptedModel::new([]).says("One.").says("Two.");
    let engine = house.engine().await;
    let event = message("m1", "cli:room:a", "hello");
    let first = ask(&engine, &event, &model).await.unwrap();
    assert_eq!(first.text, "One.");
    drop(engine);

    let engine = house.engine().await;
    let again = ask(&engine, &event, &model).await.unwrap();
    assert_eq!((again.text.as_str(), again.leaf), ("One.", first.leaf));
    let second = ask(&engine, &message("m2", "cli:room:a", "more"), &model).await.unwrap();
    assert_eq!((second.text.as_str(), second.session_id), ("Two.", first.session_id));
    let again = ask(&engine, &event, &model).await.unwrap();
    assert_eq!((again.text.as_str(), again.leaf), ("One.", first.leaf));
    assert_eq!(model.bodies().len(), 2);
}

#[tokio::test]
async fn an_adopted_session_waits_for_its_first_message_and_shows_its_history() {
    let house = House::new();
    let model = ScriptedModel::new([]).says("Yes.");
    let engine = house.engine().await;
    let event = message("m1", "cli:room:a", "and now?");
    let header = crate::fixture::header(SessionId::from_uuid(house.clock.new_id()));
    let header = SessionHeader { thread_id: event.thread_id.clone(), ..header };
    let opening = first_events("Be kind.", &[]).into_iter().map(|body| (None, body));
    let primed = crate::fixture::user_message("primed words");
    let bodies = opening.chain([(Some(SourceTag::PrimingScript), primed)]);
    let events: Vec<Event> = (1..)
        .zip(bodies)
        .map(|(seq, (source_tag, body))| Event {
            seq,
            id: EventId::from_uuid(house.clock.new_id()),
            ts: 1,
            client_id: "cli".to_owned(),
            ingress_key: None,
            parent_id: None,
            source_tag,
            body,
        })
        .collect();
    engine.adopt(&header, &events).await.unwrap();
    let cancel = CancellationToken::new();
    let run = Run { provider: &model, watcher: &Unwatched, cancel: &cancel };
    assert!(engine.take_up(run).await.unwrap().is_empty());
    assert!(model.bodies().is_empty());

    let report = ask(&engine, &event, &model).await.unwrap();
    assert_eq!((report.session_id, report.text.as_str()), (header.session_id, "Yes."));
    let body = String::from_utf8(model.bodies().remove(0).bytes).unwrap();
    assert!(body.contains("primed words"), "{body}");
}

#[tokio::test]
async fn a_session_that_no_thread_can_be_in_is_taken_back() {
    let house = House::new();
    let engine = house.engine().await;
    let header = crate::fixture::header(SessionId::from_uuid(house.clock.new_id()));
    // A time that the desk cannot hold: the file is made and then the desk refuses.
    house.clock.jump_to(u64::MAX);
    engine.adopt(&header, &[]).await.unwrap_err();
    assert_eq!(engine.store.list().unwrap(), []);
    house.clock.jump_to(1);
    engine.adopt(&header, &[]).await.unwrap();
    assert_eq!(engine.store.list().unwrap(), [header.session_id]);
}

#[tokio::test]
async fn kill_at_every_write_and_sync_of_a_turn_loses_and_doubles_nothing() {
    let event = message("m1", "cli:room:a", "write hello to note.txt");
    let house = House::new();
    let report = ask(&house.engine().await, &event, &demo()).await.unwrap();
    assert_eq!(house.tool.runs(), 1);
    let n_operations = house.files.count();
    assert!(n_operations > 10, "{:#?}", house.files.operations());
    assert_eq!(report.end, Some(kith_vocab::event::control::EndReason::Done));

    let (mut lost, mut doubled, mut n_kills) = (0, 0, 0);
    for crash in CrashModel::EACH {
        for written in Written::EACH {
            for at in 1..=n_operations {
                n_kills += 1;
                let (l, d) = kill_at(&event, at, written, crash).await;
                lost += l;
                doubled += d;
            }
        }
    }
    println!("M = {n_operations}, kills = {n_kills}, lost = {lost}, doubled = {doubled}");
    assert_eq!((lost, doubled), (0, 0));
}

/// Kills a turn at one operation, restarts, delivers the message again; what was lost or doubled?
async fn kill_at(
    event: &IngressEvent,
    at: usize,
    written: Written,
    crash: CrashModel,
) -> (usize, usize) {
    let mut house = House::new();
    house.files.plan(at, Fault::Kill { written });
    let seen = Acknowledged::default();
    let engine = house.engine().await;
    ask_watched(&engine, event, &demo(), &seen).await.unwrap_err();
    drop(engine);

    house.files = house.files.reboot(crash);
    let engine = house.engine().await;
    let report = ask_watched(&engine, event, &demo(), &seen).await;
    let report = report.unwrap_or_else(|error| panic!("{at} {written:?} {crash:?}: {error}"));
    assert!(!report.text.is_empty(), "{at} {written:?} {crash:?}");
    assert!(engine.desk.unclosed(report.session_id).await.unwrap().is_empty());

    // What the second process went on with must outlive a power cut, also what the first one
    // had not made durable.
    drop(engine);
    house.files = house.files.reboot(CrashModel::PowerCut);
    let events = house.events(report.session_id);
    let is_there = |id: &EventId| events.iter().any(|event| event.id == *id);
    let seen = seen.0.into_inner().unwrap();
    let mut lost = seen.iter().filter(|id| !is_there(id)).count();
    let mut doubled = house.tool.runs().saturating_sub(1);
    let count = |fits: &dyn Fn(&Event) -> bool| events.iter().filter(|event| fits(event)).count();
    let n_said = count(&|it| it.ingress_key.as_deref() == Some(event.key.as_str()));
    lost += usize::from(n_said == 0);
    doubled += n_said.saturating_sub(1);
    let n_done = count(
        &|it| matches!(&it.body, Body::ToolResult(result) if result.outcome == Outcome::Done),
    );
    // What ran and came back is in the log; what ran and did not is reported as unknown.
    let n_unknown = count(
        &|it| matches!(&it.body, Body::ToolResult(result) if result.outcome == Outcome::Interrupted),
    );
    lost += house.tool.runs().saturating_sub(n_done + n_unknown);
    doubled += n_done.saturating_sub(1);
    (lost, doubled)
}

#[tokio::test]
async fn a_full_disk_at_every_write_loses_nothing_and_the_thread_goes_on() {
    let event = message("m1", "cli:room:a", "write hello to note.txt");
    let house = House::new();
    ask(&house.engine().await, &event, &demo()).await.unwrap();
    for at in 1..=house.files.count() {
        for fault in [Fault::Full, Fault::FailSync, Fault::ShortWrite] {
            let house = House::new();
            house.files.plan(at, fault);
            let engine = house.engine().await;
            // A fault that waits for a fitting operation may find none; then nothing failed.
            if ask(&engine, &event, &demo()).await.is_err() {
                house.files.lift();
                let report = ask(&engine, &event, &demo()).await.unwrap();
                assert!(!report.text.is_empty());
            }
            assert!(house.tool.runs() <= 1, "{at} {fault:?}");
        }
    }
}

#[tokio::test]
async fn one_turn_at_a_time_per_thread_and_every_message_once() {
    let house = House::new();
    let engine = house.engine().await;
    let running = AtomicUsize::new(0);
    let model = (0..20).fold(ScriptedModel::new([]), |model, n| model.says(&format!("{n}")));
    let watched = Overlap { running: &running };
    let events: Vec<_> =
        (0..20).map(|n| message(&format!("m{n}"), "cli:room:a", &format!("say {n}"))).collect();
    let reports = futures_util::future::join_all(
        events
            .iter()
            .map(|event| async { ask_watched(&engine, event, &model, &watched).await.unwrap() }),
    )
    .await;
    assert_eq!(model.bodies().len(), 20);
    let log = house.events(reports[0].session_id);
    let order: Vec<&str> = log
        .iter()
        .map(|event| event.body.type_name())
        .filter(|kind| matches!(*kind, "user_message" | "turn_ended"))
        .collect();
    assert_eq!(order, ["user_message", "turn_ended"].repeat(20));
    let mut texts: Vec<usize> = reports.iter().map(|it| it.text.parse().unwrap()).collect();
    texts.sort_unstable();
    assert_eq!(texts, (0..20).collect::<Vec<_>>());
}

struct Overlap<'a> {
    running: &'a AtomicUsize,
}

impl Tap for Overlap<'_> {
    fn delta(&self, _: Delta<'_>) {}
}

impl Watcher for Overlap<'_> {
    fn written(&self, events: &[Event]) {
        for event in events {
            match event.body {
                Body::UserMessage(_) => {
                    assert_eq!(self.running.fetch_add(1, Ordering::SeqCst), 0);
                }
                Body::TurnEnded(_) => {
                    assert_eq!(self.running.fetch_sub(1, Ordering::SeqCst), 1);
                }
                _ => (),
            }
        }
    }
}

#[tokio::test]
async fn over_200_turns_with_edits_and_restarts_every_request_begins_with_the_one_before() {
    let house = House::telling_news();
    let mut engine = house.engine().await;
    let mut model = ScriptedModel::new([]);
    for n in 0..200 {
        if n % 3 == 0 {
            let input = serde_json::json!({ "n": n });
            model = model.calls("Doing.", &[("write_file", input)]);
        }
        model = model.says(&format!("Answer {n}."));
    }
    let mut session_id = None;
    for n in 0..200 {
        // Three turns in a row see the same file, and ten the same day.
        *house.prompt.lock().unwrap() = format!("Edited {} times.", n / 3);
        if n % 10 == 9 {
            house.clock.advance(DAY_MS);
            drop(engine);
            engine = house.engine().await;
        }
        let event = message(&format!("m{n}"), "cli:room:a", &format!("question {n}"));
        let report = ask(&engine, &event, &model).await.unwrap();
        assert_eq!(*session_id.get_or_insert(report.session_id), report.session_id);
    }
    let bodies = model.bodies();
    let outlines: Vec<Outline> =
        bodies.iter().map(|body| validate_openai_chat(&body.bytes).unwrap()).collect();
    for pair in outlines.windows(2) {
        assert_stable(&pair[0], &pair[1]);
    }
    println!("{} requests, {} stable", bodies.len(), outlines.len());
    assert_eq!(bodies.len(), 267);
    let events = house.events(session_id.unwrap());
    let n_told = |wanted| {
        let kind = |event: &Event| match &event.body {
            Body::HarnessItem(it) => Some(it.item.kind),
            _ => None,
        };
        events.iter().filter(|event| kind(event) == Some(wanted)).count()
    };
    // Each is told once: the first edit and the first day stand in the snapshot.
    assert_eq!(n_told(HarnessKind::RuntimeNotice), 66);
    assert_eq!(n_told(HarnessKind::DateChange), 20);
    prove(&house, session_id.unwrap(), &model);
}

/// The model's own hashes, the log's, and those of the bodies built again are the same.
fn prove(house: &House, session_id: SessionId, model: &ScriptedModel) {
    let mut verifier = Verifier::default();
    let mut logged = Vec::new();
    for event in house.events(session_id) {
        if let Body::ModelRequested(requested) = &event.body {
            logged.push(requested.body_sha256.clone());
        }
        verifier.read(&event);
    }
    let received: Vec<String> = model.bodies().into_iter().map(|body| body.sha256).collect();
    assert_eq!(logged, received);
    assert_eq!(verifier.mismatches, []);
    assert_eq!(verifier.n_requests, received.len() as u64);
}

#[tokio::test]
async fn news_stand_after_the_message_in_its_batch_and_are_told_once() {
    let house = House::telling_news();
    let engine = house.engine().await;
    let model = ScriptedModel::new([]).says("One.").says("Two.").says("Three.");
    let first = ask(&engine, &message("m1", "cli:room:a", "one"), &model).await.unwrap();
    *house.prompt.lock().unwrap() = "Be stern.".to_owned();
    ask(&engine, &message("m2", "cli:room:a", "two"), &model).await.unwrap();
    drop(engine);
    let engine = house.engine().await;
    ask(&engine, &message("m3", "cli:room:a", "three"), &model).await.unwrap();

    let file = house.files.contents(house.store().path(first.session_id)).unwrap();
    let outline = crate::fixture::outline(&String::from_utf8(file).unwrap());
    let batches: Vec<&str> = outline.lines().filter(|line| line.starts_with(['1', '2'])).collect();
    let after = |text: &str| {
        let place = batches.iter().position(|line| line.contains(text)).unwrap();
        batches[place + 1]
    };
    assert_eq!(after("user_message [one]"), "2/3 turn_started");
    assert_eq!(after("user_message [two]"), "2/4 harness_item");
    assert_eq!(after("user_message [three]"), "2/3 turn_started");
    let sent = String::from_utf8(model.bodies()[1].bytes.clone()).unwrap();
    let reminder = sent.find("<system-reminder>\\nNow it is").unwrap();
    assert!(sent.find("\"two\"").unwrap() < reminder, "{sent}");
}

#[test]
fn news_join_the_last_result_unless_something_was_said_since() {
    for (line, joins) in [
        ("user: go | model: ok, read_a=c1 | done c1 x", true),
        ("user: go | model: ok, read_a=c1 | done c1 x | user: \\n", true),
        ("user: go | model: ok, read_a=c1 | done c1 x | user: more", false),
        ("user: go", false),
    ] {
        let house = House::new();
        let header = crate::fixture::header(SessionId::from_uuid(house.clock.new_id()));
        // The transcript has taken the first ids.
        let clock: Arc<dyn Clock> = Arc::new(FakeClock::starting_at_id(1_000));
        let mut session = Session::begin(&house.store(), clock, header, Vec::new()).unwrap();
        let log = transcript(line);
        for event in &log.events {
            session.stage_as(event.id, None, event.body.clone());
        }
        session.stage_news(reminder(HarnessKind::DateChange, &json!({})));
        session.commit(&Unwatched).unwrap();
        let events = house.events(session.id());
        let Body::HarnessItem(told) = &events.last().unwrap().body else { panic!("{line}") };
        assert_eq!(told.merged_into, joins.then(|| log.labels["c1"]), "{line}");
    }
}

#[tokio::test]
async fn what_a_branch_took_back_is_told_again() {
    let house = House::telling_news();
    let engine = house.engine().await;
    let model = ScriptedModel::new([]).says("One.").says("Two.").says("Three.");
    let first = ask(&engine, &message("m1", "cli:room:a", "one"), &model).await.unwrap();
    *house.prompt.lock().unwrap() = "Be stern.".to_owned();
    ask(&engine, &message("m2", "cli:room:a", "two"), &model).await.unwrap();
    let moved = LeafMoved { to: first.leaf, reason: LeafReason::Branch };
    let thread_id = "cli:room:a".parse().unwrap();
    let (body, id) = (Body::LeafMoved(moved), first.session_id);
    engine.note("main", &thread_id, id, body, &Unwatched).await.unwrap();
    ask(&engine, &message("m3", "cli:room:a", "three"), &model).await.unwrap();
    let bodies = model.bodies();
    let told = |place: usize| {
        let sent = String::from_utf8_lossy(&bodies[place].bytes).into_owned();
        sent.matches("Now it is").count()
    };
    assert_eq!([told(0), told(1), told(2)], [0, 1, 1]);
    prove(&house, id, &model);
}

#[tokio::test]
async fn a_changed_byte_in_a_logged_message_shows_in_the_proof() {
    let house = House::new();
    let model = ScriptedModel::new([]).says("One.").says("Two.");
    let engine = house.engine().await;
    ask(&engine, &message("m1", "cli:room:a", "hello"), &model).await.unwrap();
    let report = ask(&engine, &message("m2", "cli:room:a", "more"), &model).await.unwrap();
    let mut verifier = Verifier::default();
    for mut event in house.events(report.session_id) {
        if let Body::UserMessage(said) = &mut event.body
            && said.message.content[0].as_text() == Some("hello")
        {
            said.message.content[0] = Block::text("hallo");
        }
        verifier.read(&event);
    }
    assert_eq!((verifier.n_requests, verifier.mismatches.len()), (2, 2));
}

#[tokio::test]
async fn a_message_that_a_later_one_brought_along_is_not_said_again() {
    let house = House::new();
    let engine = house.engine().await;
    let model = ScriptedModel::new([]).says("Zero.").says("One.").says("Two.");
    let first = ask(&engine, &message("m0", "cli:room:a", "zero"), &model).await.unwrap();
    let one = engine.accept(&message("m1", "cli:room:a", "one"), Target::Current).await.unwrap();
    let two = engine.accept(&message("m2", "cli:room:a", "two"), Target::Current).await.unwrap();
    let cancel = CancellationToken::new();
    let run = Run { provider: &model, watcher: &Unwatched, cancel: &cancel };
    // Whoever waits for the second comes first.
    assert_eq!(engine.run(&two, run).await.unwrap().text, "Two.");
    assert_eq!(engine.run(&one, run).await.unwrap().text, "One.");
    assert_eq!(model.bodies().len(), 3);
    let events = house.events(first.session_id);
    let n_said = events.iter().filter(|it| matches!(it.body, Body::UserMessage(_))).count();
    assert_eq!(n_said, 3);
}

#[tokio::test]
async fn what_was_accepted_before_a_crash_is_taken_up_at_the_start() {
    let house = House::new();
    let engine = house.engine().await;
    for n in 0..3 {
        let event = message(&format!("m{n}"), &format!("cli:room:{n}"), "hello");
        engine.accept(&event, Target::Current).await.unwrap();
    }
    drop(engine);

    let engine = house.engine().await;
    let model = ScriptedModel::new([]).says("One.").says("Two.").says("Three.");
    let cancel = CancellationToken::new();
    let run = Run { provider: &model, watcher: &Unwatched, cancel: &cancel };
    let taken = engine.take_up(run).await.unwrap();
    assert!(taken.len() == 3 && taken.iter().all(|(_, error)| error.is_none()));
    assert_eq!(model.bodies().len(), 3);
    assert!(engine.take_up(run).await.unwrap().is_empty());
}

#[tokio::test]
async fn idle_sessions_are_closed_and_open_again() {
    let house = House::new();
    let engine = house.engine().await;
    let n_threads = OPEN_SESSIONS_MAX + 1;
    let ask_all = async |round: usize| {
        for n in 0..n_threads {
            let event = message(&format!("m{round}-{n}"), &format!("cli:room:{n}"), "say hi");
            ask(&engine, &event, &demo()).await.unwrap();
        }
    };
    ask_all(0).await;
    assert_eq!(engine.lanes.lock().unwrap().len(), 0);
    ask_all(1).await;
    let threads = engine.desk.threads().await.unwrap();
    assert_eq!(threads.len(), n_threads);
    let events = house.events(threads[0].session_id);
    let n_said = events.iter().filter(|it| matches!(it.body, Body::UserMessage(_))).count();
    assert_eq!(n_said, 2);
}

#[tokio::test]
async fn a_long_session_goes_on_from_where_it_was_put_away() {
    let house = House::new();
    let model = (0..60).fold(ScriptedModel::new([]), |model, n| model.says(&format!("{n}")));
    let mut session_id = None;
    for n in 0..60 {
        // A new host for each message: every one opens the session again.
        let engine = house.engine().await;
        let text = format!("{n} {}", "word ".repeat(2_000));
        let event = message(&format!("m{n}"), "cli:room:a", &text);
        let report = ask(&engine, &event, &model).await.unwrap();
        session_id = Some(report.session_id);
        engine.flush().await;
    }
    let id = session_id.unwrap();
    let engine = house.engine().await;
    let (place, put_away) = engine.shelf.take(id).await.unwrap();
    assert!(place.offset >= CHECKPOINT_BYTES_MIN);
    let events = house.events(id);
    assert!(put_away.n_events < events.len() as u64);
    let taken_up = engine.load(id, engine.desk.head(id).await.unwrap().as_ref()).await.unwrap();
    assert!(*taken_up.state() == State::of(&events));
    prove(&house, id, &model);
}

#[tokio::test]
async fn each_session_has_one_snapshot_on_disk_before_its_first_message() {
    let house = House::new();
    let engine = house.engine().await;
    let model = ScriptedModel::new([]).says("One.").says("Two.").says("Three.");
    let first = ask(&engine, &message("m1", "cli:room:a", "hello"), &model).await.unwrap();
    *house.prompt.lock().unwrap() = "Be stern.".to_owned();
    ask(&engine, &message("m2", "cli:room:a", "more"), &model).await.unwrap();
    let accepted = engine.accept(&message("m3", "cli:room:a", "anew"), Target::New).await.unwrap();
    let cancel = CancellationToken::new();
    let run = Run { provider: &model, watcher: &Unwatched, cancel: &cancel };
    let anew = engine.run(&accepted, run).await.unwrap();
    assert_ne!(anew.session_id, first.session_id);
    for (id, prompt) in [(first.session_id, "Be kind."), (anew.session_id, "Be stern.")] {
        let events = house.events(id);
        let place = |kind: &str| events.iter().position(|it| it.body.type_name() == kind).unwrap();
        assert_eq!(place("instruction_snapshot"), 0);
        assert!(place("toolset_snapshot") < place("user_message"));
        let snapshots = events.iter().filter(|it| matches!(it.body, Body::InstructionSnapshot(_)));
        assert_eq!(snapshots.count(), 1);
        let state = State::of(&events);
        assert_eq!(state.snapshot.unwrap().system_prompt(), prompt);
    }
}

#[tokio::test]
async fn a_session_without_a_snapshot_gets_one_before_its_next_request() {
    let house = House::new();
    let store = house.store();
    let id = SessionId::from_uuid(house.clock.new_id());
    let mut header = crate::fixture::header(id);
    header.thread_id = "cli:room:a".parse().unwrap();
    let clock: Arc<dyn Clock> = house.clock.clone();
    let notice = Notice { text: "imported".to_owned(), level: Level::Info, about: None };
    drop(Session::begin(&store, clock, header, vec![Body::Notice(notice)]).unwrap());

    let engine = house.engine().await;
    let model = ScriptedModel::new([]).says("Here.");
    let event = message("m1", "cli:room:a", "hello");
    let accepted = engine.accept(&event, Target::Session(id)).await.unwrap();
    let cancel = CancellationToken::new();
    let run = Run { provider: &model, watcher: &Unwatched, cancel: &cancel };
    assert_eq!(engine.run(&accepted, run).await.unwrap().text, "Here.");
    let kinds: Vec<_> = house.events(id).iter().map(|it| it.body.type_name()).collect();
    let place = |kind: &str| kinds.iter().position(|it| *it == kind).unwrap();
    assert!(place("instruction_snapshot") < place("user_message"));
    assert!(String::from_utf8_lossy(&model.bodies()[0].bytes).contains("Be kind."));
}

#[tokio::test]
async fn a_damaged_session_stays_as_it_is_and_its_thread_goes_on_in_a_new_one() {
    let house = House::new();
    let model = ScriptedModel::new([]).says("One.").says("Two.");
    let engine = house.engine().await;
    let first = ask(&engine, &message("m1", "cli:room:a", "hello"), &model).await.unwrap();
    drop(engine);
    let path = house.store().path(first.session_id);
    let mut bytes = house.files.contents(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    house.files.write_raw(&path, &bytes);

    let engine = house.engine().await;
    let second = ask(&engine, &message("m2", "cli:room:a", "more"), &model).await.unwrap();
    assert_eq!(second.text, "Two.");
    assert_ne!(second.session_id, first.session_id);
    assert_eq!(house.files.contents(&path).unwrap(), bytes);
    let events = house.events(second.session_id);
    let notice = events.iter().find_map(|event| match &event.body {
        Body::Notice(notice) => Some(notice.text.as_str()),
        _ => None,
    });
    assert!(notice.unwrap().contains("is damaged at line"), "{notice:?}");
    // What the damaged session holds is not said again.
    let again = ask(&engine, &message("m1", "cli:room:a", "hello"), &model).await.unwrap();
    assert_eq!((again.session_id, again.failure.is_some()), (first.session_id, true));
    // From now on the thread is there.
    let model = ScriptedModel::new([]).says("Three.");
    let third = ask(&engine, &message("m3", "cli:room:a", "on"), &model).await.unwrap();
    assert_eq!(third.session_id, second.session_id);
}
