//! What somebody runs into who has just heard of the program, and what a second terminal does.

use std::fs;

use kith_testkit::server::ServerReply;

use crate::house::{House, Vendor};
use crate::terminal::Terminal;
use crate::terminal_chat::{IDLE, PLAIN, chat, leave};

#[test]
fn what_other_programs_take_gets_a_hint_that_works() {
    let house = House::empty();
    for (words, hint) in [
        (vec!["what is new here?"], "`kith ask \"…\"` sends a message"),
        (vec!["你好"], "`kith ask \"…\"` sends a message"),
        (vec!["aks", "hi"], "did you mean `kith ask`?"),
        (vec!["sesion", "ls"], "did you mean `kith session`?"),
        (vec!["-p", "hi"], "`kith ask TEXT` prints one answer"),
        (vec!["--continue"], "`kith` continues this folder's conversation by itself"),
        (vec!["--resume", "4c1e"], "`kith resume SESSION` opens a session"),
        (vec!["--new"], "`kith new` starts a new session here"),
        (vec!["chat"], "`kith` alone opens the chat"),
        (vec!["history"], "`kith session ls` lists conversations"),
        (vec!["login"], "there is no login: set ANTHROPIC_API_KEY"),
        (vec!["config"], "settings are in kith.toml"),
        (vec!["serve"], "`kith up --open` starts the daemon"),
        (vec!["--prime", "probe"], "`kith new --prime SCRIPT` starts a session with the script"),
    ] {
        let ran = house.kith(&words);
        assert_eq!(ran.code, 2, "{words:?}");
        assert!(ran.stderr.contains(&format!("hint: {hint}")), "{words:?}: {}", ran.stderr);
        let as_json: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let told = house.kith(&as_json).json();
        assert!(told["error"]["hint"].as_str().unwrap().starts_with(hint), "{words:?}: {told}");
    }
}

#[test]
fn without_an_agent_a_terminal_offers_to_create_one_and_a_pipe_is_told_how() {
    let house = House::empty();
    let ran = house.kith(&[]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("create one with `kith init my-agent`"), "{}", ran.stderr);
    for (answer, is_made) in [("n\r", false), ("y\r", true)] {
        let mut terminal = Terminal::start(&house, &[], &PLAIN);
        terminal.until("/user/my-agent`? [y/N]");
        terminal.press(answer);
        if is_made {
            terminal.until(IDLE);
            terminal.press("say hello\r");
            terminal.until("\nhello");
            leave(terminal);
        } else {
            assert_eq!(terminal.end().0, 1);
        }
        assert_eq!(house.path("../user/my-agent/Agent.md").exists(), is_made);
    }
    // It answers everywhere from now on.
    let ran = house.kith(&["-q", "ask", "say again"]).succeeded();
    assert_eq!(ran.stdout, "again\n");
}

#[test]
fn the_first_questions_are_chinese_in_a_chinese_terminal() {
    let house = House::empty();
    let chinese = [("NO_COLOR", "1"), ("LANG", "zh_CN.UTF-8")];
    let mut terminal = Terminal::start(&house, &[], &chinese);
    terminal.until("和它的上级文件夹里都没有智能体。");
    terminal.until("/user/my-agent` 创建一个吗？[y/N]");
    terminal.press("y\r");
    terminal.until("这个文件夹就是智能体的家");
    terminal.until("工作目录：/");
    terminal.until("Enter 发送");
    leave(terminal);
    fs::create_dir(house.path(".git")).unwrap();
    house.write("AGENTS.md", "be brief\n");
    let mut terminal = Terminal::start(&house, &[], &chinese);
    terminal.until("你还没有信任这个仓库。");
    terminal.until("把它当作你的指令吗？[y/N]");
    terminal.press("n\r");
    terminal.until("(已忽略；运行 `kith trust .` 可以启用)");
    terminal.until("Enter 发送");
    leave(terminal);
}

#[test]
fn a_second_terminal_with_a_key_uses_the_model_of_the_first_and_says_so() {
    let vendor = Vendor::new([ServerReply::text("from the vendor")]);
    let mut house = House::new();
    let mut first = chat(&house);
    house = house.with("OPENAI_API_KEY", "sk-test-0123456789");
    house.set("OPENAI_BASE_URL", &vendor.base_url());
    let mut second = chat(&house);
    let shown = second.contents();
    assert!(shown.contains("Assistant · demo"), "{shown}");
    assert!(shown.contains("quit it to use gpt-5-mini"), "{shown}");
    second.press("say it works\r");
    second.until("\nit works");
    first.until("\nit works");
    leave(first);
    // Now this terminal is the host, and has a key.
    second.press("and now?\r");
    second.until("answers come from another model now");
    second.until("> and now?");
    second.press("\r");
    second.until("from the vendor");
    leave(second);
}

#[test]
fn a_second_terminal_that_names_a_model_the_first_lacks_is_refused_at_once() {
    let mut house = House::new();
    let first = chat(&house);
    house.set("OPENAI_API_KEY", "sk-test-0123456789");
    let (code, shown, _) = Terminal::start(&house, &["--model", "gpt-5-mini"], &PLAIN).end();
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("quit the other kith"), "{shown}");
    leave(first);
}

#[test]
fn an_answer_that_was_stopped_is_marked_wherever_it_is_shown_again() {
    let vendor = Vendor::new([ServerReply::Trickle { pause_ms: 1 }]);
    let house = House::asking(&vendor);
    let mut terminal = chat(&house);
    terminal.press("talk for ever\r");
    terminal.until("drip");
    terminal.press("\x1b");
    terminal.until("(stopped)");
    terminal.until(IDLE);
    leave(terminal);
    let mut again = Terminal::sized_with(&house, &[], (100, 60), &PLAIN);
    again.until(IDLE);
    assert!(again.contents().contains("(stopped)"), "{}", again.contents());
    leave(again);
    let shown = house.kith(&["session", "show"]).succeeded().stdout;
    let (said, stopped) = (shown.find("drip").unwrap(), shown.find("(stopped)").unwrap());
    assert!(said < stopped, "{shown}");
    assert!(shown.contains("agent (interrupted):"), "{shown}");
}

#[test]
fn a_server_that_cannot_be_reached_is_named_once_and_not_at_every_attempt() {
    let busy = || ServerReply::Raw {
        status: 503,
        content_type: "application/json".to_owned(),
        body: b"{\"error\":{\"message\":\"Loading model\"}}".to_vec(),
    };
    let vendor = Vendor::new([busy(), busy(), busy(), ServerReply::text("there")]);
    let house = House::asking(&vendor);
    let ran = house.kith(&["ask", "hello?"]).succeeded();
    assert_eq!(ran.stderr.matches("Loading model").count(), 1, "{}", ran.stderr);
    let shown = house.kith(&["session", "show"]).succeeded().stdout;
    assert_eq!(shown.matches("Loading model").count(), 1, "{shown}");
    assert!(shown.contains("; retried 3 times"), "{shown}");
}

#[test]
fn a_sample_question_is_said_to_be_one() {
    let house = House::empty();
    let ran = house.kith(&["explain", "reply", "yes"]).succeeded();
    assert!(ran.stderr.contains("the sample question `make test` [7QX]"), "{}", ran.stderr);
}

#[test]
fn sessions_are_chosen_by_title_and_folder_also_in_20_columns() {
    let house = House::new();
    house.kith(&["--model", "demo", "ask", "say apples"]).succeeded();
    fs::create_dir(house.path("garden")).unwrap();
    let mut terminal = Terminal::sized_with(&house, &[], (100, 30), &PLAIN);
    terminal.until(IDLE);
    terminal.press("/resume\r");
    terminal.until("say apples · ");
    terminal.until("/house · 20");
    terminal.press("\x1b");
    terminal.until(IDLE);
    leave(terminal);
    let mut narrow = Terminal::sized_with(&house, &[], (20, 24), &PLAIN);
    narrow.until("Enter");
    narrow.press("/resume\r");
    narrow.until("❯ *say apples");
    assert!(!narrow.is_any_row_wrapped());
    narrow.press("\x1b");
    narrow.until("Enter sends");
    leave(narrow);
}

#[test]
fn a_misspelt_skill_script_or_file_is_told_what_was_meant() {
    let house = House::new();
    house.write("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidy up.\n---\nTidy.\n");
    house.kith(&["prime", "new", "probe"]).succeeded();
    for (words, hint) in [
        (vec!["skill", "show", "tidi"], "did you mean `tidy`?"),
        (vec!["skill", "show", "garden"], "`kith skill ls` lists the skills in use"),
        (vec!["prime", "show", "prob"], "did you mean `probe`?"),
    ] {
        let ran = house.kith(&words);
        assert!(ran.stderr.contains(&format!("hint: {hint}")), "{words:?}: {}", ran.stderr);
    }
    fs::create_dir(house.path("../low")).unwrap();
    fs::write(house.path("../low/agent.md"), "Be kind.\n").unwrap();
    let ran = house.kith(&["--home", "../low", "ask", "hi"]);
    assert!(ran.stderr.contains("hint: rename `agent.md` to `Agent.md`"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn settings_behind_a_broken_link_are_named_and_not_taken_for_absent() {
    let house = House::new();
    fs::remove_file(house.path("kith.toml")).ok();
    std::os::unix::fs::symlink("nowhere", house.path("kith.toml")).unwrap();
    let ran = house.kith(&["ask", "hi"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("kith.toml` is a link to a file that does not exist"),
        "{}",
        ran.stderr
    );
}
