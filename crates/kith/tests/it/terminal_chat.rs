//! The conversation in a real terminal: what is typed, what is shown, what is sent.

use kith_testkit::gate::Gate;
use kith_testkit::server::ServerReply;
use serde_json::json;

use crate::house::{House, Vendor, of_type};
use crate::terminal::Terminal;

pub(crate) const PLAIN: [(&str, &str); 2] = [("NO_COLOR", "1"), ("LANG", "C.UTF-8")];
/// The row of keys below an input that waits.
pub(crate) const IDLE: &str = "Enter sends";
pub(crate) const BUSY: &str = "Enter queues";

pub(crate) fn chat(house: &House) -> Terminal {
    let mut terminal = Terminal::start(house, &[], &PLAIN);
    terminal.until(IDLE);
    terminal
}

/// What people said, as the log has it.
pub(crate) fn said(house: &House) -> Vec<String> {
    let log = house.log();
    let messages = of_type(&log, "user_message");
    let text = |it: &&serde_json::Value| {
        it["message"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    messages.iter().map(text).collect()
}

pub(crate) fn leave(mut terminal: Terminal) {
    terminal.press("\x04");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, 0, "{shown}");
}

#[test]
fn a_line_of_any_length_arrives_whole() {
    let english = (0..1_000).map(|n| format!("{n:05}")).collect::<Vec<_>>().join(" ");
    let chinese = "你好世界".repeat(500);
    for text in [english.as_str(), chinese.as_str()] {
        let vendor = Vendor::new([ServerReply::text("It is long.")]);
        let house = House::asking(&vendor);
        let mut terminal = chat(&house);
        terminal.paste(text);
        terminal.until("[paste 1: 1 line,");
        terminal.press("\r");
        terminal.until("It is long.");
        leave(terminal);
        assert_eq!(said(&house), [text]);
    }
}

#[test]
fn a_typed_line_beyond_4095_bytes_is_not_cut() {
    let vendor = Vendor::new([ServerReply::text("Read.")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    let text = "word ".repeat(1_000);
    terminal.press(&text);
    terminal.press("end\r");
    terminal.until("Read.");
    leave(terminal);
    assert_eq!(said(&house), [format!("{text}end")]);
}

#[test]
fn three_pasted_lines_are_one_message() {
    let vendor = Vendor::new([ServerReply::text("One turn.")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.paste("line one\nline two\nline three");
    terminal.until("line three");
    terminal.press("\r");
    terminal.until("One turn.");
    leave(terminal);
    assert_eq!(said(&house), ["line one\nline two\nline three"]);
    assert_eq!(vendor.requests().len(), 1);
}

#[test]
fn an_arrow_key_brings_back_what_was_sent_and_is_never_sent() {
    let vendor = Vendor::new([ServerReply::text("one"), ServerReply::text("two")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("first thing\r");
    terminal.until("\none\n");
    terminal.press("\x1b[A");
    terminal.press(" again\r");
    terminal.until("\ntwo\n");
    leave(terminal);
    assert_eq!(said(&house), ["first thing", "first thing again"]);
}

#[test]
fn what_stands_on_the_screen_is_what_is_sent() {
    let vendor = Vendor::new([ServerReply::text("ok")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("说 你好世界\x7f\x7f朋友");
    terminal.until("> 说 你好朋友");
    terminal.press("\r");
    terminal.until("\nok\n");
    leave(terminal);
    assert_eq!(said(&house), ["说 你好朋友"]);
}

#[test]
fn what_is_typed_while_it_works_waits_and_is_shown() {
    let gate = Gate::new();
    let slow = ServerReply::text("the first answer").behind(&gate);
    let vendor = Vendor::new([slow, ServerReply::text("the second answer")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("first\r");
    terminal.until("waiting for the model");
    terminal.until(BUSY);
    terminal.press("second\r");
    terminal.until("1 queued: second");
    terminal.press("half a th");
    terminal.until("> half a th");
    gate.open();
    terminal.until("the second answer");
    let shown = terminal.contents();
    let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("no {text}: {shown}"));
    assert!(place("> first") < place("the first answer"));
    assert!(place("the first answer") < place("> second"));
    assert!(shown.contains("> half a th"), "{shown}");
    terminal.press("\x15");
    leave(terminal);
}

#[test]
fn a_message_that_waits_comes_back_with_the_arrow_key() {
    let gate = Gate::new();
    let vendor = Vendor::new([ServerReply::text("one").behind(&gate), ServerReply::text("two")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("first\r");
    terminal.until(BUSY);
    terminal.press("secnd\r");
    terminal.until("1 queued: secnd");
    terminal.press("\x1b[A");
    terminal.until("> secnd");
    terminal.press("\x7f\x7fond\r");
    terminal.until("1 queued: second");
    gate.open();
    terminal.until("\ntwo\n");
    leave(terminal);
    assert_eq!(said(&house), ["first", "second"]);
}

#[test]
fn a_key_steers_the_running_turn() {
    let gate = Gate::new();
    let call = ServerReply::calls("", &[("list_files", json!({}))]).behind(&gate);
    let vendor = Vendor::new([call, ServerReply::text("in French")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("look around\r");
    terminal.until(BUSY);
    terminal.press("answer in French\x13");
    terminal.until("↪ answer in French");
    gate.open();
    terminal.until("\nin French\n");
    leave(terminal);
    let second = vendor.bodies()[1].to_string();
    assert!(second.contains("answer in French"), "{second}");
    assert_eq!(said(&house), ["look around"]);
}

#[test]
fn escape_stops_the_turn_and_the_next_message_works() {
    let vendor = Vendor::new([ServerReply::Hang, ServerReply::text("again")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("first\r");
    terminal.until(BUSY);
    vendor.until_asked(1);
    terminal.press("\x1b");
    terminal.until("(stopped)");
    terminal.press("second\r");
    terminal.until("\nagain\n");
    terminal.until(IDLE);
    terminal.press("\x03");
    terminal.until("press Ctrl-C again");
    terminal.press("\x03");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_call_is_shown_with_what_it_was_for_and_why_it_failed() {
    let calls =
        [("read_file", json!({"path": "note.txt"})), ("read_file", json!({"path": "gone.md"}))];
    let vendor = Vendor::new([ServerReply::calls("", &calls), ServerReply::text("Done.")]);
    let house = House::asking(&vendor);
    house.write("note.txt", "one\ntwo\nthree\n");
    let mut terminal = chat(&house);
    terminal.press("read\r");
    terminal.until("Done.");
    let shown = terminal.contents();
    assert!(shown.contains("• read_file note.txt · "), "{shown}");
    assert!(shown.contains("• read_file gone.md · failed: "), "{shown}");
    assert!(shown.contains("does not exist"), "{shown}");
    leave(terminal);
}

#[test]
fn the_output_of_a_call_is_opened_on_demand() {
    let call = ServerReply::calls("", &[("read_file", json!({"path": "note.txt"}))]);
    let vendor = Vendor::new([call, ServerReply::text("Done.")]);
    let house = House::asking(&vendor);
    house.write("note.txt", "one\ntwo\n");
    let mut terminal = chat(&house);
    terminal.press("read\r");
    terminal.until("Done.");
    terminal.until(IDLE);
    assert!(!terminal.contents().contains("two"));
    terminal.press("\x0f");
    terminal.until("two");
    leave(terminal);
}

#[test]
fn an_answer_is_shown_as_markdown() {
    let answer = "# Title\n\nSome **bold** text.\n\n```rust\nfn main() {}\n```\n\n| a | b |\n|---|--:|\n| 1 | 22 |\n\n- one\n- two";
    let vendor = Vendor::new([ServerReply::text(answer)]);
    let house = House::asking(&vendor);
    let mut terminal = Terminal::start(&house, &[], &[("LANG", "C.UTF-8")]);
    terminal.until(IDLE);
    terminal.press("show\r");
    terminal.until("• two");
    let shown = terminal.contents();
    assert!(shown.contains("\nTitle\n\nSome bold text.\n\n  fn main() {}\n\na   b\n"), "{shown}");
    assert!(terminal.raw().contains("\x1b[1mbold\x1b[0m"));
    leave(terminal);
}

#[test]
fn a_conversation_that_goes_on_shows_its_last_messages() {
    let vendor = Vendor::new([ServerReply::text("the **old** answer")]);
    let house = House::asking(&vendor);
    house.kith(&["ask", "an old question"]).succeeded();
    let mut terminal = chat(&house);
    terminal.until("> an old question");
    terminal.until("the old answer");
    leave(terminal);
}

#[test]
fn what_others_say_appears_with_who_said_it() {
    let vendor = Vendor::new([ServerReply::text("for both")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    house.kith(&["ask", "from outside"]).succeeded();
    terminal.until("(in another terminal)");
    terminal.until("> from outside");
    terminal.until("for both");
    leave(terminal);
}

#[test]
fn a_session_removed_under_a_conversation_is_told_and_the_next_message_works() {
    let vendor = Vendor::new([ServerReply::text("one"), ServerReply::text("two")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("first\r");
    terminal.until("\none\n");
    terminal.until(IDLE);
    house.kith(&["session", "rm", "latest", "--yes"]).succeeded();
    terminal.until("this session was removed");
    terminal.press("second\r");
    terminal.until("\ntwo\n");
    leave(terminal);
}

#[test]
fn a_narrow_terminal_and_a_resize_in_mid_stream_lose_nothing() {
    let vendor = Vendor::new([ServerReply::Trickle { pause_ms: 5 }, ServerReply::text("after")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.resize(12, 20);
    terminal.press("go\r");
    terminal.until("answering");
    terminal.resize(20, 60);
    terminal.press("\x1b");
    terminal.until("(stopped)");
    terminal.press("next\r");
    terminal.until("\nafter\n");
    leave(terminal);
}

#[test]
fn a_paste_of_5_mb_arrives_whole_and_one_that_is_too_long_is_refused_and_kept() {
    let house = House::new();
    let mut terminal = Terminal::start(&house, &["--model", "demo"], &PLAIN);
    terminal.until(IDLE);
    let text = "0123456789".repeat(500_000);
    terminal.paste(&text);
    terminal.until("5000000 bytes]");
    terminal.press("\r");
    terminal.until("… (4 MB)");
    terminal.until("of the context");
    assert_eq!(house_said_bytes(&house), [5_000_000]);
    terminal.paste(&text);
    terminal.until("5000000 bytes]");
    terminal.paste(&text);
    terminal.until("[paste 2");
    terminal.press("\r");
    terminal.until("error: the message is too long");
    terminal.until("10000000 bytes]");
    terminal.press("\x03");
    leave(terminal);
    assert_eq!(house_said_bytes(&house), [5_000_000]);
}

/// The lengths of what people said; long texts stand in blobs.
fn house_said_bytes(house: &House) -> Vec<u64> {
    let shown = house.json(&["session", "show", "latest", "--json"]);
    let events = shown["events"].as_array().unwrap();
    let said = events.iter().filter(|it| it["type"] == "user_message");
    said.map(|it| it["message"]["content"][0]["text"].as_str().unwrap().len() as u64).collect()
}

#[test]
fn the_terminal_speaks_chinese() {
    let house = House::new();
    let variables = [("NO_COLOR", "1"), ("LANG", "zh_CN.UTF-8")];
    let mut terminal = Terminal::start(&house, &["--model", "demo"], &variables);
    terminal.until("Enter 发送");
    terminal.press("/help\r");
    terminal.until("开始新会话");
    leave(terminal);
}

#[test]
fn plain_reads_line_by_line() {
    let house = House::new();
    let mut terminal = Terminal::start(&house, &["--plain", "--model", "demo"], &PLAIN);
    terminal.until("\n> ");
    terminal.press("say one\r");
    terminal.until("\none");
    let shown = terminal.contents();
    assert!(!shown.contains(IDLE), "{shown}");
    leave(terminal);
}

#[test]
fn commands_answer_in_the_conversation() {
    let vendor = Vendor::new([ServerReply::text("one"), ServerReply::text("two")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("first\r");
    terminal.until("\none\n");
    for (command, answer) in [
        ("/why", "rebuilt from the log byte for byte"),
        ("/cost", "all sessions"),
        ("/queue", "/queue go"),
        ("/nonsense", "unknown command /nonsense:"),
    ] {
        terminal.press(&format!("{command}\r"));
        terminal.until(answer);
    }
    terminal.press("/new\r");
    terminal.until("your next message starts a new session");
    terminal.press("second\r");
    terminal.until("\ntwo\n");
    leave(terminal);
    assert_eq!(house.session_files().len(), 2);
}

#[test]
fn a_terminal_goes_on_when_the_host_leaves_politely() {
    let vendor = Vendor::new([ServerReply::text("one"), ServerReply::text("two")]);
    let house = House::asking(&vendor);
    let first = chat(&house);
    let mut second = chat(&house);
    second.press("for the first host\r");
    second.until("\none\n");
    leave(first);
    second.press("are you there\r");
    second.until("\ntwo\n");
    second.until(IDLE);
    leave(second);
}

#[test]
fn what_was_sent_just_before_leaving_is_not_lost() {
    let gate = Gate::new();
    let vendor = Vendor::new([ServerReply::text("late").behind(&gate)]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("typed ahead\r\x04");
    gate.open();
    let (code, shown, _) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(said(&house), ["typed ahead"]);
}

#[test]
fn a_terminal_opened_while_a_turn_runs_shows_it_and_can_stop_it() {
    let vendor = Vendor::new([ServerReply::Hang]);
    let house = House::asking(&vendor);
    let mut first = chat(&house);
    first.press("think\r");
    vendor.until_asked(1);
    first.until(BUSY);
    let mut second = Terminal::start(&house, &[], &PLAIN);
    second.until(BUSY);
    second.press("\x1b");
    second.until("(stopped)");
    first.until("(stopped)");
    leave(second);
    leave(first);
}

#[test]
fn a_resumed_session_that_is_removed_gives_way_to_a_new_one() {
    let vendor = Vendor::new([ServerReply::text("one"), ServerReply::text("two")]);
    let house = House::asking(&vendor);
    house.kith(&["ask", "old"]).succeeded();
    let mut terminal = Terminal::start(&house, &["resume", "latest"], &PLAIN);
    terminal.until(IDLE);
    terminal.until("> old");
    house.kith(&["session", "rm", "latest", "--yes"]).succeeded();
    terminal.until("this session was removed");
    terminal.press("new\r");
    terminal.until("\ntwo\n");
    leave(terminal);
}

#[test]
fn a_refused_first_message_still_starts_the_new_session() {
    let vendor = Vendor::new([ServerReply::text("one"), ServerReply::text("two")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("first\r");
    terminal.until("\none\n");
    terminal.until(IDLE);
    terminal.press("/new\r");
    terminal.until("starts a new session");
    let settings = house.path("kith.toml");
    let before = std::fs::read_to_string(&settings).unwrap_or_default();
    house.write("kith.toml", "nonsense = 1\n");
    terminal.press("second\r");
    terminal.until("unknown key");
    house.write("kith.toml", &before);
    terminal.until("> second");
    terminal.press("\r");
    terminal.until("\ntwo\n");
    leave(terminal);
    assert_eq!(house.session_files().len(), 2);
}

#[test]
fn a_line_that_begins_with_a_path_is_said() {
    let vendor = Vendor::new([ServerReply::text("ok")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("/tmp is full, clean it\r");
    terminal.until("\nok\n");
    leave(terminal);
    assert_eq!(said(&house), ["/tmp is full, clean it"]);
}

#[test]
fn a_closed_window_leaves_the_answer_in_the_log() {
    let gate = Gate::new();
    let vendor = Vendor::new([ServerReply::text("answered").behind(&gate)]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("go\r");
    vendor.until_asked(1);
    drop(terminal);
    gate.open();
    house.kith(&["ask", "--model", "demo", "say after"]).succeeded();
    assert_eq!(said(&house)[0], "go");
}
