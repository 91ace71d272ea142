//! From a script to its facts: which programs it starts, and which paths it names.
//!
//! The disk is asked through [`Lookup`], so that everything else is a function of its arguments.

use std::path::{Component, Path, PathBuf};

use kith_vocab::facts::{PathEntry, Zone};

use crate::facts::{
    EnvironmentChange, PathFacts, PathIntent, ProgramFacts, ProgramPlace, SegmentFacts, ShellFacts,
};
use crate::parse::parse;
use crate::programs::{base_name, git_subcommand, is_builtin, paths_of};
use crate::script::{
    Joint, Obstacle, ObstacleKind, Redirect, RedirectDirection, Segment, TextRange,
};
use crate::word::{Word, WordForm};
use crate::wrappers::inner;

/// Maximum number of paths that are looked up for one command.
pub const SHELL_PATHS_MAX: usize = 400;
/// Maximum number of folders in which a segment might run.
const FOLDERS_MAX: usize = 4;

/// The disk, as far as the facts of a command need it.
pub trait Lookup {
    /// What lies at an absolute path. Of the zones of its name and of what links make of it, the
    /// stricter one counts.
    fn path(&self, path: &Path) -> PathLookup;

    /// The program that a name without a slash leads to, or a path with one.
    fn program(&self, name: &str, cwd: &Path) -> ProgramFacts;

    /// What `~` means.
    fn user_home(&self) -> Option<PathBuf>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathLookup {
    /// With its links resolved as far as it exists.
    pub real: PathBuf,
    pub zone: Zone,
    pub entry: PathEntry,
}

/// A command that shall run.
#[derive(Clone, Copy, Debug)]
pub struct ShellRequest<'a> {
    pub command: &'a str,
    pub cwd: &'a Path,
    /// Whether it asks for the network, and to run outside the sandbox.
    pub network: bool,
    pub unsandboxed: bool,
}

/// Reads a command and looks up what it names.
pub fn gather(request: &ShellRequest<'_>, lookup: &dyn Lookup) -> ShellFacts {
    let script = parse(request.command);
    let mut gathering = Gathering {
        lookup,
        command: request.command,
        folders: Folders::new(request.cwd, !script.negates),
        obstacles: script.obstacles,
        n_paths: 0,
    };
    let segments = script.segments.iter().map(|it| gathering.segment(it)).collect();
    ShellFacts {
        command: request.command.to_owned(),
        cwd: request.cwd.to_string_lossy().into_owned(),
        segments,
        obstacles: gathering.obstacles,
        network: request.network,
        unsandboxed: request.unsandboxed,
    }
}

/// The folders in which the next segment may run. `cd` fails or is skipped where nobody looks, so
/// only `&&` makes its success certain, and only where no `||`, `|` or `!` came before: after these
/// a command can run although a `cd` to the left of its `&&` was skipped, failed, or changed the
/// folder of another process.
struct Folders {
    current: Vec<PathBuf>,
    seen: Vec<PathBuf>,
    subshells: Vec<(usize, Vec<PathBuf>)>,
    is_certain: bool,
}

impl Folders {
    fn new(cwd: &Path, is_certain: bool) -> Folders {
        let cwd = vec![cwd.to_owned()];
        Folders { current: cwd.clone(), seen: cwd, subshells: Vec::new(), is_certain }
    }

    fn enter(&mut self, segment: &Segment) {
        let around = &segment.subshells;
        while self.subshells.last().is_some_and(|(number, _)| !around.contains(number)) {
            if let Some((_, before)) = self.subshells.pop() {
                self.current = before;
            }
        }
        for number in around {
            if !self.subshells.iter().any(|(it, _)| it == number) {
                self.subshells.push((*number, self.current.clone()));
            }
        }
        self.is_certain &= !matches!(segment.joint, Joint::Or | Joint::Pipe);
        if !self.is_certain || segment.joint == Joint::Then {
            self.current.clone_from(&self.seen);
        }
    }

    fn change(&mut self, folder: PathBuf) {
        if !self.seen.contains(&folder) {
            self.seen.push(folder.clone());
        }
        self.current = if self.is_certain { vec![folder] } else { self.seen.clone() };
    }
}

struct Gathering<'a> {
    lookup: &'a dyn Lookup,
    command: &'a str,
    folders: Folders,
    obstacles: Vec<Obstacle>,
    n_paths: usize,
}

impl Gathering<'_> {
    fn segment(&mut self, segment: &Segment) -> SegmentFacts {
        self.folders.enter(segment);
        let mut paths = Vec::new();
        let texts: Vec<String> = segment.words.iter().map(|it| it.text.clone()).collect();
        let words = segment.words.get(inner(&texts).start..).unwrap_or_default();
        let is_git = words.first().is_some_and(|it| base_name(&it.text) == "git");
        let subcommand = git_subcommand(words.get(1..).unwrap_or_default()).map(|(_, word)| word);
        let may_replace = !matches!(subcommand, Some("checkout" | "restore"));
        for (word, intent) in paths_of(words) {
            self.add_path(&word, intent, segment.range, &mut paths);
        }
        // The names of branches and the like look as paths do.
        paths.retain(|it| {
            let is_written = it.intent > PathIntent::Read && may_replace;
            !is_git || is_written || it.entry != PathEntry::Absent || it.zone > Zone::Workspace
        });
        for Redirect { direction, target } in &segment.redirects {
            let intent = match direction {
                RedirectDirection::Read => PathIntent::Read,
                RedirectDirection::Append => PathIntent::Append,
                RedirectDirection::Write => PathIntent::Replace,
            };
            self.add_path(target, intent, segment.range, &mut paths);
        }
        let program = self.program(words);
        self.follow_cd(segment, words);
        let is_replaced = |(index, word): (usize, &Word)| (!word.is_literal()).then_some(index);
        SegmentFacts {
            joint: segment.joint,
            argv: segment.words.iter().map(|it| it.text.clone()).collect(),
            replaced: segment.words.iter().enumerate().filter_map(is_replaced).collect(),
            environment: segment
                .assignments
                .iter()
                .map(|it| EnvironmentChange { name: it.name.clone(), value: it.value.text.clone() })
                .collect(),
            program,
            paths,
        }
    }

    fn program(&self, words: &[Word]) -> ProgramFacts {
        let unknown =
            |name: String| ProgramFacts { name, path: None, place: ProgramPlace::Unknown };
        let Some(word) = words.first() else { return unknown(String::new()) };
        if !word.is_literal() || word.text.is_empty() {
            return unknown(word.text.clone());
        }
        if is_builtin(&word.text) {
            let place = ProgramPlace::Builtin;
            return ProgramFacts { name: word.text.clone(), path: None, place };
        }
        let found = self.folders.current.iter().map(|cwd| self.lookup.program(&word.text, cwd));
        // If it depends on the folder which program runs, the one that commands can change counts.
        let rank = |place: ProgramPlace| match place {
            ProgramPlace::Workspace => 2,
            ProgramPlace::Unknown => 1,
            ProgramPlace::System | ProgramPlace::Builtin => 0,
        };
        found.max_by_key(|it| rank(it.place)).unwrap_or_else(|| unknown(word.text.clone()))
    }

    /// Takes note of a change of folder, for the relative paths that follow.
    fn follow_cd(&mut self, segment: &Segment, words: &[Word]) {
        let texts: Vec<&str> = words.iter().map(|it| it.text.as_str()).collect();
        let is_plain = words.iter().all(|it| matches!(it.form, WordForm::Literal | WordForm::Home));
        let is_wrapped = words.len() < segment.words.len();
        let target = match texts.as_slice() {
            ["cd", rest @ ..] if !is_wrapped => rest,
            // Some wrappers run the shell's own `cd`, and some a program that changes nothing.
            ["cd" | "pushd" | "popd" | "builtin", ..] => &["-"],
            _ => return,
        };
        let folder = match target {
            [] => self.lookup.user_home(),
            ["--", target] | [target] if is_plain && !target.starts_with('-') => {
                let word = words.last();
                let from = self.folders.current.first().cloned();
                word.zip(from).and_then(|(word, from)| self.absolute(word, &from))
            }
            _ => None,
        };
        // The shell leaves a folder that it entered through a link by the name, paths do so by the
        // disk: then nobody can tell where `..` is.
        let folder = folder.and_then(|it| {
            let by_name = lexical(&it);
            let is_real = |path: &Path| lexical(&self.lookup.path(path).real) == by_name;
            (is_real(&it) && is_real(&by_name)).then_some(by_name)
        });
        let is_one = self.folders.current.len() == 1 || target.iter().all(|it| it.starts_with('/'));
        match folder {
            Some(folder) if is_one && self.folders.seen.len() < FOLDERS_MAX => {
                self.folders.change(folder);
            }
            _ => self.object(ObstacleKind::Other, segment.range),
        }
    }

    fn object(&mut self, kind: ObstacleKind, range: TextRange) {
        self.obstacles.push(Obstacle::new(kind, range, self.command));
    }

    fn add_path(
        &mut self,
        word: &Word,
        intent: PathIntent,
        range: TextRange,
        paths: &mut Vec<PathFacts>,
    ) {
        for cwd in self.folders.current.clone() {
            self.n_paths += 1;
            if self.n_paths == SHELL_PATHS_MAX {
                self.object(ObstacleKind::TooLong, range);
            }
            if self.n_paths >= SHELL_PATHS_MAX {
                return;
            }
            let Some(path) = self.absolute(word, &cwd) else { continue };
            let PathLookup { real, mut zone, entry } = self.lookup.path(&path);
            // Which files of a folder a pattern means is not known, only the folder.
            if word.form == WordForm::Pattern && zone == Zone::System {
                zone = Zone::Outside;
            }
            // An argument that may as well be text is a path only if something is there.
            let is_meant = word.text.contains('/') || zone >= Zone::Oneself;
            if intent == PathIntent::Read && entry == PathEntry::Absent && !is_meant {
                continue;
            }
            let path = real.to_string_lossy().into_owned();
            let facts = PathFacts { path, zone, entry, intent };
            if !paths.contains(&facts) {
                paths.push(facts);
            }
        }
    }

    /// The path that a word names. A pattern names the folder before its first special character.
    fn absolute(&self, word: &Word, cwd: &Path) -> Option<PathBuf> {
        match word.form {
            WordForm::Literal => Some(cwd.join(&word.text)),
            WordForm::Home => {
                let rest = word.text.strip_prefix('~')?.trim_start_matches('/');
                Some(self.lookup.user_home()?.join(rest))
            }
            WordForm::Pattern => {
                let fixed = word.text.split(['*', '?', '[', '{']).next().unwrap_or_default();
                let folder = fixed.rfind('/').map_or("", |at| &fixed[..=at]);
                Some(cwd.join(folder))
            }
            WordForm::Unknown => None,
        }
    }
}

/// The path without `.` and `..`, by its words alone.
fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => (),
            part => clean.push(part),
        }
    }
    clean
}

#[cfg(test)]
mod tests;
