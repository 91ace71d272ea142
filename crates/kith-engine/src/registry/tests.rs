use std::cell::Cell;

use kith_sessions::journal::{FilesJournal, Journal};
use kith_testkit::clock::numbered_id;
use kith_testkit::files::MemoryFiles;
use kith_vocab::ids::EventId;
use tokio::sync::oneshot;

use super::*;
use crate::command::{CommandAction, DriverCommand};
use crate::fixture::{header, store_on};

fn session_id() -> SessionId {
    SessionId::from_uuid(numbered_id(0, 1))
}

type Answer = oneshot::Receiver<Result<crate::command::CommandAnswer, crate::engine::EngineError>>;

fn mail() -> (Mail, Answer) {
    let (reply, answer) = oneshot::channel();
    let action = CommandAction::Cancel { key: None };
    let (client_id, user_id) = ("test".to_owned(), "owner".to_owned());
    let id = EventId::from_uuid(numbered_id(0, 2));
    (Mail { command: DriverCommand { id, client_id, user_id, action }, reply }, answer)
}

#[tokio::test]
async fn a_session_is_closed_only_if_its_driver_ends() {
    let journal = FilesJournal::new(store_on(MemoryFiles::new()));
    let id = session_id();
    journal.create(&header(id), Vec::new()).await.unwrap();
    let registry = Registry::new();
    let driver = registry.submit(id, None).ok().flatten().unwrap();
    let close = |id| journal.close(id);
    assert!(!registry.close(id, &driver.mailbox, &close));
    assert!(journal.open_bytes(id).is_some());
    assert!(driver.mailbox.take_rows_flag());
    assert!(registry.close(id, &driver.mailbox, &close));
    assert!(journal.open_bytes(id).is_none());
}

#[tokio::test]
async fn whoever_commands_a_driver_that_fails_learns_of_it_after_its_followers() {
    let registry = Registry::new();
    let (first, answer) = mail();
    let driver = registry.submit(session_id(), Some(first)).ok().flatten().unwrap();
    drop(driver);
    // The driver is gone, and the registry has not noticed.
    let (second, _) = mail();
    assert!(matches!(registry.submit(session_id(), Some(second)), Ok(None)));
    let is_told = Cell::new(false);
    assert_eq!(registry.fail(session_id(), || is_told.set(true)), Some(1_000));
    assert!(is_told.get() && answer.await.is_err());
    assert_eq!(registry.n_running(), 0);
}

#[test]
fn a_session_that_fails_again_is_waited_for_once() {
    let registry = Registry::new();
    for wait in [Some(1_000), None, None] {
        registry.submit(session_id(), None).ok().flatten().unwrap();
        assert_eq!(registry.fail(session_id(), || ()), wait);
    }
    registry.end_wait(session_id());
    registry.submit(session_id(), None).ok().flatten().unwrap();
    assert_eq!(registry.fail(session_id(), || ()), Some(8_000));
}
