//! `exec_shell` with the real supervisor: what a command may do, and how every one of them ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kith_testkit::another_user::program;
use kith_testkit::tools::{call_context, run_context};
use kith_tools::{ToolSetup, built_in};
use kith_vocab::event::calls::{Effect, Sandbox};
use kith_vocab::event::messages::Trust;
use kith_vocab::json::Json;
use kith_vocab::tool::{
    CallPlan, Permit, Progress, RunContext, TOOL_OUTPUT_BYTES_MAX, Tool, ToolOutcome, ToolOutput,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::house::KITH;

struct Workshop {
    _dir: TempDir,
    folder: PathBuf,
    tool: Arc<dyn Tool>,
    cancel: CancellationToken,
    lines: Arc<Lines>,
}

#[derive(Default)]
struct Lines {
    seen: Mutex<Vec<String>>,
    /// Cancelled when a line is seen.
    signal: CancellationToken,
}

impl Progress for Lines {
    fn line(&self, text: &str) {
        self.seen.lock().unwrap().push(text.to_owned());
        self.signal.cancel();
    }
}

impl Workshop {
    fn new() -> Workshop {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        let mut setup = ToolSetup::of_folder(&folder, Arc::new(|_| Trust::Owner)).unwrap();
        setup.commands.supervisor = Some(program(KITH));
        let path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
        setup.commands.variables = vec![("PATH".to_owned(), path.to_owned())];
        setup.commands.lookup.program_folders = std::env::split_paths(path).collect();
        let tool = built_in(setup).into_iter().find(|it| it.spec().name == "exec_shell").unwrap();
        let (cancel, lines) = (CancellationToken::new(), Arc::default());
        Workshop { _dir: dir, folder, tool, cancel, lines }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).unwrap();
    }

    async fn prepare(&self, input: Value) -> CallPlan {
        let input = Json::of(&input);
        self.tool.prepare(&input, &call_context(&self.cancel)).await.unwrap()
    }

    async fn run(&self, plan: CallPlan, sandbox: Sandbox) -> ToolOutput {
        let ctx = RunContext {
            permit: Permit { sandbox, hosts: Vec::new(), paths: Vec::new() },
            time_left: Duration::from_mins(1),
            progress: Arc::clone(&self.lines) as Arc<dyn Progress>,
            ..run_context(&self.cancel)
        };
        self.tool.run(plan, ctx).await
    }

    /// What a command in the sandbox comes to, as the model reads it.
    async fn shell(&self, command: &str) -> String {
        let plan = self.prepare(json!({ "command": command })).await;
        let output = self.run(plan, Sandbox::Workspace).await;
        let text = output.plain_text().to_string();
        assert!(text.len() <= TOOL_OUTPUT_BYTES_MAX + 200, "{} bytes", text.len());
        remove(&output);
        text
    }
}

fn numbers(last: u32) -> String {
    let numbers: Vec<String> = (1..=last).map(|n| n.to_string()).collect();
    numbers.join("\n") + "\n"
}

fn remove(output: &ToolOutput) {
    if let Some(spill) = &output.full {
        fs::remove_file(&spill.path).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_and_exit_code_are_told() {
    let shop = Workshop::new();
    assert_eq!(shop.shell("echo hello").await, "hello\n[exit code 0]");
    assert_eq!(shop.shell("echo no >&2; exit 3").await, "no\n[exit code 3]");
    assert_eq!(shop.shell("printf x").await, "x\n[exit code 0]");
    assert_eq!(shop.shell("true").await, "[exit code 0]");
    assert_eq!(shop.shell("kill -9 $$").await, "[killed by signal 9]");
    assert!(shop.shell("no-such-program").await.ends_with("command not found\n[exit code 127]"));
    assert_eq!(shop.shell("echo x > made && cat made").await, "x\n[exit code 0]");
    assert_eq!(fs::read_to_string(shop.folder.join("made")).unwrap(), "x\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_says_what_stands_for_absent_files() {
    let shop = Workshop::new();
    shop.write("file", "x\n");
    let text = shop.shell("ls").await;
    let (listed, explained) = text.split_once("[placeholders of the sandbox").unwrap();
    assert!(listed.contains("kith.toml\n") && explained.contains("kith.toml"), "{text}");
    assert!(!explained.contains("file") && explained.ends_with("]\n[exit code 0]"), "{text}");
    assert_eq!(shop.shell("ls file").await, "file\n[exit code 0]");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_waits_for_input_finds_none() {
    let shop = Workshop::new();
    assert_eq!(shop.shell("cat").await, "[exit code 0]");
    assert_eq!(shop.shell("read -r line; echo \"got $line\"").await, "got \n[exit code 0]");
    assert!(shop.shell("cat /dev/tty").await.ends_with("[exit code 1]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_output_is_cut_and_kept_whole() {
    let shop = Workshop::new();
    let plan = shop.prepare(json!({ "command": "seq 1 50000" })).await;
    let output = shop.run(plan, Sandbox::Workspace).await;
    let text = output.plain_text().to_string();
    assert!(text.starts_with("1\n2\n") && text.ends_with("50000\n[exit code 0]"), "{text}");
    let whole = fs::read_to_string(&output.full.as_ref().unwrap().path).unwrap();
    assert_eq!(whole, numbers(50_000));
    remove(&output);
}

#[tokio::test(flavor = "multi_thread")]
async fn output_without_end_and_huge_files_are_bounded() {
    let shop = Workshop::new();
    let sparse = fs::File::create(shop.folder.join("huge")).unwrap();
    sparse.set_len(1 << 30).unwrap();
    for command in ["yes", "cat /dev/zero", "cat huge", "cat /dev/urandom"] {
        let text = shop.shell(command).await;
        assert!(text.ends_with("[ended: it printed more than 32 MiB]"), "{command}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outlives_a_command_that_forks_and_detaches() {
    let shop = Workshop::new();
    for sandbox in [Sandbox::Workspace, Sandbox::None] {
        let command = "(setsid bash -c 'trap \"\" TERM HUP; sleep 300; echo x > late' &) ; \
                       nohup sleep 300 >/dev/null 2>&1 & echo started";
        let plan = shop.prepare(json!({ "command": command })).await;
        let output = shop.run(plan, sandbox).await;
        assert_eq!(output.plain_text().to_string(), "started\n[exit code 0]", "{sandbox:?}");
        assert_eq!(processes_in(&shop.folder), Vec::<String>::new(), "{sandbox:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_takes_too_long_is_ended_with_all_it_started() {
    let shop = Workshop::new();
    for sandbox in [Sandbox::Workspace, Sandbox::None] {
        let command = "sleep 300 & sleep 300 | cat; echo never";
        let plan = shop.prepare(json!({ "command": command, "timeout": 1 })).await;
        let output = shop.run(plan, sandbox).await;
        let expected = "[ended after 1 s (`timeout`); everything it started was ended]";
        assert_eq!(output.plain_text().to_string(), expected, "{sandbox:?}");
        assert_eq!(processes_in(&shop.folder), Vec::<String>::new(), "{sandbox:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_command_is_gone_and_its_last_line_was_shown() {
    for sandbox in [Sandbox::Workspace, Sandbox::None] {
        let shop = Workshop::new();
        let plan = shop.prepare(json!({ "command": "echo working; sleep 300 & sleep 300" })).await;
        let (cancel, signal) = (shop.cancel.clone(), shop.lines.signal.clone());
        tokio::spawn(async move {
            signal.cancelled().await;
            cancel.cancel();
        });
        let output = shop.run(plan, sandbox).await;
        assert_eq!(output.outcome, ToolOutcome::Failed);
        let expected = "working\n[cancelled; everything it started was ended]";
        assert_eq!(output.plain_text().to_string(), expected, "{sandbox:?}");
        assert_eq!(*shop.lines.seen.lock().unwrap(), ["working"]);
        assert_eq!(processes_in(&shop.folder), Vec::<String>::new(), "{sandbox:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_since_the_verdict_does_not_run() {
    let shop = Workshop::new();
    shop.write("run.sh", "echo one\n");
    let plan = shop.prepare(json!({ "command": "bash ./run.sh" })).await;
    assert_eq!(plan.effects, [Effect::Exec]);
    shop.write("run.sh", "echo two\n");
    let output = shop.run(plan.clone(), Sandbox::Workspace).await;
    assert_eq!(output.outcome, ToolOutcome::Failed);
    assert!(output.plain_text().contains("not what was judged"), "{}", output.plain_text());
    // The same bytes again are what was judged.
    shop.write("run.sh", "echo one\n");
    let output = shop.run(plan, Sandbox::Workspace).await;
    assert_eq!(output.plain_text().to_string(), "one\n[exit code 0]");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_tells_commands_folders_and_programs_apart() {
    let shop = Workshop::new();
    fs::create_dir(shop.folder.join("sub")).unwrap();
    let mut digests = Vec::new();
    for input in [
        json!({ "command": "date" }),
        json!({ "command": "date " }),
        json!({ "command": "date", "cwd": "sub" }),
        json!({ "command": "date", "network": true }),
        json!({ "command": "date", "unsandboxed": true }),
        json!({ "command": "date", "timeout": 5 }),
    ] {
        digests.push(shop.prepare(input).await.digest);
    }
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn output_of_the_network_and_of_the_outside_is_untrusted() {
    let shop = Workshop::new();
    for (sandbox, expected) in [
        (Sandbox::Workspace, Trust::Owner),
        (Sandbox::Network, Trust::Untrusted),
        (Sandbox::None, Trust::Untrusted),
    ] {
        let plan = shop.prepare(json!({ "command": "echo hello" })).await;
        assert_eq!(shop.run(plan, sandbox).await.trust, expected, "{sandbox:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_call_is_refused_in_a_sentence() {
    let shop = Workshop::new();
    for (input, expected) in [
        (json!({ "command": "  " }), "the command is empty"),
        (json!({ "command": "a\0b" }), "NUL character"),
        (json!({ "command": "x".repeat(70_000) }), "longer than 65536 bytes"),
        (json!({ "command": "date", "timeout": 0 }), "at least 1"),
        (json!({ "command": "date", "timeout": 1_000_000 }), "at most 3600 seconds"),
        (json!({ "command": "date", "cwd": "/etc" }), "outside the workspace"),
        (json!({ "command": "date", "cwd": "nowhere" }), "not a folder"),
    ] {
        let refused = shop.tool.prepare(&Json::of(&input), &call_context(&shop.cancel)).await;
        let text = refused.unwrap_err().text;
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_claims_the_end_of_what_a_command_left_that_killed_its_supervisor() {
    let shop = Workshop::new();
    let command = "(setsid sleep 60 &); kill -9 $(ps -o ppid= -p $PPID)";
    let plan = shop.prepare(json!({ "command": command, "timeout": 1 })).await;
    let output = shop.run(plan, Sandbox::None).await;
    assert_eq!(output.outcome, ToolOutcome::Failed);
    let text = output.plain_text().to_string();
    assert!(text.contains("outcome unknown: the supervisor of the command died"), "{text}");
    let mut kill = std::process::Command::new("kill");
    assert!(kill.args(["-9"]).args(process_ids_in(&shop.folder)).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_chain_of_processes_ends_with_the_command() {
    let shop = Workshop::new();
    shop.write(
        "chain.sh",
        "if [ $1 -gt 0 ]; then sh chain.sh $(($1 - 1)) & wait; else touch built; sleep 30; fi\n",
    );
    let command = "(setsid sh chain.sh 80 &); until [ -e built ]; do sleep 0.05; done";
    let plan = shop.prepare(json!({ "command": command })).await;
    let output = shop.run(plan, Sandbox::None).await;
    assert_eq!(output.plain_text().to_string(), "[exit code 0]");
    assert_eq!(processes_in(&shop.folder), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lost_its_parent_is_reaped_while_the_command_runs() {
    let shop = Workshop::new();
    // Left in the end: the first process, and the shell.
    let command = "for n in $(seq 30); do (true &); done; top=$(ps -o ppid= -p $PPID); \
                   for n in $(seq 100); do \
                   left=$(ps -o pid= --ppid $top,$PPID | wc -l); \
                   [ $left = 2 ] && exit 5; sleep 0.05; done; exit 6";
    let plan = shop.prepare(json!({ "command": command })).await;
    let output = shop.run(plan, Sandbox::None).await;
    assert_eq!(output.plain_text().to_string(), "[exit code 5]");
}

fn process_ids_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let inside =
        entries.filter(|it| fs::read_link(it.path().join("cwd")).is_ok_and(|it| it == folder));
    inside.map(|it| it.file_name().into_string().unwrap()).collect()
}

/// The processes whose working folder is this one, by their command lines.
fn processes_in(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        if fs::read_link(entry.path().join("cwd")).is_ok_and(|it| it == folder) {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&line).replace('\0', " "));
        }
    }
    found
}
