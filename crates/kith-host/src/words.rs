//! Short texts for ids, times, outcomes and damage.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kith_engine::question::left_out_text;
use kith_engine::translation::in_chinese;
use kith_home::time_zone;
use kith_sessions::damage::Damage;
use kith_sessions::read::Tail;
use kith_vocab::event::messages::Outcome;
use kith_vocab::ids::{EventId, LeafId, SessionId};

use crate::error::damage_in_words;

pub fn short(id: SessionId) -> String {
    id.short()
}

pub fn short_event(id: EventId) -> String {
    id.short()
}

pub fn rfc3339(ms: u64) -> String {
    let timestamp = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    format!("{:.3}", timestamp.unwrap_or(Timestamp::MAX))
}

/// The time zone of this machine.
pub fn local_zone() -> TimeZone {
    time_zone::local()
}

/// A time as this machine's clock shows it.
pub fn local_time(ms: u64) -> String {
    let timestamp = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let zoned = timestamp.unwrap_or(Timestamp::MAX).to_zoned(local_zone());
    zoned.strftime("%Y-%m-%d %H:%M").to_string()
}

/// A size in the largest unit of which there is at least one.
pub fn size_in_words(bytes: u64) -> String {
    let units = [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1000)];
    match units.into_iter().find(|(_, size)| bytes >= *size) {
        // Rounded down: what is free must not look like more.
        Some((unit, size)) if bytes < 10 * size => {
            format!("{}.{} {unit}", bytes / size, bytes % size * 10 / size)
        }
        Some((unit, size)) => format!("{} {unit}", bytes / size),
        None => format!("{bytes} bytes"),
    }
}

/// How much of a diff a question does not show, and where the whole is.
pub fn diff_left_out(n_lines: u64, code: &str, language: &str) -> String {
    left_out_text(n_lines, code, language)
}

/// A sentence about a failure in Chinese; `None` if it is not known.
pub fn sentence_in_chinese(sentence: &str) -> Option<String> {
    in_chinese(sentence)
}

/// What came of a call, in a word or two.
pub fn outcome_in_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Failed => "failed",
        Outcome::Refused => "refused",
        Outcome::Cancelled => "cancelled",
        Outcome::Interrupted => "interrupted, outcome unknown",
    }
}

/// Where a conversation continues, in words that follow "continues".
pub fn place_in_words(leaf: LeafId) -> String {
    match leaf.event() {
        None => "at the start".to_owned(),
        Some(id) => format!("after {}", short_event(id)),
    }
}

/// A note on a damaged session.
pub fn damaged_session(id: SessionId, damage: &Damage) -> String {
    format!("session {} {}", short(id), damage_in_words(damage))
}

/// What is wrong with the end of a session, if anything is.
pub fn tail_in_words(tail: &Tail) -> Vec<String> {
    match tail {
        Tail::Clean => Vec::new(),
        Tail::Torn { bytes } => vec![format!(
            "the last write was incomplete; the next message sets its {bytes} bytes aside"
        )],
        Tail::Damaged(damage) => {
            vec![format!("the session {}; everything before it is intact", damage_in_words(damage))]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_in_the_largest_unit_and_rounded_down() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1_999, "1.9 KB"),
            (81_160_000_000, "81 GB"),
            (1_050_000_000, "1.0 GB"),
            (u64::MAX, "18446744 TB"),
        ] {
            assert_eq!(size_in_words(bytes), expected);
        }
    }
}
