//! Where diagnostics go: logs, counts, spans.

use std::collections::BTreeMap;
use std::sync::Arc;

use kith_sessions::diagnostic_log::{LogName, LogWriter};
use kith_vocab::blocking::briefly;
use kith_vocab::ids::SessionId;

use super::exporter::SpanQueue;
use super::line::{LogLevel, LogLine};
use super::metrics::{HouseMetrics, MetricName};
use super::span::TraceSpan;

/// Bytes of lines that wait before they are written.
const WAITING_BYTES_MAX: usize = 64 * 1024;

pub(super) struct DiagnosticSinks {
    pub(super) metrics: Arc<HouseMetrics>,
    writer: Option<LogWriter>,
    /// Lines that are not written yet.
    waiting: BTreeMap<LogName, Vec<u8>>,
    n_waiting: usize,
    spans: Option<SpanQueue>,
}

impl DiagnosticSinks {
    pub(super) fn new(
        metrics: Arc<HouseMetrics>,
        writer: Option<LogWriter>,
        spans: Option<SpanQueue>,
    ) -> DiagnosticSinks {
        DiagnosticSinks { metrics, writer, waiting: BTreeMap::new(), n_waiting: 0, spans }
    }

    /// Adds a line about a session. What is worth a warning stands in the host's log too.
    pub(super) fn tell(&mut self, id: SessionId, line: &LogLine) {
        self.add(LogName::Session(id), line);
        if line.level > LogLevel::Info {
            self.add(LogName::Host, line);
        }
    }

    /// Adds a line about the host.
    pub(super) fn tell_host(&mut self, line: &LogLine) {
        self.add(LogName::Host, line);
    }

    fn add(&mut self, name: LogName, line: &LogLine) {
        if self.writer.is_none() {
            return;
        }
        let bytes = line.as_bytes();
        self.n_waiting += bytes.len();
        self.waiting.entry(name).or_default().extend(bytes);
        if self.n_waiting >= WAITING_BYTES_MAX {
            self.write();
        }
    }

    /// Whether lines wait to be written.
    pub(super) fn has_waiting(&self) -> bool {
        self.n_waiting > 0
    }

    /// Writes what waits. What cannot be written is lost and counted: a disk that is full is told of by
    /// whoever needs it.
    pub(super) fn write(&mut self) {
        self.n_waiting = 0;
        let waiting = std::mem::take(&mut self.waiting);
        let Some(writer) = self.writer.as_mut().filter(|_| !waiting.is_empty()) else { return };
        let n_failed = briefly(|| {
            let mut written = waiting.iter().map(|(name, lines)| writer.append(*name, lines));
            written.by_ref().filter(Result::is_err).count()
        });
        self.metrics.add(MetricName::LogWritesFailed, &[], n_failed as u64);
    }

    /// Removes the log of a session, with what waits for it. Nothing is told of it: it is to be gone.
    pub(super) fn remove(&mut self, id: SessionId) {
        if let Some(lost) = self.waiting.remove(&LogName::Session(id)) {
            self.n_waiting -= lost.len();
        }
        if let Some(writer) = &mut self.writer
            && briefly(|| writer.remove(id)).is_err()
        {
            self.metrics.add(MetricName::LogWritesFailed, &[], 1);
        }
    }

    pub(super) fn has_spans(&self) -> bool {
        self.spans.is_some()
    }

    pub(super) fn span(&self, span: TraceSpan) {
        if let Some(spans) = &self.spans {
            spans.push(span);
        }
    }
}
