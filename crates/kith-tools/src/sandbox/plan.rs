//! The view of a sandbox: what of this machine a command sees, and what of it is protected.
//!
//! The system's programs can be read. Of the user's home only the folders of tool chains and package
//! caches are there, so what a list of secrets would forget is not there either. The workspace can be
//! written, except for the agent's self and for what runs code outside of the sandbox later.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kith_home::protected::{HOME_FILES, HOUSE_SELF, KITH_FOLDER, SYSTEM_SECRETS, USER_SECRETS};

use super::spec::{GuardKind, MountKind, PathGuard, SandboxMount, SandboxView};

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

/// What the user's programs run by themselves, for a workspace that is a part of the home.
const HOME_STARTUP: [&str; 14] = [
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".config/autostart",
    ".config/environment.d",
    ".config/git",
    ".config/systemd",
    ".gitconfig",
    ".local/bin",
    ".profile",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// What of a repository runs code of its own, in it or elsewhere.
const GIT_PROTECTED: [&str; 2] = ["config", "hooks"];

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
    pub user_home: Option<PathBuf>,
    /// Folders of the search path for programs.
    pub program_folders: Vec<PathBuf>,
    /// Further paths that may be changed.
    pub writable: Vec<PathBuf>,
}

/// The view of a command in these places.
pub fn plan(places: &SandboxPlaces, has_network: bool) -> Result<SandboxView, String> {
    refuse_wide(places)?;
    let mut mounts = MountTable::default();
    for path in SYSTEM {
        mounts.add_top(Path::new(path));
    }
    for path in ["/tmp", "/var/tmp", "/run"] {
        mounts.add(PathBuf::from(path), MountKind::Empty);
    }
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
    for folder in &places.program_folders {
        let holds_home = places.user_home.as_ref().is_some_and(|home| home.starts_with(folder));
        if !holds_home && !mounts.shows(folder) && !is_kernels(folder) {
            mounts.add_existing(folder, MountKind::ReadOnly);
        }
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
    let mounts = mounts.in_order();
    let guards = guards(places, &mounts);
    Ok(SandboxView { mounts, guards, has_network })
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
    fn add(&mut self, path: PathBuf, kind: MountKind) {
        self.0.insert(path, kind);
    }

    /// What a path leads to, where it really lies.
    fn add_existing(&mut self, path: &Path, kind: MountKind) {
        if let Ok(real) = fs::canonicalize(path)
            && !is_kernels(&real)
        {
            self.0.entry(real).or_insert(kind);
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

fn guards(places: &SandboxPlaces, mounts: &[SandboxMount]) -> Vec<PathGuard> {
    let mut wanted: Vec<(PathBuf, GuardKind)> = Vec::new();
    let mut want = |folder: &Path, names: &[&str], kind| {
        wanted.extend(names.iter().map(|name| (folder.join(name), kind)));
    };
    for home in &places.homes {
        want(home, &HOME_FILES, GuardKind::ReadOnly);
        want(home, &[KITH_FOLDER], GuardKind::Masked);
    }
    want(&places.house, &HOUSE_SELF, GuardKind::ReadOnly);
    want(&places.house, &[KITH_FOLDER], GuardKind::Masked);
    let chain = places.cwd.ancestors().take_while(|it| it.starts_with(&places.workspace));
    for folder in chain {
        want(folder, &["AGENTS.md"], GuardKind::ReadOnly);
        want(folder, &[KITH_FOLDER], GuardKind::Masked);
    }
    for folder in places.writable.iter().chain([&places.workspace]) {
        let git = folder.join(".git");
        if git.is_dir() && !git.is_symlink() {
            want(&git, &GIT_PROTECTED, GuardKind::ReadOnly);
        } else {
            want(folder, &[".git"], GuardKind::ReadOnly);
        }
    }
    if let Some(home) = &places.user_home {
        want(home, &USER_SECRETS, GuardKind::Masked);
        want(home, &[KITH_FOLDER], GuardKind::Masked);
        want(home, &HOME_STARTUP, GuardKind::ReadOnly);
    }
    want(Path::new("/"), &SYSTEM_SECRETS.map(|it| it.trim_start_matches('/')), GuardKind::Masked);
    placed(wanted, mounts)
}

/// The guards that matter in this view, with the folders above those that could be moved away.
fn placed(wanted: Vec<(PathBuf, GuardKind)>, mounts: &[SandboxMount]) -> Vec<PathGuard> {
    let mut guards: BTreeMap<PathBuf, (GuardKind, bool)> = BTreeMap::new();
    for (path, kind) in wanted {
        let Some(mount) = mount_of(&path, mounts) else { continue };
        let is_writable = mount.kind == MountKind::Writable;
        let is_needed = match mount.kind {
            MountKind::Writable => true,
            MountKind::ReadOnly | MountKind::CopyOnWrite => {
                kind == GuardKind::Masked && fs::symlink_metadata(&path).is_ok()
            }
            MountKind::Empty | MountKind::Link(_) => false,
        };
        if !is_needed {
            continue;
        }
        let path = if is_writable { first_absent(&path) } else { path };
        let above = path.ancestors().skip(1).take_while(|it| is_writable && *it != mount.path);
        for folder in above {
            guards.entry(folder.to_owned()).or_insert((GuardKind::Pinned, true));
        }
        let strictest = |known: GuardKind| match (known, kind) {
            (GuardKind::Masked, _) | (_, GuardKind::Masked) => GuardKind::Masked,
            _ => GuardKind::ReadOnly,
        };
        let known = guards.get(&path).map_or(kind, |(known, _)| strictest(*known));
        guards.insert(path, (known, is_writable));
    }
    let mut guards: Vec<PathGuard> = guards
        .into_iter()
        .map(|(path, (kind, is_writable_place))| PathGuard { path, kind, is_writable_place })
        .collect();
    guards.sort_by_key(|it| it.path.components().count());
    guards
}

/// The mount in which a path lies.
fn mount_of<'a>(path: &Path, mounts: &'a [SandboxMount]) -> Option<&'a SandboxMount> {
    let around = mounts.iter().filter(|it| path.starts_with(&it.path));
    around.max_by_key(|it| it.path.components().count())
}

/// The path, or the first folder above it that would have to be made for it.
fn first_absent(path: &Path) -> PathBuf {
    let absent = path.ancestors().take_while(|it| fs::symlink_metadata(it).is_err());
    absent.last().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests;
