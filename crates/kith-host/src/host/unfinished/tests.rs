//! What an earlier host left does not keep the next one.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use kith_engine::feed::Subscription;
use kith_sessions::desk::{MemoryDesk, RowStatus, RowTarget};
use kith_sessions::lock::HouseLock;
use kith_testkit::server::{FakeModelServer, ServerReply};
use kith_vocab::clock::Clock as _;
use kith_vocab::event::Body;
use kith_vocab::header::Audience;
use kith_vocab::ids::ThreadId;
use kith_vocab::ingress::{IngressContent, IngressEvent, RunningBehavior};

use super::*;
use crate::calls::message::{CancelTurn, SendMessage, TurnEnd};
use crate::calls::session::CreateDialog;
use crate::clock::SystemClock;
use crate::host::message::tests::{ask, guest, message};
use crate::host::parts::HostParts;
use crate::house::AGENT_ID;
use crate::settings::watch::SettingsWatch;
use crate::tests::{host, house};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

fn said(host: &Host, id: &str) -> SendMessage {
    let expects = host.models.choose(None, &host.settings.last_good()).unwrap().name;
    let client_message_id = id.to_owned();
    SendMessage { client_message_id, model: None, expects, ..message(host, "hello") }
}

async fn event_of(subscription: &mut Subscription, fits: impl Fn(&Body) -> bool) {
    loop {
        if let FeedItem::Event(event) = subscription.next().await.unwrap()
            && fits(&event.body)
        {
            return;
        }
    }
}

/// What is told when the sessions that were left have come to rest.
async fn resumed(host: &Arc<Host>) -> Vec<String> {
    let (left, notes) = (host.unfinished().await.unwrap(), Mutex::new(Vec::new()));
    let tell = |note: HostNote| {
        notes.lock().unwrap().push(note.in_english());
        std::future::ready(())
    };
    let resuming = Arc::clone(host).resume(left, tell);
    tokio::time::timeout(PATIENCE, resuming).await.expect("it waits for ever");
    notes.into_inner().unwrap()
}

/// A house in which a message was cancelled and the one behind it, `m2`, is held.
async fn house_with_held_message(dir: &Path) -> SessionId {
    let server = FakeModelServer::start([ServerReply::Hang]).await;
    let model = format!(
        "[models]\nuse = \"slow\"\n[models.slow]\nwire = \"openai_chat\"\nbaseUrl = \"{}\"\n",
        server.base_url()
    );
    fs::write(dir.join("kith.toml"), model).unwrap();
    let first = host(dir).await;
    let send = |id| {
        let (host, message) = (Arc::clone(&first), said(&first, id));
        tokio::spawn(async move { ask(&host, guest(), message).await })
    };
    let running = send("m1");
    let mut house = first.engine.follow_house();
    let id = house.next().await[0].session_id;
    let mut session = first.engine.follow(id, 0);
    event_of(&mut session, |body| matches!(body, Body::ModelRequested(_))).await;
    let queued = send("m2");
    event_of(&mut session, |body| matches!(body, Body::QueueUpdate(_))).await;
    let cancel = CancelTurn { session: id.to_string(), cancel_id: first.new_event_id() };
    ask(&first, guest(), cancel).await.unwrap();
    assert_eq!(running.await.unwrap().unwrap().answer.end, TurnEnd::Cancelled);
    assert_eq!(queued.await.unwrap().unwrap().answer.end, TurnEnd::Held);
    first.end().await;
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_held_keeps_no_host() {
    let dir = tempfile::tempdir().unwrap();
    let id = house_with_held_message(dir.path()).await;
    let next = host(dir.path()).await;
    assert_eq!(next.unfinished().await.unwrap(), [id]);
    assert_eq!(resumed(&next).await, Vec::<String>::new());
}

/// Starts a host with this desk, on the other files of the house.
async fn host_with(dir: &Path, desk: MemoryDesk, is_new_desk: bool) -> Result<Host, CallError> {
    let lock = Box::new(HouseLock::take(&dir.join(".kith"), 1).unwrap());
    let house = house(dir);
    let settings = SettingsWatch::open(&house).unwrap();
    let parts = HostParts::on_disk(house, settings, Arc::new(SystemClock), lock).await.unwrap();
    Host::assemble(HostParts { desk: Arc::new(desk.handle()), is_new_desk, ..parts }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_desk_whose_rebuilding_was_cut_short_is_rebuilt_again() {
    let dir = tempfile::tempdir().unwrap();
    house_with_held_message(dir.path()).await;
    let thread_id: ThreadId = "web:room:b".parse().unwrap();
    let first = host(dir.path()).await;
    let quiet = CreateDialog {
        agent_id: None,
        session_id: Some(SessionId::from_uuid(SystemClock.new_id())),
        thread_id: Some(thread_id.clone()),
        cwd: Some("/".to_owned()),
        priming: None,
    };
    let quiet = ask(&first, guest(), quiet).await.unwrap().session_id;
    drop(first);
    let mut n_cut = 0;
    for n_commits in 0..8 {
        fs::remove_file(dir.path().join(".kith/host.lock")).unwrap();
        let desk = MemoryDesk::new("device");
        desk.fail_change_at(n_commits);
        n_cut += usize::from(host_with(dir.path(), desk.clone(), true).await.is_err());
        let again = host_with(dir.path(), desk.crash(n_commits), false).await.unwrap();
        for (key, is_open) in [("m1", false), ("m2", true)] {
            let row = again.desk.row(&guest().message_key(key)).await.unwrap();
            assert_eq!(row.map(RowStatus::is_open), Some(is_open), "{key} after {n_commits}");
        }
        let current = again.desk.current_session(AGENT_ID, &thread_id).await.unwrap();
        assert_eq!(current, Some(quiet), "after {n_commits}");
    }
    assert!(n_cut > 2, "{n_cut}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_works_on_keeps_no_host_that_ends() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let caller = guest();
    let event = IngressEvent {
        key: caller.message_key("m1"),
        agent_id: "main".to_owned(),
        thread_id: "web:room:a".parse().unwrap(),
        audience: Audience::Shared,
        client_id: caller.client_id.clone(),
        author: caller.user.clone(),
        trust: caller.trust,
        ingress: caller.ingress("m1".to_owned()),
        ts: 1,
        cwd: "/".to_owned(),
        expected_leaf: None,
        running_behavior: RunningBehavior::FollowUp,
        models: Vec::new(),
        attended: true,
        language: None,
        content: IngressContent::text("hello"),
    };
    host.engine.accept(&event, RowTarget::Current).await.unwrap();
    host.engine.kill();
    host.announce_end();
    assert_eq!(resumed(&host).await, Vec::<String>::new());
}
