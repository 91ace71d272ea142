//! Diagnostics of a whole host: nothing they do gets in the way of a turn.

use std::fs;
use std::path::Path;

use kith_testkit::server::{FakeModelServer, ServerReply};
use serde_json::Value;

use super::*;

#[tokio::test]
async fn spans_reach_a_collector_and_are_dropped_and_counted_when_it_is_away() {
    let collector =
        FakeModelServer::start([ServerReply::text("ok"), ServerReply::ServerError]).await;
    let metrics = Arc::new(HouseMetrics::default());
    let url = traces_url(&format!("http://{}/", collector.address()));
    let (queue, exporter) = SpanQueue::new(url, &metrics);
    let task = tokio::spawn(exporter.run());
    let span = || span::TraceSpan {
        trace_id: 1,
        span_id: 2,
        parent: None,
        name: "chat m".to_owned(),
        kind: span::SpanKind::Client,
        start: 1,
        end: 2,
        attributes: Vec::new(),
        error: None,
    };
    for n in [3, 2] {
        for _ in 0..n {
            queue.push(span());
        }
        queue.flush().await;
    }
    let requests = collector.requests();
    assert_eq!(requests.len(), 2, "each batch is one request");
    assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("POST", "/v1/traces"));
    assert_eq!(requests[0].header("content-type"), Some("application/json"));
    let body: Value = serde_json::from_slice(&requests[0].body).unwrap();
    assert_eq!(body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().len(), 3);
    // The collector ends, and so does the task that would ask it.
    drop(collector);
    queue.push(span());
    queue.flush().await;
    task.abort();
    let text = metrics.text();
    assert!(text.contains("kith_telemetry_spans_total{outcome=\"exported\"} 3\n"), "{text}");
    assert!(text.contains("kith_telemetry_spans_total{outcome=\"dropped\"} 3\n"), "{text}");
}

#[tokio::test]
async fn a_collector_that_never_answers_costs_spans_and_no_time() {
    let metrics = Arc::new(HouseMetrics::default());
    // Nobody takes the spans: the task is not even started.
    let (queue, _exporter) = SpanQueue::new("http://127.0.0.1:1/v1/traces".to_owned(), &metrics);
    for n in 0..3_000 {
        queue.push(span::TraceSpan {
            trace_id: n,
            span_id: 2,
            parent: None,
            name: String::new(),
            kind: span::SpanKind::Client,
            start: 1,
            end: 2,
            attributes: Vec::new(),
            error: None,
        });
    }
    let text = metrics.text();
    assert!(text.contains("kith_telemetry_spans_total{outcome=\"dropped\"} 952\n"), "{text}");
}

#[test]
fn the_path_of_traces_is_added_once() {
    for (endpoint, url) in [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
        ("https://c.example.org/otlp", "https://c.example.org/otlp/v1/traces"),
        ("https://c.example.org/v1/traces", "https://c.example.org/v1/traces"),
    ] {
        assert_eq!(traces_url(endpoint), url);
    }
}

fn lines_of(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(".kith/logs").join(name)).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_counted_one_by_one_and_told_together() {
    let dir = tempfile::tempdir().unwrap();
    let host = crate::tests::host(dir.path()).await;
    for _ in 0..100 {
        host.diagnostics().refuse(VisitRefusal::Http(401));
    }
    host.diagnostics().refuse(VisitRefusal::OtherUser);
    let text = host.metrics_text().await;
    assert!(text.contains("kith_http_refused_total{status=\"401\"} 100\n"), "{text}");
    assert!(text.contains("kith_clients_refused_total{reason=\"other_user\"} 1\n"), "{text}");
    let log = lines_of(dir.path(), "host.log");
    assert_eq!(log.matches("http_refused").count(), 1, "{log}");
    assert!(log.contains("event=http_refused status=401 count=100\n"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_counted_while_they_are_attached() {
    let dir = tempfile::tempdir().unwrap();
    let host = crate::tests::host(dir.path()).await;
    let [one, _other] = std::array::from_fn(|_| host.diagnostics().attach_client());
    assert!(host.metrics_text().await.contains("\nkith_clients 2\n"));
    drop(one);
    assert!(host.metrics_text().await.contains("\nkith_clients 1\n"));
    let log = lines_of(dir.path(), "host.log");
    assert!(log.contains("event=client_attached clients=2\n"), "{log}");
    assert!(log.contains("event=client_left clients=1\n"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_that_cannot_be_written_are_counted_and_nothing_else_happens() {
    let dir = tempfile::tempdir().unwrap();
    let host = crate::tests::host(dir.path()).await;
    // A disk without room and a folder that is a file fail in the same place.
    fs::remove_dir_all(dir.path().join(".kith/logs")).ok();
    fs::write(dir.path().join(".kith/logs"), "in the way").unwrap();
    host.diagnostics().refuse(VisitRefusal::Hello);
    host.diagnostics().until_taken().await;
    let text = host.metrics_text().await;
    assert!(text.contains("kith_diagnostics_write_failures_total 1\n"), "{text}");
    host.end().await;
}
