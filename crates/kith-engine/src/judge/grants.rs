//! Standing permissions: what one may cover, and what may be offered as one.
//!
//! A grant is bound to its agent, workspace and expiry by whoever keeps grants; those given to the
//! judge are in force. It stands for one command in one folder, word by word, and for nothing beside it:
//! further words, redirections and other commands of the same script are asked about.

use kith_shell::facts::{PathFacts, PathIntent, ShellFacts};
use kith_shell::risks::{is_self_contained, risks};
use kith_vocab::event::calls::{Effect, Grant};
use kith_vocab::facts::Zone;
use kith_vocab::json::Json;

use super::CallFacts;
use super::paths::runs_later;

/// What a person may be offered not to be asked about again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantScope {
    /// The words of a command, and its folder: elsewhere the same words are about other files.
    Command {
        argv: Vec<String>,
        cwd: String,
    },
    Path(String),
    Host(String),
}

/// Whether a grant answers an objection of the call.
pub(super) fn covers(grant: &Grant, facts: &CallFacts) -> bool {
    match scope_of(facts) {
        Some(GrantScope::Command { argv, cwd }) => {
            // One that an earlier version made names no folder.
            let is_here = grant.path.as_ref().is_none_or(|it| *it == cwd);
            is_here && grant.argv_prefix.as_ref() == Some(&argv)
        }
        Some(GrantScope::Path(path)) => {
            grant.argv_prefix.is_none() && grant.path.as_ref() == Some(&path)
        }
        Some(GrantScope::Host(host)) => {
            grant.host.as_ref().is_some_and(|granted| granted.eq_ignore_ascii_case(&host))
        }
        None => false,
    }
}

/// The grant that may be offered with a question; `None` where only a single yes is safe: code that
/// is not certain, programs that run other code, files by which code runs later, keys, changes of the
/// self, and anything while untrusted text is on the path.
pub fn scope_to_offer(effects: &[Effect], facts: &Json, is_tainted: bool) -> Option<GrantScope> {
    let is_plain =
        |it: &Effect| matches!(it, Effect::Read | Effect::Write | Effect::Exec | Effect::Network);
    if is_tainted || effects.is_empty() || !effects.iter().all(is_plain) {
        return None;
    }
    scope_of(&CallFacts::read(effects, facts))
}

fn scope_of(facts: &CallFacts) -> Option<GrantScope> {
    match facts {
        CallFacts::Shell(shell) => {
            let cwd = shell.cwd.clone();
            command_alone(shell).map(|argv| GrantScope::Command { argv, cwd })
        }
        CallFacts::Path(facts) => {
            let may_stand = facts.zone < Zone::Device && !runs_later(&facts.path);
            may_stand.then(|| GrantScope::Path(facts.path.clone()))
        }
        CallFacts::Network(facts) => {
            (!facts.host.is_empty()).then(|| GrantScope::Host(facts.host.clone()))
        }
        CallFacts::Other { .. } => None,
    }
}

/// The words say which file is written and not what it will hold when they are used again, and what
/// runs later runs without a sandbox.
fn writes_what_runs_later(path: &PathFacts) -> bool {
    path.intent > PathIntent::Read && runs_later(&path.path)
}

/// The words of a script that is one command and nothing else, if that may stand as a grant.
fn command_alone(shell: &ShellFacts) -> Option<Vec<String>> {
    let [segment] = shell.segments.as_slice() else { return None };
    // Written without quotes, redirections, variables and operators, the words are all there is.
    let is_all = shell.command.split_whitespace().eq(segment.argv.iter().map(String::as_str));
    let is_certain = is_all
        && !segment.argv.is_empty()
        && shell.obstacles.is_empty()
        && segment.replaced.is_empty()
        && segment.environment.is_empty();
    let is_safe = is_certain
        && !shell.unsandboxed
        && !shell.network
        && is_self_contained(segment)
        && risks(segment).iter().all(|it| !it.kind.runs_other_code())
        && segment.paths.iter().all(|it| it.zone < Zone::Device)
        && !segment.paths.iter().any(writes_what_runs_later);
    is_safe.then(|| segment.argv.clone())
}
