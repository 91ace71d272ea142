//! One row of the table: a value, what it is measured against, and whether that is good enough.

use std::time::Duration;

pub(crate) struct Figure {
    name: String,
    value: String,
    reference: String,
    ratio: Option<f64>,
    goal: String,
    met: Option<bool>,
}

impl Figure {
    pub(crate) fn new(name: impl Into<String>, value: impl Into<String>) -> Figure {
        Figure {
            name: name.into(),
            value: value.into(),
            reference: "-".to_owned(),
            ratio: None,
            goal: "-".to_owned(),
            met: None,
        }
    }

    pub(crate) fn not_built(name: &str, goal: &str) -> Figure {
        Figure { goal: goal.to_owned(), ..Figure::new(name, "not built yet") }
    }

    /// Set against something measured beside it.
    #[must_use]
    pub(crate) fn against(self, reference: impl Into<String>, ratio: f64) -> Figure {
        Figure { reference: reference.into(), ratio: Some(ratio), ..self }
    }

    #[must_use]
    pub(crate) fn goal(self, goal: &str, met: bool) -> Figure {
        Figure { goal: goal.to_owned(), met: Some(met), ..self }
    }

    pub(crate) fn cells(self) -> [String; 6] {
        let ratio = self.ratio.map_or_else(|| "-".to_owned(), |it| format!("{it:.2}"));
        let met = match self.met {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "-",
        };
        [self.name, self.value, self.reference, ratio, self.goal, met.to_owned()]
    }
}

pub(crate) fn median<T: Copy + PartialOrd>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).expect("a measurement is a number"));
    values[values.len() / 2]
}

pub(crate) fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

pub(crate) fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64().max(1e-9)
}

#[expect(clippy::cast_precision_loss, reason = "counts here are small")]
pub(crate) fn per_second(n: u64, time: Duration) -> f64 {
    n as f64 / time.as_secs_f64()
}

#[expect(clippy::cast_precision_loss, reason = "a rounded number of megabytes")]
pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
