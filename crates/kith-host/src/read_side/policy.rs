//! What the policy would decide about a command.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_engine::judge::rules::JudgeMode;
use kith_engine::judge::{Explanation, explain};
use kith_shell::facts::ShellFacts;
use kith_shell::gather::{ShellRequest, gather};
use kith_tools::shell_lookup::DiskLookup;
use kith_vocab::blocking::blocking;
use kith_vocab::event::calls::{Effect, Sandbox, Verdict};
use kith_vocab::event::messages::{Author, Trust};
use kith_vocab::header::Audience;
use kith_vocab::ids::EventId;
use kith_vocab::json::Json;
use kith_vocab::policy::Question;
use serde_json::Value;
use uuid::Uuid;

use super::ReadSide;
use crate::call::{Reply, Response};
use crate::calls::policy::{
    CommandExplanation, ExplainCommand, ModeName, SegmentExplanation, UnjudgedPart, VerdictName,
};
use crate::house::OWNER_ID;
use crate::policy::{ConstitutionRules, places};
use crate::sandbox;
use crate::trust::TrustView;

/// Judges a command as if the owner's own message had led to it, with nothing untrusted on the path.
pub async fn explain_command(
    side: Arc<ReadSide>,
    call: ExplainCommand,
) -> Reply<CommandExplanation> {
    let settings = side.settings()?;
    let member = settings.team.choose(call.agent_id.as_deref())?;
    let trust = TrustView::read(&side.house, side.desk.as_deref()).await?;
    let cwd = Path::new(&call.cwd).canonicalize().unwrap_or_else(|_| PathBuf::from(&call.cwd));
    let root = trust.repository_of(&cwd).unwrap_or_else(|| cwd.clone());
    let lookup = DiskLookup {
        places: places(&side.house, &settings, &cwd, &root),
        program_folders: program_folders(),
    };
    let request =
        ShellRequest { command: &call.command, cwd: &cwd, network: false, unsandboxed: false };
    let facts = gather(&request, &lookup.looked_up());
    let mut rules = ConstitutionRules::read(&member.home).tighten(&settings.policy);
    if let Some(mode) = call.mode {
        rules.mode = judge_mode(mode);
    }
    let author = Author { user_id: OWNER_ID.to_owned(), display_name: OWNER_ID.to_owned() };
    let question = Question {
        call_id: EventId::from_uuid(Uuid::nil()).call(0),
        tool: "exec_shell",
        effects: &[Effect::Exec],
        summary: "",
        facts: &Json::of(&facts),
        author: &author,
        trust: Trust::Owner,
        is_tainted: false,
        audience: Audience::Owner,
        is_attended: true,
        grants: &[],
        sandbox: blocking(sandbox::offered),
        language: "en",
    };
    Ok(Response::new(view(explain(&question, &rules), facts)))
}

fn program_folders() -> Vec<PathBuf> {
    env::var_os("PATH").map(|it| env::split_paths(&it).collect()).unwrap_or_default()
}

fn view(explanation: Explanation, facts: ShellFacts) -> CommandExplanation {
    let Explanation { judgement, segments } = explanation;
    CommandExplanation {
        verdict: verdict_name(judgement.verdict),
        sandboxed: judgement.sandbox != Sandbox::None,
        network: judgement.sandbox == Sandbox::Network,
        reason: judgement.reason,
        rule: judgement.rule,
        segments: segments
            .into_iter()
            .map(|it| SegmentExplanation {
                argv: it.argv,
                verdict: verdict_name(it.verdict),
                reason: it.reason,
            })
            .collect(),
        not_understood: facts
            .obstacles
            .into_iter()
            .map(|it| UnjudgedPart {
                kind: name_of(&it.kind),
                text: it.text,
                start: it.start,
                end: it.end,
            })
            .collect(),
    }
}

fn name_of(kind: &impl serde::Serialize) -> String {
    match serde_json::to_value(kind) {
        Ok(Value::String(name)) => name,
        _ => "other".to_owned(),
    }
}

fn verdict_name(verdict: Verdict) -> VerdictName {
    match verdict {
        Verdict::Allow => VerdictName::Allow,
        Verdict::Ask => VerdictName::Ask,
        Verdict::Deny => VerdictName::Deny,
    }
}

fn judge_mode(mode: ModeName) -> JudgeMode {
    match mode {
        ModeName::Ask => JudgeMode::Ask,
        ModeName::Readonly => JudgeMode::Readonly,
        ModeName::Trusted => JudgeMode::Trusted,
        ModeName::Deny => JudgeMode::Deny,
    }
}
