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
//! - `random_name`: names of temporary files.
//! - [`launch`]: programs that are started for the owner; [`service_file`]: how the system starts the
//!   daemon.
//! - `schema`: input schemas from types.
//! - [`read_log`]: which files a session knows.
//! - [`file_claims`]: which calls may change files at the same time.
//! - `change_file`: a file changed whole or not at all.
//! - `read_file`, `list_files`, `search_files`, [`skill`], `write_file`, `edit_file`, [`exec_shell`],
//!   `background_tools`, `todo_write`, `fetch_url`, [`session_search`], `use_tool`: the tools.

use std::path::Path;
use std::sync::Arc;

use kith_home::zones::Places;
use kith_vocab::tool::Tool;

use crate::call::FileTool;
use crate::change_file::FileChanger;
use crate::exec_shell::CommandSetup;
use crate::file_claims::FileClaims;
use crate::list_files::ListFiles;
use crate::read_file::ReadFile;
use crate::read_log::{NotedRead, ReadLog};
use crate::roots::{Roots, RootsError};
use crate::sandbox::plan::SandboxPlaces;
use crate::search_files::SearchFiles;
use crate::shell_lookup::DiskLookup;
use crate::skill::{ListSkills, Skill};
use crate::trust::TrustOf;

mod folder;
mod glob;
mod hard_links;
pub mod launch;
mod random_name;
pub mod roots;
pub mod sandbox;
pub mod service_file;
pub mod shell_lookup;
mod walk;

mod call;
mod change_file;
mod display;
pub mod file_claims;
pub mod read_log;
mod schema;
pub mod trust;

mod background_tools;
mod edit_file;
pub mod exec_shell;
mod fetch_url;
mod list_files;
mod read_file;
mod search_files;
pub mod session_search;
pub mod skill;
mod todo_write;
mod use_tool;
mod write_file;

/// What the tools of a session are made of.
pub struct ToolSetup {
    pub roots: Arc<Roots>,
    pub skills: ListSkills,
    /// Asked at each call with the real paths of what its result quotes.
    pub trust_of: TrustOf,
    pub places: Arc<Places>,
    /// Lives longer than a turn: what was read in one may be replaced in the next.
    pub reads: Arc<ReadLog>,
    /// One for all sessions of a host.
    pub claims: Arc<FileClaims>,
    pub commands: CommandSetup,
    /// Tools of others, reached through `use_tool`.
    pub further: Vec<Arc<dyn Tool>>,
}

impl ToolSetup {
    /// For a folder that is neither a house nor a home, as benchmarks use it.
    pub fn of_folder(folder: &Path, trust_of: TrustOf) -> Result<ToolSetup, RootsError> {
        let places = Places {
            workspace: vec![folder.to_owned()],
            cwd: folder.to_owned(),
            ..Places::default()
        };
        let sandbox = SandboxPlaces {
            workspace: folder.to_owned(),
            cwd: folder.to_owned(),
            house: folder.to_owned(),
            ..SandboxPlaces::default()
        };
        let lookup = DiskLookup { places: places.clone(), program_folders: Vec::new() };
        Ok(ToolSetup {
            roots: Arc::new(Roots::new(folder, vec![folder.to_owned()])?),
            skills: Arc::new(Vec::new),
            places: Arc::new(places),
            reads: Arc::default(),
            claims: Arc::default(),
            commands: CommandSetup {
                lookup,
                places: sandbox,
                variables: Vec::new(),
                supervisor: None,
                background: Arc::default(),
                output_trust: Arc::clone(&trust_of),
                times: None,
            },
            trust_of,
            further: Vec::new(),
        })
    }
}

/// The names of all tools that this crate has, for those who may not repeat a name that a model wrote.
pub const TOOL_NAMES: [&str; 13] = [
    "read_file",
    "list_files",
    "search_files",
    "skill",
    "write_file",
    "edit_file",
    "exec_shell",
    "exec_output",
    "exec_stop",
    "use_tool",
    "todo_write",
    "fetch_url",
    "session_search",
];

/// The built-in tools, in the order in which a model is told of them.
///
/// The order is fixed because the tool list is at the front of every request: another order
/// would be another prefix, and no vendor's cache would know it.
///
/// `skill` is among them also where there are no skills: the list is frozen with the session, and
/// skills may come later. What is seldom needed is behind `use_tool`.
pub fn built_in(setup: ToolSetup) -> Vec<Arc<dyn Tool>> {
    let ToolSetup { roots, skills, trust_of, places, reads, claims, commands, further } = setup;
    let read_file = ReadFile { roots: Arc::clone(&roots), trust_of: Arc::clone(&trust_of) };
    let read_file = NotedRead { tool: FileTool::new(read_file), log: Arc::clone(&reads) };
    let list_files = ListFiles { roots: Arc::clone(&roots), trust_of: Arc::clone(&trust_of) };
    let search_files = SearchFiles { roots: Arc::clone(&roots), trust_of: Arc::clone(&trust_of) };
    let changer = FileChanger {
        roots: Arc::clone(&roots),
        places,
        reads,
        claims: Arc::clone(&claims),
        trust_of: Arc::clone(&trust_of),
    };
    let mut behind = vec![todo_write::tool(), fetch_url::tool()];
    behind.extend(background_tools::tools(&commands.background));
    behind.extend(further);
    vec![
        Arc::new(read_file),
        write_file::tool(changer.clone()),
        edit_file::tool(changer),
        Arc::new(FileTool::new(list_files)),
        Arc::new(FileTool::new(search_files)),
        exec_shell::tool(commands, claims),
        Arc::new(FileTool::new(Skill { roots, skills, trust_of })),
        use_tool::tool(behind),
    ]
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
