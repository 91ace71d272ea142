//! Which paths of a view are protected, and how: the agent's self, secrets, and what makes git and the
//! user's programs run code outside of the sandbox later.
//!
//! A guard holds for a name only if everything on the way to it stays in place. So the links that a
//! protected path leads through are guarded as well as what they end at, and every folder above a guard
//! is pinned.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kith_home::placeholder::{self, StandIn};
use kith_home::protected::{HOME_FILES, HOUSE_SELF, KITH_FOLDER, SYSTEM_SECRETS, USER_SECRETS};
use kith_home::protected_paths::{PathState, PathStates, ProtectedFolders, on_the_way};
use kith_home::trust::recorded_folders;

use super::super::spec::{GuardKind, MountKind, PathGuard, SandboxMount};
use super::SandboxPlaces;
use super::repositories::{WorkspaceContents, git_folder, guarded_of, is_house, submodules};

/// Other houses in a workspace in which also absent files are protected. In further ones, those that are there.
const OTHER_HOUSES_MAX: usize = 32;

/// Tokens of package managers in their folders.
const CACHE_SECRETS: [&str; 2] = ["credentials", "credentials.toml"];

/// True if there are more folders than were looked through.
pub(super) fn guards(places: &SandboxPlaces, mounts: &[SandboxMount]) -> (Vec<PathGuard>, bool) {
    let mut has_unseen = false;
    let mut wanted = WantedGuards::of_self(places);
    for folder in places.writable.iter().chain([&places.workspace]) {
        wanted.add_all(git_folder(folder));
        let contents = WorkspaceContents::of(folder);
        has_unseen |= contents.is_cut;
        wanted.add_all(contents.repositories.iter().flat_map(guarded_of));
        wanted.add_all(submodules(folder, &contents.repositories));
        wanted.add_houses(contents.houses, places);
    }
    for folder in &places.caches {
        wanted.add(folder, &CACHE_SECRETS, GuardKind::Masked);
    }
    if let Some(home) = &places.user_home {
        wanted.add(home, &USER_SECRETS, GuardKind::Masked);
        wanted.add(home, &[KITH_FOLDER], GuardKind::Masked);
    }
    wanted.add_all(protected(places).startup().into_iter().map(|it| (it, StandIn::Folder)));
    wanted.add(
        Path::new("/"),
        &SYSTEM_SECRETS.map(|it| it.trim_start_matches('/')),
        GuardKind::Masked,
    );
    (placed(wanted, mounts), has_unseen)
}

/// Removes what a power cut left of a sandbox in these places.
pub(super) fn remove_abandoned(places: &SandboxPlaces) {
    for (path, ..) in WantedGuards::of_self(places).0 {
        // If a sandbox runs there, it is removed when that ends.
        placeholder::remove_abandoned(&path);
    }
}

fn protected(places: &SandboxPlaces) -> ProtectedFolders<'_> {
    ProtectedFolders {
        workspace: std::slice::from_ref(&places.workspace),
        cwd: &places.cwd,
        house: &places.house,
        homes: &places.homes,
        skills: &places.skills,
        user_home: places.user_home.as_deref(),
    }
}

/// Paths to protect, before it is known which of them the view shows.
#[derive(Default)]
struct WantedGuards(Vec<(PathBuf, GuardKind, StandIn)>);

impl WantedGuards {
    /// The agent's self, and what could become a part of it.
    fn of_self(places: &SandboxPlaces) -> WantedGuards {
        let mut wanted = WantedGuards::default();
        let folders = protected(places);
        wanted.add_all(folders.of_self().into_iter().map(|it| (it, StandIn::Folder)));
        wanted.add_all(folders.run_by_git());
        for folder in places.homes.iter().chain([&places.house]) {
            wanted.add(folder, &[KITH_FOLDER], GuardKind::Masked);
        }
        for folder in folders.chain() {
            wanted.add(folder, &[KITH_FOLDER], GuardKind::Masked);
            wanted.add_all(git_folder(folder));
        }
        wanted
    }

    /// Other houses and homes: those found in the workspace, and those that the user has said are theirs.
    fn add_houses(&mut self, found: Vec<PathBuf>, places: &SandboxPlaces) {
        let recorded = places.user_home.as_deref().map(recorded_folders).unwrap_or_default();
        // No house of its own, but the folder for all of them; it is masked in any case.
        let is_other =
            |it: &PathBuf| Some(it) != places.user_home.as_ref() && !places.homes.contains(it);
        let is_beneath = |it: &PathBuf| it.starts_with(&places.workspace) && is_house(it);
        let houses = recorded.into_iter().filter(is_beneath).chain(found).filter(is_other);
        for (n_before, house) in houses.enumerate() {
            self.add(&house, &[KITH_FOLDER], GuardKind::Masked);
            if n_before < OTHER_HOUSES_MAX {
                self.add(&house, &HOME_FILES, GuardKind::ReadOnly);
                self.add(&house, &HOUSE_SELF, GuardKind::ReadOnly);
            } else {
                let names = HOME_FILES.iter().chain(&HOUSE_SELF);
                let there = names.filter(|it| fs::symlink_metadata(house.join(it)).is_ok());
                self.add(&house, &there.copied().collect::<Vec<_>>(), GuardKind::ReadOnly);
            }
        }
    }

    fn add(&mut self, folder: &Path, names: &[&str], kind: GuardKind) {
        let paths = names.iter().map(|name| (folder.join(name), kind, StandIn::Folder));
        self.0.extend(paths);
    }

    fn add_all(&mut self, paths: impl IntoIterator<Item = (PathBuf, StandIn)>) {
        let read_only = |(path, stand_in)| (path, GuardKind::ReadOnly, stand_in);
        self.0.extend(paths.into_iter().map(read_only));
    }
}

/// The guards that matter in this view, with the folders above those that could be moved away.
fn placed(wanted: WantedGuards, mounts: &[SandboxMount]) -> Vec<PathGuard> {
    let mut guards: BTreeMap<PathBuf, PathGuard> = BTreeMap::new();
    let mut states = PathStates::default();
    for (path, kind, stand_in) in wanted.0 {
        for place in on_the_way(&path, &mut states) {
            place_one(&place, (kind, stand_in), (mounts, &mut states), &mut guards);
        }
    }
    let mut guards: Vec<PathGuard> = guards.into_values().collect();
    guards.sort_by_key(|it| it.path.components().count());
    guards
}

fn place_one(
    path: &Path,
    (kind, stand_in): (GuardKind, StandIn),
    (mounts, states): (&[SandboxMount], &mut PathStates),
    guards: &mut BTreeMap<PathBuf, PathGuard>,
) {
    let Some(mount) = mount_of(path, mounts) else { return };
    let is_writable_place = mount.kind == MountKind::Writable;
    let is_needed = match mount.kind {
        MountKind::Writable => true,
        MountKind::ReadOnly | MountKind::CopyOnWrite => {
            kind == GuardKind::Masked && *states.at(path) != PathState::Absent
        }
        MountKind::Empty | MountKind::Link(_) => false,
    };
    if !is_needed {
        return;
    }
    let absent = if is_writable_place { first_absent(path, states) } else { path.to_owned() };
    // What is wanted is the file; what stands for a folder above it is a folder.
    let stand_in = if absent == path { stand_in } else { StandIn::Folder };
    let above = absent.ancestors().skip(1).take_while(|it| is_writable_place && *it != mount.path);
    for folder in above {
        guards.entry(folder.to_owned()).or_insert_with(|| PathGuard {
            path: folder.to_owned(),
            kind: GuardKind::Pinned,
            is_writable_place,
            stand_in: StandIn::Folder,
        });
    }
    let guard = PathGuard { path: absent.clone(), kind, is_writable_place, stand_in };
    let known = guards.entry(absent).or_insert(guard);
    known.kind = match (known.kind, kind) {
        (GuardKind::Masked, _) | (_, GuardKind::Masked) => GuardKind::Masked,
        _ => GuardKind::ReadOnly,
    };
}

/// The mount in which a path lies.
fn mount_of<'a>(path: &Path, mounts: &'a [SandboxMount]) -> Option<&'a SandboxMount> {
    let around = mounts.iter().filter(|it| path.starts_with(&it.path));
    around.max_by_key(|it| it.path.components().count())
}

/// The path, or the first folder above it that would have to be made for it.
fn first_absent(path: &Path, states: &mut PathStates) -> PathBuf {
    // What stands for an absent path while another sandbox runs is no less absent.
    let mut is_absent =
        |it: &Path| matches!(states.at(it), PathState::Absent | PathState::Placeholder);
    let absent = path.ancestors().take_while(|it| is_absent(it));
    absent.last().unwrap_or(path).to_owned()
}
