//! The six sections of a session's instructions, read from the disk once.
//!
//! The result holds every text that it was made of, so the session never reads the files again. The
//! audience of the thread decides which of the agent's files go in; the model is not asked to keep
//! anything secret.

mod agents;
mod baseline;
pub mod current;
mod environment;
mod memory;
pub(crate) mod time;
mod workspace;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kith_vocab::header::Audience;
use kith_vocab::json::Json;
use kith_vocab::snapshot::{
    InstructionSnapshot, SNAPSHOT_VERSION, Scope, Section, SectionKind, Source, SourceType,
};

use crate::beneath::is_absent;
use crate::discovery;
use crate::error::{HomeError, Problem};
use crate::house::CONSTITUTIONS;
use crate::identity::ConfiguredIdentity;
use crate::markdown::is_effectively_empty;
use crate::ownership::{self, FileStamp, file_key};
use crate::platform::Platform;
use crate::prompt_file::{FileLookup, OpenFile, PromptFile, open};
use crate::rendering::{NAME_CHARS_MAX, file_block, one_line};
use crate::tainted_period::TaintedPeriod;
use crate::trust;

#[derive(Clone, Copy, Debug)]
pub struct SnapshotRequest<'a> {
    pub home: &'a Path,
    pub house: &'a Path,
    pub cwd: &'a Path,
    /// `~`; without one no global instructions are read and no walk ends at it.
    pub user_home: Option<&'a Path>,
    /// Canonical folders that the owner trusts: see [`crate::trust`].
    pub trusted: &'a [PathBuf],
    /// Times at which commands may have written the files of a project.
    pub periods: &'a [TaintedPeriod],
    pub audience: Audience,
    /// The person spoken to, in a thread that no one else reads.
    pub user_id: Option<&'a str>,
    pub now_ms: u64,
    /// An IANA name. One that is not known is told in the answer and UTC is used.
    pub time_zone: &'a str,
    pub agent_id: &'a str,
    /// The identity that the settings give.
    pub identity: &'a ConfiguredIdentity,
    pub platform: &'a Platform,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssembledSnapshot {
    pub snapshot: InstructionSnapshot,
    /// One for each file that was found, in the order in which they were looked for.
    pub reports: Vec<FileReport>,
    /// The requested zone, if it is not known.
    pub unknown_time_zone: Option<String>,
}

/// The result of reading one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReport {
    pub path: PathBuf,
    /// `None` when the file was not read, or is too large to be counted.
    pub chars: Option<u64>,
    /// Zero for a file that is left out or says nothing.
    pub injected_chars: u64,
    pub problems: Vec<Problem>,
}

/// Reads the prompt files and freezes them.
///
/// Fails if the home has no constitution or belongs to an untrusted repository, or if a file of the
/// home exists and cannot be read. Project files that cannot be used are left out and reported.
pub fn snapshot(request: &SnapshotRequest<'_>) -> Result<AssembledSnapshot, HomeError> {
    let moment = time::moment(request.now_ms, request.time_zone)?;
    require_home(request.home)?;
    let mut assembly = Assembly::of(request)?;
    assembly.require_trust()?;
    let agents = agents::gather(&mut assembly)?;
    let memories = memory::gather(&mut assembly, &moment)?;
    let workspace = workspace::block(&mut assembly);
    let tools = environment::gather(&mut assembly)?;
    let environment = environment::block(&assembly, &tools);

    let builtin = Source {
        source_type: SourceType::Builtin,
        path: None,
        scope: None,
        priority: None,
        content: None,
        sha256: None,
        chars: None,
        injected_chars: None,
    };
    let baseline = baseline::block(request.agent_id, &agents.identity, agents.has_soul);
    let agents_block = agents::block(&assembly, &agents.sources);
    let memory_block = memory::block(&assembly, &memories);
    let section = |kind, sources: Vec<Source>, rendered_block| Section {
        kind,
        frozen_at: request.now_ms,
        sources: (!sources.is_empty()).then_some(sources),
        rendered_block,
        data: None,
    };
    let mut sections = vec![
        section(SectionKind::Baseline, vec![builtin], baseline),
        section(SectionKind::Agents, agents.sources, agents_block),
        section(SectionKind::Memory, memories, memory_block),
        section(SectionKind::Workspace, Vec::new(), workspace),
        section(SectionKind::Environment, tools, environment),
        section(SectionKind::Time, Vec::new(), time::block(&moment)),
    ];
    if let Some(time) = sections.last_mut() {
        time.data = Some(Json::of(&moment.facts()));
    }
    let cwd = assembly.cwd.to_string_lossy().into_owned();
    Ok(AssembledSnapshot {
        snapshot: InstructionSnapshot { version: SNAPSHOT_VERSION, cwd, sections },
        reports: assembly.reports,
        unknown_time_zone: moment.unknown_zone,
    })
}

/// The checks that a file must pass before it is read.
#[derive(Clone, Copy)]
enum Guard<'a> {
    /// A file of the home. It is the agent; if it cannot be read there is no session. Loose
    /// permissions are reported, but leaving the file out would change who the agent is. One that
    /// another user owns is left out: it is not the owner's word.
    Own,
    /// A file in the house's `.kith`: the same, but never through a link.
    HouseMemory,
    /// The user's own file for all agents: left out if others could have written it.
    Global,
    /// A file of the project: left out for any doubt, and never read from outside this folder,
    /// because a link could show the model any file of the user.
    Project { within: &'a Path },
}

/// The consequence of an own or global file that exists and cannot be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unreadable {
    /// Refuses to begin: the session's agent would differ from the one that was written down.
    Fails,
    /// The session runs already: the file is left out and reported.
    Reported,
}

/// The state of one reading. All paths are canonical.
struct Assembly<'a> {
    request: &'a SnapshotRequest<'a>,
    home: PathBuf,
    house: PathBuf,
    cwd: PathBuf,
    user_home: Option<PathBuf>,
    /// The root of the repository that holds `cwd`.
    repository: Option<PathBuf>,
    unreadable: Unreadable,
    reports: Vec<FileReport>,
    loaded: HashSet<(u64, u64)>,
    /// Every path that was read or found missing.
    stamps: Vec<(PathBuf, FileStamp)>,
}

impl<'a> Assembly<'a> {
    fn of(request: &'a SnapshotRequest<'a>) -> Result<Assembly<'a>, HomeError> {
        for path in [request.cwd, request.home, request.house] {
            fs::canonicalize(path)
                .map_err(|source| HomeError::OpenFolder { path: path.to_owned(), source })?;
        }
        Ok(Assembly { unreadable: Unreadable::Fails, ..Assembly::of_running(request) })
    }

    /// For a session that has begun: a folder that has since been removed keeps its path.
    fn of_running(request: &'a SnapshotRequest<'a>) -> Assembly<'a> {
        let canonical = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let cwd = canonical(request.cwd);
        Assembly {
            request,
            home: canonical(request.home),
            house: canonical(request.house),
            // A home that does not exist holds nothing, neither files nor `cwd`.
            user_home: request.user_home.and_then(|it| fs::canonicalize(it).ok()),
            repository: discovery::repository_root(&cwd),
            cwd,
            unreadable: Unreadable::Reported,
            reports: Vec::new(),
            loaded: HashSet::new(),
            stamps: Vec::new(),
        }
    }

    /// Fails if the home belongs to an untrusted repository: none of its files could be used.
    fn require_trust(&self) -> Result<(), HomeError> {
        let home = &self.home;
        match trust::repository_of(home, self.user_home.as_deref()) {
            Some(root) if !trust::covers(self.request.trusted, home, &root) => {
                Err(HomeError::Untrusted { home: home.clone(), root })
            }
            _ => Ok(()),
        }
    }

    /// Whether `cwd` belongs to a repository that the owner does not trust as a whole. Its names may
    /// have been chosen to mislead, so only those of `cwd` and root enter the prompt.
    fn is_untrusted_workspace(&self) -> bool {
        trust::repository_of(&self.cwd, self.user_home.as_deref())
            .is_some_and(|root| !trust::covers(self.request.trusted, &root, &root))
    }

    fn audience(&self) -> Audience {
        self.request.audience
    }

    /// The file, unless it is absent, unfit or was loaded before.
    fn load(&mut self, path: &Path, guard: Guard<'_>) -> Result<Option<PromptFile>, HomeError> {
        // Before it is read: a change in between shows the next time.
        self.stamps.push((path.to_owned(), FileStamp::of(path)));
        let is_reported =
            matches!(guard, Guard::Project { .. }) || self.unreadable == Unreadable::Reported;
        match self.try_load(path, guard) {
            Ok(file) => Ok(file),
            Err(error) if is_reported => {
                self.leave_out(path, Problem::Unreadable { reason: error.to_string() });
                Ok(None)
            }
            Err(source) => Err(HomeError::ReadFile { path: path.to_owned(), source }),
        }
    }

    fn try_load(&mut self, path: &Path, guard: Guard<'_>) -> io::Result<Option<PromptFile>> {
        let OpenFile { file, metadata, real } = match open(path)? {
            FileLookup::Absent => return Ok(None),
            FileLookup::NotAFile => return Ok(self.leave_out(path, Problem::NotAFile)),
            FileLookup::File(file) => file,
        };
        let doubt = ownership::problem(&metadata);
        match (guard, &doubt) {
            (Guard::Global | Guard::Project { .. }, Some(problem)) => {
                return Ok(self.leave_out(path, problem.clone()));
            }
            (Guard::Project { within }, None) if !real.starts_with(within) => {
                let within = within.to_owned();
                return Ok(self.leave_out(path, Problem::LeadsOutside { within }));
            }
            (Guard::Project { .. }, None)
                if self.request.periods.iter().any(|it| it.covers(&real, &metadata)) =>
            {
                return Ok(self.leave_out(path, Problem::WrittenByCommand));
            }
            (Guard::Own | Guard::HouseMemory, Some(Problem::ForeignOwner { uid })) => {
                let reason = format!("it belongs to user {uid}");
                return self.leave_out_of_home(path, Problem::ForeignOwner { uid: *uid }, reason);
            }
            (Guard::Own, _) if !self.is_own_path(&real) => {
                let (within, reason) =
                    (self.home.clone(), "it is a link that leads out of the home");
                let problem = Problem::LeadsOutside { within };
                return self.leave_out_of_home(path, problem, reason.to_owned());
            }
            (Guard::HouseMemory, _) if real != path => {
                let within = self.house.join(".kith/memory");
                return Ok(self.leave_out(path, Problem::LeadsOutside { within }));
            }
            _ => (),
        }
        if !self.loaded.insert(file_key(&metadata)) {
            return Ok(None);
        }
        let mut found = PromptFile::read(path, file, &metadata)?;
        found.problems.extend(doubt.map(|_| Problem::LooseInHome));
        Ok(Some(found))
    }

    /// Fails for a constitution: without it this would be another agent.
    fn leave_out_of_home(
        &mut self,
        path: &Path,
        problem: Problem,
        reason: String,
    ) -> io::Result<Option<PromptFile>> {
        if CONSTITUTIONS.iter().any(|name| path.ends_with(name)) {
            return Err(io::Error::other(reason));
        }
        Ok(self.leave_out(path, problem))
    }

    /// Whether a file of the home lies in the home, the house or a trusted folder: a link in a folder
    /// that came from elsewhere could show the model any file of the user.
    fn is_own_path(&self, real: &Path) -> bool {
        let own = [&self.home, &self.house].into_iter().chain(self.request.trusted);
        own.into_iter().any(|folder| real.starts_with(folder))
    }

    fn leave_out(&mut self, path: &Path, problem: Problem) -> Option<PromptFile> {
        let path = path.to_owned();
        let problems = vec![problem];
        self.replace_report(FileReport { path, chars: None, injected_chars: 0, problems });
        None
    }

    /// The source a file makes, and its report. A file that says nothing makes none.
    fn source(
        &mut self,
        mut file: PromptFile,
        source_type: SourceType,
        scope: Scope,
        priority: Option<u32>,
    ) -> Option<Source> {
        // Templates that were not filled in are left out. An AGENTS.md is never a template: its
        // headings alone may be rules.
        let says_nothing = match source_type {
            SourceType::AgentsMd => file.text().trim().is_empty(),
            _ => is_effectively_empty(file.text()),
        };
        if says_nothing {
            self.report(&file, 0);
            return None;
        }
        let injected = file.inject(&self.display_path(&file.path));
        self.report(&file, injected.injected_chars);
        Some(Source {
            source_type,
            path: Some(file.path.to_string_lossy().into_owned()),
            scope: Some(scope),
            priority,
            content: Some(injected.content),
            sha256: file.sha256,
            chars: injected.chars,
            injected_chars: Some(injected.injected_chars),
        })
    }

    fn report(&mut self, file: &PromptFile, injected_chars: u64) {
        self.replace_report(FileReport {
            path: file.path.clone(),
            chars: file.chars(),
            injected_chars,
            problems: file.problems.clone(),
        });
    }

    // A file may be refused as the project's and then be taken as the home's; the last report counts.
    fn replace_report(&mut self, report: FileReport) {
        self.reports.retain(|it| it.path != report.path);
        self.reports.push(report);
    }

    fn display_path(&self, path: &Path) -> String {
        display_path(self.audience(), path)
    }

    fn file_blocks(&self, sources: &[Source]) -> String {
        let block = |source: &Source| {
            let path = source.path.as_deref().unwrap_or_default();
            let content = source.content.as_deref().unwrap_or_default();
            file_block(&self.display_path(Path::new(path)), content)
        };
        sources.iter().map(block).collect::<Vec<String>>().join("\n\n")
    }
}

/// The path as the prompt shows it. A peer sees the file name only.
pub(crate) fn display_path(audience: Audience, path: &Path) -> String {
    let path = match (audience, path.file_name()) {
        (Audience::Peer, Some(name)) => name.to_string_lossy(),
        _ => path.to_string_lossy(),
    };
    one_line(&path, NAME_CHARS_MAX)
}

fn require_home(home: &Path) -> Result<(), HomeError> {
    for name in CONSTITUTIONS {
        let path = home.join(name);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => return Ok(()),
            Ok(_) => (),
            Err(error) if is_absent(&error) => (),
            Err(source) => return Err(HomeError::ReadFile { path, source }),
        }
    }
    Err(HomeError::NotAHome { path: home.to_owned() })
}

#[cfg(test)]
mod tests;
