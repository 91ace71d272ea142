//! What a session of this program starts from: the agent's files, and the tools at hand.

mod distrust;
mod news;

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::tz::TimeZone;
use kith_engine::lane::{Opening, OpeningError, Terms};
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

use crate::config::Config;
use crate::house::House;
use crate::skills;
use crate::team::Member;

pub(crate) struct HomeOpening {
    house: House,
    config: Arc<Config>,
    /// What was odd about the files of sessions that began, until someone tells it.
    problems: Mutex<Vec<String>>,
    looks: news::Looks,
}

impl HomeOpening {
    pub(crate) fn new(house: House, config: Arc<Config>) -> HomeOpening {
        HomeOpening { house, config, problems: Mutex::default(), looks: news::Looks::default() }
    }

    /// The agent whose session it is. A session outlives its agent's place in the settings, but
    /// cannot go on without it.
    fn member(&self, header: &SessionHeader) -> Result<&Member, OpeningError> {
        let member = self.config.team.member(&header.agent_id);
        member.map_err(|report| OpeningError(report.message().into()))
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
        let (member, cwd) = (self.member(header)?, Path::new(&header.cwd));
        let assembled = assemble(&self.house, member, cwd, header.audience, header.created_at)
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
        let member = self.member(header)?;
        let home = &member.home;
        let mut cwd = PathBuf::from(&header.cwd);
        if !cwd.is_dir() {
            // The folder is gone, the conversation is not: what is left to read is the home.
            cwd.clone_from(home);
        }
        let root = repository_root(&cwd).unwrap_or_else(|| cwd.clone());
        let is_trusted = self.is_trusted(&root);
        let roots = Roots::new(&cwd, vec![root.clone(), home.clone()])
            .map_err(|error| OpeningError(Box::new(error)))?;
        let extra = &self.config.skills.extra;
        let roots = roots.with_skills(&skills::folders(&self.house, member, extra, &cwd));
        let (house, member, extra) = (self.house.clone(), member.clone(), extra.clone());
        let skills = Arc::new(move || skills::index(&house, &member, &extra, &cwd).entries);
        let tools = kith_tools::built_in(Arc::new(roots), skills);
        Ok(if is_trusted { tools } else { distrust::all(tools, &root) })
    }

    fn news(&self, header: &SessionHeader, told: &Told<'_>, now: u64) -> Vec<Body> {
        // Without its agent the turn fails with a sentence that says so.
        let Ok(member) = self.member(header) else { return Vec::new() };
        let mut news = self.looks.news(&self.house, member, header, told, now);
        let extra = &self.config.skills.extra;
        let cwd = Path::new(&header.cwd);
        let disk = skills::index(&self.house, member, extra, cwd);
        news.extend(news::of_skills(&disk, told));
        news
    }

    fn terms(&self, header: &SessionHeader) -> Terms {
        let set = self.config.language.clone();
        // A turn is not worth losing over the language of its notices.
        let of_user = || {
            let facts = UserFacts::read(&self.member(header).ok()?.home).ok()?;
            facts.language_code().map(str::to_owned)
        };
        let usual = Terms::default();
        let language = set.or_else(of_user).unwrap_or(usual.language);
        Terms { limits: self.config.limits, language }
    }
}

/// The snapshot a session would get.
pub(crate) fn assemble(
    house: &House,
    member: &Member,
    cwd: &Path,
    audience: Audience,
    now: u64,
) -> Result<Assembled, HomeError> {
    let zone = UserFacts::read(&member.home)?.time_zone.unwrap_or_else(system_zone);
    reading((house, member), cwd, audience, (now, &zone), snapshot)
}

/// Reads the files with `read`, for a session of this kind.
fn reading<T>(
    (house, member): (&House, &Member),
    cwd: &Path,
    audience: Audience,
    (now_ms, time_zone): (u64, &str),
    read: impl FnOnce(&SnapshotRequest<'_>) -> T,
) -> T {
    read(&SnapshotRequest {
        home: &member.home,
        house: &house.dir,
        cwd,
        user_home: house.user_home.as_deref(),
        audience,
        now_ms,
        time_zone,
        agent_id: &member.id,
        identity: &member.identity,
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
