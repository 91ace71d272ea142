//! Commands in the background, with the real supervisor: read, stopped, and gone with their host.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use kith_testkit::another_user::{not_run, program};
use kith_testkit::clock::{START, numbered_id};
use kith_testkit::server::ServerReply;
use kith_testkit::tools::{call_context, run_context};
use kith_tools::exec_shell::background::{BackgroundCommands, BackgroundNotes};
use kith_tools::{ToolSetup, built_in};
use kith_vocab::event::calls::{Effect, Sandbox};
use kith_vocab::event::messages::Trust;
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::json::Json;
use kith_vocab::tool::{CallContext, Permit, Progress, RunContext, Tool, ToolOutput};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::house::{House, KITH, Vendor, of_type};

/// A folder, its tools, and the commands that run there.
struct Workshop {
    _dir: TempDir,
    folder: PathBuf,
    tools: Vec<Arc<dyn Tool>>,
    background: Arc<BackgroundCommands>,
    cancel: CancellationToken,
}

impl Workshop {
    fn new() -> Workshop {
        Workshop::noting(BackgroundCommands::default())
    }

    fn noting(background: BackgroundCommands) -> Workshop {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        let mut setup = ToolSetup::of_folder(&folder, Arc::new(|_| Trust::Owner)).unwrap();
        setup.commands.supervisor = Some(program(KITH));
        let path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
        setup.commands.variables = vec![("PATH".to_owned(), path.to_owned())];
        setup.commands.lookup.program_folders = std::env::split_paths(path).collect();
        let background = Arc::new(background);
        setup.commands.background = Arc::clone(&background);
        let (tools, cancel) = (built_in(setup), CancellationToken::new());
        Workshop { _dir: dir, folder, tools, background, cancel }
    }

    fn context(&self, n_call: u64) -> CallContext {
        let call_id = EventId::from_uuid(numbered_id(START, n_call)).call(0);
        CallContext { call_id, ..call_context(&self.cancel) }
    }

    /// What a call comes to; an error if it is refused before it runs.
    async fn call(&self, tool: &str, input: Value, ctx: CallContext) -> Result<ToolOutput, String> {
        let tool = self.tools.iter().find(|it| it.spec().name == tool).unwrap();
        let plan = tool.prepare(&Json::of(&input), &ctx).await.map_err(|it| it.text)?;
        let permit = Permit { sandbox: Sandbox::Workspace, hosts: Vec::new(), paths: Vec::new() };
        let ctx = RunContext { call: ctx, permit, ..run_context(&self.cancel) };
        Ok(tool.run(plan, ctx).await)
    }

    /// A command that a person allowed to run outside the sandbox.
    async fn outside(&self, input: Value, n_call: u64, waiting: &Arc<WaitSignal>) -> String {
        let tool = self.tools.iter().find(|it| it.spec().name == "exec_shell").unwrap();
        let call = self.context(n_call);
        let plan = tool.prepare(&Json::of(&input), &call).await.unwrap();
        let permit = Permit { sandbox: Sandbox::None, hosts: Vec::new(), paths: Vec::new() };
        let progress = Arc::clone(waiting) as Arc<dyn Progress>;
        let ctx = RunContext { call, permit, progress, ..run_context(&self.cancel) };
        tool.run(plan, ctx).await.plain_text().to_string()
    }

    /// Starts a command; its id.
    async fn start(&self, command: &str, n_call: u64) -> String {
        self.start_telling(command, n_call).await.0
    }

    /// The same, and what was told.
    async fn start_telling(&self, command: &str, n_call: u64) -> (String, String) {
        let input = json!({ "command": command, "background": true });
        let told = self.call("exec_shell", input, self.context(n_call)).await.unwrap();
        let told = told.plain_text().to_string();
        let id = told.split("in the background as `").nth(1).expect(&told).to_owned();
        (id.split('`').next().unwrap().to_owned(), told)
    }

    async fn further(&self, name: &str, input: Value) -> Result<ToolOutput, String> {
        let input = json!({ "name": name, "input": input });
        self.call("use_tool", input, self.context(99)).await
    }

    async fn text(&self, name: &str, input: Value) -> String {
        match self.further(name, input).await {
            Ok(output) => output.plain_text().to_string(),
            Err(refusal) => refusal,
        }
    }
}

/// Cancelled when a call waits for files that another one uses.
#[derive(Default)]
struct WaitSignal(CancellationToken);

impl Progress for WaitSignal {
    fn line(&self, text: &str) {
        if text.starts_with("waiting for a command") {
            self.0.cancel();
        }
    }
}

/// Waits until a command holds the lock on the file.
fn until_held(path: &Path) {
    while File::open(path).unwrap().try_lock().is_ok() {
        std::thread::yield_now();
    }
}

/// Waits until nobody holds the lock on the file any more.
async fn until_free(path: PathBuf) {
    tokio::task::spawn_blocking(move || File::open(path).unwrap().lock().unwrap()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_on_is_read_and_is_stopped_with_everything_it_started() {
    let shop = Workshop::new();
    fs::write(shop.folder.join("held"), "").unwrap();
    let command = "echo ready; (flock held sleep 600) & wait";
    let (id, mut seen) = shop.start_telling(command, 1).await;
    while !seen.contains("ready") {
        seen = shop.text("exec_output", json!({ "id": id, "wait": 60 })).await;
        assert!(seen.ends_with("[still running]"), "{seen}");
    }
    assert_eq!(shop.text("exec_output", json!({ "id": id })).await, "[still running]");
    assert_eq!(shop.background.ids_of(call_context(&shop.cancel).session_id), [id.as_str()]);
    until_held(&shop.folder.join("held"));
    let stopped = shop.text("exec_stop", json!({ "id": id })).await;
    assert_eq!(stopped, "[stopped; everything it started was ended]");
    until_free(shop.folder.join("held")).await;
    // Its end has been told, so it is forgotten.
    let gone = shop.text("exec_output", json!({ "id": id })).await;
    assert!(gone.contains("no command"), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_in_the_sandbox_keeps_its_files_until_it_ends() {
    let shop = Workshop::new();
    let id = shop.start("sleep 600", 1).await;
    let waiting = Arc::<WaitSignal>::default();
    let outside = shop.outside(json!({ "command": "echo done" }), 2, &waiting);
    tokio::pin!(outside);
    tokio::select! {
        biased;
        () = waiting.0.cancelled() => (),
        text = &mut outside => panic!("it did not wait: {text}"),
    }
    let stopped = shop.text("exec_stop", json!({ "id": id })).await;
    assert_eq!(stopped, "[stopped; everything it started was ended]");
    assert_eq!(outside.await, "done\n[exit code 0]");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_outside_the_sandbox_gives_its_files_back_when_it_runs_on() {
    let shop = Workshop::new();
    let waiting = Arc::<WaitSignal>::default();
    let server = json!({ "command": "sleep 600", "background": true });
    let told = shop.outside(server, 1, &waiting).await;
    assert!(told.contains("runs in the background"), "{told}");
    let done = shop.outside(json!({ "command": "echo done" }), 2, &waiting).await;
    assert_eq!(done, "done\n[exit code 0]");
    assert!(!waiting.0.is_cancelled());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_ends_at_once_is_told_at_once_and_one_that_ends_later_when_asked() {
    let shop = Workshop::new();
    let input = json!({ "command": "no-such-program", "background": true });
    let told = shop.call("exec_shell", input, shop.context(1)).await.unwrap();
    let mut told = told.plain_text().to_string();
    // On a busy machine it may not have ended yet.
    if let Some(id) = told.clone().split('`').nth(1).filter(|_| told.contains("runs in the")) {
        told = shop.text("exec_output", json!({ "id": id, "wait": 60 })).await;
        while told.ends_with("[still running]") {
            told = shop.text("exec_output", json!({ "id": id, "wait": 60 })).await;
        }
    }
    assert!(told.ends_with("[exit code 127]"), "{told}");
    let script = "until [ -e go ]; do sleep 0.01; done; seq 1 50000; touch printed; exit 7";
    let id = shop.start(script, 2).await;
    fs::write(shop.folder.join("go"), "").unwrap();
    // Read while it prints, it may come in pieces that are short enough.
    while !shop.folder.join("printed").exists() {
        std::thread::yield_now();
    }
    let mut whole = 0;
    loop {
        let output = shop.further("exec_output", json!({ "id": id, "wait": 60 })).await.unwrap();
        let text = output.plain_text().to_string();
        whole += output.full.as_ref().map_or(0, |it| it.bytes);
        output.full.iter().for_each(|it| fs::remove_file(&it.path).unwrap());
        if text.ends_with("[exit code 7]") {
            break;
        }
        assert!(text.ends_with("[still running]"), "{text}");
    }
    // What was too long for a result was kept whole.
    assert!(whole > 100_000, "{whole}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_belongs_to_its_session_and_there_are_not_too_many() {
    let shop = Workshop::new();
    let mut ids = Vec::new();
    for n in 0..16 {
        ids.push(shop.start("sleep 600", n + 1).await);
    }
    let input = json!({ "command": "sleep 600", "background": true });
    let refused = shop.call("exec_shell", input, shop.context(50)).await.unwrap();
    let refused = refused.plain_text().to_string();
    assert!(refused.contains("run in the background already"), "{refused}");
    let other = SessionId::from_uuid(numbered_id(START, 77));
    let ctx = CallContext { session_id: other, ..shop.context(60) };
    let input = json!({ "name": "exec_stop", "input": { "id": ids[0] } });
    let strange = shop.call("use_tool", input, ctx).await.unwrap_err();
    assert!(strange.contains("no command"), "{strange}");
    for bad in [json!({ "id": "../x" }), json!({}), json!({ "id": ids[0], "wait": 9999 })] {
        let refused = shop.text("exec_output", bad.clone()).await;
        assert!(!refused.contains("still running"), "{bad}: {refused}");
    }
    shop.background.end().await;
    let ended = shop.text("exec_output", json!({ "id": ids[3] })).await;
    assert_eq!(ended, "[stopped; everything it started was ended]");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_a_session_that_is_gone_end_and_those_of_others_go_on() {
    let shop = Workshop::new();
    for name in ["ours", "theirs"] {
        fs::write(shop.folder.join(name), "").unwrap();
    }
    shop.start("exec flock ours sleep 600", 1).await;
    let other = SessionId::from_uuid(numbered_id(START, 77));
    let ctx = CallContext { session_id: other, ..shop.context(2) };
    let input = json!({ "command": "exec flock theirs sleep 600", "background": true });
    shop.call("exec_shell", input, ctx).await.unwrap();
    until_held(&shop.folder.join("ours"));
    until_held(&shop.folder.join("theirs"));
    let own = call_context(&shop.cancel).session_id;
    shop.background.end_of(own);
    until_free(shop.folder.join("ours")).await;
    assert!(shop.background.ids_of(own).is_empty());
    assert_eq!(shop.background.ids_of(other).len(), 1);
    assert!(File::open(shop.folder.join("theirs")).unwrap().try_lock().is_err());
    shop.background.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_ended_unread_are_forgotten_when_there_are_many() {
    let shop = Workshop::new();
    let input = |n: u64| {
        let command = format!("until [ -e go-{n} ]; do sleep 0.01; done");
        json!({ "command": command, "background": true })
    };
    let mut ids = Vec::new();
    for n in 0..34 {
        // Refused while 16 are still running.
        while ids.len() as u64 <= n {
            let told = shop.call("exec_shell", input(n), shop.context(n + 1)).await.unwrap();
            let told = told.plain_text().to_string();
            ids.extend(told.split("in the background as `").nth(1).map(str::to_owned));
        }
        fs::write(shop.folder.join(format!("go-{n}")), "").unwrap();
    }
    let known = shop.background.ids_of(call_context(&shop.cancel).session_id);
    assert!(known.len() <= 32, "{}", known.len());
    let last = ids[33].split('`').next().unwrap();
    let mut read = shop.text("exec_output", json!({ "id": last, "wait": 60 })).await;
    while read.ends_with("[still running]") {
        read = shop.text("exec_output", json!({ "id": last, "wait": 60 })).await;
    }
    assert_eq!(read, "[exit code 0]");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_ends_it_and_the_question_says_that_it_runs_on() {
    let shop = Workshop::new();
    let input = json!({ "command": "sleep 600", "background": true, "timeout": 1 });
    let tool = shop.tools.iter().find(|it| it.spec().name == "exec_shell").unwrap();
    let plan = tool.prepare(&Json::of(&input), &shop.context(1)).await.unwrap();
    assert_eq!(
        (plan.summary.as_str(), plan.effect()),
        ("exec_shell sleep 600 (runs on in the background)", Effect::Exec,)
    );
    let told = shop.call("exec_shell", input, shop.context(1)).await.unwrap();
    let told = told.plain_text().to_string();
    let id = told.split('`').nth(1).unwrap();
    let ended = shop.text("exec_output", json!({ "id": id, "wait": 60 })).await;
    assert_eq!(ended, "[ended at its `timeout` with everything it started]");
}

/// The commands that are noted for the next host.
#[derive(Default)]
struct Noted(Arc<Mutex<Vec<String>>>);

impl BackgroundNotes for Noted {
    fn keep(&self, running: &BTreeMap<SessionId, Vec<String>>) {
        *self.0.lock().unwrap() = running.values().flatten().cloned().collect();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_noted_for_the_next_host_unless_it_has_ended_by_itself() {
    let noted = Noted::default();
    let kept = Arc::clone(&noted.0);
    let shop = Workshop::noting(BackgroundCommands::new(Box::new(noted)));
    let short = shop.start("until [ -e go ]; do sleep 0.01; done", 1).await;
    let long = shop.start("sleep 600", 2).await;
    let both = kept.lock().unwrap().clone();
    assert!(both.len() == 2 && both.contains(&short) && both.contains(&long), "{both:?}");
    fs::write(shop.folder.join("go"), "").unwrap();
    // Nobody reads that it has ended.
    while *kept.lock().unwrap() != [long.as_str()] {
        tokio::task::yield_now().await;
    }
    shop.background.end().await;
    assert_eq!(*kept.lock().unwrap(), [long.as_str()]);
    // The host goes; what it ended stays noted.
    let short_again = shop.text("exec_output", json!({ "id": short })).await;
    assert_eq!(short_again, "[exit code 0]");
    assert_eq!(*kept.lock().unwrap(), [long.as_str()]);
}

fn background_call(command: &str) -> ServerReply {
    let input = json!({ "command": command, "background": true });
    ServerReply::calls("Starting it.", &[("exec_shell", input)])
}

#[test]
fn what_ended_with_its_host_is_told_to_the_session_when_it_goes_on() {
    let vendor = Vendor::new([
        background_call("bash hold.sh"),
        ServerReply::text("It runs."),
        ServerReply::text("It is gone."),
        ServerReply::text("I know."),
    ]);
    let house = House::asking(&vendor);
    house.write("held", "");
    house.write("hold.sh", "exec 9< held; flock 9; sleep 600\n");
    if !house.kith(&["explain", "command", "ls"]).shown().contains("in the sandbox") {
        not_run("there is no sandbox, so every command would be asked about");
        return;
    }
    house.kith(&["ask", "start it"]).succeeded();
    // The command went with the program that ran it.
    File::open(house.path("held")).unwrap().lock().unwrap();
    house.kith(&["ask", "how is it?"]).succeeded();
    house.kith(&["ask", "and now?"]).succeeded();
    let bodies: Vec<String> = vendor.bodies().iter().map(ToString::to_string).collect();
    let told = "No longer running in the background";
    assert!(!bodies[1].contains(told), "{}", bodies[1]);
    assert_eq!(bodies[2].matches(told).count(), 1, "{}", bodies[2]);
    assert_eq!(bodies[3].matches(told).count(), 1, "{}", bodies[3]);
    let log = house.log();
    assert_eq!(
        of_type(&log, "harness_item").iter().filter(|it| it.to_string().contains(told)).count(),
        1
    );
    assert!(!house.path(".kith/background.json").exists());
    for command in ["verify", "replay"] {
        assert_eq!(house.json(&["session", command, "latest", "--json"])["ok"], true, "{command}");
    }
}

#[test]
fn a_host_that_is_killed_takes_its_commands_with_it() {
    let vendor = Vendor::new([
        background_call("bash hold.sh"),
        ServerReply::text("It runs."),
        ServerReply::text("It is gone."),
    ]);
    let house = House::asking(&vendor);
    house.write("held", "");
    house.write("hold.sh", "exec 9< held; flock 9; sleep 600\n");
    if !house.kith(&["explain", "command", "ls"]).shown().contains("in the sandbox") {
        not_run("there is no sandbox, so every command would be asked about");
        return;
    }
    let mut daemon = house.start(&["up", "--port", "0"]);
    daemon.until("serves http");
    house.kith(&["ask", "start it"]).succeeded();
    until_held(&house.path("held"));
    daemon.signal("KILL");
    assert_ne!(daemon.finish().code, 0);
    // Waits for as long as anybody holds it.
    File::open(house.path("held")).unwrap().lock().unwrap();
    house.kith(&["ask", "how is it?"]).succeeded();
    let body = vendor.bodies()[2].to_string();
    assert!(body.contains("No longer running in the background"), "{body}");
}
