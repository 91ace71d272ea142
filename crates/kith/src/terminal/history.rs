//! What was typed before, kept in the house so that the next terminal has it too.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const FILE: &str = "input-history";
/// Entries that are kept; a file that has twice as many is written anew.
const ENTRIES_MAX: usize = 1_000;
/// A longer one is not kept: it was pasted.
const ENTRY_BYTES_MAX: usize = 8 * 1024;
/// A longer file is none that we wrote.
const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

pub(crate) struct InputHistory {
    /// A JSON string per line.
    path: PathBuf,
    entries: Vec<String>,
    /// The entry that is shown, and what was being typed before.
    at: Option<(usize, String)>,
}

impl InputHistory {
    /// Reads what there is. A history that cannot be read is an empty one.
    #[expect(clippy::disallowed_methods, reason = "the history is a file of the terminal's own")]
    pub(crate) fn open(folder: &Path) -> InputHistory {
        let path = folder.join(FILE);
        let text = read(&path).unwrap_or_default();
        let mut entries: Vec<String> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if entries.len() > 2 * ENTRIES_MAX {
            entries.drain(..entries.len() - ENTRIES_MAX);
            let lines = entries.iter().filter_map(|entry| serde_json::to_string(entry).ok());
            let text: String = lines.map(|line| line + "\n").collect();
            fs::write(&path, text).unwrap_or_default();
        }
        InputHistory { path, entries, at: None }
    }

    /// Adds what was sent. A disk that does not take it costs the entry, not the message.
    #[expect(clippy::disallowed_methods, reason = "the history is a file of the terminal's own")]
    pub(crate) fn add(&mut self, text: &str) {
        self.at = None;
        let is_known = self.entries.last().is_some_and(|last| last == text);
        if is_known || text.len() > ENTRY_BYTES_MAX || text.trim().is_empty() {
            return;
        }
        self.entries.push(text.to_owned());
        let Ok(line) = serde_json::to_string(text) else { return };
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path);
        if let Ok(mut file) = file {
            file.write_all(format!("{line}\n").as_bytes()).unwrap_or_default();
        }
    }

    /// Keeps what was not sent for this terminal only.
    pub(crate) fn add_draft(&mut self, text: &str) {
        self.at = None;
        if text.len() <= ENTRY_BYTES_MAX {
            self.entries.push(text.to_owned());
        }
    }

    /// The entry before the one that is shown.
    pub(crate) fn previous(&mut self, typed: &str) -> Option<&str> {
        let (at, draft) = match self.at.take() {
            Some((at, draft)) => (at, draft),
            None => (self.entries.len(), typed.to_owned()),
        };
        let Some(before) = at.checked_sub(1) else {
            self.at = (!self.entries.is_empty()).then_some((at, draft));
            return None;
        };
        self.at = Some((before, draft));
        self.entries.get(before).map(String::as_str)
    }

    /// The entry after it, and in the end what was being typed.
    pub(crate) fn next(&mut self) -> Option<String> {
        let (at, draft) = self.at.take()?;
        match self.entries.get(at + 1) {
            Some(entry) => {
                self.at = Some((at + 1, draft));
                Some(entry.clone())
            }
            None => Some(draft),
        }
    }

    /// What is typed now is no longer an entry.
    pub(crate) fn leave(&mut self) {
        self.at = None;
    }

    /// The newest entries that hold these words, newest first.
    pub(crate) fn search(&self, words: &str) -> Vec<&str> {
        let words = words.to_lowercase();
        let mut found: Vec<&str> = Vec::new();
        for entry in self.entries.iter().rev() {
            if entry.to_lowercase().contains(&words) && !found.contains(&entry.as_str()) {
                found.push(entry);
            }
        }
        found
    }
}

/// The text of the file; none if it is not ours.
fn read(path: &Path) -> io::Result<String> {
    let about = fs::symlink_metadata(path)?;
    if !about.is_file() || about.len() > FILE_BYTES_MAX {
        return Ok(String::new());
    }
    fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_found_again_by_the_next_terminal() {
        let folder = tempfile::tempdir().unwrap();
        let mut history = InputHistory::open(folder.path());
        for text in ["one", "two\nlines", "two\nlines", " "] {
            history.add(text);
        }
        let mut history = InputHistory::open(folder.path());
        assert_eq!(history.previous("draft"), Some("two\nlines"));
        assert_eq!(history.previous(""), Some("one"));
        assert_eq!(history.previous(""), None);
        assert_eq!(history.next(), Some("two\nlines".to_owned()));
        assert_eq!(history.next(), Some("draft".to_owned()));
        assert_eq!(history.next(), None);
        assert_eq!(history.search("TWO"), ["two\nlines"]);
    }

    #[test]
    fn a_long_history_is_cut_and_a_broken_line_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let lines: Vec<String> = (0..=2 * ENTRIES_MAX).map(|n| format!("\"{n}\"")).collect();
        fs::write(folder.path().join(FILE), format!("{{\n{}\n", lines.join("\n"))).unwrap();
        assert_eq!(InputHistory::open(folder.path()).entries.len(), ENTRIES_MAX);
        assert_eq!(InputHistory::open(folder.path()).entries.last().unwrap(), "2000");
    }
}
