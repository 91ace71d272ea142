//! Where the protected names lead.
//!
//! Whoever changes the target of a link changes what the link's name stands for. So for every name that
//! is protected this says which links it leads through and what it ends at: for the zones that tools are
//! judged by and for the walls of the sandbox. Only known names are looked at, never a whole folder
//! of a project. Anybody may change links meanwhile, so each call looks again.

pub mod git_folders;
pub mod run_by_git;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};

use self::run_by_git::GitPrograms;
use crate::placeholder::{StandIn, is_placeholder};
use crate::protected::{
    GIT_SELF, HOME_FILES, HOME_STARTUP, HOUSE_SELF, HOUSE_SETTINGS, PROMPT_FILES, USER_SECRETS,
};
use crate::zones::Places;

/// Links that are followed on the way to a protected path, as many as the kernel follows.
const LINKS_MAX: usize = 40;

/// Entries of `~`, and of `~/.config`, among which links to start-up files are looked for.
const HOME_ENTRIES_MAX: usize = 2_000;

/// The folders whose names are protected. All are real.
#[derive(Clone, Copy)]
pub struct ProtectedFolders<'a> {
    pub workspace: &'a [PathBuf],
    /// The session's working folder.
    pub cwd: &'a Path,
    pub house: &'a Path,
    pub homes: &'a [PathBuf],
    pub skills: &'a [PathBuf],
    pub user_home: Option<&'a Path>,
}

/// What the protected names lead to at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedTo {
    /// Links on the way. What lies beneath them has another real path.
    links: BTreeSet<PathBuf>,
    /// What belongs to the self, with all beneath.
    selves: BTreeSet<PathBuf>,
    /// Keys and records, with all beneath.
    secrets: BTreeSet<PathBuf>,
}

impl LedTo {
    pub fn is_self(&self, path: &Path) -> bool {
        self.links.contains(path) || path.ancestors().any(|it| self.selves.contains(it))
    }

    pub fn is_secret(&self, path: &Path) -> bool {
        path.ancestors().any(|it| self.secrets.contains(it))
    }
}

impl<'a> ProtectedFolders<'a> {
    /// The names of the agent's self, and of what could become a part of it, there or not.
    pub fn of_self(&self) -> Vec<PathBuf> {
        let mut names = Vec::new();
        let mut add = |folder: &Path, below: &[&str]| {
            if !folder.as_os_str().is_empty() {
                names.extend(below.iter().map(|it| folder.join(it)));
            }
        };
        for home in self.homes {
            add(home, &HOME_FILES);
        }
        add(self.house, &HOUSE_SELF);
        for folder in self.chain() {
            add(folder, PROMPT_FILES);
            add(folder, &[HOUSE_SETTINGS]);
        }
        names.extend(self.skills.iter().cloned());
        names
    }

    /// The folders from the working folder up to the workspace: their prompt files count here.
    pub fn chain(&self) -> impl Iterator<Item = &'a Path> {
        let ProtectedFolders { workspace, cwd, .. } = *self;
        cwd.ancestors().take_while(|it| workspace.iter().any(|root| it.starts_with(root)))
    }

    /// What the user's programs run by themselves: by name, and every link in the home that leads into the
    /// workspace.
    pub fn startup(&self) -> Vec<PathBuf> {
        let Some(home) = self.user_home else { return Vec::new() };
        let mut found: Vec<PathBuf> = HOME_STARTUP.iter().map(|it| home.join(it)).collect();
        let in_home = links_in(home).filter(|it| {
            it.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
        });
        let linked = in_home.chain(links_in(&home.join(".config")));
        // Who works in such a folder has opened it to change it.
        let is_around = |end: &Path| self.workspace.iter().any(|it| it.starts_with(end));
        found.extend(linked.filter(|it| {
            let end = fs::canonicalize(it);
            end.is_ok_and(|it| {
                self.is_in_workspace(&it) && !is_around(&it) && !self.cwd.starts_with(&it)
            })
        }));
        found
    }

    /// What the settings and hooks of the owner's repositories make git run.
    pub fn run_by_git(&self) -> Vec<(PathBuf, StandIn)> {
        let mut programs = GitPrograms::default();
        for folder in self.chain() {
            programs.add_repository(folder, self.user_home);
        }
        if let (Some(home), Some(root)) = (self.user_home, self.workspace.first()) {
            programs.add_settings(&home.join(".gitconfig"), root, Some(home));
            programs.add_settings(&home.join(".config/git/config"), root, Some(home));
        }
        programs.found
    }

    /// Looks where all of them lead now.
    pub fn led_to(&self) -> LedTo {
        let mut states = PathStates::default();
        let mut led = LedTo::default();
        let git = |folder: &Path| {
            let git = folder.join(".git");
            GIT_SELF.iter().map(|it| git.join(it)).collect::<Vec<_>>()
        };
        let names = self.of_self().into_iter().chain(self.chain().flat_map(git));
        for name in names {
            led.add(&name, &mut states, |_| true);
        }
        let run = self.run_by_git().into_iter().map(|it| it.0);
        for name in self.startup().into_iter().chain(run) {
            led.add(&name, &mut states, |it| self.is_in_workspace(it));
        }
        for name in self.user_home.iter().flat_map(|home| USER_SECRETS.map(|it| home.join(it))) {
            let mut trail = on_the_way(&name, &mut states);
            let end = trail.pop().filter(|_| !trail.is_empty());
            led.links.extend(trail);
            led.secrets.extend(end);
        }
        led
    }

    fn is_in_workspace(&self, path: &Path) -> bool {
        self.workspace.iter().any(|it| path.starts_with(it))
    }
}

impl Places {
    /// The same, with what the protected names lead to at this moment.
    #[must_use]
    pub fn looked_up(&self) -> Places {
        let folders = ProtectedFolders {
            workspace: &self.workspace,
            cwd: &self.cwd,
            house: &self.house,
            homes: &self.homes,
            skills: &self.skills,
            user_home: self.user_home.as_deref(),
        };
        Places { led_to: folders.led_to(), ..self.clone() }
    }
}

impl LedTo {
    fn add(&mut self, name: &Path, states: &mut PathStates, counts: impl Fn(&Path) -> bool) {
        let mut trail = on_the_way(name, states);
        self.selves.extend(trail.pop().filter(|it| counts(it)));
        self.links.extend(trail.into_iter().filter(|it| counts(it)));
    }
}

/// The links in a folder, among its first entries.
fn links_in(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().take(HOME_ENTRIES_MAX).flatten();
    entries.filter(|it| it.file_type().is_ok_and(|it| it.is_symlink())).map(|it| it.path())
}

/// What lies at a path.
#[derive(PartialEq, Eq)]
pub enum PathState {
    /// Nothing, or what cannot be looked at.
    Absent,
    Placeholder,
    Link(PathBuf),
    There,
}

/// What lies at paths. Most of them share the folders they lie in, so each is looked at
/// once. No longer than for one call: anybody may change them meanwhile.
#[derive(Default)]
pub struct PathStates(HashMap<PathBuf, PathState>);

impl PathStates {
    pub fn at(&mut self, path: &Path) -> &PathState {
        self.0.entry(path.to_owned()).or_insert_with(|| match fs::symlink_metadata(path) {
            Err(_) => PathState::Absent,
            Ok(it) if it.is_symlink() => {
                fs::read_link(path).map_or(PathState::There, PathState::Link)
            }
            Ok(it) if is_placeholder(&it) => PathState::Placeholder,
            Ok(_) => PathState::There,
        })
    }
}

/// Every link that a path leads through, and what it ends at, there or not. None of the paths leads
/// through a link itself.
pub fn on_the_way(path: &Path, states: &mut PathStates) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut real = PathBuf::from("/");
    let mut rest: Vec<PathBuf> = parts_of(path);
    while let Some(part) = rest.pop() {
        if part == Path::new("..") {
            real.pop();
            continue;
        }
        let place = real.join(&part);
        match states.at(&place) {
            PathState::Link(target) if found.len() < LINKS_MAX => {
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                rest.extend(parts_of(target));
                found.push(place);
            }
            // No link, or nothing at all.
            _ => real = place,
        }
    }
    found.push(real);
    found
}

/// The parts of a path, the first one last.
fn parts_of(path: &Path) -> Vec<PathBuf> {
    let part = |it: Component<'_>| match it {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    };
    path.components().rev().filter_map(part).collect()
}

#[cfg(test)]
mod tests;
