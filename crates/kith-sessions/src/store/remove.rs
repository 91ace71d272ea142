//! Taking a session out of the house, with all that belongs to it alone.
//!
//! The log is renamed first: from then on there is no such session, and a crash leaves a name by
//! which the next removal knows what is still to be done. Blobs are shared, so one goes only if no
//! other log names it.

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use kith_vocab::ids::SessionId;

use super::{SESSION_SUFFIX, SessionStore, read_error};
use crate::log::LogError;

const REMOVED_SUFFIX: &str = ".removed";
const SHA256_CHARS: usize = 64;
const CHUNK_BYTES: usize = 64 * 1024;

/// What goes with a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Belongings {
    /// The log, what was torn off it, and the blobs that only it names.
    pub files: Vec<PathBuf>,
    pub bytes: u64,
}

impl SessionStore {
    /// What would go with the session. Changes nothing.
    pub fn belongings(&self, id: SessionId) -> Result<Belongings, LogError> {
        let log = self.path(id);
        self.files.len(&log).map_err(|error| read_error(&log, error.into()))?;
        self.belongings_of(&log, &log)
    }

    /// Removes the session for good, and finishes what an earlier removal left.
    ///
    /// Nobody may have it open.
    pub fn remove(&self, id: SessionId) -> Result<Belongings, LogError> {
        let log = self.path(id);
        let failed = |source| LogError::Remove { path: log.clone(), source };
        let belongings = self.belongings(id)?;
        let renamed = with_suffix(&log, REMOVED_SUFFIX);
        self.files.rename(&log, &renamed).map_err(failed)?;
        self.files.sync_dir(&self.sessions).map_err(failed)?;
        for left in self.half_removed()? {
            self.finish(&left).map_err(failed)?;
        }
        Ok(belongings)
    }

    fn half_removed(&self) -> Result<Vec<PathBuf>, LogError> {
        let suffix = format!("{SESSION_SUFFIX}{REMOVED_SUFFIX}");
        let mut paths = self.all_files()?;
        paths.retain(|path| name_of(path).ends_with(&suffix));
        Ok(paths)
    }

    /// `renamed` goes last: while it is there, the rest can be found again.
    fn finish(&self, renamed: &Path) -> io::Result<()> {
        let log = renamed.with_extension("");
        let belongings = self.belongings_of(&log, renamed).map_err(io::Error::other)?;
        for path in belongings.files.iter().filter(|path| **path != log) {
            match self.files.remove(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => (),
            }
        }
        if belongings.files.iter().any(|path| !path.starts_with(&self.sessions)) {
            self.blobs.sync_names()?;
        }
        self.files.sync_dir(&self.sessions)?;
        self.files.remove(renamed)?;
        self.files.sync_dir(&self.sessions)
    }

    /// `log` is the name it has as a session, `read_from` where its bytes are now.
    fn belongings_of(&self, log: &Path, read_from: &Path) -> Result<Belongings, LogError> {
        let mut files = vec![log.to_owned()];
        let torn = format!("{}.torn-", name_of(log));
        let all = self.all_files()?;
        files.extend(all.iter().filter(|path| name_of(path).starts_with(&torn)).cloned());
        files.extend(self.own_blobs(name_of(log), read_from, &all)?);
        let len = |path: &PathBuf| {
            let path = if path == log { read_from } else { path };
            self.files.len(path).unwrap_or_default()
        };
        let bytes = files.iter().map(len).sum();
        Ok(Belongings { files, bytes })
    }

    fn own_blobs(
        &self,
        name: &str,
        read_from: &Path,
        all: &[PathBuf],
    ) -> Result<Vec<PathBuf>, LogError> {
        let mut own = HashSet::new();
        self.each_hash(read_from, &mut |hash| {
            own.insert(hash.to_owned());
        })?;
        own.retain(|hash| self.files.len(&self.blobs.path(hash)).is_ok());
        // What was torn off this very log goes with it.
        for other in all.iter().filter(|path| !name_of(path).starts_with(name)) {
            if own.is_empty() {
                break;
            }
            self.each_hash(other, &mut |hash| {
                own.remove(hash);
            })?;
        }
        let mut paths: Vec<PathBuf> = own.iter().map(|hash| self.blobs.path(hash)).collect();
        paths.sort();
        Ok(paths)
    }

    /// Everything in a file that has the form of a blob's name. What merely looks like one keeps
    /// a blob that could have gone, and harms nothing.
    fn each_hash(&self, path: &Path, each: &mut dyn FnMut(&str)) -> Result<(), LogError> {
        let failed = |error: io::Error| read_error(path, error.into());
        let mut file = self.files.open_read(path).map_err(failed)?;
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut run = String::new();
        loop {
            let n_read = file.read(&mut chunk).map_err(failed)?;
            for byte in chunk.iter().take(n_read) {
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
            if n_read == 0 {
                return Ok(());
            }
        }
    }

    fn all_files(&self) -> Result<Vec<PathBuf>, LogError> {
        match self.files.list(&self.sessions) {
            Ok(paths) => Ok(paths),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(LogError::List { path: self.sessions.clone(), source }),
        }
    }
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
