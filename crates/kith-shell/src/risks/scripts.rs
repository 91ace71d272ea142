//! Interpreters and small languages: is the code a file of the project, or in the command itself?

use super::{Finding, ProgramCall, RiskKind, finding};
use crate::script::Joint;

/// Modules of Python that serve, debug or install.
const PYTHON_MODULES: [&str; 12] = [
    "pip",
    "ensurepip",
    "http.server",
    "pdb",
    "code",
    "timeit",
    "cProfile",
    "profile",
    "webbrowser",
    "smtplib",
    "ftplib",
    "telnetlib",
];

/// Options without a value that only change how a script runs.
const PLAIN_OPTIONS: [&str; 24] = [
    "-u",
    "-B",
    "-O",
    "-OO",
    "-s",
    "-S",
    "-I",
    "-E",
    "-v",
    "-W",
    "-x",
    "-X",
    "-e",
    "-w",
    "-ex",
    "-eu",
    "-eux",
    "--test",
    "--watch",
    "--version",
    "-V",
    "--help",
    "-h",
    "--check",
];

/// Code in a file of the project runs in the sandbox; code in the command, or from its input, is
/// what nobody has looked at.
pub(super) fn of_interpreter(command: &ProgramCall<'_>) -> Option<Finding> {
    let name = command.name;
    let is_shell = matches!(name, "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "fish" | "csh");
    let mut has_script = false;
    for (at, word) in command.arguments.iter().enumerate() {
        let word = word.as_str();
        if !word.starts_with('-') {
            has_script = true;
            break;
        }
        if name.starts_with("python") && word == "-m" {
            let module = command.arguments.get(at + 1).map_or("", String::as_str);
            let installs = command.arguments.get(at + 2).map(String::as_str);
            let reads =
                matches!(installs, Some("list" | "show" | "freeze" | "check" | "--version"));
            return match module {
                "" => finding(RiskKind::InlineCode, word),
                "pip" if reads => None,
                "pip" => finding(RiskKind::Network, "pip"),
                _ if PYTHON_MODULES.contains(&module) => finding(RiskKind::InlineCode, module),
                _ => None,
            };
        }
        if matches!(word, "--version" | "-V" | "--help" | "-h") {
            return None;
        }
        let is_plain =
            PLAIN_OPTIONS.contains(&word) && (is_shell || !matches!(word, "-e" | "-E" | "-ex"));
        if name == "node" && matches!(word, "--test" | "--check") {
            // Without a file, it looks for the project's tests.
            has_script = true;
        } else if !is_plain {
            return finding(RiskKind::InlineCode, word);
        }
    }
    if matches!(name, "busybox") {
        return finding(RiskKind::Wrapper, name);
    }
    let from_input = !has_script || command.operands().next() == Some("/dev/stdin");
    if from_input || (command.joint == Joint::Pipe && !has_script) {
        return finding(RiskKind::InlineCode, name);
    }
    None
}

/// Programs of awk that start others or talk to them.
pub(super) fn of_awk(command: &ProgramCall<'_>) -> Option<Finding> {
    let marks = ["system", "getline", "@load", "@include", "ENVIRON", "/inet"];
    let is_suspicious = |word: &str| {
        marks.iter().any(|it| word.contains(it)) || word.replace("||", "").contains('|')
    };
    if let Some(option) = command.has(&["-l", "--load", "-i", "--include", "-e", "--source", "-E"])
    {
        return finding(RiskKind::InlineCode, option);
    }
    let found = command.arguments.iter().map(String::as_str).find(|it| is_suspicious(it));
    found.and_then(|_| finding(RiskKind::InlineCode, command.name))
}

/// Scripts of sed that run programs or write further files.
pub(super) fn of_sed(command: &ProgramCall<'_>) -> Option<Finding> {
    let mut scripts: Vec<&str> = Vec::new();
    let mut arguments = command.arguments.iter().map(String::as_str);
    let mut first = None;
    while let Some(word) = arguments.next() {
        match word {
            "-e" | "--expression" => scripts.extend(arguments.next()),
            "-f" | "--file" => return finding(RiskKind::InlineCode, word),
            _ if word.starts_with("--expression=") => scripts.push(&word["--expression=".len()..]),
            _ if word.starts_with("--file=") => return finding(RiskKind::InlineCode, "--file"),
            _ if word.starts_with('-') => {
                let letters = word.trim_start_matches('-');
                // `-ne SCRIPT`, `-i.bak`
                if !word.starts_with("--") && !letters.starts_with('i') {
                    if letters.ends_with('e') {
                        scripts.extend(arguments.next());
                    } else if letters.contains(['e', 'f']) {
                        return finding(RiskKind::InlineCode, word);
                    }
                }
            }
            _ if first.is_none() => first = Some(word),
            _ => (),
        }
    }
    if scripts.is_empty() {
        scripts.extend(first);
    }
    let is_plain = |script: &&str| is_plain_sed(script);
    (!scripts.iter().all(is_plain)).then(|| (RiskKind::InlineCode, "sed".to_owned()))
}

/// Whether a script of sed consists of addresses and of commands that only edit the text.
fn is_plain_sed(script: &str) -> bool {
    let mut rest = script;
    for _ in 0..=script.len() {
        rest = rest.trim_start_matches([' ', ';', '\n', '{', '}', '\t']);
        rest = without_addresses(rest).trim_start_matches([' ', '!']);
        let Some(command) = rest.chars().next() else { return true };
        rest = &rest[command.len_utf8()..];
        match command {
            'p' | 'd' | 'q' | 'Q' | '=' | 'n' | 'N' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x'
            | 'l' | '{' | '}' => {
                rest = rest.trim_start_matches(|ch: char| ch.is_ascii_digit());
            }
            'a' | 'i' | 'c' => rest = rest.split_once('\n').map_or("", |(_, rest)| rest),
            's' | 'y' => {
                let Some(delimiter) = rest.chars().next() else { return false };
                let Some(after) = after_delimiters(rest, delimiter) else { return false };
                let n = after.chars().take_while(|ch| "gpiIm0123456789".contains(*ch)).count();
                rest = &after[n..];
            }
            _ => return false,
        }
        if !rest.is_empty()
            && !rest.starts_with([' ', ';', '\n', '}', '{', '\t'])
            && !matches!(command, 'a' | 'i' | 'c' | '{' | '}')
        {
            return false;
        }
    }
    false
}

/// What follows `/a/b/`.
fn after_delimiters(text: &str, delimiter: char) -> Option<&str> {
    let mut n_seen = 0;
    let mut is_escaped = false;
    for (at, ch) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if ch == '\\' {
            is_escaped = true;
        } else if ch == delimiter {
            n_seen += 1;
            if n_seen == 3 {
                return Some(&text[at + ch.len_utf8()..]);
            }
        }
    }
    None
}

fn without_addresses(text: &str) -> &str {
    let mut rest = text;
    for _ in 0..3 {
        rest = rest.trim_start_matches(|ch: char| {
            ch.is_ascii_digit() || matches!(ch, '$' | ',' | '~' | '+' | ' ')
        });
        let Some(pattern) = rest.strip_prefix('/') else { return rest };
        let mut is_escaped = false;
        let end = pattern.char_indices().find(|(_, ch)| {
            let is_end = *ch == '/' && !is_escaped;
            is_escaped = *ch == '\\' && !is_escaped;
            is_end
        });
        let Some((end, _)) = end else { return text };
        rest = pattern[end + 1..].trim_start_matches('I');
    }
    rest
}
