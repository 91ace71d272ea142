//! Projects and their sessions; folders that could become projects.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_vocab::blocking::blocking;

use super::ReadSide;
use crate::call::{Reply, Response};
use crate::calls::project::{
    DirectoryList, DirectoryRow, ListDirectories, ListProjects, ProjectKind, ProjectList,
    ProjectRow,
};
use crate::error::CallError;
use crate::projects::{ProjectFolders, whole_path};

/// Folders that are listed of one folder.
const DIRECTORIES_MAX: usize = 1_000;
/// Entries of a folder that are looked at.
const DIRECTORY_ENTRIES_MAX: usize = 20_000;

#[derive(Default)]
struct ProjectUse {
    sessions: u64,
    updated_at: Option<String>,
}

pub async fn list_projects(side: Arc<ReadSide>, _: ListProjects) -> Reply<ProjectList> {
    let settings = side.settings()?;
    let folders = ProjectFolders::of(&side.house, &settings);
    let list = side.list().await?;
    let mut used: BTreeMap<PathBuf, ProjectUse> = BTreeMap::new();
    for row in &list.data.sessions {
        let Some(project) = &row.project else { continue };
        let project = used.entry(PathBuf::from(project)).or_default();
        project.sessions += 1;
        // All times have one form, so their texts are in their order.
        project.updated_at = project.updated_at.take().max(row.updated_at.clone());
    }
    let row = |path: &Path, kind, project: ProjectUse| ProjectRow {
        name: name_of(path),
        path: path.to_string_lossy().into_owned(),
        kind,
        exists: path.is_dir(),
        sessions: project.sessions,
        updated_at: project.updated_at,
    };
    let mut projects = Vec::new();
    for path in folders.iter() {
        let kind =
            if path == side.house.dir { ProjectKind::House } else { ProjectKind::Registered };
        projects.push(row(path, kind, used.remove(path).unwrap_or_default()));
    }
    projects.extend(used.into_iter().map(|(path, it)| row(&path, ProjectKind::Used, it)));
    Ok(Response { data: ProjectList { projects }, notes: list.notes })
}

pub async fn list_directories(side: Arc<ReadSide>, call: ListDirectories) -> Reply<DirectoryList> {
    let path = match &call.path {
        Some(path) => whole_path(path)?,
        None => side.house.real_user_home().unwrap_or_else(|| side.house.dir.clone()),
    };
    let settings = side.settings()?;
    let folders = ProjectFolders::of(&side.house, &settings);
    let (mut directories, mut is_cut) = blocking(|| directories_in(&path, call.hidden, &folders))?;
    directories.sort_by(|a, b| a.name.cmp(&b.name));
    is_cut |= directories.len() > DIRECTORIES_MAX;
    directories.truncate(DIRECTORIES_MAX);
    let parent = path.parent().map(|it| it.to_string_lossy().into_owned());
    let path = path.to_string_lossy().into_owned();
    Ok(Response::new(DirectoryList { path, parent, directories, is_cut }))
}

/// The folders in a folder, and whether there are more than were looked at.
fn directories_in(
    path: &Path,
    with_hidden: bool,
    folders: &ProjectFolders,
) -> Result<(Vec<DirectoryRow>, bool), CallError> {
    let entries = fs::read_dir(path).map_err(|error| {
        CallError::filesystem(format!("cannot read the folder `{}`: {error}", path.display()))
    })?;
    let (mut directories, mut n_entries) = (Vec::new(), 0);
    // What cannot be read is no folder that could be chosen.
    for entry in entries.filter_map(Result::ok) {
        n_entries += 1;
        if n_entries > DIRECTORY_ENTRIES_MAX {
            return Ok((directories, true));
        }
        let (path, name) = (entry.path(), entry.file_name());
        let Some(name) = name.to_str().filter(|it| with_hidden || !it.starts_with('.')) else {
            continue;
        };
        if path.is_dir() {
            directories.push(DirectoryRow {
                name: name.to_owned(),
                is_project: folders.has(&path),
                is_repository: path.join(".git").exists(),
                path: path.to_string_lossy().into_owned(),
            });
        }
    }
    Ok((directories, false))
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
