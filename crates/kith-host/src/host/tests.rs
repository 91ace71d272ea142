use std::fs;
use std::path::Path;

use kith_sessions::desk::MemoryDesk;
use kith_sessions::disk::DiskFiles;
use kith_sessions::line::LineHash;
use kith_testkit::transcript::transcript;
use kith_vocab::header::{HeaderMeta, HeaderType, LOG_FORMAT_VERSION, SessionHeader};
use kith_vocab::ids::SessionId;
use tempfile::TempDir;

use super::*;
use crate::caller::{CLI, Caller};
use crate::calls::dialog::CreateDialog;
use crate::host::dialog::create_dialog;
use crate::house::AGENT_ID;

fn new_house() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("Agent.md"), "Be kind.\n").unwrap();
    dir
}

async fn host(dir: &Path) -> Arc<Host> {
    let dir = dir.canonicalize().unwrap();
    let house = House { cwd: dir.clone(), dir, user_home: None };
    let settings = SettingsWatch::open(&house).unwrap();
    match Host::start(house, settings).await.unwrap() {
        HostStart::Here(host) => Arc::from(host),
        HostStart::Elsewhere { holder } => panic!("{holder} holds a new house"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_long_ago_are_forgotten_when_a_host_starts() {
    let dir = new_house();
    let now = SystemClock.now();
    let first = host(dir.path()).await;
    let id = SessionId::from_uuid(SystemClock.new_id());
    let head = kith_sessions::line::Head { seq: 1, hash: LineHash::of(b"") };
    let keys = [("old", now - KEYS_KEPT_MS - 60_000), ("new", now - KEYS_KEPT_MS + 3_600_000)];
    for (key, closed_at) in keys {
        let row = (key.to_owned(), kith_sessions::desk::RowOutcome::Done);
        first.desk.close(vec![row], id, head, closed_at).await.unwrap();
    }
    assert!(first.desk.row("old").await.unwrap().is_some());
    drop(first);
    let second = host(dir.path()).await;
    assert!(second.desk.row("old").await.unwrap().is_none());
    assert!(second.desk.row("new").await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_desk_that_is_made_beside_existing_sessions_knows_what_they_hold() {
    let dir = new_house();
    let first = host(dir.path()).await;
    let thread_id: ThreadId = "web:room:a".parse().unwrap();
    let wanted = CreateDialog {
        agent_id: None,
        session_id: SessionId::from_uuid(SystemClock.new_id()),
        thread_id: thread_id.clone(),
        cwd: "/".to_owned(),
        priming: None,
    };
    let made = create_dialog(Arc::clone(&first), Caller::owner(CLI), wanted).await.unwrap();
    drop(first);
    let kith = dir.path().join(".kith");
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        fs::remove_file(kith.join(name)).ok();
    }
    // A lock that says nothing of the desk, as a host that accepted nothing leaves it.
    fs::write(kith.join("host.lock"), "pid 1 since 1\n").unwrap();
    let second = host(dir.path()).await;
    let current = second.desk.current_session(AGENT_ID, &thread_id).await.unwrap();
    assert_eq!(current, Some(made.data.session_id));
    let notes = second.take_start_notes();
    assert!(
        notes.len() == 1 && notes[0].contains("trusted repositories could not be"),
        "{notes:?}"
    );
    // Only once.
    drop(second);
    assert_eq!(host(dir.path()).await.take_start_notes(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebuild_of_the_desk_that_was_cut_short_is_done_again_at_the_next_start() {
    let mut n_cut_short = 0;
    loop {
        let dir = new_house();
        let id = write_unfinished(dir.path());
        let desk = MemoryDesk::new("device");
        desk.fail_commit_at(n_cut_short);
        if assembled(dir.path(), &desk, true).await.is_ok() {
            break;
        }
        n_cut_short += 1;
        let desk = desk.crash(0);
        let host = assembled(dir.path(), &desk, false).await.unwrap();
        for key in ["m1", "m2", "m3"] {
            let row = host.desk.row(key).await.unwrap();
            assert!(row.is_some(), "`{key}` is lost after {n_cut_short} commits");
        }
        let rows = host.desk.open_rows(id).await.unwrap();
        let keys: Vec<&str> = rows.iter().map(|row| row.key.as_str()).collect();
        assert_eq!(keys, ["m2", "m3"]);
        let thread = "web:room:a".parse().unwrap();
        assert_eq!(host.desk.current_session(AGENT_ID, &thread).await.unwrap(), Some(id));
    }
    assert!(n_cut_short >= 4, "{n_cut_short}");
}

/// A session with one message that was answered, one that was begun and one that waits.
fn write_unfinished(dir: &Path) -> SessionId {
    let line = "snapshot be kind | user key=m1: one | model: One. | ended done | user key=m2: two \
                | queue key=m3 three";
    let header = SessionHeader {
        v: LOG_FORMAT_VERSION,
        line_type: HeaderType::SessionHeader,
        session_id: SessionId::from_uuid(SystemClock.new_id()),
        agent_id: AGENT_ID.to_owned(),
        device_id: "device".to_owned(),
        created_at: 1,
        thread_id: "web:room:a".parse().unwrap(),
        audience: Audience::Owner,
        cwd: "/".to_owned(),
        cloned_from: None,
        parent: None,
        meta: HeaderMeta::default(),
    };
    let store = SessionStore::new(Arc::new(DiskFiles), &dir.join(".kith"));
    store.create(&header, &transcript(line).events).unwrap();
    header.session_id
}

/// A host with this desk, as it is before anything is asked of it.
async fn assembled(dir: &Path, desk: &MemoryDesk, is_new_desk: bool) -> Result<Host, CallError> {
    let dir = dir.canonicalize().unwrap();
    let house = House { cwd: dir.clone(), dir, user_home: None };
    let settings = SettingsWatch::open(&house).unwrap();
    let lock = Box::new(HouseLock::take(&house.kith_dir(), SystemClock.now()).unwrap());
    let parts = HostParts::on_disk(house, settings, Arc::new(SystemClock), lock).await?;
    Host::assemble(HostParts { desk: Arc::new(desk.clone()), is_new_desk, ..parts }).await
}
