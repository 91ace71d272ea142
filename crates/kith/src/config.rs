//! `kith.toml`, and `~/.kith/config.toml` for every house: read and checked before anything runs.
//!
//! The nearer wins, key by key. A name that does not exist is refused, with the line and the name
//! that was probably meant; one whose feature is not built yet is checked like any other, and the
//! doctor says that nothing obeys it.

mod check;
mod form;
mod kind;
mod nearest;
#[cfg(test)]
mod page;
mod schema;
mod secret;
mod tree;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use kith_home::identity::IdentityFields;
use kith_vocab::event::control::Limits;
use serde_json::{Map, Value};

use self::check::{Mistake, Whose, check};
use self::tree::Tree;
use crate::house::House;
use crate::price::Price;
use crate::report::{Blame, Report};
use crate::team::{NamedAgent, Team};
use crate::trust;

pub(crate) use self::nearest::nearest;
pub(crate) use self::schema::Stage;
pub(crate) use self::secret::secret;
pub(crate) use self::tree::Place;

#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) models: Models,
    pub(crate) limits: Limits,
    /// `None`: that of USER.md.
    pub(crate) language: Option<String>,
    pub(crate) policy: Rules,
    pub(crate) skills: Skills,
    pub(crate) team: Arc<Team>,
    /// The files there are, the nearer first.
    pub(crate) files: Vec<PathBuf>,
    tree: Tree,
}

/// `use`, and a table for each model.
#[derive(Debug, Default)]
pub(crate) struct Models {
    pub(crate) chosen: Option<String>,
    pub(crate) named: BTreeMap<String, Model>,
}

#[derive(Debug)]
#[expect(clippy::struct_field_names, reason = "they are the names of the settings")]
pub(crate) struct Model {
    pub(crate) wire: String,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) context_window: Option<u64>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) price: Option<Price>,
}

/// What calls may not do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    pub(crate) denies_all: bool,
    /// Of `ask` and `deny`: nobody can be asked yet.
    pub(crate) forbidden: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Skills {
    /// Folders to look into besides the usual ones.
    pub(crate) extra: Vec<PathBuf>,
}

/// A setting as the doctor tells of it.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    pub(crate) name: String,
    pub(crate) place: &'a Place,
    pub(crate) stage: Stage,
}

const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

impl Config {
    /// The house's settings over the user's; without either, the defaults.
    pub(crate) fn load(house: &House) -> Result<Config, Report> {
        // First of all: the settings of a clone would win over the user's.
        let standing = trust::require(house)?;
        let near = near(house)?;
        let own = near.as_ref().and_then(|(_, tree)| tree.table("models"));
        standing.require_for(house, &own.map(addresses).unwrap_or_default())?;
        Config::over_the_users(near, house)
    }

    /// The same, of whomever they are: to see whether an agent lives here, not to be obeyed.
    pub(crate) fn glance(house: &House) -> Result<Config, Report> {
        Config::over_the_users(near(house)?, house)
    }

    fn over_the_users(near: Option<(Arc<Path>, Tree)>, house: &House) -> Result<Config, Report> {
        let far = match &house.user_home {
            Some(user_home) => read(user_home.join(".kith/config.toml"), Whose::User)?,
            None => None,
        };
        let mut files = Vec::new();
        let mut tree = Tree::default();
        for (file, read) in [near, far].into_iter().flatten() {
            files.push(file.to_path_buf());
            tree = tree.over(read);
        }
        Config::of(tree, files, house)
    }

    fn of(tree: Tree, files: Vec<PathBuf>, house: &House) -> Result<Config, Report> {
        let none = Tree::default();
        let table = |name: &str| tree.table(name).unwrap_or(&none);
        let user_home = house.user_home.as_deref();
        let policy = table("policy");
        let extra = table("skills").paths("extra", user_home).unwrap_or_default();
        let global = identity(table("identity"));
        let (agent, agents) = named_agents(&tree)?;
        Ok(Config {
            models: models(table("models"))?,
            limits: limits(table("limits")),
            language: table("ui").text("language").filter(|word| word != "auto"),
            policy: Rules {
                denies_all: policy.text("mode").is_some_and(|mode| mode == "deny"),
                forbidden: ["ask", "deny"]
                    .iter()
                    .filter_map(|it| policy.texts(it))
                    .flatten()
                    .collect(),
            },
            skills: Skills { extra },
            team: Arc::new(Team::of(house, agent, agents, &global)?),
            files,
            tree,
        })
    }

    /// Every setting that was made, in the order of names.
    pub(crate) fn settings(&self) -> Vec<Told<'_>> {
        let settings = self.tree.settings().into_iter();
        settings
            .map(|(name, setting)| Told { name, place: &setting.place, stage: setting.stage })
            .collect()
    }
}

/// A setting cannot be used, for a reason that only shows when all are known.
pub(crate) fn refused(place: Option<&Place>, message: &str) -> Report {
    match place {
        None => Report::new(Blame::Request, "invalid_request", message),
        Some(Place { file, line }) => {
            let message = format!("`{}` line {line}: {message}", file.display());
            Report::new(Blame::Request, "invalid_request", message).at_line(*line)
        }
    }
}

/// Where each model of a file is asked, by its name, as far as that file says.
fn addresses(models: &Tree) -> Vec<(String, String)> {
    let named = models.tables().filter_map(|(name, table)| Some((name, table.text("baseUrl")?)));
    named.map(|(name, url)| (name.clone(), url)).collect()
}

fn models(models: &Tree) -> Result<Models, Report> {
    let mut named = BTreeMap::new();
    for (name, table) in models.tables() {
        named.insert(name.clone(), model(name, table)?);
    }
    Ok(Models { chosen: models.text("use"), named })
}

fn model(name: &str, table: &Tree) -> Result<Model, Report> {
    let lacks = |what: &str, key: &str, hint: &str| {
        refused(table.place(), &format!("`{what}` has no `{key}`")).hint(hint)
    };
    let what = format!("models.{name}");
    let price = match table.table("price") {
        None => None,
        Some(price) => {
            let what = format!("{what}.price");
            let hint = "both are needed to tell what an answer costs";
            let input = price.number("input").ok_or_else(|| lacks(&what, "input", hint))?;
            Some(Price {
                input,
                output: price.number("output").ok_or_else(|| lacks(&what, "output", hint))?,
                cache_read: price.number("cacheRead").unwrap_or(input),
                cache_write: price.number("cacheWrite").unwrap_or(input),
            })
        }
    };
    let parameters = table.setting("parameters").and_then(|it| it.value.as_object());
    let hint = "`wire = \"openai_chat\"` suits most servers";
    Ok(Model {
        wire: table.text("wire").ok_or_else(|| lacks(&what, "wire", hint))?,
        base_url: table.text("baseUrl"),
        api_key: table.text("apiKey"),
        model: table.text("model"),
        context_window: table.number("contextWindow"),
        max_tokens: table.number("maxTokens"),
        parameters: parameters.cloned().unwrap_or_default(),
        price,
    })
}

fn limits(table: &Tree) -> Limits {
    let usual = Limits::default();
    let small = |name: &str| table.number(name).and_then(|it| u32::try_from(it).ok());
    Limits {
        steps: small("steps").unwrap_or(usual.steps),
        repeats: small("repeats").unwrap_or(usual.repeats),
        wall_ms: table.number("wall").unwrap_or(usual.wall_ms),
        tokens: table.number("tokens").or(usual.tokens),
        cost_micros: table.number("cost").or(usual.cost_micros),
    }
}

fn identity(table: &Tree) -> IdentityFields {
    IdentityFields {
        name: table.text("name"),
        role: table.text("role"),
        goal: table.text("goal"),
        voice: table.text("voice"),
        emoji: table.text("emoji"),
        kind: table.text("type"),
        style: table.text("style"),
        avatar: table.text("avatar"),
    }
}

/// The agent of `[agent]`, and those of `[agents.<id>]`.
fn named_agents(tree: &Tree) -> Result<(Option<NamedAgent>, Vec<NamedAgent>), Report> {
    let named = |id: String, table: &Tree| NamedAgent {
        id,
        home: table.text("home"),
        skills: table.texts("skills"),
        identity: table.table("identity").map(identity).unwrap_or_default(),
        place: table.setting("home").map(|it| &it.place).or_else(|| table.place()).cloned(),
    };
    let agent = tree.table("agent").map(|table| {
        let id = table.text("id").unwrap_or_else(|| crate::house::AGENT_ID.to_owned());
        named(id, table)
    });
    let mut agents = Vec::new();
    for (id, table) in tree.table("agents").into_iter().flat_map(Tree::tables) {
        if let Some(setting) = table.setting("id")
            && setting.value.as_str() != Some(id)
        {
            let message = format!("`agents.{id}.id` is not `{id}`");
            return Err(refused(Some(&setting.place), &message)
                .hint("the name of the table is the agent's id; leave `id` out"));
        }
        agents.push(named(id.clone(), table));
    }
    Ok((agent, agents))
}

fn near(house: &House) -> Result<Option<(Arc<Path>, Tree)>, Report> {
    read(house.dir.join("kith.toml"), Whose::House)
}

fn read(path: PathBuf, whose: Whose) -> Result<Option<(Arc<Path>, Tree)>, Report> {
    let Some(text) = read_bounded(&path)? else { return Ok(None) };
    let file: Arc<Path> = path.into();
    match check(&text, &file, whose) {
        Ok(tree) => Ok(Some((file, tree))),
        Err(Mistake { line, message, hint }) => {
            let report = refused(Some(&Place { file, line }), &message);
            Err(match hint {
                Some(hint) => report.hint(hint),
                None => report,
            })
        }
    }
}

fn read_bounded(path: &Path) -> Result<Option<String>, Report> {
    let refuse = |what: &str| {
        let message = format!("`{}` {what}", path.display());
        Err(Report::new(Blame::Request, "invalid_request", message))
    };
    let failed = |source: io::Error| {
        let message = format!("cannot read `{}`: {source}", path.display());
        Report::new(Blame::Environment, "filesystem_error", message)
    };
    match fs::metadata(path) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
        // A pipe would be waited for until somebody writes to it.
        Ok(metadata) if !metadata.is_file() => return refuse("is not a file; remove it"),
        Ok(_) => (),
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(CONFIG_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > CONFIG_BYTES_MAX {
        return refuse("is larger than 1 MiB");
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) => refuse("is not UTF-8 text"),
    }
}

#[cfg(test)]
mod tests;
