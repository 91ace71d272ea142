//! The policy's verdict about a call: allow, ask or deny.
//!
//! [`judge`] is pure: same question, same rules, same verdict. Reasons not to run a call are collected
//! from its facts and from the owner's rules; standing permissions take some of them away; if any is
//! left, a person is asked, and where nobody can be asked, the call is denied. Facts that cannot be
//! read are a reason. A command that is allowed runs in the sandbox: that is the boundary, and the
//! judge only keeps people from being asked too often.

mod globs;
pub mod grants;
mod paths;
pub mod rules;
mod shell;

use kith_shell::facts::ShellFacts;
use kith_vocab::event::calls::{Effect, Sandbox, Verdict};
use kith_vocab::event::messages::Trust;
use kith_vocab::facts::{NetworkFacts, PathCallFacts};
use kith_vocab::policy::{Judgement, Question};

use self::rules::{JudgeMode, RuleSet};

/// The one tool whose changes of the self are free while nothing on the path is untrusted.
const MEMORY_NOTES: &str = "memory_append";

/// A verdict, and what each part of a command contributed to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub judgement: Judgement,
    /// For shell commands: each simple command with its own verdict.
    pub segments: Vec<SegmentJudgement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentJudgement {
    pub argv: Vec<String>,
    pub verdict: Verdict,
    pub reason: String,
}

/// A reason not to run a call without asking.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Objection {
    reason: String,
    /// The owner's rule that it comes from.
    rule: Option<String>,
    answer: ObjectionAnswer,
    /// The segment that it is about.
    segment: Option<usize>,
}

/// What takes an objection away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObjectionAnswer {
    /// A rule or grant that names it, or the mode `trusted`.
    Permission,
    /// The mode `trusted` only.
    Mode,
    /// A person only, each time.
    Person,
}

impl Objection {
    fn new(answer: ObjectionAnswer, reason: impl Into<String>) -> Objection {
        Objection { reason: reason.into(), rule: None, answer, segment: None }
    }
}

pub fn judge(question: &Question<'_>, rules: &RuleSet) -> Judgement {
    explain(question, rules).judgement
}

/// The verdict with its parts.
pub fn explain(question: &Question<'_>, rules: &RuleSet) -> Explanation {
    let facts = CallFacts::read(question);
    let deny = |reason: String, rule: Option<&str>| {
        let rule = rule.map(str::to_owned);
        let judgement = Judgement {
            verdict: Verdict::Deny,
            reason,
            rule,
            grant_id: None,
            sandbox: Sandbox::None,
        };
        let segments = shell::denied(&facts, &judgement.reason);
        Explanation { judgement, segments }
    };
    if rules.mode == JudgeMode::Deny {
        return deny("the owner denies every call".to_owned(), Some("mode"));
    }
    if let Some(rule) = rules.deny.iter().find(|it| it.covers_any(question.tool, &facts)) {
        return deny(format!("the rule `{}` denies it", rule.text), Some(&rule.text));
    }
    let only_reads = question.effects.iter().all(|it| *it == Effect::Read);
    if rules.mode == JudgeMode::Readonly && (question.effects.is_empty() || !only_reads) {
        let reason = format!("`{}` does more than read, and the mode is `readonly`", question.tool);
        return deny(reason, Some("mode"));
    }
    let mut objections = objections(question, rules, &facts);
    let all = objections.clone();
    let mut lifted_by = LiftedBy::default();
    objections.retain(|it| !is_lifted(it, question, rules, &facts, &mut lifted_by));
    let segments = shell::segments(&facts, &objections);
    let sandbox = shell::sandbox(question, &facts, &all);
    let (verdict, reason, rule) = match objections.into_iter().next() {
        None => (Verdict::Allow, allowed_because(question, &facts, &lifted_by), lifted_by.rule),
        Some(first) if question.is_attended => (Verdict::Ask, first.reason, first.rule),
        Some(first) => {
            (Verdict::Deny, format!("nobody is there to be asked: {}", first.reason), first.rule)
        }
    };
    let grant_id = lifted_by.grant_id.filter(|_| verdict == Verdict::Allow);
    Explanation { judgement: Judgement { verdict, reason, rule, grant_id, sandbox }, segments }
}

/// The facts of a call in the forms that the judge knows.
enum CallFacts {
    Shell(ShellFacts),
    Path(PathCallFacts),
    Network(NetworkFacts),
    /// Calls that only read, and those whose facts could not be read.
    Other {
        path: Option<String>,
    },
}

impl CallFacts {
    fn read(question: &Question<'_>) -> CallFacts {
        let strongest = question.effects.iter().copied().max();
        let other = || CallFacts::Other { path: path_of(question) };
        match strongest {
            Some(Effect::Exec) => question.facts.read().map_or_else(|_| other(), CallFacts::Shell),
            Some(Effect::Write | Effect::Oneself) => {
                question.facts.read().map_or_else(|_| other(), CallFacts::Path)
            }
            Some(Effect::Network) => {
                question.facts.read().map_or_else(|_| other(), CallFacts::Network)
            }
            Some(Effect::Read | Effect::Message) | None => other(),
        }
    }
}

fn path_of(question: &Question<'_>) -> Option<String> {
    let facts: serde_json::Map<String, serde_json::Value> = question.facts.read().ok()?;
    Some(facts.get("path")?.as_str()?.to_owned())
}

fn objections(question: &Question<'_>, rules: &RuleSet, facts: &CallFacts) -> Vec<Objection> {
    let mut objections = Vec::new();
    for rule in rules.ask.iter().filter(|it| it.covers_any(question.tool, facts)) {
        let reason = format!("the rule `{}` says to ask", rule.text);
        let rule = Some(rule.text.clone());
        let answer = ObjectionAnswer::Person;
        objections.push(Objection { reason, rule, answer, segment: None });
    }
    if question.effects.is_empty() {
        let reason = "the tool does not say what the call does";
        objections.push(Objection::new(ObjectionAnswer::Person, reason));
    }
    let only_reads = question.effects.iter().all(|it| *it == Effect::Read);
    if question.trust > Trust::Paired && !only_reads {
        let reason = "the message does not come from the owner or someone the owner knows";
        objections.push(Objection::new(ObjectionAnswer::Person, reason));
    }
    if let Some(problem) = rules.problem.as_ref().filter(|_| !only_reads) {
        objections.push(Objection::new(ObjectionAnswer::Person, problem.clone()));
    }
    for effect in question.effects {
        objections.extend(of_effect(*effect, question, rules, facts));
    }
    objections
}

fn of_effect(
    effect: Effect,
    question: &Question<'_>,
    rules: &RuleSet,
    facts: &CallFacts,
) -> Vec<Objection> {
    let unreadable = || {
        let reason = format!("what `{}` would do is not known", question.tool);
        vec![Objection::new(ObjectionAnswer::Person, reason)]
    };
    match (effect, facts) {
        (Effect::Read, _) => Vec::new(),
        (Effect::Exec, CallFacts::Shell(shell)) => shell::objections(question, shell),
        (Effect::Write, CallFacts::Path(path)) => paths::of_write(path, question),
        (Effect::Network, CallFacts::Network(network)) => of_network(network, question, rules),
        (Effect::Oneself, _) if question.tool == MEMORY_NOTES && !question.is_tainted => Vec::new(),
        (Effect::Oneself, CallFacts::Path(path)) => paths::of_self(path, question),
        (Effect::Message, _) => {
            let reason = "it sends a message to others";
            vec![Objection::new(ObjectionAnswer::Person, reason)]
        }
        _ => unreadable(),
    }
}

fn of_network(facts: &NetworkFacts, question: &Question<'_>, rules: &RuleSet) -> Vec<Objection> {
    let host = facts.host.to_ascii_lowercase();
    if !host.is_empty() && rules.hosts.iter().any(|it| globs::matches_text(it, &host)) {
        return Vec::new();
    }
    let answer =
        if question.is_tainted { ObjectionAnswer::Person } else { ObjectionAnswer::Permission };
    vec![Objection::new(answer, format!("it reaches the network, host `{host}`"))]
}

/// The rule or grant by which a call is allowed.
#[derive(Default)]
struct LiftedBy {
    rule: Option<String>,
    grant_id: Option<String>,
}

fn is_lifted(
    objection: &Objection,
    question: &Question<'_>,
    rules: &RuleSet,
    facts: &CallFacts,
    lifted_by: &mut LiftedBy,
) -> bool {
    if objection.answer == ObjectionAnswer::Person {
        return false;
    }
    if rules.mode == JudgeMode::Trusted {
        lifted_by.rule.get_or_insert_with(|| "mode".to_owned());
        return true;
    }
    if objection.answer != ObjectionAnswer::Permission {
        return false;
    }
    let rule = rules.allow.iter().find(|it| it.covers(question.tool, facts, objection.segment));
    if let Some(rule) = rule {
        lifted_by.rule.get_or_insert_with(|| rule.text.clone());
        return true;
    }
    let grant = question.grants.iter().find(|it| grants::covers(it, facts, objection.segment));
    if let Some(grant) = grant {
        lifted_by.grant_id.get_or_insert_with(|| grant.grant_id.clone());
        return true;
    }
    false
}

fn allowed_because(question: &Question<'_>, facts: &CallFacts, lifted_by: &LiftedBy) -> String {
    match (facts, lifted_by) {
        (_, LiftedBy { rule: Some(rule), .. }) if rule == "mode" => {
            "the owner chose the mode `trusted`".to_owned()
        }
        (_, LiftedBy { rule: Some(rule), .. }) => format!("the rule `{rule}` allows it"),
        (_, LiftedBy { grant_id: Some(_), .. }) => "it was granted before".to_owned(),
        (CallFacts::Shell(_), _) => "every part is understood and runs in the sandbox".to_owned(),
        (CallFacts::Path(_), _) => "it changes a file of the workspace".to_owned(),
        (CallFacts::Network(_), _) => "the settings name the host".to_owned(),
        (CallFacts::Other { .. }, _) if question.tool == MEMORY_NOTES => {
            "notes are free while nothing untrusted was read".to_owned()
        }
        (CallFacts::Other { .. }, _) => "reading is always allowed".to_owned(),
    }
}

#[cfg(test)]
mod tests;
