//! The tools a model may call, one file each.
//!
//! A tool looks first and acts later, and whatever goes wrong is text for the model. Read in this
//! order:
//!
//! - [`roots`]: the folders that tools may read, and the only way to open something in them.
//! - `folder`: a folder held by its descriptor; what counts as a text file.
//! - `walk`: what lies beneath a folder, in order, without what is ignored.
//! - `glob`: a pattern for the paths beneath a folder.
//! - `display`: names and numbers as the model reads them.
//! - [`shell_lookup`]: what a shell command names, looked up on the disk.
//! - [`trust`]: how far the text of a result is trusted.
//! - `call`: what all tools do around their own work.
//! - [`sandbox`]: processes, and the walls around them.
//! - `read_file`, `list_files`, `search_files`, [`skill`]: the tools.

use std::sync::Arc;

use kith_vocab::tool::Tool;

use crate::call::FileTool;
use crate::list_files::ListFiles;
use crate::read_file::ReadFile;
use crate::roots::Roots;
use crate::search_files::SearchFiles;
use crate::skill::{ListSkills, Skill};
use crate::trust::TrustOf;

mod folder;
mod glob;
mod hard_links;
pub mod roots;
pub mod sandbox;
pub mod shell_lookup;
mod walk;

mod call;
mod display;
pub mod trust;

mod list_files;
mod read_file;
mod search_files;
pub mod skill;

/// The built-in tools, in the order in which a model is told of them.
///
/// The order is fixed because the tool list is at the front of every request: another order
/// would be another prefix, and no vendor's cache would know it.
///
/// `skill` is among them also where there are no skills: the list is frozen with the session, and
/// skills may come later.
///
/// `trust_of` is asked at each call with the real paths of what its result quotes.
pub fn built_in(roots: Arc<Roots>, skills: ListSkills, trust_of: TrustOf) -> Vec<Arc<dyn Tool>> {
    let read_file = ReadFile { roots: Arc::clone(&roots), trust_of: Arc::clone(&trust_of) };
    let list_files = ListFiles { roots: Arc::clone(&roots), trust_of: Arc::clone(&trust_of) };
    let search_files = SearchFiles { roots: Arc::clone(&roots), trust_of: Arc::clone(&trust_of) };
    let skill = Skill { roots, skills, trust_of };
    vec![
        Arc::new(FileTool::new(read_file)),
        Arc::new(FileTool::new(list_files)),
        Arc::new(FileTool::new(search_files)),
        Arc::new(FileTool::new(skill)),
    ]
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
