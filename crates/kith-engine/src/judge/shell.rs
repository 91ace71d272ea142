//! Reasons to ask about a shell command, from the facts of its segments.

use std::cmp::Reverse;
use std::collections::HashSet;

use kith_shell::facts::{ProgramFacts, ProgramPlace, SegmentFacts, ShellFacts};
use kith_shell::risks::{Risk, RiskKind, cannot_reach_others, risks};
use kith_shell::rough;
use kith_shell::script::Joint;
use kith_vocab::event::calls::{Sandbox, Verdict};
use kith_vocab::policy::Question;

use super::reasons::JudgeReason;
use super::rules::RuleSet;
use super::{CallFacts, Objection, ObjectionAnswer, SegmentJudgement, paths};

/// Parts of a command that a question lists; of more it tells the number.
const PARTS_MAX: usize = 20;
/// Characters of a part that a question shows.
const PART_CHARS_MAX: usize = 120;
/// Reasons that a question tells of one part.
const PART_REASONS_MAX: usize = 3;

pub(super) fn objections(
    question: &Question<'_>,
    rules: &RuleSet,
    facts: &ShellFacts,
) -> Vec<Objection> {
    let mut objections = Vec::new();
    let mut ask_person = |reason| objections.push(Objection::new(ObjectionAnswer::Person, reason));
    if question.sandbox == Sandbox::None {
        ask_person(JudgeReason::NoSandbox);
    }
    if facts.unsandboxed {
        ask_person(JudgeReason::LeavesSandbox);
    }
    if facts.segments.is_empty() && facts.obstacles.is_empty() {
        ask_person(JudgeReason::NoCommand);
    }
    let unseen = answer_to_unseen_code(question, rules);
    for obstacle in &facts.obstacles {
        let answer = if obstacle.kind.hides_the_rest() { ObjectionAnswer::Person } else { unseen };
        let (kind, text) = (obstacle.kind, obstacle.text.clone());
        objections.push(Objection::new(answer, JudgeReason::Obstacle { kind, text }));
    }
    for (at, segment) in facts.segments.iter().enumerate() {
        let of_segment = of_segment(segment, question, unseen);
        objections.extend(of_segment.into_iter().map(|it| Objection { segment: Some(at), ..it }));
    }
    if facts.network {
        let answer = network_answer(question, ObjectionAnswer::Mode);
        objections.push(Objection::new(answer, JudgeReason::AsksForNetwork));
    }
    objections
}

/// What answers an objection to code that cannot be seen. A rule that denies or asks about some
/// command may be about that code, so under such rules the mode `trusted` does not answer it.
fn answer_to_unseen_code(question: &Question<'_>, rules: &RuleSet) -> ObjectionAnswer {
    let mut strict = rules.deny.iter().chain(&rules.ask);
    let may_be_meant = strict.any(|it| it.has_pattern_for(question.tool));
    if may_be_meant { ObjectionAnswer::Person } else { ObjectionAnswer::Mode }
}

fn network_answer(question: &Question<'_>, untainted: ObjectionAnswer) -> ObjectionAnswer {
    // Which hosts a command reaches is not known, so each may be a new one.
    if question.is_tainted { ObjectionAnswer::Person } else { untainted }
}

fn of_segment(
    segment: &SegmentFacts,
    question: &Question<'_>,
    unseen: ObjectionAnswer,
) -> Vec<Objection> {
    let risks = risks(segment).into_iter().map(|Risk { kind, word }| {
        let answer = match kind {
            RiskKind::Privilege | RiskKind::Machine => ObjectionAnswer::Person,
            RiskKind::Network => network_answer(question, ObjectionAnswer::Permission),
            // A rule of the owner may name a program that Kith does not know; nothing else may.
            RiskKind::UnknownProgram => ObjectionAnswer::Permission,
            kind if kind.runs_other_code() => unseen,
            _ => ObjectionAnswer::Permission,
        };
        Objection::new(answer, JudgeReason::Risk { kind, word })
    });
    risks.chain(paths::of_command(&segment.paths)).collect()
}

/// The sandbox that the command runs in, or would run in after a yes.
pub(super) fn sandbox(question: &Question<'_>, facts: &CallFacts, all: &[Objection]) -> Sandbox {
    let CallFacts::Shell(facts) = facts else { return Sandbox::None };
    debug_assert!(!facts.unsandboxed || !all.is_empty(), "to leave the sandbox is a reason to ask");
    if facts.unsandboxed || question.sandbox == Sandbox::None {
        Sandbox::None
    } else if facts.network || facts.segments.iter().any(needs_network) {
        Sandbox::Network
    } else {
        Sandbox::Workspace
    }
}

fn needs_network(segment: &SegmentFacts) -> bool {
    risks(segment).iter().any(|it| it.kind == RiskKind::Network)
}

/// The network is given to a whole script. Where one command may have it, another that could use it
/// as well is a reason to ask.
pub(super) fn shared_network(facts: &CallFacts) -> Option<Objection> {
    let CallFacts::Shell(facts) = facts else { return None };
    if !facts.segments.iter().any(needs_network) {
        return None;
    }
    let other = |it: &&SegmentFacts| !needs_network(it) && !cannot_reach_others(it);
    let word = facts.segments.iter().find(other)?.argv.first().cloned().unwrap_or_default();
    Some(Objection::new(ObjectionAnswer::Person, JudgeReason::SharesNetwork { word }))
}

/// Each segment with the first objection to it that is left.
pub(super) fn segments(
    facts: &CallFacts,
    left: &[Objection],
    language: &str,
) -> Vec<SegmentJudgement> {
    let CallFacts::Shell(facts) = facts else { return Vec::new() };
    let judged = facts.segments.iter().enumerate().map(|(at, segment)| {
        let objection = left.iter().find(|it| it.segment == Some(at));
        let reason = objection.map_or(&JudgeReason::SegmentInSandbox, |it| &it.reason);
        let verdict = if objection.is_some() { Verdict::Ask } else { Verdict::Allow };
        SegmentJudgement { argv: segment.argv.clone(), verdict, reason: reason.text(language) }
    });
    judged.collect()
}

/// The parts of a command that are reasons to ask, each with its reason. The rules do not matter here.
/// Of too many, the ones that run other code are listed.
pub(super) fn parts_to_ask_about(facts: &ShellFacts, language: &str) -> Vec<String> {
    let is_hidden = facts.obstacles.iter().any(|it| it.kind.hides_the_rest());
    // What is too long or too strange to be read is looked through for what may be a command.
    let rough = if is_hidden { rough::commands(&facts.command) } else { Vec::new() };
    let rough: Vec<SegmentFacts> = rough.into_iter().map(looked_for).collect();
    let segments = if is_hidden { &rough } else { &facts.segments };
    let mut parts: Vec<AskedPart> = Vec::new();
    let mut seen = HashSet::new();
    for part in segments.iter().filter_map(|it| asked_part(it, language)) {
        if seen.insert(part.text.clone()) {
            parts.push(part);
        }
    }
    let n_more = parts.len().saturating_sub(PARTS_MAX);
    if n_more > 0 {
        parts.sort_by_key(|it| Reverse(it.kind));
        parts.truncate(PARTS_MAX);
    }
    let more = (n_more > 0).then(|| format!("+{n_more}"));
    parts.into_iter().map(|it| it.text).chain(more).collect()
}

struct AskedPart {
    /// The gravest reason that is none of its paths.
    kind: Option<RiskKind>,
    text: String,
}

fn asked_part(segment: &SegmentFacts, language: &str) -> Option<AskedPart> {
    let risks = risks(segment);
    let kind = risks.iter().map(|it| it.kind).max();
    let of_risks = risks.into_iter().map(|Risk { kind, word }| JudgeReason::Risk { kind, word });
    let of_paths = paths::of_command(&segment.paths).into_iter().map(|it| it.reason);
    let mut reasons: Vec<String> = of_risks.chain(of_paths).map(|it| it.text(language)).collect();
    reasons.dedup();
    reasons.truncate(PART_REASONS_MAX);
    if reasons.is_empty() {
        return None;
    }
    let words = segment.argv.join(" ");
    let mut shown: String = words.chars().take(PART_CHARS_MAX).collect();
    if shown.len() < words.len() {
        shown.push('…');
    }
    Some(AskedPart { kind, text: format!("[{shown}] {}", reasons.join(", ")) })
}

/// A command of which only the words are known.
fn looked_for(argv: Vec<String>) -> SegmentFacts {
    let name = argv.first().cloned().unwrap_or_default();
    SegmentFacts {
        joint: Joint::First,
        program: ProgramFacts { name, path: None, place: ProgramPlace::System },
        argv,
        replaced: Vec::new(),
        environment: Vec::new(),
        paths: Vec::new(),
    }
}

pub(super) fn denied_segments(facts: &CallFacts, reason: &str) -> Vec<SegmentJudgement> {
    let CallFacts::Shell(facts) = facts else { return Vec::new() };
    let denied = |segment: &SegmentFacts| SegmentJudgement {
        argv: segment.argv.clone(),
        verdict: Verdict::Deny,
        reason: reason.to_owned(),
    };
    facts.segments.iter().map(denied).collect()
}
