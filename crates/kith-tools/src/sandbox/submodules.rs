//! The submodules that a repository names in its index: `git status` looks into each of them, and runs
//! what its settings say.
//!
//! The index is read here: it is looked at before and after every command, and starting git takes longer.
//! Git is asked only where its form is another one, and never in a repository that a command may have made.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use kith_vocab::digest::hex;
use rustix::fs::{Mode, OFlags};

/// Bytes of an index that are read here.
const INDEX_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// Repositories whose index is read.
const INDEXES_MAX: usize = 500;
/// Bytes of a `.git` file.
const GIT_FILE_BYTES_MAX: u64 = 16 * 1024;
/// Seconds that git may take to list an index.
const LISTING_SECS_MAX: &str = "10";
/// How a line about a submodule begins, in what git lists.
const LISTED_SUBMODULE: &[u8] = b"160000 ";

/// Bytes of a hash, of the two kinds that git has.
const HASH_BYTES: [usize; 2] = [20, 32];
/// The mode of a submodule.
const GITLINK: u32 = 0o160_000;
/// The mode of a folder that stands for all that is in it.
const SPARSE_FOLDER: u32 = 0o040_000;
/// In the flags of an entry: there are two further bytes of them.
const EXTENDED: u16 = 0x4000;
/// Bytes of an entry before its hash.
const STAT_BYTES: usize = 40;

/// The submodules of repositories, and theirs.
#[derive(Default)]
pub(super) struct Submodules {
    /// The `.git` of each, there or not.
    pub(super) gits: BTreeSet<PathBuf>,
    /// The `.git` of those whose own submodules are not known.
    pub(super) unread: BTreeSet<PathBuf>,
}

impl Submodules {
    /// Of the repositories with these `.git`. Git may be started in one of them if `is_owners` says so.
    pub(super) fn of(
        repositories: impl IntoIterator<Item = PathBuf>,
        is_owners: impl Fn(&Path) -> bool,
    ) -> Submodules {
        let mut open: Vec<PathBuf> = repositories.into_iter().collect();
        let mut found = Submodules::default();
        for _ in 0..INDEXES_MAX {
            let Some(git) = open.pop() else { break };
            let (Some(inside), Some(root)) = (git_folder_of(&git), git.parent()) else { continue };
            let named = match named_in(&inside) {
                Some(named) => named,
                // Where git cannot read the index, it runs nothing either.
                None if is_owners(&git) => listed_by_git(root, &inside).unwrap_or_default(),
                None => {
                    found.unread.insert(git);
                    continue;
                }
            };
            let is_beneath =
                |it: &Path| it.components().all(|it| matches!(it, Component::Normal(_)));
            for path in named.into_iter().filter(|it| is_beneath(it)) {
                let git = root.join(path).join(".git");
                if found.gits.insert(git.clone()) {
                    open.push(git);
                }
            }
        }
        found.unread.extend(open);
        found
    }
}

/// The inside of a repository: its `.git`, or where that leads if it is a file.
fn git_folder_of(git: &Path) -> Option<PathBuf> {
    if fs::metadata(git).ok()?.is_dir() {
        return Some(git.to_owned());
    }
    named_by_git_file(git).filter(|it| it.is_dir())
}

/// Where a `.git` file leads, whether something is there or not.
pub(super) fn named_by_git_file(git: &Path) -> Option<PathBuf> {
    let bytes = bytes_of(git, GIT_FILE_BYTES_MAX)?;
    let path = bytes.strip_prefix(b"gitdir:")?.trim_ascii();
    Some(git.parent()?.join(OsStr::from_bytes(path)))
}

/// Paths of submodules that the index in this folder names; `None` if it cannot be read here.
fn named_in(git_folder: &Path) -> Option<Vec<PathBuf>> {
    let index = git_folder.join("index");
    if !fs::metadata(&index).is_ok_and(|it| it.is_file()) {
        // Git runs nothing for an index that is not there.
        return Some(Vec::new());
    }
    let contents = contents_of(&bytes_of(&index, INDEX_BYTES_MAX)?)?;
    let mut named = contents.submodules;
    for hash in contents.shared {
        let name = format!("sharedindex.{}", hex(&hash));
        // Without it git cannot read the index either.
        let Some(bytes) = bytes_of(&git_folder.join(name), INDEX_BYTES_MAX) else { continue };
        named.extend(contents_of(&bytes)?.submodules);
    }
    Some(named)
}

/// Asks git, for an index that cannot be read here.
fn listed_by_git(root: &Path, inside: &Path) -> io::Result<Vec<PathBuf>> {
    // A command may have made a pipe of a file that git reads.
    let mut git = Command::new("timeout")
        .args(["-s", "KILL", LISTING_SECS_MAX])
        .args(["git", "-c", "core.fsmonitor=false", "ls-files", "--stage", "-z"])
        .current_dir(root)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("GIT_DIR", inside)
        .env("GIT_WORK_TREE", root)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_NO_LAZY_FETCH", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut found = Vec::new();
    if let Some(output) = git.stdout.take() {
        for entry in BufReader::new(output).split(0) {
            let entry = entry?;
            let is_submodule = entry.starts_with(LISTED_SUBMODULE);
            if let Some(at) = entry.iter().position(|it| *it == b'\t').filter(|_| is_submodule) {
                found.push(PathBuf::from(OsStr::from_bytes(&entry[at + 1..])));
            }
        }
    }
    git.wait()?;
    Ok(found)
}

/// A file's bytes; `None` if there are more, or if it is no file. A pipe is not waited for.
pub(super) fn bytes_of(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
    if metadata.len() > bytes_max {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[derive(Default)]
struct IndexContents {
    submodules: Vec<PathBuf>,
    /// Hashes of indexes that hold the rest.
    shared: Vec<Vec<u8>>,
}

/// What both kinds of hashes make of an index, since it does not say which of them it has.
fn contents_of(bytes: &[u8]) -> Option<IndexContents> {
    let readings = HASH_BYTES.iter().filter_map(|n_hash| IndexReader::new(bytes, *n_hash)?.read());
    readings.reduce(|mut all, one| {
        all.submodules.extend(one.submodules);
        all.shared.extend(one.shared);
        all
    })
}

/// Reads an index as `gitformat-index` describes it. `None` anywhere means that it is none.
struct IndexReader<'a> {
    rest: &'a [u8],
    version: u32,
    n_entries: u32,
    n_hash: usize,
}

impl<'a> IndexReader<'a> {
    fn new(bytes: &'a [u8], n_hash: usize) -> Option<IndexReader<'a>> {
        // At the end stands a hash of the whole.
        let end = bytes.len().checked_sub(n_hash)?;
        let mut reader = IndexReader { rest: &bytes[..end], version: 0, n_entries: 0, n_hash };
        let is_index = reader.take(4)? == b"DIRC";
        reader.version = reader.number()?;
        reader.n_entries = reader.number()?;
        (is_index && (2..=4).contains(&reader.version)).then_some(reader)
    }

    fn read(mut self) -> Option<IndexContents> {
        let mut contents = IndexContents::default();
        let mut name = Vec::new();
        for _ in 0..self.n_entries {
            match self.entry(&mut name)? {
                GITLINK => contents.submodules.push(PathBuf::from(OsStr::from_bytes(&name))),
                // Its submodules stand in a tree of the repository.
                SPARSE_FOLDER => return None,
                _ => (),
            }
        }
        // Git takes no notice of what is too short for an extension.
        while self.rest.len() >= 8 {
            let kind = self.take(4)?;
            let n_bytes = usize::try_from(self.number()?).ok()?;
            let body = self.take(n_bytes)?;
            if kind == b"link" {
                contents.shared.push(body.get(..self.n_hash)?.to_owned());
            }
        }
        contents.shared.retain(|hash| hash.iter().any(|it| *it != 0));
        Some(contents)
    }

    /// Reads the next entry: its mode, and its name in the place of the one before.
    fn entry(&mut self, name: &mut Vec<u8>) -> Option<u32> {
        let before = self.rest.len();
        let stat = self.take(STAT_BYTES)?;
        let mode = u32::from_be_bytes(stat.get(24..28)?.try_into().ok()?);
        self.take(self.n_hash)?;
        let flags = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        if flags & EXTENDED != 0 {
            self.take(if self.version == 2 { return None } else { 2 })?;
        }
        if self.version == 4 {
            let n_kept = name.len().checked_sub(self.variable_number()?)?;
            name.truncate(n_kept);
        } else {
            name.clear();
        }
        let n_name = self.rest.iter().position(|it| *it == 0)?;
        name.extend(self.take(n_name)?);
        self.take(1)?;
        if self.version != 4 {
            let n_read = before - self.rest.len();
            self.take(n_read.next_multiple_of(8) - n_read)?;
        }
        Some(mode)
    }

    fn take(&mut self, n_bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n_bytes)?;
        self.rest = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// A number of any length, seven bits in a byte.
    fn variable_number(&mut self) -> Option<usize> {
        let mut number = 0_usize;
        loop {
            let byte = *self.take(1)?.first()?;
            number = number.checked_add(usize::from(byte & 0x7f))?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
            number = number.checked_add(1)?.checked_mul(128)?;
        }
    }
}

#[cfg(test)]
mod tests;
