//! Files are made of four batches of 1, 3, 1 and 2 events; `check` says what is read of one.

use std::io::Cursor;

use super::*;
use crate::samples::{
    event, file_of, forged_line, header, notice, session_id, small_session, user,
};

#[test]
fn a_whole_file_is_read_whole() {
    let (bytes, _) = small();
    check(&bytes, None, "7 events, clean");
    check(&bytes[..small().1[0]], None, "0 events, clean");
}

#[test]
fn a_cut_at_any_byte_leaves_the_batches_before_it() {
    let (bytes, ends) = small();
    for cut in ends[0]..bytes.len() {
        // A batch may lack its last newline.
        let n_batches = ends.iter().filter(|&&end| end - 1 <= cut).count() - 1;
        let n_events = [0, 1, 4, 5, 7][n_batches];
        let good_len = ends[n_batches].min(cut);
        let reading = read(&bytes[..cut], None).unwrap();
        assert_eq!(reading.events.len(), n_events, "cut at {cut}");
        assert_eq!(reading.result.good_len, good_len as u64, "cut at {cut}");
        assert_eq!(reading.result.newline_missing, good_len < ends[n_batches], "cut at {cut}");
        let expected = match cut - good_len {
            0 => Tail::Clean,
            bytes => Tail::Torn { bytes: bytes as u64 },
        };
        assert_eq!(reading.result.tail, expected, "cut at {cut}");
    }
}

#[test]
fn a_cut_header_is_damage() {
    let (bytes, ends) = small();
    for cut in 0..ends[0] - 1 {
        let damage = read(&bytes[..cut], None).unwrap_err();
        assert_eq!(damage.line, 1);
    }
    check(b"", None, "line 1 missing_header");
}

#[test]
fn no_flipped_bit_is_read_as_another_history() {
    let (bytes, _) = small();
    let whole: Vec<Event> = small_session().concat();
    let mut n_damaged = 0;
    let mut n_torn = 0;
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            let Ok(reading) = read(&flipped, None) else { continue };
            assert_eq!(reading.events, whole[..reading.events.len()], "byte {at}, bit {bit}");
            match reading.result.tail {
                Tail::Clean => panic!("byte {at}, bit {bit} was not noticed"),
                Tail::Torn { .. } => n_torn += 1,
                Tail::Damaged(_) => n_damaged += 1,
            }
        }
    }
    assert!(n_damaged > 0 && n_torn > 0);
}

#[test]
fn no_flipped_bit_below_the_head_is_torn() {
    let (bytes, ends) = small();
    let head = read(&bytes, None).unwrap().result.head.unwrap();
    for at in ends[0]..bytes.len() - 1 {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        let reading = read(&flipped, Some(&head)).unwrap();
        assert!(matches!(reading.result.tail, Tail::Damaged(_)), "byte {at}");
    }
}

#[test]
fn a_bad_line_with_later_lines_behind_it_is_damage() {
    let (bytes, ends) = small();
    check(&spoiled(&bytes, ends[0] + 10), None, "0 events, line 2 bad_crc");
    check(&spoiled(&bytes, ends[1] + 10), None, "1 events, line 3 bad_crc");
    check(&spoiled(&bytes, ends[2] + 10), None, "4 events, line 6 bad_crc");
    // In the last batch nothing later can follow.
    check(&spoiled(&bytes, ends[3] + 10), None, "5 events, torn");
}

#[test]
fn a_hole_in_the_last_batch_is_torn_however_large() {
    let (bytes, ends) = file_of(&[
        vec![notice(1, "a")],
        vec![notice(2, "b"), notice(3, "c"), notice(4, "d"), notice(5, "e")],
    ]);
    // Odd steps, so that every place of a line is the edge of some hole.
    for start in (ends[1]..bytes.len()).step_by(7) {
        for end in (start + 1..=bytes.len()).step_by(11) {
            let mut holed = bytes.clone();
            holed[start..end].fill(0);
            check(&holed, None, "1 events, torn");
        }
    }
}

#[test]
fn a_hole_below_the_head_is_a_lost_tail() {
    let (bytes, ends) = small();
    let head = read(&bytes, None).unwrap().result.head.unwrap();
    let mut holed = bytes.clone();
    holed[ends[3]..].fill(0);
    check(&holed, Some(&head), "5 events, line 7 lost_tail");
    check(&bytes[..ends[3]], Some(&head), "5 events, line 7 lost_tail");
    check(&bytes[..ends[0]], Some(&head), "0 events, line 2 lost_tail");
    check(&bytes, Some(&head), "7 events, clean");

    let earlier = read(&bytes[..ends[3]], None).unwrap().result.head.unwrap();
    check(&holed, Some(&earlier), "5 events, torn");
    check(&bytes, Some(&earlier), "7 events, clean");
}

#[test]
fn a_cut_batch_below_the_head_is_a_lost_tail_at_its_first_line() {
    let (bytes, ends) = small();
    let head = read(&bytes, None).unwrap().result.head.unwrap();
    let first_line_end = ends[3] + line_len(&bytes[ends[3]..]);
    check(&bytes[..first_line_end], Some(&head), "5 events, line 7 lost_tail");
    check(&bytes[..first_line_end], None, "5 events, torn");
}

#[test]
fn a_history_other_than_the_acknowledged_one_is_a_broken_chain() {
    let (bytes, _) = small();
    let other = LogHead { seq: 5, hash: LineHash::of(b"what was acknowledged") };
    check(&bytes, Some(&other), "4 events, line 6 broken_chain");
}

#[test]
fn lines_taken_out_put_twice_or_exchanged_break_the_chain() {
    let (bytes, ends) = small();
    let part = |from: usize, to: usize| &bytes[ends[from]..ends[to]];
    let header = &bytes[..ends[0]];
    check(&[header, part(1, 4)].concat(), None, "0 events, line 2 broken_chain");
    check(&[&bytes[..], part(3, 4)].concat(), None, "7 events, line 9 broken_chain");
    let exchanged = [header, part(0, 1), part(2, 3), part(1, 2)].concat();
    check(&exchanged, None, "1 events, line 3 broken_chain");
}

#[test]
fn a_whole_line_that_is_wrong_is_damage_even_at_the_end() {
    let one = |event: &Event| vec![vec![notice(1, "a")], vec![event.clone()]];
    check_events(&one(&notice(3, "b")), "1 events, line 3 non_monotonic_seq");
    let mut twin = notice(2, "b");
    twin.id = notice(1, "a").id;
    check_events(&one(&twin), "1 events, line 3 duplicate_event_id");
    check_events(&one(&user(2, Some(1), "b")), "1 events, line 3 invalid_parent");
    check_events(&one(&user(2, Some(9), "b")), "1 events, line 3 invalid_parent");
    let record = event(2, None, r#"{"type":"primed_record","record":[]}"#);
    check_events(&one(&record), "1 events, line 3 invalid_event");
}

#[test]
fn one_snapshot_of_each_kind_before_the_first_request() {
    let toolset = |seq| {
        let hash = "0".repeat(64);
        event(seq, None, &format!(r#"{{"type":"toolset_snapshot","tools":[],"sha256":"{hash}"}}"#))
    };
    let request = event(
        1,
        None,
        &format!(
            r#"{{"type":"model_requested","requestId":"{}","purpose":"turn","provider":"p","wire":"anthropic","model":"m","parameters":{{}},"rendererVersion":1,"bodySha256":"{}","bodyBytes":1,"reserved":{{"tokens":1}}}}"#,
            notice(9, "").id,
            "0".repeat(64)
        ),
    );
    check_events(&[vec![toolset(1), notice(2, "")]], "2 events, clean");
    check_events(&[vec![toolset(1)], vec![toolset(2)]], "1 events, line 3 invalid_event");
    check_events(&[vec![request.clone()], vec![toolset(2)]], "1 events, line 3 invalid_event");
    let instructions = |seq| {
        let section =
            |kind: &&str| format!(r#"{{"kind":"{kind}","frozenAt":1,"renderedBlock":"x"}}"#);
        let kinds = ["baseline", "agents", "memory", "workspace", "environment", "time"];
        let sections: Vec<String> = kinds.iter().map(section).collect();
        let json = format!(
            r#"{{"type":"instruction_snapshot","snapshot":{{"version":1,"cwd":"/x{seq}","sections":[{}]}}}}"#,
            sections.join(",")
        );
        event(seq, None, &json)
    };
    check_events(&[vec![instructions(1), toolset(2)]], "2 events, clean");
    check_events(&[vec![instructions(1)], vec![instructions(2)]], "1 events, line 3 invalid_event");
    check_events(&[vec![request], vec![instructions(2)]], "1 events, line 3 invalid_event");
}

#[test]
fn a_batch_keeps_its_places() {
    let lines = |places: &[(u64, &str)]| {
        let (mut bytes, _) = file_of(&[]);
        let mut hash = LineHash::of(bytes.trim_ascii_end());
        for &(seq, place) in places {
            let json = serde_json::to_string(&notice(seq, "x")).unwrap();
            let line = forged_line(&json.replace(",\"type\"", &format!("{place},\"type\"")), hash);
            hash = LineHash::of(line.trim_ascii_end());
            bytes.extend_from_slice(&line);
        }
        bytes
    };
    check(&lines(&[(1, ",\"batch\":[1,2]"), (2, ",\"batch\":[2,2]")]), None, "2 events, clean");
    check(&lines(&[(1, ",\"batch\":[1,2]")]), None, "0 events, torn");
    check(&lines(&[(1, ",\"batch\":[2,2]")]), None, "0 events, line 2 broken_batch");
    for impossible in [",\"batch\":[0,0]", ",\"batch\":[1,1]", ",\"batch\":[3,2]"] {
        check(&lines(&[(1, impossible)]), None, "0 events, line 2 invalid_event");
    }
    check(&lines(&[(1, ",\"batch\":[1,2]"), (2, "")]), None, "0 events, line 3 broken_batch");
    let other_size = [(1, ",\"batch\":[1,2]"), (2, ",\"batch\":[2,3]")];
    check(&lines(&other_size), None, "0 events, line 3 broken_batch");
    check(&lines(&[(1, ",\"batch\":[1,4294967295]")]), None, "0 events, line 2 broken_batch");
}

#[test]
fn garbage_between_two_batches_is_damage() {
    let (bytes, ends) = small();
    for garbage in [&b"\n"[..], b"\0\0\0\n", b"garbage\n", b"{}\n", b"\xff\xfe\n"] {
        let between = [&bytes[..ends[3]], garbage, &bytes[ends[3]..]].concat();
        let reading = read(&between, None).unwrap();
        assert_eq!(reading.events.len(), 5, "{garbage:?}");
        assert!(matches!(reading.result.tail, Tail::Damaged(Damage { line: 7, .. })));
        check(&[&bytes, garbage].concat(), None, "7 events, torn");
    }
}

#[test]
fn an_unknown_or_newer_line_behind_a_bad_one_is_damage() {
    let (bytes, _) = small();
    let json = r#"{"v":2,"seq":9,"what":"ever"}"#;
    let unknown = forged_line(json, LineHash::of(b""));
    check(&[&bytes[..], b"bad\n", &unknown[..]].concat(), None, "7 events, line 9 invalid_json");
    let unsealed = br#"{"v":2,"seq":9}"#;
    check(&[&bytes[..], b"bad\n", &unsealed[..]].concat(), None, "7 events, line 9 invalid_json");
    check(&[&bytes, &unsealed[..]].concat(), None, "7 events, line 9 newer_version");
}

#[test]
fn an_endless_line_costs_no_memory_and_is_torn() {
    let (bytes, _) = small();
    let zeros = io::repeat(0).take(LINE_BYTES_MAX as u64 * 2);
    let source = Cursor::new(bytes).chain(zeros);
    let reading = read_events(Box::new(source), None, &mut |_| ()).unwrap();
    assert_eq!(reading.events, 7);
    assert_eq!(reading.tail, Tail::Torn { bytes: LINE_BYTES_MAX as u64 * 2 });
}

#[test]
fn a_whole_line_that_is_too_long_is_damage_also_at_the_end() {
    let (mut bytes, _) = small();
    let text = "x".repeat(LINE_BYTES_MAX + 1024);
    let line = forged_line(&format!("{{\"text\":\"{text}\"}}"), LineHash::of(b""));
    bytes.extend_from_slice(&line);
    let reading = read_events(Box::new(Cursor::new(bytes.clone())), None, &mut |_| ()).unwrap();
    let Tail::Damaged(damage) = reading.tail else { panic!("{:?}", reading.tail) };
    assert_eq!((damage.line, damage.code), (9, DamageCode::InvalidJson));
    // Without its last byte it is half of a write.
    bytes.truncate(bytes.len() - 2);
    let reading = read_events(Box::new(Cursor::new(bytes)), None, &mut |_| ()).unwrap();
    assert!(matches!(reading.tail, Tail::Torn { .. }), "{:?}", reading.tail);
}

#[test]
fn the_reading_tells_header_and_head() {
    let (bytes, _) = small();
    let result = read(&bytes, None).unwrap().result;
    assert_eq!(result.header, header(1));
    assert_eq!(result.header.session_id, session_id(1));
    let last_line = bytes.trim_ascii_end().rsplit(|&byte| byte == b'\n').next().unwrap();
    assert_eq!(result.head, Some(LogHead { seq: 7, hash: LineHash::of(last_line) }));
    assert_eq!(read(&bytes[..small().1[0]], None).unwrap().result.head, None);
}

#[derive(Debug)]
struct Found {
    events: Vec<Event>,
    result: Reading,
}

fn small() -> (Vec<u8>, Vec<usize>) {
    file_of(&small_session())
}

fn spoiled(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1;
    bytes
}

fn line_len(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1
}

fn read(bytes: &[u8], head: Option<&LogHead>) -> Result<Found, Damage> {
    let mut events = Vec::new();
    let source = Box::new(Cursor::new(bytes.to_vec()));
    match read_events(source, head, &mut |event| events.push(event)) {
        Ok(result) => {
            assert_eq!(result.events, events.len() as u64);
            Ok(Found { events, result })
        }
        Err(ReadError::Damaged(damage)) => Err(damage),
        Err(ReadError::Io(error)) => panic!("{error}"),
    }
}

/// Of a file that holds these batches, well formed but not judged.
#[track_caller]
fn check_events(batches: &[Vec<Event>], expected: &str) {
    check(&file_of(batches).0, None, expected);
}

#[track_caller]
fn check(bytes: &[u8], head: Option<&LogHead>, expected: &str) {
    let actual = match read(bytes, head) {
        Err(damage) => format!("line {} {}", damage.line, damage.code),
        Ok(Found { events, result }) => {
            let tail = match result.tail {
                Tail::Clean => "clean".to_owned(),
                Tail::Torn { .. } => "torn".to_owned(),
                Tail::Damaged(damage) => format!("line {} {}", damage.line, damage.code),
            };
            format!("{} events, {tail}", events.len())
        }
    };
    assert_eq!(actual, expected);
}

/// Yields what there is, then the end of the file, then what was written meanwhile.
struct GrowingFile {
    parts: Vec<Cursor<Vec<u8>>>,
}

impl Read for GrowingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(part) = self.parts.first_mut() else { return Ok(0) };
        let n_read = part.read(buffer)?;
        if n_read == 0 {
            self.parts.remove(0);
        }
        Ok(n_read)
    }
}

#[test]
fn a_reader_beside_a_growing_file_does_not_say_damaged() {
    let (bytes, ends) = small();
    for cut in ends[0]..bytes.len() {
        let (before, after) = bytes.split_at(cut);
        let parts = vec![Cursor::new(before.to_vec()), Cursor::new(after.to_vec())];
        let growing = Box::new(GrowingFile { parts });
        let reading = read_events(growing, None, &mut |_| ()).unwrap();
        assert!(!matches!(reading.tail, Tail::Damaged(_)), "cut at {cut}: {:?}", reading.tail);
    }
}
