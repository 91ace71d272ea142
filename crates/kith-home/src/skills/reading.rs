//! One skill, from its folder to its entry.
//!
//! The file is opened from its root without following a link out of it: a link could show the model
//! any file of the user. It is looked at before it is read, and read up to a limit.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use kith_vocab::digest::sha256_hex;
use kith_vocab::event::control::SkillEntry;

use super::manifest::manifest;
use super::roots::SkillRoot;
use super::{SKILL_FILE_BYTES_MAX, SkillIssue, SkillProblem};
use crate::beneath;
use crate::error::Problem;
use crate::ownership;

const SKILL_FILE: &str = "SKILL.md";

/// The entry of the folder `name` of a root; `None` when it is left out, which is then an issue.
pub(super) fn read_skill(
    root: &SkillRoot,
    name: &str,
    issues: &mut Vec<SkillIssue>,
) -> Option<SkillEntry> {
    let relative = Path::new(name).join(SKILL_FILE);
    let path = root.real.join(&relative);
    let bytes = match read(root, name, &relative, issues) {
        Ok(bytes) => bytes,
        Err(issue) => {
            issues.push(issue);
            return None;
        }
    };
    let manifest = match manifest(&bytes) {
        Ok(manifest) => manifest,
        Err(issue) => {
            let problem = SkillProblem::Manifest(issue.problem);
            issues.push(SkillIssue { path, line: issue.line, problem });
            return None;
        }
    };
    if let Some(issue) = manifest.issue {
        let (path, problem) = (path.clone(), SkillProblem::Manifest(issue.problem));
        issues.push(SkillIssue { path, line: issue.line, problem });
    }
    Some(SkillEntry {
        name: name.to_owned(),
        display_name: manifest.display_name.unwrap_or_else(|| name.to_owned()),
        description: manifest.description,
        path: path.to_string_lossy().into_owned(),
        scope: root.scope.as_str().to_owned(),
        sha256: sha256_hex(&bytes),
    })
}

fn read(
    root: &SkillRoot,
    name: &str,
    relative: &Path,
    issues: &mut Vec<SkillIssue>,
) -> Result<Vec<u8>, SkillIssue> {
    let folder = root.real.join(name);
    let path = root.real.join(relative);
    let file = beneath::open(&root.real, relative).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if path.symlink_metadata().is_err() => {
            SkillIssue::of(&folder, SkillProblem::NoSkillFile)
        }
        _ if beneath::is_outside(&error) => {
            let within = root.real.clone();
            SkillIssue::file(&path, Problem::LeadsOutside { within })
        }
        _ => SkillIssue::unreadable(&path, &error),
    })?;
    let unreadable = |error: io::Error| SkillIssue::unreadable(&path, &error);
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(SkillIssue::file(&path, Problem::NotAFile));
    }
    // A user who may write into the folder may replace the file.
    let around = fs::metadata(&folder).map_err(unreadable)?;
    for (path, metadata) in [(&folder, &around), (&path, &metadata)] {
        let Some(problem) = ownership::problem(metadata) else { continue };
        let is_used = root.scope.tolerates(&problem);
        let problem = if is_used { Problem::LooseInHome } else { problem };
        let issue = SkillIssue::file(path, problem);
        if !is_used {
            return Err(issue);
        }
        issues.push(issue);
    }
    let bytes = bounded(file).map_err(unreadable)?;
    bytes.ok_or_else(|| SkillIssue::of(&path, SkillProblem::TooLong))
}

/// `None` when there is more than may be.
fn bounded(file: File) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    // One byte more than allowed: a file that grows while it is read is found out.
    file.take(SKILL_FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= SKILL_FILE_BYTES_MAX).then_some(bytes))
}
