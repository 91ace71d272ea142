//! Registers folders as projects, and removes them.

use std::path::Path;
use std::sync::Arc;

use kith_vocab::blocking::blocking;

use super::Host;
use crate::call::{Reply, Response};
use crate::caller::Caller;
use crate::calls::project::{RegisterProject, RegisteredProject, RemoveProject, RemovedProject};
use crate::error::{CallError, ErrorCode};
use crate::projects::{PROJECTS_MAX, ProjectFolders, whole_path};
use crate::settings::edit::{add_project, remove_project as remove_from_settings};

pub async fn register_project(
    host: Arc<Host>,
    caller: Caller,
    call: RegisterProject,
) -> Reply<RegisteredProject> {
    caller.require_owner()?;
    let folder = whole_path(&call.path)?;
    let Some(path) = folder.to_str().map(str::to_owned) else {
        return Err(CallError::invalid("the path of a project must be valid UTF-8"));
    };
    let settings = host.settings.current()?;
    if ProjectFolders::of(&host.house, &settings).has(&folder) {
        return Ok(Response::new(RegisteredProject { path, is_new: false }));
    }
    if settings.projects.len() >= PROJECTS_MAX {
        let message = format!("{PROJECTS_MAX} projects are registered, which is the maximum");
        return Err(CallError::invalid(message).hint("`kith project rm` removes one"));
    }
    blocking(|| add_project(&host.house, &path))?;
    host.settings.current()?;
    Ok(Response::new(RegisteredProject { path, is_new: true }))
}

pub async fn remove_project(
    host: Arc<Host>,
    caller: Caller,
    call: RemoveProject,
) -> Reply<RemovedProject> {
    caller.require_owner()?;
    let settings = host.settings.current()?;
    // A folder that is gone has no other path than the one it was registered by.
    let real = Path::new(&call.path).canonicalize();
    let folder = real.unwrap_or_else(|_| Path::new(&call.path).to_owned());
    if !settings.projects.contains(&folder) {
        let message = format!("`{}` is not a registered project", call.path.escape_debug());
        let hint = "`kith project ls` lists the projects";
        return Err(CallError::request(ErrorCode::ProjectNotFound, message).hint(hint));
    }
    let path = folder.to_string_lossy().into_owned();
    blocking(|| remove_from_settings(&host.house, &folder))?;
    host.settings.current()?;
    Ok(Response::new(RemovedProject { path }))
}
