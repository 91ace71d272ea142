//! What a setting takes: checked where it stands, and kept in the form it is used in.
//!
//! A value is never repeated in a complaint: what stands in the wrong place may be a secret.

use kith_home::init::is_agent_id;
use kith_vocab::ids::ThreadId;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::form;
use super::nearest::nearest;
use super::schema::Table;
use super::secret::variable_in;

#[derive(Debug)]
pub(super) enum Kind {
    /// One line that is not blank.
    Text,
    Flag,
    /// A whole number, at least and at most.
    Count(u64, u64),
    /// An amount of USD, at most; kept in micro-USD.
    Usd(u64),
    /// A duration in milliseconds, at least and at most.
    Span(u64, u64),
    Word(&'static [&'static str]),
    /// The name of an environment variable, and only that.
    Secret,
    /// An address with one of these schemes, without a password.
    Url(&'static [&'static str]),
    /// The address of a database, which may be a secret as a whole.
    Database,
    Host,
    /// `host:port`.
    Address,
    Aid,
    Path,
    /// A folder beneath the house.
    Folder,
    AgentId,
    Thread,
    /// A person on a platform: a number or a text.
    Id,
    /// The name of an environment variable, as it is.
    Variable,
    /// A table of whatever there is in JSON.
    Free,
    List(&'static Kind),
    Table(&'static Table),
}

/// How names of secrets end, without case and dashes.
const SECRET_NAMES: [&str; 5] = ["apikey", "token", "secret", "password", "authorization"];

/// Why a value is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) at: usize,
    /// In words that follow the name of the setting.
    pub(super) what: String,
    pub(super) hint: Option<String>,
}

pub(super) const TEXT_CHARS_MAX: usize = 500;
const LIST_ITEMS_MAX: usize = 1000;
const NAME_CHARS_MAX: usize = 64;
/// Of a table of anything.
const DEPTH_MAX: usize = 32;

/// A name of the owner's choice.
pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |ch: char| !ch.is_control() && !ch.is_whitespace();
    (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && name.chars().all(is_plain)
}

impl Kind {
    /// What a value must be, in words that follow "must be".
    pub(super) fn must_be(&self) -> String {
        match self {
            Kind::Text => format!("a text of one line, 1 to {TEXT_CHARS_MAX} characters"),
            Kind::Flag => "`true` or `false`".to_owned(),
            Kind::Count(min, max) => format!("a whole number from {min} to {max}"),
            Kind::Usd(max) => format!("an amount of USD from 0 to {max}"),
            Kind::Span(min, max) => format!(
                "a duration from `\"{}\"` to `\"{}\"`, such as `\"90s\"` or `\"1h30m\"`",
                form::span_in_words(*min),
                form::span_in_words(*max)
            ),
            Kind::Word(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
                format!("one of {}", words.join(", "))
            }
            Kind::Secret => "the name of an environment variable, `\"${NAME}\"`".to_owned(),
            Kind::Url(schemes) => {
                format!("an address that begins with `{}://`", schemes.join("://` or `"))
            }
            Kind::Database => {
                "an address such as `postgres://host/name`, or `\"${NAME}\"`".to_owned()
            }
            Kind::Host => "the name of a host, such as `example.org` or `*.example.org`".to_owned(),
            Kind::Address => "a host and a port, such as `127.0.0.1:4747`".to_owned(),
            Kind::Aid => "a name of at least two labels in lower case, such as `luna.aid.pub`, \
                          or `localhost:port`"
                .to_owned(),
            Kind::Path => "a path".to_owned(),
            Kind::Folder => "a path beneath the house".to_owned(),
            Kind::AgentId => {
                "an agent id: 1 to 64 of `a` to `z`, `0` to `9`, `-` and `_`".to_owned()
            }
            Kind::Thread => "a thread, `platform:scopeType:scopeId`".to_owned(),
            Kind::Id => "a person's id, a text or a number".to_owned(),
            Kind::Variable => "the name of an environment variable".to_owned(),
            Kind::List(kind) => format!("a list, each {}", kind.must_be()),
            Kind::Free | Kind::Table(_) => "a table".to_owned(),
        }
    }

    /// The value in the form it is used in.
    pub(super) fn take(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Value, Refusal> {
        let at = value.span().start;
        match (self, value.get_ref()) {
            (Kind::List(kind), DeValue::Array(items)) => {
                if items.len() > LIST_ITEMS_MAX {
                    let what = format!("has more than {LIST_ITEMS_MAX} items");
                    return Err(Refusal { at, what, hint: None });
                }
                let items = items.iter().map(|item| kind.take(name, item));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }
            (Kind::Free, DeValue::Table(table)) => {
                if let Some((key, at)) = secret_in(table, DEPTH_MAX) {
                    let what =
                        format!("must not hold `{key}`: it would be in every request and log");
                    let hint = "a key belongs into `apiKey = \"${NAME}\"` of the model".to_owned();
                    return Err(Refusal { at, what, hint: Some(hint) });
                }
                form::json(value.get_ref(), DEPTH_MAX).ok_or_else(|| {
                    let what = "holds a date, a number that is none, or too many tables in tables";
                    Refusal { at, what: what.to_owned(), hint: None }
                })
            }
            (Kind::Secret | Kind::Database, DeValue::String(text)) => self.secret(name, text, at),
            (Kind::Url(_), DeValue::String(text)) if form::has_password(text) => {
                let what = "must not hold a password".to_owned();
                let hint = "leave out what stands before the `@`; keys have a setting of their own";
                Err(Refusal { at, what, hint: Some(hint.to_owned()) })
            }
            (_, found) => self.plain(found).ok_or_else(|| {
                let is_form = self.is_written_as(found);
                let other = if is_form { "" } else { &format!(", not {}", type_of(found)) };
                let hint = match (self, found) {
                    (Kind::Word(words), DeValue::String(text)) => {
                        let meant = nearest(text, words.iter().copied());
                        meant.map(|word| format!("did you mean `\"{word}\"`?"))
                    }
                    _ => None,
                };
                Refusal { at, what: format!("must be {}{other}", self.must_be()), hint }
            }),
        }
    }

    /// Whether a value has the right type, if not the right form.
    fn is_written_as(&self, found: &DeValue<'_>) -> bool {
        match self {
            Kind::Flag => matches!(found, DeValue::Boolean(_)),
            Kind::Count(..) => matches!(found, DeValue::Integer(_)),
            Kind::Usd(_) => matches!(found, DeValue::Integer(_) | DeValue::Float(_)),
            Kind::Id => matches!(found, DeValue::Integer(_) | DeValue::String(_)),
            Kind::List(_) => matches!(found, DeValue::Array(_)),
            Kind::Free | Kind::Table(_) => matches!(found, DeValue::Table(_)),
            _ => matches!(found, DeValue::String(_)),
        }
    }

    fn secret(&self, name: &str, text: &str, at: usize) -> Result<Value, Refusal> {
        if variable_in(text).is_some() {
            return Ok(text.into());
        }
        let is_address = || form::is_url(text, &["postgres", "postgresql"]);
        match self {
            Kind::Database if !form::has_password(text) && is_address() => Ok(text.into()),
            Kind::Database if !form::has_password(text) => {
                Err(Refusal { at, what: format!("must be {}", self.must_be()), hint: None })
            }
            _ => Err(plain_secret(name, at)),
        }
    }

    fn plain(&self, found: &DeValue<'_>) -> Option<Value> {
        match (self, found) {
            (Kind::Flag, DeValue::Boolean(flag)) => Some((*flag).into()),
            (Kind::Count(min, max), DeValue::Integer(number)) => {
                let number = form::whole(number).and_then(|it| u64::try_from(it).ok())?;
                (*min..=*max).contains(&number).then(|| number.into())
            }
            (Kind::Usd(max), DeValue::Integer(number)) => {
                let number = form::whole(number).and_then(|it| u64::try_from(it).ok())?;
                (number <= *max).then(|| (number * form::MICROS).into())
            }
            (Kind::Usd(max), DeValue::Float(number)) => {
                form::micros(number.as_str(), *max).map(Value::from)
            }
            (Kind::Id, DeValue::Integer(number)) => {
                form::whole(number).map(|number| number.to_string().into())
            }
            (kind, DeValue::String(text)) => kind.text(text),
            _ => None,
        }
    }

    fn text(&self, text: &str) -> Option<Value> {
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            return None;
        }
        let fits = text.chars().count() <= TEXT_CHARS_MAX;
        let is_right = match self {
            Kind::Text | Kind::Id | Kind::Path | Kind::Folder => fits,
            Kind::Span(min, max) => {
                let ms = form::span(text).filter(|ms| (*min..=*max).contains(ms))?;
                return Some(ms.into());
            }
            Kind::Word(words) => words.contains(&text),
            Kind::Url(schemes) => fits && form::is_url(text, schemes),
            Kind::Host => form::is_host(text),
            Kind::Address => form::is_address(text),
            Kind::Aid => form::is_aid(text),
            Kind::AgentId => is_agent_id(text),
            Kind::Thread => text.parse::<ThreadId>().is_ok(),
            Kind::Variable => form::is_variable(text),
            _ => false,
        };
        is_right.then(|| text.into())
    }
}

/// A text among free settings that is named like a secret, and where it stands.
fn secret_in(table: &DeTable<'_>, depth: usize) -> Option<(String, usize)> {
    table.iter().find_map(|(key, value)| match value.get_ref() {
        DeValue::Table(inner) if depth > 0 => secret_in(inner, depth - 1),
        DeValue::String(_) => {
            let letters = key.get_ref().chars().filter(char::is_ascii_alphanumeric);
            let name = letters.collect::<String>().to_ascii_lowercase();
            let is_secret = SECRET_NAMES.iter().any(|it| name.ends_with(it));
            is_secret.then(|| (key.get_ref().to_string(), value.span().start))
        }
        _ => None,
    })
}

fn plain_secret(name: &str, at: usize) -> Refusal {
    Refusal {
        at,
        what: "is secret and must not stand here in plain text".to_owned(),
        hint: Some(format!("write `{name} = \"${{NAME}}\"` and set NAME in the environment")),
    }
}

pub(super) fn type_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "`true` or `false`",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
