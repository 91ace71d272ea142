//! Commands that change the conversation, what the lines around a turn tell, and files of every root,
//! in a real terminal.

use std::fs;

use kith_testkit::server::ServerReply;

use crate::house::{House, Vendor, of_type};
use crate::new::{PROBE, shared};
use crate::terminal::Terminal;
use crate::terminal_chat::{BUSY, IDLE, PLAIN, chat, leave, said};

const CHINESE: [(&str, &str); 2] = [("NO_COLOR", "1"), ("LANG", "zh_CN.UTF-8")];

#[test]
fn a_failed_turn_is_retried_with_a_command() {
    let refused = ServerReply::Raw {
        status: 401,
        content_type: "application/json".to_owned(),
        body: br#"{"error":{"message":"no such key"}}"#.to_vec(),
    };
    let vendor = Vendor::new([refused, ServerReply::text("it works now")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("first\r");
    vendor.until_asked(1);
    terminal.until("said: no such");
    terminal.until(IDLE);
    terminal.press("/retry\r");
    terminal.until("\nit works now\n");
    terminal.until(IDLE);
    terminal.press("/retry\r");
    terminal.until("nothing to retry");
    leave(terminal);
    assert_eq!(said(&house), ["first"]);
    assert_eq!(vendor.requests().len(), 2);
}

#[test]
fn a_conversation_is_summarised_with_a_command_and_told_once() {
    let vendor = Vendor::new(
        ["the order is ORD-4711", "## Facts\n- an order was discussed", "go on then"]
            .map(ServerReply::text),
    );
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("which order?\r");
    terminal.until("\nthe order is ORD-4711\n");
    terminal.until(IDLE);
    terminal.press("/compact\r");
    terminal.until("(the conversation was summarised: ~");
    terminal.until(IDLE);
    terminal.press("and now?\r");
    terminal.until("\ngo on then\n");
    assert_eq!(terminal.contents().matches('→').count(), 1, "{}", terminal.contents());
    leave(terminal);
    let last = vendor.bodies()[2].to_string();
    assert!(last.contains("an order was discussed"), "{last}");
}

#[test]
fn the_demo_model_summarises_too() {
    let house = House::new();
    let mut terminal = Terminal::start(&house, &["--model", "demo"], &PLAIN);
    terminal.until(IDLE);
    terminal.press("say one\r");
    terminal.until("\none\n");
    terminal.until(IDLE);
    terminal.press("/compact\r");
    terminal.until("(the conversation was summarised: ~");
    leave(terminal);
    assert_eq!(of_type(&house.log(), "compact").len(), 1);
}

#[test]
fn a_session_begins_with_a_script_and_goes_on() {
    let vendor = Vendor::new([ServerReply::text("after the script")]);
    let house = House::asking(&vendor);
    shared(&house, "probe", PROBE);
    let mut terminal = chat(&house);
    terminal.press("/prime\r");
    terminal.until("Priming scripts · 1/1");
    terminal.press("\r");
    terminal.until("> 先做环境探针。");
    terminal.until(IDLE);
    terminal.press("go on\r");
    terminal.until("\nafter the script\n");
    leave(terminal);
    let sent = vendor.bodies()[0].to_string();
    assert!(sent.contains("先做环境探针") && sent.contains("go on"), "{sent}");
    assert_eq!(house.session_files().len(), 1);
}

#[test]
fn the_queue_is_edited_and_released_with_commands() {
    let vendor = Vendor::new([
        ServerReply::Hang,
        ServerReply::text("to one"),
        ServerReply::text("to three"),
    ]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("first\r");
    vendor.until_asked(1);
    terminal.until(BUSY);
    for (n, text) in ["one", "two", "three"].iter().enumerate() {
        terminal.press(&format!("{text}\r"));
        terminal.until(&format!("{} queued: {text}", n + 1));
    }
    terminal.press("/queue rm 2\r");
    terminal.until("2 queued: three");
    terminal.press("/queue edit 2\r");
    terminal.until("> three");
    terminal.press("!\r");
    terminal.until("2 queued: three!");
    terminal.press("/queue rm 7\r");
    terminal.until("which one? for example");
    terminal.press("\x1b");
    terminal.until("(stopped)");
    terminal.until("1 held until");
    terminal.press("/queue go\r");
    terminal.until("\nto one\n");
    terminal.until("\nto three\n");
    terminal.until(IDLE);
    terminal.press("/queue go\r");
    terminal.until("(nothing waits)");
    leave(terminal);
    assert_eq!(said(&house), ["first", "one", "three!"]);
}

#[test]
fn the_line_at_the_end_of_a_turn_has_the_cost() {
    let vendor = Vendor::new([ServerReply::text("cheap")]);
    let house = House::new().with("SMALL_KEY", "sk-test-0123456789");
    let settings = format!(
        "[models.small]\nwire = \"openai_chat\"\nbaseUrl = \"{}\"\napiKey = \"${{SMALL_KEY}}\"\n\
         contextWindow = 4096\nprice = {{ input = 100, output = 100 }}\n",
        vendor.server.base_url()
    );
    house.write("kith.toml", settings);
    house.kith(&["trust", "."]).succeeded();
    let mut terminal = Terminal::start(&house, &["--model", "small"], &PLAIN);
    terminal.until(IDLE);
    terminal.press("how much?\r");
    terminal.until("\ncheap\n");
    terminal.until("of the context");
    let shown = terminal.contents();
    let line = shown.lines().find(|line| line.contains("of the context")).unwrap();
    assert!(line.contains(" · ↑") && line.contains(" ↓") && line.contains(" · $0.0"), "{line}");
    leave(terminal);
}

#[test]
fn the_live_line_counts_tokens_while_an_answer_grows() {
    let vendor = Vendor::new([ServerReply::Trickle { pause_ms: 5 }]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("go\r");
    terminal.until("answering · ");
    terminal.until(" · ↓~");
    terminal.press("\x1b");
    terminal.until("(stopped)");
    leave(terminal);
}

#[test]
fn the_banner_names_the_folder_it_works_in_and_files_of_the_home_are_offered() {
    let vendor = Vendor::new([ServerReply::text("Seen.")]);
    let house = House::asking(&vendor);
    let home = house.path("").display().to_string();
    let home = home.trim_end_matches('/');
    let variables = [PLAIN[0], PLAIN[1], ("KITH_HOME", home)];
    let mut terminal = Terminal::start_in(&house, "../project", &variables);
    terminal.until(IDLE);
    let project = house.path("../project").canonicalize().unwrap();
    let shown = terminal.contents();
    assert!(shown.contains(&format!(" · {home}\n")), "{shown}");
    assert!(shown.contains(&format!("Working in {}\n", project.display())), "{shown}");
    terminal.press("look at @Age");
    terminal.until(&format!("@{home}/Agent.md"));
    terminal.press("\t\r");
    terminal.until("Agent.md · attached · 1 line ·");
    terminal.until("Seen.");
    leave(terminal);
    assert!(vendor.bodies()[0].to_string().contains("Be kind.\\n\\n</attachment>"));
}

#[test]
fn the_banner_has_the_name_and_the_emoji_of_the_agent() {
    let house = House::new();
    fs::write(house.path("IDENTITY.md"), "name: Luna\nemoji: 🌙\n").unwrap();
    let mut terminal = chat(&house);
    terminal.until("🌙 Luna · demo · ");
    leave(terminal);
}

#[test]
fn a_model_chosen_in_the_chat_answers_from_the_next_message_on_and_the_log_names_it() {
    let vendor = Vendor::new([ServerReply::text("from the vendor")]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("first\r");
    terminal.until("from the vendor");
    terminal.until(IDLE);
    terminal.press("/model demo\r");
    terminal.press("say second\r");
    terminal.until("\nsecond\n");
    leave(terminal);
    let log = house.log();
    let asked = of_type(&log, "model_requested");
    let models: Vec<_> = asked.iter().map(|it| it["provider"].as_str().unwrap()).collect();
    assert_eq!(models.len(), 2);
    assert_ne!(models[0], "demo");
    assert_eq!(models[1], "demo");
}

#[test]
fn a_lone_exit_leaves_and_is_never_sent_and_a_question_mark_is_help() {
    let house = House::new();
    for word in ["exit\r", "quit\r", ":q\r"] {
        let mut terminal = chat(&house);
        terminal.press("/?\r");
        terminal.until("/quit");
        terminal.press(word);
        assert_eq!(terminal.end().0, 0, "{word}");
    }
    assert_eq!(house.json(&["session", "ls", "--json"])["sessions"], serde_json::json!([]));
}

#[test]
fn a_question_that_is_not_answered_at_once_shows_that_it_is_waited_for() {
    let vendor = Vendor::new([ServerReply::Hang]);
    let house = House::asking(&vendor);
    let mut terminal = Terminal::start(&house, &["ask", "go"], &PLAIN);
    terminal.until("Waiting for the answer …");
    terminal.signal("INT");
    assert_eq!(terminal.end().0, 130);
}

#[test]
fn the_cost_is_told_of_this_session_and_of_all() {
    let house = House::new();
    house.kith(&["ask", "say before"]).succeeded();
    house.kith(&["ask", "--new", "say now"]).succeeded();
    let mut terminal = chat(&house);
    terminal.press("/cost\r");
    terminal.until("this session · 1 request");
    terminal.until("all sessions · 2 requests");
    leave(terminal);
    let cost = |words: &[&str]| house.json(words)["total"]["nRequests"].clone();
    assert_eq!(cost(&["cost", "--json"]), 2);
    assert_eq!(cost(&["cost", "current", "--json"]), 1);
    let ran = house.kith(&["cost", "zzzz"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("there is no session `zzzz`"), "{}", ran.stderr);
}

#[test]
fn a_host_killed_in_mid_turn_under_an_open_chat_loses_nothing() {
    let vendor = Vendor::new([ServerReply::Hang, ServerReply::text("two"), ServerReply::text("x")]);
    let house = House::asking(&vendor);
    let host = chat(&house);
    let mut terminal = chat(&house);
    terminal.press("first\r");
    vendor.until_asked(1);
    terminal.until(BUSY);
    host.signal("KILL");
    host.end();
    vendor.until_asked(2);
    terminal.until("\ntwo\n");
    terminal.until(IDLE);
    // The answer is on the screen: nobody needs to be sent to it.
    assert!(!terminal.contents().contains("had been interrupted"), "{}", terminal.contents());
    leave(terminal);
    assert_eq!(said(&house), ["first"]);
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}

#[test]
fn emoji_of_several_parts_never_break_a_row_or_lose_the_cursor() {
    let text = "👍🏽👨‍👩‍👧🇨🇳❤️好 👩‍💻";
    let vendor = Vendor::new([ServerReply::text(&format!("{text} {text} {text} end"))]);
    let house = House::asking(&vendor);
    let mut terminal = Terminal::sized_with(&house, &[], (20, 30), &PLAIN);
    terminal.until("Enter sends");
    terminal.press("👍好👨‍👩‍👧b");
    terminal.until("👧b");
    terminal.press("\x1b[Da");
    terminal.until("👧ab");
    terminal.press(&format!("\x15\x0b{text}\r"));
    terminal.until("end");
    terminal.until("of the context");
    assert!(!terminal.is_any_row_wrapped(), "{}", terminal.contents());
    leave(terminal);
    assert_eq!(said(&house), [text]);
}

#[test]
fn errors_and_pastes_are_told_in_chinese() {
    let vendor = Vendor::new([ServerReply::text("一")]);
    let house = House::asking(&vendor);
    let mut terminal = Terminal::start(&house, &[], &CHINESE);
    terminal.until("Enter 发送");
    terminal.press("你好\r");
    terminal.until("上下文");
    terminal.press("/resume nonsense\r");
    terminal.until("错误：没有会话 `nonsense`");
    terminal.press("/model a b\r");
    terminal.until("错误：`a b` 不是模型名称");
    terminal.paste(&"长".repeat(1_000));
    terminal.until("[粘贴 1：1 行，3000 字节]");
    terminal.press("\x03");
    leave(terminal);
}
