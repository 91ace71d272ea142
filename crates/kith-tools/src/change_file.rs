//! One file changed whole or not at all.
//!
//! The new content is written under another name, synced, and moved to its own, so nobody ever sees half
//! of it and a second name (hard link) of the old file keeps the old content. Everything is done
//! from the descriptor of a folder that was reached without following a link.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_home::zones::Places;
use kith_vocab::digest::hex;
use kith_vocab::event::calls::Effect;
use kith_vocab::facts::{PathCallFacts, Zone};
use kith_vocab::json::Json;
use kith_vocab::tool::CallPlan;
use rustix::fs::{AtFlags, Mode, OFlags};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::display;
use crate::read_log::{FileStamp, ReadLog};
use crate::roots::Roots;
use crate::shell_lookup::resolve;
use crate::trust::TrustOf;

/// Bytes of a file that a tool writes or edits.
pub(crate) const CHANGED_FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Bytes of a diff that a result or a question shows.
const DIFF_BYTES_MAX: usize = 4 * 1024;
/// Lines around a change.
const DIFF_CONTEXT_LINES: usize = 3;
/// Names that are tried for the file that is written first.
const TEMPORARY_TRIES_MAX: u32 = 100;

/// What tools that change files share.
#[derive(Clone)]
pub(crate) struct FileChanger {
    pub(crate) roots: Arc<Roots>,
    pub(crate) places: Arc<Places>,
    pub(crate) reads: Arc<ReadLog>,
    pub(crate) trust_of: TrustOf,
}

/// A file that may be changed, and its state.
pub(crate) struct ChangeTarget {
    /// As it was named.
    pub(crate) name: String,
    pub(crate) real: PathBuf,
    pub(crate) zone: Zone,
    pub(crate) stamp: Option<FileStamp>,
    /// The text of the file; empty if there is none.
    pub(crate) old: String,
}

impl FileChanger {
    /// Looks at the file that a text names. An error is a sentence for the model.
    pub(crate) fn look(&self, text: &str) -> Result<ChangeTarget, String> {
        let path = self.roots.absolute(text)?;
        let real = resolve(&path);
        let zone = self.places.zone(&path).max(self.places.zone(&real));
        let name = display::name(text);
        self.roots.check_writable(text, &real)?;
        let opened = match self.roots.open_file(text) {
            Ok(opened) => opened,
            Err(_) if std::fs::symlink_metadata(&real).is_err() => {
                return Ok(ChangeTarget { name, real, zone, stamp: None, old: String::new() });
            }
            Err(error) => return Err(error),
        };
        if opened.bytes > CHANGED_FILE_BYTES_MAX {
            let bytes = display::count(opened.bytes, "byte", "bytes");
            return Err(format!("`{name}` has {bytes}, too many to change with this tool"));
        }
        let metadata = opened.file.metadata().map_err(|error| format!("`{name}`: {error}"))?;
        let mut old = Vec::new();
        let read = opened.file.take(CHANGED_FILE_BYTES_MAX + 1).read_to_end(&mut old);
        read.map_err(|error| format!("`{name}` cannot be read: {error}"))?;
        let old = String::from_utf8(old)
            .map_err(|_| format!("`{name}` is not UTF-8 text, which is all this tool changes"))?;
        let stamp = Some(FileStamp::of(&metadata));
        Ok(ChangeTarget { name, real, zone, stamp, old })
    }

    /// The plan of a change: another content, another file or another state has another digest.
    pub(crate) fn plan(
        &self,
        tool: &str,
        (input, canonical): (&Json, &impl Serialize),
        target: &ChangeTarget,
        new: &str,
    ) -> CallPlan {
        #[derive(Serialize)]
        struct ChangeFacts {
            #[serde(flatten)]
            path: PathCallFacts,
            /// What will change, for people; shortened.
            diff: String,
        }

        let canonical = Json::of(canonical);
        let mut hash = Sha256::new();
        let (real, stamp) = (target.real.as_os_str(), FileStamp::text(target.stamp));
        for part in [
            tool.as_bytes(),
            canonical.as_str().as_bytes(),
            real.as_encoded_bytes(),
            stamp.as_bytes(),
        ] {
            hash.update(part);
            hash.update([0]);
        }
        let exists = target.stamp.is_some();
        let path = target.real.to_string_lossy().into_owned();
        let path = PathCallFacts { path, zone: target.zone, exists };
        let facts = Json::of(&ChangeFacts { path, diff: diff(&target.old, new) });
        let effect = if target.zone >= Zone::Oneself { Effect::Oneself } else { Effect::Write };
        let summary = format!("{tool} {}", target.name);
        let digest = hex(&hash.finalize());
        CallPlan { input: input.clone(), effects: vec![effect], facts, digest, summary }
    }

    /// Replaces the content of the file, if it is still in the state that was looked at.
    pub(crate) fn replace(
        &self,
        target: &ChangeTarget,
        content: &str,
    ) -> Result<FileStamp, String> {
        let failed = |error: io::Error| format!("`{}` cannot be written: {error}", target.name);
        let (folder, name) = self.roots.folder_to_write(&target.real).map_err(failed)?;
        let there = state_of(&folder, name);
        if there.as_ref().ok().map(FileStamp::of) != target.stamp {
            return Err(format!("`{}` changed meanwhile; read it again", target.name));
        }
        let written = write_beside(folder.as_fd(), name, content, there.ok().as_ref());
        let file = written.map_err(failed)?;
        file.metadata().map(|it| FileStamp::of(&it)).map_err(failed)
    }
}

fn state_of(folder: &OwnedFd, name: &Path) -> io::Result<std::fs::Metadata> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?).metadata()
}

fn write_beside(
    folder: impl AsFd,
    name: &Path,
    content: &str,
    old: Option<&std::fs::Metadata>,
) -> io::Result<File> {
    use std::os::unix::fs::MetadataExt;

    let (temporary, mut file) = temporary_file(folder.as_fd(), name)?;
    let write = || -> io::Result<()> {
        file.write_all(content.as_bytes())?;
        if let Some(old) = old {
            if old.uid() != file.metadata()?.uid() || old.gid() != file.metadata()?.gid() {
                // Only root can give a file away; otherwise it belongs to who wrote it.
                std::os::unix::fs::fchown(&file, Some(old.uid()), Some(old.gid())).ok();
            }
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()?;
        rustix::fs::renameat(folder.as_fd(), &temporary, folder.as_fd(), name)?;
        Ok(rustix::fs::fsync(folder.as_fd()).or_else(ignore_unsupported)?)
    };
    let mut write = write;
    let written = write();
    if written.is_err() {
        // The first error is the one to tell.
        rustix::fs::unlinkat(folder.as_fd(), &temporary, AtFlags::empty()).ok();
    }
    written.map(|()| file)
}

/// Some file systems cannot sync a folder.
fn ignore_unsupported(error: rustix::io::Errno) -> rustix::io::Result<()> {
    if error == rustix::io::Errno::INVAL { Ok(()) } else { Err(error) }
}

fn temporary_file(folder: impl AsFd, name: &Path) -> io::Result<(PathBuf, File)> {
    let stem: String = name.to_string_lossy().chars().take(60).collect();
    for n in 0..TEMPORARY_TRIES_MAX {
        let path = PathBuf::from(format!(".{stem}.kith-{n}~"));
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(folder.as_fd(), &path, flags, Mode::from_raw_mode(0o666)) {
            Err(rustix::io::Errno::EXIST) => (),
            opened => return Ok((path, File::from(opened?))),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// The lines by which two texts differ, shortened.
pub(crate) fn diff(old: &str, new: &str) -> String {
    let diff = similar::TextDiff::from_lines(old, new);
    let mut text = diff.unified_diff().context_radius(DIFF_CONTEXT_LINES).to_string();
    if text.len() > DIFF_BYTES_MAX {
        let end = text[..text.floor_char_boundary(DIFF_BYTES_MAX)].rfind('\n').unwrap_or_default();
        let n_more = text[end..].lines().count();
        text.truncate(end);
        text.push_str(&format!("\n… {n_more} more lines of the diff"));
    }
    text
}
