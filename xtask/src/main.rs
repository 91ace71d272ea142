//! The project's own tool: `cargo xtask <verb>`.
//!
//! One file per verb; this one only picks it. It depends on no crate of Kith, so that it builds in
//! seconds on a fresh clone and works when the rest does not compile.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for developers talks on the terminal; `kith` itself prints in one file only"
)]

mod bench;
mod fresh;
mod invocation;
mod measured;
mod mutants;
mod npm;
mod openapi;
mod page;
mod peers;
mod python;
mod simulate;
mod start;
mod test;
mod texts;
mod tidy;
mod times;
mod torture;
mod ui_messages;
mod usage;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use usage::WrongUsage;

/// One word after `cargo xtask`.
struct Verb {
    name: &'static str,
    purpose: &'static str,
    help: &'static str,
    run: fn(&[String]) -> anyhow::Result<ExitCode>,
}

const VERBS: [Verb; 9] = [
    Verb { name: "start", purpose: start::PURPOSE, help: start::HELP, run: start::run },
    Verb { name: "test", purpose: test::PURPOSE, help: test::HELP, run: test::run },
    Verb { name: "tidy", purpose: tidy::PURPOSE, help: tidy::HELP, run: tidy::run },
    Verb { name: "texts", purpose: texts::PURPOSE, help: texts::HELP, run: texts::run },
    Verb { name: "fresh", purpose: fresh::PURPOSE, help: fresh::HELP, run: fresh::run },
    Verb { name: "torture", purpose: torture::PURPOSE, help: torture::HELP, run: torture::run },
    Verb { name: "simulate", purpose: simulate::PURPOSE, help: simulate::HELP, run: simulate::run },
    Verb { name: "mutants", purpose: mutants::PURPOSE, help: mutants::HELP, run: mutants::run },
    Verb { name: "bench", purpose: bench::PURPOSE, help: bench::HELP, run: bench::run },
];

fn main() -> ExitCode {
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    match dispatch(&args) {
        Ok(code) => code,
        Err(error) if error.is::<WrongUsage>() => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> anyhow::Result<ExitCode> {
    let Some((name, rest)) = args.split_first() else {
        return Err(WrongUsage(format!("a verb is missing\n\n{}", overview())).into());
    };
    if is_help(name) {
        println!("{}", overview());
        return Ok(ExitCode::SUCCESS);
    }
    let Some(verb) = VERBS.iter().find(|verb| verb.name == name) else {
        return Err(WrongUsage(format!("there is no verb `{name}`\n\n{}", overview())).into());
    };
    if rest.iter().any(|arg| is_help(arg)) {
        println!("{}", verb.help.trim());
        return Ok(ExitCode::SUCCESS);
    }
    (verb.run)(rest)
}

fn is_help(arg: &str) -> bool {
    matches!(arg, "-h" | "--help" | "help")
}

fn overview() -> String {
    let verbs = VERBS.iter().map(|verb| format!("  {:<9}{}\n", verb.name, verb.purpose));
    format!(
        "cargo xtask <verb>\n\n{}\n`cargo xtask <verb> --help` says more, with an example.",
        verbs.collect::<String>()
    )
}

/// The folder of the workspace's `Cargo.toml`.
fn workspace_root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

#[cfg(test)]
mod tests;
