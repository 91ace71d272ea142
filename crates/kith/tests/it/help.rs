//! Help, version and wrong usage.

use crate::check;
use crate::house::House;

#[test]
fn every_command_has_help_with_an_example_and_needs_no_home() {
    let house = House::empty();
    let pages = house.json(&["man", "--list", "--json"]);
    let pages = pages["pages"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
    // `kith-session-ls`: no command has a dash in its own name.
    let commands: Vec<Vec<&str>> = pages.map(|page| page.split('-').skip(1).collect()).collect();
    assert!(commands.len() > 60, "{commands:?}");
    for command in &commands {
        for flag in ["--help", "-h"] {
            let ran = house.kith(&[command.as_slice(), &[flag]].concat()).succeeded();
            assert!(ran.stdout.contains("Example:\n  "), "{command:?}:\n{}", ran.stdout);
            assert!(!ran.stdout.contains('\u{1b}'), "colour in a pipe:\n{}", ran.stdout);
            assert_eq!(ran.stderr, "");
        }
        let ran = house.kith(&[&["help"], command.as_slice()].concat()).succeeded();
        assert!(ran.stdout.contains("Example:\n  "), "help {command:?}:\n{}", ran.stdout);
    }
    assert_eq!(house.files(), Vec::<String>::new());
}

#[test]
fn the_help_of_ask_is_as_expected() {
    check!(House::empty().kith(&["ask", "--help"]), @r#"
    exit 0
    --- stdout
    Send a message in this folder's conversation and print the answer

    Usage: kith ask [OPTIONS] [TEXT]...

    Arguments:
      [TEXT]...  Message to send; piped input follows it. `-` reads only stdin

    Options:
          --session <SESSION>     Session to use; by default, this folder's conversation
          --thread <THREAD>       Thread to use (`platform:scopeType:scopeId`)
          --new                   Start a new session of the thread
          --prime <SCRIPT>        Start a new session with the history of this priming script (see `kith
                                  prime ls`); can be repeated. The earlier conversation stays in `kith
                                  session ls`
          --message-id <ID>       Message id; sending the same id again returns the first answer
          --expected-leaf <LEAF>  Send only if the conversation still ends here: the `leaf` of an
                                  answer, or `start`
          --attach <FILE>         Image (PNG, JPEG, GIF, WebP) or PDF to send along; can be repeated, 20
                                  MiB together
          --stream-json           Print each event and delta as a line of JSON while the turn runs, then
                                  the answer
          --model <MODEL>         Model to use: `demo`, a name from kith.toml, or a vendor's model name
      -h, --help                  Print help

    Global options:
          --home <DIR>         House to use: the folder your agent lives in, with its `kith.toml` [env:
                               KITH_HOME]
          --agent <ID>         Agent to use, if the house has several [env: KITH_AGENT]
          --json               Print exactly one JSON value to stdout, even on failure
      -q, --quiet              Print no notes and no progress, and of an answer only its final text
          --color <WHEN>       When to use colours; `auto` obeys NO_COLOR and CLICOLOR_FORCE [possible
                               values: auto, always, never]
          --remote <ADDRESS>   Use the house of a host on another machine: the address that `kith up
                               --listen` printed [env: KITH_REMOTE]
          --token-file <FILE>  File with the token of that host, if KITH_REMOTE_TOKEN is not set [env:
                               KITH_REMOTE_TOKEN_FILE]
          --from-host          Ask the host even for what could be read from files
          --unattended         Never ask questions: nobody is at the terminal

    Example:
      kith ask "read README.md and tell me what it is"
      git diff | kith ask --new "what could go wrong here?"
      kith ask --attach plan.png "what is wrong here?"
      kith ask --prime probe "what do you know of this machine?"
    "#);
}

#[test]
fn the_version_names_program_and_log_format() {
    for flag in ["--version", "-V"] {
        let ran = House::empty().kith(&[flag]).succeeded();
        assert_eq!(ran.stdout, concat!("kith ", env!("CARGO_PKG_VERSION"), " (log format 1)\n"));
    }
}

#[test]
fn a_wrong_flag_is_wrong_usage() {
    check!(House::empty().kith(&["ask", "--modle", "demo", "hi"]), @"
    exit 2
    --- stderr
    error: unexpected argument '--modle' found

      tip: a similar argument exists: '--model'

    Usage: kith ask --model <MODEL> [TEXT]...

    For more information, try '--help'.
    ");
    check!(House::empty().kith(&["ask", "--modle", "demo", "hi", "--json"]), @r#"
    exit 2
    --- stdout
    {"ok":false,"error":{"code":"usage","message":"unexpected argument '--modle' found","hint":"a similar argument exists: '--model'"}}
    "#);
}

#[test]
fn a_wrong_command_is_wrong_usage() {
    check!(House::empty().kith(&["sesion"]), @"
    exit 2
    --- stderr
    error: unrecognized subcommand 'sesion'
    hint: did you mean `kith session`?
    ");
    check!(House::empty().kith(&["session", "--json"]), @r#"
    exit 2
    --- stdout
    {"ok":false,"error":{"code":"usage","message":"'kith session' requires a subcommand but one was not provided [subcommands: ls, show, verify, replay, export, rename, repair, search, rm, tree, branch, rerun, clone, help]","hint":"run it with `--help` to see the usage"}}
    "#);
}

#[test]
fn flags_that_exclude_each_other_are_wrong_usage() {
    let house = House::new();
    let cases: [&[&str]; 3] = [
        &["ask", "hi", "--session", "latest", "--new"],
        &["ask", "hi", "--session", "latest", "--thread", "web:room:a"],
        &["ask", "hi", "--stream-json", "--json"],
    ];
    for args in cases {
        assert_eq!(house.kith(args).code, 2, "{args:?}");
    }
    assert_eq!(house.files(), ["Agent.md"]);
}

#[test]
fn an_argument_that_is_not_utf_8_is_wrong_usage() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let house = House::new();
    let output = house.command(&["ask"]).arg(OsStr::from_bytes(b"\xff")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(house.files(), ["Agent.md"]);
}
