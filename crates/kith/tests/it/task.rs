//! A whole task with the real program: read, run the tests, edit, run them again, in the sandbox. What
//! comes of it is `docs/task.md`.

use std::fs;
use std::path::Path;

use kith_testkit::another_user::not_run;
use kith_testkit::server::ServerReply;
use serde_json::json;

use crate::house::{House, Vendor, of_type};

const HEAD: &str = "<!-- Written by `KITH_WRITE_SCREENS=1 cargo test --workspace a_bug_is_found`; the test fails when it differs. -->

# A task from beginning to end

The project is `testdata/projects/shell`: a script with a bug, and its test. The commands ran in the sandbox and asked nobody; nothing
but the workspace could be changed, and there was no network. This is what `kith session export --format markdown` prints of it.

";

#[test]
fn a_bug_is_found_mended_and_tested_in_the_sandbox() {
    let vendor = Vendor::new([
        ServerReply::calls(
            "I will read the script and run its test.",
            &[
                ("read_file", json!({ "path": "sum.sh" })),
                ("exec_shell", json!({ "command": "bash test.sh" })),
            ],
        ),
        ServerReply::calls(
            "It subtracts where it should add.",
            &[(
                "edit_file",
                json!({ "path": "sum.sh", "old": "total - number", "new": "total + number" }),
            )],
        ),
        ServerReply::calls(
            "Now the test again.",
            &[("exec_shell", json!({ "command": "bash test.sh" }))],
        ),
        ServerReply::text(
            "`sum.sh` subtracted its arguments; it adds them now, and the test passes.",
        ),
    ]);
    let house = House::asking(&vendor);
    if !house.kith(&["explain", "command", "ls"]).shown().contains("in the sandbox") {
        not_run("there is no sandbox, so every command would be asked about");
        return;
    }
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/projects/shell");
    for name in ["sum.sh", "test.sh"] {
        house.write(name, fs::read(project.join(name)).unwrap());
    }
    house.kith(&["ask", "The sums are wrong. Find out why, and mend it."]).succeeded();
    let log = house.log();
    assert!(of_type(&log, "approval_requested").is_empty());
    for judged in of_type(&log, "call_judged") {
        let sandbox = if judged["tool"] == "exec_shell" { "workspace" } else { "none" };
        assert_eq!(judged["sandbox"], sandbox, "{judged}");
    }
    house.kith(&["session", "verify", "latest"]).succeeded();
    let exported = house.kith(&["session", "export", "--format", "markdown"]).succeeded().stdout;
    keep(&exported);
}

/// Compares the conversation with the one in the guide.
fn keep(exported: &str) {
    let (_, conversation) = exported.split_once("\n## ").unwrap();
    let page = format!("{HEAD}## {}\n", conversation.trim_end());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/task.md");
    if std::env::var_os("KITH_WRITE_SCREENS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(page, kept, "docs/task.md; KITH_WRITE_SCREENS=1 writes it anew");
}
