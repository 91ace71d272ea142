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
    T::deserialize(deserializer)
        .map_err(|error| Error::FromSqlConversionFailure(column, Type::Text, error.into()))
}

pub(super) fn json(event: &IngressEvent) -> Result<String> {
    serde_json::to_string(event).map_err(|error| not_stored(error.into()))
}

pub(super) fn from_json(row: &Row<'_>, column: usize) -> Result<IngressEvent> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text)
        .map_err(|error| Error::FromSqlConversionFailure(column, Type::Text, error.into()))
}

pub(super) fn parsed<T>(row: &Row<'_>, column: usize) -> Result<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: String = row.get(column)?;
    text.parse()
        .map_err(|error: T::Err| Error::FromSqlConversionFailure(column, Type::Text, error.into()))
}

// SQLite counts to 2^63.
pub(super) fn stored(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(|error| not_stored(error.into()))
}

pub(super) fn number(row: &Row<'_>, column: usize) -> Result<u64> {
    let number = row.get(column)?;
    u64::try_from(number).map_err(|_| Error::IntegralValueOutOfRange(column, number))
}

fn not_stored(error: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::ToSqlConversionFailure(error)
}
