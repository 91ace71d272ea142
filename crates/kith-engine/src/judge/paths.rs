//! What the zones of paths mean for a verdict.

use kith_shell::facts::{PathFacts, PathIntent};
use kith_vocab::facts::{PathCallFacts, PathEntry, Zone};
use kith_vocab::policy::Question;

use super::{Objection, ObjectionAnswer};

/// Files and folders of a project by which programs that people start later run other code.
const RUN_LATER_NAMES: [&str; 17] = [
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".envrc",
    ".bazelrc",
    ".gitmodules",
    ".gitattributes",
    ".pre-commit-config.yaml",
    ".mcp.json",
    ".bashrc",
    ".profile",
    ".zshrc",
    ".gdbinit",
    "CLAUDE.md",
    "GEMINI.md",
    ".cursorrules",
];
const RUN_LATER_FOLDERS: [&str; 8] =
    [".cargo", ".husky", ".vscode", ".idea", ".devcontainer", ".claude", ".cursor", ".githooks"];

pub(super) fn of_write(facts: &PathCallFacts, question: &Question<'_>) -> Vec<Objection> {
    let path = &facts.path;
    let objection = |answer, reason: String| vec![Objection::new(answer, reason)];
    match facts.zone {
        Zone::Workspace if runs_later(path) => objection(
            ObjectionAnswer::Permission,
            format!("`{path}` can make other programs run code"),
        ),
        Zone::Temporary | Zone::Workspace => Vec::new(),
        Zone::System | Zone::Outside => {
            objection(ObjectionAnswer::Permission, format!("`{path}` lies outside the workspace"))
        }
        Zone::Device => objection(ObjectionAnswer::Person, format!("`{path}` is a device")),
        Zone::Oneself | Zone::Secret => of_self(facts, question),
    }
}

pub(super) fn of_self(facts: &PathCallFacts, question: &Question<'_>) -> Vec<Objection> {
    let path = &facts.path;
    if facts.zone == Zone::Secret {
        let reason = format!("`{path}` holds keys or Kith's own records");
        return vec![Objection::new(ObjectionAnswer::Person, reason)];
    }
    let (answer, note) = if question.is_tainted {
        (ObjectionAnswer::Person, ", and untrusted text was read before")
    } else {
        (ObjectionAnswer::Permission, "")
    };
    vec![Objection::new(answer, format!("it changes what the agent is (`{path}`){note}"))]
}

/// The reason to ask about a path that a command names, unless there is none.
pub(super) fn of_command(facts: &PathFacts) -> Option<Objection> {
    let PathFacts { path, zone, entry, intent } = facts;
    let reads = *intent == PathIntent::Read;
    let (answer, reason) = match zone {
        Zone::Secret => {
            (ObjectionAnswer::Person, format!("`{path}` holds keys or Kith's own records"))
        }
        Zone::Oneself if !reads => {
            (ObjectionAnswer::Person, format!("it changes what the agent is (`{path}`)"))
        }
        Zone::Device => (ObjectionAnswer::Person, format!("`{path}` is a device or of the kernel")),
        Zone::System if !reads => {
            (ObjectionAnswer::Permission, format!("`{path}` belongs to the system"))
        }
        Zone::Outside if !reads || *entry != PathEntry::Absent => {
            (ObjectionAnswer::Permission, format!("`{path}` lies outside the workspace"))
        }
        Zone::Workspace if !reads && runs_later(path) => {
            (ObjectionAnswer::Permission, format!("`{path}` can make other programs run code"))
        }
        Zone::Workspace if *intent == PathIntent::Replace && *entry == PathEntry::File => {
            (ObjectionAnswer::Permission, format!("it overwrites `{path}`"))
        }
        Zone::Workspace if *intent == PathIntent::Delete && *entry != PathEntry::Absent => {
            (ObjectionAnswer::Permission, format!("it deletes `{path}`"))
        }
        Zone::Temporary | Zone::Workspace | Zone::System | Zone::Outside | Zone::Oneself => {
            return None;
        }
    };
    Some(Objection::new(answer, reason))
}

fn runs_later(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let is_name = |name: &str| RUN_LATER_NAMES.iter().any(|it| name.eq_ignore_ascii_case(it));
    let is_folder = |name: &str| RUN_LATER_FOLDERS.iter().any(|it| name.eq_ignore_ascii_case(it));
    parts.next().is_some_and(|name| is_name(name) || is_folder(name)) || parts.any(is_folder)
}
