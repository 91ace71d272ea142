//! Settings: `kith.toml` of the house over `~/.kith/config.toml` of the user.
//!
//! Both are plain serde types that refuse what they do not know, with file, line and the nearest
//! valid name. A key exists only when something obeys it. All of it is checked before any of it is
//! used: someone who writes `deny = […]` in the wrong place and sees no complaint will rely on it.

pub mod address;
pub mod edit;
mod file;
pub mod forms;
mod nearest;
mod tables;
pub mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_engine::judge::rules::{JudgeMode, PolicyRule, RuleSet};
use kith_engine::turn::approvals::ApprovalSetup;
use kith_vocab::event::control::Limits;
use toml::Spanned;

use self::address::ServerAddress;
use self::file::{FileScope, SettingsFile};
use self::forms::{
    AgentId, LineText, PolicyMode, RuleEntry, SecretName, UiLanguage, UnattendedCalls,
};
use self::tables::{
    AgentTable, ApprovalsTable, BudgetTable, LimitsTable, PolicyTable, SettingsTables,
};
use crate::budget::BudgetCaps;
use crate::error::{CallError, ErrorCode};
use crate::house::{AGENT_ID, House};
use crate::models::{endpoint_of, is_vendors_own};
use crate::team::{NamedAgent, Team};
use crate::trust::{SettingsReach, TrustView};

pub use self::nearest::nearest;
pub use self::tables::{ModelSettings, PriceTable};

/// What both files say together, and what holds where they say nothing.
#[derive(Debug)]
pub struct Settings {
    pub models: ConfiguredModels,
    pub limits: Limits,
    pub budget: BudgetCaps,
    /// `None`: the one that USER.md names.
    pub language: Option<&'static str>,
    pub policy: RuleSet,
    /// The collector that spans are sent to.
    pub telemetry_endpoint: Option<ServerAddress>,
    /// The folders that were registered as projects.
    pub projects: Vec<PathBuf>,
    pub approvals: ApprovalSetup,
    /// Folders with skills besides the usual ones.
    pub extra_skills: Vec<PathBuf>,
    pub team: Arc<Team>,
    /// The files there are, the nearer first.
    pub files: Vec<PathBuf>,
    /// The full names of the keys in force, in their order.
    pub keys: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfiguredModels {
    /// The model to use, if the settings choose one.
    pub chosen: Option<String>,
    pub fallbacks: Vec<String>,
    pub named: BTreeMap<String, ModelSettings>,
}

/// Where a setting stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingPlace {
    pub file: Arc<Path>,
    pub line: usize,
}

/// Maximum length of a name quoted in an error.
const NAME_CHARS_MAX: usize = 80;

impl Settings {
    /// Reads the settings that count for this house; without files, the defaults.
    pub fn load(house: &House) -> Result<Settings, CallError> {
        // First of all: the settings of a clone would win over the user's.
        let trust = TrustView::new(house, &[]);
        trust.require_house()?;
        let near = near_file(house)?;
        let far = far_file(house)?;
        for file in [&near, &far].into_iter().flatten() {
            file.require_owner()?;
        }
        if let Some(near) = &near {
            trust.require_settings(&reach(near, far.as_ref(), house))?;
        }
        if let (Some(near), Some(far)) = (&near, &far) {
            refuse_redirected_keys(near, far)?;
        }
        Settings::merged(near, far, house)
    }

    /// Reads the same, whoever wrote it: to see whether an agent lives here, not to be obeyed.
    pub fn peek(house: &House) -> Result<Settings, CallError> {
        Settings::merged(near_file(house)?, far_file(house)?, house)
    }

    /// The defaults, for these agents.
    pub fn of_team(house: &House, team: Team) -> Result<Settings, CallError> {
        Ok(Settings { team: Arc::new(team), ..Settings::merged(None, None, house)? })
    }

    fn merged(
        near: Option<SettingsFile>,
        far: Option<SettingsFile>,
        house: &House,
    ) -> Result<Settings, CallError> {
        let files = [&near, &far].into_iter().flatten().map(|it| it.path.to_path_buf()).collect();
        let extra_skills =
            [&near, &far].into_iter().flatten().find_map(|file| extra_skills(file, house));
        let projects = [&near, &far].into_iter().flatten();
        let projects = projects.flat_map(|file| projects_of(file, house)).collect();
        let keys = keys_in_force(near.as_ref(), far.as_ref());
        let (agent, agents) = match &near {
            Some(file) => named_agents(file)?,
            None => (None, Vec::new()),
        };
        let near = near.map(|file| file.tables).unwrap_or_default();
        let far = far.map(|file| file.tables).unwrap_or_default();
        let tables: SettingsTables = near.over(far);
        let global = tables.identity.as_ref().map(|it| it.get_ref().fields()).unwrap_or_default();
        let models = tables.models;
        Ok(Settings {
            models: ConfiguredModels {
                chosen: models.chosen.map(|it| it.0),
                fallbacks: texts(models.fallbacks.unwrap_or_default()),
                named: models.named.into_iter().map(|(name, model)| (name.0, model)).collect(),
            },
            limits: limits(&tables.limits),
            budget: budget(&tables.budget),
            language: tables.ui.language.and_then(|language| match language {
                UiLanguage::Auto => None,
                UiLanguage::En => Some("en"),
                UiLanguage::Zh => Some("zh"),
            }),
            policy: rules(tables.policy),
            telemetry_endpoint: tables.telemetry.endpoint.map(|it| it.0),
            projects,
            approvals: approvals(tables.approvals),
            extra_skills: extra_skills.unwrap_or_default(),
            team: Arc::new(Team::of(house, agent, agents, &global)?),
            files,
            keys,
        })
    }
}

/// Refuses a setting, with its place if it has one.
pub fn refused(place: Option<&SettingPlace>, message: &str) -> CallError {
    match place {
        None => CallError::invalid(message),
        Some(SettingPlace { file, line }) => {
            let message = format!("`{}` line {line}: {message}", file.display());
            CallError::invalid(message).at_line(*line)
        }
    }
}

/// Looks a secret up in the environment. This happens only when it is used.
pub fn secret(SecretName(name): &SecretName) -> Result<String, CallError> {
    let is_set = env::var(name).ok().filter(|value| !value.is_empty());
    is_set.ok_or_else(|| {
        let message =
            format!("the settings use the environment variable `{name}`, which is not set");
        CallError::invalid(message)
            .hint(format!("`export {name}=…`, or use `--model demo`, which needs no key"))
    })
}

/// A name that may be anything, in one line.
fn shown_name(name: &str) -> String {
    let name = name.chars().take(NAME_CHARS_MAX);
    name.map(|ch| if ch.is_control() { '\u{fffd}' } else { ch }).collect()
}

fn near_file(house: &House) -> Result<Option<SettingsFile>, CallError> {
    SettingsFile::read(house.dir.join("kith.toml"), FileScope::House)
}

fn far_file(house: &House) -> Result<Option<SettingsFile>, CallError> {
    let Some(user_home) = &house.user_home else { return Ok(None) };
    SettingsFile::read(user_home.join(".kith/config.toml"), FileScope::User)
}

/// The default house that the user's own settings name, and where they do.
pub fn default_house(
    user_home: Option<&Path>,
) -> Result<Option<(PathBuf, SettingPlace)>, CallError> {
    let Some(user_home) = user_home else { return Ok(None) };
    let path = user_home.join(".kith/config.toml");
    let Some(file) = SettingsFile::read(path, FileScope::User)? else { return Ok(None) };
    let Some(named) = &file.tables.house.default else { return Ok(None) };
    file.require_owner()?;
    Ok(Some((file.resolve(&named.get_ref().0, Some(user_home)), file.place_of(named))))
}

/// Refuses a house that sends a key of the user's own settings to another address than they do.
fn refuse_redirected_keys(near: &SettingsFile, far: &SettingsFile) -> Result<(), CallError> {
    for (name, model) in &near.tables.models.named {
        let Some(SecretName(key)) = &model.api_key else { continue };
        let address = endpoint_of(model);
        let users = far.tables.models.named.iter();
        let mut users = users.filter(|(_, it)| it.api_key.as_ref().is_some_and(|it| it.0 == *key));
        if let Some((users_name, users_model)) = users.find(|(_, it)| endpoint_of(it) != address) {
            let message = format!(
                "`{}` sends the value of `{key}` to `{}` (`[models.{}]`), but your own `{}` uses \
                 it for `{}` (`[models.{}]`)",
                near.path.display(),
                shown_server(model),
                name.0,
                far.path.display(),
                shown_server(users_model),
                users_name.0,
            );
            let hint = "if that is right, describe the model in your own settings instead";
            return Err(CallError::request(ErrorCode::Untrusted, message).hint(hint));
        }
    }
    Ok(())
}

fn shown_server(model: &ModelSettings) -> String {
    let url = model.base_url.as_ref();
    url.map_or_else(|| "the vendor's own address".to_owned(), |it| it.0.to_string())
}

/// What a file's settings reach outside the house.
fn reach(file: &SettingsFile, users: Option<&SettingsFile>, house: &House) -> SettingsReach {
    let models = file.tables.models.named.iter();
    let servers = models.filter_map(|(name, model)| {
        let url = model.base_url.as_ref()?;
        Some((name.0.clone(), url.0.clone()))
    });
    let keys = file.tables.models.named.iter().filter_map(|(name, model)| {
        let SecretName(key) = model.api_key.as_ref()?;
        let is_kept = model.base_url.as_ref().is_none_or(|it| is_vendors_own(&it.0));
        (!is_kept).then(|| (name.0.clone(), key.clone()))
    });
    SettingsReach {
        servers: servers.collect(),
        keys: keys.collect(),
        folders: extra_skills(file, house).unwrap_or_default(),
        collector: file.tables.telemetry.endpoint.as_ref().map(|it| it.0.clone()),
        widened: widened(&file.tables.policy, users.map(|it| &it.tables.policy)).or_else(|| {
            let approvers = file.tables.approvals.approvers.as_ref();
            approvers.map(|_| "[approvals] approvers".to_owned())
        }),
    }
}

/// The first setting of a house that makes its policy wider than the user's own, as it is written.
fn widened(policy: &PolicyTable, users: Option<&PolicyTable>) -> Option<String> {
    let is_given = |is_in: fn(&PolicyTable) -> bool| is_in(policy) && users.is_some_and(is_in);
    if policy.mode.is_some_and(|it| it == PolicyMode::Trusted) {
        return Some("[policy] mode = \"trusted\"".to_owned());
    }
    // A key of the house stands in place of the user's own.
    let replaces = |name: &str| Some(format!("[policy] {name}"));
    match policy {
        _ if policy.allow.as_ref().is_some_and(|it| !it.is_empty()) => replaces("allow"),
        _ if policy.hosts.as_ref().is_some_and(|it| !it.is_empty()) => replaces("hosts"),
        _ if is_given(|it| it.deny.is_some()) => replaces("deny"),
        _ if is_given(|it| it.ask.is_some()) => replaces("ask"),
        _ if is_given(|it| it.mode.is_some()) => replaces("mode"),
        _ => None,
    }
}

fn extra_skills(file: &SettingsFile, house: &House) -> Option<Vec<PathBuf>> {
    let extra = file.tables.skills.extra.as_ref()?.iter();
    Some(extra.map(|it| file.resolve(&it.0, house.user_home.as_deref())).collect())
}

fn projects_of(file: &SettingsFile, house: &House) -> Vec<PathBuf> {
    let folders = file.tables.projects.folders.iter().flatten();
    folders.map(|it| file.resolve(&it.0, house.user_home.as_deref())).collect()
}

fn keys_in_force(near: Option<&SettingsFile>, far: Option<&SettingsFile>) -> BTreeSet<String> {
    let whole: Vec<String> = near
        .into_iter()
        .flat_map(|file| file.tables.models.named.keys())
        .map(|name| format!("models.{}.", name.0))
        .collect();
    let is_hidden = |key: &String| whole.iter().any(|it| key.starts_with(it));
    let far = far.into_iter().flat_map(|file| &file.keys).filter(|key| !is_hidden(key));
    near.into_iter().flat_map(|file| &file.keys).chain(far).cloned().collect()
}

fn limits(table: &LimitsTable) -> Limits {
    let usual = Limits::default();
    Limits {
        steps: table.steps.map_or(usual.steps, |it| it.0),
        repeats: table.repeats.map_or(usual.repeats, |it| it.0),
        wall_ms: table.wall.map_or(usual.wall_ms, |it| it.0),
        tokens: table.tokens.map(|it| u64::from(it.0)).or(usual.tokens),
        cost_micros: table.cost.map(|it| it.0).or(usual.cost_micros),
    }
}

fn budget(table: &BudgetTable) -> BudgetCaps {
    BudgetCaps {
        cost_per_day: table.cost_per_day.map(|it| it.0),
        cost_per_thread: table.cost_per_thread.map(|it| it.0),
        tokens_per_day: table.tokens_per_day.map(|it| u64::from(it.0)),
        tokens_per_thread: table.tokens_per_thread.map(|it| u64::from(it.0)),
    }
}

fn rules(table: PolicyTable) -> RuleSet {
    let rules = |entries: Option<Vec<RuleEntry>>| {
        entries.into_iter().flatten().map(|it| it.0).collect::<Vec<PolicyRule>>()
    };
    RuleSet {
        mode: mode(table.mode.unwrap_or(PolicyMode::Ask)),
        deny: rules(table.deny),
        ask: rules(table.ask),
        allow: rules(table.allow),
        hosts: table.hosts.into_iter().flatten().map(|it| it.0).collect(),
        problem: None,
    }
}

fn approvals(table: ApprovalsTable) -> ApprovalSetup {
    let usual = ApprovalSetup::default();
    ApprovalSetup {
        expires_ms: table.expires.map_or(usual.expires_ms, |it| it.0),
        approvers: texts(table.approvers.unwrap_or_default()),
        asks_unattended: table.unattended == Some(UnattendedCalls::Ask),
    }
}

/// The mode as the judge knows it.
pub fn mode(mode: PolicyMode) -> JudgeMode {
    match mode {
        PolicyMode::Ask => JudgeMode::Ask,
        PolicyMode::Readonly => JudgeMode::Readonly,
        PolicyMode::Trusted => JudgeMode::Trusted,
        PolicyMode::Deny => JudgeMode::Deny,
    }
}

fn texts(texts: Vec<LineText>) -> Vec<String> {
    texts.into_iter().map(|it| it.0).collect()
}

/// The agent of `[agent]`, and those of `[agents.<id>]`.
fn named_agents(file: &SettingsFile) -> Result<(Option<NamedAgent>, Vec<NamedAgent>), CallError> {
    let tables = &file.tables;
    let agent = tables.agent.as_ref().map(|agent| {
        let id = agent.get_ref().id.as_ref().map(|it| it.get_ref().0.clone());
        named_agent(file, id.unwrap_or_else(|| AGENT_ID.to_owned()), agent)
    });
    let mut agents = Vec::new();
    for (AgentId(id), table) in &tables.agents {
        if let Some(other) = table.get_ref().id.as_ref().filter(|it| it.get_ref().0 != *id) {
            let message = format!("`agents.{id}.id` is not `{id}`");
            return Err(refused(Some(&file.place_of(other)), &message)
                .hint("the name of the table is the agent's id; leave `id` out"));
        }
        agents.push(named_agent(file, id.clone(), table));
    }
    Ok((agent, agents))
}

fn named_agent(file: &SettingsFile, id: String, table: &Spanned<AgentTable>) -> NamedAgent {
    let agent = table.get_ref();
    let home = agent.home.as_ref();
    NamedAgent {
        id,
        home: home.map(|it| it.get_ref().0.clone()),
        skills: agent.skills.clone().map(texts),
        identity: agent.identity.fields(),
        place: Some(home.map_or_else(|| file.place_of(table), |it| file.place_of(it))),
    }
}

#[cfg(test)]
mod tests;
