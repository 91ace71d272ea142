//! Several clients of one session: whoever sends, cancels, leaves or comes back, all see the same.

use std::collections::VecDeque;
use std::sync::Mutex;

use kith_sessions::desk::{RowTarget, ThreadRecords};
use kith_testkit::events::fixed_cases;
use kith_testkit::gate::Gate;
use kith_testkit::scripted::ScriptedModels;
use kith_testkit::tools::CountingTool;
use kith_vocab::block::plain_text;
use kith_vocab::clock::BoxFuture;
use kith_vocab::event::messages::StopReason;
use kith_vocab::event::models::Wire;
use kith_vocab::ids::EventId;
use kith_vocab::json::Json;
use kith_vocab::provider::{
    Answer, AnswerBlock, AnswerFailure, AskContext, Delta, DeltaPart, FailureCause, ModelChoice,
    Provider,
};
use kith_vocab::tool::Tool;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::command::CommandAction;
use crate::feed::{DeltaKind, ThreadKey};
use crate::fixture::{ask_in, steer};

/// Streams its answers piece by piece, and lets others go on in between. What it says after its
/// script is long.
struct SlowTalker {
    choice: ModelChoice,
    script: Mutex<VecDeque<Vec<AnswerBlock>>>,
}

impl SlowTalker {
    fn house(script: Vec<Vec<AnswerBlock>>, tools: Vec<Arc<dyn Tool>>) -> TestHouse {
        let choice = ModelChoice {
            provider: "slow".to_owned(),
            wire: Wire::OpenaiChat,
            model: "slow".to_owned(),
            parameters: Json::empty_object(),
            context_window: 128_000,
        };
        let talker = SlowTalker { choice, script: Mutex::new(script.into()) };
        TestHouse::asking(Arc::new(ScriptedModels::one(Arc::new(talker))), tools)
    }

    fn next_answer(&self) -> Vec<AnswerBlock> {
        let long = || vec![AnswerBlock::Text("word after word ".repeat(4))];
        self.script.lock().unwrap().pop_front().unwrap_or_else(long)
    }
}

/// The pieces in which an answer is streamed.
fn pieces(content: &[AnswerBlock]) -> Vec<Delta<'_>> {
    let (mut pieces, mut call) = (Vec::new(), 0);
    for (block, content) in (0..).zip(content) {
        match content {
            AnswerBlock::Text(text) => {
                let words = text.split_inclusive(' ');
                pieces.extend(words.map(|word| Delta { block, part: DeltaPart::Text(word) }));
            }
            AnswerBlock::Thinking(it) => {
                pieces.push(Delta { block, part: DeltaPart::Thinking(&it.text) });
            }
            AnswerBlock::Call { tool, arguments: json, .. } => {
                pieces.push(Delta { block, part: DeltaPart::CallBegun { call, tool } });
                pieces.push(Delta { block, part: DeltaPart::CallInput { call, json } });
                call += 1;
            }
        }
    }
    pieces
}

impl Provider for SlowTalker {
    fn choice(&self) -> &ModelChoice {
        &self.choice
    }

    fn ask(&self, _: Vec<u8>, ctx: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>> {
        let content = self.next_answer();
        Box::pin(async move {
            let mut said = String::new();
            for piece in pieces(&content) {
                if ctx.cancel.is_cancelled() {
                    return Err(AnswerFailure {
                        cause: FailureCause::Cancelled,
                        partial_text: said,
                        usage: None,
                    });
                }
                ctx.sink.delta(piece);
                if let DeltaPart::Text(word) = piece.part {
                    said.push_str(word);
                }
                tokio::task::yield_now().await;
            }
            let calls = content.iter().any(|it| matches!(it, AnswerBlock::Call { .. }));
            let stop_reason = if calls { StopReason::ToolCall } else { StopReason::EndTurn };
            Ok(Answer { content, usage: None, stop_reason })
        })
    }
}

/// A client with a screen.
struct Client {
    subscription: Subscription,
    seen: Vec<u64>,
    /// What the screen shows of the running request.
    shown: Option<(EventId, String)>,
    n_left: usize,
}

impl Client {
    async fn new(engine: &Engine, id: SessionId, after: u64) -> Client {
        let point = ResumePoint { persistent_last_seq: after, ..ResumePoint::default() };
        let (_, subscription) = engine.subscribe(id, &point).await.unwrap();
        Client { subscription, seen: Vec::new(), shown: None, n_left: 0 }
    }

    /// Takes at most so many items that are there.
    async fn pull(&mut self, n_items_max: usize) -> usize {
        for n in 0..n_items_max {
            let next = tokio::time::timeout(std::time::Duration::ZERO, self.subscription.next());
            let Ok(item) = next.await else { return n };
            self.show(item.unwrap());
        }
        n_items_max
    }

    fn show(&mut self, item: FeedItem) {
        match item {
            FeedItem::Event(event) => {
                self.seen.push(event.seq);
                if let Body::AssistantMessage(it) = &event.body
                    && let Some((request_id, shown)) = &self.shown
                    && it.request_id == Some(*request_id)
                {
                    // The screen prints what is missing; what it shows must be how it begins.
                    let whole = plain_text(&it.message.content);
                    assert!(whole.starts_with(shown.as_str()), "{shown:?} is not in {whole:?}");
                    self.shown = None;
                }
            }
            FeedItem::Delta(delta) => {
                let shown = self.shown.take().filter(|(id, _)| *id == delta.request_id);
                let shown = shown.map_or_else(String::new, |(_, shown)| shown);
                self.shown = Some((delta.request_id, shown + &delta.text));
            }
            FeedItem::Running(running) => {
                let texts = running.parts.iter().map(|part| part.text.as_str());
                self.shown = Some((running.request_id, texts.collect()));
            }
            other => panic!("{other:?}"),
        }
    }

    /// Loses its connection and comes back with its resume point.
    async fn reconnect(&mut self, engine: &Engine) {
        let point = self.subscription.resume_point(engine.feed().epoch());
        let id = self.subscription.session_id();
        let (mode, subscription) = engine.subscribe(id, &point).await.unwrap();
        assert_ne!(mode, ResumeMode::FullReload);
        self.subscription = subscription;
        self.n_left += 1;
    }

    async fn pull_all(&mut self) {
        while self.pull(64).await > 0 {}
    }
}

#[derive(Clone, Copy, Debug)]
enum Move {
    Send,
    Steer,
    Cancel,
    /// Lets the driver and the model go on.
    Wait(u8),
    Pull(u8, u8),
    Reconnect(u8),
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        2 => Just(Move::Send),
        1 => Just(Move::Steer),
        1 => Just(Move::Cancel),
        6 => (1..12_u8).prop_map(Move::Wait),
        6 => (0..3_u8, 1..9_u8).prop_map(|(client, n)| Move::Pull(client, n)),
        4 => (0..3_u8).prop_map(Move::Reconnect),
    ]
}

/// Plays the moves, and returns how often somebody lost its connection.
async fn play(moves: &[Move]) -> usize {
    let house = SlowTalker::house(Vec::new(), Vec::new());
    let engine = house.engine();
    let id = ask(&engine, &message("m", ROOM, "hi")).await.unwrap().session_id;
    within(engine.until_rest()).await;
    // Two follow from the beginning, and one from the middle.
    let mut clients = Vec::new();
    for after in [0, 0, 3] {
        clients.push(Client::new(&engine, id, after).await);
    }
    for (n, step) in moves.iter().enumerate() {
        let key = format!("m{n}");
        match step {
            Move::Send => drop(engine.send(&message(&key, ROOM, "go"), RowTarget::Current).await),
            Move::Steer => drop(engine.send(&steer(&key, ROOM, "so"), RowTarget::Current).await),
            Move::Cancel => {
                let action = CommandAction::Cancel { key: None };
                house.command(&engine, id, action).await.unwrap();
            }
            Move::Wait(n) => {
                for _ in 0..*n {
                    tokio::task::yield_now().await;
                }
            }
            Move::Pull(client, n) => drop(clients[usize::from(*client)].pull((*n).into()).await),
            Move::Reconnect(client) => clients[usize::from(*client)].reconnect(&engine).await,
        }
    }
    within(engine.until_rest()).await;
    let last = house.events(id).len() as u64;
    for (client, after) in clients.iter_mut().zip([0, 0, 3]) {
        client.pull_all().await;
        assert_eq!(client.seen, (after + 1..=last).collect::<Vec<_>>());
        assert_eq!(client.shown, None);
    }
    clients.iter().map(|client| client.n_left).sum()
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().unwrap().block_on(work)
}

proptest! {
    #![proptest_config(fixed_cases(64))]

    #[test]
    fn all_clients_see_the_same_events_once_and_in_order(
        moves in prop::collection::vec(any_move(), 1..80),
    ) {
        run(play(&moves));
    }
}

#[test]
fn two_hundred_lost_connections_lose_no_event() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut n_lost = 0;
    for _ in 0..20 {
        let moves = prop::collection::vec(any_move(), 100);
        n_lost += run(play(&moves.new_tree(&mut runner).unwrap().current()));
    }
    assert!(n_lost >= 200, "{n_lost}");
}

#[tokio::test(start_paused = true)]
async fn deltas_say_what_they_belong_to() {
    let content = vec![
        AnswerBlock::Thinking(kith_vocab::block::Thinking {
            text: "Hm.".into(),
            signature: None,
            redacted: None,
        }),
        AnswerBlock::Text("Doing.".to_owned()),
        call("write_file", &json!({"n": 1})),
        call("write_file", &json!({"n": 2})),
    ];
    let script = vec![content, vec![AnswerBlock::Text("Done.".to_owned())]];
    let house = SlowTalker::house(script, vec![Arc::new(CountingTool::new("write_file"))]);
    let engine = house.engine();
    let event = message("m1", ROOM, "go");
    let mut follower = engine.send(&event, RowTarget::Current).await.unwrap();
    let (mut deltas, mut answers) = (Vec::new(), Vec::new());
    loop {
        match within(follower.next()).await.unwrap() {
            RowProgress::Item(FeedItem::Delta(delta)) => deltas.push(delta),
            RowProgress::Item(FeedItem::Event(event)) => {
                if let Body::AssistantMessage(it) = &event.body {
                    answers.push(it.request_id.unwrap());
                }
            }
            RowProgress::Item(_) => (),
            RowProgress::Settled(_) => break,
        }
    }
    let told: Vec<String> = deltas
        .iter()
        .map(|it| {
            let answer = answers.iter().position(|id| *id == it.request_id).unwrap();
            let call = it.call_id.map(|call| format!(" call {}", call.index));
            format!("{answer}.{}{} {:?} {}", it.block, call.unwrap_or_default(), it.kind, it.text)
        })
        .collect();
    // The last ones may be lost: the event that follows holds them.
    assert_eq!(
        told[..6],
        [
            "0.0 Thinking Hm.",
            "0.1 Text Doing.",
            "0.2 call 0 ToolName write_file",
            "0.2 call 0 ToolInput {\"n\":1}",
            "0.3 call 1 ToolName write_file",
            "0.3 call 1 ToolInput {\"n\":2}",
        ]
    );
    assert!(told[6..].iter().all(|it| it.starts_with("1.0 Text ")), "{told:?}");
    assert!(deltas.iter().is_sorted_by(|a, b| a.stream_seq < b.stream_seq));
    assert_eq!(deltas[1].kind, DeltaKind::Text);
}

fn call(tool: &str, input: &serde_json::Value) -> AnswerBlock {
    AnswerBlock::Call {
        provider_call_id: input.to_string(),
        tool: tool.to_owned(),
        arguments: input.to_string(),
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_late_sees_what_is_being_said() {
    let model = Arc::new(script().waits_after("I was about to"));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "go"), RowTarget::Current).await.unwrap();
    let id = first.session_id();
    until(|| !model.bodies().is_empty()).await;
    pass_a_while().await;
    let (mode, mut late) = engine.subscribe(id, &ResumePoint::default()).await.unwrap();
    assert_eq!(mode, ResumeMode::PersistentFallback);
    for seq in 1..=5 {
        let FeedItem::Event(event) = within(late.next()).await.unwrap() else { panic!("{seq}") };
        assert_eq!(event.seq, seq);
    }
    let FeedItem::Running(running) = within(late.next()).await.unwrap() else { panic!() };
    assert_eq!((running.parts.len(), running.parts[0].text.as_str()), (1, "I was about to"));
    house.command(&engine, id, CommandAction::Cancel { key: None }).await.unwrap();
    event_of(&mut late, |body| matches!(body, Body::TurnEnded(_))).await;
    // Afterwards there is nothing of it but the event.
    let (_, mut later) = engine.subscribe(id, &ResumePoint::default()).await.unwrap();
    for _ in 0..8 {
        assert!(matches!(within(later.next()).await.unwrap(), FeedItem::Event(_)));
    }
}

#[tokio::test(start_paused = true)]
async fn leaving_cancels_nothing() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").behind(&gate));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let event = message("m1", ROOM, "go");
    let follower = engine.send(&event, RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    drop(follower);
    gate.open();
    within(engine.until_rest()).await;
    let report = ask(&engine, &event).await.unwrap();
    assert_eq!((report.text.as_str(), report.end), ("One.", MessageEnd::Done));
    assert_eq!(model.bodies().len(), 1);
}

fn room() -> ThreadKey {
    ThreadKey { agent_id: "main".to_owned(), thread_id: ROOM.parse().unwrap() }
}

#[tokio::test(start_paused = true)]
async fn a_thread_is_followed_from_session_to_session() {
    let house = TestHouse::new(&Arc::new(script().says("One.").says("Two.")));
    let engine = house.engine();
    // Before anything was said there is nothing to load.
    let (mode, mut thread) =
        engine.subscribe_thread(room(), &ResumePoint::default()).await.unwrap();
    assert_eq!((mode, thread.session_id()), (ResumeMode::FullReload, None));
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap().session_id;
    ask(&engine, &message("o1", "cli:room:other", "elsewhere")).await.unwrap();
    let second =
        ask_in(&engine, &message("m2", ROOM, "two"), RowTarget::New).await.unwrap().session_id;
    within(engine.until_rest()).await;
    let mut seen: Vec<(SessionId, Vec<u64>)> = Vec::new();
    loop {
        match within(thread.next()).await.unwrap() {
            ThreadItem::Changed(id) => seen.push((id, Vec::new())),
            ThreadItem::Session(id, FeedItem::Event(event)) => {
                let (now, seqs) = seen.last_mut().unwrap();
                assert_eq!(*now, id);
                seqs.push(event.seq);
                if id == second && matches!(event.body, Body::TurnEnded(_)) {
                    break;
                }
            }
            ThreadItem::Session(..) => (),
        }
    }
    // It came after both had been said, so it may go straight to where the thread is.
    assert_eq!(*seen.last().unwrap(), (second, (1..=7).collect()));
    assert!(seen.iter().all(|(id, _)| *id == first || *id == second), "{seen:?}");

    // Somebody goes back to the first session: the thread is there again.
    ask_in(&engine, &message("m3", ROOM, "back"), RowTarget::Session(first)).await.unwrap();
    let changed = loop {
        if let ThreadItem::Changed(id) = within(thread.next()).await.unwrap() {
            break id;
        }
    };
    assert_eq!((changed, thread.session_id()), (first, Some(first)));
    assert_eq!(house.desk.current_session("main", &room().thread_id).await.unwrap(), Some(first));
}

#[tokio::test(start_paused = true)]
async fn a_thread_is_followed_into_a_repaired_copy() {
    let house = TestHouse::new(&Arc::new(script().says("One.").says("Two.")));
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap().session_id;
    within(engine.until_rest()).await;
    engine.kill();
    let mut bytes = house.file(first);
    let at = bytes.windows(4).rposition(|it| it == b"One.").unwrap();
    bytes[at] ^= 1;
    house.files.write_raw(house.store().path(first), &bytes);
    let engine = house.engine();
    let (_, mut thread) = engine.subscribe_thread(room(), &ResumePoint::default()).await.unwrap();
    assert_eq!(thread.session_id(), Some(first));
    let copy = ask(&engine, &message("m2", ROOM, "two")).await.unwrap().session_id;
    let mut changed = Vec::new();
    loop {
        match within(thread.next()).await.unwrap() {
            ThreadItem::Changed(id) => changed.push(id),
            ThreadItem::Session(_, FeedItem::Moved { to }) => changed.push(to),
            ThreadItem::Session(id, FeedItem::Event(event)) if id == copy => {
                if matches!(event.body, Body::TurnEnded(_)) {
                    break;
                }
            }
            ThreadItem::Session(..) => (),
        }
    }
    // It is told once.
    assert_eq!((changed, thread.session_id()), (vec![copy], Some(copy)));
}

#[tokio::test(start_paused = true)]
async fn the_house_says_which_threads_changed() {
    let house = TestHouse::new(&Arc::new(script()));
    let engine = house.engine();
    let mut followed = engine.follow_house();
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap().session_id;
    let other = ask(&engine, &message("o1", "cli:room:b", "two")).await.unwrap().session_id;
    let mut newest = std::collections::BTreeMap::new();
    while newest.len() < 2 {
        for change in within(followed.next()).await {
            newest.insert(change.thread.thread_id.to_string(), change.session_id);
        }
    }
    assert_eq!((newest[ROOM], newest["cli:room:b"]), (first, other));
    let made = engine.clone_session(first, None, house.new_session_id()).await.unwrap();
    let changes = within(followed.next()).await;
    assert!(changes.iter().any(|it| it.session_id == made.session_id), "{changes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_history_is_published_before_anything_can_be_said_in_it() {
    let mut house = TestHouse::new(&Arc::new(script().says("One.").says("Two.")));
    let gate = Gate::new();
    house.listing = Some(gate.clone());
    let engine = house.engine();
    let header = crate::fixture::header(house.new_session_id());
    let header = SessionHeader { thread_id: ROOM.parse().unwrap(), ..header };
    let id = header.session_id;
    let events: Vec<Event> = (1..)
        .zip(house.setup.first_events(&header).unwrap())
        .map(|(seq, body)| Event {
            seq,
            id: house.new_event_id(),
            ts: 1,
            client_id: "cli".to_owned(),
            ingress_key: None,
            parent_id: None,
            source_tag: None,
            body,
        })
        .collect();
    let n_events = events.len() as u64;
    let adopting = tokio::spawn({
        let engine = engine.clone();
        async move { engine.adopt(&header, events).await }
    });
    within(gate.reached()).await;
    // The thread is in it already, and the catalog does not know it yet.
    let mut slow = engine.follow(id, 0).up_to_date();
    for seq in 1..=n_events {
        let FeedItem::Event(event) = within(slow.next()).await.unwrap() else { panic!("{seq}") };
        assert_eq!(event.seq, seq);
    }
    let said = engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    pass_a_while().await;
    gate.open();
    adopting.await.unwrap().unwrap();
    within(said.end()).await.unwrap();
    ask(&engine, &message("m2", ROOM, "two")).await.unwrap();
    let last = house.events(id).len() as u64;
    for seq in n_events + 1..=last {
        loop {
            match within(slow.next()).await.unwrap() {
                FeedItem::Event(event) => break assert_eq!(event.seq, seq),
                other => drop(other),
            }
        }
    }
}
