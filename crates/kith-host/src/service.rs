//! The daemon as a service of the system: the file that starts it at login.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use kith_tools::service_file::{Service, ServiceSystem};

use crate::error::CallError;
use crate::house::House;

/// What was written or removed, and what to type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceChange {
    pub path: PathBuf,
    /// Whether a file was written, or there was one to remove.
    pub is_changed: bool,
    /// Commands that start the service now and at every login, or that end that.
    pub commands: Vec<String>,
    /// Whether the service reads `~/.kith/environment`.
    pub reads_environment_file: bool,
}

/// Writes the file by which the system starts `kith up ARGS` for this house.
pub fn install(house: &House, args: Vec<OsString>) -> Result<ServiceChange, CallError> {
    let service = service_of(house, args)?;
    let path = service.install().map_err(|error| {
        CallError::filesystem(format!("cannot write `{}`: {error}", service.path().display()))
    })?;
    Ok(change_of(&service, path, true, service.commands().0))
}

/// Removes it again.
pub fn uninstall(house: &House) -> Result<ServiceChange, CallError> {
    let service = service_of(house, Vec::new())?;
    let path = service.path();
    let is_changed = service.uninstall().map_err(|error| {
        CallError::filesystem(format!("cannot remove `{}`: {error}", path.display()))
    })?;
    Ok(change_of(&service, path, is_changed, service.commands().1))
}

fn change_of(
    service: &Service,
    path: PathBuf,
    is_changed: bool,
    commands: Vec<String>,
) -> ServiceChange {
    let reads_environment_file = service.system.reads_environment_file();
    ServiceChange { path, is_changed, commands, reads_environment_file }
}

fn service_of(house: &House, args: Vec<OsString>) -> Result<Service, CallError> {
    let program = env::current_exe()
        .map_err(|error| CallError::filesystem(format!("cannot find this program: {error}")))?;
    let Some(user_home) = house.user_home.clone() else {
        return Err(CallError::invalid("HOME does not name your home folder"));
    };
    let config_home = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config_home = config_home.filter(|it| it.is_absolute());
    let system = ServiceSystem::of_this_system();
    Ok(Service { system, program, args, house: house.dir.clone(), user_home, config_home })
}
