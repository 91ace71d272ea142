//! Screens of real conversations, kept in `testdata/screens` for the README and the guides.
//!
//! A screen that has changed fails; with `KITH_WRITE_SCREENS=1` it is written anew instead.

use std::path::Path;

use kith_testkit::gate::Gate;
use kith_testkit::server::ServerReply;
use serde_json::json;

use crate::house::{House, Vendor};
use crate::terminal::Terminal;

const SIZE: (u16, u16) = (78, 24);
const ENGLISH: [(&str, &str); 2] = [("NO_COLOR", "1"), ("LANG", "C.UTF-8")];
const CHINESE: [(&str, &str); 2] = [("NO_COLOR", "1"), ("LANG", "zh_CN.UTF-8")];
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// What stands for ids, times and folders, which differ from run to run.
const IDS: [&str; 3] = ["7b41c09e", "3d9f26a8", "e05a71b4"];
const TIME: &str = "2026-03-14 09:26";

fn house(vendor: &Vendor, name: &str) -> House {
    let house = House::asking(vendor);
    house.write("IDENTITY.md", format!("- Name: {name}\n"));
    house.write("notes/plan.md", "# Plan\n\n1. Write the parser.\n2. Test it.\n3. Ship it.\n");
    house
}

/// Compares the screen with the one that is kept.
#[track_caller]
fn keep(name: &str, house: &House, terminal: &Terminal) {
    let screen = stable(&terminal.contents(), house);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/screens");
    let path = folder.join(format!("{name}.txt"));
    if std::env::var_os("KITH_WRITE_SCREENS").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&path, &screen).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        screen, kept,
        "the screen `{name}` has changed; KITH_WRITE_SCREENS=1 writes it anew"
    );
}

/// The screen without what differs from run to run.
fn stable(screen: &str, house: &House) -> String {
    let root = house.path("").display().to_string();
    let screen = screen.replace(root.trim_end_matches('/'), "~/house").replace(SPINNER, "⠹");
    let mut n_ids = 0;
    let mut stable = String::new();
    for line in screen.lines() {
        let line = with_steady_seconds(line.trim_end());
        let line = with_steady_entry(&line, &mut n_ids);
        stable.push_str(&line);
        stable.push('\n');
    }
    stable
}

/// `7 s ·` becomes `2 s ·`.
fn with_steady_seconds(line: &str) -> String {
    let Some((before, after)) = line.split_once(" s") else { return line.to_owned() };
    let number = before.trim_end_matches(|ch: char| ch.is_ascii_digit());
    let is_time = number.len() < before.len() && (after.is_empty() || after.starts_with(" · "));
    if is_time { format!("{number}2 s{after}") } else { line.to_owned() }
}

/// An entry of a list of sessions: mark, id, title, folder, time.
fn with_steady_entry(line: &str, n_ids: &mut usize) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(day) = words.iter().position(|word| word.len() == 10 && word.starts_with("20")) else {
        return line.to_owned();
    };
    let id = words
        .iter()
        .find(|word| word.len() == 8 && word.chars().all(|it| it.is_ascii_alphanumeric()));
    let Some(id) = id else { return line.to_owned() };
    // A row may end before the time does.
    let Some(hour) = words.get(day + 1) else { return line.to_owned() };
    let time = format!("{} {hour}", words[day]);
    *n_ids += 1;
    line.replace(id, IDS[*n_ids - 1]).replace(&time, TIME)
}

#[test]
fn the_screen_of_a_conversation_with_a_call() {
    let answer = "The plan has **three** steps:\n\n1. Write the parser.\n2. Test it.\n3. Ship it.\n\nSay *go*, and I begin with `src/parser.rs`.";
    let call = ServerReply::calls("", &[("read_file", json!({"path": "notes/plan.md"}))]);
    let vendor = Vendor::new([call, ServerReply::text(answer)]);
    let house = house(&vendor, "Mira");
    let mut terminal = Terminal::sized_with(&house, &[], SIZE, &ENGLISH);
    terminal.until("Enter sends");
    terminal.press("what is the plan?\r");
    terminal.until("of the context");
    terminal.until("Enter sends");
    keep("conversation", &house, &terminal);
}

#[test]
fn the_screen_of_a_queue_with_a_steer() {
    let gate = Gate::new();
    let call = ServerReply::calls("", &[("read_file", json!({"path": "notes/plan.md"}))]);
    let vendor = Vendor::new([call.behind(&gate), ServerReply::text("Done.")]);
    let house = house(&vendor, "Mira");
    let mut terminal = Terminal::sized_with(&house, &[], SIZE, &ENGLISH);
    terminal.until("Enter sends");
    terminal.press("summarise the plan\r");
    vendor.until_asked(1);
    terminal.until("waiting for the model");
    terminal.press("then write the tests\r");
    terminal.until("1 queued: then write the tests");
    terminal.press("in one sentence, please\x13");
    terminal.until("↪ in one sentence, please");
    terminal.press("and what about ");
    terminal.until("> and what about");
    keep("queue", &house, &terminal);
    gate.open();
    terminal.press("\x15");
    terminal.until("> then write the tests");
}

#[test]
fn the_screen_of_the_list_of_sessions() {
    let replies = ["Yes.", "Done.", "Here it is."].map(ServerReply::text);
    let vendor = Vendor::new(replies);
    let house = house(&vendor, "Mira");
    for text in
        ["is the parser ready?", "write the tests for the parser", "draft the release notes"]
    {
        house.kith(&["ask", "--new", text]).succeeded();
    }
    // So that the folder has the same name in every run.
    let home = house.path("..").canonicalize().unwrap();
    let home = [("HOME", home.to_str().unwrap())];
    let variables: Vec<_> = ENGLISH.into_iter().chain(home).collect();
    let mut terminal = Terminal::sized_with(&house, &[], SIZE, &variables);
    terminal.until("Enter sends");
    terminal.press("/resume\r");
    terminal.until("Sessions · 1/3");
    terminal.press("\x1b[B");
    terminal.until("Sessions · 2/3");
    keep("resume", &house, &terminal);
    terminal.press("ready");
    terminal.until("Sessions · 1/1");
    terminal.press("\r");
    terminal.until("> is the parser ready?");
    terminal.until("Enter sends");
}

#[test]
fn the_screen_of_a_conversation_in_chinese() {
    let answer = "计划分**三步**：\n\n1. 编写解析器\n2. 编写测试 ✅\n3. 发布\n\n| 步骤 | 状态 |\n|---|---|\n| 解析器 | 进行中 |\n| 测试 | 未开始 |";
    let call = ServerReply::calls("", &[("read_file", json!({"path": "notes/plan.md"}))]);
    let vendor = Vendor::new([call, ServerReply::text(answer)]);
    let house = house(&vendor, "小米");
    let mut terminal = Terminal::sized_with(&house, &[], SIZE, &CHINESE);
    terminal.until("Enter 发送");
    terminal.press("现在的计划是什么？\r");
    terminal.until("上下文");
    terminal.until("Enter 发送");
    keep("chinese", &house, &terminal);
}
