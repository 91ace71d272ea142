//! Random lives of a session: whatever people do and however often the host is lost, every message
//! is dealt with once, and whoever asks for it again is told how.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kith_sessions::desk::{Inbox, RowTarget};
use kith_testkit::events::fixed_cases;
use kith_testkit::scripted::ScriptedModels;
use kith_testkit::tools::CountingTool;
use kith_vocab::clock::BoxFuture;
use kith_vocab::event::messages::{HarnessKind, StopReason};
use kith_vocab::event::models::{FailureKind, Wire};
use kith_vocab::ingress::IngressEvent;
use kith_vocab::json::Json;
use kith_vocab::provider::{
    Answer, AnswerBlock, AnswerFailure, AskContext, FailureCause, ModelChoice, Provider,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::command::CommandAction;
use crate::fixture::steer;
use crate::replay::Replayer;
use crate::state::State;

/// Takes its time, and then does what the last message says: calls a tool, fails or answers.
struct Moody(ModelChoice);

impl Moody {
    fn house(tool: &CountingTool) -> TestHouse {
        let moody = Moody(ModelChoice {
            provider: "moody".to_owned(),
            wire: Wire::OpenaiChat,
            model: "moody".to_owned(),
            parameters: Json::empty_object(),
            context_window: 128_000,
        });
        let models = ScriptedModels::one(Arc::new(moody));
        TestHouse::asking(Arc::new(models), vec![Arc::new(tool.clone())])
    }
}

impl Provider for Moody {
    fn choice(&self) -> &ModelChoice {
        &self.0
    }

    fn ask(&self, body: Vec<u8>, ctx: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>> {
        Box::pin(async move {
            for _ in 0..5 {
                if ctx.cancel.is_cancelled() {
                    let partial_text = "So far".to_owned();
                    return Err(AnswerFailure {
                        cause: FailureCause::Cancelled,
                        partial_text,
                        usage: None,
                    });
                }
                tokio::task::yield_now().await;
            }
            let body: Value = serde_json::from_slice(&body).unwrap();
            let last = body["messages"].as_array().unwrap().last().unwrap();
            let text = last["content"].to_string();
            if last["role"] != "tool" && text.contains("fail") {
                let (kind, message) = (FailureKind::Auth, "no".to_owned());
                let (retryable, retry_after_ms) = (false, None);
                let cause = FailureCause::Failed { kind, message, retryable, retry_after_ms };
                return Err(AnswerFailure { cause, partial_text: String::new(), usage: None });
            }
            let (block, stop_reason) = if last["role"] != "tool" && text.contains("call") {
                // Each of the model's calls has its own name: a call runs once or not at all.
                let name = format!("{}", body["messages"].as_array().unwrap().len());
                let call = AnswerBlock::Call {
                    provider_call_id: name.clone(),
                    tool: "write_file".to_owned(),
                    arguments: json!({ "n": name }).to_string(),
                };
                (call, StopReason::ToolCall)
            } else {
                (AnswerBlock::Text("Yes.".to_owned()), StopReason::EndTurn)
            };
            Ok(Answer { content: vec![block], usage: None, stop_reason })
        })
    }
}

#[derive(Clone, Copy, Debug)]
enum Move {
    Say(&'static str),
    /// In a new session of the thread.
    SayAnew,
    /// In an earlier session of the thread.
    SayIn(prop::sample::Index),
    /// A message that was delivered before.
    DeliverAgain(prop::sample::Index),
    Steer,
    Cancel,
    /// Somebody's own Ctrl-C.
    CancelOwn(prop::sample::Index),
    Retry,
    TakeNext,
    BranchToStart,
    Compact,
    /// The host is lost, and another one starts. The desk keeps so many of its unsynced commits.
    Restart(u8),
    Wait(u8),
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        6 => prop_oneof![Just("hello"), Just("call"), Just("fail")].prop_map(Move::Say),
        1 => Just(Move::SayAnew),
        1 => any::<prop::sample::Index>().prop_map(Move::SayIn),
        2 => any::<prop::sample::Index>().prop_map(Move::DeliverAgain),
        2 => Just(Move::Steer),
        2 => Just(Move::Cancel),
        2 => any::<prop::sample::Index>().prop_map(Move::CancelOwn),
        1 => Just(Move::Retry),
        1 => Just(Move::TakeNext),
        1 => Just(Move::BranchToStart),
        2 => Just(Move::Compact),
        3 => any::<u8>().prop_map(Move::Restart),
        8 => (1..20_u8).prop_map(Move::Wait),
    ]
}

/// What has come of a key in the log.
#[derive(Debug, Default, PartialEq, Eq)]
struct Fate {
    said: usize,
    declined: usize,
}

fn fates(events: &[Event]) -> BTreeMap<String, Fate> {
    let mut fates = BTreeMap::<String, Fate>::new();
    for event in events {
        if let Body::QueueUpdate(it) = &event.body {
            for key in it.items.iter().filter_map(|item| item.ingress_key.clone()) {
                fates.entry(key).or_default();
            }
        }
        let Some(key) = &event.ingress_key else { continue };
        let fate = fates.entry(key.clone()).or_default();
        match &event.body {
            Body::UserMessage(_) => fate.said += 1,
            Body::HarnessItem(it) if it.item.kind == HarnessKind::Steer => fate.said += 1,
            Body::Notice(_) => fate.declined += 1,
            _ => (),
        }
    }
    fates
}

struct Life {
    house: TestHouse,
    engine: Engine,
    /// The sessions of the thread, the one last spoken in at the end.
    ids: Vec<SessionId>,
    sent: Vec<IngressEvent>,
}

impl Life {
    async fn begin(tool: &CountingTool) -> Life {
        let house = Moody::house(tool);
        let engine = house.engine();
        let event = message("first", ROOM, "hello");
        let id = ask(&engine, &event).await.unwrap().session_id;
        Life { house, engine, ids: vec![id], sent: vec![event] }
    }

    fn current(&self) -> SessionId {
        *self.ids.last().unwrap()
    }

    async fn command(&self, action: CommandAction) {
        // What cannot be done now is refused, which is an answer too.
        let answer = within(self.house.command(&self.engine, self.current(), action)).await;
        if let Err(error) = answer {
            assert!(
                matches!(
                    error,
                    EngineError::TurnRunning { .. }
                        | EngineError::NothingToRetry { .. }
                        | EngineError::InvalidCommand { .. }
                ),
                "{error}"
            );
        }
    }

    async fn say(&mut self, event: IngressEvent, target: RowTarget) {
        let id = self.engine.send(&event, target).await.unwrap().session_id();
        self.ids.retain(|known| *known != id);
        self.ids.push(id);
        self.sent.push(event);
    }

    async fn make(&mut self, n: usize, step: Move) {
        let key = format!("m{n}");
        match step {
            Move::Say(text) => self.say(message(&key, ROOM, text), RowTarget::Current).await,
            Move::SayAnew => self.say(message(&key, ROOM, "call"), RowTarget::New).await,
            Move::SayIn(which) => {
                let target = RowTarget::Session(*which.get(&self.ids));
                self.say(message(&key, ROOM, "call"), target).await;
            }
            Move::DeliverAgain(which) => {
                // In a new session, if it were a new message.
                self.engine.send(which.get(&self.sent), RowTarget::New).await.unwrap();
            }
            Move::Steer => self.say(steer(&key, ROOM, "so"), RowTarget::Current).await,
            Move::Cancel => self.command(CommandAction::Cancel { key: None }).await,
            Move::CancelOwn(which) => {
                let key = Some(which.get(&self.sent).key.clone());
                self.command(CommandAction::Cancel { key }).await;
            }
            Move::Retry => self.command(CommandAction::Retry { key: None, attended: true }).await,
            Move::TakeNext => self.command(CommandAction::TakeNext).await,
            Move::Compact => self.command(CommandAction::Compact { models: Vec::new() }).await,
            Move::BranchToStart => {
                let (id, command) = (self.current(), branching::mover(&self.house));
                // A session that waits for its thread does not exist yet.
                if self.house.store().exists(id).unwrap() {
                    within(self.engine.branch(id, LeafId::Start, command)).await.unwrap();
                }
            }
            Move::Restart(kept) => {
                self.engine.kill();
                pass_a_while().await;
                let n_unsynced = self.house.desk.n_unsynced();
                self.house.desk = self.house.desk.crash(usize::from(kept) % (n_unsynced + 1));
                self.engine = self.house.engine();
                self.engine.resume_all().await.unwrap();
            }
            Move::Wait(n) => {
                for _ in 0..n {
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// Lets everything come to its end, also what is held.
    async fn end(&mut self) {
        // A turn that was taken up again has no row, and the desk may have lost its wake-up.
        for id in self.ids.clone() {
            self.engine.wake(id);
        }
        for id in self.ids.clone() {
            self.ids.push(id);
            for n in 0.. {
                assert!(n <= self.sent.len(), "it never ends: {}", self.house.outline(id));
                within(self.engine.until_rest()).await;
                let state = State::of(&self.house.events(id));
                if state.turn.is_none() && state.follow_ups.is_empty() && state.steers.is_empty() {
                    break;
                }
                self.command(CommandAction::TakeNext).await;
            }
        }
    }
}

async fn live(moves: &[Move]) {
    let tool = CountingTool::new("write_file");
    let mut life = Life::begin(&tool).await;
    for (n, step) in moves.iter().enumerate() {
        life.make(n, *step).await;
    }
    life.end().await;

    let Life { house, engine, sent, .. } = &life;
    let ids = house.store().list().unwrap();
    let outline = || ids.iter().map(|id| house.outline(*id)).collect::<Vec<_>>().join("\n");
    let open = house.desk.sessions_with_open_rows().await.unwrap();
    assert!(open.is_empty(), "{}", outline());
    let events: Vec<Event> = ids.iter().flat_map(|id| house.events(*id)).collect();
    for id in &ids {
        assert_replays(&house.events(*id), &house.outline(*id));
    }
    let fates = fates(&events);
    for event in sent {
        let fate = &fates[&event.key];
        assert!(fate.said + fate.declined <= 1, "{} {fate:?}\n{}", event.key, outline());
        let report = ask(engine, event).await.unwrap();
        let is_removed = fate.said == 0;
        let expected_removed = matches!(report.end, MessageEnd::Removed);
        assert_eq!(is_removed, expected_removed, "{} {report:?}\n{}", event.key, outline());
        let is_known =
            !matches!(report.end, MessageEnd::Unknown | MessageEnd::Held | MessageEnd::Waiting);
        assert!(is_known, "{} {report:?}\n{}", event.key, outline());
    }
    // Nothing was run twice: every run has its own start in the log.
    let started: BTreeSet<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::ToolStarted(it) => Some(it.call_id.to_string()),
            _ => None,
        })
        .collect();
    let n_started = outline().matches("tool_started").count();
    assert_eq!(started.len(), n_started, "{}", outline());
    assert!(tool.runs() <= n_started, "{}", outline());
}

/// What was decided follows from what came before, and every request is rebuilt.
fn assert_replays(events: &[Event], outline: &str) {
    let mut replayer = Replayer::default();
    for event in events {
        replayer.read(event);
    }
    assert_eq!(replayer.difference, None, "{outline}");
    assert_eq!(replayer.n_other_renderer, 0);
}

fn n_lives() -> u32 {
    if std::env::var_os("KITH_SLOW_TESTS").is_some() { 3_000 } else { 150 }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().unwrap().block_on(work)
}

proptest! {
    #![proptest_config(fixed_cases(n_lives()))]

    #[test]
    fn every_message_of_any_life_is_dealt_with_once(
        moves in prop::collection::vec(any_move(), 1..40),
    ) {
        run(live(&moves));
    }
}

/// The same on several threads, where drivers end while others wake them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn clients_on_several_threads_are_all_answered() {
    const N_CLIENTS: usize = 12;
    const N_MESSAGES: usize = 25;
    let tool = CountingTool::new("write_file");
    let house = Arc::new(Moody::house(&tool));
    let engine = house.engine();
    let mut clients = Vec::new();
    for client in 0..N_CLIENTS {
        let (engine, house) = (engine.clone(), Arc::clone(&house));
        clients.push(tokio::spawn(async move {
            // Three clients share a room.
            let room = format!("cli:room:{}", client / 3);
            for n in 0..N_MESSAGES {
                let event = message(&format!("{client}-{n}"), &room, "hello");
                let row = engine.send(&event, RowTarget::Current).await.unwrap();
                if n % 5 == 4 {
                    let action = CommandAction::Cancel { key: Some(event.key.clone()) };
                    house.command(&engine, row.session_id(), action).await.unwrap();
                }
                let report = row.end().await.unwrap();
                if n % 5 != 4 && report.end != MessageEnd::Done {
                    // Another's turn was stopped before it, so it is held until somebody looks.
                    assert_eq!(report.end, MessageEnd::Held, "{report:?}");
                    let take_next = CommandAction::TakeNext;
                    house.command(&engine, report.session_id, take_next).await.ok();
                }
            }
        }));
    }
    let all = futures_util::future::join_all(clients);
    // Far more than it takes: a client that waits for ever would otherwise hang the test.
    let ended = tokio::time::timeout(Duration::from_mins(2), all).await.expect("a client hangs");
    for client in ended {
        client.unwrap();
    }
    engine.until_rest().await;
    let mut n_said = 0;
    for id in house.store().list().unwrap() {
        for fate in fates(&house.events(id)).into_values() {
            assert!(fate.said + fate.declined <= 1, "{fate:?}");
            n_said += fate.said;
        }
    }
    assert!(n_said >= N_CLIENTS * N_MESSAGES / 2, "{n_said}");
}
