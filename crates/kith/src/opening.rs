//! What a session of this program starts from: the agent's files, and the tools at hand.

mod distrust;
mod news;

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::tz::TimeZone;
use kith_engine::lane::{Opening, OpeningError};
use kith_engine::state::told::Told;
use kith_home::discovery::repository_root;
use kith_home::error::HomeError;
use kith_home::platform::Platform;
use kith_home::snapshot::{Assembled, SnapshotRequest, snapshot};
use kith_home::user::UserFacts;
use kith_tools::roots::Roots;
use kith_vocab::event::Body;
use kith_vocab::event::messages::InstructionSnapshotEvent;
use kith_vocab::header::{Audience, SessionHeader};
use kith_vocab::json::Json;
use kith_vocab::snapshot::{ToolSpec, ToolsetSnapshot};
use kith_vocab::tool::Tool;
use sha2::{Digest, Sha256};

use crate::house::{AGENT_ID, House};
use crate::skills;

pub(crate) struct HomeOpening {
    house: House,
    /// What was odd about the files of sessions that began, until someone tells it.
    problems: Mutex<Vec<String>>,
    looks: news::Looks,
}

impl HomeOpening {
    pub(crate) fn new(house: House) -> HomeOpening {
        HomeOpening { house, problems: Mutex::default(), looks: news::Looks::default() }
    }

    /// Whether what is read in this folder is the owner's. Nobody can say otherwise yet.
    #[expect(clippy::unused_self, reason = "the owner's word on repositories will be kept here")]
    fn is_trusted(&self, _root: &Path) -> bool {
        true
    }

    pub(crate) fn take_problems(&self) -> Vec<String> {
        // A list of sentences is never left half-changed.
        std::mem::take(&mut *self.problems.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Opening for HomeOpening {
    fn first_events(&self, header: &SessionHeader) -> Result<Vec<Body>, OpeningError> {
        let cwd = Path::new(&header.cwd);
        let assembled = assemble(&self.house, cwd, header.audience, header.created_at)
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
        let is_trusted = self.is_trusted(&root);
        let roots = Roots::new(&cwd, vec![root.clone(), self.house.dir.clone()])
            .map_err(|error| OpeningError(Box::new(error)))?;
        let roots = roots.with_skills(&skills::folders(&self.house, &cwd));
        let house = self.house.clone();
        let skills = Arc::new(move || skills::index(&house, &cwd).entries);
        let tools = kith_tools::built_in(Arc::new(roots), skills);
        Ok(if is_trusted { tools } else { distrust::all(tools, &root) })
    }

    fn news(&self, header: &SessionHeader, told: &Told<'_>, now: u64) -> Vec<Body> {
        let mut news = self.looks.news(&self.house, header, told, now);
        news.extend(news::of_skills(&self.house, header, told));
        news
    }
}

/// The snapshot a session would get.
pub(crate) fn assemble(
    house: &House,
    cwd: &Path,
    audience: Audience,
    now: u64,
) -> Result<Assembled, HomeError> {
    let zone = UserFacts::read(&house.dir)?.time_zone.unwrap_or_else(system_zone);
    reading(house, cwd, audience, (now, &zone), snapshot)
}

/// Reads the files with `read`, for a session of this kind.
fn reading<T>(
    house: &House,
    cwd: &Path,
    audience: Audience,
    (now_ms, time_zone): (u64, &str),
    read: impl FnOnce(&SnapshotRequest<'_>) -> T,
) -> T {
    read(&SnapshotRequest {
        home: &house.dir,
        house: &house.dir,
        cwd,
        user_home: house.user_home.as_deref(),
        audience,
        now_ms,
        time_zone,
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
