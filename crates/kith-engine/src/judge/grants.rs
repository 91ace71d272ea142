//! Standing permissions: what one may cover, and what may be offered as one.
//!
//! A grant is bound to its agent, workspace and expiry by whoever keeps grants; those given to the
//! judge are in force.

use std::path::Path;

use kith_shell::risks::risks;
use kith_vocab::event::calls::{Effect, Grant};
use kith_vocab::facts::Zone;
use kith_vocab::policy::Question;

use super::CallFacts;

/// What a person may be offered not to be asked about again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantScope {
    ArgvPrefix(Vec<String>),
    Path(String),
    Host(String),
}

/// Whether a grant answers an objection of its call or of one segment.
pub(super) fn covers(grant: &Grant, facts: &CallFacts, segment: Option<usize>) -> bool {
    match facts {
        CallFacts::Shell(shell) => {
            let argv = segment.and_then(|at| shell.segments.get(at)).map(|it| &it.argv);
            let prefix = grant.argv_prefix.as_ref().filter(|it| !it.is_empty());
            argv.zip(prefix).is_some_and(|(argv, prefix)| argv.starts_with(prefix))
        }
        CallFacts::Path(facts) => grant.path.as_ref().is_some_and(|granted| {
            !granted.is_empty() && Path::new(&facts.path).starts_with(granted)
        }),
        CallFacts::Network(facts) => {
            grant.host.as_ref().is_some_and(|host| host.eq_ignore_ascii_case(&facts.host))
        }
        CallFacts::Other { .. } => false,
    }
}

/// The grant that may be offered with a question; `None` where only a single yes is safe: code that
/// is not certain, keys, changes of the self, and anything while untrusted text is on the path.
pub fn scope_to_offer(question: &Question<'_>) -> Option<GrantScope> {
    let is_plain =
        |it: &Effect| matches!(it, Effect::Read | Effect::Write | Effect::Exec | Effect::Network);
    if question.is_tainted || !question.effects.iter().all(is_plain) {
        return None;
    }
    match CallFacts::read(question) {
        CallFacts::Shell(shell) => {
            let [segment] = shell.segments.as_slice() else { return None };
            let risks = risks(segment);
            let is_certain = shell.obstacles.is_empty() && segment.replaced.is_empty();
            let is_safe = is_certain
                && !shell.unsandboxed
                && !shell.network
                && risks.iter().all(|it| !it.kind.runs_other_code())
                && segment.paths.iter().all(|it| it.zone < Zone::Device);
            is_safe.then(|| GrantScope::ArgvPrefix(segment.argv.clone()))
        }
        CallFacts::Path(facts) => {
            (facts.zone < Zone::Device).then_some(GrantScope::Path(facts.path))
        }
        CallFacts::Network(facts) => {
            (!facts.host.is_empty()).then_some(GrantScope::Host(facts.host))
        }
        CallFacts::Other { .. } => None,
    }
}
