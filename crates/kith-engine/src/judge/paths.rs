//! What the zones of paths mean for a verdict.

use kith_shell::facts::{PathFacts, PathIntent};
use kith_vocab::facts::{PathCallFacts, PathEntry, Zone};
use kith_vocab::policy::Question;

use super::reasons::{JudgeReason, PathReason};
use super::{Objection, ObjectionAnswer};

/// Files and folders of a project by which programs that people start later run other code.
#[rustfmt::skip]
const RUN_LATER_NAMES: &[&str] = &[
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".envrc", ".bazelrc", ".gitmodules",
    ".gitattributes", ".pre-commit-config.yaml", ".mcp.json", ".bashrc", ".profile", ".zshrc",
    ".gdbinit", "CLAUDE.md", "GEMINI.md", ".cursorrules",
];
const RUN_LATER_FOLDERS: [&str; 8] =
    [".cargo", ".husky", ".vscode", ".idea", ".devcontainer", ".claude", ".cursor", ".githooks"];

fn objection(answer: ObjectionAnswer, about: PathReason, path: &str) -> Objection {
    Objection::new(answer, JudgeReason::Path { about, path: path.to_owned() })
}

pub(super) fn of_write(facts: &PathCallFacts, question: &Question<'_>) -> Vec<Objection> {
    let one = |answer, about| vec![objection(answer, about, &facts.path)];
    match facts.zone {
        Zone::Workspace if runs_later(&facts.path) => {
            one(ObjectionAnswer::Permission, PathReason::RunsLater)
        }
        Zone::Temporary | Zone::Workspace => Vec::new(),
        Zone::System | Zone::Outside => one(ObjectionAnswer::Permission, PathReason::Outside),
        Zone::Device => one(ObjectionAnswer::Person, PathReason::Device),
        Zone::Oneself | Zone::Secret => of_self(facts, question),
    }
}

/// A change of the self needs a person each time: what the agent is must not drift under a rule.
pub(super) fn of_self(facts: &PathCallFacts, question: &Question<'_>) -> Vec<Objection> {
    let about = match facts.zone {
        Zone::Secret => PathReason::Secret,
        _ if question.is_tainted => PathReason::OneselfTainted,
        _ => PathReason::Oneself,
    };
    vec![objection(ObjectionAnswer::Person, about, &facts.path)]
}

/// Reasons to ask about the paths that a command names.
pub(super) fn of_command(paths: &[PathFacts]) -> Vec<Objection> {
    let leaves = paths.iter().any(|it| it.intent > PathIntent::Read && it.zone != Zone::Workspace);
    let mut objections: Vec<Objection> =
        paths.iter().filter_map(|it| of_path(it, leaves)).collect();
    // The question tells the first one: no sandbox holds what runs later.
    let is_other = |it: &Objection| {
        !matches!(it.reason, JudgeReason::Path { about: PathReason::RunsLater, .. })
    };
    objections.sort_by_key(is_other);
    objections
}

/// `leaves`: the command also writes somewhere else, so what it moves is gone from the workspace.
fn of_path(facts: &PathFacts, leaves: bool) -> Option<Objection> {
    let PathFacts { path, zone, entry, intent } = facts;
    let reads = *intent == PathIntent::Read;
    let (answer, about) = match zone {
        Zone::Secret => (ObjectionAnswer::Person, PathReason::Secret),
        Zone::Oneself if !reads => (ObjectionAnswer::Person, PathReason::Oneself),
        Zone::Device => (ObjectionAnswer::Person, PathReason::Device),
        Zone::System if !reads => (ObjectionAnswer::Permission, PathReason::System),
        Zone::Outside if !reads || *entry != PathEntry::Absent => {
            (ObjectionAnswer::Permission, PathReason::Outside)
        }
        Zone::Workspace if !reads && runs_later(path) => {
            (ObjectionAnswer::Permission, PathReason::RunsLater)
        }
        Zone::Workspace if *intent > PathIntent::Append && is_of_git(path) => {
            (ObjectionAnswer::Permission, PathReason::OfGit)
        }
        Zone::Workspace if is_lost(*intent, *entry) => {
            (ObjectionAnswer::Permission, PathReason::Overwrites)
        }
        Zone::Workspace if *intent == PathIntent::Delete && *entry != PathEntry::Absent => {
            (ObjectionAnswer::Permission, PathReason::Deletes)
        }
        Zone::Workspace if *intent == PathIntent::Move && leaves => {
            (ObjectionAnswer::Permission, PathReason::MovesOut)
        }
        Zone::Temporary | Zone::Workspace | Zone::System | Zone::Outside | Zone::Oneself => {
            return None;
        }
    };
    Some(objection(answer, about, path))
}

/// Whether what the path held is lost to something else.
fn is_lost(intent: PathIntent, entry: PathEntry) -> bool {
    match intent {
        PathIntent::Replace => entry != PathEntry::Absent,
        PathIntent::Put => !matches!(entry, PathEntry::Absent | PathEntry::Folder),
        _ => false,
    }
}

/// Whether the path is a folder in which git keeps its records, or lies in one.
fn is_of_git(path: &str) -> bool {
    path.split('/').any(|it| it.eq_ignore_ascii_case(".git"))
}

/// Whether programs that people start later run code that the path holds or names.
pub(super) fn runs_later(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let is_name = |name: &str| RUN_LATER_NAMES.iter().any(|it| name.eq_ignore_ascii_case(it));
    let is_folder = |name: &str| RUN_LATER_FOLDERS.iter().any(|it| name.eq_ignore_ascii_case(it));
    parts.next().is_some_and(|name| is_name(name) || is_folder(name)) || parts.any(is_folder)
}
