//! The `agents` section: who the agent is and by what rules it works.
//!
//! The order here is the order in the prompt; the order in which they win is stated in
//! [`super::baseline`], and `priority` follows it on one scale, higher wins. Both orders stand in
//! `docs/format/instruction-files.md`.

use std::path::PathBuf;

use kith_vocab::header::Audience;
use kith_vocab::snapshot::{Scope, Source, SourceType};

use crate::discovery::project_folders;
use crate::error::{HomeError, Problem};
use crate::identity::Identity;
use crate::prompt_file::PromptFile;
use crate::trust::covers;
use crate::user::UserFacts;

use super::{Assembly, Guard};

const AGENTS_FILE: &str = "AGENTS.md";

const GLOBAL_PRIORITY: u32 = 0;
const IDENTITY_PRIORITY: u32 = 1;
const SOUL_PRIORITY: u32 = 2;
const USER_PRIORITY: u32 = 3;
/// Of `Agent.md` and the home's `AGENTS.md`, which rank alike.
const HOME_PRIORITY: u32 = 4;
/// Of a project's `AGENTS.md` that is farthest from the working directory; nearer ones have more.
const PROJECT_PRIORITY: u32 = 5;

pub(super) struct Agents {
    pub(super) sources: Vec<Source>,
    pub(super) identity: Identity,
    pub(super) has_soul: bool,
}

pub(super) fn gather(assembly: &mut Assembly<'_>) -> Result<Agents, HomeError> {
    let mut sources = Vec::new();
    sources.extend(global(assembly)?);
    sources.extend(project(assembly)?);
    sources.extend(own(assembly, "Agent.md", SourceType::AgentMd, HOME_PRIORITY)?);
    sources.extend(own(assembly, AGENTS_FILE, SourceType::AgentsMd, HOME_PRIORITY)?);
    let soul = own(assembly, "SOUL.md", SourceType::Soul, SOUL_PRIORITY)?;
    let has_soul = soul.is_some();
    sources.extend(soul);
    sources.extend(user(assembly)?);
    let (identity, source) = identity(assembly)?;
    sources.extend(source);
    Ok(Agents { sources, identity, has_soul })
}

pub(super) fn block(assembly: &Assembly<'_>, sources: &[Source]) -> String {
    if sources.is_empty() {
        return String::new();
    }
    format!("# Instruction files\n\n{}", assembly.file_blocks(sources))
}

fn global(assembly: &mut Assembly<'_>) -> Result<Option<Source>, HomeError> {
    let Some(user_home) = &assembly.user_home else { return Ok(None) };
    let path = user_home.join(".kith").join(AGENTS_FILE);
    let file = assembly.load(&path, Guard::Global)?;
    Ok(file.and_then(|file| {
        assembly.source(file, SourceType::AgentsMd, Scope::GlobalUser, Some(GLOBAL_PRIORITY))
    }))
}

fn project(assembly: &mut Assembly<'_>) -> Result<Vec<Source>, HomeError> {
    let repository = assembly.repository.clone();
    let folders =
        project_folders(&assembly.cwd, repository.as_deref(), assembly.user_home.as_deref());
    let Some(within) = folders.first().cloned() else { return Ok(Vec::new()) };

    let mut sources = Vec::new();
    for folder in &folders {
        let path = folder.join(AGENTS_FILE);
        // A repository speaks only after the owner has said that it may; that a home was made
        // somewhere in it says nothing of what stands above that home.
        let is_stranger = |root: &&PathBuf| !covers(assembly.request.trusted, folder, root);
        if let Some(root) = repository.as_ref().filter(is_stranger) {
            if path.symlink_metadata().is_ok() {
                assembly.leave_out(&path, Problem::RepositoryNotTrusted { root: root.clone() });
            }
            continue;
        }
        if let Some(file) = assembly.load(&path, Guard::Project { within: &within })? {
            sources.extend(assembly.source(file, SourceType::AgentsMd, Scope::Project, None));
        }
    }
    for (source, priority) in sources.iter_mut().zip(PROJECT_PRIORITY..) {
        source.priority = Some(priority);
    }
    Ok(sources)
}

fn own(
    assembly: &mut Assembly<'_>,
    name: &str,
    source_type: SourceType,
    priority: u32,
) -> Result<Option<Source>, HomeError> {
    let path = assembly.home.join(name);
    let file = assembly.load(&path, Guard::Own)?;
    Ok(file.and_then(|file| assembly.source(file, source_type, Scope::Home, Some(priority))))
}

fn user(assembly: &mut Assembly<'_>) -> Result<Option<Source>, HomeError> {
    if assembly.audience() == Audience::Owner {
        return own(assembly, "USER.md", SourceType::User, USER_PRIORITY);
    }
    let path = assembly.home.join("USER.md");
    let file = assembly.load(&path, Guard::Own)?;
    Ok(file.and_then(|file| public_fields(assembly, &file)))
}

/// All that others may cause the agent to be told about its owner.
fn public_fields(assembly: &mut Assembly<'_>, file: &PromptFile) -> Option<Source> {
    let facts = UserFacts::of(file.text());
    let zone = facts.time_zone.as_ref().map(|it| format!("Timezone: {it}\n"));
    let language = facts.language_tag().map(|it| format!("Preferred language: {it}\n"));
    let content: String = zone.into_iter().chain(language).collect();
    let injected_chars = content.chars().count() as u64;
    assembly.report(file, injected_chars);
    if content.is_empty() {
        return None;
    }
    Some(Source {
        source_type: SourceType::User,
        path: Some(file.path.to_string_lossy().into_owned()),
        scope: Some(Scope::Home),
        priority: Some(USER_PRIORITY),
        content: Some(content),
        sha256: file.sha256.clone(),
        chars: file.chars(),
        injected_chars: Some(injected_chars),
    })
}

fn identity(assembly: &mut Assembly<'_>) -> Result<(Identity, Option<Source>), HomeError> {
    let path = assembly.home.join("IDENTITY.md");
    let configured = assembly.request.identity;
    let Some(file) = assembly.load(&path, Guard::Own)? else {
        return Ok((Identity::resolve(configured, ""), None));
    };
    let identity = Identity::resolve(configured, file.text());
    Ok((
        identity,
        assembly.source(file, SourceType::Identity, Scope::Home, Some(IDENTITY_PRIORITY)),
    ))
}
