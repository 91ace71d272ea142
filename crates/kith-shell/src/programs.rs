//! What programs do with their arguments, as far as their words tell.
//!
//! The tables say which words are paths, and what becomes of them. They need not be complete: the
//! sandbox is the boundary. They keep people from being asked about `sed '/x/d' file`, and make sure
//! that they are asked about `cp x ~/.bashrc`.

use crate::bundles::{TAR_VALUED, has_letter, letter_in};
use crate::facts::PathIntent;
use crate::word::{Word, WordForm};

/// Commands that are part of the shell itself.
#[rustfmt::skip]
const BUILTINS: &[&str] = &[
    ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "compgen",
    "complete", "compopt", "continue", "coproc", "declare", "dirs", "disown", "echo", "enable",
    "eval", "exec", "exit", "export", "false", "fc", "fg", "getopts", "hash", "help", "history",
    "jobs", "kill", "let", "local", "logout", "mapfile", "popd", "printf", "pushd", "pwd", "read",
    "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "test",
    "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
];

pub fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name)
}

/// The name of a program without its folder.
pub fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The words that may be paths, each with what becomes of it.
pub fn paths_of(words: &[Word]) -> Vec<(Word, PathIntent)> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let name = base_name(&program.text);
    match git_folder(arguments).filter(|_| name == "git") {
        Some((folder, rest)) => {
            let mut paths = paths_of_arguments(name, &rest);
            for (word, _) in &mut paths {
                *word = beneath(&folder, word);
            }
            paths.push((folder, PathIntent::Read));
            paths
        }
        None => paths_of_arguments(name, arguments),
    }
}

fn paths_of_arguments(name: &str, arguments: &[Word]) -> Vec<(Word, PathIntent)> {
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
        "mv" => to_last(arguments, PathIntent::Move),
        // The second operand is where the result goes.
        "uniq" | "split" => second_is_written(arguments),
        "cpp" | "objcopy" => last_is_written(arguments),
        "lz4" => [last_is_written(arguments), unpacked(name, arguments)].concat(),
        "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "zstd" => {
            unpacked(name, arguments)
        }
        "git" => of_git(arguments),
        "sed" | "gsed" => edited(arguments, &["-e", "-f", "--expression", "--file"]),
        "perl" | "ruby" => edited(arguments, &["-e", "-E"]),
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" => {
            after_pattern(arguments, &["-e", "-f", "--regexp", "--file", "--files"])
        }
        "awk" | "gawk" | "mawk" | "nawk" => after_pattern(arguments, &["-f", "--file"]),
        "jq" | "yq" => after_pattern(arguments, &["-f", "--from-file"]),
        "tar" => of_tar(arguments),
        // The operation, the archive, its members.
        "ar" => but_first(arguments, PathIntent::Write),
        "dd" => of_dd(arguments),
        "patch" => first_is_changed(arguments),
        "find" => of_find(arguments),
        _ => all(arguments, PathIntent::Read),
    };
    paths.extend(of_options(name, arguments));
    paths.extend(arguments.iter().filter_map(response_file));
    paths
}

/// `@FILE` stands for the arguments in a file, which many programs quote when they do not like them.
fn response_file(word: &Word) -> Option<(Word, PathIntent)> {
    let file = word.text.strip_prefix('@').filter(|it| it.contains('/'))?;
    Some((Word { text: file.to_owned(), form: word.form }, PathIntent::Read))
}

fn second_is_written(arguments: &[Word]) -> Vec<(Word, PathIntent)> {
    let intent = |at| if at == 1 { PathIntent::Replace } else { PathIntent::Read };
    let operands = operands(arguments).into_iter().enumerate();
    operands.map(|(at, word)| (word, intent(at))).collect()
}

/// With more than one, the last operand is where the result goes.
fn last_is_written(arguments: &[Word]) -> Vec<(Word, PathIntent)> {
    let operands = operands(arguments);
    let n = operands.len();
    let intent = |at| if n > 1 && at + 1 == n { PathIntent::Replace } else { PathIntent::Read };
    operands.into_iter().enumerate().map(|(at, word)| (word, intent(at))).collect()
}

/// Endings of packed files, and what they become.
const PACKED: &[(&str, &str)] = &[
    (".gz", ""),
    (".bz2", ""),
    (".xz", ""),
    (".zst", ""),
    (".lz4", ""),
    (".lzma", ""),
    (".z", ""),
    (".tgz", ".tar"),
    (".tbz2", ".tar"),
    (".txz", ".tar"),
];

/// What is packed or unpacked, and with `-f` the file beside it that is written over.
fn unpacked(name: &str, arguments: &[Word]) -> Vec<(Word, PathIntent)> {
    let mut paths = all(arguments, PathIntent::Read);
    if !has_flag(arguments, 'f', "--force") {
        return paths;
    }
    let ending = match name {
        "gzip" | "gunzip" => ".gz",
        "bzip2" | "bunzip2" => ".bz2",
        "zstd" => ".zst",
        "lz4" => ".lz4",
        _ => ".xz",
    };
    for word in operands(arguments) {
        let stem = PACKED
            .iter()
            .find_map(|(from, to)| Some(format!("{}{to}", word.text.strip_suffix(from)?)));
        let text = stem.unwrap_or_else(|| format!("{}{ending}", word.text));
        paths.push((Word { text, form: word.form }, PathIntent::Replace));
    }
    paths
}

/// The file that a patch is for; after it comes the patch.
fn first_is_changed(arguments: &[Word]) -> Vec<(Word, PathIntent)> {
    let intent = |at| if at == 0 { PathIntent::Write } else { PathIntent::Read };
    let operands = operands(arguments).into_iter().enumerate();
    operands.map(|(at, word)| (word, intent(at))).collect()
}

/// What `checkout` and `restore` are given may be files, which they replace. `git mv` moves as `mv` does,
/// and `git bundle create` writes a file without asking whether there is one.
fn of_git(arguments: &[Word]) -> Vec<(Word, PathIntent)> {
    let subcommand = git_subcommand(arguments);
    if let Some((at, "mv")) = subcommand {
        return to_last(&arguments[at + 1..], PathIntent::Move);
    }
    if let Some((at, "bundle")) = subcommand
        && let [create, file, rest @ ..] = operands(&arguments[at + 1..]).as_slice()
        && create.text == "create"
    {
        // `-` is the standard output.
        let file = (file.text != "-").then(|| (file.clone(), PathIntent::Replace));
        let rest = rest.iter().map(|it| (it.clone(), PathIntent::Read));
        return file.into_iter().chain(rest).collect();
    }
    let makes_branch =
        |it: &Word| matches!(it.text.as_str(), "-b" | "-B" | "--orphan" | "--staged");
    let replaces = matches!(subcommand, Some((_, "checkout" | "restore")))
        && !arguments.iter().any(makes_branch);
    all(arguments, if replaces { PathIntent::Replace } else { PathIntent::Read })
}

/// The folder in which git is told to work by `-C`, which may stand there several times, and the other
/// arguments.
fn git_folder(arguments: &[Word]) -> Option<(Word, Vec<Word>)> {
    let end = git_subcommand(arguments).map_or(arguments.len(), |(at, _)| at);
    let (before, mut rest) = (&arguments[..end], Vec::new());
    let mut folder: Option<Word> = None;
    let mut words = before.iter();
    while let Some(word) = words.next() {
        match (word.text.as_str(), words.as_slice().first()) {
            ("-C", Some(value)) => {
                folder = Some(folder.map_or_else(|| value.clone(), |it| beneath(&it, value)));
                words.next();
            }
            // Its value may be `-C`.
            (option, Some(value)) if takes_value(option) => {
                rest.extend([word.clone(), value.clone()]);
                words.next();
            }
            _ => rest.push(word.clone()),
        }
    }
    rest.extend_from_slice(&arguments[end..]);
    folder.map(|it| (it, rest))
}

/// What a word means to a program that works in a folder.
fn beneath(folder: &Word, word: &Word) -> Word {
    if word.text.starts_with('/') || word.form == WordForm::Home {
        return word.clone();
    }
    let form = if folder.is_literal() { word.form } else { folder.form };
    Word { text: format!("{}/{}", folder.text.trim_end_matches('/'), word.text), form }
}

/// Options of git before its subcommand whose value is a word of its own; of others, it stands behind `=`.
fn takes_value(option: &str) -> bool {
    matches!(option, "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace")
}

/// The subcommand among the arguments of git, and its place.
pub fn git_subcommand(arguments: &[Word]) -> Option<(usize, &str)> {
    let mut words = arguments.iter().enumerate();
    while let Some((at, word)) = words.next() {
        match word.text.as_str() {
            option if takes_value(option) => {
                words.next();
            }
            text if text.starts_with('-') => (),
            text => return Some((at, text)),
        }
    }
    None
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
    let named = arguments.iter().find_map(|it| it.text.strip_prefix("--target-directory="));
    let named = named.map(Word::literal);
    let target = target.or(named).or_else(|| operands.pop());
    let keeps = keeps_what_is_there(arguments);
    let mut paths = Vec::new();
    if let Some(target) = target {
        // Into a folder, each file gets its own name; of a pattern it can be any.
        for source in &operands {
            let name = base_name(source.text.trim_end_matches('/'));
            let is_certain = source.is_literal() && target.is_literal();
            let is_any = !is_certain || matches!(name, "" | "." | "..");
            let name = if is_any { "*" } else { name };
            let form = if is_any { WordForm::Pattern } else { WordForm::Literal };
            let text = format!("{}/{name}", target.text.trim_end_matches('/'));
            let intent = if keeps { PathIntent::Append } else { PathIntent::Replace };
            let form = if target.form == WordForm::Home { WordForm::Home } else { form };
            paths.push((Word { text, form }, intent));
        }
        paths.push((target, if keeps { PathIntent::Append } else { PathIntent::Put }));
    }
    paths.extend(operands.into_iter().map(|word| (word, sources)));
    paths
}

/// Whether `cp` or `mv` leaves a file alone that is there, or keeps it under another name. What may take
/// that back counts.
fn keeps_what_is_there(arguments: &[Word]) -> bool {
    let texts = || arguments.iter().map(|it| it.text.as_str());
    let keeps_old = |it: &str| {
        let kinds = ["numbered", "t", "existing", "nil", "simple", "never"];
        it.strip_prefix("--backup=").is_some_and(|kind| kinds.contains(&kind))
    };
    let is_kept =
        texts().any(|it| matches!(it, "-n" | "--no-clobber" | "-b" | "--backup") || keeps_old(it));
    let is_taken_back = texts().any(|it| {
        has_letter(it, "fi", "tS")
            || it.starts_with("--f")
            || it.starts_with("--i")
            || (it.starts_with("--b") && it.contains('=') && !keeps_old(it))
    });
    is_kept && !is_taken_back
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

/// The archive comes first, as in `tar czf x.tar.gz src`; to create one loses what it held.
fn of_tar(arguments: &[Word]) -> Vec<(Word, PathIntent)> {
    let is_bundle = |it: &&Word| !it.text.starts_with("--");
    let bundle = arguments.first().filter(is_bundle).map_or("", |it| &it.text);
    let creates = arguments
        .iter()
        .any(|it| it.text.starts_with("--cr") || has_letter(&it.text, "c", TAR_VALUED))
        || bundle.contains('c');
    let mut operands = operands(arguments);
    if !bundle.starts_with('-') && !operands.is_empty() {
        operands.remove(0);
    }
    let intent = |at| if at == 0 && creates { PathIntent::Replace } else { PathIntent::Read };
    let mut paths: Vec<(Word, PathIntent)> =
        operands.into_iter().enumerate().map(|(at, word)| (word, intent(at))).collect();
    let archives = option_values(arguments, 'f', TAR_VALUED, "--file", 4);
    let intent = if creates { PathIntent::Replace } else { PathIntent::Read };
    paths.extend(archives.into_iter().filter(|it| it.text != "-").map(|it| (it, intent)));
    paths
}

/// The values of an option that is a letter, also in a bundle, or a long word, shortened to `n_least`
/// characters at least.
fn option_values(
    arguments: &[Word],
    letter: char,
    valued: &str,
    long: &str,
    n_least: usize,
) -> Vec<Word> {
    let mut texts = Vec::new();
    for (at, word) in arguments.iter().enumerate().filter(|(_, it)| is_option(it)) {
        let next = || arguments.get(at + 1).cloned();
        let (name, value) = match word.text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.text.as_str(), None),
        };
        let own = |text: &str| Word { text: text.to_owned(), form: word.form };
        if name.starts_with("--") {
            let is_it = name.len() >= n_least && long.starts_with(name);
            texts.extend(value.map(own).or_else(next).filter(|_| is_it));
        } else if let Some(found) = letter_in(&word.text, letter, valued) {
            texts.extend(if found.rest.is_empty() { next() } else { Some(own(found.rest)) });
        }
    }
    texts
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

/// Programs whose output is made anew all the time: to write over it is no loss.
#[rustfmt::skip]
const BUILDERS: &[&str] = &[
    "as", "asc", "c++", "cc", "clang", "clang++", "esbuild", "g++", "gcc", "gfortran", "ghc", "go",
    "javac", "kotlinc", "ld", "mdbook", "protoc", "rollup", "rustc", "swiftc", "tsc", "zig",
];

/// Endings of what compilers make; something else with an ending is a file of its own.
#[rustfmt::skip]
const BUILT: &[&str] = &[
    "a", "bc", "class", "d", "dll", "dylib", "elf", "exe", "gch", "hi", "jar", "js", "ll", "lib", "map",
    "mjs", "o", "obj", "out", "pch", "rlib", "rmeta", "so", "wasm",
];

/// What a program does with the file that it is told to write.
fn output_intent(name: &str, path: &str) -> PathIntent {
    let ending = base_name(path).rsplit_once('.').map(|(_, ending)| ending);
    let is_built = ending.is_none_or(|it| BUILT.contains(&it));
    let is_compiler = COMPILERS.contains(&name);
    if BUILDERS.contains(&name) && (is_built || !is_compiler) {
        PathIntent::Write
    } else {
        PathIntent::Replace
    }
}

/// Builders that take the output as `-oFILE`, and make objects and executables.
#[rustfmt::skip]
const COMPILERS: &[&str] = &[
    "as", "c++", "cc", "clang", "clang++", "g++", "gcc", "gfortran", "ghc", "ld", "rustc", "swiftc",
];

/// `-o FILE` and `--output=FILE` are written, values of other options may be read.
fn of_options(name: &str, arguments: &[Word]) -> Vec<(Word, PathIntent)> {
    let is_output = |option: &str| {
        let n_least = if name == "sort" { 3 } else { 5 };
        let is_long = option.len() >= n_least && option.starts_with("--");
        option == "-o"
            || (name == "csplit" && matches!(option, "-f" | "--prefix"))
            || matches!(option, "--out" | "--output-file" | "--outfile")
            || (is_long && "--output".starts_with(option))
    };
    let mut paths = Vec::new();
    for pair in arguments.windows(2) {
        if let [option, value] = pair
            && is_output(&option.text)
        {
            paths.push((value.clone(), output_intent(name, &value.text)));
        }
    }
    if name == "sort" {
        let outputs = option_values(arguments, 'o', "kStT", "--output", 3).into_iter();
        paths.extend(outputs.map(|it| (it, PathIntent::Replace)));
    }
    for word in arguments.iter().filter(|it| is_option(it)) {
        if let Some((option, value)) = word.text.split_once('=') {
            let intent =
                if is_output(option) { output_intent(name, value) } else { PathIntent::Read };
            paths.push((Word { text: value.to_owned(), form: word.form }, intent));
        } else if (matches!(name, "git" | "patch" | "tree" | "shuf") || COMPILERS.contains(&name))
            && let Some(value) = word.text.strip_prefix("-o").filter(|it| !it.is_empty())
        {
            let value = Word { text: value.to_owned(), form: word.form };
            let intent = output_intent(name, &value.text);
            paths.push((value, intent));
        }
    }
    paths
}
