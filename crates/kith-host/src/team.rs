//! The agents of a house, and which of them to use.
//!
//! A team is several homes named in one `kith.toml`: one house, one host, shared scripts and project
//! memory, each agent its own self. A home lies beneath its house, so that one host is the only
//! writer of it and a copy of the house is a copy of everyone.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use kith_home::house::is_home;
use kith_home::identity::{ConfiguredIdentity, IdentityFields};

use crate::error::CallError;
use crate::house::{AGENT_ID, House};
use crate::settings::{SettingPlace, nearest, refused};

/// A folder that holds nothing on any machine.
const NOWHERE: &str = "/dev/null";

#[derive(Debug)]
pub struct Team {
    members: BTreeMap<String, Member>,
    /// Agents whose home is not there, and what is said to those who name them. The others can speak.
    absent: BTreeMap<String, CallError>,
    /// The agent to use when none is named; `None` if there are several.
    default_agent: Option<String>,
}

/// One agent of the house.
#[derive(Clone, Debug)]
pub struct Member {
    pub id: String,
    /// The folder of its files.
    pub home: PathBuf,
    /// The skills it may use; `None`: all.
    pub skills: Option<Vec<String>>,
    pub identity: ConfiguredIdentity,
}

/// An agent as the settings name it.
#[derive(Debug)]
pub struct NamedAgent {
    pub id: String,
    pub home: Option<String>,
    pub skills: Option<Vec<String>>,
    pub identity: IdentityFields,
    pub place: Option<SettingPlace>,
}

impl Team {
    /// The agent of `[agent]`, those of `[agents.<id>]`, and `main` where nobody says otherwise.
    pub fn of(
        house: &House,
        agent: Option<NamedAgent>,
        agents: Vec<NamedAgent>,
        global: &IdentityFields,
    ) -> Result<Team, CallError> {
        let (members, absent) = (BTreeMap::new(), BTreeMap::new());
        let mut team = Team { members, absent, default_agent: None };
        team.default_agent = agent.as_ref().map(|agent| agent.id.clone());
        let is_alone = agents.is_empty();
        for named in agent.into_iter().chain(agents) {
            team.add(house, named, global)?;
        }
        // In a house of several, the folder itself is an agent only if it looks like one.
        let has_main = team.is_named(AGENT_ID);
        let is_main_meant = is_alone || is_home(&house.dir);
        if team.default_agent.is_none() && !has_main && is_main_meant {
            team.insert(Member::main(house, global.clone()), None)?;
        }
        if team.default_agent.is_none() {
            let is_alone = team.members.len() + team.absent.len() == 1;
            let is_main = |id: &&String| *id == AGENT_ID || is_alone;
            team.default_agent =
                team.members.keys().chain(team.absent.keys()).find(is_main).cloned();
        }
        Ok(team)
    }

    /// A team of these agents, wherever they live; the first is used when none is named.
    pub fn of_members(members: Vec<Member>) -> Team {
        let default_agent = members.first().map(|member| member.id.clone());
        let members = members.into_iter().map(|member| (member.id.clone(), member)).collect();
        Team { members, absent: BTreeMap::new(), default_agent }
    }

    /// The agents of a house on another machine, whose homes cannot be read here.
    pub fn of_remote(ids: Vec<String>, default_agent: Option<String>) -> Team {
        let member = |id: String| Member {
            id,
            home: PathBuf::from(NOWHERE),
            skills: None,
            identity: ConfiguredIdentity::default(),
        };
        Team { default_agent, ..Team::of_members(ids.into_iter().map(member).collect()) }
    }

    fn add(
        &mut self,
        house: &House,
        named: NamedAgent,
        global: &IdentityFields,
    ) -> Result<(), CallError> {
        let NamedAgent { id, home, skills, identity, place } = named;
        let home = match &home {
            Some(home) => match home_of(house, &id, home, place.as_ref())? {
                Ok(home) => home,
                Err(absent) => {
                    if self.is_named(&id) {
                        return Err(duplicate(&id, place.as_ref()));
                    }
                    self.absent.insert(id, absent);
                    return Ok(());
                }
            },
            None if self.default_agent.as_ref() == Some(&id) || id == AGENT_ID => house.dir.clone(),
            None => {
                let message = format!("agent `{id}` has no `home`");
                return Err(refused(place.as_ref(), &message)
                    .hint(format!("name its folder: `home = \"agents/{id}\"`")));
            }
        };
        let identity = ConfiguredIdentity { global: global.clone(), agent: identity };
        self.insert(Member { id, home, skills, identity }, place.as_ref())
    }

    fn insert(&mut self, member: Member, place: Option<&SettingPlace>) -> Result<(), CallError> {
        let id = &member.id;
        if let Some(other) = self.members.values().find(|other| other.home == member.home) {
            let message = format!("agents `{}` and `{id}` have the same home", other.id);
            return Err(refused(place, &message).hint("each agent has a folder of its own"));
        }
        if self.is_named(id) {
            return Err(duplicate(id, place));
        }
        self.members.insert(id.clone(), member);
        Ok(())
    }

    /// Returns the agent that is named, else the default one.
    pub fn choose(&self, named: Option<&str>) -> Result<&Member, CallError> {
        // An empty name is a variable that somebody tried to take away.
        let named = named.filter(|name| !name.is_empty());
        let id = named.or(self.default_agent.as_deref()).ok_or_else(|| {
            CallError::usage("this house has several agents; choose one")
                .hint(format!("use `--agent ID`; agents here: {}", self.ids()))
        })?;
        self.member(id)
    }

    fn is_named(&self, id: &str) -> bool {
        self.members.contains_key(id) || self.absent.contains_key(id)
    }

    /// The agent in whose home this folder is, if that is not the house itself.
    pub fn living_in(&self, house: &House, folder: &Path) -> Option<&Member> {
        let homes = self.members.values().filter(|it| it.home != house.dir);
        let around = homes.filter(|it| folder.starts_with(&it.home));
        around.max_by_key(|it| it.home.components().count())
    }

    /// Agents whose home is not there, and why they cannot be used.
    pub fn absent(&self) -> impl Iterator<Item = (&str, &CallError)> {
        self.absent.iter().map(|(id, why)| (id.as_str(), why))
    }

    pub fn default_agent(&self) -> Option<&str> {
        self.default_agent.as_deref()
    }

    pub fn member(&self, id: &str) -> Result<&Member, CallError> {
        if let Some(why) = self.absent.get(id) {
            return Err(why.clone());
        }
        self.members.get(id).ok_or_else(|| {
            let shown: String =
                id.chars().filter(|ch| !ch.is_control()).take(ID_CHARS_MAX).collect();
            let report = CallError::invalid(format!("there is no agent `{shown}` in this house"));
            let near = nearest(id, self.members.keys().map(String::as_str));
            let report = match near {
                Some(near) => report.hint(format!("did you mean `{near}`?")),
                None => report,
            };
            report.hint(format!("agents here: {}", self.ids()))
        })
    }

    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    fn ids(&self) -> String {
        let ids: Vec<&str> = self.members.keys().map(String::as_str).collect();
        ids.join(", ")
    }
}

impl Member {
    /// The agent of a house that names none.
    pub fn main(house: &House, global: IdentityFields) -> Member {
        let (id, home) = (AGENT_ID.to_owned(), house.dir.clone());
        let identity = ConfiguredIdentity { global, ..ConfiguredIdentity::default() };
        Member { id, home, skills: None, identity }
    }
}

/// Maximum length of an id quoted in an error.
const ID_CHARS_MAX: usize = 64;

fn duplicate(id: &str, place: Option<&SettingPlace>) -> CallError {
    refused(place, &format!("duplicate agent `{id}`"))
        .hint("define it in `[agent]` or in `[agents.<id>]`, not in both")
}

/// The folder, which must lie beneath the house, whatever links it goes through. The inner error is
/// of one that is not there: it concerns only its agent.
fn home_of(
    house: &House,
    id: &str,
    named: &str,
    place: Option<&SettingPlace>,
) -> Result<Result<PathBuf, CallError>, CallError> {
    let refuse = |what: &str| refused(place, &format!("the home `{named}` of agent `{id}` {what}"));
    let is_inward = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(named).components().all(is_inward) {
        return Err(refuse("is not inside the house")
            .hint(format!("use a path inside it, such as `home = \"agents/{id}\"`")));
    }
    let dir = match house.dir.join(named).canonicalize() {
        Ok(dir) => dir,
        Err(source) => {
            let absent = refuse(&format!("cannot be opened: {source}"));
            let hint = format!("create the folder with an `Agent.md`, or `kith agent rm {id}`");
            return Ok(Err(absent.hint(hint)));
        }
    };
    if !dir.starts_with(&house.dir) {
        return Err(
            refuse("is a link that points outside the house").hint("put the folder itself there")
        );
    }
    if dir.starts_with(house.kith_dir()) {
        return Err(refuse("is inside `.kith`, which is reserved"));
    }
    if !dir.is_dir() {
        return Err(refuse("is not a folder"));
    }
    Ok(Ok(dir))
}

#[cfg(test)]
mod tests;
