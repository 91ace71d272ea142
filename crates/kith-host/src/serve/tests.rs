//! Clients that come, leave, and take nothing.

mod long_texts;
mod queue;

use std::path::Path;

use kith_engine::feed::ResumePoint;
use kith_sessions::disk::DiskFiles;
use kith_sessions::journal::{Batch, FilesJournal, Journal};
use kith_sessions::lock::HouseLock;
use kith_sessions::store::SessionStore;
use kith_testkit::scripted::ScriptedModel;
use kith_vocab::clock::Clock;
use kith_vocab::event::control::{Level, Notice};
use kith_vocab::event::messages::{Author, Trust};
use kith_vocab::event::{Body, Event};
use kith_vocab::header::{Audience, HeaderMeta, HeaderType, LOG_FORMAT_VERSION, SessionHeader};
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::ingress::RunningBehavior;
use kith_vocab::provider::Provider;
use serde::Serialize;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::*;
use crate::attach::host_socket;
use crate::call::Call;
use crate::calls::feed::TurnItem;
use crate::calls::message::{Acknowledgement, MessageReply, MessageTarget, ModelName, SendMessage};
use crate::calls::subscription::{FollowHouse, Subscribe, SubscribedTo, SubscriptionItem};
use crate::clock::SystemClock;
use crate::host::parts::HostParts;
use crate::models::ModelRegistry;
use crate::settings::watch::SettingsWatch;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same by a clock that passes while the runtime waits for a thread.
const PAUSED_PATIENCE: Duration = Duration::from_hours(24);

/// A house with a host that listens.
struct Listening {
    _dir: TempDir,
    house: House,
    host: Arc<Host>,
    server: Server,
}

/// A message to the model of the house.
fn message(id: &str, text: &str) -> SendMessage {
    let (provider, model) = ("demo".to_owned(), "demo".to_owned());
    SendMessage {
        client_message_id: id.to_owned(),
        text: text.to_owned(),
        agent_id: None,
        thread_id: "web:room:a".parse().unwrap(),
        target: MessageTarget::Current,
        cwd: "/".to_owned(),
        model: Some("demo".to_owned()),
        expects: ModelName { provider, model, server: None },
        expected_leaf: None,
        running_behavior: RunningBehavior::FollowUp,
        ack: Acknowledgement::Completed,
        attachments: Vec::new(),
    }
}

impl Listening {
    async fn new() -> Listening {
        Listening::start(None).await
    }

    async fn with_model(model: ScriptedModel) -> Listening {
        Listening::start(Some(model)).await
    }

    async fn start(model: Option<ScriptedModel>) -> Listening {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("Agent.md"), "Be kind.\n").unwrap();
        let cwd = dir.path().canonicalize().unwrap();
        let house = House { dir: cwd.clone(), cwd, user_home: None };
        let settings = SettingsWatch::open(&house).unwrap();
        let clock = Arc::new(SystemClock);
        let lock = HouseLock::take(&house.kith_dir(), clock.now()).unwrap();
        let parts = HostParts::on_disk(house.clone(), Arc::clone(&settings), clock, Box::new(lock));
        let mut parts = parts.await.unwrap();
        if let Some(model) = model {
            let model: Arc<dyn Provider> = Arc::new(model);
            let registry = ModelRegistry::new(settings);
            parts.models = Arc::new(registry.with_maker(Box::new(move |_| Arc::clone(&model))));
        }
        let host = Arc::new(Host::assemble(parts).await.unwrap());
        let server = Server::start(&house, &host).unwrap();
        Listening { _dir: dir, house, host, server }
    }

    async fn say(&self, id: &str) -> MessageReply {
        let message = message(id, "say one");
        let (caller, follower) = (Caller::owner("test"), Follower::<TurnItem>::none());
        routes::answer(&self.host, caller, message, follower).await.unwrap().data
    }

    async fn connect(&self) -> RawClient {
        RawClient::connect(&host_socket(&self.house.kith_dir())).await
    }
}

/// A client that does exactly what the test says.
struct RawClient {
    frames: Frames<BufReader<OwnedReadHalf>>,
    writer: OwnedWriteHalf,
}

impl RawClient {
    async fn connect(path: &Path) -> RawClient {
        let (reader, writer) = UnixStream::connect(path).await.unwrap().into_split();
        let mut client = RawClient { frames: Frames::new(BufReader::new(reader)), writer };
        client.write(&Greeting::Hello(ClientHello::of(&Caller::owner("raw")))).await;
        assert!(matches!(client.frames.next().await.unwrap(), Some(HostFrame::Hello(_))));
        client
    }

    async fn write(&mut self, said: &impl Serialize) {
        self.writer.write_all(&frame(said).unwrap()).await.unwrap();
    }

    async fn ask<C: Call>(&mut self, request_id: &str, call: &C) {
        let (name, request_id) = (C::NAME.to_owned(), request_id.to_owned());
        self.write(&RequestFrame { name, request_id, body: Json::of(call) }).await;
    }

    async fn subscribe(&mut self, request_id: &str, session: &str) {
        let to = SubscribedTo::Session(session.to_owned());
        self.ask(request_id, &Subscribe { to, from: ResumePoint::default() }).await;
    }

    /// The answer to the one request that runs; its items are passed over.
    async fn answer<C: Call>(&mut self) -> Result<C::Answer, CallError> {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.frames.next::<HostFrame>()).await;
            match next.expect("nothing comes").unwrap() {
                Some(HostFrame::Response(response)) => return Ok(response.data.read().unwrap()),
                Some(HostFrame::Error(frame)) => return Err(frame.error),
                Some(HostFrame::Item(_) | HostFrame::Alive(_)) => (),
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next item of a subscription.
    async fn item(&mut self) -> SubscriptionItem {
        loop {
            match self.frames.next::<HostFrame>().await.unwrap() {
                Some(HostFrame::Item(frame)) => return frame.item.read().unwrap(),
                Some(HostFrame::Alive(_)) => (),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Takes items until the event of this number.
    async fn events_until(&mut self, last: u64) -> Vec<u64> {
        let mut seen = Vec::new();
        while seen.last() != Some(&last) {
            let item = tokio::time::timeout(PATIENCE, self.item()).await.expect("nothing comes");
            if let SubscriptionItem::Turn(TurnItem::Event(event)) = item {
                seen.push(event.seq);
            }
        }
        seen
    }
}

#[test]
fn clients_leave_descriptors_for_the_host() {
    assert_eq!(clients_max(None), 512);
    assert_eq!(clients_max(Some(1_048_576)), 512);
    assert_eq!(clients_max(Some(1024)), 496);
    assert_eq!(clients_max(Some(256)), 112);
    assert_eq!(clients_max(Some(20)), 4);
}

#[tokio::test(start_paused = true)]
async fn who_has_left_follows_nothing_any_more() {
    let house = Listening::new().await;
    let session = house.say("m1").await.answer.session_id.to_string();
    for _ in 0..3 {
        let mut client = house.connect().await;
        client.ask("house", &FollowHouse { resumes: false }).await;
        for request_id in ["a", "b", "c"] {
            client.subscribe(request_id, &session).await;
        }
        client.item().await;
    }
    let requests = &house.server.state.requests;
    requests.close();
    let left = tokio::time::timeout(PAUSED_PATIENCE, requests.wait()).await;
    left.expect("somebody still follows");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_no_more_requests_goes_on_following() {
    let house = Listening::new().await;
    let session = house.say("m1").await.answer.session_id.to_string();
    let mut client = house.connect().await;
    client.subscribe("1", &session).await;
    client.writer.shutdown().await.unwrap();
    let seen = client.events_until(7).await;
    house.say("m2").await;
    assert_eq!([seen, client.events_until(11).await].concat(), (1..=11).collect::<Vec<_>>());
}

/// A session of so many events that nobody has opened.
async fn long_session(house: &House, n_events: u64) -> SessionId {
    session_of(house, (1..=n_events).map(|seq| seq.to_string())).await
}

/// A session of these notices that nobody has opened.
async fn session_of(house: &House, texts: impl Iterator<Item = String>) -> SessionId {
    let id: SessionId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
    let header = SessionHeader {
        v: LOG_FORMAT_VERSION,
        line_type: HeaderType::SessionHeader,
        session_id: id,
        agent_id: "main".to_owned(),
        device_id: "test".to_owned(),
        created_at: 1,
        thread_id: "web:room:long".parse().unwrap(),
        audience: Audience::Shared,
        cwd: "/".to_owned(),
        cloned_from: None,
        parent: None,
        meta: HeaderMeta::default(),
    };
    let event = |(seq, text): (u64, String)| {
        let notice = Notice { text: text.into(), level: Level::Info, about: None };
        Event {
            seq,
            id: EventId::from_uuid(SystemClock.new_id()),
            ts: 1,
            client_id: "test".to_owned(),
            ingress_key: None,
            parent_id: None,
            source_tag: None,
            body: Body::Notice(notice),
        }
    };
    let store = SessionStore::new(Arc::new(DiskFiles), &house.kith_dir());
    let batch = Batch { events: (1..).zip(texts).map(event).collect(), blobs: Vec::new() };
    FilesJournal::new(store).create(&header, vec![batch]).await.unwrap();
    id
}

// On one thread nothing is taken while the host has something to send.
#[tokio::test]
async fn a_slow_client_is_sent_a_long_session_whole() {
    let house = Listening::new().await;
    // More than may wait for one client.
    let n_events = 6_000;
    let id = long_session(&house.house, n_events).await;
    let mut client = house.connect().await;
    client.subscribe("1", &id.to_string()).await;
    assert!(matches!(client.item().await, SubscriptionItem::Started { .. }));
    let seen = client.events_until(n_events).await;
    assert_eq!(seen, (1..=n_events).collect::<Vec<_>>());
}
