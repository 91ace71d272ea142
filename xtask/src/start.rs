//! `cargo xtask start`: from a clone to a conversation in one command.
//!
//! It always talks to the built-in `demo` model, because a first try must need neither a key nor
//! the network.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};

use crate::invocation::Invocation;
use crate::usage::WrongUsage;
use crate::workspace_root;

pub(crate) const PURPOSE: &str = "build kith, make an agent and talk to it, without key or network";

pub(crate) const HELP: &str = "
cargo xtask start [DIR]

Builds `kith`, makes an agent in DIR if there is none (default: my-agent in the workspace), and
opens a conversation with it. The built-in `demo` model answers, so no key and no network are
needed. Without a terminal it asks one question, prints the answer and what to type next.

Examples:
  cargo xtask start
  cargo xtask start /tmp/luna
";

const GREETING: &str = "Hello! What can you do?";

pub(crate) fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    let root = workspace_root();
    let here = std::env::current_dir().context("cannot tell the current folder")?;
    let agent = agent_folder(args, &root, &here)?;

    build(&root)?;
    let kith = shown_program(&program()?, &here);
    let home = shown(&agent, &here);
    if !holds_an_agent(&agent) {
        must_succeed(&Invocation::new(&kith, &["init", &home, "--yes"]), &here)?;
    }
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        talk(&chat(&kith, &home), &here)
    } else {
        ask_once(&kith, &home, &here)
    }
}

fn agent_folder(args: &[String], root: &Path, here: &Path) -> Result<PathBuf, WrongUsage> {
    match args {
        [] => Ok(root.join("my-agent")),
        [folder] if !folder.starts_with('-') => Ok(here.join(folder)),
        [flag] => Err(WrongUsage(format!(
            "`cargo xtask start` knows no flag `{flag}`; see `cargo xtask start --help`"
        ))),
        [_, extra, ..] => Err(WrongUsage(format!(
            "`cargo xtask start` takes one folder, but also got `{extra}`; \
             see `cargo xtask start --help`"
        ))),
    }
}

// There are no examples. Naming them makes cargo choose the features that the tests use as well,
// so that `cargo xtask test` afterwards compiles no crate a second time.
pub(crate) fn build(root: &Path) -> anyhow::Result<()> {
    must_succeed(&Invocation::cargo(&["build", "--workspace", "--bins", "--examples"]), root)
}

/// `kith` lies beside this program, wherever the target folder is.
pub(crate) fn program() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("cannot tell where this program lies")?;
    Ok(own.with_file_name("kith").with_extension(std::env::consts::EXE_EXTENSION))
}

fn holds_an_agent(folder: &Path) -> bool {
    folder.join("Agent.md").is_file() || folder.join("AGENTS.md").is_file()
}

fn chat(kith: &str, agent: &str) -> Invocation {
    Invocation::new(kith, &["--home", agent, "--model", "demo"])
}

fn ask(kith: &str, agent: &str, question: &str) -> Invocation {
    Invocation::new(kith, &["ask", "--home", agent, "--model", "demo", question])
}

// The conversation replaces this process: two processes on one terminal would both get Ctrl-C, and
// this one would die of it while the conversation goes on.
#[cfg(unix)]
fn talk(chat: &Invocation, here: &Path) -> anyhow::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    let error = chat.command(here).exec();
    Err(error).with_context(|| format!("cannot run `{chat}`"))
}

#[cfg(not(unix))]
fn talk(chat: &Invocation, here: &Path) -> anyhow::Result<ExitCode> {
    must_succeed(chat, here)?;
    Ok(ExitCode::SUCCESS)
}

fn ask_once(kith: &str, agent: &str, here: &Path) -> anyhow::Result<ExitCode> {
    println!("> {GREETING}");
    must_succeed(&ask(kith, agent, GREETING), here)?;
    println!();
    println!("This is no terminal, so that was all. What to type next:");
    println!("  talk to it        {}", chat(kith, agent));
    println!("  ask one question  {}", ask(kith, agent, "What is in this folder?"));
    println!("  see all commands  {}", Invocation::new(kith, &["--help"]));
    Ok(ExitCode::SUCCESS)
}

fn must_succeed(invocation: &Invocation, folder: &Path) -> anyhow::Result<()> {
    let status = invocation.run_in(folder)?;
    if !status.success() {
        bail!("`{invocation}` failed ({status})");
    }
    Ok(())
}

/// The shortest path that works when typed here.
fn shown(path: &Path, here: &Path) -> String {
    match path.strip_prefix(here) {
        Ok(short) if short == Path::new("") => String::from("."),
        Ok(short) => short.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

/// A bare name would be looked for in `PATH` only.
fn shown_program(path: &Path, here: &Path) -> String {
    let short = shown(path, here);
    if short.contains(std::path::MAIN_SEPARATOR) { short } else { format!("./{short}") }
}

#[cfg(test)]
mod tests;
