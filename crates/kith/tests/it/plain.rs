//! `kith --plain`: the same conversation line by line, with the same commands in both languages.

use kith_testkit::server::ServerReply;
use serde_json::json;

use crate::house::{House, Vendor, of_type};
use crate::terminal::Terminal;
use crate::terminal_chat::{PLAIN, leave, said};

const CHINESE: [(&str, &str); 2] = [("NO_COLOR", "1"), ("LANG", "zh_CN.UTF-8")];

fn plain(house: &House, variables: &[(&str, &str)]) -> Terminal {
    let mut terminal = Terminal::sized_with(house, &["--plain"], (110, 60), variables);
    terminal.until("\n> ");
    terminal
}

#[test]
fn plain_has_the_commands_of_the_drawn_terminal() {
    let replies =
        ["Reply one.", "Reply two.", "Reply three.", "Reply four."].map(ServerReply::text);
    let vendor = Vendor::new(replies);
    let house = House::asking(&vendor);
    let mut terminal = plain(&house, &PLAIN);
    terminal.press("first\r");
    terminal.until("Reply one.");
    for (command, answer) in [
        ("/help", "/compact    summarise the conversation so far"),
        ("/why", "rebuilt from the log byte for byte"),
        ("/cost", "all sessions"),
        ("/queue", "(nothing waits)"),
        ("/model", "choose one by its number: /model 1"),
        ("/prime", "(there are no priming scripts yet; `kith prime new NAME` creates one)"),
        ("/nonsense", "(unknown command /nonsense: /new"),
        ("/new", "(your next message starts a new session)"),
    ] {
        terminal.press(&format!("{command}\r"));
        terminal.until(answer);
    }
    terminal.press("second\r");
    terminal.until("Reply two.");
    // A list has numbers, and a number chooses.
    terminal.press("/resume\r");
    terminal.until("choose one by its number: /resume 1");
    terminal.press("/resume 2\r");
    terminal.until("Continuing session");
    terminal.press("third\r");
    terminal.until("Reply three.");
    terminal.press("/branch 1\r");
    terminal.until("goes on before this message");
    terminal.press("fourth\r");
    terminal.until("Reply four.");
    leave(terminal);
    let last = vendor.bodies()[3].to_string();
    assert!(last.contains("\"first\"") && last.contains("\"fourth\""), "{last}");
    assert!(!last.contains("\"third\"") && !last.contains("\"second\""), "{last}");
}

#[test]
fn plain_speaks_chinese() {
    let vendor = Vendor::new([ServerReply::text("一")]);
    let house = House::asking(&vendor);
    let mut terminal = plain(&house, &CHINESE);
    terminal.until("输入消息后按 Enter 发送");
    terminal.press("你好\r");
    terminal.until("\n一");
    for (command, answer) in [
        ("/help", "/compact    为到目前为止的对话生成摘要"),
        ("/why", "已由日志逐字节重建"),
        ("/queue", "（没有排队的消息）"),
        ("/resume", "用编号选择，例如 /resume 1"),
        ("/new", "下一条消息将开始新会话"),
    ] {
        terminal.press(&format!("{command}\r"));
        terminal.until(answer.trim_matches(['（', '）']));
    }
    leave(terminal);
    assert_eq!(said(&house), ["你好"]);
}

#[test]
fn plain_prints_a_question_and_takes_the_answer_in_words() {
    let call = ServerReply::calls("", &[("read_file", json!({ "path": "Agent.md" }))]);
    let vendor = Vendor::new([call, ServerReply::text("It says: be kind.")]);
    let house = House::asking(&vendor);
    house.write("kith.toml", "[policy]\nask = [\"read_file\"]\n");
    let mut terminal = plain(&house, &PLAIN);
    terminal.press("read it\r");
    terminal.until("Approval needed [");
    terminal.until("`kith approve ");
    terminal.press("yes\r");
    terminal.until("It says: be kind.");
    leave(terminal);
    assert_eq!(of_type(&house.log(), "approval_decided")[0]["via"], "words");
}
