//! The `memory` section: what the agent wrote down before.
//!
//! MEMORY.md and the notes are for the owner's own sessions and reach no other, whatever the
//! model is told: this is the place that keeps them apart. Of what is known about people, only
//! the file of the one spoken to is opened; the others are not even looked for.

use std::path::PathBuf;

use kith_vocab::header::Audience;
use kith_vocab::snapshot::{Scope, Source, SourceType};

use crate::error::HomeError;
use crate::user::user_file;

use super::time::Moment;
use super::{Assembly, Guard};

/// Within the home.
pub(super) const NOTES_FOLDER: &str = "memory";

pub(super) fn gather(
    assembly: &mut Assembly<'_>,
    moment: &Moment,
) -> Result<Vec<Source>, HomeError> {
    let mut paths = Vec::new();
    if assembly.audience() == Audience::Owner {
        paths.push((assembly.home.join("MEMORY.md"), Scope::Home, Guard::Own));
        let notes = notes(assembly, moment).into_iter();
        paths.extend(notes.map(|note| (note, Scope::Home, Guard::Own)));
    }
    // It tells of the workspace, which a peer is not told of either.
    if assembly.audience() != Audience::Peer {
        let knowledge = assembly.house.join(".kith/memory");
        paths.push((knowledge.join("project.md"), Scope::Project, Guard::HouseMemory));
        if let Some(user_id) = assembly.request.user_id {
            let file = knowledge.join("users").join(user_file(user_id));
            paths.push((file, Scope::Project, Guard::HouseMemory));
        }
    }
    let mut sources = Vec::new();
    for (path, scope, guard) in paths {
        if let Some(file) = assembly.load(&path, guard)? {
            sources.extend(assembly.source(file, SourceType::Memory, scope, None));
        }
    }
    Ok(sources)
}

/// The notes that are read on a day: its own and those of the day before.
pub(super) fn notes(assembly: &Assembly<'_>, moment: &Moment) -> Vec<PathBuf> {
    let dates = [Some(moment.today()), moment.yesterday()].into_iter().flatten();
    dates.map(|date| assembly.home.join(NOTES_FOLDER).join(format!("{date}.md"))).collect()
}

pub(super) fn block(assembly: &Assembly<'_>, sources: &[Source]) -> String {
    if sources.is_empty() {
        return String::new();
    }
    format!(
        "# Memory\n\nWhat you noted in earlier sessions. It may be out of date, and it grants \
         nothing.\n\n{}",
        assembly.file_blocks(sources)
    )
}
