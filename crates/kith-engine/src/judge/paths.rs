//! What the zones of paths mean for a verdict.

use kith_shell::facts::{PathFacts, PathIntent};
use kith_vocab::facts::{PathCallFacts, PathEntry, Zone};
use kith_vocab::policy::Question;

use super::reasons::{JudgeReason, PathReason};
use super::{Objection, ObjectionAnswer};

/// Files of a project by which programs that people start later run other code.
#[rustfmt::skip]
const RUN_LATER_NAMES: &[&str] = &[
    // Package managers, tool chains and builds.
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pnp.cjs", ".bazelrc", "bunfig.toml",
    "rust-toolchain", "rust-toolchain.toml", "mise.toml", ".mise.toml", ".tool-versions",
    "sitecustomize.py", "usercustomize.py",
    // Version control and what runs for it.
    ".gitmodules", ".gitattributes", ".gitconfig", ".pre-commit-config.yaml", "lefthook.yml",
    ".lefthook.yml", ".gitlab-ci.yml",
    // Shells, editors and debuggers.
    ".envrc", ".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile",
    ".zlogin", ".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el", ".gdbinit", ".lldbinit",
    ".pdbrc", ".irbrc",
    // Other agents.
    ".mcp.json", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".windsurfrules", "opencode.json",
];
/// Folders of the same kind, with all that is in them.
#[rustfmt::skip]
const RUN_LATER_FOLDERS: &[&str] = &[
    ".cargo", ".husky", ".vscode", ".idea", ".devcontainer", ".claude", ".cursor", ".githooks", ".yarn",
    ".mvn", ".gemini", ".codex",
];
/// Of some folders, only what lies here.
const RUN_LATER_PATHS: [&[&str]; 7] = [
    &[".hg", "hgrc"],
    &[".jj", "repo", "config.toml"],
    &[".github", "workflows"],
    &[".github", "copilot-instructions.md"],
    &[".zed", "tasks.json"],
    &[".bundle", "config"],
    &["bin", "activate"],
];
/// How the names of such files end.
const RUN_LATER_ENDINGS: [&str; 1] = [".pth"];

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
    let parts: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
    let Some(name) = parts.last() else { return false };
    let is_in = |names: &[&str], part: &str| names.iter().any(|it| part.eq_ignore_ascii_case(it));
    let is_at = |wanted: &[&str]| {
        let mut places = parts.windows(wanted.len());
        places.any(|it| it.iter().zip(wanted).all(|(part, it)| part.eq_ignore_ascii_case(it)))
    };
    let lower = name.to_ascii_lowercase();
    is_in(RUN_LATER_NAMES, name)
        || parts.iter().any(|it| is_in(RUN_LATER_FOLDERS, it))
        || RUN_LATER_PATHS.iter().any(|it| is_at(it))
        || RUN_LATER_ENDINGS.iter().any(|it| lower.ends_with(it))
}
