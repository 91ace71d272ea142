use super::*;
use crate::desk::{
    Desk, Inbox, RowOutcome, RowTarget, ThreadRecords, Wakeup, WakeupReason, WakeupRecords,
};
use crate::line::{LineHash, LogHead};
use crate::samples::{NOW, said, session_id};
use crate::storage::StorageErrorKind;

#[tokio::test]
async fn a_power_cut_takes_what_was_not_synced_from_its_end() {
    let desk = MemoryDesk::new("device");
    accept(&desk, "m-1").await;
    accept(&desk, "m-2").await;
    close(&desk, "m-1", 1).await;
    close(&desk, "m-2", 2).await;
    assert_eq!(desk.n_unsynced(), 2);
    for (kept, n_open, seq) in [(0, 2, None), (1, 1, Some(1)), (2, 0, Some(2)), (9, 0, Some(2))] {
        let left = desk.crash(kept);
        assert_eq!(left.open_rows(session_id(1)).await.unwrap().len(), n_open, "{kept}");
        assert_eq!(left.head(session_id(1)).await.unwrap().map(|it| it.seq), seq, "{kept}");
        assert_eq!(left.n_unsynced(), 0, "what a power cut left is on the disk");
    }
    assert_eq!(desk.n_unsynced(), 2, "the handle stays as it is");
}

#[tokio::test]
async fn a_synced_commit_makes_all_before_it_durable() {
    let desk = MemoryDesk::new("device");
    accept(&desk, "m-1").await;
    close(&desk, "m-1", 1).await;
    let wakeup = Wakeup {
        key: "w".to_owned(),
        session_id: Some(session_id(1)),
        agent_thread: None,
        at: NOW,
        reason: WakeupReason::ModelRetry,
    };
    desk.set_wakeup(wakeup.clone()).await.unwrap();
    assert_eq!(desk.n_unsynced(), 2);
    accept(&desk, "m-2").await;
    assert_eq!(desk.n_unsynced(), 0);
    let left = desk.crash(0);
    assert_eq!(left.next_wakeup().await.unwrap(), Some(wakeup));
    assert_eq!(left.open_rows(session_id(1)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_wakeup_of_a_retried_turn_is_durable() {
    let desk = MemoryDesk::new("device");
    let wakeup = Wakeup {
        key: "w".to_owned(),
        session_id: Some(session_id(1)),
        agent_thread: None,
        at: NOW,
        reason: WakeupReason::SessionRetry,
    };
    desk.set_wakeup(wakeup.clone()).await.unwrap();
    assert_eq!(desk.crash(0).next_wakeup().await.unwrap(), Some(wakeup));
}

#[tokio::test]
async fn an_old_copy_has_the_generation_of_its_time() {
    let desk = MemoryDesk::new("device");
    accept(&desk, "m-1").await;
    let old = desk.copy();
    let next_host = desk.copy();
    accept(&next_host, "m-2").await;
    let generations = [old.generation().await.unwrap(), next_host.generation().await.unwrap()];
    assert_eq!(generations, [1, 2]);
    assert_eq!(old.row("m-2").await.unwrap(), None);
    assert_eq!(accept(&old, "m-2").await, 2, "a host that does not look is not noticed");
}

#[tokio::test]
async fn a_commit_that_fails_changes_nothing_and_is_told_to_who_waits() {
    let desk = MemoryDesk::new("device");
    desk.fail_change_at(1);
    accept(&desk, "m-1").await;
    let event = said("m-2", "m-2");
    let refused = desk.accept(&event, RowTarget::New, session_id(2), NOW).await.unwrap_err();
    assert_eq!(refused.kind, StorageErrorKind::Unavailable);
    assert_eq!(desk.row("m-2").await.unwrap(), None);
    desk.fail_change_at(0);
    close(&desk, "m-1", 1).await;
    assert!(desk.row("m-1").await.unwrap().unwrap().is_open(), "nobody waits for it");
    close(&desk, "m-1", 1).await;
    assert!(!desk.row("m-1").await.unwrap().unwrap().is_open());
}

#[tokio::test]
async fn forgetting_a_session_can_be_made_to_fail() {
    let desk = MemoryDesk::new("device");
    accept(&desk, "m-1").await;
    close(&desk, "m-1", 1).await;
    desk.fail_change_at(0);
    let refused = desk.forget_session(session_id(1)).await.unwrap_err();
    assert_eq!(refused.kind, StorageErrorKind::Unavailable);
    assert!(desk.head(session_id(1)).await.unwrap().is_some());
    assert!(desk.forget_session(session_id(1)).await.unwrap());
    assert_eq!(desk.crash(0).head(session_id(1)).await.unwrap(), None);
}

/// Gives the generation.
async fn accept(desk: &MemoryDesk, key: &str) -> u64 {
    let target = RowTarget::Session(session_id(1));
    desk.accept(&said(key, key), target, session_id(9), NOW).await.unwrap().generation
}

async fn close(desk: &MemoryDesk, key: &str, seq: u64) {
    let head = LogHead { seq, hash: LineHash::of(b"line") };
    let rows = vec![(key.to_owned(), RowOutcome::Done)];
    desk.close(rows, session_id(1), head, NOW).await.unwrap();
}
