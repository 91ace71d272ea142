//! One line of a log: `key=value` pairs.

use std::fmt::{self, Display, Write};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// A longer value is cut.
const VALUE_CHARS_MAX: usize = 120;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LogLevel {
    Info,
    Warn,
    Error,
}

impl LogLevel {
    fn word(self) -> &'static str {
        match self {
            LogLevel::Info => "info",
            LogLevel::Warn => "warn",
            LogLevel::Error => "error",
        }
    }
}

/// Invariant: values have letters, digits and a few marks only, so a line is one line and splits at
/// spaces.
#[derive(Clone, Debug)]
pub(super) struct LogLine {
    pub(super) level: LogLevel,
    text: String,
}

impl LogLine {
    /// `time` is in milliseconds since 1970.
    pub(super) fn new(time: u64, level: LogLevel, event: &str) -> LogLine {
        let time = Timestamp::from_millisecond(i64::try_from(time).unwrap_or_default());
        let mut line = LogLine { level, text: String::with_capacity(160) };
        line.push("time", format_args!("{:.3}", time.unwrap_or_default()));
        line.push("level", level.word());
        line.push("event", event);
        line
    }

    #[must_use]
    pub(super) fn with(mut self, key: &str, value: impl Display) -> LogLine {
        self.push(key, value);
        self
    }

    #[must_use]
    pub(super) fn with_some(self, key: &str, value: Option<impl Display>) -> LogLine {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    fn push(&mut self, key: &str, value: impl Display) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(key);
        self.text.push('=');
        let mut plain = PlainText { text: &mut self.text, n_left: VALUE_CHARS_MAX };
        // Writing to a string does not fail.
        write!(plain, "{value}").ok();
    }

    /// The line with its end.
    pub(super) fn as_bytes(&self) -> Vec<u8> {
        let mut bytes = self.text.clone().into_bytes();
        bytes.push(b'\n');
        bytes
    }
}

/// Writes what a value may hold, and `_` for everything else.
struct PlainText<'a> {
    text: &'a mut String,
    n_left: usize,
}

impl Write for PlainText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for ch in text.chars().take(self.n_left) {
            let is_plain = ch.is_ascii_alphanumeric() || "._:/@+-".contains(ch);
            self.text.push(if is_plain { ch } else { '_' });
            self.n_left -= 1;
        }
        Ok(())
    }
}

/// The word by which an enumeration of ours is written in the log.
pub(super) fn word(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => super::record::OTHER.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use kith_vocab::event::control::EndReason;

    use super::*;

    #[test]
    fn a_value_stays_one_word_of_one_line() {
        let line = LogLine::new(1_794_744_000_123, LogLevel::Warn, "model_failed")
            .with("model", "a b\n=c\"\u{202e}模")
            .with_some("ms", None::<u64>)
            .with_some("bytes", Some(3))
            .with("long", "x".repeat(1_000));
        let text = String::from_utf8(line.as_bytes()).unwrap();
        let beginning = "time=2026-11-15T12:00:00.123Z level=warn event=model_failed \
                         model=a_b__c___ bytes=3 long=xxx";
        assert!(text.starts_with(beginning), "{text}");
        assert_eq!(text.len(), beginning.len() - 3 + VALUE_CHARS_MAX + 1);
        assert!(text.ends_with("x\n"));
        assert_eq!(word(EndReason::Bound), "bound");
    }
}
