//! One file changed whole or not at all.
//!
//! The new content is written under another name, synced, and moved to its own, so nobody ever sees half
//! of it and a second name (hard link) of the old file keeps the old content. Everything is done
//! from the descriptor of a folder that was reached without following a link.

use std::fmt::Write as _;
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kith_home::line_diff::{FinalLineBreak, unified};
use kith_home::protected_paths::git_folders::would_lead_git;
use kith_home::zones::Places;
use kith_vocab::digest::{hex, sha256_hex};
use kith_vocab::event::calls::Effect;
use kith_vocab::event::messages::Trust;
use kith_vocab::facts::{PathCallFacts, Zone};
use kith_vocab::json::Json;
use kith_vocab::tool::{CallPlan, Refusal, RunContext};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::display;
use crate::file_claims::{ClaimKind, FileClaim, FileClaims};
use crate::read_log::{FileVersion, ReadLog};
use crate::roots::Roots;
use crate::shell_lookup::resolve;
use crate::trust::{TrustOf, own_refusal};

/// Bytes of a file that a tool writes or edits.
pub(crate) const CHANGED_FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Bytes of a diff in a result.
pub(crate) const RESULT_DIFF_BYTES_MAX: usize = 4 * 1024;
/// Bytes of a diff in the facts of a call, where a person who is asked reads it.
const FACTS_DIFF_BYTES_MAX: usize = 16 * 1024;
/// How long the shortest diff is looked for; after that, a longer one is shown.
const DIFF_TIME_MAX: Duration = Duration::from_millis(100);
/// Names that are tried for the file that is written first.
const TEMPORARY_TRIES_MAX: u32 = 100;

/// What tools that change files share.
#[derive(Clone)]
pub(crate) struct FileChanger {
    pub(crate) roots: Arc<Roots>,
    pub(crate) places: Arc<Places>,
    pub(crate) reads: Arc<ReadLog>,
    pub(crate) claims: Arc<FileClaims>,
    pub(crate) trust_of: TrustOf,
}

/// A file that may be changed, and its state.
pub(crate) struct ChangeTarget {
    /// As it was named.
    pub(crate) name: String,
    pub(crate) real: PathBuf,
    pub(crate) zone: Zone,
    pub(crate) stamp: Option<FileVersion>,
    /// The text of the file; empty if there is none.
    pub(crate) old: String,
    /// Of that text.
    pub(crate) trust: Trust,
}

/// Facts of a call that changes a file: what the policy judges by, and what a person sees of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeFacts {
    #[serde(flatten)]
    path: PathCallFacts,
    /// The file as it is now, if there is one.
    files: Vec<FileContent>,
    written: WrittenFile,
    /// What will change, for people; shortened.
    diff: String,
    /// Lines at its end that are left out.
    #[serde(skip_serializing_if = "is_zero")]
    diff_lines_left_out: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// A file that a call acts on, by its content.
#[derive(Serialize)]
pub(crate) struct FileContent {
    pub(crate) path: String,
    pub(crate) sha256: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenFile {
    sha256: String,
    bytes: u64,
    /// The trust of what was there: an edit keeps most of it.
    old_trust: Trust,
}

impl FileChanger {
    /// Looks at the file that a text names. An error is a sentence for the model.
    pub(crate) fn look(&self, text: &str) -> Result<ChangeTarget, Refusal> {
        self.look_at(text).map_err(own_refusal)
    }

    fn look_at(&self, text: &str) -> Result<ChangeTarget, String> {
        let path = self.roots.absolute(text)?;
        let real = resolve(&path);
        let places = self.places.looked_up();
        let mut zone = places.zone(&path).max(places.zone(&real));
        if would_lead_git(&real) {
            zone = zone.max(Zone::Oneself);
        }
        let name = display::name(text);
        self.roots.check_writable(text, &real)?;
        let opened = match self.roots.open_file(text) {
            Ok(opened) => opened,
            Err(_) if std::fs::symlink_metadata(&real).is_err() => {
                let trust = (self.trust_of)(&real);
                return Ok(ChangeTarget {
                    name,
                    real,
                    zone,
                    stamp: None,
                    old: String::new(),
                    trust,
                });
            }
            Err(error) => return Err(error),
        };
        if opened.real != real {
            return Err(format!("`{name}` changed while it was looked at; try again"));
        }
        if opened.bytes > CHANGED_FILE_BYTES_MAX {
            let bytes = display::count(opened.bytes, "byte", "bytes");
            return Err(format!("`{name}` has {bytes}, too many to change with this tool"));
        }
        let trust = opened.trust(&self.trust_of);
        let metadata = opened.file.metadata().map_err(|error| format!("`{name}`: {error}"))?;
        let mut old = Vec::new();
        let n_bytes = opened.file.take(CHANGED_FILE_BYTES_MAX + 1).read_to_end(&mut old);
        n_bytes.map_err(|error| format!("`{name}` cannot be read: {error}"))?;
        let old = String::from_utf8(old)
            .map_err(|_| format!("`{name}` is not UTF-8 text, which is all this tool changes"))?;
        let stamp = Some(FileVersion::of(&metadata));
        Ok(ChangeTarget { name, real, zone, stamp, old, trust })
    }

    /// The plan of a change: another content, another file or another state has another digest.
    pub(crate) fn plan(
        tool: &str,
        (input, canonical): (&Json, &impl Serialize),
        target: &ChangeTarget,
        new: &str,
    ) -> CallPlan {
        let canonical = Json::of(canonical);
        let old = target.stamp.map(|_| sha256_hex(target.old.as_bytes()));
        let mut hash = Sha256::new();
        for part in [
            tool.as_bytes(),
            canonical.as_str().as_bytes(),
            target.real.as_os_str().as_encoded_bytes(),
            old.as_deref().unwrap_or("absent").as_bytes(),
            // A link may have made it a part of the self since.
            if target.zone >= Zone::Oneself { b"self" } else { b"" },
        ] {
            hash.update(part);
            // None of the parts can hold a NUL, so no two calls run together into the same bytes.
            hash.update([0]);
        }
        let path = target.real.to_string_lossy().into_owned();
        let files = old.map(|sha256| FileContent { path: path.clone(), sha256 });
        let (diff, diff_lines_left_out) = cut_diff(&target.old, new, FACTS_DIFF_BYTES_MAX);
        let facts = Json::of(&ChangeFacts {
            path: PathCallFacts { path, zone: target.zone, exists: target.stamp.is_some() },
            files: files.into_iter().collect(),
            written: WrittenFile {
                sha256: sha256_hex(new.as_bytes()),
                bytes: new.len() as u64,
                old_trust: target.trust,
            },
            diff,
            diff_lines_left_out,
        });
        let effect = if target.zone >= Zone::Oneself { Effect::Oneself } else { Effect::Write };
        let summary = format!("{tool} {}", target.name);
        let digest = hex(&hash.finalize());
        CallPlan { input: input.clone(), effects: vec![effect], facts, digest, summary }
    }

    /// Waits until no command that has the file for itself is running.
    pub(crate) async fn claim(
        &self,
        judged: &CallPlan,
        ctx: &RunContext,
    ) -> Result<FileClaim, Refusal> {
        let facts = judged.facts.read::<PathCallFacts>();
        let facts = facts.map_err(|error| own_refusal(format!("no file to change: {error}")))?;
        self.claims.claim(ClaimKind::Shared, vec![PathBuf::from(facts.path)], ctx).await
    }

    /// Replaces the content of the file, if it is still in the state that was looked at.
    pub(crate) fn replace(
        &self,
        target: &ChangeTarget,
        content: &str,
    ) -> Result<FileVersion, Refusal> {
        let failed =
            |error: io::Error| own_refusal(format!("`{}` cannot be written: {error}", target.name));
        let (folder, name) = self.roots.folder_to_write(&target.real).map_err(failed)?;
        let there = state_of(&folder, name).ok();
        if there.as_ref().map(FileVersion::of) != target.stamp {
            return Err(own_refusal(format!("`{}` changed meanwhile; read it again", target.name)));
        }
        let written = write_beside(folder.as_fd(), name, content, there.as_ref());
        let file = written.map_err(failed)?;
        file.metadata().map(|it| FileVersion::of(&it)).map_err(failed)
    }
}

fn state_of(folder: &OwnedFd, name: &Path) -> io::Result<Metadata> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?).metadata()
}

fn write_beside(
    folder: impl AsFd,
    name: &Path,
    content: &str,
    old: Option<&Metadata>,
) -> io::Result<File> {
    let (temporary, mut file) = temporary_file(folder.as_fd(), name, old)?;
    let written = fill(&mut file, content, old).and_then(|()| {
        put_in_place(folder.as_fd(), &temporary, name, old.is_some())?;
        rustix::fs::fsync(folder.as_fd()).or_else(ignore_unsupported)?;
        Ok(())
    });
    if written.is_err() {
        // The first error is the one to tell.
        rustix::fs::unlinkat(folder.as_fd(), &temporary, AtFlags::empty()).ok();
    }
    written.map(|()| file)
}

fn fill(file: &mut File, content: &str, old: Option<&Metadata>) -> io::Result<()> {
    file.write_all(content.as_bytes())?;
    if let Some(old) = old {
        let ours = file.metadata()?;
        if (old.uid(), old.gid()) != (ours.uid(), ours.gid()) {
            // Only root can give a file away; otherwise it belongs to who wrote it.
            std::os::unix::fs::fchown(&*file, Some(old.uid()), Some(old.gid())).ok();
        }
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()
}

/// Gives the file its name. A file that somebody else has made there meanwhile is not replaced.
fn put_in_place(
    folder: impl AsFd,
    temporary: &Path,
    name: &Path,
    replaces: bool,
) -> rustix::io::Result<()> {
    let folder = folder.as_fd();
    #[cfg(target_os = "linux")]
    if !replaces {
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(folder, temporary, folder, name, flags) {
            // Not every file system knows this way.
            Err(Errno::INVAL | Errno::NOSYS) => (),
            renamed => return renamed,
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = replaces;
    rustix::fs::renameat(folder, temporary, folder, name)
}

/// Some file systems cannot sync a folder.
fn ignore_unsupported(error: Errno) -> rustix::io::Result<()> {
    if error == Errno::INVAL { Ok(()) } else { Err(error) }
}

/// A new file beside the one it will become. Its name is no other process's: what a killed one left
/// behind stands in nobody's way.
fn temporary_file(
    folder: impl AsFd,
    name: &Path,
    old: Option<&Metadata>,
) -> io::Result<(PathBuf, File)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let (stem, process): (String, u32) =
        (name.to_string_lossy().chars().take(40).collect(), std::process::id());
    // Until it has the mode of the old file, nobody else may read what that kept to its owner.
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    for _ in 0..TEMPORARY_TRIES_MAX {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = PathBuf::from(format!(".{stem}.kith-{process}-{number}~"));
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(folder.as_fd(), &path, flags, Mode::from_raw_mode(mode)) {
            Err(Errno::EXIST) => (),
            opened => return Ok((path, File::from(opened?))),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// The lines by which two texts differ, shortened; it says by how many lines.
pub(crate) fn diff(old: &str, new: &str, bytes_max: usize) -> String {
    let (mut text, n_more) = cut_diff(old, new, bytes_max);
    if n_more > 0 {
        // Writing to a string cannot fail.
        write!(text, "\n… {n_more} more lines of the diff").unwrap_or_default();
    }
    text
}

/// The lines by which two texts differ, and how many are left out at the end.
fn cut_diff(old: &str, new: &str, bytes_max: usize) -> (String, usize) {
    let mut text = unified(old, new, FinalLineBreak::Marked, Some(DIFF_TIME_MAX));
    if text.len() > bytes_max {
        let end = text[..text.floor_char_boundary(bytes_max)].rfind('\n').unwrap_or_default();
        let n_more = text[end..].trim_start_matches('\n').lines().count();
        text.truncate(end);
        return (text, n_more);
    }
    (text, 0)
}

#[cfg(test)]
mod tests;
