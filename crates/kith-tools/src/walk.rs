//! A walk through the entries beneath a folder, in order, without ignored ones.
//!
//! The rules of `.gitignore` and `.ignore` are read by the `ignore` crate; its walker is not used.
//! That one goes by paths, so a folder swapped for a link leads it out of the roots, and it waits
//! for ever for a pipe that is called `.gitignore`.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::vec;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use kith_vocab::event::messages::Trust;
use tokio_util::sync::CancellationToken;

use crate::display;
use crate::folder::{EntryKind, Folder, FolderEntries, FolderEntry};
use crate::roots::{self, OpenedFolder};
use crate::trust::{LowestTrust, TrustOf};

/// Maximum number of entries a walk looks at.
pub(crate) const WALK_ENTRIES_MAX: usize = 200_000;
/// Maximum depth of a walk: every level holds a descriptor.
pub(crate) const WALK_DEPTH_MAX: usize = 64;
/// What is beyond this in an ignore file is not read.
const IGNORE_FILE_BYTES_MAX: u64 = 64 * 1024;

/// Yields folders before what they hold, neighbours by name. `.git` and `.kith` are left out, and
/// links are not followed.
pub(crate) struct Walk<'a> {
    frames: Vec<Frame>,
    depth_max: usize,
    stop: &'a CancellationToken,
    entries_left: usize,
    /// Of the folders whose entries were looked at.
    pub(crate) trust: LowestTrust<'a>,
    pub(crate) n_ignored: u64,
    pub(crate) n_unread: u64,
    /// There were more than [`WALK_ENTRIES_MAX`] entries.
    pub(crate) is_cut: bool,
}

#[derive(Debug)]
pub(crate) struct WalkEntry {
    /// From the folder where the walk began.
    pub(crate) path: PathBuf,
    pub(crate) kind: EntryKind,
}

/// A folder being walked.
struct Frame {
    folder: Folder,
    real: PathBuf,
    path: PathBuf,
    entries: vec::IntoIter<FolderEntry>,
    rules: Option<Rc<Rules>>,
}

/// The rules of a folder's own ignore files, and those of the folders above it.
struct Rules {
    above: Option<Rc<Rules>>,
    own: Gitignore,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        start: OpenedFolder,
        depth_max: usize,
        stop: &'a CancellationToken,
        trust_of: &'a TrustOf,
    ) -> Self {
        let mut rules = None;
        for (folder, real) in &start.above {
            rules = Rules::within(folder, real, rules);
        }
        let mut walk = Walk {
            frames: Vec::new(),
            depth_max: depth_max.min(WALK_DEPTH_MAX),
            stop,
            entries_left: WALK_ENTRIES_MAX,
            trust: LowestTrust::new(trust_of),
            n_ignored: 0,
            n_unread: 0,
            is_cut: false,
        };
        walk.enter(start.folder, start.real, PathBuf::new(), rules);
        walk
    }

    /// The size of the file that was found last.
    pub(crate) fn bytes_of(&self, file: &WalkEntry) -> Option<u64> {
        self.frames.last()?.folder.bytes_of(file.path.file_name()?)
    }

    /// Opens the file that was found last, and tells what is known of it.
    pub(crate) fn open(&self, file: &WalkEntry) -> io::Result<(File, Metadata)> {
        let (Some(frame), Some(name)) = (self.frames.last(), file.path.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        frame.folder.open_file(name)
    }

    /// The lowest trust of the folders whose entries were looked at.
    pub(crate) fn trust(&self) -> Trust {
        self.trust.lowest()
    }

    /// The remarks of a listing about entries that the walk left out.
    pub(crate) fn left_out(&self) -> String {
        let mut remarks = Vec::new();
        if self.n_ignored > 0 {
            remarks.push(format!(", {} ignored left out", display::number(self.n_ignored)));
        }
        if self.n_unread > 0 {
            let folders = display::count(self.n_unread, "folder", "folders");
            remarks.push(format!(", {folders} could not be read"));
        }
        if self.is_cut {
            remarks.push(", too many entries to look at all: choose a narrower path".to_owned());
        }
        remarks.concat()
    }

    fn enter(&mut self, folder: Folder, real: PathBuf, path: PathBuf, above: Option<Rc<Rules>>) {
        let Ok(FolderEntries { entries, is_cut }) = folder.entries(self.entries_left) else {
            self.n_unread += 1;
            return;
        };
        self.entries_left -= entries.len();
        self.trust.add(&real);
        self.is_cut |= is_cut;
        let rules = Rules::within(&folder, &real, above);
        self.frames.push(Frame { folder, real, path, entries: entries.into_iter(), rules });
    }
}

impl Iterator for Walk<'_> {
    type Item = WalkEntry;

    /// The next entry; none at the end or when the walk was told to stop.
    fn next(&mut self) -> Option<WalkEntry> {
        while !self.stop.is_cancelled() {
            let depth = self.frames.len();
            let frame = self.frames.last_mut()?;
            let Some(FolderEntry { name, kind }) = frame.entries.next() else {
                self.frames.pop();
                continue;
            };
            if name == ".git" || roots::is_private(Path::new(&name)) {
                continue;
            }
            let real = frame.real.join(&name);
            if frame.rules.as_ref().is_some_and(|rules| rules.ignore(&real, kind)) {
                self.n_ignored += 1;
                continue;
            }
            let path = frame.path.join(&name);
            if kind == EntryKind::Folder && depth < self.depth_max {
                let rules = frame.rules.clone();
                match frame.folder.open_folder(&name) {
                    Ok(folder) => self.enter(folder, real, path.clone(), rules),
                    Err(_) => self.n_unread += 1,
                }
            } else if kind == EntryKind::Folder && depth == WALK_DEPTH_MAX {
                self.n_unread += 1;
            }
            return Some(WalkEntry { path, kind });
        }
        None
    }
}

impl Rules {
    fn within(folder: &Folder, real: &Path, above: Option<Rc<Rules>>) -> Option<Rc<Rules>> {
        // A repository does not answer to the rules of the folders around it.
        let above = if folder.has(".git") { None } else { above };
        let mut builder = GitignoreBuilder::new(real);
        for name in [".gitignore", ".ignore"] {
            let Some(head) = folder.head_of(name, IGNORE_FILE_BYTES_MAX) else {
                continue;
            };
            for line in String::from_utf8_lossy(whole_lines(&head)).lines() {
                // git passes over rules it cannot read, and so does everyone who wrote them.
                builder.add_line(None, line).ok();
            }
        }
        match builder.build() {
            Ok(own) if !own.is_empty() => Some(Rc::new(Rules { above, own })),
            _ => above,
        }
    }

    fn ignore(&self, real: &Path, kind: EntryKind) -> bool {
        let mut level = Some(self);
        while let Some(rules) = level {
            match rules.own.matched(real, kind == EntryKind::Folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => level = rules.above.as_deref(),
            }
        }
        false
    }
}

/// Half a rule would ignore other things than the whole one, so a line that was cut is dropped.
fn whole_lines(head: &[u8]) -> &[u8] {
    if (head.len() as u64) < IGNORE_FILE_BYTES_MAX {
        return head;
    }
    let end = head.iter().rposition(|&byte| byte == b'\n').unwrap_or(0);
    &head[..end]
}

#[cfg(test)]
mod tests;
