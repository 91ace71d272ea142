//! Logins that were ended before their time.
//!
//! A cookie is only a signed date, so who logged out must be remembered until that date. The list is
//! kept in a file: otherwise the next host would let the cookie in again.

use std::collections::BTreeSet;

/// Ended logins that are remembered one by one.
const LOGOUTS_MAX: usize = 1_000;

/// A login is named by the time at which it expires; no two have the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Logouts {
    /// All that expire by then have ended.
    floor: u64,
    ended: BTreeSet<u64>,
}

impl Logouts {
    /// Reads what [`Logouts::text`] wrote. What is no number is passed over: the file is ours, and a
    /// broken one must not lock the owner out.
    pub(super) fn parse(text: &str) -> Logouts {
        let mut numbers = text.lines().filter_map(|line| line.trim().parse().ok());
        Logouts { floor: numbers.next().unwrap_or_default(), ended: numbers.collect() }
    }

    pub(super) fn text(&self) -> String {
        let numbers = std::iter::once(&self.floor).chain(&self.ended);
        let lines: Vec<String> = numbers.map(u64::to_string).collect();
        lines.join("\n") + "\n"
    }

    pub(super) fn has(&self, login: u64) -> bool {
        login <= self.floor || self.ended.contains(&login)
    }

    /// Ends a login. Those that have expired by now are forgotten.
    pub(super) fn end(&mut self, login: u64, now: u64) {
        self.ended.retain(|it| *it > now);
        self.ended.insert(login);
        while self.ended.len() > LOGOUTS_MAX {
            // Some that did not log out have to log in again; none that did comes back.
            self.floor = self.ended.pop_first().unwrap_or(self.floor).max(self.floor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_login_stays_ended_however_many_follow() {
        let mut logouts = Logouts::default();
        for login in 1..=2 * LOGOUTS_MAX as u64 {
            logouts.end(login * 10, 0);
            assert!(logouts.has(10) && logouts.has(login * 10));
            assert!(!logouts.has(login * 10 + 5));
        }
        let again = Logouts::parse(&logouts.text());
        assert_eq!(again, logouts);
        assert!(logouts.text().lines().count() <= LOGOUTS_MAX + 1);
        logouts.end(99_999, 99_998);
        assert_eq!(logouts.ended.len(), 1);
        assert_eq!(Logouts::parse("x\n\n"), Logouts::default());
    }
}
