//! A test is a small world, a call, and what the model reads.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;

use kith_testkit::another_user::unprivileged;
use serde_json::Value;

use kith_vocab::tool::ToolOutcome;

use super::*;
use crate::fixture::{World, trust_of, write_file};
use crate::glob::GLOB_BYTES_MAX;

const WORLD: &str = "
//- yard/Cargo.toml
12345
//- yard/src/lib.rs
//- yard/src/deep/inner.rs
//- yard/src/deep/notes.md
//- yard/src/笔记.rs
//- yard/.hidden
//- yard/.git/HEAD
ref
//- yard/.kith/state.db
private
//- yard/src/.Kith/keys.rs
private
//- yard/empty/
//- out/secret.rs
//- yard/leak -> ../out
//- yard/inside -> src
//- yard/pipe |";

#[test]
fn schema_names_the_fields_of_the_input() {
    let schema: Value = serde_json::from_str(ListFiles::INPUT_SCHEMA).unwrap();
    let all =
        serde_json::to_value(ListFilesInput { path: call::cwd(), pattern: Some(String::new()) })
            .unwrap();
    let keys = |object: &Value| -> BTreeSet<String> {
        object.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(&schema["properties"]), keys(&all));
    assert!(schema.get("required").is_none());
}

#[test]
fn folder_is_listed_with_sizes_but_without_git_and_kith() {
    let all = ".: 7 entries\n.hidden\t0\nCargo.toml\t6\nempty/\ninside (link)\nleak (link)\n\
               pipe (not a file)\nsrc/\n";
    check(WORLD, "{}", all);
    check(WORLD, r#"{"path":"."}"#, all);
    let src = "src: 3 entries\ndeep/\nlib.rs\t0\n笔记.rs\t0\n";
    check(WORLD, r#"{"path":"src"}"#, src);
    check(WORLD, r#"{"path":"inside"}"#, &src.replace("src:", "inside:"));
    check(WORLD, r#"{"path":"empty"}"#, "empty: 0 entries\n");
}

#[test]
fn pattern_looks_beneath() {
    check(
        WORLD,
        r#"{"pattern":"**/*.rs"}"#,
        ".: 3 matches of `**/*.rs`\nsrc/deep/inner.rs\nsrc/lib.rs\nsrc/笔记.rs\n",
    );
    check(
        WORLD,
        r#"{"path":"src","pattern":"**/*.{rs,md}"}"#,
        "src: 4 matches of `**/*.{rs,md}`\ndeep/inner.rs\ndeep/notes.md\nlib.rs\n笔记.rs\n",
    );
    check(
        WORLD,
        r#"{"pattern":"src/*.rs"}"#,
        ".: 2 matches of `src/*.rs`\nsrc/lib.rs\nsrc/笔记.rs\n",
    );
    check(WORLD, r#"{"pattern":"./src/d*"}"#, ".: 1 match of `./src/d*`\nsrc/deep/\n");
    check(WORLD, r#"{"pattern":"*/"}"#, ".: 2 matches of `*/`\nempty/\nsrc/\n");
}

#[test]
fn no_match_says_how_to_look_deeper() {
    check(
        WORLD,
        r#"{"pattern":"*.rs"}"#,
        ".: 0 matches of `*.rs`\nput `**/` in front to look in all folders beneath",
    );
    check(WORLD, r#"{"pattern":"**/*.py"}"#, ".: 0 matches of `**/*.py`\n");
}

#[test]
fn kith_is_never_listed() {
    for input in [r#"{"pattern":"**"}"#, r#"{"pattern":"**/.*/**"}"#, r#"{"pattern":".kith/*"}"#] {
        let text = World::new(WORLD).call("list_files", input);
        let (_, body) = text.split_once('\n').unwrap();
        assert!(!body.to_lowercase().contains(".kith"), "{text}");
        assert!(!body.contains(".git"), "{text}");
    }
    check(WORLD, r#"{"path":".kith"}"#, "error: `.kith` lies in `.kith`, which tools may not read");
}

#[test]
fn links_are_named_and_not_followed() {
    let text = World::new(WORLD).call("list_files", r#"{"pattern":"**"}"#);
    assert!(text.contains("\nleak (link)\n"), "{text}");
    assert!(!text.contains("secret"), "{text}");
    check(
        WORLD,
        r#"{"path":"leak"}"#,
        "error: `leak` lies outside the folders you may read (`<tmp>/yard`, `<tmp>/home`)",
    );
}

#[test]
fn ignored_entries_are_left_out_and_counted() {
    let world = "
//- yard/.gitignore
target/
*.log
!keep.log
//- yard/.ignore
*.tmp
//- yard/a.log
//- yard/a.tmp
//- yard/keep.log
//- yard/target/debug/x.rs
//- yard/sub/.gitignore
!b.log
/own.rs
//- yard/sub/b.log
//- yard/sub/c.log
//- yard/sub/own.rs
//- yard/sub/deep/own.rs";
    check(
        world,
        r#"{"pattern":"**"}"#,
        ".: 8 matches of `**`, 5 ignored left out\n.gitignore\n.ignore\nkeep.log\nsub/\n\
         sub/.gitignore\nsub/b.log\nsub/deep/\nsub/deep/own.rs\n",
    );
    let sub = "sub: 3 entries, 2 ignored left out\n.gitignore\t15\nb.log\t0\ndeep/\n";
    check(world, r#"{"path":"sub"}"#, sub);
    // Whoever names an ignored folder wants to see it.
    check(world, r#"{"path":"target"}"#, "target: 1 entry\ndebug/\n");
}

#[test]
fn rules_of_the_folders_around_a_repository_do_not_count_in_it() {
    let world = "
//- yard/.gitignore
*.log
//- yard/repo/.git/HEAD
//- yard/repo/a.log
//- yard/plain/a.log";
    check(
        world,
        r#"{"pattern":"**/*.log"}"#,
        ".: 1 match of `**/*.log`, 1 ignored left out\nrepo/a.log\n",
    );
    check(world, r#"{"path":"repo"}"#, "repo: 1 entry\na.log\t0\n");
}

#[test]
fn pipe_called_gitignore_does_not_hang() {
    check(
        "//- yard/.gitignore |\n//- yard/a",
        "{}",
        ".: 2 entries\n.gitignore (not a file)\na\t0\n",
    );
}

#[test]
fn link_called_gitignore_is_not_read() {
    let world = "//- out/rules\n*\n//- yard/.gitignore -> ../out/rules\n//- yard/a";
    check(world, "{}", ".: 2 entries\n.gitignore (link)\na\t0\n");
}

#[test]
fn patterns_that_lead_out_are_refused() {
    for pattern in ["../*", "a/../../*", "/etc/*", ".."] {
        let expected = format!(
            "error: the pattern `{pattern}` leads out of the folder; name the folder in `path`"
        );
        check(WORLD, &format!(r#"{{"pattern":"{pattern}"}}"#), &expected);
    }
}

#[test]
fn invalid_patterns_are_refused_in_words() {
    check(
        WORLD,
        r#"{"pattern":"[a"}"#,
        "error: the pattern `[a` is not a valid glob: unclosed character class; missing ']'",
    );
    let empty = "error: the pattern is empty; leave it out";
    check(WORLD, r#"{"pattern":""}"#, empty);
    check(WORLD, r#"{"pattern":"./"}"#, empty);
    let long = format!(r#"{{"pattern":"{}"}}"#, "x".repeat(GLOB_BYTES_MAX + 1));
    check(WORLD, &long, "error: the pattern is longer than 512 bytes");
    let text = World::new(WORLD).call("list_files", r#"{"pattern":["*"]}"#);
    assert!(text.starts_with("error: the input of list_files is wrong: invalid type"), "{text}");
}

#[test]
fn five_thousand_files_are_counted_and_five_hundred_shown() {
    let world = World::new("");
    for number in 0..5000 {
        File::create(world.path(&format!("yard/f{number:04}"))).unwrap();
    }
    let text = world.call("list_files", "{}");
    assert!(text.starts_with(".: 5,000 entries\nf0000\t0\nf0001\t0\n"), "{text}");
    assert!(text.ends_with("f0499\t0\n… 4,500 more; use a pattern"), "{text}");
    let text = world.call("list_files", r#"{"pattern":"f4*"}"#);
    assert!(text.starts_with(".: 1,000 matches of `f4*`\nf4000\n"), "{text}");
    assert!(text.ends_with("f4499\n… 500 more; narrow the pattern"), "{text}");
}

#[test]
fn long_names_end_the_list_early_but_are_never_cut() {
    let world = World::new("");
    for number in 0..200 {
        File::create(world.path(&format!("yard/{number:03}{}", "名".repeat(80)))).unwrap();
    }
    // It would fit, but a list with a hole in it looks whole.
    File::create(world.path("yard/z")).unwrap();
    let text = world.call("list_files", "{}");
    let lines: Vec<&str> = text.lines().collect();
    let n_shown = lines.len() - 2;
    assert!(n_shown > 50, "{text}");
    assert_eq!(lines[n_shown], format!("{:03}{}\t0", n_shown - 1, "名".repeat(80)));
    assert_eq!(lines[n_shown + 1], format!("… {} more; use a pattern", 201 - n_shown));
}

#[test]
fn names_cannot_pass_for_lines_of_the_list() {
    let world = World::new("");
    write_file(&world.path("yard/c\nd"), "");
    assert_eq!(world.call("list_files", "{}"), ".: 1 entry\nc\\u{a}d\t0\n");
}

#[test]
fn folder_that_cannot_be_read_is_said() {
    let test = "list_files::tests::folder_that_cannot_be_read_is_said";
    unprivileged(test, None, || {
        let world = World::new("//- yard/a/x\n//- yard/shut/y");
        let shut = world.path("yard/shut");
        fs::set_permissions(&shut, Permissions::from_mode(0o000)).unwrap();
        let beneath = world.call("list_files", r#"{"pattern":"**"}"#);
        let itself = world.call("list_files", r#"{"path":"shut"}"#);
        fs::set_permissions(&shut, Permissions::from_mode(0o700)).unwrap();
        let expected = ".: 3 matches of `**`, 1 folder could not be read\na/\na/x\nshut/\n";
        assert_eq!(beneath, expected);
        assert_eq!(itself, "error: `shut` cannot be read: permission denied");
    });
}

#[test]
fn folders_too_deep_to_enter_are_said() {
    let world = World::new("");
    let path = format!("yard/{}x", "d/".repeat(WALK_DEPTH_MAX + 1));
    write_file(&world.path(&path), "");
    let text = world.call("list_files", r#"{"pattern":"**/x"}"#);
    assert_eq!(text, ".: 0 matches of `**/x`, 1 folder could not be read\n");
}

#[test]
fn file_is_sent_to_read_file() {
    check(WORLD, r#"{"path":"Cargo.toml"}"#, "error: `Cargo.toml` is a file; use read_file");
}

#[test]
fn cancelled_call_lists_nothing() {
    let world = World::new(WORLD);
    let prepared = world.prepare("list_files", "{}").unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let output = world.run_until("list_files", prepared, &cancel);
    let text = output.plain_text();
    assert_eq!((&*text, output.outcome), ("list_files was cancelled", ToolOutcome::Failed));

    let folder = world.roots().open_folder(".").unwrap();
    assert!(Walk::new(folder, 1, &cancel, &trust_of()).next().is_none());
}

#[track_caller]
fn check(world: &str, input: &str, expected: &str) {
    assert_eq!(World::new(world).call("list_files", input), expected);
}
