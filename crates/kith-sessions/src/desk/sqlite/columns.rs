//! Values of ours as SQLite's columns hold them.

use std::str::FromStr;

use kith_vocab::ingress::IngressEvent;
use rusqlite::types::Type;
use rusqlite::{Error, Result, Row};
use serde::Serialize;
use serde::de::value::StringDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};

/// An enumeration that is written as one word.
pub(super) fn word<T: Serialize>(value: &T) -> Result<String> {
    let json = serde_json::to_value(value).map_err(|error| not_stored(error.into()))?;
    json.as_str().map(str::to_owned).ok_or_else(|| not_stored("it is not one word".into()))
}

pub(super) fn read_word<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T> {
    let word: String = row.get(column)?;
    let deserializer: StringDeserializer<serde::de::value::Error> = word.into_deserializer();
    T::deserialize(deserializer).map_err(|error| unreadable(column, error))
}

pub(super) fn json(event: &IngressEvent) -> Result<String> {
    serde_json::to_string(event).map_err(|error| not_stored(error.into()))
}

pub(super) fn from_json(row: &Row<'_>, column: usize) -> Result<IngressEvent> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| unreadable(column, error))
}

pub(super) fn parsed<T>(row: &Row<'_>, column: usize) -> Result<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: String = row.get(column)?;
    text.parse().map_err(|error: T::Err| unreadable(column, error))
}

pub(super) fn unreadable(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, error.into())
}

// SQLite counts to 2^63.
pub(super) fn stored(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(|error| not_stored(error.into()))
}

pub(super) fn number(row: &Row<'_>, column: usize) -> Result<u64> {
    let number = row.get(column)?;
    u64::try_from(number).map_err(|_| Error::IntegralValueOutOfRange(column, number))
}

/// A row that does not hold what was written to it.
#[derive(Debug, thiserror::Error)]
#[error("the row of {what} {problem}")]
struct BadRow {
    what: String,
    problem: String,
}

/// Says which row it is that cannot be read.
pub(super) fn in_row(what: impl Into<String>, error: Error) -> Error {
    match row_problem(&error) {
        Some(problem) => bad_row(what, format!("cannot be read: {problem}")),
        None => error,
    }
}

pub(super) fn bad_row(what: impl Into<String>, problem: impl Into<String>) -> Error {
    let (what, problem) = (what.into(), problem.into());
    unreadable(0, BadRow { what, problem })
}

/// What is wrong with a row, if it is that: SQLite has read it and we cannot.
pub(super) fn row_problem(error: &Error) -> Option<String> {
    match error {
        Error::FromSqlConversionFailure(_, _, problem) => Some(problem.to_string()),
        Error::InvalidColumnType(_, name, found) => {
            Some(format!("`{name}` has the unexpected type {found}"))
        }
        Error::IntegralValueOutOfRange(_, number) => Some(format!("{number} is out of range")),
        Error::Utf8Error(..) => Some("a text is not UTF-8".to_owned()),
        _ => None,
    }
}

fn not_stored(error: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::ToSqlConversionFailure(error)
}
