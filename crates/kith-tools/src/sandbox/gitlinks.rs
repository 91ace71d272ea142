//! Repositories that a command has made where the owner's next `git status` would run what their settings
//! say: added to the owner's as submodules, spread out in a folder that is worked in, or anywhere beneath
//! it if their settings are not those of a new repository.
//!
//! They cannot be kept from being made: no mount covers a name in a folder that does not exist yet, and
//! the files of a repository have ordinary names. So they are renamed when the command has ended.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use super::git_settings::{LEADING, is_harmless};
use super::plan::repositories::{FoundRepository, is_bare, repositories_beneath};
use super::spec::{MountKind, SandboxView};

/// What the `.git` or `HEAD` of such a repository is called afterwards, after its name.
const RENAMED: &str = "-made-in-sandbox";
/// Names that are tried.
const RENAMED_MAX: usize = 100;
/// Seconds that git may take to list an index.
const LISTING_SECS_MAX: &str = "10";
/// How a line about a submodule begins, in what git lists.
const SUBMODULE: &[u8] = b"160000 ";

/// What decides in a repository whether git runs something; first the repository itself.
const DECIDING: [&str; 6] = ["", "config", "config.worktree", "commondir", "hooks", "modules"];

/// The repositories of a view as they were before a command.
pub(super) struct Repositories {
    /// Those that can be written.
    roots: Vec<(PathBuf, Option<IndexStamp>)>,
    /// Folders that are worked in and that git does not take for the inside of a repository.
    not_bare: Vec<PathBuf>,
    /// In seconds since 1970, a little before the command.
    began: i64,
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
        let not_bare = folders.filter(|it| !is_bare(it)).map(Path::to_owned);
        Repositories {
            roots: roots.map(|root| (root.clone(), stamp(&root))).collect(),
            not_bare: not_bare.collect(),
            // The clock of a file system may be a little late.
            began: now().map_or(0, |it| it - 1),
        }
    }

    /// Renames what the command has added. Says so where the command's errors go.
    pub(super) fn disarm_new(&self, view: &SandboxView) {
        for folder in self.not_bare.iter().filter(|it| is_bare(it)) {
            disarm(&folder.join("HEAD"));
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
        self.disarm_beneath(view);
    }

    /// Renames repositories elsewhere in which git would run something. What was there before has guards,
    /// or lay further down than is looked, and then it did not change.
    fn disarm_beneath(&self, view: &SandboxView) {
        let is_guarded = |path: &Path| view.guards.iter().any(|it| it.path == path);
        let is_writable = |path: &Path| mount_of(path, view) == Some(&MountKind::Writable);
        let writable = view.mounts.iter().filter(|it| it.kind == MountKind::Writable);
        // What lies in another one is looked through with that.
        let outermost = writable.filter(|it| !it.path.parent().is_some_and(is_writable));
        for repository in outermost.flat_map(|it| repositories_beneath(&it.path)) {
            let (folder, name, deciding) = match repository {
                FoundRepository::Git(path) if is_guarded(&path) => continue,
                FoundRepository::Git(path) => (path.clone(), path, &DECIDING[..]),
                FoundRepository::Bare(path) if is_guarded(&path.join("config")) => {
                    (path.clone(), path.join("HEAD"), &LEADING[..])
                }
                FoundRepository::Bare(path) => (path.clone(), path.join("HEAD"), &DECIDING[..]),
            };
            let has_changed = deciding.iter().any(|it| self.has_changed(&folder.join(it)));
            if is_writable(&folder) && has_changed && !is_harmless(&folder) {
                disarm(&name);
            }
        }
    }

    /// The time of change cannot be set.
    fn has_changed(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|it| it.ctime() >= self.began)
    }
}

/// The time that a file would have that was made now.
fn now() -> io::Result<i64> {
    let (made, _) = io::pipe()?;
    fs::File::from(OwnedFd::from(made)).metadata().map(|it| it.ctime())
}

/// How the mount is made in which a path lies.
fn mount_of<'a>(path: &Path, view: &'a SandboxView) -> Option<&'a MountKind> {
    let around = view.mounts.iter().filter(|it| path.starts_with(&it.path));
    around.max_by_key(|it| it.path.components().count()).map(|it| &it.kind)
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
