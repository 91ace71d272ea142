//! A test is a small world, a call, and what the model reads.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use kith_testkit::another_user::unprivileged;
use serde_json::Value;

use kith_vocab::tool::ToolOutcome;

use super::*;
use crate::fixture::{World, trust_of, write_file};
use crate::search_files::page::SEARCH_LINE_CHARS_MAX;

const WORLD: &str = "
//- yard/Cargo.toml
name = \"kith\"
//- yard/src/lib.rs
fn main() {}
// TODO: name
//- yard/src/deep/inner.rs
// todo later
let TODO = 1;
//- yard/src/deep/笔记.md
今天要做的事
TODO 写测试
//- yard/.env
TODO=1
//- yard/.git/HEAD
TODO
//- yard/.kith/state.db
TODO
//- yard/src/.Kith/keys.rs
TODO
//- out/secret.rs
TODO secret
//- yard/leak -> ../out
//- yard/leak.rs -> ../out/secret.rs
//- yard/inside -> src
//- yard/pipe |";

const ALL: &str = "4 matches in 4 files\n.env\n1: TODO=1\nsrc/deep/inner.rs\n2: let TODO = 1;\n\
                   src/deep/笔记.md\n2: TODO 写测试\nsrc/lib.rs\n2: // TODO: name\n";

const CAPITALS: &str = "capitals count unless `ignoreCase` is true";
const REGEX: &str = "the pattern is a regex: `\\` before a sign searches for the sign";

#[test]
fn schema_names_the_fields_of_the_input() {
    let schema: Value = serde_json::from_str(SearchFiles::INPUT_SCHEMA).unwrap();
    let all = SearchFilesInput {
        pattern: String::new(),
        path: call::cwd(),
        glob: Some(String::new()),
        files_only: Some(true),
        ignore_case: Some(true),
        context: Some(1),
    };
    let keys = |object: &Value| -> BTreeSet<String> {
        object.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(&schema["properties"]), keys(&serde_json::to_value(all).unwrap()));
    assert_eq!(schema["required"], serde_json::json!(["pattern"]));
}

#[test]
fn matches_stand_under_the_path_of_their_file() {
    check(WORLD, r#"{"pattern":"TODO"}"#, ALL);
    check(WORLD, r#"{"pattern":"TODO","path":".","context":0,"filesOnly":false}"#, ALL);
    check(
        WORLD,
        r#"{"pattern":"TODO","path":"src/deep"}"#,
        "2 matches in 2 files\nsrc/deep/inner.rs\n2: let TODO = 1;\nsrc/deep/笔记.md\n\
         2: TODO 写测试\n",
    );
    check(
        WORLD,
        r#"{"pattern":"secret|^fn","path":"<tmp>/yard/src"}"#,
        "1 match in 1 file\n<tmp>/yard/src/lib.rs\n1: fn main() {}\n",
    );
}

#[test]
fn one_file_can_be_searched() {
    let found = "1 match in 1 file\nsrc/lib.rs\n2: // TODO: name\n";
    check(WORLD, r#"{"pattern":"TODO","path":"src/lib.rs"}"#, found);
    check(WORLD, r#"{"pattern":"TODO","path":"src/lib.rs","glob":"*.md"}"#, found);
    check(WORLD, r#"{"pattern":"TODO","path":"inside/lib.rs"}"#, &found.replace("src/", "inside/"));
}

#[test]
fn files_only_names_files_with_counts() {
    check(
        WORLD,
        r#"{"pattern":"todo","ignoreCase":true,"filesOnly":true,"context":3}"#,
        "5 matches in 4 files\n.env (1)\nsrc/deep/inner.rs (2)\nsrc/deep/笔记.md (1)\n\
         src/lib.rs (1)\n",
    );
}

#[test]
fn patterns_are_regexes_of_every_alphabet() {
    check(
        WORLD,
        r#"{"pattern":"今天.*事$"}"#,
        "1 match in 1 file\nsrc/deep/笔记.md\n1: 今天要做的事\n",
    );
    check(
        WORLD,
        r#"{"pattern":"\\bLET\\s+\\w+ =","ignoreCase":true}"#,
        "1 match in 1 file\nsrc/deep/inner.rs\n2: let TODO = 1;\n",
    );
    let world = "//- yard/a\nÜBER\nuber\n";
    let expected = "1 match in 1 file\na\n1: ÜBER\n";
    check(world, r#"{"pattern":"über","ignoreCase":true}"#, expected);
}

#[test]
fn globs_choose_files() {
    let rust = "2 matches in 2 files\nsrc/deep/inner.rs\n2: let TODO = 1;\nsrc/lib.rs\n\
                2: // TODO: name\n";
    for glob in ["**/*.rs", "*.rs", "*.{rs,toml}", "src/**/*.rs", "./src/**/*.rs"] {
        check(WORLD, &format!(r#"{{"pattern":"TODO","glob":"{glob}"}}"#), rust);
    }
    let shallow = "1 match in 1 file\nsrc/lib.rs\n2: // TODO: name\n";
    check(WORLD, r#"{"pattern":"TODO","glob":"src/*.rs"}"#, shallow);
    let deep = "1 match in 1 file\nsrc/deep/inner.rs\n2: let TODO = 1;\n";
    check(WORLD, r#"{"pattern":"let","glob":"src/"}"#, deep);
    check(WORLD, r#"{"pattern":"let","path":"src","glob":"deep/*"}"#, deep);
}

#[test]
fn globs_that_lead_out_are_refused() {
    for glob in ["../*", "src/../../out/*", "/etc/*", ".."] {
        check(
            WORLD,
            &format!(r#"{{"pattern":"TODO","glob":"{glob}"}}"#),
            &format!("error: the glob `{glob}` leads out of the folder; name the folder in `path`"),
        );
    }
    check(WORLD, r#"{"pattern":"a","glob":""}"#, "error: the glob is empty; leave it out");
    check(
        WORLD,
        r#"{"pattern":"a","glob":"[a"}"#,
        "error: the glob `[a` is not a valid glob: unclosed character class; missing ']'",
    );
}

#[test]
fn links_and_paths_lead_nowhere_else() {
    let outside = "lies outside the folders you may read (`<tmp>/yard`, `<tmp>/home`)";
    for path in ["leak", "leak.rs", "../out", "/etc"] {
        let input = format!(r#"{{"pattern":"TODO","path":"{path}"}}"#);
        check(WORLD, &input, &format!("error: `{path}` {outside}"));
    }
    for path in [".kith", ".kith/state.db"] {
        let input = format!(r#"{{"pattern":"TODO","path":"{path}"}}"#);
        let expected = format!("error: `{path}` lies in `.kith`, which tools may not read");
        check(WORLD, &input, &expected);
    }
    check(
        WORLD,
        r#"{"pattern":"TODO","path":"pipe"}"#,
        "error: `pipe` is neither a file nor a folder but a pipe, socket or device",
    );
    for glob in [".kith/*", "**/.Kith/*", ".git/*", "leak/*", "leak.rs", "inside/*", "pipe"] {
        check(
            WORLD,
            &format!(r#"{{"pattern":"TODO","glob":"{glob}"}}"#),
            &format!("0 matches in 0 files searched\nno text file here matches the glob `{glob}`"),
        );
    }
}

#[test]
fn ignored_files_are_left_out_unless_named() {
    let world = "
//- yard/.gitignore
target/
*.log
//- yard/a.log
needle
//- yard/a.txt
needle
//- yard/target/debug/x.rs
needle";
    check(
        world,
        r#"{"pattern":"needle"}"#,
        "1 match in 1 file, 2 ignored left out\na.txt\n1: needle\n",
    );
    let inside = "1 match in 1 file\ntarget/debug/x.rs\n1: needle\n";
    check(world, r#"{"pattern":"needle","path":"target"}"#, inside);
    check(world, r#"{"pattern":"needle","path":"a.log"}"#, "1 match in 1 file\na.log\n1: needle\n");
    check(
        world,
        r#"{"pattern":"9"}"#,
        "0 matches in 2 files searched, 2 ignored left out\n\
         name an ignored file or folder in `path` to search it",
    );
}

#[test]
fn nothing_found_comes_with_a_hint() {
    check(
        WORLD,
        r#"{"pattern":"Main()"}"#,
        &format!("0 matches in 5 files searched\n{CAPITALS}\n{REGEX}"),
    );
    check(WORLD, r#"{"pattern":"没有"}"#, "0 matches in 5 files searched\n");
    check("", r#"{"pattern":"没有"}"#, "0 matches in 0 files searched\n");
}

#[test]
fn wrong_input_is_refused_in_words() {
    let start = "error: the input of search_files is wrong: ";
    for (input, expected) in [
        (r#"{"pattern":"a","context":6}"#, "error: `context` is at most 5".to_owned()),
        (r#"{"path":"."}"#, format!("{start}missing field `pattern`")),
        (r#"{"pattern":"a","context":-1}"#, format!("{start}invalid value: integer `-1`")),
        (r#"{"pattern":"a","filesOnly":"yes"}"#, format!("{start}invalid type: string")),
        (r#"{"pattern":1}"#, format!("{start}invalid type: integer `1`")),
        (r#"{"pattern":"main("}"#, "error: the pattern `main(` is not a valid regex".to_owned()),
        (r#"{"pattern":"a\\nb"}"#, r"error: the pattern `a\nb` asks for the end of".to_owned()),
        (r#"{"pattern":"a","path":"missing"}"#, "error: `missing` does not exist".to_owned()),
    ] {
        let text = World::new(WORLD).call("search_files", input);
        assert!(text.starts_with(&expected), "{text}");
    }
}

#[test]
fn lines_around_are_shown_once() {
    let world = "//- yard/f\n1\n2\nx\n4\n5\nx\n7\n8\n9\n10\n11\nx\n";
    let call = |context: usize| format!(r#"{{"pattern":"x","context":{context}}}"#);
    check(
        world,
        &call(1),
        "3 matches in 1 file\nf\n2- 2\n3: x\n4- 4\n5- 5\n6: x\n7- 7\n11- 11\n12: x\n",
    );
    check(
        world,
        &call(2),
        "3 matches in 1 file\nf\n1- 1\n2- 2\n3: x\n4- 4\n5- 5\n6: x\n7- 7\n8- 8\n10- 10\n\
         11- 11\n12: x\n",
    );
    check(
        world,
        &call(5),
        "3 matches in 1 file\nf\n1- 1\n2- 2\n3: x\n4- 4\n5- 5\n6: x\n7- 7\n8- 8\n9- 9\n10- 10\n\
         11- 11\n12: x\n",
    );
    let world = "//- yard/a\nx\nend\n//- yard/b\nbegin\nx\n";
    check(world, &call(1), "2 matches in 2 files\na\n1: x\n2- end\nb\n1- begin\n2: x\n");
}

#[test]
fn ends_of_lines_are_not_part_of_them() {
    check_bytes(b"one\r\ntwo\r\n", "^one$", "1 match in 1 file\nf\n1: one\n");
    check_bytes(b"one\r\ntwo", "o$", "1 match in 1 file\nf\n2: two\n");
    check_bytes(b"a\n\nb\n", "^$", "1 match in 1 file\nf\n2: \n");
    check_bytes(b"\n", "x$|^$", "1 match in 1 file\nf\n1: \n");
    check_bytes(b"", "^", &format!("0 matches in 1 file searched\n{REGEX}"));
    let none = format!("0 matches in 1 file searched\n{CAPITALS}\n{REGEX}");
    check_bytes(b"a b\nc\n", r"b\s*c", &none);
    check_bytes(b"\xef\xbb\xbfone\n", "^one", "1 match in 1 file\nf\n1: one\n");
}

#[test]
fn text_of_a_file_cannot_pass_for_lines_of_ours() {
    check_bytes(
        b"x\r9: fake\x1b[0m\xe2\x80\xa8\ttab\n",
        "x",
        "1 match in 1 file\nf\n1: x\\u{d}9: fake\\u{1b}[0m\\u{2028}\ttab\n",
    );
    let world = World::new("");
    for name in ["12: fake", "… 3 more", "a\nb"] {
        write_file(&world.path(&format!("yard/{name}")), "x\n");
    }
    assert_eq!(
        world.call("search_files", r#"{"pattern":"x","filesOnly":true}"#),
        "3 matches in 3 files\n./12: fake (1)\na\\u{a}b (1)\n./… 3 more (1)\n"
    );
}

#[test]
fn binary_files_are_left_out_and_counted() {
    let world = World::new("//- yard/a.txt\nx\n");
    write_file(&world.path("yard/b.bin"), b"x\n\0");
    let expected = "1 match in 1 file, 1 file left out as binary\na.txt\n1: x\n";
    assert_eq!(world.call("search_files", r#"{"pattern":"x"}"#), expected);
    assert_eq!(
        world.call("search_files", r#"{"pattern":"x","path":"b.bin"}"#),
        "error: `b.bin` is a binary file of 3 bytes; search_files searches text only"
    );
}

#[test]
fn invalid_utf8_is_replaced_and_told() {
    check_bytes(
        b"caf\xe9 x\n",
        "x",
        "1 match in 1 file, invalid UTF-8 shown as \u{fffd}\nf\n1: caf\u{fffd} x\n",
    );
    check_bytes("\u{fffd} x\n".as_bytes(), "x", "1 match in 1 file\nf\n1: \u{fffd} x\n");
}

#[test]
fn files_too_large_are_left_out_and_told() {
    let world = World::new("//- yard/a.txt\nx\n//- yard/large\nx\n");
    let large = File::options().write(true).open(world.path("yard/large")).unwrap();
    large.set_len(SEARCH_FILE_BYTES_MAX + 1).unwrap();
    let expected = "1 match in 1 file, 1 file above 64 MiB left out\na.txt\n1: x\n";
    assert_eq!(world.call("search_files", r#"{"pattern":"x"}"#), expected);
    assert_eq!(
        world.call("search_files", r#"{"pattern":"x","path":"large"}"#),
        "error: `large` is too large to search: 67,108,865 bytes, at most 67,108,864; read_file \
         shows a part of it"
    );
}

#[test]
fn long_lines_are_shortened_and_told() {
    let line = format!("{}needle{}\n", "a".repeat(1_000_000), "b".repeat(1_000_000));
    let expected = format!(
        "1 match in 1 file, long lines shortened (…)\nf\n1: …{}needle{}…\n",
        "a".repeat(60),
        "b".repeat(174)
    );
    check_bytes(line.as_bytes(), "needle", &expected);
    let expected = format!(
        "1 match in 1 file, long lines shortened (…)\nf\n1: {}…\n",
        "a".repeat(SEARCH_LINE_CHARS_MAX)
    );
    check_bytes(line.as_bytes(), "a+needle", &expected);
}

#[test]
fn line_beyond_the_limit_ends_the_search_of_its_file() {
    let world = World::new("//- yard/a.txt\nx\n");
    let long = format!("x\n{}\nx\n", "y".repeat(SEARCH_LINE_BYTES_MAX + 1));
    write_file(&world.path("yard/b.txt"), long);
    assert_eq!(
        world.call("search_files", r#"{"pattern":"x"}"#),
        "2 matches in 2 files, 1 file not read to the end\na.txt\n1: x\nb.txt\n1: x\n"
    );
    assert_eq!(
        world.call("search_files", r#"{"pattern":"x","path":"b.txt"}"#),
        "1 match in 1 file, 1 file not read to the end\nb.txt\n1: x\n"
    );
    assert_eq!(
        world.call("search_files", r#"{"pattern":"y","path":"b.txt"}"#),
        "error: `b.txt` cannot be searched: it has a line of more than 4,194,304 bytes"
    );
}

#[test]
fn ten_megabytes_are_counted_right_and_shown_in_part() {
    let mut content = String::new();
    for number in 1..=200_000 {
        writeln!(content, "{number:050}").unwrap();
    }
    let world = World::new("");
    write_file(&world.path("yard/f"), &content);
    assert_eq!(
        world.call("search_files", r#"{"pattern":"0199999$"}"#),
        format!("1 match in 1 file\nf\n199999: {:050}\n", 199_999)
    );
    let text = world.call("search_files", r#"{"pattern":"7"}"#);
    let n_sevens = content.lines().filter(|line| line.contains('7')).count();
    let header = format!("{} matches in 1 file\nf\n7: ", display::number(n_sevens as u64));
    assert!(text.starts_with(&header), "{text}");
    let footer = format!(
        "… {} more; narrow pattern, path or glob, or set filesOnly",
        display::number(n_sevens as u64 - 200)
    );
    assert!(text.ends_with(&footer), "{text}");
    assert_eq!(text.lines().count(), 2 + 200 + 1);
}

#[test]
fn five_thousand_files_are_searched() {
    let world = World::new("");
    for number in 0..5000 {
        let path = format!("yard/{:02}/f{number:04}", number / 100);
        write_file(&world.path(&path), format!("number {number}\nneedle\n"));
    }
    let text = world.call("search_files", r#"{"pattern":"number 4321$"}"#);
    assert_eq!(text, "1 match in 1 file\n./43/f4321\n1: number 4321\n");
    let text = world.call("search_files", r#"{"pattern":"needle","filesOnly":true}"#);
    assert!(text.starts_with("5,000 matches in 5,000 files\n./00/f0000 (1)\n"), "{text}");
    assert!(text.ends_with("f0199 (1)\n… 4,800 more; narrow pattern, path or glob"), "{text}");
}

#[test]
fn full_page_ends_early_but_cuts_no_line() {
    let world = World::new("");
    let mut content = String::new();
    for number in 0..150 {
        writeln!(content, "{number:03}{}", "名".repeat(200)).unwrap();
    }
    // It would fit, but a list with a hole in it looks whole.
    content.push_str("名\n");
    write_file(&world.path("yard/f"), content);
    let text = world.call("search_files", r#"{"pattern":"名"}"#);
    let lines: Vec<&str> = text.lines().collect();
    let n_shown = lines.len() - 3;
    assert!(n_shown > 20, "{text}");
    assert_eq!(lines[0], "151 matches in 1 file");
    assert_eq!(lines[n_shown + 1], format!("{n_shown}: {:03}{}", n_shown - 1, "名".repeat(200)));
    let footer =
        format!("… {} more; narrow pattern, path or glob, or set filesOnly", 151 - n_shown);
    assert_eq!(lines[n_shown + 2], footer);
}

#[test]
fn search_that_stops_early_says_at_least() {
    let world = World::new("//- yard/a\nx\nx\n//- yard/b\nx\nx\n//- yard/c\n");
    let input = r#"{"pattern":"x"}"#;
    let part = "at least 2 matches in 1 file, stopped early: choose a narrower path or glob\n\
                a\n1: x\n2: x\n";
    check_bytes_left(&world, input, 100, "4 matches in 2 files\na\n1: x\n2: x\nb\n1: x\n2: x\n");
    check_bytes_left(&world, input, 4, part);
    // The line that was cut is not searched.
    check_bytes_left(&world, input, 5, part);
    check_bytes_left(
        &world,
        r#"{"pattern":"x","filesOnly":true}"#,
        8,
        "at least 4 matches in 2 files, stopped early: choose a narrower path or glob\n\
         a (2)\nb (2)\n",
    );
}

#[test]
fn large_patterns_may_read_less() {
    let cancel = CancellationToken::new();
    let bytes_left = |pattern: &str| {
        let json = Json::of(&serde_json::json!({ "pattern": pattern }));
        let input: SearchFilesInput = call::read_input(NAME, &json).unwrap();
        let pattern = Pattern::parse(pattern, Case::Counts).unwrap();
        Search::new(&input, pattern, &trust_of(), &cancel).bytes_left
    };
    assert_eq!(bytes_left("fn main"), SEARCH_BYTES_MAX);
    assert_eq!(bytes_left("a{1000}"), SEARCH_STEPS_MAX / 1000);
}

#[test]
fn file_that_may_not_be_read_is_told() {
    let test = "search_files::tests::file_that_may_not_be_read_is_told";
    unprivileged(test, None, || {
        let world = World::new("//- yard/a\nx\n//- yard/shut\nx\n");
        fs::set_permissions(world.path("yard/shut"), Permissions::from_mode(0o000)).unwrap();
        let expected = "1 match in 1 file, 1 file not read to the end\na\n1: x\n";
        assert_eq!(world.call("search_files", r#"{"pattern":"x"}"#), expected);
    });
}

#[test]
fn files_of_the_kernel_are_not_searched() {
    let roots = Roots::new(Path::new("/"), vec!["/".into()]).unwrap();
    let OpenedPath::Folder(root) = roots.open_path("/").unwrap() else { panic!("no folder") };
    assert!(root.folder.open_folder("proc".as_ref()).is_err());
}

#[test]
fn cancelled_call_finds_nothing() {
    let world = World::new(WORLD);
    let prepared = world.prepare("search_files", r#"{"pattern":"TODO"}"#).unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let output = world.run_until("search_files", prepared, &cancel);
    let text = output.plain_text();
    assert_eq!((&*text, output.outcome), ("search_files was cancelled", ToolOutcome::Failed));

    for path in [".", "src/lib.rs"] {
        let json = Json::of(&serde_json::json!({ "pattern": "TODO", "path": path }));
        let tool = SearchFiles { roots: world.roots(), trust_of: trust_of() };
        let (target, _) = tool.open(&json).unwrap();
        let refusal = tool.read(target, &cancel).unwrap_err();
        assert_eq!(refusal.text, "search_files was cancelled");
    }
}

#[test]
fn cancel_is_seen_within_a_file() {
    let cancel = CancellationToken::new();
    let (mut bytes_left, mut buffer) = (100, [0; 4]);
    let mut reader =
        Metered { source: &b"abcdefgh"[..], bytes_left: &mut bytes_left, stop: &cancel };
    assert_eq!(reader.read(&mut buffer).unwrap(), 4);
    cancel.cancel();
    assert!(reader.read(&mut buffer).is_err());
    assert_eq!(bytes_left, 96);
}

#[track_caller]
fn check(world: &str, input: &str, expected: &str) {
    assert_eq!(World::new(world).call("search_files", input), expected);
}

#[track_caller]
fn check_bytes(content: &[u8], pattern: &str, expected: &str) {
    let world = World::new("");
    write_file(&world.path("yard/f"), content);
    let input = Json::of(&serde_json::json!({ "pattern": pattern }));
    assert_eq!(world.call("search_files", input.as_str()), expected);
}

#[track_caller]
fn check_bytes_left(world: &World, input: &str, bytes_left: u64, expected: &str) {
    let (cancel, trust_of) = (CancellationToken::new(), trust_of());
    let tool = SearchFiles { roots: world.roots(), trust_of: Arc::clone(&trust_of) };
    let (target, _) = tool.open(&Json::parse(input).unwrap()).unwrap();
    let OpenedPath::Folder(folder) = target.path else { panic!("no folder") };
    let mut search = Search::new(&target.input, target.pattern, &trust_of, &cancel);
    search.bytes_left = bytes_left;
    let left_out = search.folder(".", folder, None, &world.roots().private_files());
    assert_eq!(search.into_text(&target.input, &left_out), expected);
}
