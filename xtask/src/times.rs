//! What was run and how long each took, as a table.

use std::fmt;
use std::time::{Duration, Instant};

/// The heading of the first column, and the rows.
pub(crate) struct Times {
    heading: &'static str,
    rows: Vec<(String, Duration)>,
}

impl Times {
    pub(crate) fn new(heading: &'static str) -> Times {
        Times { heading, rows: Vec::new() }
    }

    /// Does the work and notes how long it took.
    pub(crate) fn measure<T>(&mut self, name: &str, work: impl FnOnce() -> T) -> (T, Duration) {
        let began = Instant::now();
        let result = work();
        let took = began.elapsed();
        self.rows.push((name.to_owned(), took));
        (result, took)
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.rows.iter().map(|(name, _)| name.as_str());
        let width = names.chain([self.heading, "total"]).map(str::len).max().unwrap_or(0);
        writeln!(f, "{:<width$}{:>10}", self.heading, "seconds")?;
        for (name, took) in &self.rows {
            writeln!(f, "{name:<width$}{:>10.1}", took.as_secs_f64())?;
        }
        let total: Duration = self.rows.iter().map(|(_, took)| *took).sum();
        write!(f, "{:<width$}{:>10.1}", "total", total.as_secs_f64())
    }
}

#[cfg(test)]
mod tests;
