use std::sync::Arc;

use super::*;
use crate::faults::{Fault, FaultyFiles, Leaves};
use crate::samples::{header, long, session_id, user};

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
    for leaves in [Leaves::Nothing, Leaves::Half, Leaves::All] {
        for n in 0..OPERATIONS_MAX {
            let (files, store) = house();
            files.fail_at(n, Fault::Dead);
            let removed = store.remove(session_id(1)).is_ok();
            let files = files.after_power_cut(leaves);
            let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
            let other = store.read(session_id(2), None, &mut |_| ()).unwrap();
            assert_eq!((other.events, other.tail), (1, crate::read::Tail::Clean), "{n}");
            let is_there = store.exists(session_id(1)).unwrap();
            assert!(!(removed && is_there), "{n}: what was removed came back");
            let next = if is_there { session_id(1) } else { session_id(3) };
            if !is_there {
                store.create(&header(3), &[]).unwrap();
            }
            store.remove(next).unwrap();
            store.remove(session_id(2)).unwrap();
            assert_eq!(files.paths(), Vec::<PathBuf>::new(), "{n} {leaves:?}");
        }
    }
}

/// Two sessions that share a blob; the first has one of its own, and a torn end set aside.
fn house() -> (FaultyFiles, SessionStore) {
    let files = FaultyFiles::default();
    let store = SessionStore::new(Arc::new(files.clone()), Path::new(DIR));
    let (own, shared) = (long('a'), long('b'));
    store.create(&header(1), &[user(1, None, &own), user(2, Some(1), &shared)]).unwrap();
    store.create(&header(2), &[user(1, None, &shared)]).unwrap();
    let torn = with_suffix(&store.path(session_id(1)), ".torn-1");
    files.put(&torn, b"half a line");
    (files, store)
}
