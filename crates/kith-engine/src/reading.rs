//! Reads a whole log into a state, without holding all of its events.
//!
//! Events before a compaction are needed again only if the conversation goes back behind it. So they
//! are dropped while the log is read, and a session of any length with compactions in it fits into
//! the memory that its context needs. In the rare case that one was needed after all, the log is
//! read once more and nothing is dropped.

use kith_sessions::journal::{EachEvent, Journal};
use kith_sessions::line::LogHead;
use kith_sessions::read::Reading;
use kith_sessions::storage::StorageError;
use kith_vocab::event::Event;
use kith_vocab::ids::SessionId;

use crate::state::State;

/// Reads a session and gives each of its events to `each`. If it is read twice, they all come again,
/// from the first one on.
pub async fn state_of(
    journal: &dyn Journal,
    id: SessionId,
    head: Option<LogHead>,
    each: EachEvent<'_>,
) -> Result<(Reading, State), StorageError> {
    let mut folding = StateReader::default();
    loop {
        let take = &mut |event: Event| {
            folding.take(&event);
            each(event);
        };
        let reading = journal.read(id, head, 0, take).await?;
        if let Some(state) = folding.finish() {
            return Ok((reading, state));
        }
    }
}

/// One reading of a log.
#[derive(Default)]
struct StateReader {
    state: State,
    keeps_all: bool,
}

impl StateReader {
    fn take(&mut self, event: &Event) {
        if self.keeps_all {
            self.state.fold(event);
        } else {
            self.state.fold_trimming(event);
        }
    }

    /// The state at the end of the log; `None` if it must be read once more.
    fn finish(&mut self) -> Option<State> {
        let state = std::mem::take(&mut self.state);
        if self.keeps_all || !state.needs_full_read {
            return Some(state);
        }
        self.keeps_all = true;
        None
    }
}

#[cfg(test)]
mod tests;
