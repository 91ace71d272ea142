//! Which folder one host works in.
//!
//! Found by walking up, like a repository: but a `kith.toml` decides what may run, so the walk
//! stays among folders that no other user could have put one into.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use crate::discovery::WALK_FOLDERS_MAX;
use crate::ownership::{self, same_owner};

/// Either file of the constitution makes a folder a home.
pub(crate) const CONSTITUTIONS: [&str; 2] = ["Agent.md", "AGENTS.md"];

/// The entries of a house besides its homes and `.kith`.
pub const HOUSE_FILES: [&str; 4] = ["kith.toml", ".gitignore", ".minds", ".dialogs"];

/// Returns the nearest folder from `cwd` upward that holds `kith.toml` or `.kith/state.db`, else
/// `cwd` itself if it holds an `Agent.md`; an `AGENTS.md` alone makes a project, not an agent. The
/// user's home is never a house.
///
/// The walk never goes through a folder that another user owns or could write. Beneath the user's
/// home it ends before it: `~/.kith` belongs to every house. Elsewhere it goes on only while the
/// folders have the owner of `cwd`.
/// A folder that may not be read counts as absent.
pub fn find_house(cwd: &Path, user_home: Option<&Path>) -> Option<PathBuf> {
    // An unresolved path would be walked by its names, past links that lead elsewhere.
    let cwd = fs::canonicalize(cwd).ok()?;
    let user_home = user_home.and_then(|it| fs::canonicalize(it).ok());
    let start = fs::metadata(&cwd).ok()?;
    let marked = cwd
        .ancestors()
        .take(WALK_FOLDERS_MAX)
        .take_while(|folder| may_be_searched(folder, &cwd, &start, user_home.as_deref()))
        .find(|folder| is_house(folder));
    if let Some(house) = marked {
        return Some(house.to_owned());
    }
    (user_home.as_deref() != Some(&*cwd) && cwd.join("Agent.md").is_file()).then_some(cwd)
}

/// Whether this folder, if it is named as an agent's home, holds a constitution.
pub fn is_home(folder: &Path) -> bool {
    CONSTITUTIONS.iter().any(|name| folder.join(name).is_file())
}

/// Whether a host works here, or is set up to.
pub fn is_house(folder: &Path) -> bool {
    folder.join("kith.toml").is_file() || folder.join(".kith/state.db").is_file()
}

fn may_be_searched(folder: &Path, cwd: &Path, start: &Metadata, user_home: Option<&Path>) -> bool {
    if user_home == Some(folder) {
        return false;
    }
    // The person chose the current folder, but not those above it.
    folder == cwd
        || fs::metadata(folder).is_ok_and(|it| {
            let is_ours = ownership::problem(&it).is_none();
            is_ours && (is_beneath(cwd, user_home) || same_owner(start, &it))
        })
}

fn is_beneath(cwd: &Path, user_home: Option<&Path>) -> bool {
    user_home.is_some_and(|it| cwd.starts_with(it))
}

#[cfg(test)]
mod tests;
