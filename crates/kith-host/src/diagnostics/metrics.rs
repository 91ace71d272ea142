//! Counts of what happened, in the text format of Prometheus.
//!
//! The format is a dozen lines to write, and the names and labels are a fixed table, so no library is
//! used. Label values are words of our own or names that the owner chose, at most so many of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::record::OTHER;

/// Different models that are counted by name.
const MODEL_NAMES_MAX: usize = 50;
/// Length of a label value.
const LABEL_CHARS_MAX: usize = 100;

/// Upper bounds of the buckets of durations, in milliseconds, and as they are written, in seconds.
const BUCKETS: [(u64, &str); 11] = [
    (10, "0.01"),
    (50, "0.05"),
    (100, "0.1"),
    (500, "0.5"),
    (1_000, "1"),
    (2_500, "2.5"),
    (5_000, "5"),
    (10_000, "10"),
    (30_000, "30"),
    (60_000, "60"),
    (300_000, "300"),
];

/// Everything that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MetricName {
    BuildInfo,
    TurnsStarted,
    TurnsEnded,
    TurnSeconds,
    ModelRequests,
    ModelRequestSeconds,
    ModelTokens,
    ToolCalls,
    ToolCallSeconds,
    Approvals,
    Compactions,
    Messages,
    SessionFailures,
    LogAppends,
    LogEvents,
    SessionsOpen,
    TurnsRunning,
    Clients,
    ClientsRefused,
    RowsWaiting,
    HttpRefused,
    RecordsDropped,
    LogWritesFailed,
    Spans,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

use MetricKind::{Counter, Gauge, Histogram};

/// Names and meanings, in the order in which they are told.
const METRICS: [(MetricName, &str, MetricKind, &str); 24] = [
    (MetricName::BuildInfo, "kith_build_info", Gauge, "Version of the running program."),
    (MetricName::TurnsStarted, "kith_turns_started_total", Counter, "Turns that began."),
    (MetricName::TurnsEnded, "kith_turns_ended_total", Counter, "Turns that ended, by how."),
    (MetricName::TurnSeconds, "kith_turn_seconds", Histogram, "Duration of turns."),
    (MetricName::ModelRequests, "kith_model_requests_total", Counter, "Requests to models."),
    (
        MetricName::ModelRequestSeconds,
        "kith_model_request_seconds",
        Histogram,
        "Duration of requests to models.",
    ),
    (MetricName::ModelTokens, "kith_model_tokens_total", Counter, "Tokens that models used."),
    (MetricName::ToolCalls, "kith_tool_calls_total", Counter, "Calls of tools that ended."),
    (MetricName::ToolCallSeconds, "kith_tool_call_seconds", Histogram, "Duration of calls."),
    (MetricName::Approvals, "kith_approvals_total", Counter, "Decisions about calls."),
    (MetricName::Compactions, "kith_compactions_total", Counter, "Conversations summarised."),
    (MetricName::Messages, "kith_messages_total", Counter, "Messages accepted."),
    (MetricName::SessionFailures, "kith_session_failures_total", Counter, "Sessions stopped."),
    (MetricName::LogAppends, "kith_log_appends_total", Counter, "Batches synced to logs."),
    (MetricName::LogEvents, "kith_log_events_total", Counter, "Events synced to logs."),
    (
        MetricName::SessionsOpen,
        "kith_sessions_open",
        Gauge,
        "Sessions in memory, with or without a turn.",
    ),
    (MetricName::TurnsRunning, "kith_sessions_running", Gauge, "Sessions that are worked on."),
    (MetricName::Clients, "kith_clients", Gauge, "Attached clients."),
    (MetricName::ClientsRefused, "kith_clients_refused_total", Counter, "Clients refused."),
    (MetricName::RowsWaiting, "kith_inbox_rows_waiting", Gauge, "Messages not answered yet."),
    (MetricName::HttpRefused, "kith_http_refused_total", Counter, "HTTP requests refused."),
    (
        MetricName::RecordsDropped,
        "kith_diagnostics_dropped_total",
        Counter,
        "Records lost because too many waited.",
    ),
    (
        MetricName::LogWritesFailed,
        "kith_diagnostics_write_failures_total",
        Counter,
        "Writes of diagnostic logs that failed.",
    ),
    (MetricName::Spans, "kith_telemetry_spans_total", Counter, "Spans, by what became of them."),
];

/// A label and its value.
pub(super) type Label<'a> = (&'static str, &'a str);

/// All counts of a host.
#[derive(Debug, Default)]
pub(crate) struct HouseMetrics {
    counts: Mutex<MetricCounts>,
}

#[derive(Debug, Default)]
struct MetricCounts {
    /// By metric and its labels as they are written.
    values: BTreeMap<(MetricName, String), u64>,
    durations: BTreeMap<(MetricName, String), DurationHistogram>,
    models: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct DurationHistogram {
    /// How many fell into each bucket, without those below it.
    counts: [u64; BUCKETS.len()],
    n: u64,
    sum_ms: u64,
}

impl HouseMetrics {
    pub(super) fn add(&self, name: MetricName, labels: &[Label<'_>], n: u64) {
        let value = &mut *self.lock();
        let value = value.values.entry((name, written(labels))).or_default();
        *value = value.saturating_add(n);
    }

    pub(super) fn set(&self, name: MetricName, labels: &[Label<'_>], n: u64) {
        self.lock().values.insert((name, written(labels)), n);
    }

    pub(super) fn take_time(&self, name: MetricName, labels: &[Label<'_>], ms: u64) {
        let mut counts = self.lock();
        let histogram = counts.durations.entry((name, written(labels))).or_default();
        if let Some(bucket) = BUCKETS.iter().position(|(max, _)| ms <= *max) {
            histogram.counts[bucket] += 1;
        }
        histogram.n += 1;
        histogram.sum_ms = histogram.sum_ms.saturating_add(ms);
    }

    /// The name by which a model is counted: its own, unless there are too many.
    pub(super) fn model_label(&self, model: &str) -> String {
        let name: String = model.chars().take(LABEL_CHARS_MAX).collect();
        let models = &mut self.lock().models;
        if models.len() < MODEL_NAMES_MAX {
            models.insert(name.clone());
        }
        if models.contains(&name) { name } else { OTHER.to_owned() }
    }

    /// All of it, as Prometheus reads it.
    pub(super) fn text(&self) -> String {
        let counts = self.lock();
        let mut text = String::with_capacity(8 * 1024);
        for (name, written, kind, help) in METRICS {
            let word = match kind {
                Counter => "counter",
                Gauge => "gauge",
                Histogram => "histogram",
            };
            // Writing to a string does not fail.
            writeln!(text, "# HELP {written} {help}\n# TYPE {written} {word}").ok();
            let of_metric = (name, String::new())..=(name, char::MAX.to_string());
            if kind == Histogram {
                for ((_, labels), histogram) in counts.durations.range(of_metric) {
                    histogram.write(&mut text, written, labels);
                }
                continue;
            }
            for ((_, labels), value) in counts.values.range(of_metric) {
                let labels = in_braces(labels);
                writeln!(text, "{written}{labels} {value}").ok();
            }
        }
        text
    }

    fn lock(&self) -> MutexGuard<'_, MetricCounts> {
        // Counts are never left half-changed.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DurationHistogram {
    fn write(&self, text: &mut String, name: &str, labels: &str) {
        let comma = if labels.is_empty() { "" } else { "," };
        let mut n = 0;
        for (count, (_, le)) in self.counts.iter().zip(BUCKETS) {
            n += count;
            writeln!(text, "{name}_bucket{{{labels}{comma}le=\"{le}\"}} {n}").ok();
        }
        writeln!(text, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {}", self.n).ok();
        let (labels, seconds, ms) = (in_braces(labels), self.sum_ms / 1_000, self.sum_ms % 1_000);
        writeln!(text, "{name}_sum{labels} {seconds}.{ms:03}\n{name}_count{labels} {}", self.n)
            .ok();
    }
}

fn in_braces(labels: &str) -> String {
    if labels.is_empty() { String::new() } else { format!("{{{labels}}}") }
}

/// Labels as they are written, without braces.
fn written(labels: &[Label<'_>]) -> String {
    let mut text = String::new();
    for (name, value) in labels {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a string does not fail.
        write!(text, "{comma}{name}=\"").ok();
        for ch in value.chars().take(LABEL_CHARS_MAX) {
            match ch {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                ch if ch.is_control() => text.push('_'),
                ch => text.push(ch),
            }
        }
        text.push('"');
    }
    text
}

#[cfg(test)]
pub(super) mod tests;
