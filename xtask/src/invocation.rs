//! A command as it is run and as it is shown.
//!
//! The two come from one value, so that "repeat it with" always names what really ran.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::Context;

pub(crate) struct Invocation {
    environment: Vec<(&'static str, String)>,
    program: PathBuf,
    args: Vec<String>,
}

impl Invocation {
    pub(crate) fn new(program: impl Into<PathBuf>, args: &[&str]) -> Invocation {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        Invocation { environment: Vec::new(), program: program.into(), args }
    }

    pub(crate) fn cargo(args: &[&str]) -> Invocation {
        Invocation::new("cargo", args)
    }

    pub(crate) fn with_environment(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    pub(crate) fn run_in(&self, folder: &Path) -> anyhow::Result<ExitStatus> {
        self.command(folder).status().with_context(|| format!("cannot run `{self}`"))
    }

    pub(crate) fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .current_dir(folder)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        for name in inherited_from_cargo_run() {
            command.env_remove(name);
        }
        command
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(f, "{name}={} ", quoted(value))?;
        }
        write!(f, "{}", quoted(&self.program.to_string_lossy()))?;
        for arg in &self.args {
            write!(f, " {}", quoted(arg))?;
        }
        Ok(())
    }
}

// `cargo run` describes xtask's own package in the environment. Build scripts that watch these
// names (ring's does) would run again each time a build comes from here and not from a shell.
fn inherited_from_cargo_run() -> Vec<String> {
    std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok()) // a name that is no text is none of cargo's
        .filter(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        .collect()
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:+,@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests;
