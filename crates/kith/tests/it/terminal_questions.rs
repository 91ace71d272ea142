//! Questions about calls in a real terminal: shown, answered by a key, in words, or elsewhere.

use kith_testkit::server::ServerReply;
use serde_json::json;

use crate::house::{House, Vendor, of_type};
use crate::terminal::Terminal;
use crate::terminal_chat::{IDLE, PLAIN, leave};

const ASKS: &str = "[policy]\nask = [\"read_file\"]\n";
const KEYS: &str = "y yes · n no";

fn reads(files: &[&str]) -> ServerReply {
    let calls: Vec<_> = files.iter().map(|file| ("read_file", json!({ "path": *file }))).collect();
    ServerReply::calls("", &calls)
}

fn house(vendor: &Vendor) -> House {
    let house = House::asking(vendor);
    house.write("kith.toml", ASKS);
    house.write("note.txt", "apples\n");
    house
}

fn asked(house: &House, size: (u16, u16)) -> Terminal {
    let mut terminal = Terminal::sized_with(house, &[], size, &PLAIN);
    terminal.until("> ");
    terminal.press("read it\r");
    terminal
}

fn decisions(house: &House) -> Vec<(String, String)> {
    let log = house.log();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    of_type(&log, "approval_decided")
        .iter()
        .map(|it| (text(&it["decision"]), text(&it["via"])))
        .collect()
}

fn decided(decision: &str, via: &str) -> (String, String) {
    (decision.to_owned(), via.to_owned())
}

#[test]
fn one_key_answers_a_question_and_the_turn_goes_on() {
    for (key, decision, told) in [("y", "allow", "✓ allowed: "), ("n", "deny", "✗ denied: ")] {
        let vendor = Vendor::new([reads(&["note.txt"]), ServerReply::text("It says apples.")]);
        let house = house(&vendor);
        let mut terminal = asked(&house, (100, 30));
        terminal.until(KEYS);
        let shown = terminal.contents();
        for part in [
            "? read_file note.txt [",
            "the rule `read_file` says to ask",
            "waiting for your answer",
        ] {
            assert!(shown.contains(part), "{part}:\n{shown}");
        }
        terminal.press(key);
        terminal.until(told);
        terminal.until("It says apples.");
        terminal.until(IDLE);
        assert!(!terminal.contents().contains(KEYS), "{}", terminal.contents());
        leave(terminal);
        assert_eq!(decisions(&house), [decided(decision, "command")]);
    }
}

#[test]
fn a_word_that_begins_with_a_key_is_no_answer_by_that_key() {
    let vendor = Vendor::new([reads(&["note.txt"]), ServerReply::text("Then not.")]);
    let house = house(&vendor);
    let mut terminal = asked(&house, (100, 30));
    terminal.until(KEYS);
    terminal.press("yes, but only if it is short\r");
    terminal.until("The reply sets a condition");
    assert_eq!(decisions(&house), []);
    terminal.press("no, leave it\r");
    terminal.until("✗ denied: read_file note.txt");
    terminal.until("Then not.");
    terminal.until(IDLE);
    leave(terminal);
    assert_eq!(decisions(&house), [decided("deny", "words")]);
    assert_eq!(of_type(&house.log(), "user_message").len(), 1, "an answer is no message");
}

#[test]
fn several_questions_are_answered_one_by_one() {
    let vendor = Vendor::new([reads(&["note.txt", "Agent.md"]), ServerReply::text("Both seen.")]);
    let house = house(&vendor);
    let mut terminal = asked(&house, (100, 30));
    terminal.until("Tab next question (1/2)");
    terminal.press("\t");
    terminal.until("Tab next question (2/2)");
    terminal.until("? read_file Agent.md");
    terminal.until(KEYS);
    terminal.press("n");
    terminal.until("✗ denied: read_file Agent.md");
    terminal.until("? read_file note.txt");
    terminal.until(KEYS);
    terminal.press("y");
    terminal.until("Both seen.");
    leave(terminal);
    assert_eq!(decisions(&house), [decided("deny", "command"), decided("allow", "command")]);
}

#[test]
fn an_answer_given_elsewhere_takes_the_question_from_every_screen() {
    let vendor = Vendor::new([reads(&["note.txt"]), ServerReply::text("Seen.")]);
    let house = house(&vendor);
    let mut first = asked(&house, (100, 30));
    first.until(KEYS);
    // One that opens while the question waits has it too.
    let mut second = Terminal::start(&house, &[], &PLAIN);
    second.until(KEYS);
    house.kith(&["approve"]).succeeded();
    for terminal in [&mut first, &mut second] {
        terminal.until("✓ allowed (owner, in another terminal): read_file note.txt");
        terminal.until("Seen.");
        terminal.until(IDLE);
    }
    leave(second);
    leave(first);
    assert_eq!(decisions(&house), [decided("allow", "command")]);
}

#[test]
fn a_question_in_20_columns_has_everything_and_takes_keys() {
    let vendor = Vendor::new([reads(&["note.txt"]), ServerReply::text("Seen.")]);
    let house = house(&vendor);
    let mut terminal = asked(&house, (20, 24));
    terminal.until("n no");
    let shown = terminal.contents();
    assert!(shown.contains("? read_file note.txt") && shown.contains("(the rule"), "{shown}");
    assert!(!terminal.is_any_row_wrapped(), "{shown}");
    terminal.press("y");
    terminal.until("Seen.");
    leave(terminal);
}

#[test]
fn escape_stops_a_turn_that_asks() {
    let vendor = Vendor::new([reads(&["note.txt"]), ServerReply::text("again")]);
    let house = house(&vendor);
    let mut terminal = asked(&house, (100, 30));
    terminal.until(KEYS);
    terminal.press("\x1b");
    terminal.until("(stopped)");
    terminal.until(IDLE);
    leave(terminal);
    assert_eq!(decisions(&house), [decided("deny", "cancel")]);
}

#[test]
fn a_question_is_chinese_in_a_chinese_terminal() {
    let vendor = Vendor::new([reads(&["note.txt"]), ServerReply::text("好。")]);
    let house = house(&vendor);
    let variables = [("NO_COLOR", "1"), ("LANG", "zh_CN.UTF-8")];
    let mut terminal = Terminal::start(&house, &[], &variables);
    terminal.until("Enter 发送");
    terminal.press("读一下\r");
    terminal.until("y 同意 · n 拒绝");
    assert!(terminal.contents().contains("会读取内容"), "{}", terminal.contents());
    terminal.press("同意\r");
    terminal.until("✓ 已同意：read_file note.txt");
    terminal.until("好。");
    leave(terminal);
    assert_eq!(decisions(&house), [decided("allow", "words")]);
}

#[test]
fn a_pipe_is_told_the_question_and_how_to_answer_it() {
    let vendor = Vendor::new([reads(&["note.txt"]), ServerReply::text("It says apples.")]);
    let house = house(&vendor);
    let ran = house.kith(&["--quiet", "ask", "read it"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    let code = house.log();
    let code = of_type(&code, "approval_requested")[0]["code"].as_str().unwrap().to_owned();
    assert!(
        ran.stderr.contains(&format!("Approval needed [{code}]: read_file note.txt")),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains(&format!("`kith approve {code}`")), "{}", ran.stderr);
    assert_eq!(house.kith(&["approve", &code]).succeeded().stdout, "It says apples.\n");
}

#[test]
fn a_change_of_the_agent_itself_is_shown_as_a_diff_in_colour() {
    let call = ServerReply::calls(
        "",
        &[("write_file", json!({ "path": "SOUL.md", "content": "Be bold.\n" }))],
    );
    let vendor = Vendor::new([call, ServerReply::text("Left alone.")]);
    let house = House::asking(&vendor);
    let mut terminal = Terminal::start(&house, &[], &[("LANG", "C.UTF-8")]);
    terminal.until("Enter sends");
    terminal.press("be bold\r");
    terminal.until("y yes · n no");
    let shown = terminal.contents();
    assert!(shown.contains("? write_file SOUL.md ["), "{shown}");
    assert!(shown.contains("    +Be bold."), "{shown}");
    assert!(terminal.raw().contains("\u{1b}[32m    +Be bold."), "in green");
    terminal.press("n");
    terminal.until("Left alone.");
    leave(terminal);
    assert!(!house.path("SOUL.md").exists());
}

#[test]
fn the_whole_command_is_shown_before_it_may_run() {
    let command = "rm -r build && echo cleaned";
    let call = ServerReply::calls("", &[("exec_shell", json!({ "command": command }))]);
    let vendor = Vendor::new([call, ServerReply::text("Kept.")]);
    let house = House::asking(&vendor);
    house.write("build/a.o", "object");
    let mut terminal = asked(&house, (100, 30));
    terminal.until("n no");
    let shown = terminal.contents();
    assert!(shown.contains(&format!("    {command}")), "{shown}");
    terminal.press("n");
    terminal.until("Kept.");
    leave(terminal);
    assert!(house.path("build/a.o").exists());
}
