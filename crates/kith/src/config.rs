//! `kith.toml`, and `~/.kith/config.toml` for every house: what of them this program reads so far,
//! strictly.
//!
//! A setting that is misspelt or not obeyed yet is refused. Someone who writes `deny = […]` and
//! sees no complaint will rely on it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::{env, fmt, fs, io};

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::house::House;
use crate::report::{Blame, Report};
use crate::trust;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    #[serde(default)]
    pub(crate) models: Models,
}

/// `use`, and a table for each model.
#[derive(Debug, Default)]
pub(crate) struct Models {
    pub(crate) chosen: Option<String>,
    pub(crate) named: BTreeMap<String, Model>,
}

// Derived with `flatten`, a wrong type would be told without its line.
impl<'de> Deserialize<'de> for Models {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Models, D::Error> {
        struct Table;
        impl<'de> Visitor<'de> for Table {
            type Value = Models;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of models")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Models, M::Error> {
                let mut models = Models::default();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "use" {
                        models.chosen = Some(map.next_value()?);
                    } else {
                        models.named.insert(name, map.next_value()?);
                    }
                }
                Ok(models)
            }
        }
        deserializer.deserialize_map(Table)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "they are the names of the settings")]
pub(crate) struct Model {
    pub(crate) wire: String,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) context_window: Option<u64>,
    pub(crate) max_tokens: Option<u64>,
    #[serde(default)]
    pub(crate) parameters: serde_json::Map<String, serde_json::Value>,
}

const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// The names a table may have: those that are obeyed, and those that will be one day.
struct Names {
    place: &'static str,
    known: &'static [&'static str],
    not_built: &'static [&'static str],
}

const TOP: Names = Names {
    place: "the settings",
    known: &["models"],
    not_built: &[
        "agent",
        "agents",
        "limits",
        "budget",
        "policy",
        "approvals",
        "sandbox",
        "memory",
        "heartbeat",
        "skills",
        "channels",
        "voice",
        "peers",
        "daemon",
        "ui",
        "store",
    ],
};
const MODELS: Names = Names { place: "`[models]`", known: &["use"], not_built: &["fallbacks"] };
const MODEL: Names = Names {
    place: "a model",
    known: &["wire", "baseUrl", "apiKey", "model", "contextWindow", "maxTokens", "parameters"],
    not_built: &["price"],
};

impl Config {
    /// The house's configuration over the user's; without either, the defaults.
    pub(crate) fn load(house: &House) -> Result<Config, Report> {
        let mut config = Config::read(&house.dir.join("kith.toml"))?.unwrap_or_default();
        trust::require(house, &config.models)?;
        if let Some(user_home) = &house.user_home
            && let Some(user) = Config::read(&user_home.join(".kith/config.toml"))?
        {
            config.models.chosen = config.models.chosen.or(user.models.chosen);
            for (name, model) in user.models.named {
                config.models.named.entry(name).or_insert(model);
            }
        }
        Ok(config)
    }

    fn read(path: &Path) -> Result<Option<Config>, Report> {
        let Some(text) = read_bounded(path)? else { return Ok(None) };
        Config::parse(&text).map(Some).map_err(|Mistake { at, message, hint }| {
            let line = 1 + text.get(..at).unwrap_or_default().matches('\n').count();
            let message = format!("`{}` line {line}: {message}", path.display());
            let report = Report::new(Blame::Request, "invalid_request", message).at_line(line);
            match hint {
                Some(hint) => report.hint(hint),
                None => report,
            }
        })
    }

    fn parse(text: &str) -> Result<Config, Mistake> {
        let table = DeTable::parse(text).map_err(Mistake::from)?;
        for (key, value) in table.get_ref() {
            TOP.check(key)?;
            check_models(value)?;
        }
        toml::from_str(text).map_err(Mistake::from)
    }
}

/// What is wrong, and at which byte.
#[derive(Debug, PartialEq, Eq)]
struct Mistake {
    at: usize,
    message: String,
    hint: Option<String>,
}

impl From<toml::de::Error> for Mistake {
    fn from(error: toml::de::Error) -> Mistake {
        let at = error.span().map_or(0, |span| span.start);
        Mistake { at, message: error.message().trim().replace('\n', ", "), hint: None }
    }
}

fn check_models(models: &Spanned<DeValue<'_>>) -> Result<(), Mistake> {
    let DeValue::Table(models) = models.get_ref() else { return Ok(()) };
    for (key, value) in models {
        let DeValue::Table(model) = value.get_ref() else {
            MODELS.check(key)?;
            continue;
        };
        for (key, value) in model {
            MODEL.check(key)?;
            if *key.get_ref() == "apiKey" {
                check_secret(value)?;
            }
        }
    }
    Ok(())
}

impl Names {
    fn check(&self, key: &Spanned<toml::de::DeString<'_>>) -> Result<(), Mistake> {
        let name = key.get_ref().as_ref();
        if self.known.contains(&name) {
            return Ok(());
        }
        let at = key.span().start;
        if self.not_built.contains(&name) {
            let message = format!("`{name}` is not obeyed by this version yet");
            let hint = "put a `#` before it, so that nobody relies on it".to_owned();
            return Err(Mistake { at, message, hint: Some(hint) });
        }
        let name: String = name.chars().take(NAME_CHARS_MAX).collect();
        let message = format!("there is no `{name}` in {}", self.place);
        let all = self.known.iter().chain(self.not_built);
        let hint = match all.map(|known| (distance(&name, known), known)).min() {
            Some((steps, known)) if steps <= TYPOS_MAX => format!("did you mean `{known}`?"),
            _ => format!("there are: {}", self.known.join(", ")),
        };
        Err(Mistake { at, message, hint: Some(hint) })
    }
}

/// Of a name that is repeated in an error.
const NAME_CHARS_MAX: usize = 80;
/// Letters that may differ between a name and the one that was meant.
const TYPOS_MAX: usize = 3;

/// How many letters to add, drop or change, whatever their case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

fn check_secret(value: &Spanned<DeValue<'_>>) -> Result<(), Mistake> {
    let DeValue::String(text) = value.get_ref() else { return Ok(()) };
    if variable_in(text).is_some() {
        return Ok(());
    }
    Err(Mistake {
        at: value.span().start,
        message: "a key must not stand here in plain text".to_owned(),
        hint: Some("write `apiKey = \"${NAME}\"` and set NAME in the environment".to_owned()),
    })
}

fn variable_in(value: &str) -> Option<&str> {
    let name = value.strip_prefix("${")?.strip_suffix('}')?;
    let is_name = name.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_');
    (is_name && !name.is_empty()).then_some(name)
}

/// `"${NAME}"` is the value of the environment variable.
pub(crate) fn secret(value: &str) -> Result<String, Report> {
    let name = variable_in(value).unwrap_or_default();
    let is_set = env::var(name).ok().filter(|value| !value.is_empty());
    is_set.ok_or_else(|| {
        let message = format!("the environment variable `{name}`, named in kith.toml, is not set");
        Report::new(Blame::Request, "invalid_request", message)
            .hint(format!("`export {name}=…`, or use `--model demo`, which needs no key"))
    })
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
