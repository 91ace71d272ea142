//! What a session of this program starts from: the agent's files, and the tools at hand.

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::tz::TimeZone;
use kith_engine::lane::{Opening, OpeningError};
use kith_home::discovery::repository_root;
use kith_home::error::HomeError;
use kith_home::platform::Platform;
use kith_home::snapshot::{Assembled, SnapshotRequest, snapshot};
use kith_home::user::UserFacts;
use kith_sessions::desk::Repository;
use kith_tools::roots::Roots;
use kith_vocab::event::Body;
use kith_vocab::event::messages::InstructionSnapshotEvent;
use kith_vocab::header::{Audience, SessionHeader};
use kith_vocab::json::Json;
use kith_vocab::snapshot::{ToolSpec, ToolsetSnapshot};
use kith_vocab::tool::Tool;
use sha2::{Digest, Sha256};

use crate::house::{AGENT_ID, House, OWNER_ID};
use crate::skills;
use crate::trust;

pub(crate) struct HomeOpening {
    house: House,
    /// What the desk says; the host, which alone changes it, keeps it up to date.
    repositories: Mutex<Vec<Repository>>,
    /// What was odd about the files of sessions that began, until someone tells it.
    problems: Mutex<Vec<String>>,
}

impl HomeOpening {
    pub(crate) fn new(house: House, repositories: Vec<Repository>) -> HomeOpening {
        let repositories = Mutex::new(repositories);
        HomeOpening { house, repositories, problems: Mutex::default() }
    }

    pub(crate) fn set_repositories(&self, repositories: Vec<Repository>) {
        *self.repositories.lock().unwrap_or_else(PoisonError::into_inner) = repositories;
    }

    /// The snapshot that a session would get now.
    pub(crate) fn assemble(
        &self,
        cwd: &Path,
        audience: Audience,
        now: u64,
    ) -> Result<Assembled, HomeError> {
        assemble(&self.house, cwd, audience, now, &self.trusted())
    }

    fn trusted(&self) -> Vec<PathBuf> {
        let repositories = self.repositories.lock().unwrap_or_else(PoisonError::into_inner).clone();
        trust::folders(&self.house, &repositories)
    }

    pub(crate) fn take_problems(&self) -> Vec<String> {
        // A list of sentences is never left half-changed.
        std::mem::take(&mut *self.problems.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Opening for HomeOpening {
    fn first_events(&self, header: &SessionHeader) -> Result<Vec<Body>, OpeningError> {
        let cwd = Path::new(&header.cwd);
        let assembled = self
            .assemble(cwd, header.audience, header.created_at)
            .map_err(|error| OpeningError(Box::new(error)))?;
        let found = problems(&assembled);
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        let tools = self.tools(header)?.iter().map(|tool| tool.spec().clone()).collect();
        Ok(vec![
            Body::InstructionSnapshot(InstructionSnapshotEvent { snapshot: assembled.snapshot }),
            Body::ToolsetSnapshot(toolset(tools)),
        ])
    }

    fn tools(&self, header: &SessionHeader) -> Result<Vec<Arc<dyn Tool>>, OpeningError> {
        let mut cwd = PathBuf::from(&header.cwd);
        if !cwd.is_dir() {
            // The folder is gone, the conversation is not: what is left to read is the house.
            cwd.clone_from(&self.house.dir);
        }
        let root = repository_root(&cwd).unwrap_or_else(|| cwd.clone());
        let roots = Roots::new(&cwd, vec![root, self.house.dir.clone()])
            .map_err(|error| OpeningError(Box::new(error)))?;
        let trusted = self.trusted();
        let roots = roots.with_skills(&skills::folders(&self.house, &cwd, &trusted));
        let house = self.house.clone();
        let skills = Arc::new(move || skills::index(&house, &cwd, &trusted).entries);
        Ok(kith_tools::built_in(Arc::new(roots), skills))
    }
}

/// The snapshot a session would get.
pub(crate) fn assemble(
    house: &House,
    cwd: &Path,
    audience: Audience,
    now: u64,
    trusted: &[PathBuf],
) -> Result<Assembled, HomeError> {
    let zone = UserFacts::read(&house.dir)?.time_zone.unwrap_or_else(system_zone);
    snapshot(&SnapshotRequest {
        home: &house.dir,
        house: &house.dir,
        cwd,
        user_home: house.user_home.as_deref(),
        trusted,
        audience,
        // Where others read along, nobody is the one spoken to.
        user_id: (audience == Audience::Owner).then_some(OWNER_ID),
        now_ms: now,
        time_zone: &zone,
        agent_id: AGENT_ID,
        platform: &Platform::of_this_machine(env::var("SHELL").ok()),
    })
}

/// What a person should know about the files that were read.
pub(crate) fn problems(assembled: &Assembled) -> Vec<String> {
    let mut problems = Vec::new();
    for report in &assembled.reports {
        for problem in &report.problems {
            problems.push(format!("`{}` {problem}", report.path.display()));
        }
    }
    if let Some(zone) = &assembled.unknown_time_zone {
        problems.push(format!("the time zone `{zone}` is not known; UTC is used"));
    }
    problems
}

fn system_zone() -> String {
    TimeZone::system().iana_name().unwrap_or("UTC").to_owned()
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

    /// 2026-11-15, 21:59:59 UTC: elsewhere it is the next day already.
    const NOW: u64 = 1_794_779_999_000;

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
        let house = House { dir: dir.clone(), cwd: dir.clone(), user_home: None, is_named: true };
        let assembled = assemble(&house, &dir, Audience::Owner, NOW, &[]).unwrap();
        let prompt = assembled.snapshot.system_prompt();
        assert!(prompt.contains(date), "{prompt}");
        let noted: Vec<String> = (13..=17).map(|it| it.to_string()).collect();
        let noted = noted.iter().filter(|it| prompt.contains(&format!("note of {it}")));
        assert_eq!(noted.collect::<Vec<_>>(), days);
    }
}
