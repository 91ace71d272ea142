mod held_files;

use std::fs;
use std::path::Path;

use kith_sessions::lock::HouseLock;
use kith_vocab::clock::Clock;
use kith_vocab::json::Json;

use super::*;
use crate::call::{Call, Follower};
use crate::caller::{CLI, Caller};
use crate::calls::session::{
    DescribeSession, ListSessions, ReadEvents, ReadProgress, RenameSession, SearchSessions,
    SessionRow, ShowSession,
};
use crate::client::{Client, ReadsFrom};
use crate::clock::SystemClock;
use crate::host::Host;
use crate::host::parts::HostParts;
use crate::routes;
use crate::tests::{answer_to_owner, host, house, new_dialog};
use held_files::{SyncHold, held_files};

#[tokio::test]
async fn few_sessions_are_read_whole_at_once_and_none_for_a_client_that_has_left() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().to_owned();
    let side = ReadSide::open(House { dir: cwd.clone(), cwd, user_home: None }).await;
    let gone = CancellationToken::new();
    let mut readings = Vec::new();
    for _ in 0..WHOLE_READS_MAX {
        readings.push(side.whole_read(&gone).await.unwrap());
    }
    let waiting = side.whole_read(&gone);
    tokio::pin!(waiting);
    tokio::select! {
        biased;
        _ = &mut waiting => panic!("too many are read at once"),
        () = std::future::ready(()) => gone.cancel(),
    }
    assert!(waiting.await.is_err());
    readings.pop();
    assert!(side.whole_read(&CancellationToken::new()).await.is_ok());
}

/// A host whose syncs can be held.
async fn held_host(dir: &Path) -> (Arc<Host>, SyncHold) {
    let house = house(dir);
    let settings = SettingsWatch::open(&house).unwrap();
    let lock = HouseLock::take(&house.kith_dir(), SystemClock.now()).unwrap();
    let store_dir = house.kith_dir();
    let parts = HostParts::on_disk(house, settings, Arc::new(SystemClock), Box::new(lock));
    let mut parts = parts.await.unwrap();
    let (files, hold) = held_files();
    parts.store = SessionStore::new(Arc::new(files), &store_dir);
    parts.journal = Arc::new(FilesJournal::new(parts.store.clone()));
    (Arc::new(Host::assemble(parts).await.unwrap()), hold)
}

async fn ask<C: Call>(host: &Arc<Host>, call: C) -> C::Answer {
    answer_to_owner(host, call).await.unwrap()
}

async fn listed(host: &Arc<Host>) -> Vec<SessionRow> {
    let call = ListSessions { agent_id: None };
    let answer = routes::answer(host, Caller::owner(CLI), call, Follower::<ReadProgress>::none());
    answer.await.unwrap().data.sessions
}

/// How many events of the session the calls show, and its title.
async fn shown(host: &Arc<Host>, session: &str) -> [(u64, Option<String>); 3] {
    let session = session.to_owned();
    let view = ask(host, ShowSession { session: session.clone() }).await;
    let page = ask(host, ReadEvents { session: session.clone(), after: 0, limit: 100 }).await;
    let row = listed(host).await.remove(0);
    let described = ask(host, DescribeSession { session }).await;
    let (in_view, in_page) = (view.events.len() as u64, page.events.len() as u64);
    [(in_view, described.title), (in_page, None), (row.events, row.title)]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inside_a_host_nothing_is_shown_of_a_batch_that_is_not_synced() {
    let dir = tempfile::tempdir().unwrap();
    let (host, mut hold) = held_host(dir.path()).await;
    let session = ask(&host, new_dialog()).await.session_id.to_string();
    assert_eq!(shown(&host, &session).await, [(2, None), (2, None), (2, None)]);

    hold.hold_next();
    let title = "The garden".to_owned();
    let rename = RenameSession { session: session.clone(), title: title.clone() };
    let writer = Arc::clone(&host);
    let renaming = tokio::spawn(async move { ask(&writer, rename).await });
    hold.reached.recv().await.unwrap();
    let path = host.reads().house.kith_dir().join(format!("sessions/{session}.jsonl"));
    let written = fs::read_to_string(path).unwrap();
    assert!(written.contains(&title), "the batch is to be written: {written}");
    assert_eq!(shown(&host, &session).await, [(2, None), (2, None), (2, None)]);

    hold.release.send(()).unwrap();
    renaming.await.unwrap();
    let title = Some(title);
    assert_eq!(shown(&host, &session).await, [(3, title.clone()), (3, None), (3, title)]);
}

#[tokio::test]
async fn while_no_index_knows_the_sessions_it_is_told_how_many_were_read() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    for _ in 0..3 {
        ask(&host, new_dialog()).await;
    }
    let house = host.reads().house.clone();
    host.end().await;
    drop(host);
    fs::remove_file(house.kith_dir().join("index.db")).unwrap();
    let taken = Arc::new(std::sync::Mutex::new(Vec::new()));
    let report = || {
        let to = Arc::clone(&taken);
        move |it: ReadProgress| to.lock().unwrap().push((it.sessions, it.total))
    };
    let client = Client::new(house.clone(), Caller::owner(CLI), ReadsFrom::Files);
    let (all, never) = ([(0, 3), (1, 3), (2, 3)], CancellationToken::new());
    let list = ListSessions { agent_id: None };
    client.follow(list, report(), never.clone()).await.unwrap();
    assert_eq!(std::mem::take(&mut *taken.lock().unwrap()), all);
    let search = SearchSessions { query: "garden".to_owned(), limit: 10 };
    client.follow(search, report(), never).await.unwrap();
    assert_eq!(*taken.lock().unwrap(), all);
}

#[tokio::test]
async fn a_host_tells_how_many_sessions_it_has_read() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    for _ in 0..2 {
        let session = ask(&host, new_dialog()).await.session_id.to_string();
        ask(&host, RenameSession { session, title: "the garden".to_owned() }).await;
    }
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let to = Arc::clone(&told);
    let take = move |item: Json, _| {
        to.lock().unwrap().push(item.as_str().to_owned());
        Ok(())
    };
    let body = Json::parse(r#"{"query":"garden","limit":10}"#).unwrap();
    let follower = Follower::new(take, CancellationToken::new());
    let owner = Caller::owner(CLI);
    routes::dispatch(&host, owner, "search_sessions", &body, follower).await.unwrap();
    let told = told.lock().unwrap();
    assert_eq!(*told, [r#"{"sessions":0,"total":2}"#, r#"{"sessions":1,"total":2}"#]);
}
