//! Diagnostics: logs of what happens, metrics, and spans for OpenTelemetry; never a word that was said.
//!
//! The engine tells an observer what it has made durable. From that a record is made at once, which
//! holds no text of people, models or tools (`record`), and one task makes lines, counts and spans of
//! the records. No turn waits for it or fails with it: a record without room is dropped and counted, and
//! so is a line that cannot be written.
//!
//! - `record`: what is kept of an event.
//! - `tracker`: how long turns, requests and calls took.
//! - `line`, `metrics`, `span`: the three forms.
//! - `sinks`, `exporter`: where they go.

mod exporter;
mod line;
mod metrics;
mod record;
mod sinks;
mod span;
mod tracker;

use std::collections::BTreeMap;
use std::env;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kith_engine::engine::Engine;
use kith_engine::observer::{Observation, SessionObserver};
use kith_sessions::diagnostic_log::LogWriter;
use kith_vocab::clock::Clock;
use kith_vocab::ids::SessionId;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use crate::calls::daemon::HostKind;
use crate::settings::Settings;
use crate::settings::address::ServerAddress;

use exporter::{SpanQueue, traces_url};
use line::{LogLevel, LogLine, word};
use metrics::{HouseMetrics, MetricName};
use record::SessionRecord;
use sinks::DiagnosticSinks;
use tracker::SessionTracker;

/// Records that wait for the task.
const RECORDS_WAITING_MAX: usize = 8_192;
/// How long a line waits for others before it is written.
const LINE_WAIT_MS: u64 = 200;
/// How long the end of the host waits for the last lines.
const END_MS_MAX: u64 = 1_000;

/// What diagnostics are made with.
#[derive(Debug, Default)]
pub struct DiagnosticParts {
    /// Without it nothing is written.
    pub logs: Option<LogWriter>,
    /// Where spans are posted; without it there are none.
    pub traces_url: Option<String>,
}

/// A handle on the diagnostics of a host.
pub(crate) struct Diagnostics {
    sender: mpsc::Sender<DiagnosticMessage>,
    metrics: Arc<HouseMetrics>,
    spans: Option<SpanQueue>,
    n_clients: AtomicU64,
    refusals: Arc<Mutex<RefusalCounts>>,
}

/// Refusals since the last line about them, by kind. Strangers can cause any number of them, so one line
/// tells of many.
type RefusalCounts = BTreeMap<VisitRefusal, u64>;

/// Why somebody was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum VisitRefusal {
    /// An HTTP request, with the status it got.
    Http(u16),
    /// There are too many clients already.
    TooManyClients,
    /// The process belongs to another user.
    OtherUser,
    /// It did not say hello, or speaks another protocol.
    Hello,
}

impl VisitRefusal {
    fn word(self) -> &'static str {
        match self {
            VisitRefusal::Http(_) => "http",
            VisitRefusal::TooManyClients => "too_many",
            VisitRefusal::OtherUser => "other_user",
            VisitRefusal::Hello => "hello",
        }
    }
}

/// Something that happened to the host.
enum HostRecord {
    Started(HostKind),
    Stopped(HostKind),
    ClientAttached {
        n_clients: u64,
    },
    ClientLeft {
        n_clients: u64,
    },
    /// There are refusals to tell of.
    Refused,
}

enum DiagnosticMessage {
    Session(SessionId, SessionRecord),
    Host(HostRecord),
    Flush(oneshot::Sender<()>),
}

struct DiagnosticsTask {
    receiver: mpsc::Receiver<DiagnosticMessage>,
    tracker: SessionTracker,
    sinks: DiagnosticSinks,
    clock: Arc<dyn Clock>,
    refusals: Arc<Mutex<RefusalCounts>>,
    has_refusals: bool,
}

/// What is known only when metrics are asked for.
pub(crate) struct HouseGauges {
    pub(crate) sessions_open: usize,
    pub(crate) sessions_running: usize,
    pub(crate) rows_waiting: Option<usize>,
}

impl Diagnostics {
    /// Follows what happens in the engine until that ends.
    pub(crate) fn start(
        engine: &Engine,
        parts: DiagnosticParts,
        clock: &Arc<dyn Clock>,
    ) -> Arc<Diagnostics> {
        let metrics = Arc::new(HouseMetrics::default());
        metrics.set(MetricName::BuildInfo, &[("version", env!("CARGO_PKG_VERSION"))], 1);
        for name in [MetricName::RecordsDropped, MetricName::LogWritesFailed, MetricName::Messages]
        {
            metrics.add(name, &[], 0);
        }
        let spans = parts.traces_url.map(|url| {
            let (queue, exporter) = SpanQueue::new(url, &metrics);
            engine.spawn(exporter.run());
            queue
        });
        let (sender, receiver) = mpsc::channel(RECORDS_WAITING_MAX);
        let refusals = Arc::<Mutex<RefusalCounts>>::default();
        let task = DiagnosticsTask {
            receiver,
            tracker: SessionTracker::default(),
            sinks: DiagnosticSinks::new(Arc::clone(&metrics), parts.logs, spans.clone()),
            clock: Arc::clone(clock),
            refusals: Arc::clone(&refusals),
            has_refusals: false,
        };
        engine.spawn(task.run());
        let n_clients = AtomicU64::new(0);
        let diagnostics = Arc::new(Diagnostics { sender, metrics, spans, n_clients, refusals });
        engine.feed().set_observer(Arc::clone(&diagnostics) as Arc<dyn SessionObserver>);
        diagnostics
    }

    fn send(&self, message: DiagnosticMessage) {
        if self.sender.try_send(message).is_err() {
            self.metrics.add(MetricName::RecordsDropped, &[], 1);
        }
    }

    pub(crate) fn note_start(&self, kind: HostKind) {
        self.send(DiagnosticMessage::Host(HostRecord::Started(kind)));
    }

    /// Counts a client for as long as the answer lives.
    pub(crate) fn attach_client(self: &Arc<Self>) -> AttachedClient {
        let n_clients = self.n_clients.fetch_add(1, Ordering::Relaxed) + 1;
        self.send(DiagnosticMessage::Host(HostRecord::ClientAttached { n_clients }));
        AttachedClient { diagnostics: Arc::clone(self) }
    }

    pub(crate) fn refuse(&self, refusal: VisitRefusal) {
        let status;
        let (name, label) = match refusal {
            VisitRefusal::Http(code) => {
                status = code.to_string();
                (MetricName::HttpRefused, ("status", status.as_str()))
            }
            other => (MetricName::ClientsRefused, ("reason", other.word())),
        };
        self.metrics.add(name, &[label], 1);
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = refusals.is_empty();
        *refusals.entry(refusal).or_default() += 1;
        drop(refusals);
        // The task takes all there are, so one message for many is enough.
        if is_first {
            self.send(DiagnosticMessage::Host(HostRecord::Refused));
        }
    }

    /// All metrics, after everything that has happened so far is counted.
    pub(crate) async fn metrics_text(&self, gauges: HouseGauges) -> String {
        self.until_taken().await;
        let HouseGauges { sessions_open, sessions_running, rows_waiting } = gauges;
        let metrics = &self.metrics;
        metrics.set(MetricName::SessionsOpen, &[], sessions_open as u64);
        metrics.set(MetricName::TurnsRunning, &[], sessions_running as u64);
        metrics.set(MetricName::Clients, &[], self.n_clients.load(Ordering::Relaxed));
        if let Some(n) = rows_waiting {
            metrics.set(MetricName::RowsWaiting, &[], n as u64);
        }
        metrics.text()
    }

    /// Waits until what has happened so far is counted and written, but not for long.
    pub(crate) async fn until_taken(&self) {
        let taking = async {
            let (taken, is_taken) = oneshot::channel();
            if self.sender.send(DiagnosticMessage::Flush(taken)).await.is_ok() {
                // The task may have ended with the engine.
                is_taken.await.ok();
            }
        };
        timeout(Duration::from_millis(END_MS_MAX), taking).await.ok();
    }

    /// The host is about to end: writes and sends what waits.
    pub(crate) async fn end(&self, kind: HostKind) {
        self.send(DiagnosticMessage::Host(HostRecord::Stopped(kind)));
        self.until_taken().await;
        if let Some(spans) = &self.spans {
            spans.flush().await;
        }
    }
}

impl SessionObserver for Diagnostics {
    fn observe(&self, session_id: SessionId, what: Observation<'_>) {
        self.send(DiagnosticMessage::Session(session_id, SessionRecord::of(what)));
    }
}

/// A client that is attached.
pub(crate) struct AttachedClient {
    diagnostics: Arc<Diagnostics>,
}

impl Drop for AttachedClient {
    fn drop(&mut self) {
        let n_clients = self.diagnostics.n_clients.fetch_sub(1, Ordering::Relaxed) - 1;
        self.diagnostics.send(DiagnosticMessage::Host(HostRecord::ClientLeft { n_clients }));
    }
}

impl DiagnosticsTask {
    async fn run(mut self) {
        let mut write_at = None;
        loop {
            if !self.sinks.has_waiting() && !self.has_refusals {
                write_at = None;
            } else if write_at.is_none() {
                write_at = Some(Instant::now() + Duration::from_millis(LINE_WAIT_MS));
            }
            let due = async {
                match write_at {
                    Some(time) => sleep_until(time).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                message = self.receiver.recv() => match message {
                    Some(message) => self.take(message),
                    None => return,
                },
                () = due => (),
            }
            // Also while records keep coming.
            if write_at.is_some_and(|time| time <= Instant::now()) {
                self.write();
            }
        }
    }

    fn write(&mut self) {
        if std::mem::take(&mut self.has_refusals) {
            self.tell_refusals();
        }
        self.sinks.write();
    }

    fn take(&mut self, message: DiagnosticMessage) {
        let now = self.clock.now();
        match message {
            DiagnosticMessage::Session(id, record) => {
                self.tracker.take(now, id, record, &mut self.sinks);
            }
            DiagnosticMessage::Host(record) => self.take_host(now, &record),
            DiagnosticMessage::Flush(taken) => {
                self.write();
                // Whoever waited may have left.
                taken.send(()).ok();
            }
        }
    }

    fn take_host(&mut self, now: u64, record: &HostRecord) {
        let line = |event| LogLine::new(now, LogLevel::Info, event);
        let line = match record {
            // One that lives for one command says nothing that its session does not.
            HostRecord::Started(HostKind::Command) | HostRecord::Stopped(HostKind::Command) => {
                return;
            }
            HostRecord::Started(kind) => line("host_started")
                .with("kind", word(kind))
                .with("pid", process::id())
                .with("version", env!("CARGO_PKG_VERSION")),
            HostRecord::Stopped(kind) => {
                line("host_stopped").with("kind", word(kind)).with("pid", process::id())
            }
            HostRecord::ClientAttached { n_clients } => {
                line("client_attached").with("clients", n_clients)
            }
            HostRecord::ClientLeft { n_clients } => line("client_left").with("clients", n_clients),
            HostRecord::Refused => {
                self.has_refusals = true;
                return;
            }
        };
        self.sinks.tell_host(&line);
        // Seldom, and what is looked for first when a host is gone.
        if let HostRecord::Started(_) = record {
            self.write();
        }
    }

    fn tell_refusals(&mut self) {
        let now = self.clock.now();
        let refusals =
            std::mem::take(&mut *self.refusals.lock().unwrap_or_else(PoisonError::into_inner));
        for (refusal, n) in refusals {
            let line = match refusal {
                VisitRefusal::Http(status) => {
                    LogLine::new(now, LogLevel::Warn, "http_refused").with("status", status)
                }
                other => {
                    LogLine::new(now, LogLevel::Warn, "client_refused").with("reason", other.word())
                }
            };
            self.sinks.tell_host(&line.with("count", n));
        }
    }
}

/// Where spans are posted: as the settings say, else as the environment does in the usual way of
/// OpenTelemetry. Nothing is sent unless one of them names a collector.
pub(crate) fn configured_traces_url(settings: &Settings) -> Option<String> {
    let named = |name: &str| {
        let value = env::var(name).ok().filter(|it| !it.is_empty())?;
        ServerAddress::parse(&value).map(|_| value)
    };
    if env::var("OTEL_SDK_DISABLED").is_ok_and(|it| it.eq_ignore_ascii_case("true")) {
        return None;
    }
    if let Some(endpoint) = &settings.telemetry_endpoint {
        return Some(traces_url(endpoint.as_str()));
    }
    named("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
        .or_else(|| named("OTEL_EXPORTER_OTLP_ENDPOINT").map(|it| traces_url(&it)))
}

#[cfg(test)]
mod tests;
