//! Policies that say one thing.

use kith_vocab::event::calls::{Sandbox, Verdict};
use kith_vocab::policy::{Judgement, Policy, Question};

#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

/// Asks about the tools it names and allows the others.
#[derive(Clone, Debug, Default)]
pub struct AskAbout(Vec<String>);

impl AskAbout {
    pub fn new<'a>(tools: impl IntoIterator<Item = &'a str>) -> AskAbout {
        AskAbout(tools.into_iter().map(str::to_owned).collect())
    }
}

impl Policy for AllowAll {
    fn judge(&self, _question: &Question<'_>) -> Judgement {
        judgement(Verdict::Allow)
    }
}

impl Policy for DenyAll {
    fn judge(&self, _question: &Question<'_>) -> Judgement {
        judgement(Verdict::Deny)
    }
}

impl Policy for AskAbout {
    fn judge(&self, question: &Question<'_>) -> Judgement {
        let asks = self.0.iter().any(|tool| tool == question.tool);
        judgement(if asks { Verdict::Ask } else { Verdict::Allow })
    }
}

fn judgement(verdict: Verdict) -> Judgement {
    let reason = match verdict {
        Verdict::Allow => "the test allows it",
        Verdict::Ask => "the test asks about it",
        Verdict::Deny => "the test denies it",
    };
    Judgement {
        verdict,
        reason: reason.to_owned(),
        rule: None,
        grant_id: None,
        sandbox: Sandbox::None,
    }
}
