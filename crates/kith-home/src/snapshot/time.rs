//! The `time` section: when the session began.
//!
//! It goes stale and stays: what the date has become reaches the model as a reminder, so that the
//! start of a request never changes.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use serde::{Deserialize, Serialize};

use crate::error::HomeError;
use crate::time_zone;
use crate::user::known_zone;

const FALLBACK_ZONE: &str = "UTC";

pub(crate) struct Moment {
    start: Zoned,
    zone: String,
    pub(super) unknown_zone: Option<String>,
}

/// The content of the section for programs: its `data`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TimeFacts {
    pub(crate) date: Date,
    pub(crate) time_zone: String,
}

pub(crate) fn moment(now_ms: u64, zone: &str) -> Result<Moment, HomeError> {
    let time_error = || HomeError::Time { now_ms };
    let millis = i64::try_from(now_ms).map_err(|_| time_error())?;
    let start = Timestamp::from_millisecond(millis).map_err(|_| time_error())?;
    let known = known_zone(zone)
        .and_then(|name| time_zone::named(&name).map(|time_zone| (name, time_zone)));
    let unknown_zone = known.is_none().then(|| zone.to_owned());
    let (zone, time_zone) = known.unwrap_or_else(|| (FALLBACK_ZONE.to_owned(), TimeZone::UTC));
    Ok(Moment { start: start.to_zoned(time_zone), zone, unknown_zone })
}

pub(super) fn block(moment: &Moment) -> String {
    let Moment { start, zone, .. } = moment;
    format!(
        "# Time\n\nSession start: {}\nTime zone: {zone}\nDate: {}",
        start.strftime("%Y-%m-%dT%H:%M:%S%:z"),
        moment.date_in_words()
    )
}

impl Moment {
    pub(crate) fn facts(&self) -> TimeFacts {
        TimeFacts { date: self.today(), time_zone: self.zone.clone() }
    }

    pub(crate) fn date_in_words(&self) -> String {
        self.start.strftime("%A, %-d %B %Y").to_string()
    }

    pub(crate) fn today(&self) -> Date {
        self.start.date()
    }

    /// The first day there is has none.
    pub(super) fn yesterday(&self) -> Option<Date> {
        self.today().yesterday().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_is_that_of_the_zone() {
        check(
            1_794_779_999_000,
            "Europe/Berlin",
            "2026-11-15T22:59:59+01:00 | Europe/Berlin | Sunday, 15 November 2026",
        );
        check(
            1_794_779_999_000,
            "Asia/Shanghai",
            "2026-11-16T05:59:59+08:00 | Asia/Shanghai | Monday, 16 November 2026",
        );
        check(0, "UTC", "1970-01-01T00:00:00+00:00 | UTC | Thursday, 1 January 1970");
    }

    #[test]
    fn an_unknown_zone_is_utc_and_is_told() {
        check(0, "Middle/Earth", "1970-01-01T00:00:00+00:00 | UTC | Thursday, 1 January 1970");
        assert_eq!(
            moment(0, "Middle/Earth").unwrap().unknown_zone.as_deref(),
            Some("Middle/Earth")
        );
        assert_eq!(moment(0, "asia/tokyo").unwrap().unknown_zone, None);
    }

    #[test]
    fn a_broken_clock_is_an_error() {
        assert!(moment(u64::MAX, "UTC").is_err());
        assert!(moment(i64::MAX.cast_unsigned(), "UTC").is_err());
    }

    #[track_caller]
    fn check(now_ms: u64, zone: &str, expected: &str) {
        let block = block(&moment(now_ms, zone).unwrap());
        let values: Vec<&str> =
            block.lines().filter_map(|line| Some(line.split_once(": ")?.1)).collect();
        assert_eq!(values.join(" | "), expected);
    }
}
