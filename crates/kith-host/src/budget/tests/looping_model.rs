//! A model that never comes to an end, asked by many conversations at once.

#![allow(clippy::print_stdout, reason = "the counts are what this test is run for")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use kith_sessions::disk::DiskFiles;
use kith_sessions::lock::HouseLock;
use kith_testkit::server::{FakeModelServer, ServerReply};
use kith_vocab::clock::{BoxFuture, Clock};
use kith_vocab::event::Body;
use kith_vocab::event::models::FailureKind;
use kith_vocab::ids::SessionId;
use kith_vocab::ingress::RunningBehavior;
use serde_json::json;
use uuid::Uuid;

use super::super::*;
use crate::call::Follower;
use crate::caller::{CLI, Caller};
use crate::calls::feed::TurnItem;
use crate::calls::message::{Acknowledgement, MessageTarget, ModelName, SendMessage};
use crate::clock::SystemClock;
use crate::host::Host;
use crate::host::parts::HostParts;
use crate::routes;
use crate::settings::address::ServerAddress;
use crate::tests::house;

const SESSIONS: usize = 8;
const REPLIES: usize = 2_000;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// What one call uses by the server's count: less than was reserved for it.
const MODEST: (u64, u64) = (900, 40);
/// More than was reserved for it.
const GREEDY: (u64, u64) = (19_000, 1_000);

/// A clock that stands still until it is set.
struct SetClock(AtomicU64);

impl Clock for SetClock {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn monotonic(&self) -> u64 {
        SystemClock.monotonic()
    }

    fn new_id(&self) -> Uuid {
        SystemClock.new_id()
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        SystemClock.sleep(ms)
    }
}

/// Always one more call, each with another input.
fn call_again(n: usize, (input, output): (u64, u64)) -> ServerReply {
    let arguments = json!({ "path": format!("file-{n}.md") }).to_string();
    let function = json!({ "name": "read_file", "arguments": arguments });
    let calls = json!([{ "index": 0, "id": format!("call_{n}"), "function": function }]);
    let events = [
        json!({ "choices": [{ "delta": { "tool_calls": calls }, "finish_reason": "tool_calls" }] }),
        json!({ "choices": [], "usage": { "prompt_tokens": input, "completion_tokens": output } }),
    ];
    let lines: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let body = format!("{}data: [DONE]\n\n", lines.concat()).into_bytes();
    ServerReply::Raw { status: 200, content_type: "text/event-stream".to_owned(), body }
}

async fn start_host(dir: &Path, clock: &Arc<SetClock>) -> Arc<Host> {
    let (house, clock) = (house(dir), Arc::clone(clock) as Arc<dyn Clock>);
    fs::create_dir_all(house.kith_dir()).unwrap();
    let lock = Box::new(HouseLock::take(&house.kith_dir(), 1).unwrap());
    let settings = SettingsWatch::open(&house).unwrap();
    let parts = HostParts::on_disk(house, settings, clock, lock).await.unwrap();
    Arc::new(Host::assemble(parts).await.unwrap())
}

/// Says the same in all conversations at once, and waits for what comes of it.
async fn ask_all(host: &Arc<Host>, expects: &ModelName, key: &str) -> Vec<SessionId> {
    let asked = (0..SESSIONS).map(|n| {
        let message = SendMessage {
            client_message_id: format!("{key}-{n}"),
            text: "go".to_owned(),
            agent_id: None,
            thread_id: format!("web:room:{n}").parse().unwrap(),
            target: MessageTarget::Current,
            cwd: "/".to_owned(),
            expects: expects.clone(),
            model: None,
            expected_leaf: None,
            running_behavior: RunningBehavior::FollowUp,
            ack: Acknowledgement::Completed,
            attachments: Vec::new(),
        };
        let host = Arc::clone(host);
        tokio::spawn(async move {
            let follower = Follower::<TurnItem>::none();
            routes::answer(&host, Caller::owner(CLI), message, follower).await.unwrap().data
        })
    });
    let mut ids = Vec::new();
    for asked in asked.collect::<Vec<_>>() {
        ids.push(asked.await.unwrap().answer.session_id);
    }
    ids
}

/// The sum of what the logs tell of a day, and how many answers there were.
fn spent_on(store: &SessionStore, day: Date) -> (Amount, u64) {
    let (mut sum, mut n_answers) = (Amount::default(), 0);
    for id in store.list().unwrap() {
        let mut reader = SpendingReader::default();
        store.read(id, None, &mut |event| reader.read(&event)).unwrap();
        for spent in reader.finish().iter().filter(|spent| day_of(spent.at) == day) {
            let amount = Amount::of(&spent.usage);
            sum.tokens += amount.tokens;
            sum.cost_micros += amount.cost_micros;
            n_answers += 1;
        }
    }
    (sum, n_answers)
}

/// The notices of a session, and its failures for want of budget.
fn told(store: &SessionStore, id: SessionId) -> (Vec<String>, usize) {
    let (mut notices, mut n_refused) = (Vec::new(), 0);
    let each = &mut |event: kith_vocab::event::Event| match event.body {
        Body::Notice(it) => notices.push(it.text.to_string()),
        Body::ModelFailed(it) => n_refused += usize::from(it.kind == FailureKind::Budget),
        _ => (),
    };
    store.read(id, None, each).unwrap();
    (notices, n_refused)
}

async fn check(budget: &str, words: &str, cap: Amount, (input, output): (u64, u64)) {
    let replies = (0..REPLIES).map(|n| call_again(n, (input, output)));
    let server = FakeModelServer::start(replies).await;
    let dir = tempfile::tempdir().unwrap();
    let settings = format!(
        "[models]\nuse = \"loop\"\n[models.loop]\nwire = \"openai_chat\"\nbaseUrl = \"{}\"\n\
         model = \"m\"\nmaxTokens = 200\n\
         price = {{ input = 1.0, output = 2.0 }}\n[budget]\n{budget}\n[ui]\nlanguage = \"zh\"\n",
        server.base_url()
    );
    fs::write(dir.path().join("kith.toml"), settings).unwrap();
    let clock = Arc::new(SetClock(AtomicU64::new(1_700_000_000_000)));
    let host = start_host(dir.path(), &clock).await;
    let store =
        SessionStore::new(Arc::new(DiskFiles), &dir.path().canonicalize().unwrap().join(".kith"));
    // What is read costs a dollar a million, what is written two.
    let one_call = Amount { tokens: input + output, cost_micros: input + 2 * output };
    let server_address = ServerAddress::parse(&server.base_url()).unwrap();
    let expects = ModelName {
        provider: "loop".to_owned(),
        model: "m".to_owned(),
        server: Some(server_address.as_str().to_owned()),
    };
    let mut n_requests = 0;
    for (n_days, key) in ["first", "next"].into_iter().enumerate() {
        let ids = ask_all(&host, &expects, key).await;
        let (spent, n_answers) = spent_on(&store, day_of(clock.now()));
        let is_below = |spent: u64, cap: u64, more: u64| cap == 0 || spent <= cap + more;
        assert!(is_below(spent.tokens, cap.tokens, one_call.tokens), "{spent:?}");
        assert!(is_below(spent.cost_micros, cap.cost_micros, one_call.cost_micros), "{spent:?}");
        // The cap is what stopped it: more than half of it was used.
        assert!(spent.tokens * 2 > cap.tokens && spent.cost_micros * 2 > cap.cost_micros);
        assert_eq!(spent.tokens, n_answers * one_call.tokens);
        n_requests += n_answers;
        assert_eq!(server.requests().len() as u64, n_requests, "each request was counted");
        for id in ids {
            let (notices, n_refused) = told(&store, id);
            assert_eq!((notices.len(), n_refused), (n_days + 1, n_days + 1), "{notices:?}");
            assert!(notices.iter().all(|it| it.contains(words)), "{notices:?}");
        }
        println!(
            "{budget}, {key} day: {SESSIONS} conversations made {n_answers} requests, {} tokens, {} \
             millionths of a dollar; one notice each",
            spent.tokens, spent.cost_micros
        );
        clock.0.fetch_add(DAY_MS, Ordering::Relaxed);
    }
    host.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_looping_model_in_parallel_sessions_uses_at_most_the_tokens_of_a_day() {
    let cap = Amount { tokens: 60_000, cost_micros: 0 };
    check("tokensPerDay = 60000", "今天已用", cap, MODEST).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_looping_model_in_parallel_sessions_costs_at_most_the_money_of_a_day() {
    let cap = Amount { tokens: 0, cost_micros: 50_000 };
    check("costPerDay = 0.05", "今天已用", cap, MODEST).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_counts_more_than_was_reserved_passes_a_cap_by_one_call_at_most() {
    let cap = Amount { tokens: 60_000, cost_micros: 0 };
    check("tokensPerDay = 60000", "今天已用", cap, GREEDY).await;
    let cap = Amount { tokens: 0, cost_micros: 50_000 };
    check("costPerDay = 0.05", "今天已用", cap, GREEDY).await;
}
