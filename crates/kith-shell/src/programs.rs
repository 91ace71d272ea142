//! What programs do with their arguments, as far as their words tell.
//!
//! The tables say which words are paths, and what becomes of them. They need not be complete: the
//! sandbox is the boundary. They keep people from being asked about `sed '/x/d' file`, and make sure
//! that they are asked about `cp x ~/.bashrc`.

use crate::facts::PathIntent;
use crate::word::{Word, WordForm};

/// Commands that are part of the shell itself.
const BUILTINS: [&str; 58] = [
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "umask",
    "unset",
];

/// Further commands of the shell, which change what it does.
const MORE_BUILTINS: [&str; 4] = ["ulimit", "unalias", "wait", "coproc"];

pub fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name) || MORE_BUILTINS.contains(&name)
}

/// The name of a program without its folder.
pub fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The words that may be paths, each with what becomes of it.
pub fn paths_of(words: &[Word]) -> Vec<(Word, PathIntent)> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let name = base_name(&program.text);
    let mut paths = match name {
        "echo" | "printf" | ":" | "true" | "false" | "exit" | "test" | "expr" | "seq"
        | "basename" | "dirname" => Vec::new(),
        "rm" | "rmdir" | "unlink" | "shred" => all(arguments, PathIntent::Delete),
        "tee" if has_flag(arguments, 'a', "--append") => all(arguments, PathIntent::Append),
        "tee" | "truncate" => all(arguments, PathIntent::Replace),
        "touch" | "mkdir" | "mkfifo" | "mknod" => all(arguments, PathIntent::Append),
        "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" => {
            but_first(arguments, PathIntent::Write)
        }
        "cp" | "install" | "rsync" | "scp" | "ln" | "link" => to_last(arguments, PathIntent::Read),
        "mv" => to_last(arguments, PathIntent::Write),
        "sed" | "gsed" => edited(arguments, &["-e", "-f", "--expression", "--file"]),
        "perl" | "ruby" => edited(arguments, &["-e", "-E"]),
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" => {
            after_pattern(arguments, &["-e", "-f", "--regexp", "--file", "--files"])
        }
        "awk" | "gawk" | "mawk" | "nawk" => after_pattern(arguments, &["-f", "--file"]),
        "jq" | "yq" => after_pattern(arguments, &["-f", "--from-file"]),
        "dd" => of_dd(arguments),
        "find" => of_find(arguments),
        _ => all(arguments, PathIntent::Read),
    };
    paths.extend(of_options(arguments));
    paths
}

fn is_option(word: &Word) -> bool {
    word.text.len() > 1 && word.text.starts_with('-') && word.form != WordForm::Home
}

fn operands(arguments: &[Word]) -> Vec<Word> {
    let mut operands = Vec::new();
    let mut are_all = false;
    for word in arguments {
        if !are_all && word.text == "--" {
            are_all = true;
        } else if are_all || !is_option(word) {
            operands.push(word.clone());
        }
    }
    operands
}

fn has_flag(arguments: &[Word], short: char, long: &str) -> bool {
    let is_short =
        |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains(short);
    arguments.iter().any(|it| it.text == long || is_short(&it.text))
}

fn all(arguments: &[Word], intent: PathIntent) -> Vec<(Word, PathIntent)> {
    operands(arguments).into_iter().map(|word| (word, intent)).collect()
}

fn but_first(arguments: &[Word], intent: PathIntent) -> Vec<(Word, PathIntent)> {
    operands(arguments).into_iter().skip(1).map(|word| (word, intent)).collect()
}

/// The last operand is written, unless `-t` names the folder; the others are `sources`.
fn to_last(arguments: &[Word], sources: PathIntent) -> Vec<(Word, PathIntent)> {
    let mut operands = operands(arguments);
    let target = arguments.windows(2).find_map(|pair| match pair {
        [option, target] if matches!(option.text.as_str(), "-t" | "--target-directory") => {
            Some(target.clone())
        }
        _ => None,
    });
    let target = target.or_else(|| operands.pop());
    let mut paths = Vec::new();
    if let Some(target) = target {
        // Into a folder, each file gets its own name.
        for source in &operands {
            let inside =
                format!("{}/{}", target.text.trim_end_matches('/'), base_name(&source.text));
            paths.push((Word { text: inside, form: target.form }, PathIntent::Replace));
        }
        paths.push((target, PathIntent::Replace));
    }
    paths.extend(operands.into_iter().map(|word| (word, sources)));
    paths
}

/// Files after a script, changed in place with `-i`.
fn edited(arguments: &[Word], scripts: &[&str]) -> Vec<(Word, PathIntent)> {
    let in_place = arguments.iter().any(|it| {
        it.text.starts_with("--in-place")
            || (it.text.starts_with('-') && !it.text.starts_with("--") && it.text.contains('i'))
    });
    let intent = if in_place { PathIntent::Write } else { PathIntent::Read };
    let mut paths = after_pattern(arguments, scripts);
    for path in &mut paths {
        path.1 = intent;
    }
    paths
}

/// All operands but the first, which is a pattern unless one of the options gave it.
fn after_pattern(arguments: &[Word], options: &[&str]) -> Vec<(Word, PathIntent)> {
    let is_given = |text: &str| options.iter().any(|it| text.starts_with(it));
    let given = arguments.iter().any(|it| is_given(&it.text));
    let n_skipped = usize::from(!given);
    operands(arguments).into_iter().skip(n_skipped).map(|it| (it, PathIntent::Read)).collect()
}

fn of_dd(arguments: &[Word]) -> Vec<(Word, PathIntent)> {
    let path = |word: &Word| {
        let (key, value) = word.text.split_once('=')?;
        let intent = match key {
            "if" => PathIntent::Read,
            "of" => PathIntent::Replace,
            _ => return None,
        };
        Some((Word { text: value.to_owned(), form: word.form }, intent))
    };
    arguments.iter().filter_map(path).collect()
}

/// The folders before the first test, and the files that tests write.
fn of_find(arguments: &[Word]) -> Vec<(Word, PathIntent)> {
    let deletes = arguments.iter().any(|it| it.text == "-delete");
    let intent = if deletes { PathIntent::Delete } else { PathIntent::Read };
    let is_test =
        |word: &&Word| !(word.text.starts_with('-') || matches!(word.text.as_str(), "!" | "("));
    let folders = arguments.iter().skip_while(|it| matches!(it.text.as_str(), "-L" | "-P" | "-H"));
    let mut paths: Vec<(Word, PathIntent)> =
        folders.take_while(is_test).map(|it| (it.clone(), intent)).collect();
    for pair in arguments.windows(2) {
        if let [option, file] = pair
            && matches!(option.text.as_str(), "-fprint" | "-fprintf" | "-fprint0" | "-fls")
        {
            paths.push((file.clone(), PathIntent::Replace));
        }
    }
    paths
}

/// `-o FILE` and `--output=FILE` are written, values of other options may be read.
fn of_options(arguments: &[Word]) -> Vec<(Word, PathIntent)> {
    let mut paths = Vec::new();
    for pair in arguments.windows(2) {
        if let [option, value] = pair
            && matches!(option.text.as_str(), "-o" | "--output" | "--out" | "--output-file")
        {
            paths.push((value.clone(), PathIntent::Write));
        }
    }
    for word in arguments.iter().filter(|it| is_option(it)) {
        if let Some((option, value)) = word.text.split_once('=') {
            let writes = matches!(option, "--output" | "--out" | "--output-file");
            let intent = if writes { PathIntent::Write } else { PathIntent::Read };
            paths.push((Word { text: value.to_owned(), form: word.form }, intent));
        }
    }
    paths
}
