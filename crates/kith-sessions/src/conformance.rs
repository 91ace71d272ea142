//! What every backend of a storage port does alike.
//!
//! A check is run on each backend and tells what it saw; all must have seen the same, and what the
//! test expects. Errors are compared by their kind: their words may name files.

mod catalog;
mod desk;
mod journal;
mod random;

use std::fmt::Debug;

use crate::storage::{StorageError, StorageErrorKind};

/// A result without the words of its error.
fn outcome<T>(result: Result<T, StorageError>) -> Result<T, StorageErrorKind> {
    result.map_err(|error| error.kind)
}

/// What all backends saw, if they saw the same.
#[track_caller]
fn same<T: PartialEq + Debug>(seen: Vec<(&'static str, T)>) -> T {
    let mut seen = seen.into_iter();
    let (first_name, first) = seen.next().unwrap();
    for (name, other) in seen {
        assert_eq!(other, first, "{name} differs from {first_name}");
    }
    first
}
