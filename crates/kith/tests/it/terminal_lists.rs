//! Lists, commands with arguments, calls that are opened and files that go along, in a real terminal.

use std::fs;

use kith_testkit::gate::Gate;
use kith_testkit::server::ServerReply;
use serde_json::json;

use crate::house::{House, KITH, Vendor, of_type};
use crate::terminal::Terminal;
use crate::terminal_chat::{BUSY, IDLE, PLAIN, chat, leave, said};

#[test]
fn a_session_is_chosen_with_arrow_keys_and_by_typing() {
    let vendor = Vendor::new(["one", "two", "three"].map(ServerReply::text));
    let house = House::asking(&vendor);
    house.kith(&["ask", "--new", "about apples"]).succeeded();
    house.kith(&["ask", "--new", "关于 pears"]).succeeded();
    let mut terminal = chat(&house);
    terminal.press("/sessions\r");
    terminal.until("Sessions · 1/2");
    terminal.press("\x1b[B");
    terminal.until("Sessions · 2/2");
    terminal.press("\x1b");
    terminal.until(IDLE);
    terminal.press("/resume\r");
    terminal.until("Sessions · 1/2");
    terminal.press("nothing");
    terminal.until("none found");
    terminal.press("\x15apples");
    terminal.until("Sessions · 1/1");
    terminal.press("\r");
    terminal.until("> about apples");
    terminal.until(IDLE);
    terminal.press("and more\r");
    terminal.until("\nthree\n");
    leave(terminal);
    assert_eq!(house.session_files().len(), 2);
}

#[test]
fn the_argument_of_a_command_is_completed() {
    let vendor = Vendor::new([ServerReply::text("one")]);
    let house = House::asking(&vendor);
    house.kith(&["ask", "about apples"]).succeeded();
    let mut terminal = chat(&house);
    terminal.press("/model de");
    terminal.until("demo ");
    terminal.press("\t\r");
    terminal.until("(demo / demo");
    terminal.press("/queue ");
    terminal.until("send what waits");
    terminal.press("\x15/resume app");
    terminal.until("about apples");
    terminal.press("\t");
    terminal.press("\r");
    terminal.until("one");
    leave(terminal);
}

#[test]
fn going_back_to_a_message_brings_it_into_the_input() {
    let vendor = Vendor::new(["one", "two", "three"].map(ServerReply::text));
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("first\r");
    terminal.until("\none\n");
    terminal.until(IDLE);
    terminal.press("secnd\r");
    terminal.until("\ntwo\n");
    terminal.until(IDLE);
    terminal.press("/branch\r");
    terminal.until("Go back to before · 1/2");
    terminal.press("\r");
    terminal.until("which you can edit");
    terminal.until("> secnd");
    terminal.press("\x7f\x7fond\r");
    terminal.until("\nthree\n");
    leave(terminal);
    let last = vendor.bodies()[2].to_string();
    assert!(last.contains("first") && last.contains("second"), "{last}");
    assert!(!last.contains("secnd") && !last.contains("\"two\""), "{last}");
}

#[test]
fn the_whole_input_and_output_of_any_call_is_opened() {
    let calls = [("read_file", json!({"path": "a.txt"})), ("read_file", json!({"path": "b.txt"}))];
    let vendor = Vendor::new([ServerReply::calls("", &calls), ServerReply::text("Done.")]);
    let house = House::asking(&vendor);
    house.write("a.txt", "apples\n");
    house.write("b.txt", "pears\n");
    let mut terminal = chat(&house);
    terminal.press("read\r");
    terminal.until("Done.");
    terminal.until(IDLE);
    terminal.press("\x0f");
    terminal.until("Calls · 1/2");
    terminal.press("a.txt\r");
    terminal.until("apples");
    assert!(terminal.contents().contains("path: a.txt"), "{}", terminal.contents());
    assert!(!terminal.contents().contains("pears"));
    leave(terminal);
}

#[test]
fn a_file_named_in_a_message_goes_along_with_a_line_on_screen() {
    let vendor = Vendor::new([ServerReply::text("Seen.")]);
    let house = House::asking(&vendor);
    house.write("src/main.rs", "fn main() {}\n// 中文\n");
    house.write("image", [0x89, b'P', 0, 0xff]);
    let mut terminal = chat(&house);
    terminal.press("look at @src/ma");
    terminal.until("@src/main.rs");
    terminal.press("\tand @image and @nobody\r");
    terminal.until("(@image is not a text");
    terminal.until("@src/main.rs · attached · 2 lines");
    terminal.until("Seen.");
    assert!(!terminal.contents().contains("fn main"), "{}", terminal.contents());
    leave(terminal);
    let sent = vendor.bodies()[0].to_string();
    assert!(sent.contains("fn main() {}") && sent.contains("// 中文"), "{sent}");
    assert_eq!(house.json(&["why", "latest", "--json"])["ok"], true);
}

#[test]
fn a_queued_message_with_a_file_comes_back_as_it_was_typed() {
    let gate = Gate::new();
    let vendor = Vendor::new([ServerReply::text("one").behind(&gate), ServerReply::text("two")]);
    let house = House::asking(&vendor);
    house.write("note.txt", "apples\n");
    let mut terminal = chat(&house);
    terminal.press("first\r");
    terminal.until(BUSY);
    terminal.press("read @note.txt now\r");
    terminal.until("1 queued: read @note.txt");
    house.write("note.txt", "pears\n");
    terminal.press("\x1b[A");
    terminal.until("> read @note.txt");
    terminal.press("\r");
    terminal.until("1 queued: read @note.txt");
    gate.open();
    terminal.until("\ntwo\n");
    leave(terminal);
    assert!(said(&house)[1].contains("pears"), "it is read when it is sent");
}

#[test]
fn commands_answer_in_chinese() {
    let vendor = Vendor::new([ServerReply::text("一"), ServerReply::text("二")]);
    let house = House::asking(&vendor);
    let variables = [("NO_COLOR", "1"), ("LANG", "zh_CN.UTF-8")];
    let mut terminal = Terminal::start(&house, &[], &variables);
    terminal.until("Enter 发送");
    terminal.press("你好\r");
    terminal.until("上下文");
    for (command, answer) in [
        ("/why", "已由日志逐字节重建"),
        ("/cost", "全部会话"),
        ("/queue", "没有排队的消息"),
        ("/nonsense", "未知命令"),
        ("/prime", "还没有启动脚本"),
        ("/new", "下一条消息将开始新会话"),
    ] {
        terminal.press(&format!("{command}\r"));
        terminal.until(answer);
    }
    for (command, title) in
        [("/resume", "会话 · 1/1"), ("/model", "模型 · "), ("/branch", "回到这条消息之前")]
    {
        terminal.press(&format!("{command}\r"));
        terminal.until(title);
        terminal.press("\x1b");
        terminal.until("Enter 发送");
    }
    leave(terminal);
}

#[test]
fn a_host_killed_under_an_open_chat_loses_nothing() {
    let vendor = Vendor::new([ServerReply::text("one"), ServerReply::text("two")]);
    let house = House::asking(&vendor);
    let host = chat(&house);
    let mut terminal = chat(&house);
    terminal.press("first\r");
    terminal.until("\none\n");
    terminal.until(IDLE);
    host.signal("KILL");
    host.end();
    terminal.press("second\r");
    terminal.until("\ntwo\n");
    leave(terminal);
    assert_eq!(said(&house), ["first", "second"]);
}

#[test]
fn a_suspended_chat_comes_back_with_what_was_typed() {
    let vendor = Vendor::new([ServerReply::text("one")]);
    let house = House::asking(&vendor);
    let mut terminal = Terminal::start_shell(&house, &[("PS1", "shell: "), PLAIN[0], PLAIN[1]]);
    terminal.until("shell: ");
    terminal.press(&format!("{KITH}\r"));
    terminal.until(IDLE);
    terminal.press("half a th");
    terminal.until("> half a th");
    terminal.press("\x1a");
    // As the shell tells it.
    terminal.until("[1]");
    assert!(!terminal.contents().contains("> half a th"), "{}", terminal.contents());
    terminal.press("fg\r");
    terminal.until("> half a th");
    terminal.press("ought\r");
    terminal.until("\none\n");
    terminal.until(IDLE);
    drop(terminal);
    assert_eq!(said(&house), ["half a thought"]);
}

#[test]
fn a_hangup_keeps_what_was_answered() {
    let vendor = Vendor::new([ServerReply::text("answered"), ServerReply::text("after")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("first\r");
    terminal.until("\nanswered\n");
    terminal.until(IDLE);
    terminal.signal("HUP");
    assert_eq!(terminal.end().0, 0);
    let log = house.log();
    assert_eq!(of_type(&log, "assistant_message").len(), 1);
    assert_eq!(of_type(&log, "turn_ended")[0]["reason"], "done");
    house.kith(&["ask", "second"]).succeeded();
}

#[test]
fn a_locale_without_utf8_shows_and_sends_every_character() {
    let vendor = Vendor::new([ServerReply::text("你好 back")]);
    let house = House::asking(&vendor);
    for variables in [[("LC_ALL", "C"), ("NO_COLOR", "1")], [("LANG", "POSIX"), ("NO_COLOR", "1")]]
    {
        let mut terminal = Terminal::start(&house, &["--model", "demo"], &variables);
        terminal.until(IDLE);
        terminal.press("say 你好\r");
        terminal.until("\n你好");
        leave(terminal);
    }
    assert_eq!(said(&house), ["say 你好", "say 你好"]);
}

#[test]
fn two_terminals_in_one_conversation_both_show_everything_once() {
    let vendor = Vendor::new([ServerReply::text("one"), ServerReply::text("two")]);
    let house = House::asking(&vendor);
    let mut first = chat(&house);
    let mut second = chat(&house);
    first.press("from the first\r");
    first.until("\none\n");
    second.until("\none\n");
    second.until(IDLE);
    second.press("from the second\r");
    second.until("\ntwo\n");
    first.until("\ntwo\n");
    first.until(IDLE);
    second.until(IDLE);
    for terminal in [&first, &second] {
        let shown = terminal.contents();
        for text in ["> from the first", "\none\n", "> from the second", "\ntwo\n"] {
            assert_eq!(shown.matches(text).count(), 1, "{text}: {shown}");
        }
        assert_eq!(shown.matches("(in another terminal)").count(), 1, "{shown}");
    }
    leave(second);
    leave(first);
    assert_eq!(said(&house), ["from the first", "from the second"]);
}

#[test]
fn a_terminal_of_20_columns_is_never_written_beyond() {
    let answer = "A sentence that is longer than twenty columns, 中文也一样长长长长长长。";
    let vendor = Vendor::new([ServerReply::text(answer)]);
    let house = House::asking(&vendor);
    let mut terminal = Terminal::sized_with(&house, &[], (20, 30), &PLAIN);
    terminal.until("Enter sends");
    terminal.press("a question that is longer than the screen\r");
    terminal.until("of the context");
    for (command, answer) in [("/help\r", "/quit"), ("/cost\r", "all sessions")] {
        terminal.press(command);
        terminal.until(answer);
    }
    let letters: String = terminal.raw().chars().filter(|ch| !ch.is_whitespace()).collect();
    assert!(letters.contains("Asentence"), "{letters}");
    assert!(!terminal.is_any_row_wrapped(), "{}", terminal.contents());
    leave(terminal);
}

#[test]
fn the_editor_of_the_person_changes_the_text() {
    let vendor = Vendor::new([ServerReply::text("ok")]);
    let house = House::asking(&vendor);
    house.write("edit.sh", "#!/bin/sh\nprintf 'edited 你好\\nsecond line\\n' > \"$1\"\n");
    let script = house.path("edit.sh").display().to_string();
    let editor = format!("/bin/sh {script}");
    let variables = [PLAIN[0], PLAIN[1], ("EDITOR", editor.as_str()), ("PATH", "/usr/bin:/bin")];
    let mut terminal = Terminal::start(&house, &[], &variables);
    terminal.until(IDLE);
    terminal.press("draft\x07");
    terminal.until("second line");
    terminal.press("\r");
    terminal.until("\nok\n");
    leave(terminal);
    assert_eq!(said(&house), ["edited 你好\nsecond line"]);
}

#[test]
fn what_was_typed_before_is_searched() {
    let vendor = Vendor::new(["one", "two", "three"].map(ServerReply::text));
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    for (text, answer) in [("plant an apple tree\r", "\none\n"), ("buy pears\r", "\ntwo\n")] {
        terminal.press(text);
        terminal.until(answer);
        terminal.until(IDLE);
    }
    leave(terminal);
    let mut terminal = chat(&house);
    terminal.press("\x12app");
    terminal.until("> plant an apple tree");
    terminal.press("\r\r");
    terminal.until("\nthree\n");
    leave(terminal);
    assert_eq!(said(&house)[2], "plant an apple tree");
    assert!(fs::read_to_string(house.path(".kith/input-history")).unwrap().contains("pears"));
}
