//! Which scripts an agent used last.
//!
//! A convenience, kept per agent in `.dialogs/recent-priming/<agent-id>.json`. It is written only
//! when a conversation was created with a script. A file that cannot be understood is an empty
//! list: losing it costs a search, refusing it would cost the conversation.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use kith_vocab::files::if_found;
use serde::{Deserialize, Serialize};

use super::slug::{MemberId, ScriptRef};
use super::store::{PrimingStore, StoreError};
use crate::beneath::{self, Existing};

pub const RECENT_ENTRIES_MAX: usize = 20;
/// Twenty references and times are far from it.
const RECENT_BYTES_MAX: u64 = 64 * 1024;

const RECENT_FOLDER: &str = ".dialogs/recent-priming";
const RECENT_VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentEntry {
    pub script_ref: ScriptRef,
    /// RFC 3339.
    pub last_used_at: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct RecentFile {
    version: u32,
    entries: Vec<RecentLine>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecentLine {
    script_ref: String,
    last_used_at: String,
}

impl PrimingStore {
    /// Newest first; scripts that are gone are left out.
    pub fn recent(&self, agent_id: &str) -> Result<Vec<RecentEntry>, StoreError> {
        let member: MemberId = agent_id.parse()?;
        let lines = self.recent_lines(&member)?;
        let entries = lines.into_iter().filter_map(|line| {
            // A reference that is none names nothing that could be used.
            let script_ref: ScriptRef = line.script_ref.parse().ok()?;
            let entry = RecentEntry { script_ref, last_used_at: line.last_used_at };
            self.exists(&entry.script_ref).then_some(entry)
        });
        Ok(entries.take(RECENT_ENTRIES_MAX).collect())
    }

    /// Puts the scripts of a new conversation first, in the order of their use.
    pub fn record_use(
        &self,
        agent_id: &str,
        script_refs: &[ScriptRef],
        now_ms: u64,
    ) -> Result<(), StoreError> {
        let member: MemberId = agent_id.parse()?;
        if script_refs.is_empty() {
            return Ok(());
        }
        let now = i64::try_from(now_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let last_used_at = now.ok_or(StoreError::Time { now_ms })?.to_string();
        let mut entries: Vec<RecentLine> = Vec::new();
        let used = script_refs.iter().map(|script_ref| RecentLine {
            script_ref: script_ref.to_string(),
            last_used_at: last_used_at.clone(),
        });
        for line in used.chain(self.recent_lines(&member)?) {
            if !entries.iter().any(|known| known.script_ref == line.script_ref) {
                entries.push(line);
            }
        }
        entries.truncate(RECENT_ENTRIES_MAX);
        let mut text =
            serde_json::to_string_pretty(&RecentFile { version: RECENT_VERSION, entries })
                .unwrap_or_default();
        text.push('\n');
        let folder = beneath::make_folders(self.house(), Path::new(RECENT_FOLDER));
        folder
            .and_then(|folder| {
                keep_out_of_git(self.house())?;
                beneath::write(&folder, &format!("{member}.json"), &text, Existing::Replace)
            })
            .map_err(|source| StoreError::WriteRecent { path: recent_path(&member), source })
    }

    fn recent_lines(&self, member: &MemberId) -> Result<Vec<RecentLine>, StoreError> {
        let path = recent_path(member);
        let text = if_found(beneath::open(self.house(), &path).and_then(read_text))
            .map_err(|source| StoreError::ReadRecent { path, source })?;
        let file: RecentFile = serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default();
        Ok(if file.version == RECENT_VERSION { file.entries } else { Vec::new() })
    }
}

/// Keeps the list out of git: which scripts a person used last is private.
fn keep_out_of_git(house: &Path) -> io::Result<()> {
    let Some(folder) = Path::new(RECENT_FOLDER).parent() else { return Ok(()) };
    let folder = house.join(folder);
    if folder.join(".gitignore").symlink_metadata().is_ok() {
        return Ok(());
    }
    beneath::write(&folder, ".gitignore", "*\n", Existing::Keep)
}

fn recent_path(member: &MemberId) -> PathBuf {
    Path::new(RECENT_FOLDER).join(format!("{member}.json"))
}

fn read_text(file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(RECENT_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
