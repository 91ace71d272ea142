//! A test is a small tree and the violations it has. Each rule is shown to fail here: a rule that
//! cannot fail guards nothing.

use super::*;

/// The violations of one rule in the tree written as one text, as `cargo xtask tidy` prints them.
#[track_caller]
fn check(rule: Rule, fixture: &str, expected: &[&str]) {
    let violations = rule(&Tree::fixture(fixture));
    let printed: Vec<String> = violations.iter().map(Violation::to_string).collect();
    assert_eq!(printed, expected);
}

/// A manifest with one dependency.
fn manifest(package: &str, section: &str, dependency: &str) -> String {
    format!(
        "//- crates/x/Cargo.toml\n[package]\nname = \"{package}\"\n[{section}]\n{dependency}.workspace = true\n"
    )
}

#[track_caller]
fn check_edge(package: &str, section: &str, dependency: &str, expected: &[&str]) {
    check(rows::check, &manifest(package, section, dependency), expected);
}

#[test]
fn tidy_holds() {
    let tree = Tree::read(&workspace_root()).expect("the workspace can be read");
    let printed: Vec<String> = violations(&tree).iter().map(Violation::to_string).collect();
    assert!(printed.is_empty(), "`cargo xtask tidy` finds:\n{}", printed.join("\n"));
}

#[test]
fn engine_does_not_depend_on_channels() {
    check_edge(
        "kith-engine",
        "dependencies",
        "kith-channels",
        &[
            "crates/x/Cargo.toml:4: `kith-engine` (row 2) uses `kith-channels` (row 2); only smaller \
           rows are allowed, so put what both need into a port of kith-vocab",
        ],
    );
}

#[test]
fn crates_use_smaller_rows_only() {
    check_edge("kith-engine", "dependencies", "kith-sessions", &[]);
    check_edge("kith-host", "dependencies", "kith-tools", &[]);
    check_edge("kith-agent", "dependencies", "kith-host", &[]);
    check_edge("kith-agent", "dev-dependencies", "kith-tools", &[]);
    check_edge(
        "kith-agent",
        "dependencies",
        "kith-tools",
        &[
            "crates/x/Cargo.toml:4: the program uses `kith-tools`; make what it needs a call of kith-host",
        ],
    );
    check_edge(
        "kith-vocab",
        "dev-dependencies",
        "kith-home",
        &[
            "crates/x/Cargo.toml:4: `kith-vocab` (row 0) uses `kith-home` (row 1); only smaller rows \
           are allowed, so put what both need into a port of kith-vocab",
        ],
    );
    check_edge(
        "kith-moon",
        "dependencies",
        "serde",
        &["crates/x/Cargo.toml:1: `kith-moon` has no row; give it one in xtask/src/tidy/rows.rs"],
    );
    check_edge(
        "kith-agent",
        "dependencies",
        "kith-moon",
        &["crates/x/Cargo.toml:4: `kith-moon` has no row; give it one in xtask/src/tidy/rows.rs"],
    );
}

#[test]
fn the_testkit_is_for_tests() {
    check_edge("kith-engine", "dev-dependencies", "kith-testkit", &[]);
    check_edge("kith-testkit", "dependencies", "kith-vocab", &[]);
    check_edge(
        "kith-engine",
        "dependencies",
        "kith-testkit",
        &[
            "crates/x/Cargo.toml:4: kith-testkit is used outside tests; move it to [dev-dependencies]",
        ],
    );
    check_edge(
        "kith-testkit",
        "dev-dependencies",
        "kith-engine",
        &["crates/x/Cargo.toml:4: kith-testkit uses `kith-engine`; it may use kith-vocab only"],
    );
    check_edge(
        "xtask",
        "dependencies",
        "kith-vocab",
        &[
            "crates/x/Cargo.toml:4: xtask uses `kith-vocab`; it must build when nothing else does, so \
           take it out",
        ],
    );
}

/// The paths that a pure file may not name.
#[track_caller]
fn check_impure(code: &str, expected: &[&str]) {
    let fixture = format!("//- crates/kith-engine/src/step.rs\n{code}");
    let violations = purity::check(&Tree::fixture(&fixture));
    let paths: Vec<&str> =
        violations.iter().filter_map(|violation| violation.text.split('`').nth(1)).collect();
    assert_eq!(paths, expected);
}

#[test]
fn pure_files_do_not_reach_the_world() {
    check(
        purity::check,
        "//- crates/kith-vocab/src/clock.rs\n//! .\nuse std::{io, fs};\n",
        &["crates/kith-vocab/src/clock.rs:2: `std::fs` in a file that does no I/O and reads no \
           clock; take it as an event or an argument"],
    );
    check_impure("use std::path::Path;\nuse std::time::Duration;\n// std::fs\n", &[]);
    check_impure("use std::time::{Duration, SystemTime};", &["std::time::SystemTime"]);
    check_impure("fn f() { let at = time::Instant::now(); }", &["time::Instant::now"]);
    check_impure("fn f() { Uuid::now_v7() }", &["Uuid::now_v7"]);
    check_impure("fn f() { jiff::Zoned::now() }", &["jiff::Zoned::now"]);
    check_impure("fn f() { std::env::var(x) }", &["std::env::var"]);
    check_impure("use tokio::time::sleep;", &["tokio::time::sleep"]);
    check_impure("use rusqlite::Connection;", &["rusqlite::Connection"]);
    check_impure("fn f(clock: &dyn Clock) { clock.now() }", &[]);
    check_impure("#[cfg(test)]\nmod tests {\n    use std::fs;\n}", &[]);
}

#[test]
fn files_that_act_may_reach_the_world() {
    check(purity::check, "//- crates/kith-engine/src/turn.rs\nuse std::fs;\n", &[]);
    check(purity::check, "//- crates/kith-vocab/src/ids/tests.rs\nuse std::fs;\n", &[]);
}

#[test]
fn lint_tables_are_generated() {
    check(
        clippy_tables::check,
        "//- crates/kith-engine/Cargo.toml\n//- crates/kith-engine/clippy.toml\nx = 1\n",
        &["crates/kith-engine/clippy.toml:1: does not match the table in \
           xtask/src/tidy/clippy_tables.rs; run `cargo xtask tidy --fix`"],
    );
}

/// The lint tables of a crate with this name.
fn lint_table(name: &str) -> String {
    let tree = Tree::fixture(&format!("//- crates/{name}/Cargo.toml\n"));
    clippy_tables::generate(&tree).remove(0).text
}

#[test]
fn every_wall_is_open_to_its_owner_only() {
    let owners = [
        ("\"std::fs::write\"", "kith-sessions", "kith-engine"),
        ("\"std::process::Command::new\"", "kith-tools", "kith-home"),
        ("\"rusqlite::Connection\"", "kith-sessions", "kith"),
        ("\"std::time::SystemTime::now\"", "xtask", "kith-tools"),
    ];
    for (call, owner, other) in owners {
        assert!(!lint_table(owner).contains(call), "{call} in {owner}");
        assert!(lint_table(other).contains(call), "{call} in {other}");
    }
}

/// A file of so many lines.
fn file_of(path: &str, n_lines: usize) -> String {
    format!("//- {path}\n{}", "//! .\n".repeat(n_lines))
}

#[test]
fn long_files_fail_and_longish_ones_are_noted() {
    check(size::check, &file_of("crates/kith/src/ui.rs", 800), &[]);
    check(
        size::check,
        &file_of("crates/kith/src/ui.rs", 801),
        &["crates/kith/src/ui.rs:801: has 801 lines and may have 800; split it along a seam"],
    );
    check(size::check, &file_of("crates/kith/src/ui/tests.rs", 2000), &[]);
    check(
        size::notes,
        &file_of("crates/kith/src/ui.rs", 501),
        &["crates/kith/src/ui.rs:501: has 501 lines; split it before it has 800"],
    );
    check(size::notes, &file_of("crates/kith/src/ui.rs", 500), &[]);
}

#[test]
fn the_heart_of_the_engine_stays_small() {
    let limits = [("state.rs", 300), ("step.rs", 200), ("turn.rs", 200), ("state/calls.rs", 200)];
    for (name, n_lines_max) in limits {
        let path = format!("crates/kith-engine/src/{name}");
        check(size::check, &file_of(&path, n_lines_max), &[]);
        let n_lines = n_lines_max + 1;
        let expected = format!(
            "{path}:{n_lines}: has {n_lines} lines and may have {n_lines_max}; split it along a seam"
        );
        check(size::check, &file_of(&path, n_lines), &[&expected]);
    }
}

#[test]
fn exceptions_that_are_not_needed_leave_the_list() {
    let tree = Tree::fixture(&file_of("crates/kith/src/ui.rs", 10));
    let exceptions = [("crates/kith/src/ui.rs", 900), ("crates/kith/src/gone.rs", 900)];
    let printed: Vec<String> =
        size::check_with(&tree, &exceptions).iter().map(Violation::to_string).collect();
    assert_eq!(
        printed,
        [
            "crates/kith/src/ui.rs:1: is on the list of exceptions and needs none; take it off in \
             xtask/src/tidy/size.rs",
            "crates/kith/src/gone.rs:1: is on the list of exceptions and does not exist; take it \
             off in xtask/src/tidy/size.rs",
        ]
    );
}

#[test]
fn names_say_something() {
    check(
        names::check,
        "//- crates/a/src/session_utils.rs\n//- crates/a/src/wire/mod.rs\n//- crates/a/src/database.rs\n",
        &[
            "crates/a/src/session_utils.rs:1: `utils` in a file name says nothing; name the thing \
             of the domain",
            "crates/a/src/wire/mod.rs:1: `mod.rs` is not used here; move it beside its folder and \
             name it after that",
        ],
    );
    check(
        names::check,
        "//- crates/a/src/lib.rs\nstruct Base64;\npub enum EventV2 {}\ntrait HandlerTable {}\n",
        &[
            "crates/a/src/lib.rs:2: `v2` in `EventV2` says nothing; name the thing of the domain",
            "crates/a/src/lib.rs:3: `handler` in `HandlerTable` says nothing; name the thing of the \
             domain",
        ],
    );
}

#[test]
fn globs_are_for_tests() {
    let code = "use crate::event::*;\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n";
    check(
        names::check,
        &format!("//- crates/a/src/lib.rs\n{code}//- crates/a/src/step/tests.rs\nuse super::*;\n"),
        &["crates/a/src/lib.rs:1: `use crate::event::*` hides where names come from; name them"],
    );
}

#[test]
fn wire_types_stay_in_their_module() {
    check(
        wire_types::check,
        "//- crates/a/src/telegram/wire.rs\npub(super) struct A {\n    pub b: u8,\n}\npub(crate) fn c() {}\n",
        &[
            "crates/a/src/telegram/wire.rs:2: a wire type is visible outside its module; make it \
             `pub(super)`",
            "crates/a/src/telegram/wire.rs:4: a wire type is visible outside its module; make it \
             `pub(super)`",
        ],
    );
}

const LIMITS: &str = "\
//- crates/a/src/lib.rs
/// More steps than any honest turn | takes. A model that loops is
/// stopped here.
pub(crate) const STEPS_MAX: usize = 4
    * 50;
const RETRIES: u8 = 3;
const SHAPES_MAX: [u8; 2] = [1, 2];
#[cfg(test)]
const TEST_MAX: u8 = 3;
//- xtask/src/main.rs
const OTHER_MAX: u8 = 1;
";

#[test]
fn limits_are_listed() {
    let generated = limits::generate(&Tree::fixture(LIMITS)).remove(0);
    assert_eq!(
        generated
            .text
            .lines()
            .skip_while(|line| !line.starts_with("|---"))
            .skip(1)
            .collect::<Vec<_>>(),
        [
            "| `STEPS_MAX` | `4 * 50` | `crates/a/src/lib.rs` | More steps than any honest turn \\| takes. |",
            "| `SHAPES_MAX` | `[1, 2]` | `crates/a/src/lib.rs` |  |"
        ]
    );
    check(
        limits::check,
        LIMITS,
        &[
            "docs/limits.md:1: does not match the `…_MAX` constants of the code; run `cargo xtask tidy \
           --fix`",
        ],
    );
    check(limits::check, &format!("{LIMITS}//- docs/limits.md\n{}", generated.text), &[]);
}

#[test]
fn requirements_name_tests_that_exist() {
    check(
        requirements::check,
        "\
//- docs/requirements.md
| id | shown by |
|---|---|
| S-01 | one, `two`, three |
| S-02 | a::tests::four, ghost |
| S-03 | plain |
| S-04 | next |
| U-01 | one; cmd: `kith ask hi`, then look |
| U-02 | |
| S-01 | one |
//- crates/a/src/tests.rs
#[test]
fn one() { let x = \"#[test] fn ghost() {}\"; }
#[tokio::test(start_paused = true)]
async fn two() {}
proptest! {
    #[test]
    fn three(x in 0..3) {}
}
#[test]
#[should_panic]
fn four() {}
fn plain() {}
",
        &[
            "docs/requirements.md:4: S-02 names the test `ghost`, which does not exist; correct the \
             row",
            "docs/requirements.md:5: S-03 names the test `plain`, which does not exist; correct the \
             row",
            "docs/requirements.md:8: U-02 names nothing; write test names, `cmd: …` or `next`",
            "docs/requirements.md:9: S-01 has a second row; put its tests into the first",
        ],
    );
}

#[test]
fn what_was_found_names_tests_that_exist() {
    check(
        requirements::check,
        "\
//- docs/found.md
| fact | test |
|---|---|
| A `|` is read | one |
| A pipe is refused | one, ghost |
//- crates/a/src/tests.rs
#[test]
fn one() {}
",
        &[
            "docs/found.md:4: `A pipe is refused` names the test `ghost`, which does not exist; correct \
           the row",
        ],
    );
}

const FORMAT: &str = "\
//- docs/format/log.md
# Log
<!-- describes: crates/a/src/lib.rs sha256:0000000000000000 -->
<!-- describes: crates/a/src/gone.rs -->
//- docs/format/card.md
# Card
//- crates/a/src/lib.rs
//! .
";

#[test]
fn specifications_change_with_their_source() {
    check(
        formats::check,
        FORMAT,
        &[
            "docs/format/card.md:1: does not say what it describes; add a line `<!-- describes: \
             crates/….rs -->` and run `cargo xtask tidy --fix`",
            "docs/format/log.md:2: `crates/a/src/lib.rs` has changed since this was written; read \
             both, correct this, then run `cargo xtask tidy --fix`",
            "docs/format/log.md:3: describes `crates/a/src/gone.rs`, which does not exist; correct \
             the path",
        ],
    );
    let generated = formats::generate(&Tree::fixture(FORMAT)).remove(1);
    assert_eq!(
        generated.text,
        "# Log\n\
         <!-- describes: crates/a/src/lib.rs sha256:b1e34c4b55a296e4 -->\n\
         <!-- describes: crates/a/src/gone.rs -->\n"
    );
}

#[test]
fn dependencies_are_documented_and_used() {
    check(
        dependencies::check,
        "\
//- Cargo.toml
[workspace.dependencies]
kith-vocab = { path = \"crates/kith-vocab\" }
serde = \"1\"
idle = \"1\"
//- crates/a/Cargo.toml
[dependencies]
serde.workspace = true
extra = \"1\"
//- docs/dependencies.md
| crate | what |
|---|---|
| `idle` | nothing |
| gone | was useful |
",
        &[
            "crates/a/Cargo.toml:3: `extra` is not in [workspace.dependencies]; name it there and \
             inherit it",
            "Cargo.toml:4: no crate uses `idle`; take the line out",
            "Cargo.toml:3: `serde` has no row in docs/dependencies.md; say there what it does for us \
             and what it replaced",
            "docs/dependencies.md:4: `gone` is not in [workspace.dependencies]; take the row out",
        ],
    );
}

#[test]
fn files_say_what_they_are() {
    check(
        openings::check,
        "//- crates/a/src/lib.rs\n//! Good.\n//- crates/a/src/b.rs\nuse c;\n//- crates/a/src/b/tests.rs\n",
        &["crates/a/src/b.rs:1: does not open with `//!`; say in one sentence what this file is"],
    );
}

#[test]
fn nothing_unfinished_stays() {
    let comment = concat!("// FIX", "ME later");
    check(
        leftovers::check,
        &format!(
            "//- crates/a/src/lib.rs\nfn f() {{ todo!() }}\n{comment}\n#[ignore = \"slow\"]\nfn g() {{ unimplemented!(\"todo!()\") }}\n"
        ),
        &[
            "crates/a/src/lib.rs:1: `todo!(` is left over; finish it, or leave the feature out",
            "crates/a/src/lib.rs:4: `unimplemented!(` is left over; finish it, or leave the feature \
             out",
            "crates/a/src/lib.rs:3: `#[ignore` is left over; make the test run, or let it do \
             less without `KITH_SLOW_TESTS`",
            concat!(
                "crates/a/src/lib.rs:2: `FIX",
                "ME` is left over; mend it, or open an issue and say so"
            ),
        ],
    );
}

#[test]
fn no_file_names_the_machine_it_was_written_on() {
    check(
        leftovers::check,
        "//- README.md\nSee\n/builder/other/x\n//- a.md\n/builders/x a/builder/x <tmp>/builder/x /builder\n",
        &["README.md:2: names a folder of the machine it was written on; use a relative path"],
    );
}

#[test]
fn expected_documents_exist() {
    let all = "//- ARCHITECTURE.md\n//- CHANGELOG.md\n//- CONTRIBUTING.md\n//- GLOSSARY.md\n\
               //- LICENSE-APACHE\n//- LICENSE-MIT\n//- README.zh-CN.md\n";
    check(documents::check, all, &["README.md:1: does not exist; write it"]);
}

#[test]
fn patches_of_mutants_apply_and_name_tests_that_exist() {
    let patch = |old: &str, test: &str| {
        format!(
            "//- xtask/mutants/m.patch\nGuard: g\nTarget: a --lib\nTests: {test}\n--- a/src/a.rs\n\
             +++ b/src/a.rs\n@@ -1 +1 @@\n-{old}\n+fn c() {{}}\n//- src/a.rs\nfn a() {{}}\n"
        )
    };
    check(mutants::check, &patch("fn a() {}", "a"), &[]);
    check(
        mutants::check,
        &patch("fn b() {}", "a"),
        &[
            "xtask/mutants/m.patch:1: does not apply: the lines around `fn b() {}` stand 0 times in \
           `src/a.rs`; make the patch anew, or remove it",
        ],
    );
    check(
        mutants::check,
        &patch("fn a() {}", "b"),
        &[
            "xtask/mutants/m.patch:1: names the test `b`, which does not exist; make the patch anew, \
           or remove it",
        ],
    );
}

#[test]
fn a_log_is_converted_in_one_place_for_models_and_in_one_for_screens() {
    let file = |path: &str, code: &str| format!("//- {path}\n//! x\n{code}\n");
    let (element, role) = ("fn f() { ElementKind::Text(x); }", "fn f() { UiRole::User; }");
    check(conversions::check, &file("crates/kith-engine/src/state/tail.rs", element), &[]);
    check(conversions::check, &file("crates/kith-engine/src/ui_message/parts.rs", role), &[]);
    check(
        conversions::check,
        &file("crates/kith-channels/src/a.rs", element),
        &["crates/kith-channels/src/a.rs:2: `ElementKind` is used outside \
           `crates/kith-vocab/src/conversation.rs`; convert there"],
    );
    check(
        conversions::check,
        &file("crates/kith-host/src/a.rs", role),
        &["crates/kith-host/src/a.rs:2: `UiRole` is used outside \
           `crates/kith-engine/src/ui_message`; convert there"],
    );
}

#[test]
fn a_type_name_is_used_once() {
    let tree = "//- crates/a/src/lib.rs\nmod x;\n#[cfg(test)]\nmod fixture;\npub struct Found {}\n\
                type Error = ();\nimpl T for X {\n    type Answer = ();\n}\n\
                //- crates/a/src/fixture.rs\nstruct Found;\n\
                //- crates/a/src/x.rs\nenum Error {}\nimpl T for Y {\n    type Answer = ();\n}\n\
                #[cfg(test)]\nmod tests {\n    struct Found;\n}\n\
                //- crates/kith-testkit/src/lib.rs\nstruct Found;\n\
                //- crates/b/src/lib.rs\nfn f() {\n    enum Found {}\n}\ntype Answer = ();\n";
    check(
        type_names::check,
        tree,
        &["crates/b/src/lib.rs:2: `Found` is the name of a type at crates/a/src/lib.rs:4 too; \
           rename one"],
    );
}

#[test]
fn the_glossary_is_short_and_sorted() {
    let others = "//- ARCHITECTURE.md\n//- CHANGELOG.md\n//- CONTRIBUTING.md\n\
                  //- LICENSE-APACHE\n//- LICENSE-MIT\n//- README.md\n//- README.zh-CN.md\n";
    let tree = format!("{others}//- GLOSSARY.md\n**b**: x\n**a**: x\n**a**: y\n");
    check(
        documents::check,
        &tree,
        &[
            "GLOSSARY.md:2: `a` comes after `b`; sort the entries, one for each word",
            "GLOSSARY.md:3: `a` comes after `a`; sort the entries, one for each word",
        ],
    );
    let entries: Vec<String> = (100..161).map(|n| format!("**{n}**: x")).collect();
    let entries = entries.join("\n");
    check(
        documents::check,
        &format!("{others}//- GLOSSARY.md\n{entries}"),
        &["GLOSSARY.md:61: has 61 entries and may have 60; leave out words that the field has"],
    );
}
