//! A session in pages.

use std::fs;
use std::path::Path;

use kith_vocab::clock::Clock;

use super::*;
use crate::call::Call;
use crate::caller::CLI;
use crate::calls::dialog::CreateDialog;
use crate::clock::SystemClock;
use crate::host::{Host, HostStart};
use crate::house::House;
use crate::routes;
use crate::settings::watch::SettingsWatch;

async fn host(dir: &Path) -> Arc<Host> {
    fs::write(dir.join("Agent.md"), "Be kind.\n").unwrap();
    let dir = dir.canonicalize().unwrap();
    let house = House { cwd: dir.clone(), dir, user_home: None };
    let settings = SettingsWatch::open(&house).unwrap();
    match Host::start(house, settings).await.unwrap() {
        HostStart::Here(host) => Arc::from(host),
        HostStart::Elsewhere { holder } => panic!("{holder} holds a new house"),
    }
}

async fn ask<C: Call>(host: &Arc<Host>, call: C) -> Result<C::Answer, CallError> {
    let answer = routes::answer(host, Caller::owner(CLI), call, Follower::<()>::none());
    answer.await.map(|it| it.data)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_of_a_session_are_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let create = CreateDialog {
        session_id: SessionId::from_uuid(SystemClock.new_id()),
        agent_id: None,
        thread_id: "web:room:a".parse().unwrap(),
        cwd: "/".to_owned(),
        priming: None,
    };
    let session = ask(&host, create).await.unwrap().session_id.to_string();
    let whole = ask(&host, ShowSession { session: session.clone() }).await.unwrap();
    assert_eq!(whole.events.len(), 2);

    let mut events = Vec::new();
    let mut after = Some(0);
    while let Some(from) = after {
        let page = ReadEvents { session: session.clone(), after: from, limit: 1 };
        let page = ask(&host, page).await.unwrap();
        assert_eq!(page.events.len(), 1);
        events.extend(page.events);
        after = page.next_after;
    }
    assert_eq!(events, whole.events);
    for limit in [0, PAGE_EVENTS_MAX + 1] {
        let page = ReadEvents { session: session.clone(), after: 0, limit };
        assert_eq!(ask(&host, page).await.unwrap_err().code, ErrorCode::InvalidRequest);
    }
    let beyond = ReadEvents { session, after: 99, limit: 1 };
    let page = ask(&host, beyond).await.unwrap();
    assert_eq!((page.events.len(), page.next_after), (0, None));
}
