//! The forms of single values: texts, numbers, durations, amounts, words, secrets.
//!
//! Each is a type that checks itself as it is read. No value is repeated in an error: what was put
//! into the wrong place may be a secret.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use kith_engine::judge::rules::PolicyRule;
use kith_home::init::is_agent_id;
use kith_providers::endpoint::without_request_path;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::address::ServerAddress;
use super::nearest::nearest;

pub(super) const TEXT_CHARS_MAX: usize = 500;
const NAME_CHARS_MAX: usize = 64;
const MICROS: u32 = 1_000_000;
const USD_MAX: u32 = 1_000_000;
const SECOND_MS: u64 = 1000;
const DAY_MS: u64 = 24 * 60 * 60 * SECOND_MS;
/// Maximum nesting of tables and lists within parameters.
const DEPTH_MAX: usize = 32;
/// How names of secrets end, without case, dashes and underscores.
const SECRET_NAMES: [&str; 5] = ["apikey", "token", "secret", "password", "authorization"];

/// A value in the form that a setting takes.
trait ValueForm: Sized {
    /// What a value must be, in words that follow "must be".
    fn takes() -> String;

    fn from_text(_: &str) -> Option<Self> {
        None
    }

    fn from_integer(_: i64) -> Option<Self> {
        None
    }

    fn from_float(_: f64) -> Option<Self> {
        None
    }

    /// Why a text is refused: what is wrong and, after a line end, what to do.
    fn refusal(_text: &str) -> String {
        format!("must be {}", Self::takes())
    }
}

struct FormVisitor<T>(PhantomData<T>);

impl<T: ValueForm> Visitor<'_> for FormVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&T::takes())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).ok_or_else(|| E::custom(T::refusal(text)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        T::from_integer(number).ok_or_else(|| E::custom(format!("must be {}", T::takes())))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        T::from_float(number).ok_or_else(|| E::custom(format!("must be {}", T::takes())))
    }
}

macro_rules! value_forms {
    ($($form:ident $(<$($param:ident),+>)?),+ $(,)?) => {$(
        impl<'de $($(, const $param: u32)+)?> Deserialize<'de> for $form $(<$($param),+>)? {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(FormVisitor(PhantomData))
            }
        }

        /// For the page of settings: the description says what a value must be.
        impl $(<$(const $param: u32),+>)? JsonSchema for $form $(<$($param),+>)? {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($form).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schemars::json_schema!({ "title": <Self as ValueForm>::takes() })
            }
        }
    )+};
}

value_forms!(
    LineText,
    Count<MIN, MAX>,
    UsdMicros,
    TurnTime,
    ApprovalTime,
    AgentId,
    ModelAlias,
    SecretName,
    ServerUrl,
    CollectorUrl,
    ModelWire,
    PolicyMode,
    UnattendedCalls,
    HostPattern,
    UiLanguage,
);

/// One line that is not blank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineText(pub String);

impl ValueForm for LineText {
    fn takes() -> String {
        format!("one line of text, at most {TEXT_CHARS_MAX} characters")
    }

    fn from_text(text: &str) -> Option<LineText> {
        let is_blank = text.trim().is_empty();
        let is_line = !is_blank && !text.chars().any(char::is_control);
        let fits = text.chars().count() <= TEXT_CHARS_MAX;
        (is_line && fits).then(|| LineText(text.to_owned()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count<const MIN: u32, const MAX: u32>(pub u32);

impl<const MIN: u32, const MAX: u32> ValueForm for Count<MIN, MAX> {
    fn takes() -> String {
        format!("a whole number from {MIN} to {MAX}")
    }

    fn from_integer(number: i64) -> Option<Self> {
        u32::try_from(number).ok().filter(|it| (MIN..=MAX).contains(it)).map(Count)
    }
}

/// An amount of USD, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsdMicros(pub u64);

impl ValueForm for UsdMicros {
    fn takes() -> String {
        format!("an amount of USD from 0 to {USD_MAX}")
    }

    fn from_integer(usd: i64) -> Option<UsdMicros> {
        let usd = u32::try_from(usd).ok().filter(|it| *it <= USD_MAX)?;
        Some(UsdMicros(u64::from(usd) * u64::from(MICROS)))
    }

    fn from_float(usd: f64) -> Option<UsdMicros> {
        if !(0.0..=f64::from(USD_MAX)).contains(&usd) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it lies between zero and the limit"
        )]
        let micros = (usd * f64::from(MICROS)).round() as u64;
        Some(UsdMicros(micros))
    }
}

/// How long a turn may take, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnTime(pub u64);

impl ValueForm for TurnTime {
    fn takes() -> String {
        "a duration from `\"1s\"` to `\"1d\"`, such as `\"90s\"` or `\"1h30m\"`".to_owned()
    }

    fn from_text(text: &str) -> Option<TurnTime> {
        parsed_duration_ms(text).filter(|ms| (SECOND_MS..=DAY_MS).contains(ms)).map(TurnTime)
    }
}

/// How long a question to a person waits, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalTime(pub u64);

impl ValueForm for ApprovalTime {
    fn takes() -> String {
        "a duration from `\"1m\"` to `\"30d\"`, such as `\"2h\"` or `\"1d12h\"`".to_owned()
    }

    fn from_text(text: &str) -> Option<ApprovalTime> {
        let range = 60 * SECOND_MS..=30 * DAY_MS;
        parsed_duration_ms(text).filter(|ms| range.contains(ms)).map(ApprovalTime)
    }
}

/// Milliseconds of `90s` or `1h30m`: units from the largest down, each at most once.
fn parsed_duration_ms(text: &str) -> Option<u64> {
    let units = [("d", DAY_MS), ("h", DAY_MS / 24), ("m", 60 * SECOND_MS), ("s", SECOND_MS)];
    let mut rest = text;
    let mut total = 0_u64;
    for (unit, ms) in units {
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, after) = rest.split_at(n_digits);
        let Some(after) = after.strip_prefix(unit) else { continue };
        total = total.checked_add(digits.parse::<u64>().ok()?.checked_mul(ms)?)?;
        rest = after;
    }
    rest.is_empty().then_some(total)
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentId(pub String);

impl ValueForm for AgentId {
    fn takes() -> String {
        "an agent id: 1 to 64 of `a` to `z`, `0` to `9`, `-` and `_`".to_owned()
    }

    fn from_text(text: &str) -> Option<AgentId> {
        is_agent_id(text).then(|| AgentId(text.to_owned()))
    }

    fn refusal(text: &str) -> String {
        format!("`{}` is not {}", super::shown_name(text), Self::takes())
    }
}

/// The name of a model's table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelAlias(pub String);

impl ValueForm for ModelAlias {
    fn takes() -> String {
        format!("a name of 1 to {NAME_CHARS_MAX} characters without spaces")
    }

    fn from_text(text: &str) -> Option<ModelAlias> {
        let is_plain = |ch: char| !ch.is_control() && !ch.is_whitespace();
        let fits = (1..=NAME_CHARS_MAX).contains(&text.chars().count());
        (fits && text.chars().all(is_plain)).then(|| ModelAlias(text.to_owned()))
    }

    fn refusal(text: &str) -> String {
        format!("`{}` is not {}", super::shown_name(text), Self::takes())
    }
}

/// The environment variable that holds a secret. Only its name is ever kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretName(pub String);

impl ValueForm for SecretName {
    fn takes() -> String {
        "the name of an environment variable, written as `\"${NAME}\"`".to_owned()
    }

    fn from_text(text: &str) -> Option<SecretName> {
        let name = text.strip_prefix("${")?.strip_suffix('}')?;
        let is_plain = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
        let is_name = !name.is_empty() && name.bytes().all(is_plain);
        is_name.then(|| SecretName(name.to_owned()))
    }

    fn refusal(_: &str) -> String {
        "must not be written in plain text\nset an environment variable and write `\"${NAME}\"`"
            .to_owned()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl(pub ServerAddress);

impl ValueForm for ServerUrl {
    fn takes() -> String {
        "an address that begins with `http://` or `https://`".to_owned()
    }

    fn from_text(text: &str) -> Option<ServerUrl> {
        let fits = text.chars().count() <= TEXT_CHARS_MAX;
        let address = ServerAddress::parse(text).filter(|_| fits)?;
        let has_key = address.query_names().any(|name| name == "key" || names_a_secret(name));
        let has_path = without_request_path(text).is_some();
        (!has_key && !has_path).then_some(ServerUrl(address))
    }

    fn refusal(text: &str) -> String {
        let rest = text.split_once("://").map_or("", |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let address = ServerAddress::parse(text);
        if let (Some(_), Some(instead)) = (&address, without_request_path(text)) {
            return format!(
                "must not contain the path of a request\nwrite `baseUrl = \"{instead}\"`"
            );
        }
        if authority.contains('@') || address.is_some() {
            return "must not contain a password or key\nwrite the key as `apiKey = \"${NAME}\"`"
                .to_owned();
        }
        format!("must be {}", Self::takes())
    }
}

/// The address of a collector of spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorUrl(pub ServerAddress);

impl ValueForm for CollectorUrl {
    fn takes() -> String {
        "an address that begins with `http://` or `https://`, without password, key or query"
            .to_owned()
    }

    fn from_text(text: &str) -> Option<CollectorUrl> {
        let fits = text.chars().count() <= TEXT_CHARS_MAX && !text.contains(['?', '#']);
        ServerAddress::parse(text).filter(|_| fits).map(CollectorUrl)
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($variant),+
        }

        impl ValueForm for $name {
            fn takes() -> String {
                let words = [$($word),+].map(|word| format!("`\"{word}\"`"));
                format!("one of {}", words.join(", "))
            }

            fn from_text(text: &str) -> Option<$name> {
                match text {
                    $($word => Some($name::$variant),)+
                    _ => None,
                }
            }

            fn refusal(text: &str) -> String {
                let meant = nearest(text, [$($word),+]);
                let hint = meant.map(|word| format!("\ndid you mean `\"{word}\"`?"));
                format!("must be {}{}", Self::takes(), hint.unwrap_or_default())
            }
        }
    };
}

words!(
    /// How a model is spoken to.
    ModelWire {
        OpenaiChat = "openai_chat",
        Anthropic = "anthropic",
        OpenaiResponses = "openai_responses",
        Demo = "demo",
    }
);
words!(
    /// What calls may do at most.
    PolicyMode { Ask = "ask", Readonly = "readonly", Trusted = "trusted", Deny = "deny" }
);
words!(
    /// What becomes of calls that need an approval while nobody is there.
    UnattendedCalls { Deny = "deny", Ask = "ask" }
);
words!(UiLanguage { Auto = "auto", En = "en", Zh = "zh" });

/// A host that may be reached, or `*.` and a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern(pub String);

impl ValueForm for HostPattern {
    fn takes() -> String {
        "a host such as `\"docs.rs\"` or `\"*.example.org\"`".to_owned()
    }

    fn from_text(text: &str) -> Option<HostPattern> {
        let name = text.strip_prefix("*.").unwrap_or(text);
        let is_plain = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '.' | '-' | ':');
        let fits = (1..=TEXT_CHARS_MAX).contains(&name.len()) && name.chars().all(is_plain);
        fits.then(|| HostPattern(text.to_ascii_lowercase()))
    }
}

/// A rule of the policy, with or without examples that are checked when it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleEntry(pub PolicyRule);

/// What a rule is, in words that follow "must be".
const RULE_FORM: &str = "a rule such as `\"exec_shell(git push *)\"`, or a table with `rule`, \
     `matches` and `not`";

/// Maximum number of examples of one rule.
const RULE_EXAMPLES_MAX: usize = 100;

impl<'de> Deserialize<'de> for RuleEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RuleEntry, D::Error> {
        struct RuleVisitor;

        impl<'de> Visitor<'de> for RuleVisitor {
            type Value = RuleEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(RULE_FORM)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<RuleEntry, E> {
                let wrong = |problem| E::custom(format!("has no rule: {problem}"));
                PolicyRule::parse(text).map(RuleEntry).map_err(wrong)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RuleEntry, A::Error> {
                let table = RuleWithExamples::deserialize(MapAccessDeserializer::new(map))?;
                let RuleEntry(rule) = self.visit_str(&table.rule)?;
                let shown = super::shown_name(&rule.text);
                if table.matches.len() + table.not.len() > RULE_EXAMPLES_MAX {
                    let message = format!("has more than {RULE_EXAMPLES_MAX} examples for a rule");
                    return Err(A::Error::custom(message));
                }
                if let Some(it) = table.matches.iter().find(|it| !rule.matches_example(it)) {
                    let example = super::shown_name(it);
                    let message = format!(
                        "has the rule `{shown}`, which does not match its example `{example}`"
                    );
                    return Err(A::Error::custom(message));
                }
                if let Some(it) = table.not.iter().find(|it| rule.matches_example(it)) {
                    let example = super::shown_name(it);
                    let message = format!(
                        "has the rule `{shown}`, which matches `{example}`, an example of what it must not match"
                    );
                    return Err(A::Error::custom(message));
                }
                Ok(RuleEntry(rule))
            }
        }

        deserializer.deserialize_any(RuleVisitor)
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleWithExamples {
    rule: String,
    #[serde(default)]
    matches: Vec<String>,
    #[serde(default)]
    not: Vec<String>,
}

impl JsonSchema for RuleEntry {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RuleEntry".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "title": RULE_FORM })
    }
}

/// What enters a request as it is. It is also written into the log, so it holds no secrets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestParameters(pub Map<String, Value>);

impl<'de> Deserialize<'de> for RequestParameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = toml::Table::deserialize(deserializer)?;
        if let Some(key) = secret_in(&table) {
            return Err(D::Error::custom(format!(
                "must not contain `{}`: parameters are written into the log\nwrite the key as \
                 `apiKey = \"${{NAME}}\"` of the model",
                super::shown_name(key)
            )));
        }
        let parameters = table.into_iter().map(|(key, value)| Some((key, json(value, DEPTH_MAX)?)));
        let parameters = parameters.collect::<Option<Map<String, Value>>>().ok_or_else(|| {
            D::Error::custom(
                "contains a value that JSON cannot represent (a date, NaN or infinity) or is \
                 nested too deeply",
            )
        })?;
        Ok(RequestParameters(parameters))
    }
}

impl JsonSchema for RequestParameters {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RequestParameters".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "title": "a table" })
    }
}

pub fn names_a_secret(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    let letters = letters.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|it| letters.ends_with(it))
}

/// A key that is named like a secret and holds text, at any depth.
fn secret_in(table: &toml::Table) -> Option<&str> {
    table.iter().find_map(|(key, value)| {
        let is_secret = names_a_secret(key) && holds_text(value);
        if is_secret { Some(key.as_str()) } else { secret_within(value) }
    })
}

fn secret_within(value: &toml::Value) -> Option<&str> {
    match value {
        toml::Value::Table(table) => secret_in(table),
        toml::Value::Array(items) => items.iter().find_map(secret_within),
        _ => None,
    }
}

fn holds_text(value: &toml::Value) -> bool {
    match value {
        toml::Value::String(_) => true,
        toml::Value::Array(items) => items.iter().any(holds_text),
        toml::Value::Table(table) => table.values().any(holds_text),
        _ => false,
    }
}

fn json(value: toml::Value, depth_max: usize) -> Option<Value> {
    let deeper = depth_max.checked_sub(1)?;
    Some(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => serde_json::Number::from_f64(number)?.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(_) => return None,
        toml::Value::Array(items) => {
            let items = items.into_iter().map(|item| json(item, deeper));
            Value::Array(items.collect::<Option<_>>()?)
        }
        toml::Value::Table(table) => {
            let pairs = table.into_iter().map(|(key, value)| Some((key, json(value, deeper)?)));
            Value::Object(pairs.collect::<Option<_>>()?)
        }
    })
}

#[cfg(test)]
mod tests;
