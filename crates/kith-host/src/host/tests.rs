mod injections;

use std::fs;

use kith_sessions::line::LineHash;
use kith_vocab::ids::SessionId;

use super::*;
use crate::caller::{CLI, Caller};
use crate::calls::session::CreateDialog;
use crate::host::dialog::create_dialog;
use crate::house::AGENT_ID;
use crate::tests::host;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_long_ago_are_forgotten_when_a_host_starts() {
    let dir = tempfile::tempdir().unwrap();
    let now = SystemClock.now();
    let first = host(dir.path()).await;
    let id = SessionId::from_uuid(SystemClock.new_id());
    let head = kith_sessions::line::LogHead { seq: 1, hash: LineHash::of(b"") };
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
    let dir = tempfile::tempdir().unwrap();
    let first = host(dir.path()).await;
    let thread_id: ThreadId = "web:room:a".parse().unwrap();
    let wanted = CreateDialog {
        agent_id: None,
        session_id: Some(SessionId::from_uuid(SystemClock.new_id())),
        thread_id: Some(thread_id.clone()),
        cwd: Some("/".to_owned()),
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
    assert!(matches!(notes.as_slice(), [HostNote::DeskRebuilt { .. }]), "{notes:?}");
    // Only once.
    drop(second);
    assert_eq!(host(dir.path()).await.take_start_notes(), []);
}
