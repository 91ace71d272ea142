use super::*;

#[test]
fn an_event_is_its_data_lines() {
    check("data: a\n\n", "a");
    check("data:a\n\ndata:  b\n\n", "a| b");
    check("data: a\ndata:\ndata: c\n\n", "a//c");
    check("data\n\n", "");
    check("data: {\"a\": \"b: c\"}\n\n", "{\"a\": \"b: c\"}");
}

#[test]
fn every_line_end_is_one() {
    check("data: a\r\n\r\ndata: b\r\n\r\n", "a|b");
    check("data: a\r\rdata: b\r\r", "a|b");
    check("data: a\r\n\ndata: b\n\r\n", "a|b");
    check("data: a\rdata: b\ndata: c\r\n\r\n", "a/b/c");
}

#[test]
fn what_is_no_data_is_passed_over() {
    check(": a comment\n\ndata: a\n\n:\n\n", "a");
    check("event: delta\nid: 7\nretry: 10\nnonsense\ndata: a\n\n", "delta=a");
    check("event: delta\n\ndata: a\n\n", "a");
    check("\u{feff}data: a\n\n", "a");
    check("data: \u{feff}a\n\n\u{feff}data: b\n\n", "\u{feff}a");
}

#[test]
fn an_event_without_its_blank_line_never_comes() {
    check("data: a\n\ndata: b\n", "a");
    check("data: a\n\ndata: b", "a");
    check("", "none");
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    let mut events = Vec::new();
    let error = SseDecoder::default().feed(b"data: a\n\ndata: \xff\n\n", &mut events);
    assert_eq!(error, Err(SseError::NotUtf8));
    assert_eq!(events.len(), 1);
}

#[test]
fn an_event_has_a_limit_whether_in_one_line_or_many() {
    let one = vec![b'a'; 64 * 1024];
    let mut decoder = SseDecoder::default();
    let n_fed = (0..1000).take_while(|_| decoder.feed(&one, &mut Vec::new()).is_ok()).count();
    assert_eq!(n_fed, SSE_EVENT_BYTES_MAX / one.len());

    let line = [b"data: ".as_slice(), &one, b"\n"].concat();
    let mut decoder = SseDecoder::default();
    let n_fed = (0..1000).take_while(|_| decoder.feed(&line, &mut Vec::new()).is_ok()).count();
    assert_eq!(n_fed, SSE_EVENT_BYTES_MAX / line.len());
}

// Quadratic, this would look at 10^13 bytes and not end today.
#[test]
fn a_large_event_in_small_pieces_is_read_in_linear_time() {
    let data = "x".repeat(7 * 1024 * 1024);
    let stream = format!("data: {data}\n\n");
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    for piece in stream.as_bytes().chunks(7) {
        decoder.feed(piece, &mut events).unwrap();
    }
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].data.len(), data.len());
}

/// Events are written `name=data`, lines of data are set off by `/`, events by `|`. The stream is
/// cut in two at every byte, and into single bytes: the events must not change.
#[track_caller]
fn check(stream: &str, expected: &str) {
    let bytes = stream.as_bytes();
    assert_eq!(decode(&[bytes]), expected, "in one piece: {stream:?}");
    for cut in 0..bytes.len() {
        let (head, tail) = bytes.split_at(cut);
        assert_eq!(decode(&[head, tail]), expected, "cut at {cut}: {stream:?}");
    }
    assert_eq!(decode(&bytes.chunks(1).collect::<Vec<_>>()), expected, "in bytes: {stream:?}");
}

fn decode(pieces: &[&[u8]]) -> String {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    for piece in pieces {
        decoder.feed(piece, &mut events).unwrap();
    }
    if events.is_empty() {
        return "none".to_owned();
    }
    let in_words = |event: &SseEvent| {
        let data = event.data.replace('\n', "/");
        if event.name.is_empty() { data } else { format!("{}={data}", event.name) }
    };
    events.iter().map(in_words).collect::<Vec<_>>().join("|")
}
