//! Interpreters and small languages: is the code a file of the project, or in the command itself?

use super::{Finding, ProgramCall, RiskKind, finding};

/// Modules of Python that serve, debug, install, or run code from the command line.
#[rustfmt::skip]
const PYTHON_MODULES: &[&str] = &[
    "antigravity", "asyncio", "bdb", "cProfile", "code", "codeop", "ensurepip", "ftplib",
    "http.server", "idlelib", "imaplib", "nntplib", "pdb", "pip", "poplib", "profile", "pty",
    "runpy", "smtpd", "smtplib", "sqlite3", "telnetlib", "timeit", "trace", "turtledemo",
    "webbrowser", "wsgiref.simple_server", "xmlrpc.server",
];

/// The options of an interpreter that only change how a script runs.
struct ScriptOptions {
    /// Letters without a value, which may be bundled.
    letters: &'static str,
    /// Letters with a value, in the same word or the next.
    valued: &'static str,
    long: &'static [&'static str],
}

const NO_OPTIONS: ScriptOptions = ScriptOptions { letters: "", valued: "", long: &[] };

fn script_options(name: &str) -> ScriptOptions {
    let plain = name.trim_end_matches(|ch: char| ch.is_ascii_digit() || ch == '.');
    match plain {
        "python" => ScriptOptions { letters: "bBdEIOPqsSuvx", valued: "WX", long: &[] },
        "sh" | "bash" | "dash" | "ash" | "ksh" | "zsh" => {
            ScriptOptions { letters: "aefmnuvx", valued: "oO", long: &["--norc", "--posix"] }
        }
        "node" | "nodejs" | "ts-node" | "tsx" => ScriptOptions {
            letters: "",
            valued: "",
            long: &["--test", "--check", "--watch", "--enable-source-maps", "--no-warnings"],
        },
        "ruby" | "perl" => ScriptOptions { letters: "wW", valued: "", long: &[] },
        "php" => ScriptOptions { letters: "nq", valued: "f", long: &[] },
        _ => NO_OPTIONS,
    }
}

/// How many words an option takes with it; `None` if it is none of the plain ones.
fn plain_option(options: &ScriptOptions, word: &str) -> Option<usize> {
    if word.starts_with("--") {
        return options.long.contains(&word).then_some(1);
    }
    let letters = word.strip_prefix('-').filter(|it| !it.is_empty())?;
    for (at, letter) in letters.char_indices() {
        if options.valued.contains(letter) {
            let has_value = at + letter.len_utf8() < letters.len();
            return Some(if has_value { 1 } else { 2 });
        }
        if !options.letters.contains(letter) {
            return None;
        }
    }
    Some(1)
}

/// Code in a file of the project runs in the sandbox; code in the command, or from its input, is
/// what nobody has looked at.
pub(super) fn of_interpreter(command: &ProgramCall<'_>) -> Option<Finding> {
    let name = command.name;
    if name == "busybox" {
        return finding(RiskKind::Wrapper, name);
    }
    let options = script_options(name);
    let mut at = 0;
    let mut finds_tests = false;
    while let Some(word) = command.arguments.get(at).filter(|it| it.starts_with('-')) {
        if matches!(word.as_str(), "--version" | "-V" | "--help" | "-h") {
            return None;
        }
        if name.starts_with("python") && word == "-m" {
            return of_python_module(&command.arguments[at + 1..]);
        }
        let Some(n_words) = plain_option(&options, word) else {
            return finding(RiskKind::InlineCode, word);
        };
        // Without a file, node looks for the project's tests.
        finds_tests |= word == "--test";
        at += n_words;
    }
    let script = command.arguments.get(at).map(String::as_str);
    match script {
        Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") => finding(RiskKind::InlineCode, name),
        None if !finds_tests => finding(RiskKind::InlineCode, name),
        _ => None,
    }
}

fn of_python_module(arguments: &[String]) -> Option<Finding> {
    let module = arguments.first().map_or("", String::as_str);
    let subcommand = arguments.get(1).map(String::as_str);
    let reads = matches!(subcommand, Some("list" | "show" | "freeze" | "check" | "--version"));
    match module {
        "" => finding(RiskKind::InlineCode, "-m"),
        "pip" if reads => None,
        "pip" => finding(RiskKind::Network, "pip"),
        "zipfile" | "tarfile" if !lists_archive(subcommand) => {
            finding(RiskKind::Destructive, module)
        }
        // The second file is where the result goes.
        "json.tool" if arguments[1..].iter().filter(|it| !it.starts_with('-')).count() > 1 => {
            finding(RiskKind::Destructive, module)
        }
        _ if PYTHON_MODULES.contains(&module) => finding(RiskKind::InlineCode, module),
        _ => None,
    }
}

fn lists_archive(option: Option<&str>) -> bool {
    matches!(option, Some("-l" | "--list" | "-t" | "--test" | "-h" | "--help"))
}

/// Programs of awk that start others or talk to them.
pub(super) fn of_awk(command: &ProgramCall<'_>) -> Option<Finding> {
    let marks = ["system", "getline", "@load", "@include", "ENVIRON", "/inet"];
    // `print > "file"` writes; `$1 > 5` compares.
    let writes = |word: &str| {
        let after = word.split("print").skip(1);
        let statement =
            |it: &str| it.split([';', '}', '\n']).next().unwrap_or_default().contains('>');
        after.into_iter().any(statement)
    };
    let is_suspicious = |word: &str| {
        marks.iter().any(|it| word.contains(it))
            || word.replace("||", "").contains('|')
            || writes(word)
            || calls_by_name(word)
    };
    if let Some(option) = command.has(&["-l", "--load", "-i", "--include", "-e", "--source", "-E"])
    {
        return finding(RiskKind::InlineCode, option);
    }
    let found = command.arguments.iter().map(String::as_str).find(|it| is_suspicious(it));
    found.and_then(|_| finding(RiskKind::InlineCode, command.name))
}

/// `@x("id")` calls the function whose name `x` holds.
fn calls_by_name(program: &str) -> bool {
    program.split('@').skip(1).any(|after| {
        let is_name = |ch: char| ch.is_ascii_alphanumeric() || ch == '_';
        let rest = after.trim_start_matches(is_name);
        rest.len() < after.len() && rest.trim_start().starts_with('(')
    })
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
    if !scripts.iter().all(is_plain) {
        return finding(RiskKind::InlineCode, "sed");
    }
    let in_place = command.has_letter("i", "l") || command.has(&["--in-place"]).is_some();
    let is_quiet = command.has_letter("n", "il") || command.has(&["--quiet", "--silent"]).is_some();
    let prints = scripts.iter().any(|it| it.contains(['p', 'P']));
    let loses = scripts.iter().any(|it| empties(it)) || (is_quiet && !prints);
    (in_place && loses).then(|| (RiskKind::Destructive, "sed -i".to_owned()))
}

/// Whether a script of sed takes the text of every line away.
fn empties(script: &str) -> bool {
    let whole = ["1,$", "0,$", "/./", "/.*/", "/^/", "/$/", "1!", "$!"];
    script.split([';', '\n', '{', '}']).any(|part| {
        let part: String = part.chars().filter(|ch| !ch.is_whitespace()).collect();
        let bare = whole.iter().find_map(|it| part.strip_prefix(it)).unwrap_or(&part);
        matches!(bare, "d" | "D" | "q" | "Q")
            || (bare.starts_with('c') && !bare.starts_with("c,"))
            || bare.starts_with("s/.*//")
            || bare.starts_with("s/^.*$//")
    })
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

/// What follows `/a/b/`, all of it in one line: with an end of line within, sed reads another script.
fn after_delimiters(text: &str, delimiter: char) -> Option<&str> {
    let mut n_seen = 0;
    let mut is_escaped = false;
    for (at, ch) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if ch == '\\' {
            is_escaped = true;
        } else if ch == '\n' {
            return None;
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
            let is_end = matches!(ch, '/' | '\n') && !is_escaped;
            is_escaped = *ch == '\\' && !is_escaped;
            is_end
        });
        let Some((end, '/')) = end else { return text };
        rest = pattern[end + 1..].trim_start_matches('I');
    }
    rest
}
