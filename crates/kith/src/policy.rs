//! What calls may do until there are approvals: look, and nothing else; and less if the owner says.

use kith_vocab::event::calls::{Effect, Sandbox, Verdict};
use kith_vocab::policy::{CallToJudge, Judgement, Policy};

use crate::config::Rules;

pub(crate) struct ReadsOnly {
    pub(crate) rules: Rules,
}

impl Policy for ReadsOnly {
    fn judge(&self, call: &CallToJudge<'_>) -> Judgement {
        let (verdict, reason, rule) = if call.effect != Effect::Read {
            let reason = format!(
                "`{}` would do more than read, and nobody can be asked about it yet",
                call.tool
            );
            (Verdict::Deny, reason, "reads only")
        } else if self.rules.denies_all {
            (Verdict::Deny, "the owner denies every call".to_owned(), "mode")
        } else if let Some(rule) = self.rules.forbidden.iter().find(|it| is_about(it, call.tool)) {
            let reason = format!("the owner's rules say that `{}` is not free", call.tool);
            (Verdict::Deny, reason, rule.as_str())
        } else {
            (Verdict::Allow, "reading is free".to_owned(), "reads only")
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
    use kith_vocab::ids::EventId;
    use kith_vocab::json::Json;
    use uuid::Uuid;

    use super::*;

    /// What a policy of these rules says about a call.
    #[track_caller]
    fn check(rules: &[&str], denies_all: bool, tool: &str, effect: Effect, expected: Verdict) {
        let forbidden = rules.iter().map(|&rule| rule.to_owned()).collect();
        let policy = ReadsOnly { rules: Rules { denies_all, forbidden } };
        let (call_id, facts) = (EventId::from_uuid(Uuid::nil()).call(0), Json::empty_object());
        let call = CallToJudge { call_id, tool, effect, summary: "", facts: &facts };
        let judgement = policy.judge(&call);
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
