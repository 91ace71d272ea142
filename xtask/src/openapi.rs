//! The description of the HTTP calls against a running daemon, by schemathesis, which nobody here wrote.
//!
//! It comes from PyPI, in the version that `checks/openapi/requirements.txt` names, and is installed into
//! the target folder. Where that is not possible, it is said aloud and fails nothing.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::invocation::Invocation;
use crate::python;
use crate::test::Outcome;

const SOURCES: &str = "checks/openapi";

pub(crate) const SHOWN: &str = "python check.py ../debug/kith (in target/openapi)";

pub(crate) fn check(root: &Path) -> anyhow::Result<Outcome> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let place = root.join(target).join("openapi");
    fs::create_dir_all(&place)?;
    for name in [python::REQUIREMENTS, "check.py"] {
        let source = root.join(SOURCES).join(name);
        fs::copy(&source, place.join(name))
            .with_context(|| format!("cannot copy `{}`", source.display()))?;
    }
    if !python::install(&place, &[])? {
        let sentence = "the HTTP calls against schemathesis; it could not be installed (it needs \
                        `python3` with `venv` and `pip`, and a package index)";
        return Ok(Outcome::Skipped(sentence.to_owned()));
    }
    let build = Invocation::cargo(&["build", "--workspace", "--bins"]);
    if !build.run_in(root)?.success() {
        return Ok(Outcome::Failed);
    }
    let args = ["check.py", "../debug/kith"];
    let check = Invocation::new(place.join("python/bin/python"), &args);
    Ok(if check.run_in(&place)?.success() { Outcome::Passed } else { Outcome::Failed })
}
