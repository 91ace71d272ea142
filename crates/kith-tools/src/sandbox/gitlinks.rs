//! Repositories that a command has made where the owner's next `git status` would run what their settings
//! say: added to the owner's as submodules, or spread out in a folder that is worked in.
//!
//! They cannot be kept from being made: no mount covers a name in a folder that does not exist yet, and
//! the files of a repository have ordinary names. So they are renamed when the command has ended.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use super::spec::{MountKind, SandboxView};

/// What the `.git` or `HEAD` of such a repository is called afterwards, after its name.
const RENAMED: &str = "-made-in-sandbox";
/// Names that are tried.
const RENAMED_MAX: usize = 100;
/// Seconds that git may take to list an index.
const LISTING_SECS_MAX: &str = "10";
/// How a line about a submodule begins, in what git lists.
const SUBMODULE: &[u8] = b"160000 ";

/// The repositories of a view as they were before a command.
pub(super) struct Repositories {
    /// Those that can be written.
    roots: Vec<(PathBuf, Option<IndexStamp>)>,
    /// Folders that git would take for the inside of a repository if they had a `HEAD`.
    without_head: Vec<PathBuf>,
}

/// What changes with every change of a file. The time of change cannot be set.
#[derive(PartialEq, Eq)]
struct IndexStamp {
    file: (u64, u64),
    changed: (i64, i64),
}

impl Repositories {
    pub(super) fn of(view: &SandboxView) -> Repositories {
        let writable = view.mounts.iter().filter(|it| it.kind == MountKind::Writable);
        let roots = writable.map(|it| it.path.clone()).filter(|it| it.join(".git").is_dir());
        let guarded = view.guards.iter().filter(|it| it.is_writable_place);
        let folders =
            guarded.filter(|it| it.path.ends_with(".git")).filter_map(|it| it.path.parent());
        let without_head = folders.filter(|it| !is_there(&it.join("HEAD"))).map(Path::to_owned);
        Repositories {
            roots: roots.map(|root| (root.clone(), stamp(&root))).collect(),
            without_head: without_head.collect(),
        }
    }

    /// Renames what the command has added. Says so where the command's errors go.
    pub(super) fn disarm_new(&self, view: &SandboxView) {
        for folder in &self.without_head {
            if ["refs", "commondir"].iter().any(|it| is_there(&folder.join(it))) {
                disarm(&folder.join("HEAD"));
            }
        }
        for (root, before) in &self.roots {
            let now = stamp(root);
            // One that was registered before may have been filled now.
            let may_have = root.join(".gitmodules").exists() || now != *before;
            if now.is_none() || !may_have {
                continue;
            }
            // Where git cannot read the index, it runs nothing either.
            for path in submodules(root).unwrap_or_default() {
                let git = root.join(path).join(".git");
                if !view.guards.iter().any(|it| it.path == git) {
                    disarm(&git);
                }
            }
        }
    }
}

/// `None` if there is no file that git could read.
fn stamp(root: &Path) -> Option<IndexStamp> {
    let it = fs::symlink_metadata(root.join(".git/index")).ok().filter(fs::Metadata::is_file)?;
    Some(IndexStamp { file: (it.dev(), it.ino()), changed: (it.ctime(), it.ctime_nsec()) })
}

/// The paths that the index says are repositories of their own.
fn submodules(root: &Path) -> io::Result<Vec<PathBuf>> {
    // A command may have made a pipe of a file that git reads.
    let mut git = Command::new("timeout")
        .args(["-s", "KILL", LISTING_SECS_MAX])
        .args(["git", "-c", "core.fsmonitor=false", "ls-files", "--stage", "-z"])
        .current_dir(root)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("GIT_DIR", root.join(".git"))
        .env("GIT_WORK_TREE", root)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut found = Vec::new();
    if let Some(output) = git.stdout.take() {
        for entry in BufReader::new(output).split(0) {
            let entry = entry?;
            let is_submodule = entry.starts_with(SUBMODULE);
            if let Some(at) = entry.iter().position(|it| *it == b'\t').filter(|_| is_submodule) {
                found.push(PathBuf::from(std::ffi::OsStr::from_bytes(&entry[at + 1..])));
            }
        }
    }
    git.wait()?;
    let is_beneath = |it: &Path| it.components().all(|it| matches!(it, Component::Normal(_)));
    found.retain(|it| is_beneath(it));
    Ok(found)
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn disarm(path: &Path) {
    let name = path.file_name().unwrap_or_default().display();
    let names = (1..RENAMED_MAX).map(|n| match n {
        1 => format!("{name}{RENAMED}"),
        _ => format!("{name}{RENAMED}-{n}"),
    });
    let free = names.into_iter().find(|it| !is_there(&path.with_file_name(it)));
    let Some(free) = free.filter(|_| is_there(path)) else { return };
    let shown = path.display();
    let said = match fs::rename(path, path.with_file_name(&free)) {
        Ok(()) => format!(
            "kith: `{shown}` was made in the sandbox, and git would run what its repository says; it is \
             called `{free}` now\n"
        ),
        Err(error) => {
            format!("kith: do not run git here before you have removed `{shown}`: {error}\n")
        }
    };
    // If nobody reads it, it is renamed all the same.
    io::stderr().write_all(said.as_bytes()).ok();
}
