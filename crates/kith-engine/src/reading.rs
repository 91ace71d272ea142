//! A whole log, read into no more than it amounts to.
//!
//! What stands before a compaction is needed again only by someone who goes back behind it. So it is
//! let go while the log is read, and a session of any length with compactions in it fits into the
//! memory that its context needs. In the rare case that it was needed after all, the log is read
//! once more and nothing is let go.

use kith_vocab::event::{Body, Event};

use crate::state::State;

/// Reads a log by `read`, which gives each of its events to whom it is given. It may be asked twice.
pub fn state_of<R, E>(
    mut read: impl FnMut(&mut dyn FnMut(&Event)) -> Result<R, E>,
) -> Result<(R, State), E> {
    let mut state = State::default();
    let found = read(&mut |event| {
        state.fold(event);
        if matches!(event.body, Body::Compact(_)) {
            state.trim();
        }
    })?;
    if !state.lost_track {
        return Ok((found, state));
    }
    let mut state = State::default();
    let found = read(&mut |event| state.fold(event))?;
    Ok((found, state))
}

#[cfg(test)]
mod tests;
