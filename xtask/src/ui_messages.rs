//! Thread files and chats, judged by the AI SDK itself.
//!
//! The Rust tests leave thread files beside the build; here node validates them with the packages
//! that clients use, and then `useChat` talks to a running daemon. The packages are installed into the
//! target folder, by lock files that name hashes and no host. A machine without node, or without a
//! network at the first run, cannot do this: that is said aloud, and it fails nothing.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::invocation::Invocation;
use crate::npm;
use crate::test::Outcome;

pub(crate) const SHOWN: &str = "node check.mjs ../tmp/ui-messages (in target/ui-messages)";
pub(crate) const CHAT_SHOWN: &str = "node check.mjs ../debug/kith (in target/chat)";

/// A check that node runs.
struct NodeCheck {
    /// What is checked, for the sentence that says that it was not.
    what: &'static str,
    /// Where the check and its packages are named.
    sources: &'static str,
    files: &'static [&'static str],
    /// The folder below the target folder in which it runs.
    place: &'static str,
    /// What it looks at, from there.
    subject: &'static str,
}

const THREAD_FILES: NodeCheck = NodeCheck {
    what: "thread files against the AI SDK",
    sources: "checks/ui-messages",
    files: &["package.json", "package-lock.json", "check.mjs"],
    place: "ui-messages",
    subject: "../tmp/ui-messages",
};

const CHAT: NodeCheck = NodeCheck {
    what: "a running house against `useChat`",
    sources: "checks/chat",
    files: &["package.json", "package-lock.json", "check.mjs", "clients.mjs", "house.mjs"],
    place: "chat",
    subject: "../debug/kith",
};

pub(crate) fn check(root: &Path) -> anyhow::Result<Outcome> {
    THREAD_FILES.run(root)
}

/// Uses the program that the tests have built.
pub(crate) fn check_chat(root: &Path) -> anyhow::Result<Outcome> {
    CHAT.run(root)
}

impl NodeCheck {
    fn run(&self, root: &Path) -> anyhow::Result<Outcome> {
        let NodeCheck { what, sources, files, place, subject } = *self;
        if let Some(program) = npm::missing_program(root) {
            return Ok(Outcome::Skipped(format!("{what}; `{program}` is not installed")));
        }
        let target =
            env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let place = root.join(target).join(place);
        fs::create_dir_all(&place)?;
        for name in files {
            let source = root.join(sources).join(name);
            fs::copy(&source, place.join(name))
                .with_context(|| format!("cannot copy `{}`", source.display()))?;
        }
        if !npm::install(&place)? {
            let sentence = format!("{what}; `npm ci` could not install its packages");
            return Ok(Outcome::Skipped(sentence));
        }
        let check = Invocation::new("node", &["check.mjs", subject]);
        Ok(if check.run_in(&place)?.success() { Outcome::Passed } else { Outcome::Failed })
    }
}
