//! Lists, adds and removes the agents of a house. Removing one leaves its files and sessions.

use std::path::{Component, Path, PathBuf};

use kith_home::house::is_house;
use kith_home::init::{init_home, is_agent_id};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{CallError, quoted};
use crate::house::House;
use crate::settings::edit::{add_agent, remove_agent};
use crate::settings::{Settings, nearest};

/// An agent as `kith agent ls` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentRow {
    pub agent_id: String,
    /// Its folder, seen from the house; absent where the folder is.
    pub home: Option<String>,
    /// Whether it is used where no agent is named.
    pub default: bool,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// An agent that was added to a house.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAgent {
    pub home: PathBuf,
    /// The files that were made.
    pub files: Vec<PathBuf>,
}

pub fn list(house: &House) -> Result<Vec<AgentRow>, CallError> {
    let team = Settings::load(house)?.team;
    let is_default = |id: &str| team.default_agent() == Some(id);
    let members = team.members().map(|member| AgentRow {
        agent_id: member.id.clone(),
        home: Some(within(house, &member.home)),
        default: is_default(&member.id),
        problem: None,
    });
    let absent = team.absent().map(|(id, why)| AgentRow {
        agent_id: id.to_owned(),
        home: None,
        default: is_default(id),
        problem: Some(why.message()),
    });
    let mut rows: Vec<AgentRow> = members.chain(absent).collect();
    rows.sort_by(|a, b| a.agent_id.cmp(&b.agent_id));
    Ok(rows)
}

/// Makes a home in the house, by default `agents/<id>`, and names it in `kith.toml`.
pub fn add(house: &House, id: &str, home: Option<&Path>) -> Result<NewAgent, CallError> {
    if !is_agent_id(id) {
        let message = format!("`{id}` cannot be the id of an agent");
        return Err(CallError::invalid(message)
            .hint("use lower-case letters, digits, `-` and `_`; its name goes into IDENTITY.md"));
    }
    if list(house)?.iter().any(|row| row.agent_id == id) {
        return Err(CallError::invalid(format!("there is an agent `{id}` already"))
            .hint("`kith agent ls` lists them"));
    }
    let named = home.map_or_else(|| PathBuf::from("agents").join(id), Path::to_owned);
    let dir = house.dir.join(&named);
    // Checked before anything is made: a link may lead out of the house.
    let real = dir.ancestors().find_map(|it| it.canonicalize().ok());
    let inside = named.components().all(|it| matches!(it, Component::Normal(_)))
        && !dir.starts_with(house.kith_dir())
        && real.is_some_and(|it| it.starts_with(&house.dir));
    let Some(text) = named.to_str().filter(|_| inside) else {
        return Err(CallError::invalid(format!(
            "`{}` is not a folder of the house",
            named.display()
        ))
        .hint(format!("use a path from the house, such as `agents/{id}`")));
    };
    if is_house(&dir) {
        return Err(CallError::invalid(format!("`{}` is a house of its own", named.display()))
            .hint(format!("talk to its agent with `kith --home {}`", quoted(&dir))));
    }
    let files = init_home(&dir, id)?;
    add_agent(house, id, text)?;
    // What the file says now counts; a home that it may not name is refused here.
    Settings::load(house)?.team.member(id)?;
    Ok(NewAgent { home: dir, files })
}

/// Takes the agent out of `kith.toml`. Returns where its files stay, if they are there.
pub fn remove(house: &House, id: &str) -> Result<Option<String>, CallError> {
    let rows = list(house)?;
    let Some(row) = rows.iter().find(|row| row.agent_id == id) else {
        let report = CallError::invalid(format!("there is no agent `{id}` in this house"));
        let near = nearest(id, rows.iter().map(|row| row.agent_id.as_str()));
        let hint = near.map_or_else(
            || "`kith agent ls` lists them".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(report.hint(hint));
    };
    if row.home.as_deref() == Some(".") {
        let message = format!("`{id}` is the agent of the house itself");
        return Err(CallError::invalid(message).hint("without it, remove the house's folder"));
    }
    remove_agent(house, id)?;
    Ok(row.home.clone())
}

fn within(house: &House, home: &Path) -> String {
    let home = home.strip_prefix(&house.dir).unwrap_or(home);
    if home.as_os_str().is_empty() { ".".to_owned() } else { home.to_string_lossy().into_owned() }
}
