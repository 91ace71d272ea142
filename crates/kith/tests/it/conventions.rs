//! What people expect of every command line: colours, quiet, pipes, completion, manual pages, exit codes.

use std::io::Write as _;
use std::process::{Command, Stdio};

use kith_testkit::server::ServerReply;
use serde_json::{Value, json};

use crate::check;
use crate::house::{House, KITH, Vendor, of_type};
use crate::terminal::Terminal;

/// What was said, in the order of the log.
fn said(house: &House) -> Vec<String> {
    let log = house.log();
    let said = of_type(&log, "user_message").into_iter();
    said.map(|it| it["message"]["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

/// What a completion offers, without its explanations.
fn offered(house: &House, words: &[&str]) -> Vec<String> {
    let ran = house.kith(&[&["__complete", "--"], words].concat()).succeeded();
    assert_eq!(ran.stderr, "");
    ran.stdout.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn what_is_piped_in_follows_the_words_of_a_message() {
    let house = House::new();
    let ask = |args: &[&str], input: &str| {
        let args = [&["ask", "--model", "demo"], args].concat();
        house.kith_with_input(&args, input).succeeded();
    };
    ask(&["what", "is", "this?"], "one\ntwo\n");
    ask(&["-"], "only this");
    ask(&[], "and this");
    ask(&["no pipe"], "");
    assert_eq!(said(&house), ["what is this?\n\none\ntwo", "only this", "and this", "no pipe"]);
    // All of it together has the limit of a message.
    let long = "x".repeat(8 * 1024 * 1024);
    let ran = house.kith_with_input(&["ask", "--model", "demo", "and"], &long);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("error: the message is longer than 8388608 bytes"));
    let ran = house.kith_with_input(&["ask", "--model", "demo", "and"], b"\xff\xfe");
    assert!(ran.stderr.starts_with("error: stdin is not valid UTF-8 (byte 1)"), "{}", ran.stderr);
    assert_eq!(said(&house).len(), 4);
}

#[test]
fn an_answer_streams_to_a_pipe() {
    let vendor = Vendor::new([ServerReply::Trickle { pause_ms: 1 }]);
    let house = House::asking(&vendor);
    let mut running = house.start(&["ask", "talk for ever"]);
    running.until_printed("drip drip");
    running.signal("INT");
    let ran = running.finish();
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    // What was printed is what the log has, on a line of its own.
    let log = house.log();
    let text = of_type(&log, "assistant_message")[0]["message"]["content"][0]["text"].clone();
    assert_eq!(ran.stdout.trim_end(), text.as_str().unwrap().trim_end());
    assert!(ran.stdout.ends_with("drip\n"), "{}", ran.stdout);
}

#[test]
fn quiet_prints_the_final_answer_and_nothing_else() {
    let house = House::new();
    check!(house.kith(&["-q", "ask", "list the files"]), @"
    exit 0
    --- stdout
    Here is what `list_files` gave:

    .: 1 entry
    Agent.md	9
    ");
    check!(house.kith(&["session", "search", "nowhere", "--quiet"]), @"exit 0");
    // Errors are told all the same.
    check!(house.kith(&["session", "show", "nobody", "--quiet"]), @"
    exit 1
    --- stderr
    error: there is no session `nobody`
    hint: `kith session ls` lists the sessions
    ");
}

#[test]
fn colours_are_as_the_options_and_the_environment_say() {
    let house = House::new();
    let is_coloured = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = house.command(&[&["session", "show", "nobody"], args].concat());
        command.env_remove("NO_COLOR").envs(variables.iter().copied());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        output.stderr.contains(&0x1b)
    };
    assert!(!is_coloured(&[], &[]), "in a pipe");
    assert!(is_coloured(&["--color", "always"], &[]));
    assert!(is_coloured(&["--color=always"], &[("NO_COLOR", "1")]), "what is typed wins");
    assert!(is_coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&[], &[("CLICOLOR_FORCE", "0")]));
    assert!(!is_coloured(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!is_coloured(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert_eq!(house.kith(&["doctor", "--color", "sometimes"]).code, 2);
    let doctor = house.kith(&["doctor", "--color", "always"]).stdout;
    assert!(doctor.contains("\u{1b}[32mok  \u{1b}[0m  "), "{doctor}");
    // Help too, although the command line is read only as far as it.
    let help = house.kith(&["--color", "always", "--help"]).succeeded().stdout;
    assert!(help.contains("\u{1b}["), "{help}");
}

#[test]
fn help_is_wrapped_at_words_and_global_options_stand_apart() {
    let house = House::empty();
    let (_, screen, _) = Terminal::sized(&house, &["ask", "--help"], (80, 60)).end();
    for line in screen.lines() {
        assert!(line.len() <= 80, "{line}");
    }
    assert!(screen.contains("Message id; sending the same id again returns the\n"), "{screen}");
    let (own, global) = screen.split_once("Global options:").unwrap();
    assert!(own.contains("--message-id") && !own.contains("--json "), "{screen}");
    assert!(global.contains("--json") && !global.contains("--message-id"), "{screen}");
}

#[test]
fn completion_offers_what_the_house_knows() {
    let house = House::new();
    house.write(
        "kith.toml",
        "[models.small]\nwire = \"demo\"\n\n[agents.ux]\nhome = \"agents/ux\"\n",
    );
    house.write("agents/ux/Agent.md", "be kind");
    house.kith(&["trust", "."]).succeeded();
    let answer = house.json(&["ask", "--agent", "main", "say one", "--json"]);
    let id = answer["sessionId"].as_str().unwrap();
    let shown = &id[id.len() - 8..];
    assert_eq!(offered(&house, &["session", "show", ""]), ["current", "latest", shown]);
    assert_eq!(offered(&house, &["ask", "--session", &shown[..3]]), [shown]);
    assert_eq!(offered(&house, &["--agent", "u"]), ["ux"]);
    assert_eq!(offered(&house, &["--model=sm"]), ["--model=small"]);
    assert_eq!(offered(&house, &["model", "use", "d"]), ["demo"]);
    house.kith(&["--agent", "main", "prime", "new", "probe"]).succeeded();
    assert_eq!(offered(&house, &["new", "--prime", ""]), ["individual/main/probe"]);
    assert_eq!(offered(&house, &["compl"]), ["completions"]);
    // Nothing is made, nothing is asked, nothing is told: a person is typing.
    let elsewhere = House::empty();
    assert_eq!(offered(&elsewhere, &["session", "show", ""]), ["current", "latest"]);
    assert_eq!(elsewhere.files(), Vec::<String>::new());
}

#[test]
fn the_script_for_bash_completes_commands_sessions_and_files() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    house.write("notes.md", "x");
    let script = house.kith(&["completions", "bash"]).succeeded().stdout;
    let complete = |words: &[&str]| {
        let n_last = words.len() - 1;
        let words = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        let lines = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD={n_last}; _kith; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let mut command = Command::new("bash");
        command.args(["--norc", "-c", &lines]).current_dir(house.path("")).env_clear();
        command.env("HOME", house.path("../user")).env("PATH", "/usr/bin:/bin");
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(complete(&[KITH, "sess"]), "session\n");
    assert_eq!(complete(&[KITH, "--color", "=", "al"]), "always\n");
    assert!(complete(&[KITH, "session", "show", ""]).starts_with("current\nlatest\n"));
    // Nothing is offered, so bash completes file names.
    assert_eq!(complete(&[KITH, "ask", "--attach", "no"]), "\n");
    for shell in ["zsh", "fish"] {
        let script = house.json(&["completions", shell, "--json"]);
        assert!(script["script"].as_str().unwrap().contains("__complete --"), "{script}");
    }
}

#[test]
fn every_command_has_a_manual_page_that_can_be_read() {
    let house = House::empty();
    let page = house.kith(&["man"]).succeeded().stdout;
    for part in ["kith \\- ", ".SH SYNOPSIS", "kith\\-session(1)", ".SH \"EXIT STATUS\"", "130\n"] {
        assert!(page.contains(part), "{part}:\n{page}");
    }
    let page = house.kith(&["man", "session", "ls"]).succeeded().stdout;
    assert!(page.contains("kith\\-session\\-ls \\- List sessions"), "{page}");
    check!(house.kith(&["man", "session", "nothing"]), @"
    exit 2
    --- stderr
    error: `kith-session` has no command `nothing`
    hint: `kith man --list` lists the pages
    ");
    assert_eq!(house.json(&["man", "ask", "--json"])["name"], "kith-ask");
    let Ok(mut groff) = Command::new("groff")
        .args(["-man", "-Tutf8", "-ww", "-z"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
    else {
        return;
    };
    groff.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = groff.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_long_list_goes_to_the_pager_and_a_short_one_does_not() {
    let house = House::new();
    for n in 0..6 {
        house.kith(&["ask", "--new", &format!("say {n}"), "--model", "demo"]).succeeded();
    }
    let pager = [("PAGER", "sed 's/^/| /'")];
    let list = |rows: u16| {
        let terminal = Terminal::sized_with(&house, &["session", "ls"], (100, rows), &pager);
        terminal.end().1
    };
    let long = list(6);
    assert!(long.contains("| ") && long.contains("say 0"), "{long}");
    let short = list(20);
    assert!(!short.contains("| ") && short.contains("say 5"), "{short}");
    // A pager that is not there is no reason to see nothing.
    let missing = [("PAGER", "/nowhere/pager"), ("NO_COLOR", "1")];
    let (_, screen, _) = Terminal::sized_with(&house, &["session", "ls"], (100, 6), &missing).end();
    assert!(screen.contains("say 0"), "{screen}");
}

#[test]
fn a_model_of_the_environment_can_be_chosen_for_good() {
    let vendor = Vendor::new([ServerReply::text("from the vendor")]);
    let mut house = House::asking(&vendor);
    house.kith(&["trust", "."]).succeeded();
    let used = house.json(&["model", "use", "gpt-5-mini", "--json"]);
    assert!(used["added"].as_str().unwrap().contains("apiKey = \"${OPENAI_API_KEY}\""), "{used}");
    // The address is in the settings now; the key is still only named.
    house.unset("OPENAI_BASE_URL");
    let list = house.json(&["model", "ls", "--json"]);
    let row = &list["models"][0];
    assert_eq!(
        (&row["name"], &row["source"], &row["used"]),
        (&json!("gpt-5-mini"), &json!("settings"), &json!(true))
    );
    check!(house.kith(&["ask", "hello"]), @"
    exit 0
    --- stdout
    from the vendor
    ");
    let settings = std::fs::read_to_string(house.path("kith.toml")).unwrap();
    assert!(!settings.contains("sk-test"), "{settings}");
    // Once more changes nothing; a name that is nearly one of the settings is a slip.
    assert_eq!(house.json(&["model", "use", "gpt-5-mini", "--json"]).get("added"), None);
    let ran = house.kith(&["model", "use", "gpt-5-mino"]);
    assert!(ran.stderr.ends_with("hint: did you mean `gpt-5-mini`?\n"), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(house.path("kith.toml")).unwrap(), settings);
}

#[test]
fn a_failed_turn_is_asked_again_of_another_model() {
    let refusal = ServerReply::Raw {
        status: 401,
        content_type: "application/json".to_owned(),
        body: b"{\"error\":{\"message\":\"wrong key\"}}".to_vec(),
    };
    let vendor = Vendor::new([refusal]);
    let house = House::asking(&vendor);
    assert_eq!(house.kith(&["ask", "say one"]).code, 3);
    check!(house.kith(&["retry", "--model", "demo"]), @"
    exit 0
    --- stdout
    one
    ");
    // Both are in the log: the failed one on a branch that was left.
    assert_eq!(said(&house), ["say one", "say one"]);
    let tree = house.json(&["session", "tree", "--json"]);
    assert_eq!(tree["ok"], true);
    let ran = house.kith(&["retry", "--model", "demo", "--stream-json"]).succeeded();
    let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for line in lines {
        assert!(line["type"].is_string(), "{line}");
    }
    let ran = house.kith(&["retry", "--session", "nobody", "--stream-json"]);
    let failed: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&failed["type"], &failed["ok"]), (&json!("error"), &json!(false)), "{failed}");
}
