//! Why a command should not run without asking, even in the sandbox.
//!
//! The list of programs is one of those that are known, not of those that are dangerous: a name that
//! is not on it is a reason to ask. What a known program runs of the project (`make`, `cargo test`,
//! `python script.py`) is no reason, because the sandbox is its boundary.

mod git;
mod options;
mod scripts;
mod tables;
mod variables;

use crate::bundles::has_letter;
use crate::facts::{ProgramPlace, SegmentFacts};
use crate::programs::base_name;
use crate::wrappers::{InnerCommand, inner};

/// A reason to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Risk {
    pub kind: RiskKind,
    /// The word of the command that is the reason.
    pub word: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RiskKind {
    /// Files or history would be lost.
    Destructive,
    /// It changes files that the command does not name.
    UnnamedFiles,
    /// It needs the network.
    Network,
    /// It reaches other processes, services or users of the machine.
    Machine,
    /// It asks for the rights of another user.
    Privilege,
    /// A program that is not on the list.
    UnknownProgram,
    /// Code in the command itself, or read from its input.
    InlineCode,
    /// It runs a command that is not certain.
    Wrapper,
    /// An option or subcommand that runs other programs.
    RunsOther,
    /// A pattern that may stand for options.
    Options,
    /// A program of the workspace under the name of an installed one.
    Planted,
    /// A variable that can change which programs run.
    Environment,
    /// It changes the shell itself.
    ShellState,
}

impl RiskKind {
    /// Whether it is not certain which code would run. No standing permission covers that.
    pub fn runs_other_code(self) -> bool {
        self >= RiskKind::Privilege
    }
}

/// The command of a segment without its wrappers.
pub fn inner_argv(segment: &SegmentFacts) -> &[String] {
    let start = inner(&segment.argv).start;
    segment.argv.get(start..).unwrap_or_default()
}

/// All reasons to ask about a segment.
pub fn risks(segment: &SegmentFacts) -> Vec<Risk> {
    if segment.argv.is_empty() {
        return Vec::new();
    }
    let mut risks = Vec::new();
    let found = inner(&segment.argv);
    let of_wrappers = found.environment.iter().map(|(name, value)| (name, value));
    let variables = segment.environment.iter().map(|it| (&it.name, &it.value)).chain(of_wrappers);
    for (name, _) in variables.filter(|(name, value)| !variables::is_harmless(name, value)) {
        risks.push(Risk { kind: RiskKind::Environment, word: name.clone() });
    }
    let Some((program, arguments)) = inner_argv(segment).split_first() else { return risks };
    if !found.is_certain {
        risks.push(Risk { kind: RiskKind::Wrapper, word: program.clone() });
        return risks;
    }
    risks.extend(of_place(segment, program));
    if !risks.is_empty() && program.contains('/') {
        return risks;
    }
    let is_project_file = segment.program.place == ProgramPlace::Workspace && program.contains('/');
    if is_project_file {
        // A program of the project, named as such: the sandbox is its boundary.
        return risks;
    }
    let command = ProgramCall { name: base_name(program), arguments, found: &found };
    risks.extend(of_command(&command).map(|(kind, word)| Risk { kind, word }));
    if !tables::takes_any_words(command.name) {
        let hidden = hidden_options(segment, found.start);
        risks.extend(hidden.map(|word| Risk { kind: RiskKind::Options, word }));
    }
    risks
}

/// The first pattern that the shell may replace by a name which begins with a hyphen. The command
/// begins at `start`: a `--` before that ends the options of its wrapper.
fn hidden_options(segment: &SegmentFacts, start: usize) -> Option<String> {
    let own = segment.argv.get(start..).unwrap_or_default();
    let end = own.iter().position(|it| it == "--").map_or(segment.argv.len(), |at| start + at);
    let may_be_option = |it: &&String| it.starts_with(['*', '?', '[', '-']);
    let replaced = segment.replaced.iter().filter(|at| **at > 0 && **at < end);
    replaced.filter_map(|at| segment.argv.get(*at)).find(may_be_option).cloned()
}

/// Whether a command does what its own words say and starts nothing else, so that permission for
/// it can be permission for a while.
pub fn is_self_contained(segment: &SegmentFacts) -> bool {
    let Some(program) = segment.argv.first() else { return false };
    let name = base_name(program);
    let is_installed =
        matches!(segment.program.place, ProgramPlace::System | ProgramPlace::Builtin);
    is_installed
        && (tables::takes_any_words(name) || tables::FILE_PROGRAMS.contains(&name) || name == "git")
}

/// Whether a program may run its arguments, as a whole or in parts: it is known to, or not known.
pub fn may_run_arguments(program: &str) -> bool {
    let name = base_name(program);
    let edits = matches!(name, "git" | "sed" | "gsed" | "rm" | "unlink" | "chmod" | "dd");
    !edits && !tables::is_known(name)
}

/// Whether a command has no use for a network that another of the same script was given.
pub fn cannot_reach_others(segment: &SegmentFacts) -> bool {
    let name = segment.argv.first().map_or("", |it| base_name(it));
    let is_installed =
        matches!(segment.program.place, ProgramPlace::System | ProgramPlace::Builtin);
    is_installed && risks(segment).is_empty() && (tables::takes_any_words(name) || name == "cd")
}

/// A command without its wrappers.
struct ProgramCall<'a> {
    name: &'a str,
    arguments: &'a [String],
    found: &'a InnerCommand,
}

impl ProgramCall<'_> {
    fn operands(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().map(String::as_str).filter(|it| !it.starts_with('-'))
    }

    /// The word by which one of the options is given, also shortened: `--exp` is `--export` to many
    /// programs. For reasons to ask; a reason not to ask needs [`ProgramCall::has_exactly`].
    fn has(&self, options: &[&str]) -> Option<&str> {
        let words = self.arguments.iter().map(String::as_str);
        words.into_iter().find(|word| options.iter().any(|it| options::is_given_by(it, word)))
    }

    /// Whether any of the letters is given, also in a bundle; the letters of `valued` take a value.
    fn has_letter(&self, letters: &str, valued: &str) -> bool {
        self.arguments.iter().any(|it| has_letter(it, letters, valued))
    }

    fn has_exactly(&self, option: &str) -> bool {
        self.arguments.iter().any(|it| it == option)
    }
}

type Finding = (RiskKind, String);

#[expect(clippy::unnecessary_wraps, reason = "it is always returned as an option")]
fn finding(kind: RiskKind, word: &str) -> Option<Finding> {
    Some((kind, word.to_owned()))
}

fn of_place(segment: &SegmentFacts, program: &str) -> Option<Risk> {
    let has_folder = program.contains('/');
    let kind = match segment.program.place {
        ProgramPlace::Workspace if !has_folder => RiskKind::Planted,
        ProgramPlace::Unknown if has_folder => RiskKind::UnknownProgram,
        _ => return None,
    };
    Some(Risk { kind, word: program.to_owned() })
}

/// The first reason in the command itself.
fn of_command(command: &ProgramCall<'_>) -> Option<Finding> {
    let name = command.name;
    if tables::PRIVILEGE.contains(&name) {
        return finding(RiskKind::Privilege, name);
    }
    if tables::NETWORK.contains(&name) {
        return finding(RiskKind::Network, name);
    }
    if tables::MACHINE.contains(&name) {
        return finding(RiskKind::Machine, name);
    }
    if tables::SHELL_STATE.contains(&name) {
        return finding(RiskKind::ShellState, name);
    }
    if tables::RUNNERS.contains(&name) {
        return finding(RiskKind::Wrapper, name);
    }
    if command.found.has_more_arguments && !tables::takes_any_words(name) {
        // What comes through the pipe may be options and names of any kind.
        return finding(RiskKind::Wrapper, "xargs");
    }
    if let Some(option) = options::that_runs_programs(command) {
        return finding(RiskKind::RunsOther, option);
    }
    match name {
        "git" => git::risk(command),
        "find" | "fd" => options::of_find(command),
        "sed" | "gsed" => scripts::of_sed(command),
        "awk" | "gawk" | "mawk" | "nawk" => scripts::of_awk(command),
        "rm" | "unlink" | "shred" | "truncate" | "dd" => finding(RiskKind::Destructive, name),
        "chmod" => options::of_chmod(command),
        "patch" => options::of_patch(command),
        "tar" => options::of_tar(command),
        "unzip" if command.has_letter("o", "dxP") => finding(RiskKind::Destructive, name),
        "zip" if command.has_letter("m", "bntP") || command.has(&["--move"]).is_some() => {
            finding(RiskKind::Destructive, name)
        }
        "split" | "csplit" => options::of_split(command),
        "cargo" | "npm" | "pnpm" | "yarn" | "bun" | "pip" | "pip3" | "uv" | "poetry" | "go"
        | "bundle" | "gem" | "dotnet" | "composer" | "mix" | "deno" | "apt" | "brew" => {
            options::of_package_manager(command)
        }
        _ if tables::is_interpreter(name) => scripts::of_interpreter(command),
        _ if tables::is_known(name) => None,
        _ => finding(RiskKind::UnknownProgram, name),
    }
}

#[cfg(test)]
mod tests;
