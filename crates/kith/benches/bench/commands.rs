//! What a command in the sandbox costs beside a bare spawn of the same command, and a written file
//! beside a bare write and sync.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kith_testkit::tools::{call_context, run_context};
use kith_tools::{ToolSetup, built_in};
use kith_vocab::event::calls::Sandbox;
use kith_vocab::event::messages::Trust;
use kith_vocab::json::Json;
use kith_vocab::tool::{Permit, RunContext, Tool};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Ground;
use super::figure::{Figure, median, ms, ratio};

const ROUNDS: usize = 200;
const FILE_BYTES: usize = 4096;
/// What a build step or a test run begins with.
const SCRIPT: &str = "date > /dev/null; ls > /dev/null";

pub(crate) fn measure(ground: &Ground) -> Vec<Figure> {
    let dir = ground.dir.join("commands");
    fs::create_dir(&dir).expect("a folder can be made");
    let dir = dir.canonicalize().expect("the folder is there");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let kith = ground.kith.canonicalize().expect("the program is there");
    let times = runtime.spawn(async move { times(&kith, &dir).await });
    figures(&runtime.block_on(times).expect("a command does not fail"))
}

#[derive(Default)]
struct CommandTimes {
    sandboxed: Vec<Duration>,
    outside: Vec<Duration>,
    bare: Vec<Duration>,
    setup: Vec<Duration>,
    written: Vec<Duration>,
    raw: Vec<Duration>,
}

async fn times(kith: &Path, dir: &Path) -> CommandTimes {
    let mut setup = ToolSetup::of_folder(dir, Arc::new(|_| Trust::Owner)).expect("a folder");
    setup.commands.supervisor = Some(kith.to_owned());
    let path = "/usr/bin:/bin";
    setup.commands.variables = vec![("PATH".to_owned(), path.to_owned())];
    setup.commands.lookup.program_folders = std::env::split_paths(path).collect();
    let tools = built_in(setup);
    let tool = |name: &str| tools.iter().find(|it| it.spec().name == name).expect("a tool");
    let (shell, writer) = (tool("exec_shell"), tool("write_file"));
    let mut times = CommandTimes::default();
    for n in 0..ROUNDS {
        let began = Instant::now();
        let mut bare = Command::new("/bin/bash");
        bare.args(["-c", SCRIPT]).current_dir(dir).stdin(Stdio::null()).output().expect("bash");
        times.bare.push(began.elapsed());
        let script = json!({ "command": SCRIPT });
        times.sandboxed.push(call(&**shell, &script, Sandbox::Workspace).await);
        times.outside.push(call(&**shell, &script, Sandbox::None).await);
        times
            .setup
            .push(call(&**shell, &json!({ "command": "exec true" }), Sandbox::Workspace).await);
        let content = "x".repeat(FILE_BYTES);
        let input = json!({ "path": format!("file-{n}"), "content": content });
        times.written.push(call(&**writer, &input, Sandbox::None).await);
        times.raw.push(raw_write(&dir.join(format!("raw-{n}")), content.as_bytes()));
    }
    times
}

/// Prepares and runs a call, as a step does; the time of both.
async fn call(tool: &dyn Tool, input: &serde_json::Value, sandbox: Sandbox) -> Duration {
    let cancel = CancellationToken::new();
    let input = Json::of(input);
    let began = Instant::now();
    let plan = tool.prepare(&input, &call_context(&cancel)).await.expect("it can be prepared");
    let permit = Permit { sandbox, hosts: Vec::new(), paths: Vec::new() };
    let time_left = Duration::from_mins(1);
    let output = tool.run(plan, RunContext { permit, time_left, ..run_context(&cancel) }).await;
    let time = began.elapsed();
    let text = output.plain_text();
    assert!(text.contains("[exit code 0]") || text.starts_with("made "), "{text}");
    time
}

fn raw_write(path: &Path, content: &[u8]) -> Duration {
    let began = Instant::now();
    let mut file = File::create(path).expect("a file can be made");
    file.write_all(content).expect("it can be written");
    file.sync_all().expect("it can be synced");
    began.elapsed()
}

fn figures(times: &CommandTimes) -> Vec<Figure> {
    let CommandTimes { sandboxed, outside, bare, setup, written, raw } = times;
    let [sandboxed, outside, bare, setup, written, raw] =
        [sandboxed, outside, bare, setup, written, raw].map(|it| median(it.clone()));
    let of_bare = ratio(sandboxed, bare);
    vec![
        Figure::new(
            "`exec_shell` in the sandbox, prepared to ended, two small programs",
            ms(sandboxed),
        )
        .against(format!("{} bare spawn", ms(bare)), of_bare)
        .goal("at most 2.5x", of_bare <= 2.5),
        Figure::new("the same outside the sandbox", ms(outside))
            .against(format!("{} bare spawn", ms(bare)), ratio(outside, bare)),
        Figure::new("sandbox set-up and end, with `true` in it", ms(setup))
            .goal("at most 10 ms", setup <= Duration::from_millis(10)),
        Figure::new("`write_file`, a new file of 4 KiB", ms(written))
            .against(format!("{} bare write and sync", ms(raw)), ratio(written, raw)),
    ]
}
