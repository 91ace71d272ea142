use kith_vocab::event::Body;
use kith_vocab::event::messages::PrimedRecord;
use kith_vocab::ids::EventId;

use super::*;
use crate::samples::{event_id, every_type, forged_line, header, notice, user};

#[test]
fn a_line_ends_in_the_hash_of_the_line_before_and_its_own_checksum() {
    let (header_line, header_hash) = encode_header(&header(1)).unwrap();
    let header_line = header_line.strip_suffix(b"\n").unwrap();
    assert_eq!(header_hash, LineHash::of(header_line));
    assert_eq!(&hex_of_sha256(header_line)[..16], header_hash.to_string());

    let EncodedBatch { bytes: line, hash, .. } =
        encode_batch(&[notice(1, "hi")], header_hash).unwrap();
    let text = String::from_utf8(line).unwrap();
    let (covered, rest) = text.split_once(",\"crc\"").unwrap();
    assert!(covered.ends_with(&format!(",\"prev\":\"{header_hash}\"")), "{text}");
    assert_eq!(rest, format!(":\"{:08x}\"}}\n", crc32c::crc32c(covered.as_bytes())));
    assert_eq!(hash, LineHash::of(text.trim_end().as_bytes()));
}

#[test]
fn the_checksum_is_crc_32c() {
    // The check value that every description of CRC-32C gives.
    assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
}

#[test]
fn every_type_is_read_back_as_it_was_written() {
    let events = every_type();
    let bytes = encode_batch(&events, prev()).unwrap().bytes;
    let mut decoder = Decoder::default();
    let mut hash = prev();
    let mut n = 0;
    for (line, event) in bytes.split(|&byte| byte == b'\n').zip(&events) {
        let read = decoder.event(line, hash).unwrap();
        assert_eq!(read.event, *event);
        n += 1;
        assert_eq!(read.batch, BatchPlace(n, u32::try_from(events.len()).unwrap()));
        hash = LineHash::of(line);
    }
    assert_eq!(n as usize, events.len());
}

#[test]
fn what_could_not_be_read_back_is_not_written() {
    let mut not_version_7 = notice(1, "hi");
    not_version_7.id = EventId::from_uuid(uuid::Uuid::nil());
    check_refused(&not_version_7, "invalid_event");

    let mut stray_parent = notice(1, "hi");
    stray_parent.parent_id = Some(event_id(9));
    check_refused(&stray_parent, "invalid_event");

    let mut broken_json = notice(1, "hi");
    let spaced = serde_json::from_str("{\"a\":\n1}").unwrap();
    broken_json.body = Body::PrimedRecord(PrimedRecord { record: spaced });
    check_refused(&broken_json, "invalid_event");
}

#[test]
fn what_is_wrong_with_a_line_has_a_name() {
    let good = |json: &str| {
        let mut line = forged_line(json, prev());
        line.pop();
        String::from_utf8(line).unwrap()
    };
    let event = serde_json::to_string(&notice(1, "hi")).unwrap();
    check_event("", "partial invalid_json");
    check_event("\0\0\0\0", "partial invalid_json");
    check_event("{}", "partial invalid_event");
    check_event(&event, "partial invalid_event");
    check_event(&good(&event).replace("hi", "ho"), "partial bad_crc");
    check_event(&good(&event).replace("\"crc\":\"", "\"crc\":\"0"), "partial invalid_event");
    check_event(&good(&event), "good");
    check_event(&good("{\"x\":}"), "whole invalid_json");
    check_event(&good(&event.replace("notice", "telepathy")), "whole invalid_event");
    check_event(&good(&event.replace("info", "loud")), "whole invalid_event");
    check_event(&good(&event.replace("{\"seq\"", "{\"v\":2,\"seq\"")), "whole newer_version");
    check_event(&good(&event.replace("{\"seq\"", "{\"v\":1,\"seq\"")), "whole invalid_event");
    check_event("{\"v\":2,\"sealed\":\"otherwise\"}", "whole newer_version");
    let other = String::from_utf8(forged_line(&event, LineHash(1))).unwrap();
    check_event(other.trim_end(), "whole broken_chain");
}

#[test]
fn what_is_wrong_with_the_name_of_a_blob_has_a_name() {
    let text = "a".repeat(9);
    let sha256 = hex_of_sha256(text.as_bytes());
    let named = format!(r#"{{"blob":"{sha256}","bytes":9,"preview":"aaa"}}"#);
    let event = serde_json::to_string(&notice(1, "HERE")).unwrap();
    let with = |json: &str| event.replace("\"HERE\"", json);
    check_blobs(&with(&named), "9 bytes in blobs");
    check_blobs(&with("\"text\""), "0 bytes in blobs");
    check_blobs(&with(&named.replace("9,", "67108864,")), "whole bad_blob");
    check_blobs(&with(&named.replace("9,", "18446744073709551615,")), "whole bad_blob");
    check_blobs(&with(&named.replace("9,", "-1,")), "whole invalid_event");
    check_blobs(&with(&named.replace(",\"preview\":\"aaa\"", "")), "whole invalid_event");
    check_blobs(&with(&named.replace('}', ",\"more\":1}")), "whole invalid_event");
    check_blobs(&with(&named.replace(&sha256, &"0".repeat(64))), "whole bad_blob");
    check_blobs(&with(&format!("[{named}]")), "whole invalid_event");
    // Only texts may be long, and only those of the table.
    check_blobs(&with("\"x\"").replace("\"info\"", &named), "whole invalid_event");
    check_blobs(&with("\"x\"").replace("\"cli\"", &named), "whole invalid_event");
    check_blobs(&with(&named).replace("notice", "telepathy"), "whole invalid_event");
    check_event(&with(&named), "partial invalid_event");
}

#[test]
fn arguments_stand_in_the_line_or_in_a_blob_and_not_in_both() {
    let call = event_id(1).call(0);
    let answer = |fields: &str| {
        let body = format!(
            r#"{{"type":"assistant_message","message":{{"content":[{{"type":"tool_call","callId":"{call}","providerCallId":"p","tool":"t","input":{{}}}}]}},"stopReason":"tool_call"}}"#
        );
        let event = crate::samples::event(1, None, &body);
        serde_json::to_string(&event).unwrap().replace("\"input\":{}", fields)
    };
    let blob = |text: &str| {
        let sha256 = hex_of_sha256(text.as_bytes());
        format!(r#""inputBlob":{{"blob":"{sha256}","bytes":{},"preview":""}}"#, text.len())
    };
    check_blobs(&answer("\"input\":{}"), "0 bytes in blobs");
    check_blobs(&answer(&blob("{}")), "2 bytes in blobs");
    check_blobs(&answer(&format!("\"input\":{{}},{}", blob("{}"))), "whole invalid_event");
    check_blobs(&answer(&format!("{0},{0}", blob("{}"))), "whole invalid_event");
    check_blobs(&answer(&blob("{")), "whole bad_blob");
    check_blobs(&answer(&blob("[]")), "whole bad_blob");
    check_blobs(&answer(&blob("{} ")), "whole bad_blob");
    check_blobs(&answer(&blob("{\n}")), "whole bad_blob");
    check_blobs(&answer(&blob("{},\"rawInput\":\"x\"")), "whole bad_blob");
}

#[test]
fn what_is_wrong_with_a_header_has_a_name() {
    let json = serde_json::to_string(&header(1)).unwrap();
    let sealed = |json: &str| {
        let covered = json.strip_suffix('}').unwrap();
        format!("{covered},\"crc\":\"{:08x}\"}}", crc32c::crc32c(covered.as_bytes()))
    };
    check_header(&sealed(&json), "good");
    check_header("", "partial invalid_json");
    check_header("\0\0", "partial invalid_json");
    check_header(&json, "whole invalid_header");
    check_header(&sealed(&json).replace("ada", "bob"), "partial bad_crc");
    check_header(&sealed(&json.replace("\"v\":1", "\"v\":0")), "whole invalid_header");
    check_header(&sealed(&json.replace("\"v\":1", "\"v\":2")), "whole newer_version");
    check_header(&sealed(&json.replace("\"cwd\"", "\"dir\"")), "whole invalid_header");
    let newer = json.replace("\"v\":1", "\"v\":2").replace("\"cwd\"", "\"dir\"");
    check_header(&sealed(&newer), "whole newer_version");
    check_header(&newer, "whole newer_version");
    let event = serde_json::to_string(&user(1, None, "hi")).unwrap();
    check_header(&sealed(&event), "whole missing_header");
}

#[test]
fn a_hash_has_one_spelling() {
    assert_eq!("00000000000000ff".parse(), Ok(LineHash(255)));
    assert_eq!("00000000000000FF".parse::<LineHash>(), Err(LineHashError));
    assert_eq!("ff".parse::<LineHash>(), Err(LineHashError));
    assert_eq!("+0000000000000ff".parse::<LineHash>(), Err(LineHashError));
}

fn prev() -> LineHash {
    LineHash::of(b"the line before")
}

fn hex_of_sha256(bytes: &[u8]) -> String {
    let hex: Vec<String> = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    hex.concat()
}

#[track_caller]
fn check_refused(event: &Event, code: &str) {
    let (_, flaw) = encode_batch(std::slice::from_ref(event), prev()).unwrap_err();
    assert_eq!(flaw.code.as_str(), code, "{flaw}");
}

#[track_caller]
fn check_event(line: &str, expected: &str) {
    check(Decoder::default().event(line.as_bytes(), prev()).map(|_| ()), line, expected);
}

/// Of a line with this JSON, in a house whose blobs are `aaaaaaaaa` and some arguments.
#[track_caller]
fn check_blobs(json: &str, expected: &str) {
    let mut line = forged_line(json, prev());
    line.pop();
    let texts = ["aaaaaaaaa", "{}", "{", "[]", "{} ", "{\n}", "{},\"rawInput\":\"x\""];
    let read = Decoder::default().whole_event(&line, prev(), &mut |named| {
        let text = texts.iter().find(|it| hex_of_sha256(it.as_bytes()) == named.blob);
        let missing = || Flaw::wrong(DamageCode::BadBlob, "missing").into();
        text.map(|it| (*it).to_owned()).ok_or_else(missing)
    });
    let actual = match read {
        Ok(read) => format!("{} bytes in blobs", read.blob_bytes),
        Err(BadLine::Flaw(flaw)) => {
            format!("{} {}", if flaw.whole { "whole" } else { "partial" }, flaw.code)
        }
        Err(error) => panic!("{error:?}"),
    };
    assert_eq!(actual, expected, "of: {json}");
}

#[track_caller]
fn check_header(line: &str, expected: &str) {
    check(Decoder::default().header(line.as_bytes()).map(|_| ()), line, expected);
}

#[track_caller]
fn check(outcome: Result<(), Flaw>, line: &str, expected: &str) {
    let actual = match outcome {
        Ok(()) => "good".to_owned(),
        Err(flaw) => format!("{} {}", if flaw.whole { "whole" } else { "partial" }, flaw.code),
    };
    assert_eq!(actual, expected, "of: {line}");
}
