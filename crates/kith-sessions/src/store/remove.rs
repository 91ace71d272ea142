//! Removes a session and everything that belongs to it alone.
//!
//! The log is renamed before anything goes: from then on there is no such session, and a crash leaves
//! a name by which the next removal knows what is still to be done. Blobs are shared, so one goes only
//! if no other log names it and no writer has put or reused it since the logs were read.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use kith_vocab::files::if_found;
use kith_vocab::ids::SessionId;

use super::{SESSION_SUFFIX, SessionStore, read_error};
use crate::blob::each_chunk;
use crate::diagnostic_log::session_log_paths;
use crate::log::LogError;

const REMOVED_SUFFIX: &str = ".removed";
const SHA256_CHARS: usize = 64;

/// The files that are removed with a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Belongings {
    /// The log, what was torn off it, and the blobs that only it names. What diagnostics say of it goes
    /// too and is not listed: a host may have removed it first.
    pub files: Vec<PathBuf>,
    pub bytes: u64,
}

/// A session to be removed, with the hashes that its log names.
struct SessionRemoval {
    /// The name it has as a session.
    log: PathBuf,
    /// Where its bytes are now.
    read_from: PathBuf,
    torn: Vec<PathBuf>,
    /// What was logged about it.
    diagnostics: Vec<PathBuf>,
    /// The blobs that it names and no other log does.
    hashes: BTreeSet<String>,
}

impl SessionStore {
    /// The files that removing the session would remove. Changes nothing.
    pub fn belongings(&self, id: SessionId) -> Result<Belongings, LogError> {
        let removals = self.removals(id)?;
        Ok(removals.first().map(|it| self.belongings_of(it, &it.hashes)).unwrap_or_default())
    }

    /// Removes the session for good, and finishes what an earlier removal left.
    ///
    /// It must not be open. Other sessions may be written to meanwhile, through this store or a
    /// clone of it.
    pub fn remove(&self, id: SessionId) -> Result<Belongings, LogError> {
        let log = self.path(id);
        let failed = |source| LogError::Remove { path: log.clone(), source };
        let collection = self.blobs.begin_collection();
        let mut removals = self.removals(id)?;
        let Some(own) = removals.first_mut() else { return Err(LogError::NotFound { path: log }) };
        let (whole, own_hashes) = (self.belongings_of(own, &own.hashes), own.hashes.clone());
        own.read_from = with_suffix(&log, REMOVED_SUFFIX);
        self.files.rename(&log, &own.read_from).map_err(failed)?;
        self.files.sync_dir(&self.sessions).map_err(failed)?;
        let hashes = removals.iter().flat_map(|it| it.hashes.iter().cloned()).collect();
        let removed = collection
            .remove_unpinned(&hashes, &mut |hash| self.unlink(&self.blobs.path(hash)))
            .map_err(failed)?;
        if !removed.is_empty() {
            self.blobs.sync_names().map_err(failed)?;
        }
        for session in &removals {
            self.finish(session).map_err(failed)?;
        }
        let kept = own_hashes.difference(&removed).map(|hash| self.blobs.path(hash));
        Ok(kept.fold(whole, |whole, path| self.keeping(whole, &path)))
    }

    /// The session and those of earlier removals, each with what only they name. Every other log is
    /// read once.
    fn removals(&self, id: SessionId) -> Result<Vec<SessionRemoval>, LogError> {
        let log = self.path(id);
        let all = self.session_files()?;
        let mut removals = vec![self.removal_of(&log, &log, &all)?];
        let removed = format!("{SESSION_SUFFIX}{REMOVED_SUFFIX}");
        for left in all.iter().filter(|path| name_of(path).ends_with(&removed)) {
            match self.removal_of(&left.with_extension(""), left, &all) {
                Ok(session) => removals.push(session),
                // Another removal has finished it.
                Err(LogError::NotFound { .. }) => (),
                Err(error) => return Err(error),
            }
        }
        let names: Vec<String> = removals.iter().map(|it| name_of(&it.log).to_owned()).collect();
        let is_other = |path: &&PathBuf| !names.iter().any(|it| name_of(path).starts_with(it));
        for other in all.iter().filter(is_other) {
            if removals.iter().all(|it| it.hashes.is_empty()) {
                break;
            }
            match self.each_hash_in(other, &mut |hash| {
                for session in &mut removals {
                    session.hashes.remove(hash);
                }
            }) {
                // A file that is half made or half removed may go or get its name at any time. What
                // it names is pinned as long as it is being made.
                Ok(()) | Err(LogError::NotFound { .. }) => (),
                Err(error) => return Err(error),
            }
        }
        Ok(removals)
    }

    fn removal_of(
        &self,
        log: &Path,
        read_from: &Path,
        all: &[PathBuf],
    ) -> Result<SessionRemoval, LogError> {
        let torn_name = format!("{}.torn-", name_of(log));
        let is_torn = |path: &&PathBuf| name_of(path).starts_with(&torn_name);
        let mut hashes = BTreeSet::new();
        self.each_hash_in(read_from, &mut |hash| {
            hashes.insert(hash.to_owned());
        })?;
        hashes.retain(|hash| self.files.len(&self.blobs.path(hash)).is_ok());
        Ok(SessionRemoval {
            log: log.to_owned(),
            read_from: read_from.to_owned(),
            torn: all.iter().filter(is_torn).cloned().collect(),
            diagnostics: self.diagnostics_of(log),
            hashes,
        })
    }

    /// The diagnostic logs that are there for the session of a log.
    fn diagnostics_of(&self, log: &Path) -> Vec<PathBuf> {
        let id = name_of(log).strip_suffix(SESSION_SUFFIX).and_then(|it| it.parse().ok());
        let (Some(id), Some(kith_dir)) = (id, self.sessions.parent()) else { return Vec::new() };
        let paths = session_log_paths(kith_dir, id).into_iter();
        paths.filter(|path| self.files.len(path).is_ok()).collect()
    }

    fn belongings_of(&self, session: &SessionRemoval, hashes: &BTreeSet<String>) -> Belongings {
        let mut files = vec![session.log.clone()];
        files.extend(session.torn.iter().cloned());
        files.extend(hashes.iter().map(|hash| self.blobs.path(hash)));
        // One that has gone meanwhile has no bytes.
        let bytes = files.iter().map(|path| self.files.len(path).unwrap_or_default()).sum();
        Belongings { files, bytes }
    }

    /// The belongings without a blob that is kept.
    fn keeping(&self, mut belongings: Belongings, path: &Path) -> Belongings {
        belongings.files.retain(|it| it != path);
        belongings.bytes -= self.files.len(path).unwrap_or_default().min(belongings.bytes);
        belongings
    }

    /// The renamed log goes last: while it is there, the rest can be found again.
    fn finish(&self, session: &SessionRemoval) -> io::Result<()> {
        let beside = session.torn.iter().chain(&session.diagnostics);
        beside.clone().try_for_each(|path| self.unlink(path))?;
        self.files.sync_dir(&self.sessions)?;
        self.unlink(&session.read_from)?;
        self.files.sync_dir(&self.sessions)
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        if_found(self.files.remove(path)).map(drop)
    }

    fn each_hash_in(&self, path: &Path, each: &mut dyn FnMut(&str)) -> Result<(), LogError> {
        let failed = |error: io::Error| read_error(path, error.into());
        let file = self.files.open_read(path).map_err(failed)?;
        each_hash(file, each).map_err(failed)
    }
}

/// Gives everything that has the form of a blob's name. What merely looks like one keeps a blob that
/// could have gone, and harms nothing.
fn each_hash(source: impl Read, each: &mut dyn FnMut(&str)) -> io::Result<()> {
    let mut run = String::new();
    each_chunk(source, &mut |chunk| {
        for byte in chunk {
            match byte {
                b'0'..=b'9' | b'a'..=b'f' if run.len() <= SHA256_CHARS => {
                    run.push(char::from(*byte));
                }
                b'0'..=b'9' | b'a'..=b'f' => (),
                _ => {
                    if run.len() == SHA256_CHARS {
                        each(&run);
                    }
                    run.clear();
                }
            }
        }
        Ok(())
    })
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests;
