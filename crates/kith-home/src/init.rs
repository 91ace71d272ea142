//! A home that is good on the first day.
//!
//! The constitution is complete; the other files are examples inside comments, which count as
//! empty until someone edits them. Nothing that exists is ever overwritten, so running it again
//! completes a home. There is no SOUL.md and no MEMORY.md: both are the agent's own to begin.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::beneath::{self, Existing};
use crate::error::HomeError;
use crate::placeholder::make_way;

pub const AGENT_ID_CHARS_MAX: usize = 64;

/// How many of the templates are an agent's own; the others are its house's.
const N_HOME_TEMPLATES: usize = 5;

const TEMPLATES: [(&str, &str); 7] = [
    ("Agent.md", include_str!("../templates/Agent.md")),
    ("USER.md", include_str!("../templates/USER.md")),
    ("IDENTITY.md", include_str!("../templates/IDENTITY.md")),
    ("TOOLS.md", include_str!("../templates/TOOLS.md")),
    ("HEARTBEAT.md", include_str!("../templates/HEARTBEAT.md")),
    ("kith.toml", include_str!("../templates/kith.toml")),
    (".gitignore", include_str!("../templates/gitignore")),
];

/// Makes the folder, if need be, and the files it lacks. Returns those it wrote.
pub fn init(dir: &Path, agent_id: &str) -> Result<Vec<PathBuf>, HomeError> {
    write_templates(dir, agent_id, &TEMPLATES)
}

/// The same for an agent that joins a house: its home has no settings of its own.
pub fn init_home(dir: &Path, agent_id: &str) -> Result<Vec<PathBuf>, HomeError> {
    write_templates(dir, agent_id, &TEMPLATES[..N_HOME_TEMPLATES])
}

fn write_templates(
    dir: &Path,
    agent_id: &str,
    templates: &[(&str, &str)],
) -> Result<Vec<PathBuf>, HomeError> {
    if !is_agent_id(agent_id) {
        let agent_id = agent_id.chars().take(AGENT_ID_CHARS_MAX).collect();
        return Err(HomeError::AgentId { agent_id });
    }
    fs::create_dir_all(dir)
        .map_err(|source| HomeError::MakeFolder { path: dir.to_owned(), source })?;
    let mut written = Vec::new();
    for &(name, template) in templates {
        let path = dir.join(name);
        match make_way(&path).and_then(|()| write_new(&path, template)) {
            Ok(()) => written.push(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
            Err(source) => return Err(HomeError::WriteFile { path, source }),
        }
    }
    Ok(written)
}

/// Whether an agent may be called so.
pub fn is_agent_id(text: &str) -> bool {
    let is_allowed =
        |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-' || it == b'_';
    (1..=AGENT_ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_allowed)
}

/// Replaces the text of a settings file, whole or not at all; makes the file if there is none. A file
/// that is there keeps its mode, and a link to it stays a link.
pub fn replace_settings(path: &Path, text: &str) -> Result<(), HomeError> {
    let failed = |source: io::Error| HomeError::WriteFile { path: path.to_owned(), source };
    make_way(path).map_err(failed)?;
    let real = match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return write_new(path, text).map_err(failed);
        }
        real => real.map_err(failed)?,
    };
    let (Some(folder), Some(name)) = (real.parent(), real.file_name().and_then(|it| it.to_str()))
    else {
        return Err(failed(io::ErrorKind::InvalidFilename.into()));
    };
    let permissions = fs::metadata(&real).map_err(failed)?.permissions();
    beneath::write(folder, name, text, Existing::Replace).map_err(failed)?;
    fs::set_permissions(&real, permissions).map_err(failed)
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // Whatever the umask: settings that others could write are not obeyed.
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).inspect_err(|_| {
        // Half a file would pass for an existing one the next time. If it cannot be removed
        // either, the first error is still the one to tell.
        fs::remove_file(path).ok();
    })
}

#[cfg(test)]
mod tests;
