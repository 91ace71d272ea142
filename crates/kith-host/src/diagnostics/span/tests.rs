//! OTLP's JSON, compared whole.

use super::*;

#[test]
fn a_request_to_a_collector_is_otlp_to_the_letter() {
    let turn: EventId = "0198a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1".parse().unwrap();
    let span = TraceSpan {
        trace_id: trace_id(turn),
        span_id: call_span_id(turn.call(1)),
        parent: Some(span_id(turn)),
        name: "execute_tool read_file".to_owned(),
        kind: SpanKind::Internal,
        start: 1_794_744_000_123,
        end: 1_794_744_000_456,
        attributes: vec![
            ("gen_ai.tool.name", SpanValue::from("read_file")),
            ("gen_ai.usage.input_tokens", SpanValue::from(12)),
            ("gen_ai.response.finish_reasons", SpanValue::Texts(vec!["stop".to_owned()])),
        ],
        error: Some("failed".to_owned()),
    };
    let version = env!("CARGO_PKG_VERSION");
    let expected = json!({ "resourceSpans": [{
        "resource": { "attributes": [
            { "key": "service.name", "value": { "stringValue": "kith" } },
            { "key": "service.version", "value": { "stringValue": version } },
        ] },
        "scopeSpans": [{
            "scope": { "name": "kith", "version": version },
            "spans": [{
                "traceId": "0198a0b1c2d37e4f8a5b6c7d8e9fa0b1",
                "spanId": "8a5b6c7d8e9fa0b3",
                "parentSpanId": "8a5b6c7d8e9fa0b1",
                "name": "execute_tool read_file",
                "kind": 1,
                "startTimeUnixNano": "1794744000123000000",
                "endTimeUnixNano": "1794744000456000000",
                "attributes": [
                    { "key": "gen_ai.tool.name", "value": { "stringValue": "read_file" } },
                    { "key": "gen_ai.usage.input_tokens", "value": { "intValue": "12" } },
                    { "key": "gen_ai.response.finish_reasons", "value": {
                        "arrayValue": { "values": [{ "stringValue": "stop" }] } } },
                ],
                "status": { "code": 2, "message": "failed" },
            }],
        }],
    }] });
    assert_eq!(export_request(&[span]), expected);
}

#[test]
fn a_clock_that_was_put_back_makes_no_span_that_ends_before_it_began() {
    let turn: EventId = "0198a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1".parse().unwrap();
    let told = span(&TraceSpan {
        trace_id: trace_id(turn),
        span_id: span_id(turn),
        parent: None,
        name: "chat m".to_owned(),
        kind: SpanKind::Client,
        start: 9,
        end: 7,
        attributes: Vec::new(),
        error: None,
    });
    assert_eq!(told["endTimeUnixNano"], told["startTimeUnixNano"]);
    assert_eq!((told.get("status"), told.get("parentSpanId")), (None, None));
    assert_eq!(told["kind"], 3);
}
