//! An agent's system prompt, its identity and its skills.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use kith_home::identity::Identity;
use kith_home::skills::{SKILL_FILE_BYTES_MAX, SkillIndex, SkillIssue};
use kith_vocab::clock::Clock;
use kith_vocab::event::control::SkillEntry;

use super::ReadSide;
use crate::call::{Reply, Response};
use crate::calls::agent::{
    CheckSkills, ExplainAgent, GetPrompt, IdentityView, ListSkillsInForce, PromptView, ShowSkill,
    SkillCheckReport, SkillIssueView, SkillList, SkillView,
};
use crate::clock::SystemClock;
use crate::error::CallError;
use crate::opening::{self, Voices};
use crate::settings::nearest;
use crate::skills::SkillSearch;
use crate::tainted_files::periods;
use crate::trust::TrustView;

/// Maximum length of a name quoted in an error.
const NAME_CHARS_MAX: usize = 80;

pub async fn get_prompt(side: Arc<ReadSide>, call: GetPrompt) -> Reply<PromptView> {
    let now = SystemClock.now();
    let settings = side.settings()?;
    let whose = (&side.house, settings.team.choose(call.agent_id.as_deref())?);
    let trust = TrustView::read(&side.house, side.desk.as_deref()).await?;
    let cwd = Path::new(&call.cwd);
    if !cwd.is_dir() {
        return Err(CallError::invalid(format!("`{}` is not a folder", call.cwd.escape_debug())));
    }
    let periods = periods::stored(side.desk.as_deref(), now).await?;
    let voices = Voices { folders: trust.folders(), periods: &periods };
    let assembled = opening::assemble(whose, cwd, call.audience, now, voices)?;
    let notes = opening::problems(&assembled);
    let system_prompt = assembled.snapshot.system_prompt();
    let view = PromptView { system_prompt, snapshot: assembled.snapshot };
    // It needs the desk only for what is trusted elsewhere.
    let note = side.desk_note("no other repository is trusted");
    Ok(Response::new(view).with_notes(notes).with_notes(note))
}

pub async fn explain_identity(side: Arc<ReadSide>, call: ExplainAgent) -> Reply<IdentityView> {
    let settings = side.settings()?;
    let member = settings.team.choose(call.agent_id.as_deref())?;
    let identity = Identity::read(&member.identity, &member.home)?;
    let (name, source) = (identity.display_name().to_owned(), identity.source.as_str().to_owned());
    let fields = identity.fields;
    Ok(Response::new(IdentityView {
        name,
        role: fields.role,
        goal: fields.goal,
        voice: fields.voice,
        emoji: fields.emoji,
        kind: fields.kind,
        style: fields.style,
        avatar: fields.avatar,
        source,
    }))
}

pub async fn list_skills(side: Arc<ReadSide>, call: ListSkillsInForce) -> Reply<SkillList> {
    let index = side.skills(call.agent_id.as_deref(), &call.cwd).await?;
    let note = match n_failed(&index.issues) {
        0 => None,
        1 => Some("1 skill has a problem".to_owned()),
        n => Some(format!("{n} skills have problems")),
    };
    let note = note.map(|what| format!("{what}; see `kith skill check`"));
    Ok(Response::new(SkillList { skills: index.entries }).with_notes(note))
}

pub async fn show_skill(side: Arc<ReadSide>, call: ShowSkill) -> Reply<SkillView> {
    let index = side.skills(call.agent_id.as_deref(), &call.cwd).await?;
    let meant = nearest(&call.name, index.entries.iter().map(|it| it.name.as_str()));
    let hint = meant.map_or_else(
        || "`kith skill ls` lists the skills in use, `kith skill check` those left out".to_owned(),
        |name| format!("did you mean `{name}`?"),
    );
    let Some(entry) = index.entries.into_iter().find(|it| it.name == call.name) else {
        let name = call.name.chars().take(NAME_CHARS_MAX).flat_map(char::escape_debug);
        let message = format!("no skill `{}` is in use here", name.collect::<String>());
        return Err(CallError::invalid(message).hint(hint));
    };
    let text = text_of(&entry).map_err(|source| {
        CallError::filesystem(format!("cannot read `{}`: {source}", entry.path))
    })?;
    Ok(Response::new(SkillView { entry, text }))
}

pub async fn check_skills(side: Arc<ReadSide>, call: CheckSkills) -> Reply<SkillCheckReport> {
    let index = side.skills(call.agent_id.as_deref(), &call.cwd).await?;
    let issues = index.issues.iter().map(|issue| SkillIssueView {
        path: issue.path.to_string_lossy().into_owned(),
        line: issue.line,
        message: issue.problem.to_string(),
    });
    Ok(Response::new(SkillCheckReport {
        checked: index.n_checked,
        failed: n_failed(&index.issues),
        issues: issues.collect(),
        in_force: index.entries.len(),
    }))
}

impl ReadSide {
    async fn skills(&self, agent_id: Option<&str>, cwd: &str) -> Result<SkillIndex, CallError> {
        let settings = self.settings()?;
        let member = settings.team.choose(agent_id)?;
        let trust = TrustView::read(&self.house, self.require_desk()?).await?;
        let search = SkillSearch {
            house: &self.house,
            member,
            extra: &settings.extra_skills,
            trust: &trust,
            cwd: Path::new(cwd),
        };
        Ok(search.skills())
    }
}

/// How many folders or files something is wrong with.
fn n_failed(issues: &[SkillIssue]) -> usize {
    issues.iter().map(|issue| &issue.path).collect::<BTreeSet<_>>().len()
}

fn text_of(entry: &SkillEntry) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(&entry.path)?.take(SKILL_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
