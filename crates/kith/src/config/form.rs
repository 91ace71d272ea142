//! The forms that values are written in: durations, amounts, addresses, names.

use std::net::IpAddr;

use serde_json::{Map, Number, Value};
use toml::de::{DeInteger, DeValue};

/// Micro-USD in one USD.
pub(super) const MICROS: u64 = 1_000_000;
const HOST_CHARS_MAX: usize = 253;
const LABEL_CHARS_MAX: usize = 63;

const UNITS: [(&str, u64); 4] =
    [("d", 24 * 60 * 60 * 1000), ("h", 60 * 60 * 1000), ("m", 60 * 1000), ("s", 1000)];

/// Milliseconds of `90s` or `1h30m`: units from the largest down, each once.
pub(super) fn span(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total = 0_u64;
    for (unit, ms) in UNITS {
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, after) = rest.split_at(n_digits);
        let Some(after) = after.strip_prefix(unit) else { continue };
        total = total.checked_add(digits.parse::<u64>().ok()?.checked_mul(ms)?)?;
        rest = after;
    }
    rest.is_empty().then_some(total)
}

pub(super) fn span_in_words(ms: u64) -> String {
    let whole = |&&(_, unit): &&(&str, u64)| ms.is_multiple_of(unit);
    let (name, unit) = UNITS.iter().find(whole).copied().unwrap_or(("ms", 1));
    format!("{}{name}", ms / unit)
}

pub(super) fn whole(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// Micro-USD of an amount with a point, if it is not below zero and not above `max` USD.
pub(super) fn micros(usd: &str, max: u64) -> Option<u64> {
    let usd: f64 = usd.parse().ok()?;
    #[expect(clippy::cast_precision_loss, reason = "a limit, not an amount")]
    if !(0.0..=max as f64).contains(&usd) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "it lies between zero and the limit"
    )]
    let micros = (usd * MICROS as f64).round() as u64;
    Some(micros)
}

/// As JSON, if JSON has it.
pub(super) fn json(value: &DeValue<'_>, depth_max: usize) -> Option<Value> {
    let deeper = depth_max.checked_sub(1)?;
    Some(match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(number) => whole(number)?.into(),
        DeValue::Float(number) => Number::from_f64(number.as_str().parse().ok()?)?.into(),
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Datetime(_) => return None,
        DeValue::Array(items) => {
            let items = items.iter().map(|item| json(item.get_ref(), deeper));
            Value::Array(items.collect::<Option<_>>()?)
        }
        DeValue::Table(table) => {
            let pairs = table.iter().map(|(key, value)| {
                Some((key.get_ref().clone().into_owned(), json(value.get_ref(), deeper)?))
            });
            Value::Object(pairs.collect::<Option<Map<_, _>>>()?)
        }
    })
}

pub(super) fn is_url(text: &str, schemes: &[&str]) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_plain = !text.chars().any(|ch| ch.is_whitespace() || ch.is_control());
    let is_place = is_address(authority) || is_host_alone(authority);
    is_plain && schemes.contains(&scheme) && is_place
}

/// Whether something stands before the host that may be a password.
pub(super) fn has_password(text: &str) -> bool {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

/// A host, or all hosts beneath one.
pub(super) fn is_host(text: &str) -> bool {
    let name = text.strip_prefix("*.").unwrap_or(text);
    is_host_alone(name)
}

pub(super) fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_port = port.bytes().all(|it| it.is_ascii_digit()) && port.parse::<u16>().is_ok();
    is_port && is_host_alone(host)
}

fn is_host_alone(host: &str) -> bool {
    let in_brackets = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    match in_brackets {
        Some(address) => address.parse::<IpAddr>().is_ok_and(|it| it.is_ipv6()),
        None => has_labels(host, |it| it.is_ascii_alphanumeric() || it == b'-' || it == b'_'),
    }
}

/// `luna.aid.pub`, or a local name with a port.
pub(super) fn is_aid(text: &str) -> bool {
    let is_local = |host: &str| host == "localhost" || host == "127.0.0.1";
    if text.split_once(':').is_some_and(|(host, _)| is_local(host)) {
        return is_address(text);
    }
    let is_lower = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
    text.contains('.') && has_labels(text, is_lower) && text.parse::<IpAddr>().is_err()
}

fn has_labels(host: &str, may_stand: impl Fn(u8) -> bool) -> bool {
    let is_label = |label: &str| {
        let is_long = label.len() > LABEL_CHARS_MAX;
        let has_edge = label.starts_with('-') || label.ends_with('-');
        !label.is_empty() && !is_long && !has_edge && label.bytes().all(&may_stand)
    };
    host.len() <= HOST_CHARS_MAX && host.split('.').all(is_label)
}

pub(super) fn is_variable(name: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    !name.is_empty() && name.bytes().all(is_plain)
}

#[cfg(test)]
mod tests;
