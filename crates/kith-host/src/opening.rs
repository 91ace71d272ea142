//! The start of a session: the snapshot of the agent's files, and its tools.

mod background;
mod news;

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use kith_engine::engine::{AgentSetup, SetupError};
use kith_engine::state::knowledge::ModelKnowledge;
use kith_engine::turn::TurnSetup;
use kith_home::error::HomeError;
use kith_home::platform::Platform;
use kith_home::snapshot::{AssembledSnapshot, SnapshotRequest, snapshot};
use kith_home::tainted_period::TaintedPeriod;
use kith_home::time_zone;
use kith_home::user::UserFacts;
use kith_home::zones::Places;
use kith_sessions::desk::Repository;
use kith_sessions::disk::DiskFiles;
use kith_sessions::store::SessionStore;
use kith_tools::ToolSetup;
use kith_tools::exec_shell::CommandSetup;
use kith_tools::exec_shell::background::BackgroundCommands;
use kith_tools::file_claims::FileClaims;
use kith_tools::read_log::ReadLog;
use kith_tools::roots::{Roots, RootsError};
use kith_tools::sandbox::supervisor;
use kith_tools::session_search;
use kith_tools::shell_lookup::DiskLookup;
use kith_tools::trust::TrustOf;
use kith_vocab::budget::Budget;
use kith_vocab::clock::BoxFuture;
use kith_vocab::event::Body;
use kith_vocab::event::messages::{InstructionSnapshotEvent, Trust};
use kith_vocab::header::{Audience, SessionHeader};
use kith_vocab::ids::SessionId;
use kith_vocab::json::Json;
use kith_vocab::snapshot::{ToolSpec, ToolsetSnapshot};
use kith_vocab::tool::Tool;
use sha2::{Digest, Sha256};

use self::background::{CommandNotes, NotesOfHost};
use crate::budget::HouseBudget;
use crate::error::CallError;
use crate::house::{House, OWNER_ID};
use crate::language;
use crate::policy::{self, ConstitutionRules, HousePolicy};
use crate::sandbox;
use crate::secrets::KnownSecrets;
use crate::session_search::HouseSearch;
use crate::settings::Settings;
use crate::settings::watch::SettingsWatch;
use crate::skills::SkillSearch;
use crate::tainted_files::periods::NotedCommands;
use crate::tainted_files::{NotedWrites, TaintedFiles};
use crate::team::Member;
use crate::trust::CurrentTrust;

/// What sessions start from, and what the calls of a host need of it besides.
pub trait HouseSetup: AgentSetup {
    /// Refuses a session that could not begin, before anything is accepted for it.
    fn check(
        &self,
        member: &Member,
        cwd: &Path,
        audience: Audience,
        now: u64,
    ) -> Result<(), CallError>;

    /// What was odd about the files of sessions that began since somebody asked.
    fn take_problems(&self) -> Vec<String>;

    /// Takes note of the repositories that are trusted from now on.
    fn set_repositories(&self, repositories: Vec<Repository>);

    /// Ends the commands that run in the background.
    fn end_background(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Ends those of a session that is gone.
    fn end_background_of(&self, _: SessionId) {}
}

pub struct HomeSetup {
    house: House,
    settings: Arc<SettingsWatch>,
    trust: Arc<CurrentTrust>,
    /// What was odd about the files of sessions that began, until someone tells it.
    problems: Mutex<Vec<String>>,
    looks: news::Looks,
    budget: Arc<HouseBudget>,
    secrets: KnownSecrets,
    tainted: Arc<TaintedFiles>,
    /// The files that each session has read; it lives longer than a turn.
    reads: Arc<ReadLog>,
    background: Arc<BackgroundCommands>,
    command_notes: Arc<CommandNotes>,
    /// Keeps commands outside the sandbox apart from whoever could change their files.
    claims: Arc<FileClaims>,
}

impl HomeSetup {
    pub fn new(
        house: House,
        settings: Arc<SettingsWatch>,
        repositories: Vec<Repository>,
        tainted: Arc<TaintedFiles>,
    ) -> HomeSetup {
        let store = SessionStore::new(Arc::new(DiskFiles), &house.kith_dir());
        let (command_notes, problem) = CommandNotes::open(house.kith_dir());
        let notes = Box::new(NotesOfHost(Arc::clone(&command_notes)));
        HomeSetup {
            budget: Arc::new(HouseBudget::new(Arc::clone(&settings), store)),
            trust: Arc::new(CurrentTrust::new(house.clone(), repositories)),
            house,
            settings,
            problems: Mutex::new(problem.into_iter().collect()),
            looks: news::Looks::default(),
            tainted,
            secrets: KnownSecrets::default(),
            reads: Arc::default(),
            background: Arc::new(BackgroundCommands::new(notes)),
            command_notes,
            claims: Arc::default(),
        }
    }

    /// The snapshot that a session of this agent would get now.
    fn assemble(
        &self,
        member: &Member,
        cwd: &Path,
        audience: Audience,
        now: u64,
    ) -> Result<AssembledSnapshot, HomeError> {
        let (trust, periods) = (self.trust.view(), self.tainted.commands().list());
        let voices = Voices { folders: trust.folders(), periods: &periods };
        assemble((&self.house, member), cwd, audience, now, voices)
    }

    /// The agent whose session it is. A session outlives its agent's place in the settings, but
    /// cannot go on without it.
    fn member(settings: &Settings, header: &SessionHeader) -> Result<Member, SetupError> {
        let member = settings.team.member(&header.agent_id).cloned();
        member.map_err(|report| SetupError(report.message().into()))
    }

    /// What the tools of a session in this folder may open, and the folder they work in.
    fn roots(&self, cwd: &Path, home: &Path) -> Result<(Roots, PathBuf), RootsError> {
        // The user's own home is no project, also where it is kept in a repository: what lies in it
        // is not opened to a session that works in one folder of it.
        let root = self.trust.view().repository_of(cwd).unwrap_or_else(|| cwd.to_owned());
        let roots = Roots::new(cwd, vec![root.clone(), home.to_owned()])?;
        Ok((roots, root))
    }

    fn tools(
        &self,
        settings: &Settings,
        header: &SessionHeader,
    ) -> Result<Vec<Arc<dyn Tool>>, SetupError> {
        let member = HomeSetup::member(settings, header)?;
        let home = &member.home;
        let mut cwd = PathBuf::from(&header.cwd);
        if !cwd.is_dir() {
            // The folder is gone, the conversation is not: what is left to read is the home.
            cwd.clone_from(home);
        }
        let (trust, extra) = (self.trust.view(), settings.extra_skills.clone());
        let (roots, root) = self.roots(&cwd, home).map_err(|error| SetupError(Box::new(error)))?;
        let places = policy::places(&self.house, settings, &cwd, &root);
        let roots = roots.with_house(&self.house.dir);
        let house = self.house.clone();
        let search =
            SkillSearch { house: &house, member: &member, extra: &extra, trust: &trust, cwd: &cwd };
        let roots = roots.with_skills(&search.folders());
        let list = move || {
            let (house, member, extra, trust) = (&house, &member, &extra, &trust);
            SkillSearch { house, member, extra, trust, cwd: &cwd }.skills().entries
        };
        let search = HouseSearch { house: self.house.clone() };
        let tools = kith_tools::built_in(ToolSetup {
            roots: Arc::new(roots),
            skills: Arc::new(list),
            trust_of: self.trust_of(TaintedFiles::hold),
            commands: self.commands(&places),
            places: Arc::new(places),
            reads: Arc::clone(&self.reads),
            claims: Arc::clone(&self.claims),
            further: vec![session_search::tool(Arc::new(search))],
        });
        let noted = |tool| {
            Arc::new(NotedWrites { tool, files: Arc::clone(&self.tainted) }) as Arc<dyn Tool>
        };
        Ok(tools.into_iter().map(noted).collect())
    }

    /// The trust of what lies at a path, unless it is tainted. Asked per path and call, so that a
    /// repository that appears meanwhile counts.
    fn trust_of(&self, is_tainted: fn(&TaintedFiles, &Path) -> bool) -> TrustOf {
        let (trust, tainted) = (Arc::clone(&self.trust), Arc::clone(&self.tainted));
        Arc::new(move |path: &Path| match trust.recent_view().trust_of_path(path) {
            trust if trust <= Trust::Paired && is_tainted(&tainted, path) => Trust::Untrusted,
            trust => trust,
        })
    }

    fn commands(&self, places: &Places) -> CommandSetup {
        let (house, cwd) = (&self.house.dir, &places.cwd);
        let workspace = places.workspace.first().unwrap_or(cwd).clone();
        let own = (places.homes.clone(), places.skills.clone());
        let seen = sandbox::places(house, (workspace, cwd), own);
        let program_folders = seen.program_folders.clone();
        CommandSetup {
            lookup: DiskLookup { places: places.clone(), program_folders },
            places: seen,
            variables: sandbox::variables(),
            supervisor: supervisor().map(Path::to_owned),
            background: Arc::clone(&self.background),
            // A command may print any file of its folder, also one that it does not name.
            output_trust: self.trust_of(TaintedFiles::may_be_at),
            times: Some(Arc::new(NotedCommands(Arc::clone(self.tainted.commands())))),
        }
    }

    fn language(settings: &Settings, header: &SessionHeader) -> Option<String> {
        // USER.md speaks for the owner only.
        let member = match header.audience {
            Audience::Owner => HomeSetup::member(settings, header).ok(),
            Audience::Shared | Audience::Peer => None,
        };
        language::chosen(settings, member.as_ref().map(|it| it.home.as_path()))
    }
}

impl HouseSetup for HomeSetup {
    fn check(
        &self,
        member: &Member,
        cwd: &Path,
        audience: Audience,
        now: u64,
    ) -> Result<(), CallError> {
        self.assemble(member, cwd, audience, now)?;
        // A session whose tools cannot be made could be begun and never be used.
        if cwd.is_dir() {
            self.roots(cwd, &member.home).map_err(CallError::invalid)?;
        }
        Ok(())
    }

    fn take_problems(&self) -> Vec<String> {
        // A list of sentences is never left half-changed.
        std::mem::take(&mut *self.problems.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set_repositories(&self, repositories: Vec<Repository>) {
        self.trust.set_repositories(repositories);
    }

    fn end_background(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.background.end())
    }

    fn end_background_of(&self, session: SessionId) {
        self.background.end_of(session);
        self.command_notes.forget(session);
    }
}

impl AgentSetup for HomeSetup {
    fn first_events(&self, header: &SessionHeader) -> Result<Vec<Body>, SetupError> {
        let settings = self.settings.recent();
        let member = HomeSetup::member(&settings, header)?;
        let assembled = self
            .assemble(&member, Path::new(&header.cwd), header.audience, header.created_at)
            .map_err(|error| SetupError(Box::new(error)))?;
        let found = problems(&assembled);
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        let tools = self.tools(&settings, header)?.iter().map(|tool| tool.spec().clone()).collect();
        Ok(vec![
            Body::InstructionSnapshot(InstructionSnapshotEvent { snapshot: assembled.snapshot }),
            Body::ToolsetSnapshot(toolset(tools)),
        ])
    }

    fn turn(&self, header: &SessionHeader) -> Result<TurnSetup, SetupError> {
        let settings = self.settings.newest();
        Ok(TurnSetup {
            tools: self.tools(&settings, header)?,
            policy: Arc::new(HousePolicy {
                settings: Arc::clone(&self.settings),
                constitution: ConstitutionRules::read(&HomeSetup::member(&settings, header)?.home),
            }),
            limits: settings.limits,
            language: HomeSetup::language(&settings, header),
            sandbox: sandbox::offered,
            budget: Arc::clone(&self.budget) as Arc<dyn Budget>,
            approvals: settings.approvals.clone(),
            secrets: self.secrets.filter(&settings),
        })
    }

    fn news(&self, header: &SessionHeader, told: &ModelKnowledge<'_>, now: u64) -> Vec<Body> {
        // Without its agent the turn fails with a sentence that says so.
        let settings = self.settings.recent();
        let Ok(member) = HomeSetup::member(&settings, header) else { return Vec::new() };
        let trust = self.trust.view();
        let periods = self.tainted.commands().list();
        let voices = Voices { folders: trust.folders(), periods: &periods };
        let mut news = self.looks.news((&self.house, &member, voices), header, told, now);
        let search = SkillSearch {
            house: &self.house,
            member: &member,
            extra: &settings.extra_skills,
            trust: &trust,
            cwd: Path::new(&header.cwd),
        };
        news.extend(news::of_skills(&search.skills(), told));
        news.extend(self.command_notes.news(header.session_id, told));
        news
    }
}

/// Whose files speak for the owner: those in the trusted folders, unless they changed in a period.
#[derive(Clone, Copy)]
pub struct Voices<'a> {
    pub folders: &'a [PathBuf],
    pub periods: &'a [TaintedPeriod],
}

/// The snapshot a session would get.
pub fn assemble(
    (house, member): (&House, &Member),
    cwd: &Path,
    audience: Audience,
    now: u64,
    voices: Voices<'_>,
) -> Result<AssembledSnapshot, HomeError> {
    let zone = UserFacts::read(&member.home)?.time_zone.unwrap_or_else(system_zone);
    reading((house, member), cwd, audience, (now, &zone), voices, snapshot)
}

/// Reads the files with `read`, for a session of this kind.
fn reading<T>(
    (house, member): (&House, &Member),
    cwd: &Path,
    audience: Audience,
    (now_ms, time_zone): (u64, &str),
    voices: Voices<'_>,
    read: impl FnOnce(&SnapshotRequest<'_>) -> T,
) -> T {
    read(&SnapshotRequest {
        home: &member.home,
        house: &house.dir,
        cwd,
        user_home: house.user_home.as_deref(),
        trusted: voices.folders,
        periods: voices.periods,
        audience,
        // Where others read along, nobody is the one spoken to.
        user_id: (audience == Audience::Owner).then_some(OWNER_ID),
        now_ms,
        time_zone,
        agent_id: &member.id,
        identity: &member.identity,
        platform: &Platform::of_this_machine(env::var("SHELL").ok()),
    })
}

/// What a person should know about the files that were read.
pub fn problems(assembled: &AssembledSnapshot) -> Vec<String> {
    let mut problems = Vec::new();
    for report in &assembled.reports {
        for problem in &report.problems {
            problems.push(format!("`{}` {problem}", report.path.display()));
        }
    }
    if let Some(zone) = &assembled.unknown_time_zone {
        problems.push(format!("unknown time zone `{zone}`; using UTC"));
    }
    problems
}

fn system_zone() -> String {
    time_zone::local().iana_name().unwrap_or("UTC").to_owned()
}

fn toolset(tools: Vec<ToolSpec>) -> ToolsetSnapshot {
    let digest = Sha256::digest(Json::of(&tools).as_str().as_bytes());
    let sha256 = digest.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        write!(hex, "{byte:02x}").unwrap_or_default();
        hex
    });
    ToolsetSnapshot { tools, sha256 }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use kith_home::identity::IdentityFields;

    /// 2026-11-15, 21:59:59 UTC: elsewhere it is the next day already.
    const NOW: u64 = 1_794_779_999_000;
    const VOICES: Voices<'_> = Voices { folders: &[], periods: &[] };

    #[test]
    fn dates_and_notes_are_those_of_the_users_zone() {
        check("- Timezone: Europe/Berlin (CET/CEST)\n", "Sunday, 15 November 2026", &["14", "15"]);
        check("- 时区：Asia/Shanghai\n", "Monday, 16 November 2026", &["15", "16"]);
    }

    #[track_caller]
    fn check(user: &str, date: &str, days: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().canonicalize().unwrap();
        fs::write(dir.join("Agent.md"), "x").unwrap();
        fs::write(dir.join("USER.md"), user).unwrap();
        fs::create_dir(dir.join("memory")).unwrap();
        for day in 13..=17 {
            let note = dir.join(format!("memory/2026-11-{day}.md"));
            fs::write(note, format!("note of {day}")).unwrap();
        }
        let house = House { dir: dir.clone(), cwd: dir.clone(), user_home: None };
        let member = Member::main(&house, IdentityFields::default());
        let assembled = assemble((&house, &member), &dir, Audience::Owner, NOW, VOICES).unwrap();
        let prompt = assembled.snapshot.system_prompt();
        assert!(prompt.contains(date), "{prompt}");
        let noted: Vec<String> = (13..=17).map(|it| it.to_string()).collect();
        let noted = noted.iter().filter(|it| prompt.contains(&format!("note of {it}")));
        assert_eq!(noted.collect::<Vec<_>>(), days);
    }
}
