//! What calls may do until there are approvals: look, and nothing else.

use kith_vocab::event::calls::{Effect, Sandbox, Verdict};
use kith_vocab::policy::{CallToJudge, Judgement, Policy};

pub(crate) struct ReadsOnly;

impl Policy for ReadsOnly {
    fn judge(&self, call: &CallToJudge<'_>) -> Judgement {
        let (verdict, reason) = if call.effect == Effect::Read {
            (Verdict::Allow, "reading is free".to_owned())
        } else {
            let reason = format!(
                "`{}` would do more than read, and nobody can be asked about it yet",
                call.tool
            );
            (Verdict::Deny, reason)
        };
        let rule = Some("reads only".to_owned());
        Judgement { verdict, reason, rule, grant_id: None, sandbox: Sandbox::None }
    }
}
