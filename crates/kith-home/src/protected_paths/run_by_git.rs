//! What the owner's repositories make git run besides what lies in `.git`: programs and folders of hooks
//! that settings name, further files of settings, and links in the folder of hooks.

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::read_up_to;
use crate::placeholder::StandIn;

/// Bytes of a file of git's settings that are read. What stands after them is not known.
const GIT_CONFIG_BYTES_MAX: u64 = 256 * 1024;
/// Files of settings that are read for one look.
const GIT_CONFIG_FILES_MAX: usize = 32;
/// Paths that are found in one look.
const GIT_PROGRAMS_MAX: usize = 512;
/// Words of a setting that are looked at.
const SETTING_WORDS_MAX: usize = 64;
/// Entries of a folder of hooks.
const HOOKS_MAX: usize = 256;

/// Hooks of a repository on the owner's machine.
const HOOKS: [&str; 16] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
];

/// Settings that name a program, with the section they stand in; `*` is any.
const PROGRAMS: [(&str, &[&str]); 19] = [
    ("alias", &["*"]),
    ("browser", &["cmd", "path"]),
    (
        "core",
        &[
            "alternaterefscommand",
            "askpass",
            "editor",
            "fsmonitor",
            "gitproxy",
            "pager",
            "sshcommand",
        ],
    ),
    ("credential", &["helper"]),
    ("diff", &["command", "external", "textconv"]),
    ("difftool", &["cmd", "path"]),
    ("filter", &["clean", "process", "smudge"]),
    ("gpg", &["defaultkeycommand", "program"]),
    ("hook", &["command"]),
    ("interactive", &["difffilter"]),
    ("man", &["cmd", "path"]),
    ("merge", &["driver"]),
    ("mergetool", &["cmd", "path"]),
    ("pager", &["*"]),
    ("remote", &["receivepack", "uploadpack"]),
    ("sendemail", &["sendmailcmd", "smtpserver", "tocmd", "cccmd", "headercmd"]),
    ("sequence", &["editor"]),
    ("trailer", &["cmd", "command"]),
    ("uploadpack", &["packobjectshook"]),
];

/// Collects what git would run.
#[derive(Default)]
pub(super) struct GitPrograms {
    /// Each with what can stand for it where it is absent.
    pub(super) found: Vec<(PathBuf, StandIn)>,
    read: Vec<PathBuf>,
}

impl GitPrograms {
    /// Of the repository whose root this folder is, if it is one.
    pub(super) fn add_repository(&mut self, root: &Path, user_home: Option<&Path>) {
        let Some(inside) = inside_of(root) else { return };
        let common = text_of(&inside.join("commondir")).map(|it| inside.join(it.trim()));
        for folder in [Some(inside), common].into_iter().flatten() {
            self.add_links(&folder.join("hooks"));
            for name in ["config", "config.worktree"] {
                self.add_settings(&folder.join(name), root, user_home);
            }
        }
    }

    /// Of a file of settings, for the repository in `root`.
    pub(super) fn add_settings(&mut self, file: &Path, root: &Path, user_home: Option<&Path>) {
        if self.read.len() >= GIT_CONFIG_FILES_MAX || self.read.iter().any(|it| it == file) {
            return;
        }
        self.read.push(file.to_owned());
        let Some(text) = text_of(file) else { return };
        let expand = |value: &str, base: &Path| match (value.strip_prefix("~/"), user_home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(value),
        };
        for setting in settings(&text) {
            let GitSetting { section, name, value } = &setting;
            match (section.as_str(), name.as_str()) {
                ("include" | "includeif", "path") => {
                    let further = expand(value, file.parent().unwrap_or(root));
                    // Git stops at a folder, and passes over what is empty.
                    self.found.push((further.clone(), StandIn::EmptyFile));
                    self.add_settings(&further, root, user_home);
                }
                ("core", "hookspath") => self.add_hooks(&expand(value, root), root),
                ("init", "templatedir") => self.add(expand(value, root)),
                _ if setting.names_a_program() => self.add_words(value, |it| expand(it, root)),
                _ => (),
            }
        }
    }

    fn add(&mut self, path: PathBuf) {
        if self.found.len() < GIT_PROGRAMS_MAX && !self.found.iter().any(|it| it.0 == path) {
            self.found.push((path, StandIn::Folder));
        }
    }

    fn add_hooks(&mut self, folder: &Path, root: &Path) {
        let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        if root.starts_with(&real) {
            // The project itself: the hooks in it, and not all of it.
            for name in HOOKS {
                self.add(folder.join(name));
            }
        } else {
            self.add(folder.to_owned());
        }
        self.add_links(folder);
    }

    fn add_links(&mut self, folder: &Path) {
        let entries = fs::read_dir(folder).into_iter().flatten().take(HOOKS_MAX).flatten();
        for entry in entries.filter(|it| it.file_type().is_ok_and(|it| it.is_symlink())) {
            self.add(entry.path());
        }
    }

    /// The files that a command line names. Git runs it in the root of the repository.
    fn add_words(&mut self, value: &str, expand: impl Fn(&str) -> PathBuf) {
        let is_between = |it: char| it.is_whitespace() || "!;|&()<>\"'`$={}".contains(it);
        let words = value.split(is_between).filter(|it| !it.is_empty()).take(SETTING_WORDS_MAX);
        let is_file = |it: &Path| fs::symlink_metadata(it).is_ok_and(|it| !it.is_dir());
        for (n_before, word) in words.enumerate() {
            let path = expand(word);
            // After `$(git rev-parse --show-toplevel)` the rest begins like an absolute path.
            let in_root = expand(word.trim_start_matches('/'));
            let is_first = n_before == 0;
            if is_first && !word.contains('/') {
                // Found in the search path.
            } else if is_file(&path) || is_first && !word.starts_with('/') {
                self.add(path);
            } else if is_file(&in_root) {
                self.add(in_root);
            }
        }
    }
}

/// The inside of the repository whose root this folder is.
fn inside_of(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if fs::metadata(&git).ok()?.is_dir() {
        return Some(git);
    }
    let text = text_of(&git)?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

fn text_of(path: &Path) -> Option<String> {
    let bytes = read_up_to(path, GIT_CONFIG_BYTES_MAX)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// One of git's settings. Its section and its name are in small letters.
#[derive(Debug, PartialEq, Eq)]
struct GitSetting {
    section: String,
    name: String,
    value: String,
}

impl GitSetting {
    fn names_a_program(&self) -> bool {
        let known = PROGRAMS.iter().find(|it| it.0 == self.section);
        let is_named =
            known.is_some_and(|(_, names)| names.iter().any(|it| *it == "*" || *it == self.name));
        // Any other alias is one of git's own commands.
        is_named && (self.section != "alias" || self.value.trim_start().starts_with('!'))
    }
}

/// The settings of a file, as git reads them. What git refuses is read as well as can be.
fn settings(text: &str) -> Vec<GitSetting> {
    let mut found = Vec::new();
    let mut section = String::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    while !rest.is_empty() {
        rest = rest.trim_start();
        if let Some(heading) = rest.strip_prefix('[') {
            let end = heading.find([']', '\n']).unwrap_or(heading.len());
            let end = end_of_heading(heading).unwrap_or(end);
            let name = heading[..end].split([' ', '\t', '.', '"']).next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            rest = heading[end..].trim_start_matches(']');
            continue;
        }
        let (line, after) = logical_line(rest);
        rest = after;
        if let Some((name, value)) = line.split_once('=') {
            let name = name.trim().to_ascii_lowercase();
            found.push(GitSetting {
                section: section.clone(),
                name,
                value: value.trim().to_owned(),
            });
        }
    }
    found
}

/// A heading may hold a name in quotes, and that may hold a bracket.
fn end_of_heading(heading: &str) -> Option<usize> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, it) in heading.char_indices() {
        match it {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ']' if !is_quoted => return Some(at),
            _ => (),
        }
    }
    None
}

/// The next line without comments, quotes and line breaks that are escaped, and what follows it.
fn logical_line(text: &str) -> (String, &str) {
    let mut line = String::new();
    let mut is_quoted = false;
    let mut chars = text.char_indices();
    while let Some((at, it)) = chars.next() {
        match it {
            '\n' => return (line, &text[at + 1..]),
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => {
                let end = text[at..].find('\n').map_or(text.len(), |it| at + it + 1);
                return (line, &text[end..]);
            }
            '\\' => match chars.next() {
                Some((_, '\n')) | None => (),
                Some((_, 't' | 'n' | 'b')) => line.push(' '),
                Some((_, other)) => line.push(other),
            },
            _ => line.push(it),
        }
    }
    (line, "")
}

#[cfg(test)]
mod tests;
