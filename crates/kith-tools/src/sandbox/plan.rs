//! The view of a sandbox: what of this machine a command sees, and what of it is protected.
//!
//! The system's programs can be read. Of the user's home only the folders of tool chains and package
//! caches are there, so what a list of secrets would forget is not there either. The workspace can be
//! written, except for the agent's self and for what runs code outside of the sandbox later.

mod guards;
pub(super) mod repositories;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::spec::{MountKind, SandboxMount, SandboxView};

/// Folders of the system that programs need.
const SYSTEM: [&str; 12] = [
    "/bin", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/sbin",
    "/snap", "/usr",
];

/// Folders that hold what belongs to others; only a folder in one can be a workspace.
const SHARED: [&str; 11] = [
    "/home", "/media", "/mnt", "/root", "/run", "/srv", "/tmp", "/var", "/var/lib", "/var/run",
    "/var/tmp",
];

/// Tool chains in the user's home: read, never changed.
const HOME_TOOLS: [&str; 22] = [
    ".asdf",
    ".bun",
    ".config/git",
    ".deno",
    ".ghcup",
    ".gitconfig",
    ".jdks",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".nvm",
    ".opam",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
    ".yarn",
];

/// Package caches: changes are kept for the command alone, so that a build finds a cache it can write
/// and no later build outside finds what it wrote.
const HOME_CACHES: [&str; 11] = [
    ".cache/go-build",
    ".cache/node",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/uv",
    ".cache/yarn",
    ".cargo",
    ".gem",
    ".gradle",
    ".m2",
    ".npm",
];

/// The places that a sandbox is planned for. All paths are real.
#[derive(Clone, Debug, Default)]
pub struct SandboxPlaces {
    /// The folder that a command may change.
    pub workspace: PathBuf,
    /// The session's folder, in the workspace.
    pub cwd: PathBuf,
    /// The homes of agents.
    pub homes: Vec<PathBuf>,
    pub house: PathBuf,
    /// Further folders of skills, which are a part of the agents.
    pub skills: Vec<PathBuf>,
    pub user_home: Option<PathBuf>,
    /// Folders of the search path for programs.
    pub program_folders: Vec<PathBuf>,
    /// Further tool chains, which are read.
    pub tool_chains: Vec<PathBuf>,
    /// Further package caches, of which a command gets a copy.
    pub caches: Vec<PathBuf>,
    /// Further paths that may be changed.
    pub writable: Vec<PathBuf>,
}

/// The view of a command in these places.
pub fn plan(places: &SandboxPlaces, has_network: bool) -> Result<SandboxView, String> {
    refuse_wide(places)?;
    let mut mounts = MountTable::of_system();
    if has_network {
        mounts.add_name_servers();
    }
    if let Some(home) = &places.user_home {
        mounts.add(home.clone(), MountKind::Empty);
        for name in HOME_TOOLS {
            mounts.add_existing(&home.join(name), MountKind::ReadOnly);
        }
        for name in HOME_CACHES {
            mounts.add_existing(&home.join(name), MountKind::CopyOnWrite);
        }
    }
    for folder in &places.caches {
        mounts.add_program_files(folder, MountKind::CopyOnWrite, places);
    }
    for folder in places.tool_chains.iter().chain(&places.program_folders) {
        mounts.add_program_files(folder, MountKind::ReadOnly, places);
    }
    for home in places.homes.iter().chain([&places.house]) {
        mounts.add_existing(home, MountKind::ReadOnly);
    }
    if let Some(repository) = linked_repository(&places.workspace) {
        mounts.add_existing(&repository, MountKind::ReadOnly);
    }
    for path in places.writable.iter().chain([&places.workspace]) {
        mounts.add(path.clone(), MountKind::Writable);
    }
    mounts.pin_folders_between();
    let mounts = mounts.in_order();
    let (guards, has_unseen) = guards::guards(places, &mounts);
    Ok(SandboxView { mounts, guards, has_network, has_unseen })
}

/// The view of a command that sees programs and nothing else.
pub(super) fn plan_of_system() -> SandboxView {
    let mounts = MountTable::of_system().in_order();
    SandboxView { mounts, ..SandboxView::default() }
}

/// Removes what stood for absent files in these places when the power was cut.
pub fn remove_abandoned(places: &SandboxPlaces) {
    guards::remove_abandoned(places);
}

/// A folder that holds the user's whole home, or belongs to the system, cannot be given away.
fn refuse_wide(places: &SandboxPlaces) -> Result<(), String> {
    for path in places.writable.iter().chain([&places.workspace]) {
        let shown = path.display();
        let reason = if path.parent().is_none() {
            "is the whole file system"
        } else if places.user_home.as_ref() == Some(path) {
            "is your home folder, with your keys and all your projects"
        } else if places.user_home.as_ref().is_some_and(|home| home.starts_with(path)) {
            "holds your home folder"
        } else if is_systems(path) {
            "belongs to the system"
        } else if SHARED.iter().any(|it| path == Path::new(it)) {
            "is shared by all programs and users"
        } else {
            continue;
        };
        return Err(format!(
            "`{shown}` {reason}: a command in the sandbox could change all of it. Start in the folder \
             of one project"
        ));
    }
    Ok(())
}

fn is_systems(path: &Path) -> bool {
    // Disks of the user are mounted in a folder of their own there.
    let is_runtime = path.starts_with("/run") && !path.starts_with("/run/media");
    is_runtime || is_kernels(path) || SYSTEM.iter().any(|it| path.starts_with(it))
}

fn is_kernels(path: &Path) -> bool {
    ["/proc", "/dev", "/sys", "/boot"].iter().any(|it| path.starts_with(it))
}

/// Mounts by their path; a later one for the same path replaces an earlier one.
#[derive(Default)]
struct MountTable(BTreeMap<PathBuf, MountKind>);

impl MountTable {
    fn of_system() -> MountTable {
        let mut mounts = MountTable::default();
        for path in SYSTEM {
            mounts.add_top(Path::new(path));
        }
        for path in ["/tmp", "/var/tmp", "/run"] {
            mounts.add(PathBuf::from(path), MountKind::Empty);
        }
        mounts
    }

    fn add(&mut self, path: PathBuf, kind: MountKind) {
        self.0.insert(path, kind);
    }

    /// What a path leads to, where it really lies.
    fn add_existing(&mut self, path: &Path, kind: MountKind) {
        // Most are not there, and one look says so; to be resolved, every part is looked at.
        if fs::symlink_metadata(path).is_ok()
            && let Ok(real) = fs::canonicalize(path)
        {
            self.add_real(real, kind);
        }
    }

    fn add_real(&mut self, real: PathBuf, kind: MountKind) {
        if !is_kernels(&real) {
            self.0.entry(real).or_insert(kind);
        }
    }

    /// A folder with programs or packages, unless it shows too much or can be seen already.
    fn add_program_files(&mut self, folder: &Path, kind: MountKind, places: &SandboxPlaces) {
        let Ok(real) = fs::canonicalize(folder) else { return };
        let is_wide = real.parent().is_none()
            || places.user_home.as_ref().is_some_and(|home| home.starts_with(&real));
        if !is_wide && !self.shows(&real) && !real.starts_with(&places.workspace) {
            self.add_real(real, kind);
        }
    }

    /// A folder of the system, or the link that stands for it.
    fn add_top(&mut self, path: &Path) {
        match fs::symlink_metadata(path) {
            Ok(it) if it.is_symlink() => {
                if let Ok(target) = fs::read_link(path) {
                    self.add(path.to_owned(), MountKind::Link(target));
                }
            }
            Ok(it) if it.is_dir() => self.add(path.to_owned(), MountKind::ReadOnly),
            _ => (),
        }
    }

    /// Names are looked up in a file that may lead to one of a service.
    fn add_name_servers(&mut self) {
        let real = fs::canonicalize("/etc/resolv.conf").ok();
        if let Some(real) = real.filter(|it| it.starts_with("/run")) {
            self.add(real, MountKind::ReadOnly);
        }
    }

    fn shows(&self, path: &Path) -> bool {
        path.ancestors().any(|it| {
            self.0
                .get(it)
                .is_some_and(|kind| !matches!(kind, MountKind::Empty | MountKind::Link(_)))
        })
    }

    /// Mounts the folders between a writable one and what is mounted in it, too: one of them could
    /// otherwise be renamed, and another be made in its place with something else in it.
    fn pin_folders_between(&mut self) {
        let inner: Vec<PathBuf> = self.0.keys().cloned().collect();
        for path in inner {
            let above = path.ancestors().skip(1);
            let between: Vec<PathBuf> = above
                .clone()
                .take_while(|it| !self.0.contains_key(*it))
                .map(Path::to_owned)
                .collect();
            let around = above.into_iter().find_map(|it| self.0.get(it));
            if around == Some(&MountKind::Writable) {
                self.0.extend(between.into_iter().map(|it| (it, MountKind::Writable)));
            }
        }
    }

    fn in_order(self) -> Vec<SandboxMount> {
        let mounts = self.0.into_iter().map(|(path, kind)| SandboxMount { path, kind });
        let mut mounts: Vec<SandboxMount> = mounts.collect();
        mounts.sort_by_key(|it| it.path.components().count());
        mounts
    }
}

/// The main repository of a linked worktree, which git needs to read.
fn linked_repository(workspace: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(workspace.join(".git")).ok()?;
    let folder = fs::canonicalize(workspace.join(text.strip_prefix("gitdir:")?.trim())).ok()?;
    // Only the form that `git worktree add` makes: the file could name any folder.
    let worktrees = folder.parent().filter(|it| it.ends_with("worktrees"))?;
    let repository = worktrees.parent()?;
    let is_gits = folder.join("commondir").is_file() && repository.join("HEAD").is_file();
    is_gits.then(|| repository.to_owned())
}

#[cfg(test)]
mod tests;
