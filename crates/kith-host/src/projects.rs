//! Which project a folder belongs to.
//!
//! A session keeps the folder it began in; the project is found from that, so registering a folder
//! gathers the sessions that are in it already, and removing it loses nothing.

use std::path::{Path, PathBuf};

use kith_tools::roots::is_private;

use crate::error::{CallError, ErrorCode};
use crate::house::House;
use crate::settings::Settings;

/// Maximum number of registered projects.
pub const PROJECTS_MAX: usize = 500;

/// The folders that are projects of a house.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProjectFolders {
    /// The house first.
    folders: Vec<PathBuf>,
}

impl ProjectFolders {
    pub(crate) fn of(house: &House, settings: &Settings) -> ProjectFolders {
        let registered = settings.projects.iter().filter(|it| **it != house.dir).cloned();
        ProjectFolders { folders: std::iter::once(house.dir.clone()).chain(registered).collect() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(PathBuf::as_path)
    }

    pub(crate) fn has(&self, folder: &Path) -> bool {
        self.iter().any(|it| it == folder)
    }

    /// The innermost project that holds the folder; a folder that is in none is one by itself.
    pub(crate) fn project_of<'a>(&'a self, folder: &'a Path) -> &'a Path {
        let holding = self.iter().filter(|it| folder.starts_with(it));
        holding.max_by_key(|it| it.components().count()).unwrap_or(folder)
    }
}

/// The real path of a folder that was named by its whole path.
pub(crate) fn whole_path(path: &str) -> Result<PathBuf, CallError> {
    let named = Path::new(path);
    let refused = |what: &str| {
        let message = format!("`{}` {what}", path.escape_debug());
        CallError::request(ErrorCode::ProjectNotFound, message)
    };
    if !named.is_absolute() || path.contains('\0') {
        return Err(refused("is not the whole path of a folder")
            .hint("begin with `/`, and leave out `~` and variables"));
    }
    let real =
        named.canonicalize().map_err(|error| refused(&format!("cannot be used: {error}")))?;
    if !real.is_dir() {
        return Err(refused("is not a folder"));
    }
    if is_private(&real) {
        return Err(refused("lies in `.kith`, which is kith's own and no place to work in"));
    }
    if ["/proc", "/sys", "/dev"].iter().any(|it| real.starts_with(it)) {
        return Err(refused("belongs to the system and is no place to work in"));
    }
    Ok(real)
}

/// The same as a text, which is what a session keeps.
pub(crate) fn whole_path_text(path: &str) -> Result<String, CallError> {
    whole_path(path)?.into_os_string().into_string().map_err(|_| {
        let message = format!("the real path of `{}` is not UTF-8", path.escape_debug());
        CallError::request(ErrorCode::ProjectNotFound, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_belongs_to_the_innermost_project_or_to_itself() {
        let folders = ["/h", "/src/app", "/src/app/web"].map(PathBuf::from).to_vec();
        let folders = ProjectFolders { folders };
        for (folder, project) in [
            ("/h", "/h"),
            ("/h/notes/a", "/h"),
            ("/src/app/web/x", "/src/app/web"),
            ("/src/app/server", "/src/app"),
            ("/src/application", "/src/application"),
            ("/", "/"),
        ] {
            assert_eq!(folders.project_of(Path::new(folder)), Path::new(project), "{folder}");
        }
    }
}
