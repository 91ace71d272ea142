//! The agents of a house, and which of them is meant.
//!
//! A team is several homes named in one `kith.toml`: one house, one host, shared scripts and project
//! memory, each agent its own self. A home lies beneath its house, so that one host is the only
//! writer of it and a copy of the house is a copy of everyone.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use kith_home::house::is_home;
use kith_home::identity::{ConfiguredIdentity, IdentityFields};

use crate::config::{Place, nearest, refused};
use crate::house::{AGENT_ID, House};
use crate::report::{Blame, Report};

#[derive(Debug)]
pub(crate) struct Team {
    members: BTreeMap<String, Member>,
    /// Who is meant when nobody is named; `None` if that is not clear.
    spokesman: Option<String>,
}

/// One agent of the house.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) id: String,
    /// The folder of its files.
    pub(crate) home: PathBuf,
    /// The skills it may use; `None`: all.
    pub(crate) skills: Option<Vec<String>>,
    pub(crate) identity: ConfiguredIdentity,
}

/// An agent as the settings name it.
#[derive(Debug)]
pub(crate) struct NamedAgent {
    pub(crate) id: String,
    pub(crate) home: Option<String>,
    pub(crate) skills: Option<Vec<String>>,
    pub(crate) identity: IdentityFields,
    pub(crate) place: Option<Place>,
}

impl Team {
    /// The agent of `[agent]`, those of `[agents.<id>]`, and `main` where nobody says otherwise.
    pub(crate) fn of(
        house: &House,
        agent: Option<NamedAgent>,
        agents: Vec<NamedAgent>,
        global: &IdentityFields,
    ) -> Result<Team, Report> {
        let mut team = Team { members: BTreeMap::new(), spokesman: None };
        team.spokesman = agent.as_ref().map(|agent| agent.id.clone());
        let is_alone = agents.is_empty();
        for named in agent.into_iter().chain(agents) {
            team.add(house, named, global)?;
        }
        // In a house of several, the folder itself is an agent only if it looks like one.
        let has_main = team.members.contains_key(AGENT_ID);
        let is_main_meant = is_alone || is_home(&house.dir);
        if team.spokesman.is_none() && !has_main && is_main_meant {
            team.take_in(Member::main(house, global.clone()), None)?;
        }
        if team.spokesman.is_none() {
            let is_main = |id: &&String| *id == AGENT_ID || team.members.len() == 1;
            team.spokesman = team.members.keys().find(is_main).cloned();
        }
        Ok(team)
    }

    fn add(
        &mut self,
        house: &House,
        named: NamedAgent,
        global: &IdentityFields,
    ) -> Result<(), Report> {
        let NamedAgent { id, home, skills, identity, place } = named;
        let home = match &home {
            Some(home) => home_of(house, &id, home, place.as_ref())?,
            None if self.spokesman.as_ref() == Some(&id) || id == AGENT_ID => house.dir.clone(),
            None => {
                let message = format!("agent `{id}` has no `home`");
                return Err(refused(place.as_ref(), &message)
                    .hint(format!("name its folder: `home = \"agents/{id}\"`")));
            }
        };
        let identity = ConfiguredIdentity { global: global.clone(), agent: identity };
        self.take_in(Member { id, home, skills, identity }, place.as_ref())
    }

    fn take_in(&mut self, member: Member, place: Option<&Place>) -> Result<(), Report> {
        let id = &member.id;
        if let Some(other) = self.members.values().find(|other| other.home == member.home) {
            let message = format!("agents `{}` and `{id}` have the same home", other.id);
            return Err(refused(place, &message).hint("each agent has a folder of its own"));
        }
        if self.members.contains_key(id) {
            return Err(refused(place, &format!("the agent `{id}` is named twice"))
                .hint("it stands in `[agent]` or in `[agents.<id>]`, not in both"));
        }
        self.members.insert(id.clone(), member);
        Ok(())
    }

    /// Who is meant: the one that is named, else the one that speaks for the house.
    pub(crate) fn choose(&self, named: Option<&str>) -> Result<&Member, Report> {
        // An empty name is a variable that somebody tried to take away.
        let named = named.filter(|name| !name.is_empty());
        let id = named.or(self.spokesman.as_deref()).ok_or_else(|| {
            Report::usage("several agents live in this house; which one is meant?")
                .hint(format!("`--agent ID` names it; there are: {}", self.ids()))
        })?;
        self.member(id)
    }

    pub(crate) fn member(&self, id: &str) -> Result<&Member, Report> {
        self.members.get(id).ok_or_else(|| {
            let shown: String =
                id.chars().filter(|ch| !ch.is_control()).take(ID_CHARS_MAX).collect();
            let message = format!("there is no agent `{shown}` in this house");
            let report = Report::new(Blame::Request, "invalid_request", message);
            let near = nearest(id, self.members.keys().map(String::as_str));
            let report = match near {
                Some(near) => report.hint(format!("did you mean `{near}`?")),
                None => report,
            };
            report.hint(format!("there are: {}", self.ids()))
        })
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    fn ids(&self) -> String {
        let ids: Vec<&str> = self.members.keys().map(String::as_str).collect();
        ids.join(", ")
    }
}

impl Member {
    /// The agent of a house that names none.
    pub(crate) fn main(house: &House, global: IdentityFields) -> Member {
        let (id, home) = (AGENT_ID.to_owned(), house.dir.clone());
        let identity = ConfiguredIdentity { global, ..ConfiguredIdentity::default() };
        Member { id, home, skills: None, identity }
    }
}

/// Of a name that is repeated in an error.
const ID_CHARS_MAX: usize = 64;

/// The folder, which must be there and lie beneath the house, whatever links it goes through.
fn home_of(house: &House, id: &str, named: &str, place: Option<&Place>) -> Result<PathBuf, Report> {
    let refuse = |what: &str| refused(place, &format!("the home `{named}` of agent `{id}` {what}"));
    let is_inward = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(named).components().all(is_inward) {
        return Err(refuse("does not lie beneath the house")
            .hint(format!("write a path within it, such as `home = \"agents/{id}\"`")));
    }
    let dir = house.dir.join(named).canonicalize().map_err(|source| {
        refuse(&format!("cannot be opened: {source}"))
            .hint("make the folder and put an `Agent.md` into it, or take the agent out")
    })?;
    if !dir.starts_with(&house.dir) {
        return Err(
            refuse("is a link that leads out of the house").hint("put the folder itself there")
        );
    }
    if dir.starts_with(house.kith_dir()) {
        return Err(refuse("lies in `.kith`, which is the host's own"));
    }
    if !dir.is_dir() {
        return Err(refuse("is not a folder"));
    }
    Ok(dir)
}

#[cfg(test)]
mod tests;
