use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;

use super::*;
use crate::log::SessionLog;
use crate::read::Tail;
use crate::samples::{header, long, session_id, user};
use crate::store::draft::SessionDraft;
use kith_testkit::files::{CrashModel, Fault, MemoryFiles};

const DIR: &str = "/house/.kith";
const OPERATIONS_MAX: usize = 40;

#[test]
fn what_only_this_session_names_goes_with_it() {
    let (files, store) = house();
    let belongings = store.belongings(session_id(1)).unwrap();
    let paths = files.paths();
    assert_eq!(store.remove(session_id(1)).unwrap(), belongings);
    let mut gone = belongings.files.clone();
    gone.sort();
    let mut expected: Vec<PathBuf> =
        paths.iter().filter(|path| !files.paths().contains(path)).cloned().collect();
    expected.sort();
    assert_eq!(gone, expected);
    // The log, its torn end, and the blob that the other session does not name.
    assert_eq!(gone.len(), 3, "{gone:?}");
    assert!(store.read(session_id(2), None, &mut |_| ()).is_ok_and(|it| it.events == 1));
    store.remove(session_id(2)).unwrap();
    assert_eq!(files.paths(), Vec::<PathBuf>::new());
}

#[test]
fn a_session_that_is_not_there_is_not_removed() {
    let (_, store) = house();
    let error = store.remove(session_id(9)).unwrap_err();
    assert!(matches!(error, LogError::NotFound { .. }), "{error}");
}

#[test]
fn a_removal_that_is_cut_short_is_finished_by_the_next_and_harms_no_other() {
    for model in CrashModel::EACH {
        for n in 0..OPERATIONS_MAX {
            let (files, store) = house();
            files.fail_at(n, Fault::Offline);
            let removed = store.remove(session_id(1)).is_ok();
            let files = files.after(model);
            let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
            let other = store.read(session_id(2), None, &mut |_| ()).unwrap();
            assert_eq!((other.events, other.tail), (1, Tail::Clean), "{n}");
            let is_there = store.exists(session_id(1)).unwrap();
            assert!(!(removed && is_there), "{n}: what was removed came back");
            let next = if is_there { session_id(1) } else { session_id(3) };
            if !is_there {
                store.create(&header(3), &[]).unwrap();
            }
            store.remove(next).unwrap();
            store.remove(session_id(2)).unwrap();
            assert_eq!(files.paths(), Vec::<PathBuf>::new(), "{n} {model:?}");
        }
    }
}

#[test]
fn a_text_that_is_said_again_in_the_middle_of_a_removal_is_kept() {
    let mut n_reached = 0;
    for n in 0..OPERATIONS_MAX {
        let (hooked, store, mut other) = two_sessions();
        let writer: Arc<Mutex<Option<thread::JoinHandle<()>>>> = Arc::default();
        let started = Arc::clone(&writer);
        let mut n_before = n;
        let mut append = Some(move || other.append(&[user(1, None, &long('a'))]).unwrap());
        hooked.set_hook(move |operation, path| {
            if n_before > 0 {
                n_before -= 1;
                return Ok(());
            }
            let Some(append) = append.take() else { return Ok(()) };
            let thread = thread::spawn(append);
            if operation == "remove" && path.starts_with(BLOBS) {
                // It waits for the removal, as the removal does not wait for it.
                *started.lock().unwrap() = Some(thread);
            } else {
                thread.join().unwrap();
            }
            Ok(())
        });
        store.remove(session_id(1)).unwrap();
        hooked.remove_hook();
        if let Some(thread) = writer.lock().unwrap().take() {
            thread.join().unwrap();
        }
        n_reached += check_said(&hooked);
    }
    // The others are beyond the last operation: nothing was said.
    assert!((8..OPERATIONS_MAX as u64).contains(&n_reached), "{n_reached}");
}

#[test]
fn a_removal_in_the_middle_of_an_append_leaves_the_text_that_is_said() {
    let mut n_reached = 0;
    for n in 0..OPERATIONS_MAX {
        let (hooked, store, mut other) = two_sessions();
        let mut n_before = n;
        let mut removing = Some(store.clone());
        let removed = Arc::new(Mutex::new(false));
        let seen = Arc::clone(&removed);
        hooked.set_hook(move |_, _| {
            if n_before > 0 {
                n_before -= 1;
            } else if let Some(store) = removing.take() {
                store.remove(session_id(1)).unwrap();
                *seen.lock().unwrap() = true;
            }
            Ok(())
        });
        other.append(&[user(1, None, &long('a'))]).unwrap();
        hooked.remove_hook();
        n_reached += u64::from(*removed.lock().unwrap());
        assert_eq!(check_said(&hooked), 1);
    }
    assert!((4..OPERATIONS_MAX as u64).contains(&n_reached), "{n_reached}");
}

#[test]
fn a_removal_while_a_session_is_made_leaves_what_that_names() {
    let (hooked, store, other) = two_sessions();
    drop(other);
    store.remove(session_id(2)).unwrap();
    let mut draft = SessionDraft::begin(&store, &header(2)).unwrap();
    draft.add(&[user(1, None, &long('a'))]).unwrap();
    store.remove(session_id(1)).unwrap();
    draft.finish().unwrap();
    assert_eq!(check_said(&hooked), 1);
}

#[test]
fn a_file_that_vanishes_while_its_hashes_are_read_is_no_error() {
    let (hooked, store, _) = two_sessions();
    let half_made = with_suffix(&store.path(session_id(5)), ".tmp-new");
    hooked.write_raw(&half_made, b"half a line");
    let (files, vanishing) = (hooked.clone(), half_made.clone());
    hooked.set_hook(move |operation, path| {
        if operation == "open_read" && path == vanishing {
            kith_vocab::files::FileSystem::remove(&files, path)?;
        }
        Ok(())
    });
    store.remove(session_id(1)).unwrap();
    assert_eq!(hooked.contents(&half_made), None, "it was looked at");
    assert!(!store.exists(session_id(1)).unwrap());
}

#[test]
fn a_removal_reads_every_log_once() {
    let (hooked, store, _) = two_sessions();
    for n in 3..=6 {
        store.create(&header(n), &[user(1, None, "short")]).unwrap();
    }
    let reads: Arc<Mutex<BTreeMap<PathBuf, usize>>> = Arc::default();
    let counted = Arc::clone(&reads);
    hooked.set_hook(move |operation, path| {
        if operation == "open_read" {
            *counted.lock().unwrap().entry(path.to_owned()).or_default() += 1;
        }
        Ok(())
    });
    store.remove(session_id(1)).unwrap();
    let reads = reads.lock().unwrap();
    assert_eq!((reads.len(), reads.values().max()), (6, Some(&1)), "{reads:?}");
}

const BLOBS: &str = "/house/.kith/blobs";

/// A session with a long text, and another that has said nothing yet and is open.
fn two_sessions() -> (MemoryFiles, SessionStore, SessionLog) {
    let hooked = MemoryFiles::default();
    let store = SessionStore::new(Arc::new(hooked.clone()), Path::new(DIR));
    store.create(&header(1), &[user(1, None, &long('a'))]).unwrap();
    let other = store.create(&header(2), &[]).unwrap();
    (hooked, store, other)
}

/// What the other session said can be read. Gives how many events it has.
fn check_said(hooked: &MemoryFiles) -> u64 {
    let store = SessionStore::new(Arc::new(hooked.clone()), Path::new(DIR));
    let reading = store.read(session_id(2), None, &mut |_| ()).unwrap();
    assert_eq!(reading.tail, Tail::Clean);
    reading.events
}

/// Two sessions that share a blob; the first has one of its own, and a torn end set aside.
fn house() -> (MemoryFiles, SessionStore) {
    let files = MemoryFiles::default();
    let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
    let (own, shared) = (long('a'), long('b'));
    store.create(&header(1), &[user(1, None, &own), user(2, Some(1), &shared)]).unwrap();
    store.create(&header(2), &[user(1, None, &shared)]).unwrap();
    let torn = with_suffix(&store.path(session_id(1)), ".torn-1");
    files.write_raw(&torn, b"half a line");
    (files, store)
}
