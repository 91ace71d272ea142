//! Which paths are the agent itself, which are keys, which are the project.
//!
//! [`Places::zone`] is pure: a protected file is protected whether it exists or not, because a file that
//! appears in the right place is obeyed from then on. Callers resolve links first and ask about both
//! names, the one that was given and the one it leads to; the stricter answer counts. Where the protected
//! names themselves lead, [`Places::looked_up`] finds out, once for each call.

use std::path::{Component, Path, PathBuf};

use kith_vocab::facts::Zone;

use crate::protected::{
    GIT_NESTED, GIT_SELF, HOME_FILES, HOME_STARTUP, HOUSE_SELF, HOUSE_SETTINGS, KITH_FOLDER,
    PROMPT_FILES, SYSTEM_SECRETS, USER_SECRETS,
};
use crate::protected_paths::LedTo;

/// The folders that give a path its meaning. All are absolute and free of links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Folders that tools may change: the repository or the working folder.
    pub workspace: Vec<PathBuf>,
    /// The session's working folder.
    pub cwd: PathBuf,
    pub house: PathBuf,
    /// The homes of all agents of the house.
    pub homes: Vec<PathBuf>,
    pub user_home: Option<PathBuf>,
    /// Folders for temporary files.
    pub temporary: Vec<PathBuf>,
    /// Folders with skills besides those of homes.
    pub skills: Vec<PathBuf>,
    /// What the protected names lead to, as far as somebody has looked.
    pub led_to: LedTo,
}

/// Names that make a folder a house or a home wherever they appear.
const SELF_ANYWHERE: [&str; 3] = [HOUSE_SETTINGS, "Agent.md", "AGENTS.md"];

/// Keys by their name, wherever they lie.
const KEY_FILES: [&str; 8] = [
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    ".git-credentials",
    ".netrc",
];

/// The operating system and installed programs.
const SYSTEM_FOLDERS: [&str; 12] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix",
    "/snap", "/System",
];

const DEVICE_FOLDERS: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Devices that keep nothing and tell nothing.
const HARMLESS_DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
];

impl Places {
    /// What a path means. `..` is resolved by names, so links must be resolved before.
    pub fn zone(&self, path: &Path) -> Zone {
        // Nobody can say what a relative path means here.
        let Some(path) = plain(path) else { return Zone::Outside };
        if self.is_secret(&path) {
            Zone::Secret
        } else if self.is_self(&path) {
            Zone::Oneself
        } else if HARMLESS_DEVICES.iter().any(|it| Path::new(it) == path) {
            Zone::Temporary
        } else if is_in_any(&path, &DEVICE_FOLDERS) {
            Zone::Device
        } else if self.workspace.iter().any(|it| path.starts_with(it)) {
            Zone::Workspace
        } else if self.temporary.iter().any(|it| path.starts_with(it)) && !self.is_ours(&path) {
            Zone::Temporary
        } else if is_in_any(&path, &SYSTEM_FOLDERS) {
            Zone::System
        } else {
            Zone::Outside
        }
    }

    /// Whether a folder holds something protected, now or later: removing, moving or replacing it
    /// would change the agent too.
    pub fn holds_protected(&self, folder: &Path) -> bool {
        let Some(folder) = plain(folder) else { return true };
        let own = [&self.house, &self.cwd];
        let own = own.into_iter().chain(&self.homes).chain(&self.skills).chain(&self.user_home);
        own.filter(|it| !it.as_os_str().is_empty()).any(|it| it.starts_with(&folder))
    }

    fn is_secret(&self, path: &Path) -> bool {
        let is_skill = self.skills.iter().any(|it| path.starts_with(it));
        let has_key_name = path
            .file_name()
            .is_some_and(|name| KEY_FILES.iter().any(|it| name.eq_ignore_ascii_case(it)));
        (path.iter().any(|part| part.eq_ignore_ascii_case(KITH_FOLDER)) && !is_skill)
            || has_key_name
            || is_in_any(path, &SYSTEM_SECRETS)
            || self.user_home.as_deref().is_some_and(|home| is_below_any(path, home, &USER_SECRETS))
            || self.led_to.is_secret(path)
    }

    fn is_self(&self, path: &Path) -> bool {
        let has_name = |names: &[&str]| {
            path.file_name()
                .is_some_and(|name| names.iter().any(|it| name.eq_ignore_ascii_case(it)))
        };
        has_name(&SELF_ANYWHERE)
            || is_git_self(path)
            || is_below_any(path, &self.house, &HOUSE_SELF)
            || self.homes.iter().any(|home| is_below_any(path, home, &HOME_FILES))
            || self.skills.iter().any(|folder| path.starts_with(folder))
            || path.parent().is_some_and(|it| self.is_of_chain(it)) && has_name(PROMPT_FILES)
            || self.is_startup(path)
            || self.led_to.is_self(path)
    }

    /// Whether the user's programs run it by themselves. Elsewhere a change is asked about in any case.
    fn is_startup(&self, path: &Path) -> bool {
        let home = self.user_home.as_deref();
        self.workspace.iter().any(|it| path.starts_with(it))
            && home.is_some_and(|it| is_below_any(path, it, &HOME_STARTUP))
    }

    /// Whether it lies in the folder of an agent, which is none for temporary files wherever it is.
    fn is_ours(&self, path: &Path) -> bool {
        let ours = self.homes.iter().chain([&self.house]);
        ours.filter(|it| !it.as_os_str().is_empty()).any(|it| path.starts_with(it))
    }

    /// Whether the prompt files of this folder count for sessions here.
    fn is_of_chain(&self, folder: &Path) -> bool {
        let is_ours = self.workspace.iter().any(|it| folder.starts_with(it));
        is_ours && self.cwd.starts_with(folder)
    }
}

/// The path without `.` and `..`; `None` if it is not absolute.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Prefix(_) => return None,
            Component::RootDir => plain.push("/"),
            Component::CurDir => (),
            Component::ParentDir => {
                plain.pop();
            }
            Component::Normal(name) => plain.push(name),
        }
    }
    plain.is_absolute().then_some(plain)
}

fn is_in_any(path: &Path, folders: &[&str]) -> bool {
    folders.iter().any(|it| path.starts_with(it))
}

/// Some disks do not tell capitals from small letters, so names are compared without them.
fn is_below_any(path: &Path, folder: &Path, names: &[&str]) -> bool {
    if folder.as_os_str().is_empty() {
        return false;
    }
    let Ok(rest) = path.strip_prefix(folder) else { return false };
    names.iter().any(|name| {
        let mut parts = rest.iter();
        Path::new(name)
            .iter()
            .all(|it| parts.next().is_some_and(|part| part.eq_ignore_ascii_case(it)))
    })
}

fn is_git_self(path: &Path) -> bool {
    let mut parts = path.iter().skip_while(|it| !it.eq_ignore_ascii_case(".git"));
    if parts.next().is_none() {
        return false;
    }
    let is_any = |part: &std::ffi::OsStr, names: &[&str]| {
        names.iter().any(|it| part.eq_ignore_ascii_case(it))
    };
    match parts.next() {
        // `.git` itself: moved away or replaced, it takes its configuration with it.
        None => true,
        Some(first) if is_any(first, &GIT_NESTED) => parts.any(|it| is_any(it, &GIT_SELF)),
        Some(first) => is_any(first, &GIT_SELF),
    }
}

#[cfg(test)]
mod tests;
