//! Reasons to ask about a shell command, from the facts of its segments.

use kith_shell::facts::{SegmentFacts, ShellFacts};
use kith_shell::risks::{Risk, RiskKind, risks};
use kith_shell::script::{Obstacle, ObstacleKind};
use kith_vocab::event::calls::{Sandbox, Verdict};
use kith_vocab::policy::Question;

use super::{CallFacts, Objection, ObjectionAnswer, SegmentJudgement, paths};

pub(super) fn objections(question: &Question<'_>, facts: &ShellFacts) -> Vec<Objection> {
    let mut objections = Vec::new();
    if question.sandbox == Sandbox::None {
        let reason = "this machine offers no sandbox, so nothing would hold the command back";
        objections.push(Objection::new(ObjectionAnswer::Person, reason));
    }
    if facts.unsandboxed {
        let reason = "it asks to run outside the sandbox";
        objections.push(Objection::new(ObjectionAnswer::Person, reason));
    }
    for obstacle in &facts.obstacles {
        objections.push(Objection::new(ObjectionAnswer::Mode, about_obstacle(obstacle)));
    }
    if facts.segments.is_empty() {
        objections.push(Objection::new(ObjectionAnswer::Person, "it contains no command"));
    }
    for (at, segment) in facts.segments.iter().enumerate() {
        let of_segment = of_segment(segment, question);
        objections.extend(of_segment.into_iter().map(|it| Objection { segment: Some(at), ..it }));
    }
    if facts.network {
        let answer = network_answer(question, ObjectionAnswer::Mode);
        objections.push(Objection::new(answer, "it asks for the network"));
    }
    objections
}

fn network_answer(question: &Question<'_>, untainted: ObjectionAnswer) -> ObjectionAnswer {
    // Which hosts a command reaches is not known, so each may be a new one.
    if question.is_tainted { ObjectionAnswer::Person } else { untainted }
}

fn of_segment(segment: &SegmentFacts, question: &Question<'_>) -> Vec<Objection> {
    let risks = risks(segment).into_iter().map(|risk| {
        let answer = match risk.kind {
            RiskKind::Privilege | RiskKind::Machine => ObjectionAnswer::Person,
            RiskKind::Network => network_answer(question, ObjectionAnswer::Permission),
            kind if kind.runs_other_code() => ObjectionAnswer::Mode,
            _ => ObjectionAnswer::Permission,
        };
        Objection::new(answer, about_risk(&risk))
    });
    risks.chain(segment.paths.iter().filter_map(paths::of_command)).collect()
}

fn about_risk(Risk { kind, word }: &Risk) -> String {
    match kind {
        RiskKind::Destructive => format!("`{word}` can lose files or history"),
        RiskKind::Network => format!("`{word}` needs the network"),
        RiskKind::UnknownProgram => format!("`{word}` is not a program that Kith knows"),
        RiskKind::Machine => format!("`{word}` reaches other processes or services of the machine"),
        RiskKind::Privilege => format!("`{word}` asks for the rights of another user"),
        RiskKind::InlineCode => format!("`{word}` runs code that is not a file of the project"),
        RiskKind::Wrapper => format!("which command `{word}` runs is not certain"),
        RiskKind::RunsOther => format!("`{word}` can run other programs"),
        RiskKind::Planted => {
            format!("`{word}` is a file of the workspace under the name of a program")
        }
        RiskKind::Environment => format!("the variable `{word}` changes which programs run"),
        RiskKind::ShellState => format!("`{word}` changes what the shell runs"),
    }
}

fn about_obstacle(Obstacle { kind, text, .. }: &Obstacle) -> String {
    let what = match kind {
        ObstacleKind::TooLong => return "the command is too long to be judged".to_owned(),
        ObstacleKind::TooDeep => return "the command is nested too deeply to be judged".to_owned(),
        ObstacleKind::Syntax => "has a form that is not understood",
        ObstacleKind::Ambiguous => "can be read in two ways",
        ObstacleKind::Character => {
            return "the command holds a control or invisible character".to_owned();
        }
        ObstacleKind::Substitution => "runs a command inside another",
        ObstacleKind::Expansion => "depends on a variable",
        ObstacleKind::Quoting => "is quoted in a way that is not judged",
        ObstacleKind::HereDocument => "has a here-document",
        ObstacleKind::ControlFlow => "has control flow",
        ObstacleKind::Test => "has a test or arithmetic",
        ObstacleKind::Function => "defines a function",
        ObstacleKind::Variable => "sets a variable",
        ObstacleKind::Background => return "it leaves a command in the background".to_owned(),
        ObstacleKind::Redirection => "has a redirection that is not judged",
        ObstacleKind::Program => "does not name its program plainly",
        ObstacleKind::Other => "is not understood",
    };
    format!("`{text}` {what}")
}

/// The sandbox that the command runs in, or would run in after a yes.
pub(super) fn sandbox(question: &Question<'_>, facts: &CallFacts, all: &[Objection]) -> Sandbox {
    let CallFacts::Shell(facts) = facts else { return Sandbox::None };
    let needs_network = facts.network
        || facts.segments.iter().flat_map(risks).any(|it| it.kind == RiskKind::Network);
    debug_assert!(!facts.unsandboxed || !all.is_empty(), "to leave the sandbox is a reason to ask");
    if facts.unsandboxed || question.sandbox == Sandbox::None {
        Sandbox::None
    } else if needs_network {
        Sandbox::Network
    } else {
        Sandbox::Workspace
    }
}

/// Each segment with the first objection to it that is left.
pub(super) fn segments(facts: &CallFacts, left: &[Objection]) -> Vec<SegmentJudgement> {
    let CallFacts::Shell(facts) = facts else { return Vec::new() };
    let judged = facts.segments.iter().enumerate().map(|(at, segment)| {
        let objection = left.iter().find(|it| it.segment == Some(at));
        let reason = objection.map_or("it runs in the sandbox", |it| it.reason.as_str()).to_owned();
        let verdict = if objection.is_some() { Verdict::Ask } else { Verdict::Allow };
        SegmentJudgement { argv: segment.argv.clone(), verdict, reason }
    });
    judged.collect()
}

pub(super) fn denied(facts: &CallFacts, reason: &str) -> Vec<SegmentJudgement> {
    let CallFacts::Shell(facts) = facts else { return Vec::new() };
    let denied = |segment: &SegmentFacts| SegmentJudgement {
        argv: segment.argv.clone(),
        verdict: Verdict::Deny,
        reason: reason.to_owned(),
    };
    facts.segments.iter().map(denied).collect()
}
