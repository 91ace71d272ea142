//! The policy's verdict about a call: allow, ask or deny.
//!
//! [`judge`] is pure: same question, same rules, same verdict. Reasons not to run a call are collected
//! from its facts and from the owner's rules; standing permissions take some of them away; if any is
//! left, a person is asked, and where nobody can be asked, the call is denied. Facts that cannot be
//! read are a reason. A command that is allowed runs in the sandbox: that is the boundary, and the
//! judge only keeps people from being asked too often.

mod commands;
mod globs;
pub mod grants;
mod paths;
mod reasons;
pub mod rules;
mod shell;

use kith_shell::facts::ShellFacts;
use kith_vocab::event::calls::{Effect, Sandbox, Verdict};
use kith_vocab::event::messages::Trust;
use kith_vocab::facts::{NetworkFacts, PathCallFacts};
use kith_vocab::json::Json;
use kith_vocab::policy::{Judgement, Question};

use self::reasons::JudgeReason;
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
    reason: JudgeReason,
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
    fn new(answer: ObjectionAnswer, reason: JudgeReason) -> Objection {
        Objection { reason, rule: None, answer, segment: None }
    }
}

/// The parts of a command that are reasons to ask, for the question; none for other calls.
pub(crate) fn parts_to_ask_about(facts: &Json, language: &str) -> Vec<String> {
    facts.read().map_or_else(|_| Vec::new(), |it| shell::parts_to_ask_about(&it, language))
}

pub fn judge(question: &Question<'_>, rules: &RuleSet) -> Judgement {
    explain(question, rules).judgement
}

/// The verdict with its parts.
pub fn explain(question: &Question<'_>, rules: &RuleSet) -> Explanation {
    let facts = CallFacts::read(question.effects, question.facts);
    if let Some((reason, rule)) = denial(question, rules, &facts) {
        let reason = reason.text(question.language);
        let segments = shell::denied_segments(&facts, &reason);
        let (verdict, sandbox) = (Verdict::Deny, Sandbox::None);
        let judgement = Judgement { verdict, reason, rule: Some(rule), grant_id: None, sandbox };
        return Explanation { judgement, segments };
    }
    let all = objections(question, rules, &facts);
    let mut lifted_by = LiftedBy::default();
    let is_left = |it: &&Objection| !is_lifted(it, question, rules, &facts, &mut lifted_by);
    let mut left: Vec<Objection> = all.iter().filter(is_left).cloned().collect();
    if left.is_empty() && rules.mode != JudgeMode::Trusted {
        left.extend(shell::shared_network(&facts));
    }
    let segments = shell::segments(&facts, &left, question.language);
    let sandbox = shell::sandbox(question, &facts, &all);
    let (verdict, reason, rule) = match left.into_iter().next() {
        None => (Verdict::Allow, allowed_because(question, &facts, &lifted_by), lifted_by.rule),
        Some(first) if question.is_attended => (Verdict::Ask, first.reason, first.rule),
        Some(first) => {
            (Verdict::Deny, JudgeReason::NobodyToAsk(Box::new(first.reason)), first.rule)
        }
    };
    let reason = reason.text(question.language);
    let grant_id = lifted_by.grant_id.filter(|_| verdict == Verdict::Allow);
    Explanation { judgement: Judgement { verdict, reason, rule, grant_id, sandbox }, segments }
}

/// Why nobody is even asked, and the rule that says so.
fn denial(
    question: &Question<'_>,
    rules: &RuleSet,
    facts: &CallFacts,
) -> Option<(JudgeReason, String)> {
    if rules.mode == JudgeMode::Deny {
        return Some((JudgeReason::OwnerDeniesAll, "mode".to_owned()));
    }
    if let Some(rule) = rules.deny.iter().find(|it| it.covers_any(question.tool, facts)) {
        return Some((JudgeReason::DenyRule(rule.text.clone()), rule.text.clone()));
    }
    let only_reads = question.effects.iter().all(|it| *it == Effect::Read);
    if rules.mode == JudgeMode::Readonly && (question.effects.is_empty() || !only_reads) {
        let tool = question.tool.to_owned();
        return Some((JudgeReason::OnlyReading { tool }, "mode".to_owned()));
    }
    None
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
    fn read(effects: &[Effect], facts: &Json) -> CallFacts {
        let other = || CallFacts::Other { path: path_of(facts) };
        match effects.iter().copied().max() {
            Some(Effect::Exec) => facts.read().map_or_else(|_| other(), CallFacts::Shell),
            Some(Effect::Write | Effect::Oneself) => {
                facts.read().map_or_else(|_| other(), CallFacts::Path)
            }
            Some(Effect::Network) => facts.read().map_or_else(|_| other(), CallFacts::Network),
            Some(Effect::Read | Effect::Message) | None => other(),
        }
    }
}

fn path_of(facts: &Json) -> Option<String> {
    let facts: serde_json::Map<String, serde_json::Value> = facts.read().ok()?;
    Some(facts.get("path")?.as_str()?.to_owned())
}

fn objections(question: &Question<'_>, rules: &RuleSet, facts: &CallFacts) -> Vec<Objection> {
    let mut objections = Vec::new();
    for rule in rules.ask.iter().filter(|it| it.covers_any(question.tool, facts)) {
        let reason = JudgeReason::AskRule(rule.text.clone());
        let rule = Some(rule.text.clone());
        let answer = ObjectionAnswer::Person;
        objections.push(Objection { reason, rule, answer, segment: None });
    }
    let mut ask_person = |reason| objections.push(Objection::new(ObjectionAnswer::Person, reason));
    if question.effects.is_empty() {
        ask_person(JudgeReason::NoEffects);
    }
    let only_reads = question.effects.iter().all(|it| *it == Effect::Read);
    if question.trust > Trust::Paired && !only_reads {
        ask_person(JudgeReason::FromStranger);
    }
    if let Some(problem) = rules.problem.as_ref().filter(|_| !only_reads) {
        ask_person(JudgeReason::UnreadableRules(problem.clone()));
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
    let person = |reason| vec![Objection::new(ObjectionAnswer::Person, reason)];
    match (effect, facts) {
        (Effect::Read, _) => Vec::new(),
        (Effect::Exec, CallFacts::Shell(shell)) => shell::objections(question, rules, shell),
        (Effect::Write, CallFacts::Path(path)) => paths::of_write(path, question),
        (Effect::Network, CallFacts::Network(network)) => of_network(network, question, rules),
        (Effect::Oneself, _) if question.tool == MEMORY_NOTES && !question.is_tainted => Vec::new(),
        (Effect::Oneself, CallFacts::Path(path)) => paths::of_self(path, question),
        (Effect::Message, _) => person(JudgeReason::Message),
        _ => person(JudgeReason::UnknownAction { tool: question.tool.to_owned() }),
    }
}

fn of_network(facts: &NetworkFacts, question: &Question<'_>, rules: &RuleSet) -> Vec<Objection> {
    let host = facts.host.to_ascii_lowercase();
    if !host.is_empty() && rules.hosts.iter().any(|it| globs::matches_text(it, &host)) {
        return Vec::new();
    }
    let answer =
        if question.is_tainted { ObjectionAnswer::Person } else { ObjectionAnswer::Permission };
    vec![Objection::new(answer, JudgeReason::Host(host))]
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
    let grant = question.grants.iter().find(|it| grants::covers(it, facts));
    if let Some(grant) = grant {
        lifted_by.grant_id.get_or_insert_with(|| grant.grant_id.clone());
        return true;
    }
    false
}

fn allowed_because(
    question: &Question<'_>,
    facts: &CallFacts,
    lifted_by: &LiftedBy,
) -> JudgeReason {
    match (facts, lifted_by) {
        (_, LiftedBy { rule: Some(rule), .. }) if rule == "mode" => JudgeReason::ModeTrusted,
        (_, LiftedBy { rule: Some(rule), .. }) => JudgeReason::AllowRule(rule.clone()),
        (_, LiftedBy { grant_id: Some(_), .. }) => JudgeReason::Granted,
        (CallFacts::Shell(_), _) => JudgeReason::InSandbox,
        (CallFacts::Path(_), _) => JudgeReason::WorkspaceFile,
        (CallFacts::Network(_), _) => JudgeReason::NamedHost,
        (CallFacts::Other { .. }, _) if question.tool == MEMORY_NOTES => JudgeReason::FreeNotes,
        (CallFacts::Other { .. }, _) => JudgeReason::Reading,
    }
}

#[cfg(test)]
mod tests;
