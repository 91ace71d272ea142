//! Who says something stands in the log as the caller says.

use std::fs;
use std::io;

use kith_sessions::lock::LockError;
use kith_vocab::event::Body;
use kith_vocab::event::messages::{Author, Trust};
use kith_vocab::ingress::RunningBehavior;
use kith_vocab::json::Json;

use super::*;
use crate::call::Call;
use crate::caller::CLI;
use crate::calls::session::{RemoveSession, ShowSession};
use crate::calls::trust::TrustRepository;
use crate::clock::SystemClock;
use crate::host::parts::{HostParts, WriterLock};
use crate::routes;
use crate::settings::watch::SettingsWatch;
use crate::tests::{host, house};

/// A lock in which nothing can be noted.
struct FullLock;

impl WriterLock for FullLock {
    fn previous_generation(&self) -> Option<u64> {
        None
    }

    fn sync(&self) -> Result<(), LockError> {
        Ok(())
    }

    fn check(&self) -> Result<(), LockError> {
        Ok(())
    }

    fn set_generation(&mut self, _: u64) -> Result<(), LockError> {
        let source = io::Error::from(io::ErrorKind::StorageFull);
        Err(LockError::Io { path: "host.lock".into(), source })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_answered_although_the_lock_cannot_be_written() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".kith")).unwrap();
    let house = house(dir.path());
    let settings = SettingsWatch::open(&house).unwrap();
    let (clock, lock) = (Arc::new(SystemClock), Box::new(FullLock));
    let parts = HostParts::on_disk(house, settings, clock, lock).await.unwrap();
    let host = Arc::new(Host::assemble(parts).await.unwrap());
    let reply = ask(&host, guest(), message(&host, "say one")).await.unwrap();
    assert_eq!(reply.outcome, MessageOutcome::Answered);
}

pub(in crate::host) fn guest() -> Caller {
    Caller {
        client_id: "page-7".to_owned(),
        platform: "web".to_owned(),
        account: "garden".to_owned(),
        user: Author { user_id: "ann".to_owned(), display_name: "Ann".to_owned() },
        trust: Trust::Paired,
        attended: true,
        language: None,
    }
}

pub(in crate::host) fn message(host: &Host, text: &str) -> SendMessage {
    let model = Some("demo".to_owned());
    SendMessage {
        client_message_id: "m1".to_owned(),
        text: text.to_owned(),
        agent_id: None,
        thread_id: "web:room:a".parse().unwrap(),
        target: MessageTarget::Current,
        cwd: "/".to_owned(),
        expects: host.models.choose(model.as_deref(), &host.settings.last_good()).unwrap().name,
        model,
        expected_leaf: None,
        running_behavior: RunningBehavior::FollowUp,
        ack: Acknowledgement::Completed,
        attachments: Vec::new(),
    }
}

pub(in crate::host) async fn ask<C: Call>(
    host: &Arc<Host>,
    caller: Caller,
    call: C,
) -> Result<C::Answer, CallError> {
    let body = Json::of(&call);
    let answer = routes::dispatch(host, caller, C::NAME, &body, Follower::none()).await?;
    Ok(answer.data.read().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_names_the_caller_and_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let reply = ask(&host, guest(), message(&host, "say one")).await.unwrap();
    assert_eq!(reply.outcome, MessageOutcome::Answered);
    let session = reply.answer.session_id.to_string();
    let view = ask(&host, guest(), ShowSession { session }).await.unwrap();
    let said = view.events.iter().find_map(|event| match &event.body {
        Body::UserMessage(it) => Some((event, it)),
        _ => None,
    });
    let (event, said) = said.unwrap();
    assert_eq!(event.client_id, "page-7");
    assert_eq!(event.ingress_key.as_deref(), Some("web:garden:m1"));
    assert_eq!((said.author.clone(), said.trust), (guest().user, Trust::Paired));
    assert_eq!(said.ingress.as_ref().unwrap().platform, "web");

    // The same id of another caller is another message.
    let owner = ask(&host, Caller::owner(CLI), message(&host, "say two")).await.unwrap();
    assert_eq!(owner.answer.text, "two");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_owner_trusts_and_removes() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let trust = TrustRepository { path: "/".to_owned() };
    let error = ask(&host, guest(), trust).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::AuthFailed);
    let remove = RemoveSession { session: "latest".to_owned() };
    let error = ask(&host, guest(), remove.clone()).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::AuthFailed);
    let error = ask(&host, Caller::owner(CLI), remove).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::SessionNotFound);
}
