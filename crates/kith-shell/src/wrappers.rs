//! Programs that run the command given as their arguments.
//!
//! Where that command is certain, it is judged instead of the wrapper; where it is not, nobody
//! knows what will run.

use crate::programs::base_name;

/// Maximum number of wrappers around one command.
const WRAPPERS_MAX: usize = 8;

/// The command that really runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerCommand {
    /// Where it begins in `argv`.
    pub start: usize,
    /// Whether further arguments come from the input of the command.
    pub has_more_arguments: bool,
    /// Whether it is certain what runs.
    pub is_certain: bool,
    /// Variables that a wrapper sets, with their values.
    pub environment: Vec<(String, String)>,
}

/// Looks through `env`, `timeout`, `xargs` and the like.
pub fn inner(argv: &[String]) -> InnerCommand {
    let mut inner = InnerCommand {
        start: 0,
        has_more_arguments: false,
        is_certain: true,
        environment: Vec::new(),
    };
    for _ in 0..WRAPPERS_MAX {
        let rest = argv.get(inner.start..).unwrap_or_default();
        let Some((program, arguments)) = rest.split_first() else { break };
        let skipped = match base_name(program) {
            "env" => env(arguments, &mut inner.environment),
            "time" => flags(arguments, &["-p"]),
            "nohup" | "command" | "setsid" => flags(arguments, &[]),
            "uv" | "poetry" | "pdm" | "hatch" | "rye" | "pipenv" => {
                after_subcommand(arguments, "run")
            }
            "bundle" | "cabal" => after_subcommand(arguments, "exec"),
            "npx" => flags(arguments, &["--no", "--no-install", "--offline"]),
            "nice" => after_options(arguments, &["-n"], 0),
            "timeout" => after_options(arguments, &["-k", "-s"], 1),
            "stdbuf" => after_options(arguments, &["-i", "-o", "-e"], 0),
            "xargs" => {
                inner.has_more_arguments = true;
                after_options(arguments, &["-n", "-I", "-P", "-L", "-d", "-s", "-E"], 0)
            }
            _ => return inner,
        };
        match skipped {
            Some(n) if n < arguments.len() => inner.start += n + 1,
            // Another subcommand: the program itself is judged.
            Some(_) => return inner,
            // `env` alone prints the environment, `xargs` alone echoes.
            _ => {
                inner.is_certain = false;
                return inner;
            }
        }
    }
    inner.is_certain = false;
    inner
}

/// The number of words before the command; only flags of the list may stand there.
fn flags(arguments: &[String], known: &[&str]) -> Option<usize> {
    let n = arguments.iter().take_while(|it| known.contains(&it.as_str())).count();
    (!arguments.get(n)?.starts_with('-')).then_some(n)
}

/// The same, with options that take the next word, flags without one, and so many operands.
fn after_options(arguments: &[String], valued: &[&str], n_operands: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|it| it.starts_with('-')) {
        if word == "--" {
            at += 1;
            break;
        }
        let is_flag = ["-0", "-r", "-t", "--null", "--no-run-if-empty", "--preserve-status"];
        if valued.contains(&word.as_str()) {
            at += 2;
        } else if is_flag.contains(&word.as_str()) || valued.iter().any(|it| word.starts_with(it)) {
            at += 1;
        } else {
            return None;
        }
    }
    let at = at + n_operands;
    (!arguments.get(at)?.starts_with('-')).then_some(at)
}

/// The command after `run`, if that is the subcommand; all words if it is another.
fn after_subcommand(arguments: &[String], subcommand: &str) -> Option<usize> {
    if arguments.first().map(String::as_str) != Some(subcommand) {
        return Some(arguments.len());
    }
    let n = if arguments.get(1).map(String::as_str) == Some("--") { 2 } else { 1 };
    (!arguments.get(n)?.starts_with('-')).then_some(n)
}

fn env(arguments: &[String], environment: &mut Vec<(String, String)>) -> Option<usize> {
    let n = arguments.iter().take_while(|it| it.contains('=') && !it.starts_with('-')).count();
    let names = arguments.iter().take(n).filter_map(|it| it.split_once('='));
    environment.extend(names.map(|(name, value)| (name.to_owned(), value.to_owned())));
    (!arguments.get(n)?.starts_with('-')).then_some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: Option<&str>) {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let inner = inner(&argv);
        let shown = argv[inner.start..].join(" ");
        assert_eq!(inner.is_certain.then_some(shown.as_str()), expected, "{command}");
    }

    #[test]
    fn a_certain_inner_command_is_found() {
        check("ls -l", Some("ls -l"));
        check("timeout 60 cargo test", Some("cargo test"));
        check("timeout -k 5 60 nice -n 10 make", Some("make"));
        check("env A=1 B=2 rm x", Some("rm x"));
        check("xargs -0 grep x", Some("grep x"));
        check("poetry run pytest -q", Some("pytest -q"));
        check("uv run -- ruff check", Some("ruff check"));
        check("bundle exec rspec", Some("rspec"));
        check("uv sync", Some("uv sync"));
    }

    #[test]
    fn what_is_not_known_is_not_certain() {
        for command in [
            "env",
            "env -i sh",
            "env -S x",
            "xargs",
            "timeout 5",
            "nice --x ls",
            "time",
            "uv run --with x y",
            "npx -y x",
            "poetry run",
        ] {
            check(command, None);
        }
        check(&"nohup ".repeat(20), None);
    }
}
