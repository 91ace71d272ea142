//! Sends spans to the collector that the owner named.
//!
//! Spans wait in a queue with a bound, and are sent together. A collector that is away or slow costs
//! spans, which are counted, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use kith_providers::client::HttpClients;
use kith_providers::telemetry::post_spans;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use super::metrics::{HouseMetrics, MetricName};
use super::span::{TraceSpan, export_request};

/// Spans that wait to be sent.
const SPANS_WAITING_MAX: usize = 2_048;
/// Spans of one request.
const SPANS_BATCH_MAX: usize = 256;
/// How long a span waits for others.
const BATCH_MS_MAX: u64 = 2_000;
/// How long the end of the host waits for the collector.
const FLUSH_MS_MAX: u64 = 1_000;

const TRACES_PATH: &str = "/v1/traces";

enum SpanMessage {
    Span(Box<TraceSpan>),
    Flush(oneshot::Sender<()>),
}

/// Takes spans and never waits.
#[derive(Clone)]
pub(super) struct SpanQueue {
    sender: mpsc::Sender<SpanMessage>,
    metrics: Arc<HouseMetrics>,
}

/// The task that sends them.
pub(super) struct SpanExporter {
    receiver: mpsc::Receiver<SpanMessage>,
    metrics: Arc<HouseMetrics>,
    url: String,
    clients: HttpClients,
}

/// Where spans are posted for an endpoint as it is configured.
pub(crate) fn traces_url(endpoint: &str) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    if endpoint.ends_with(TRACES_PATH) {
        endpoint.to_owned()
    } else {
        format!("{endpoint}{TRACES_PATH}")
    }
}

impl SpanQueue {
    pub(super) fn new(url: String, metrics: &Arc<HouseMetrics>) -> (SpanQueue, SpanExporter) {
        let (sender, receiver) = mpsc::channel(SPANS_WAITING_MAX);
        let (metrics, same) = (Arc::clone(metrics), Arc::clone(metrics));
        let exporter =
            SpanExporter { receiver, metrics: same, url, clients: HttpClients::default() };
        (SpanQueue { sender, metrics }, exporter)
    }

    pub(super) fn push(&self, span: TraceSpan) {
        if self.sender.try_send(SpanMessage::Span(Box::new(span))).is_err() {
            self.metrics.add(MetricName::Spans, &[("outcome", "dropped")], 1);
        }
    }

    /// Waits until what was pushed has been sent, but not for long.
    pub(super) async fn flush(&self) {
        let flushing = async {
            let (sent, is_sent) = oneshot::channel();
            if self.sender.send(SpanMessage::Flush(sent)).await.is_ok() {
                // The exporter may have ended.
                is_sent.await.ok();
            }
        };
        timeout(Duration::from_millis(FLUSH_MS_MAX), flushing).await.ok();
    }
}

impl SpanExporter {
    pub(super) async fn run(mut self) {
        while let Some(message) = self.receiver.recv().await {
            let (batch, flushed) = self.gather(message).await;
            self.send(batch).await;
            if let Some(flushed) = flushed {
                // Whoever asked may have left.
                flushed.send(()).ok();
            }
        }
    }

    /// The spans that come soon after the first, or until somebody wants them sent.
    async fn gather(
        &mut self,
        first: SpanMessage,
    ) -> (Vec<TraceSpan>, Option<oneshot::Sender<()>>) {
        let mut batch = match first {
            SpanMessage::Span(span) => vec![*span],
            SpanMessage::Flush(sent) => return (Vec::new(), Some(sent)),
        };
        let until = Instant::now() + Duration::from_millis(BATCH_MS_MAX);
        while batch.len() < SPANS_BATCH_MAX {
            match timeout_at(until, self.receiver.recv()).await {
                Ok(Some(SpanMessage::Span(span))) => batch.push(*span),
                Ok(Some(SpanMessage::Flush(sent))) => return (batch, Some(sent)),
                Ok(None) | Err(_) => break,
            }
        }
        (batch, None)
    }

    async fn send(&self, batch: Vec<TraceSpan>) {
        if batch.is_empty() {
            return;
        }
        let body = export_request(&batch).to_string().into_bytes();
        // It is not tried again: spans that came meanwhile matter more.
        let outcome = match post_spans(&self.clients, &self.url, body).await {
            Ok(()) => "exported",
            Err(_) => "dropped",
        };
        self.metrics.add(MetricName::Spans, &[("outcome", outcome)], batch.len() as u64);
    }
}
