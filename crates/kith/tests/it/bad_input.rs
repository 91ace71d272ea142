//! Bad files and folders: one clear sentence, the right exit code, nothing half-written.

use std::fs;

use crate::check;
use crate::house::{House, Ran, of_type};

#[test]
fn a_message_without_a_home_is_refused() {
    let house = House::empty();
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: no agent in `[house]` or any folder above it
    hint: create one with `kith init my-agent`; the first becomes your agent in every folder
    ");
    check!(house.kith(&["session", "ls", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"home_not_found","message":"no agent in `[house]` or any folder above it","hint":"create one with `kith init my-agent`; the first becomes your agent in every folder"}}
    "#);
    check!(house.kith_with_input(&[], "hi\n"), @"
    exit 1
    --- stderr
    error: no agent in `[house]` or any folder above it
    hint: create one with `kith init my-agent`; the first becomes your agent in every folder
    ");
    assert_eq!(house.files(), Vec::<String>::new());
}

#[test]
fn a_folder_that_is_not_a_house_is_refused_and_not_changed() {
    let house = House::empty();
    house.write("plain/notes.txt", "");
    house.write("tables/kith.toml", "");
    check!(house.kith(&["ask", "hi", "--home", "plain"]), @"
    exit 1
    --- stderr
    error: `[house]/plain` is not an agent's home: it contains neither `Agent.md` nor `AGENTS.md`
    hint: `kith init [house]/plain` creates an agent there
    ");
    check!(house.kith(&["ask", "hi", "--home", "tables"]), @"
    exit 1
    --- stderr
    error: `[house]/tables` is not an agent's home: it contains neither `Agent.md` nor `AGENTS.md`
    hint: `kith init [house]/tables` creates an agent there
    ");
    check!(house.kith(&["ask", "hi", "--home", "nowhere"]), @"
    exit 1
    --- stderr
    error: cannot find the house `nowhere`: No such file or directory (os error 2)
    hint: `kith init nowhere` creates an agent there
    ");
    check!(house.kith(&["session", "ls", "--home", "plain/notes.txt"]), @"
    exit 1
    --- stderr
    error: the house `plain/notes.txt` is not a folder
    hint: name the agent's folder
    ");
    assert_eq!(house.files(), ["plain/notes.txt", "tables/kith.toml"]);
}

#[test]
fn the_house_may_be_named_from_anywhere() {
    let house = House::empty();
    house.kith(&["init", "ada"]).succeeded();
    house.kith(&["--home", "ada", "ask", "say hi"]).succeeded();
    let ran = house.kith(&["session", "ls", "--home", "ada"]).succeeded();
    assert!(ran.stdout.ends_with("say hi\n"), "{}", ran.stdout);
    let house = house.with("KITH_HOME", "ada");
    house.kith(&["session", "show", "latest"]).succeeded();
    let house = house.with("KITH_HOME", "");
    // An empty name counts for nothing: the first agent is the default one.
    let ran = house.kith(&["session", "ls"]).succeeded();
    assert!(ran.stdout.ends_with("say hi\n"), "{}", ran.stdout);
}

#[test]
fn a_folder_in_place_of_a_prompt_file_is_reported_and_left_out() {
    let house = House::new();
    fs::create_dir(house.path("SOUL.md")).unwrap();
    check!(house.kith(&["ask", "say hi", "--model", "demo"]), @"
    exit 0
    --- stdout
    hi
    --- stderr
    note: `[house]/SOUL.md` is not a regular file, so it is ignored; replace it with a file or remove it
    ");
    let ran = house.kith(&["ask", "say on", "--model", "demo"]).succeeded();
    assert_eq!(ran.stderr, "", "it is told once, when the session begins");
}

#[test]
fn a_prompt_file_that_cannot_be_read_stops_before_anything_is_accepted() {
    let house = House::new();
    std::os::unix::fs::symlink("SOUL.md", house.path("SOUL.md")).unwrap();
    check!(house.kith(&["ask", "hi"]), @"
    exit 3
    --- stderr
    error: cannot read prompt file `[house]/SOUL.md`
      cause: Too many levels of symbolic links (os error 40)
    hint: it is part of the agent's instructions; make it readable or delete it
    ");
    assert_eq!(house.session_files().len(), 0);
    fs::remove_file(house.path("SOUL.md")).unwrap();
    house.kith(&["ask", "hello"]).succeeded();
    assert_eq!(
        of_type(&house.log(), "user_message").len(),
        1,
        "what was refused is not said later"
    );
}

#[test]
fn a_missing_constitution_stops_only_new_sessions() {
    let house = House::new();
    house.kith(&["ask", "one"]).succeeded();
    fs::remove_file(house.path("Agent.md")).unwrap();
    house.kith(&["ask", "two"]).succeeded();
    check!(house.kith(&["ask", "three", "--new"]), @"
    exit 1
    --- stderr
    error: `[house]` is not an agent's home: it contains neither `Agent.md` nor `AGENTS.md`
    hint: `kith init [house]` creates an agent there
    ");
    house.write("Agent.md", "Be kind.\n");
    house.kith(&["ask", "four"]).succeeded();
    let said = of_type(&house.log(), "user_message").len();
    assert_eq!(said, 3, "the one that was refused is not said later");
}

#[test]
fn bytes_that_are_not_text_are_replaced_and_reported() {
    let house = House::new();
    house.write("USER.md", b"The owner is called Ad\xff.\n");
    check!(house.kith(&["ask", "say hi", "--model", "demo"]), @"
    exit 0
    --- stdout
    hi
    --- stderr
    note: `[house]/USER.md` contains bytes that are not UTF-8; they were replaced
    ");
    let prompt = house.kith(&["prompt"]).succeeded();
    assert!(prompt.stdout.contains("Ad\u{fffd}."));
    assert!(prompt.stderr.contains("not UTF-8"), "{}", prompt.stderr);
}

#[test]
fn a_prompt_file_of_ten_megabytes_is_cut_and_reported() {
    let house = House::new();
    house.write("SOUL.md", "You are long-winded. ".repeat(500_000));
    check!(house.kith(&["ask", "say hi", "--model", "demo"]), @"
    exit 0
    --- stdout
    hi
    --- stderr
    note: `[house]/SOUL.md` is too long; [n] characters were left out of the prompt
    ");
    let log = fs::metadata(house.session_file()).unwrap().len();
    assert!(log < 1024 * 1024, "{log}");
    check!(only_errors(house.kith(&["prompt"])), @"
    exit 0
    --- stderr
    [house]/Agent.md: 9 of 9 characters in the prompt
    [house]/SOUL.md: 58982 of [n] characters in the prompt
    note: `[house]/SOUL.md` is too long; [n] characters were left out of the prompt
    ");
}

fn only_errors(mut ran: Ran) -> Ran {
    ran.stdout.clear();
    ran
}

#[test]
fn a_file_in_place_of_the_kith_folder_is_a_filesystem_error() {
    let house = House::new();
    house.write(".kith", "");
    check!(house.kith(&["ask", "hi"]), @"
    exit 3
    --- stderr
    error: cannot take the lock `[house]/.kith/host.lock`
      cause: File exists (os error 17)
    hint: check that `.kith` is a writable folder
    ");
    check!(house.kith(&["ask", "hi", "--json"]), @r#"
    exit 3
    --- stdout
    {"ok":false,"error":{"code":"filesystem_error","message":"cannot take the lock `[house]/.kith/host.lock`: File exists (os error 17)","hint":"check that `.kith` is a writable folder"}}
    "#);
    house.kith(&["prompt"]).succeeded();
    assert_eq!(house.files(), [".kith", "Agent.md"]);
}

#[test]
fn a_file_in_place_of_the_sessions_folder_is_a_filesystem_error() {
    let house = House::new();
    house.write(".kith/sessions", "");
    check!(house.kith(&["ask", "hi"]), @r"
    exit 3
    --- stderr
    error: cannot list the sessions in `[house]/.kith/sessions`
      cause: Not a directory (os error 20)
    hint: check that `.kith` is a writable folder
    ");
    check!(house.kith(&["session", "ls"]), @"
    exit 3
    --- stderr
    error: cannot list the sessions in `[house]/.kith/sessions`
      cause: Not a directory (os error 20)
    hint: check that `.kith` is a writable folder
    ");
}

#[test]
fn a_desk_that_is_no_database_is_named_and_sessions_can_be_read() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    house.write(".kith/state.db", "nonsense");
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: `[house]/.kith/state.db` is not a SQLite database
    hint: nothing was changed; move `.kith/state.db` with its `-wal` and `-shm` files out of the way, and the next message rebuilds it from the sessions. Waiting messages and your list of trusted repositories cannot be rebuilt
    ");
    check!(house.kith(&["session", "ls"]), @"
    exit 0
    --- stdout
    [short]  [minute]  idle       cli:room:[cwd]  say one
    --- stderr
    note: only the session files were read: `[house]/.kith/state.db` is not a SQLite database
    ");
    check!(house.kith(&["session", "verify", "latest", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"damaged","message":"`[house]/.kith/state.db` is not a SQLite database","hint":"nothing was changed; move `.kith/state.db` with its `-wal` and `-shm` files out of the way, and the next message rebuilds it from the sessions. Waiting messages and your list of trusted repositories cannot be rebuilt"}}
    "#);
    fs::remove_file(house.path(".kith/state.db")).unwrap();
    // What the desk knew is read from the logs, so the conversation goes on where it was.
    check!(house.kith(&["ask", "say two"]), @r"
    exit 0
    --- stdout
    two
    --- stderr
    note: `.kith/state.db` was missing or older than the sessions and was rebuilt from their logs (threads: 1), without your trusted repositories: check `kith trust ls`
    note: using the built-in demo model; set ANTHROPIC_API_KEY or OPENAI_API_KEY to use a real one
    ");
    assert_eq!(house.session_files().len(), 1);
}

#[test]
fn every_failure_is_one_json_value_with_a_code_a_message_and_its_exit_code() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    let cases: [(&[&str], i32, &str); 12] = [
        (&["ask", ""], 2, "usage"),
        (&["ask", "x", "--bogus"], 2, "usage"),
        (&["bogus"], 2, "usage"),
        (&["session"], 2, "usage"),
        (&["session", "rename"], 2, "usage"),
        (&["init"], 2, "usage"),
        (&["ask", "x", "--thread", "x"], 2, "usage"),
        (&["ask", "x", "--home", "nowhere"], 1, "home_not_found"),
        (&["session", "show", "ffff"], 1, "session_not_found"),
        (&["session", "verify", "ffff"], 1, "session_not_found"),
        (&["ask", "x", "--model", "none"], 1, "invalid_request"),
        (&["prompt", "--cwd", "nowhere"], 1, "invalid_request"),
    ];
    for (args, exit_code, code) in cases {
        let ran = house.kith(&[args, &["--json"]].concat());
        assert_eq!(ran.code, exit_code, "{args:?}: {}", ran.stdout);
        let value = ran.json();
        assert_eq!(value["ok"], false, "{args:?}");
        assert_eq!(value["error"]["code"], code, "{args:?}");
        assert!(!value["error"]["message"].as_str().unwrap().contains('\n'), "{args:?}");
        assert_eq!(ran.stderr, "", "{args:?}");
    }
}

#[test]
fn nothing_is_written_outside_the_house() {
    let house = House::new();
    house.kith(&["ask", "list the files"]).succeeded();
    house.kith_with_input(&[], "hello\n").succeeded();
    house.kith(&["session", "verify", "latest"]).succeeded();
    assert_eq!(fs::read_dir(house.path("../user")).unwrap().count(), 0);
    let files = house.files();
    let mut files = files.iter().map(|it| it.split(".kith/").last().unwrap());
    let known = [".gitignore", "Agent.md", "host.lock", "state.db"];
    assert!(
        files.all(|it| known.contains(&it)
            || ["index.db", "index.db-wal", "index.db-shm"].contains(&it)
            || it.starts_with("sessions/")
            || it.starts_with("logs/")
            || it.starts_with("threads/")),
        "{:?}",
        house.files()
    );
}

#[test]
fn a_read_of_the_desk_that_fails_once_is_tried_again_and_is_no_damage() {
    let house = House::new();
    house.kith(&["ask", "--message-id", "m1", "say one"]).succeeded();
    let desk = house.path(".kith/state.db").display().to_string();
    for n in 1..=12 {
        let id = format!("n{n}");
        let ask = ["ask", "--message-id", &id, "say two"];
        let fault = format!("inject=pread64:error=EIO:when={n}");
        let rules = ["-e", "trace=pread64", "-P", &desk, "-e", &fault];
        let Some(ran) = house.refused(&rules, &ask) else { return };
        assert!(!ran.stderr.contains("damaged"), "read {n}: {}", ran.shown());
        assert_eq!(ran.code, 0, "read {n}: {}", ran.shown());
    }
    let log = house.log();
    let keys = log.iter().filter(|line| line["type"] == "user_message").count();
    assert_eq!(keys, 13, "each was said once");
}

#[test]
fn a_write_of_the_desk_that_fails_is_not_called_a_full_disk() {
    let house = House::new();
    house.kith(&["ask", "say one"]).succeeded();
    for n in 1..=10 {
        let id = format!("n{n}");
        let ask = ["ask", "--message-id", &id, "say two"];
        let fault = format!("inject=pwrite64:error=EIO:when={n}");
        let rules = ["-e", "trace=pwrite64", "-e", &fault];
        let Some(ran) = house.refused(&rules, &ask) else { return };
        assert!(matches!(ran.code, 0 | 3), "write {n}: {}", ran.shown());
        assert!(!ran.stderr.contains("no room"), "write {n}: {}", ran.shown());
        house.kith(&ask).succeeded();
    }
}
