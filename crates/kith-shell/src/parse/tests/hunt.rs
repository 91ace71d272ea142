//! A hunt for texts on which the grammar's scanner, which is C, crashes or takes for ever.
//!
//! A crash ends the test's process and a hang runs into the time limit of the tests; nothing needs to
//! be compared. With KITH_SLOW_TESTS many more texts are tried.

use proptest::test_runner::{Config, TestRunner};

use super::*;

/// What repeats in texts that are made to be slow or deep.
const UNITS: &[&str] = &[
    "a|",
    "a||",
    "a&&",
    "a;",
    "a\n",
    "a&",
    "|",
    "<",
    ">",
    "<<",
    "<<<",
    "<<E\n",
    "<<-E\n",
    "<<'E'\n",
    "<<\"E\" ",
    "<<E <<F\n",
    "E\n",
    "(",
    "((",
    "( ",
    "$(",
    "$((",
    "$( ",
    "${",
    "${a",
    "${a[",
    "${a:-",
    "${#",
    "`",
    "` ",
    "'",
    "\"",
    "\"$(",
    "\"${",
    "\"`",
    "$'",
    "$\"",
    "\\",
    "\\\n",
    "#",
    "# ",
    "a=",
    "a=(",
    "a[",
    "a[0]=",
    "[",
    "[[ ",
    "[[ a =~ ",
    "[[ a == ",
    "]",
    "{",
    "{ ",
    "{a,",
    "{1..",
    "}",
    "!",
    "! ",
    "~",
    "*",
    "?",
    "if ",
    "if a; then ",
    "for a in ",
    "for ((",
    "while ",
    "case a in ",
    "case a in a) ",
    "do ",
    "select a in ",
    "function f ",
    "f() ",
    "f() {",
    "coproc ",
    "time ",
    "declare ",
    "export a=",
    "unset ",
    "\r",
    "\r\n",
    "\t",
    "\0",
    "\u{b}",
    "\u{7f}",
    "\u{e9}",
    "\u{4f60}",
    "\u{1f534}",
    "\u{202e}",
    "\u{feff}",
    "=~ ",
    "== ",
    "-eq ",
    "++",
    "<(",
    ">(",
    "&>",
    ">&",
    "2>&1 ",
    "1>",
    "{fd}>",
    ":",
    "::",
    "@(",
    "+(",
    "$",
    "$$",
    "$?",
    "$!",
    "$a",
    "$@",
    "\\\\",
    "a\\",
    "\"a\" ",
    "'a' ",
    "-",
    "--",
    "/",
    "%",
    ",",
    ";;",
    ";&",
];

fn is_slow() -> bool {
    std::env::var_os("KITH_SLOW_TESTS").is_some()
}

fn hunt(cases: u32, strategy: &impl Strategy<Value = String>) {
    let cases = if is_slow() { cases * 40 } else { cases };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let read = |text: String| {
        let script = parse(&text);
        // What is understood is within the limits; everything else is an obstacle.
        prop_assert!(script.segments.len() <= SEGMENTS_MAX + 1);
        prop_assert!(script.obstacles.len() <= OBSTACLES_MAX);
        Ok(())
    };
    TestRunner::new(config).run(strategy, read).unwrap();
}

#[test]
fn any_unit_repeated_up_to_the_limits_is_read_or_refused() {
    let counts: &[usize] =
        if is_slow() { &[1, 2, 63, 64, 65, 200, 599, 600, 601] } else { &[65, 599] };
    for unit in UNITS {
        for n in counts.iter().copied().chain([SCRIPT_BYTES_MAX / unit.len()]) {
            parse(&unit.repeat(n));
            // Something before and after it, so that it is not the whole text.
            parse(&format!("ls {}\nls", unit.repeat(n.min(2_000))));
        }
    }
}

#[test]
fn any_pair_of_units_is_read_or_refused() {
    for (n, first) in UNITS.iter().enumerate() {
        // Each meets a part of the others, and with KITH_SLOW_TESTS all.
        let (start, step) = if is_slow() { (0, 1) } else { (n % 9, 9) };
        for second in UNITS.iter().skip(start).step_by(step) {
            parse(&format!("{first}{second}").repeat(20));
            parse(&format!("{}{}", first.repeat(30), second.repeat(30)));
        }
    }
}

#[test]
fn unfinished_here_documents_are_read_or_refused() {
    for start in [
        "<<E", "<<-E", "<<'E'", "<<\"E\"", "<<\\E", "<<$E", "<<", "<<<", "<<E <<F", "<<E |", "<<E)",
    ] {
        for body in [
            "", "\n", "\na\n", "\n$(", "\n${", "\n`", "\nE", "\nE\n", "\n\tE\n", "\nE\nF", "\n\\",
            "\n$",
        ] {
            for before in ["", "cat ", "(cat ", "$(cat ", "a | cat ", "cat \u{e9}"] {
                parse(&format!("{before}{start}{body}"));
                parse(&format!("{before}{start}{}", body.repeat(300)));
            }
        }
    }
}

#[test]
fn very_long_words_are_read_or_refused() {
    for ch in [
        "a", "0", "/", "-", "=", ",", "\u{e9}", "\u{4f60}", "\u{0}", "\\a", "'a'", "\"a\"", "~",
        "%",
    ] {
        let word = ch.repeat(SCRIPT_BYTES_MAX / ch.len() - 10);
        for text in [format!("ls {word}"), word.clone(), format!("ls '{word}"), format!("<<{word}")]
        {
            parse(&text);
        }
    }
}

#[test]
fn units_in_any_order_are_read_or_refused() {
    let unit = prop::sample::select(UNITS.to_vec());
    hunt(700, &prop::collection::vec(unit, 0..120).prop_map(|it| it.concat()));
}

#[test]
fn characters_of_any_kind_are_read_or_refused() {
    let chars = prop::collection::vec(any::<char>(), 0..200).prop_map(String::from_iter);
    hunt(700, &chars);
    let near = prop::collection::vec(
        prop_oneof![
            4 => prop::sample::select(UNITS.to_vec()).prop_map(str::to_owned),
            2 => any::<char>().prop_map(String::from),
            1 => prop::sample::select(vec!["\0", "\r", "\u{80}", "\u{ff}", "\u{100}", "\u{ffff}", "\u{10ffff}"])
                .prop_map(str::to_owned),
            2 => "[a-z]{1,8}",
        ],
        0..80,
    );
    hunt(700, &near.prop_map(|it| it.concat()));
}

/// The grammar is given a letter for each byte that is no visible ASCII: no text must mean anything
/// else because of that.
#[test]
fn the_letters_for_other_bytes_keep_every_length_and_every_mark() {
    hunt(500, &"\\PC{0,60}");
    let config = Config { cases: 500, failure_persistence: None, ..Config::default() };
    let check = |text: String| {
        let bytes = plain_bytes(&text);
        prop_assert_eq!(bytes.len(), text.len());
        prop_assert!(bytes.iter().all(u8::is_ascii));
        for (byte, plain) in text.bytes().zip(bytes) {
            prop_assert!(
                byte == plain || !(byte.is_ascii_graphic() || byte == b' ' || byte == b'\n')
            );
        }
        Ok(())
    };
    TestRunner::new(config).run(&".{0,80}", check).unwrap();
}
