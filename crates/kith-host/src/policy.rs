//! The policy of a house: the owner's rules, those of the agent's own constitution, and the judge.

use std::path::Path;
use std::sync::Arc;

use kith_engine::judge::rules::{PolicyRule, RuleSet};
use kith_engine::judge::{Explanation, explain, judge};
use kith_home::constitution::ApprovalRules;
use kith_home::zones::Places;
use kith_vocab::policy::{Judgement, Policy, Question};

use crate::house::House;
use crate::settings::Settings;
use crate::settings::watch::SettingsWatch;

/// Judges the calls of one agent.
pub struct HousePolicy {
    pub settings: Arc<SettingsWatch>,
    pub constitution: ConstitutionRules,
}

/// The rules of an agent's `Agent.md`: they can only make the policy stricter.
#[derive(Clone, Debug, Default)]
pub struct ConstitutionRules {
    ask: Vec<PolicyRule>,
    deny: Vec<PolicyRule>,
    /// Why they cannot be read. Then every call that does more than read is asked about.
    problem: Option<String>,
}

impl ConstitutionRules {
    pub fn read(home: &Path) -> ConstitutionRules {
        let rules = match ApprovalRules::read(home) {
            Ok(Ok(rules)) => rules,
            Ok(Err(error)) => return ConstitutionRules::unreadable(&error.to_string()),
            Err(error) => return ConstitutionRules::unreadable(&error.to_string()),
        };
        let parse = |texts: &[String]| -> Result<Vec<PolicyRule>, String> {
            texts.iter().map(|it| PolicyRule::parse(it)).collect()
        };
        match (parse(&rules.ask), parse(&rules.deny)) {
            (Ok(ask), Ok(deny)) => ConstitutionRules { ask, deny, problem: None },
            (Err(problem), _) | (_, Err(problem)) => ConstitutionRules::unreadable(&problem),
        }
    }

    fn unreadable(problem: &str) -> ConstitutionRules {
        let problem = Some(format!("the rules in `Agent.md` cannot be read ({problem})"));
        ConstitutionRules { problem, ..ConstitutionRules::default() }
    }

    /// The owner's rules together with these.
    pub fn tighten(&self, rules: &RuleSet) -> RuleSet {
        let mut rules = rules.clone();
        rules.ask.extend(self.ask.iter().cloned());
        rules.deny.extend(self.deny.iter().cloned());
        rules.problem.clone_from(&self.problem);
        rules
    }
}

impl HousePolicy {
    pub fn explain(&self, question: &Question<'_>) -> Explanation {
        explain(question, &self.rules())
    }

    fn rules(&self) -> RuleSet {
        // The files are looked at when a turn begins; a call obeys the newest rules there are.
        self.constitution.tighten(&self.settings.last_good().policy)
    }
}

impl Policy for HousePolicy {
    fn judge(&self, question: &Question<'_>) -> Judgement {
        judge(question, &self.rules())
    }
}

/// What paths mean to sessions in this folder.
pub fn places(house: &House, settings: &Settings, cwd: &Path, root: &Path) -> Places {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let homes = settings.team.members().map(|it| real(&it.home)).collect();
    Places {
        workspace: vec![real(root)],
        cwd: real(cwd),
        house: real(&house.dir),
        homes,
        user_home: house.real_user_home(),
        temporary: vec![real(Path::new("/tmp")), real(Path::new("/var/tmp"))],
        skills: settings.extra_skills.iter().map(|it| real(it)).collect(),
        ..Places::default()
    }
}

#[cfg(test)]
mod tests;
