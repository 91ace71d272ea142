//! A test is a file, a call, and what the model reads.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;

use kith_vocab::tool::ToolOutcome;

use super::*;
use crate::fixture::{World, write_file};

#[test]
fn schema_names_the_fields_of_the_input() {
    let schema: Value = serde_json::from_str(ReadFile::INPUT_SCHEMA).unwrap();
    let all = ReadFileInput { path: String::new(), offset: Some(1), limit: Some(1) };
    assert_eq!(keys(&schema["properties"]), keys(&serde_json::to_value(all).unwrap()));
    assert_eq!(schema["required"], serde_json::json!(["path"]));
}

#[test]
fn lines_come_numbered_under_a_header() {
    check("a\nb\n", "", "f: lines 1-2 of 2\n1\ta\n2\tb\n");
    check("a\n\n\nb\n", "", "f: lines 1-4 of 4\n1\ta\n2\t\n3\t\n4\tb\n");
    check("你好\n", "", "f: lines 1-1 of 1\n1\t你好\n");
    check("\n", "", "f: lines 1-1 of 1\n1\t\n");
}

#[test]
fn ends_of_lines_and_of_the_file_are_kept_and_told() {
    check("a\nb", "", "f: lines 1-2 of 2, no newline at the end\n1\ta\n2\tb");
    check("a\r\nb\r\n", "", "f: lines 1-2 of 2, lines end in CRLF\n1\ta\r\n2\tb\r\n");
    check("a\rb\n", "", "f: lines 1-1 of 1\n1\ta\rb\n");
    check(
        "a\nb",
        r#","limit":1"#,
        "f: lines 1-1 of 2\n1\ta\n… 1 more line; continue with offset 2",
    );
}

#[test]
fn empty_file_is_said_to_be_empty() {
    check("", "", "f: empty file");
    check("", r#","offset":5"#, "f: empty file");
}

#[test]
fn pages_say_where_to_continue() {
    let three = "a\nb\nc\n";
    check(three, r#","offset":2"#, "f: lines 2-3 of 3\n2\tb\n3\tc\n");
    check(
        three,
        r#","limit":1"#,
        "f: lines 1-1 of 3\n1\ta\n… 2 more lines; continue with offset 2",
    );
    check(three, r#","offset":3,"limit":9"#, "f: lines 3-3 of 3\n3\tc\n");
    let most = u64::MAX;
    let limit = format!(r#","offset":2,"limit":{most}"#);
    check(three, &limit, "f: lines 2-3 of 3\n2\tb\n3\tc\n");
}

#[test]
fn offset_beyond_the_end_says_how_many_lines_there_are() {
    check("a\nb\n", r#","offset":3"#, "error: `f` has 2 lines; line 3 cannot be shown");
    check("a", r#","offset":2"#, "error: `f` has 1 line; line 2 cannot be shown");
    let offset = format!(r#","offset":{}"#, u64::MAX);
    let expected = format!("error: `f` has 1 line; line {} cannot be shown", u64::MAX);
    check("a", &offset, &expected);
}

#[test]
fn wrong_numbers_are_refused() {
    check("a", r#","offset":0"#, "error: `offset` counts lines from 1");
    check("a", r#","limit":0"#, "error: `limit` must be at least 1");
    for rest in [r#","offset":-1"#, r#","offset":"1""#, r#","limit":1.5"#, r#","limit":1e30"#] {
        let text = read_text("a", rest);
        assert!(text.starts_with("error: the input of read_file is wrong: invalid "), "{text}");
    }
}

#[test]
fn binary_files_are_refused_with_their_size() {
    let mut bytes = vec![b'x'; 8191];
    bytes.push(0);
    bytes.extend([b'y'; 3000]);
    let expected = "error: `f` is a binary file of 11,192 bytes; read_file shows text only";
    check(&bytes, "", expected);
    bytes[8191] = b'\n';
    bytes[8192] = 0;
    assert!(read_text(&bytes, "").starts_with("f: lines 1-2 of 2"));
}

#[test]
fn invalid_utf8_is_replaced_and_told() {
    check(
        b"ok\ncaf\xe9\n",
        "",
        "f: lines 1-2 of 2, invalid UTF-8 shown as \u{fffd}\n1\tok\n2\tcaf\u{fffd}\n",
    );
    check(
        b"ok\ncaf\xe9\n",
        r#","limit":1"#,
        "f: lines 1-1 of 2\n1\tok\n… 1 more line; continue with offset 2",
    );
    // A replacement is longer than what it replaces, and the page must still fit.
    let text = read_text([0xff_u8; 10_000], "");
    assert_eq!(
        text,
        "f: lines 1-1 of 1, no newline at the end\n\
         [line 1 is 10,000 bytes long, too long to show]\n"
    );
}

#[test]
fn line_too_long_to_show_is_stated() {
    let long = "x".repeat(2_000_000);
    check(
        format!("{long}\n"),
        "",
        "f: lines 1-1 of 1\n[line 1 is 2,000,001 bytes long, too long to show]\n",
    );
    check(
        format!("a\n{long}\nb\n"),
        "",
        "f: lines 1-3 of 3\n1\ta\n[line 2 is 2,000,001 bytes long, too long to show]\n3\tb\n",
    );
}

#[test]
fn line_that_fits_a_page_but_not_this_one_opens_the_next() {
    let nearly = "x".repeat(15_000);
    let content = format!("{nearly}\n{nearly}\nend\n");
    let first = read_text(&content, "");
    assert!(first.ends_with("… 2 more lines; continue with offset 2"));
    let second = read_text(&content, r#","offset":2"#);
    assert_eq!(second, format!("f: lines 2-3 of 3\n2\t{nearly}\n3\tend\n"));
}

#[test]
fn ten_megabytes_are_counted_right_and_shown_in_part() {
    let n_lines = 200_000;
    let mut content = String::new();
    for number in 1..=n_lines {
        writeln!(content, "{number:050}").unwrap();
    }
    assert!(content.len() > 10_000_000);
    let world = World::new("");
    write_file(&world.path("yard/f"), &content);
    let text = world.call("read_file", r#"{"path":"f","offset":150000}"#);
    let (header, body) = text.split_once('\n').unwrap();
    let last: u64 = body.lines().rev().nth(1).unwrap().split_once('\t').unwrap().0.parse().unwrap();
    assert_eq!(header, format!("f: lines 150000-{last} of {n_lines}"));
    assert_eq!(body.lines().next().unwrap(), format!("150000\t{:050}", 150_000));
    let more = display::number(n_lines - last);
    let footer = format!("… {more} more lines; continue with offset {}", last + 1);
    assert_eq!(body.lines().last().unwrap(), footer);
    assert!(text.len() > TOOL_OUTPUT_BYTES_MAX - 600, "the page is full: {}", text.len());
}

#[test]
fn beyond_what_is_looked_at_only_at_least_is_said() {
    let page = |content: &[u8], first| {
        let mut page = FilePage::new(first, None, 1000);
        content.chunks(3).for_each(|chunk| page.take(chunk));
        page.finish(true);
        page.into_text("f")
    };
    let expected = "f: lines 1-2 of at least 3\n1\taaaa\n2\tb\n\
                    … at least 1 more line; continue with offset 3";
    assert_eq!(page(b"aaaa\nb\nhalf a li", 1).unwrap(), expected);
    let reason = page(b"aaaa\nb\nhalf a li", 3).unwrap_err();
    assert_eq!(reason, "`f` has at least 3 lines; line 3 cannot be shown");
}

#[test]
fn pages_put_together_are_the_file() {
    for content in ["a\nbb\n\nccc\r\n\nd", "a\n\n\n", "x", "\n", "一\n二\r\n三\n四"] {
        let n_lines = content.split_inclusive('\n').count() as u64;
        for chunk_len in 1..=content.len() {
            for first in 1..=n_lines {
                for limit in 1..=n_lines + 1 {
                    assert_eq!(in_pages(content, chunk_len, first, limit), tail(content, first));
                }
            }
        }
    }
}

#[test]
fn full_pages_put_together_are_the_file() {
    let mut content = String::new();
    for number in 0..3000 {
        writeln!(content, "{}", "行".repeat(number % 40)).unwrap();
    }
    let world = World::new("");
    write_file(&world.path("yard/f"), &content);
    let (mut whole, mut offset) = (String::new(), 1);
    for _ in 0..100 {
        let text = world.call("read_file", &format!(r#"{{"path":"f","offset":{offset}}}"#));
        let (body, next) = parse_page(&text);
        whole.push_str(&body);
        match next {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!(whole, content);
}

#[test]
fn pipes_are_refused_without_waiting() {
    let world = World::new("//- yard/pipe |");
    assert_eq!(
        world.call("read_file", r#"{"path":"pipe"}"#),
        "error: `pipe` is neither a file nor a folder but a pipe, socket or device"
    );
}

#[test]
fn folder_is_sent_to_list_files() {
    let world = World::new("//- yard/d/");
    let text = world.call("read_file", r#"{"path":"d"}"#);
    assert_eq!(text, "error: `d` is a folder; use list_files");
}

#[test]
fn cancelled_call_reads_nothing() {
    let world = World::new("//- yard/f\na\n");
    let prepared = world.prepare("read_file", r#"{"path":"f"}"#).unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let output = world.run_until("read_file", prepared, &cancel);
    let text = output.plain_text();
    assert_eq!((&*text, output.outcome), ("read_file was cancelled", ToolOutcome::Failed));

    let mut page = FilePage::new(1, None, 1000);
    let file = File::open(world.path("yard/f")).unwrap();
    assert!(!fill(&mut page, b"", file, &cancel).unwrap());
}

#[track_caller]
fn check(content: impl AsRef<[u8]>, rest: &str, expected: &str) {
    assert_eq!(read_text(content, rest), expected);
}

fn read_text(content: impl AsRef<[u8]>, rest: &str) -> String {
    let world = World::new("");
    write_file(&world.path("yard/f"), content);
    world.call("read_file", &format!(r#"{{"path":"f"{rest}}}"#))
}

fn in_pages(content: &str, chunk_len: usize, first: u64, limit: u64) -> String {
    let (mut whole, mut offset) = (String::new(), first);
    for _ in 0..=content.len() {
        let mut page = FilePage::new(offset, Some(limit), 1000);
        content.as_bytes().chunks(chunk_len).for_each(|chunk| page.take(chunk));
        page.finish(false);
        let (body, next) = parse_page(&page.into_text("f").unwrap());
        whole.push_str(&body);
        match next {
            Some(next) => offset = next,
            None => return whole,
        }
    }
    panic!("the pages do not end");
}

fn tail(content: &str, first: u64) -> String {
    content.split_inclusive('\n').skip(usize::try_from(first).unwrap() - 1).collect()
}

/// The text of a page without header, numbers and footer, and where to continue.
fn parse_page(text: &str) -> (String, Option<u64>) {
    let mut body = String::new();
    for line in text.split_inclusive('\n').skip(1) {
        if let Some((_, next)) = line.split_once("; continue with offset ") {
            return (body, Some(next.parse().unwrap()));
        }
        body.push_str(line.split_once('\t').unwrap().1);
    }
    (body, None)
}

fn keys(object: &Value) -> BTreeSet<&String> {
    object.as_object().unwrap().keys().collect()
}
