//! What removed sessions had used, kept in a file of its own.
//!
//! What a house has used in a day is read from its logs. Without this file, removing a session would
//! give its share of the day's budget back.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use kith_vocab::event::messages::Usage;
use kith_vocab::files::if_found;
use kith_vocab::ids::{SessionId, ThreadId};
use serde::{Deserialize, Serialize};

use super::SessionStore;
use crate::blob::write_all;

const FILE_NAME: &str = "removed-spending.jsonl";
/// Of the whole file: it holds the sessions that were removed in a few days.
const REMOVED_SPENDING_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What a removed session had used on one day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemovedSpending {
    pub session_id: SessionId,
    /// By the clock of the machine, as `2026-01-31`.
    pub day: String,
    pub thread_id: ThreadId,
    pub tokens: u64,
    pub cost_micros: u64,
    /// Absent in earlier versions, like what follows.
    #[serde(default)]
    pub n_requests: u64,
    #[serde(default)]
    pub n_estimated: u64,
    /// The kinds of those tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl SessionStore {
    /// What removed sessions had used. Lines that cannot be read are left out. Fails if the file is
    /// too large.
    pub fn removed_spending(&self) -> io::Result<Vec<RemovedSpending>> {
        let path = self.removed_spending_path();
        let Some(file) = if_found(self.files.open_read(&path))? else { return Ok(Vec::new()) };
        let mut text = Vec::new();
        file.take(REMOVED_SPENDING_BYTES_MAX + 1).read_to_end(&mut text)?;
        check_size(&text)?;
        let lines = text.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// Replaces what is kept of removed sessions. Fails, and changes nothing, if it is too much.
    pub fn update_removed_spending(
        &self,
        change: impl FnOnce(&mut Vec<RemovedSpending>),
    ) -> io::Result<()> {
        let _held = self.spending_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.removed_spending()?;
        change(&mut all);
        self.write_removed_spending(&all)
    }

    fn write_removed_spending(&self, all: &[RemovedSpending]) -> io::Result<()> {
        let mut text = Vec::new();
        for spending in all {
            serde_json::to_writer(&mut text, spending)?;
            text.push(b'\n');
        }
        check_size(&text)?;
        let path = self.removed_spending_path();
        let beside = path.with_extension("tmp");
        // Left by a crash: there is one writer, so no other process uses it.
        if_found(self.files.remove(&beside))?;
        let mut file = self.files.create_new(&beside)?;
        write_all(&mut *file, &text)?;
        file.sync_data()?;
        self.files.rename(&beside, &path)?;
        self.files.sync_dir(path.parent().unwrap_or(Path::new("")))
    }

    fn removed_spending_path(&self) -> PathBuf {
        self.sessions.with_file_name(FILE_NAME)
    }
}

/// A file that is cut off would give a part of the budget back.
fn check_size(text: &[u8]) -> io::Result<()> {
    if text.len() as u64 <= REMOVED_SPENDING_BYTES_MAX {
        return Ok(());
    }
    let message = format!("{FILE_NAME} would have more than {REMOVED_SPENDING_BYTES_MAX} bytes");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, message))
}
