//! The policy until there are approvals: calls may only read, and less if the owner's rules say so.

use std::sync::Arc;

use kith_vocab::event::calls::{Effect, Sandbox, Verdict};
use kith_vocab::policy::{Judgement, Policy, Question};

use crate::settings::PolicyRules;
use crate::settings::watch::SettingsWatch;

/// Allows calls that read, as far as the owner's rules do.
pub struct ReadsOnly {
    pub settings: Arc<SettingsWatch>,
}

impl Policy for ReadsOnly {
    fn judge(&self, question: &Question<'_>) -> Judgement {
        // The files are looked at when a turn begins; a call obeys the newest rules there are.
        self.settings.last_good().policy.judge(question.tool, question.effects)
    }
}

impl PolicyRules {
    fn judge(&self, tool: &str, effects: &[Effect]) -> Judgement {
        let only_reads = !effects.is_empty() && effects.iter().all(|it| *it == Effect::Read);
        let (verdict, reason, rule) = if !only_reads {
            let reason =
                format!("`{tool}` does more than read, and approvals are not supported yet");
            (Verdict::Deny, reason, "reads only")
        } else if self.denies_all {
            (Verdict::Deny, "the owner denies every call".to_owned(), "mode")
        } else if let Some(rule) = self.forbidden.iter().find(|it| is_about(it, tool)) {
            let reason = format!("the owner's rules do not allow `{tool}`");
            (Verdict::Deny, reason, rule.as_str())
        } else {
            (Verdict::Allow, "reading is always allowed".to_owned(), "reads only")
        };
        let rule = Some(rule.to_owned());
        Judgement { verdict, reason, rule, grant_id: None, sandbox: Sandbox::None }
    }
}

/// A rule for some uses of a tool counts for all of them until arguments are compared: too strict
/// is told at once, too lax is not.
fn is_about(rule: &str, tool: &str) -> bool {
    rule.trim().strip_prefix(tool).is_some_and(|rest| {
        !rest.starts_with(|ch: char| ch.is_ascii_alphanumeric() || ch == '_' || ch == '-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a policy of these rules says about a call.
    #[track_caller]
    fn check(rules: &[&str], denies_all: bool, tool: &str, effect: Effect, expected: Verdict) {
        let forbidden = rules.iter().map(|&rule| rule.to_owned()).collect();
        let rules = PolicyRules { denies_all, forbidden };
        let judgement = rules.judge(tool, &[effect]);
        assert_eq!(judgement.verdict, expected, "{tool} under {rules:?}");
    }

    #[test]
    fn reading_is_free_and_nothing_else() {
        check(&[], false, "read_file", Effect::Read, Verdict::Allow);
        for effect in [Effect::Write, Effect::Exec, Effect::Network, Effect::Message] {
            check(&[], false, "x", effect, Verdict::Deny);
        }
    }

    #[test]
    fn the_owner_may_forbid_a_tool_or_all_of_them() {
        check(&[], true, "read_file", Effect::Read, Verdict::Deny);
        check(&["rm", "read_file"], false, "read_file", Effect::Read, Verdict::Deny);
        check(&["read_file(**/.env)"], false, "read_file", Effect::Read, Verdict::Deny);
        check(&["read_files", "rm"], false, "read_file", Effect::Read, Verdict::Allow);
        check(&["read_file"], false, "list_files", Effect::Read, Verdict::Allow);
    }
}
