//! `exec_shell`: a command in a shell, in the sandbox or, if a person allowed it, outside.
//!
//! What will run is looked up before it is judged: programs, paths, and the state of every file that the
//! command names. All of it is in the digest, so a command that was approved runs as it was approved
//! or not at all. Ending it ends everything it started; see [`crate::sandbox`]. A command may run on in the
//! [`background`].

pub mod background;
mod given_up;
mod output;
mod stand_ins;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kith_shell::facts::{PathFacts, ShellFacts};
use kith_shell::gather::{Lookup, ShellRequest, gather};
use kith_vocab::blocking::blocking;
use kith_vocab::clock::BoxFuture;
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::calls::{Effect, Sandbox};
use kith_vocab::event::messages::Trust;
use kith_vocab::facts::{PathEntry, Zone};
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{
    CallContext, CallPlan, Progress, Refusal, RunContext, Tool, ToolOutcome, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::background::{BackgroundCommand, BackgroundCommands};
use self::given_up::AbandonablePipe;
use self::output::{COMMAND_OUTPUT_BYTES_MAX, CommandOutput};
use crate::change_file::FileContent;
use crate::file_claims::{ClaimKind, FileClaim, FileClaims};
use crate::read_log::FileVersion;
use crate::sandbox::environment;
use crate::sandbox::launch::{CommandStopper, RunningCommand, launch_one_of_many};
use crate::sandbox::plan::{SandboxPlaces, plan};
use crate::sandbox::probe::shell;
use crate::sandbox::spec::{CommandEnd, CommandSpec};
use crate::shell_lookup::DiskLookup;
use crate::trust::{LowestTrust, TrustOf, own_refusal};
use crate::{call, display, schema};

const NAME: &str = "exec_shell";
const DESCRIPTION: &str =
    "Run a bash command in a sandbox: it can change the workspace and gets no input.";

/// Bytes of a command.
const COMMAND_BYTES_MAX: usize = 64 * 1024;
/// Seconds that a command may take if it does not say otherwise, and at most.
const COMMAND_SECS: u64 = 120;
const COMMAND_SECS_MAX: u64 = 3600;
/// Seconds that the output of a command that was stopped may take to end. If everything was ended, it has.
const STOPPED_OUTPUT_SECS_MAX: u64 = 3;
/// How long a command that is to run in the background is watched before its call ends.
const AT_ONCE_MS_MAX: u64 = 300;
/// Characters of a command in its summary.
const SUMMARY_CHARS_MAX: usize = 120;
/// Bytes of a named file up to which its content is in the digest; of larger ones it is the state.
const HASHED_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Named files whose content is in the digest; of further ones it is the state.
const HASHED_FILES_MAX: usize = 100;

/// What commands need of the house.
#[derive(Clone)]
pub struct CommandSetup {
    pub lookup: DiskLookup,
    pub places: SandboxPlaces,
    /// The environment of the host; what a command sees of it is chosen here.
    pub variables: Vec<(String, String)>,
    /// The program that supervises commands; `None` if there is none.
    pub supervisor: Option<PathBuf>,
    /// Commands that run on after their call.
    pub background: Arc<BackgroundCommands>,
    /// The trust of what a command in the sandbox may print that works in a folder or with a file.
    pub output_trust: TrustOf,
    pub times: Option<Arc<dyn CommandTimes>>,
}

/// Where a command may leave files, and whether they may hold what strangers said.
pub struct CommandReach {
    pub folders: Vec<PathBuf>,
    /// The session has read untrusted text, or the command can fetch or read some.
    pub is_tainted: bool,
}

/// Takes note of when commands run: files that they wrote can be known only by their time.
pub trait CommandTimes: Send + Sync {
    /// Notes durably that a command begins. It has ended when the value is dropped. A command that
    /// cannot be noted does not start.
    fn begin(&self, reach: CommandReach) -> BoxFuture<'_, Result<Box<dyn Send>, String>>;
}

/// Held from the last look at what a command names until it has ended.
struct CommandHold {
    claim: FileClaim,
    time: Option<Box<dyn Send>>,
}

impl CommandHold {
    /// For a command that runs on. Outside the sandbox it gives its files back: a server that runs for
    /// hours would keep everyone from them. In the sandbox it keeps its share, because it could change
    /// what a command outside was approved with.
    fn until_the_end_of(self, command: Arc<BackgroundCommand>, sandbox: Sandbox) {
        let CommandHold { claim, time } = self;
        let claim = (sandbox != Sandbox::None).then_some(claim);
        tokio::spawn(async move {
            command.until_end().await;
            drop((claim, time));
        });
    }
}

struct ExecShell {
    spec: ToolSpec,
    setup: CommandSetup,
    claims: Arc<FileClaims>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExecShellInput {
    command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    /// seconds
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    background: Option<bool>,
    /// asks the owner
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unsandboxed: Option<bool>,
}

/// Facts of a command: what the judge reads, and what else decides what will happen.
#[derive(Serialize)]
struct ExecFacts<'a> {
    #[serde(flatten)]
    shell: &'a ShellFacts,
    /// The programs that it names, by the state of their files.
    programs: Vec<FileContent>,
    /// The files that it names.
    files: Vec<FileContent>,
    /// Of the variables that it would see.
    environment: String,
}

impl ExecShell {
    fn look(&self, json: &Json) -> Result<(ExecShellInput, ShellFacts, CallPlan), Refusal> {
        let input: ExecShellInput = call::read_input(NAME, json).map_err(own_refusal)?;
        check(&input).map_err(own_refusal)?;
        let cwd = self.cwd(input.cwd.as_deref()).map_err(own_refusal)?;
        let request = ShellRequest {
            command: &input.command,
            cwd: &cwd,
            network: input.network == Some(true),
            unsandboxed: input.unsandboxed == Some(true),
        };
        let shell = gather(&request, &self.setup.lookup.looked_up());
        let variables = environment::for_command(self.setup.variables.iter().cloned(), true);
        let facts = Json::of(&ExecFacts {
            shell: &shell,
            programs: programs(&shell),
            files: files(&shell),
            environment: sha256_hex(Json::of(&variables).as_str().as_bytes()),
        });
        // The facts hold the text, where it runs, what it sees, and the state of the programs and
        // files that it names; the input adds how long it may take.
        let text = format!("{NAME}\0{}\0{}", Json::of(&input).as_str(), facts.as_str());
        let plan = CallPlan {
            input: json.clone(),
            effects: vec![Effect::Exec],
            facts,
            digest: sha256_hex(text.as_bytes()),
            summary: summary(&input),
        };
        Ok((input, shell, plan))
    }

    fn cwd(&self, named: Option<&str>) -> Result<PathBuf, String> {
        let Some(named) = named else { return Ok(self.setup.places.cwd.clone()) };
        let found = self.setup.lookup.path(&self.setup.places.cwd.join(named));
        let name = display::name(named);
        if found.entry != PathEntry::Folder {
            return Err(format!("`{name}` is not a folder to run a command in"));
        }
        let places = &self.setup.places;
        let is_visible = found.real.starts_with(&places.workspace)
            || places.homes.iter().any(|home| found.real.starts_with(home));
        if is_visible { Ok(found.real) } else { Err(format!("`{name}` is outside the workspace")) }
    }

    fn spec_of(
        &self,
        input: &ExecShellInput,
        facts: &ShellFacts,
        ctx: &RunContext,
    ) -> Result<CommandSpec, String> {
        let is_sandboxed = ctx.permit.sandbox != Sandbox::None;
        let view = if is_sandboxed {
            let mut places = self.setup.places.clone();
            places.writable.extend(ctx.permit.paths.iter().cloned());
            Some(plan(&places, ctx.permit.sandbox == Sandbox::Network)?)
        } else {
            None
        };
        let argv = [shell(), "-c", &input.command].map(str::to_owned).to_vec();
        let variables = self.setup.variables.iter().cloned();
        let environment = environment::for_command(variables, is_sandboxed);
        Ok(CommandSpec { argv, cwd: PathBuf::from(&facts.cwd), environment, stdin: None, view })
    }

    /// Waits for calls that must not run beside this one. Outside the sandbox that is whoever can change
    /// what the command names or lies in its workspace; inside, whoever must find that unchanged.
    async fn claim(&self, judged: &CallPlan, ctx: &RunContext) -> Result<FileClaim, Refusal> {
        let mut paths = vec![self.setup.places.workspace.clone()];
        let kind = if ctx.permit.sandbox == Sandbox::None {
            let facts = judged.facts.read::<ShellFacts>();
            let facts = facts.map_err(|error| own_refusal(format!("no command: {error}")))?;
            let programs = facts.segments.iter().filter_map(|it| it.program.path.as_ref());
            let named = facts.segments.iter().flat_map(|it| &it.paths).map(|it| &it.path);
            paths.extend(programs.chain(named).map(PathBuf::from));
            ClaimKind::Exclusive
        } else {
            paths.extend(ctx.permit.paths.iter().cloned());
            ClaimKind::Shared
        };
        self.claims.claim(kind, paths, ctx).await
    }

    async fn hold(&self, judged: &CallPlan, ctx: &RunContext) -> Result<CommandHold, Refusal> {
        let claim = self.claim(judged, ctx).await?;
        let Some(times) = &self.setup.times else {
            return Ok(CommandHold { claim, time: None });
        };
        let mut folders = vec![self.setup.places.workspace.clone()];
        folders.extend(ctx.permit.paths.iter().cloned());
        let facts = judged.facts.read::<ShellFacts>();
        let facts = facts.map_err(|error| own_refusal(format!("no command: {error}")))?;
        // What it prints may be a stranger's, and so may be what it copies.
        let read_trust = self.trust(&facts, ctx.permit.sandbox);
        let is_tainted = ctx.call.lowest_trust.max(read_trust) > Trust::Paired;
        let time = times.begin(CommandReach { folders, is_tainted }).await;
        let time = time.map_err(|why| {
            own_refusal(format!("not started: could not record that it runs ({why})"))
        })?;
        Ok(CommandHold { claim, time: Some(time) })
    }

    async fn execute(&self, judged: CallPlan, ctx: RunContext) -> Result<ToolOutput, Refusal> {
        let hold = self.hold(&judged, &ctx).await?;
        let (input, facts, now) = blocking(|| self.look(&judged.input))?;
        call::check_unchanged(&judged, &now)?;
        let spec = self.spec_of(&input, &facts, &ctx).map_err(own_refusal)?;
        let no_supervisor = || own_refusal("this system cannot run commands".to_owned());
        let supervisor = self.setup.supervisor.as_deref().ok_or_else(no_supervisor)?;
        if input.background == Some(true) {
            let trust = self.trust(&facts, ctx.permit.sandbox);
            return self.run_on(&input, (supervisor, &spec), (trust, hold), &ctx).await;
        }
        let absent = blocking(|| stand_ins::names(&spec));
        let secs = input.timeout.unwrap_or(COMMAND_SECS);
        let time = Duration::from_secs(secs).min(ctx.time_left);
        let (output, running) = blocking(|| start(supervisor, &spec))
            .map_err(|error| own_refusal(format!("the command cannot be run: {error}")))?;
        let ended = follow(output, running, &ctx, time).await;
        drop(hold);
        let (output, end) = ended.map_err(|error| own_refusal(unknown(&error.to_string())))?;
        let trust = self.trust(&facts, ctx.permit.sandbox);
        finished(output, end, (secs, &ctx), (trust, &absent))
    }

    /// Starts the command, and leaves it running.
    async fn run_on(
        &self,
        input: &ExecShellInput,
        (supervisor, spec): (&Path, &CommandSpec),
        (trust, hold): (Trust, CommandHold),
        ctx: &RunContext,
    ) -> Result<ToolOutput, Refusal> {
        let (background, call) = (&self.setup.background, &ctx.call);
        let of = (call.session_id, &call.call_id);
        let command = blocking(|| background.start(of, supervisor, spec, trust))
            .map_err(|error| own_refusal(format!("the command cannot be run: {error}")))?;
        hold.until_the_end_of(Arc::clone(&command), ctx.permit.sandbox);
        if let Some(secs) = input.timeout {
            let command = Arc::clone(&command);
            tokio::spawn(async move {
                let time = Duration::from_secs(secs);
                if tokio::time::timeout(time, command.until_end()).await.is_err() {
                    command.stop(CommandStop::OutOfTime);
                }
            });
        }
        // One that fails at once is told of at once.
        let at_once = Duration::from_millis(AT_ONCE_MS_MAX);
        tokio::time::timeout(at_once, command.until_end()).await.ok();
        let new =
            blocking(|| command.read_new()).map_err(|error| own_refusal(error.to_string()))?;
        let newline = if new.text.is_empty() || new.text.ends_with('\n') { "" } else { "\n" };
        let id = &command.id;
        let remark = match new.end {
            Some(end) => {
                background.forget(call.session_id, id);
                end
            }
            None => format!(
                "runs in the background as `{id}` until it ends or this kith does; through use_tool, \
                 exec_output {{\"id\":\"{id}\"}} reads on and exec_stop ends it"
            ),
        };
        let text = format!("{}{newline}[{remark}]", new.text);
        Ok(ToolOutput { full: new.full, ..ToolOutput::text(ToolOutcome::Done, trust, text) })
    }

    /// Of the least trusted thing that the command may have printed.
    fn trust(&self, facts: &ShellFacts, sandbox: Sandbox) -> Trust {
        // What comes from the network, or from anywhere on this machine, may say anything.
        if sandbox != Sandbox::Workspace {
            return Trust::Untrusted;
        }
        let mut trust = LowestTrust::new(&self.setup.output_trust);
        trust.add(Path::new(&facts.cwd));
        for path in facts.segments.iter().flat_map(|it| &it.paths) {
            trust.add(Path::new(&path.path));
        }
        trust.lowest()
    }
}

fn summary(input: &ExecShellInput) -> String {
    let command = display::words(&input.command, SUMMARY_CHARS_MAX);
    let runs_on = if input.background == Some(true) { " (runs on in the background)" } else { "" };
    format!("{NAME} {command}{runs_on}")
}

fn check(input: &ExecShellInput) -> Result<(), String> {
    if input.command.trim().is_empty() {
        return Err("the command is empty".to_owned());
    }
    if input.command.len() > COMMAND_BYTES_MAX {
        return Err(format!(
            "the command is longer than {COMMAND_BYTES_MAX} bytes; write a script"
        ));
    }
    if input.command.contains('\0') {
        return Err("the command holds a NUL character, which no command can".to_owned());
    }
    match input.timeout {
        Some(0) => Err("`timeout` must be at least 1".to_owned()),
        Some(secs) if secs > COMMAND_SECS_MAX => {
            Err(format!("`timeout` is at most {COMMAND_SECS_MAX} seconds"))
        }
        _ => Ok(()),
    }
}

/// The files of the programs that a command names, each once. A program is known by the state of its
/// file: another version, or another file in its place, has another one.
fn programs(facts: &ShellFacts) -> Vec<FileContent> {
    let named = facts.segments.iter().filter_map(|it| it.program.path.clone());
    let mut states = BTreeMap::new();
    for path in named.chain([shell().to_owned()]) {
        states.entry(path).or_insert_with_key(|path| state_of(Path::new(path)));
    }
    states.into_iter().map(|(path, sha256)| FileContent { path, sha256 }).collect()
}

/// The other files that a command names, each once. What a folder holds is what the command is for.
fn files(facts: &ShellFacts) -> Vec<FileContent> {
    let named = facts.segments.iter().flat_map(|it| &it.paths);
    let mut found = BTreeMap::new();
    for PathFacts { path, zone, entry, .. } in named {
        if *entry == PathEntry::File && !found.contains_key(path) {
            // The hash of a short secret would tell the secret.
            let is_hashed = *zone != Zone::Secret && found.len() < HASHED_FILES_MAX;
            let path_on_disk = Path::new(path);
            let content = is_hashed.then(|| content_of(path_on_disk)).flatten();
            found.insert(path.clone(), content.unwrap_or_else(|| state_of(path_on_disk)));
        }
    }
    found.into_iter().map(|(path, sha256)| FileContent { path, sha256 }).collect()
}

fn state_of(path: &Path) -> String {
    let stamp = fs::metadata(path).ok().as_ref().map(FileVersion::of);
    sha256_hex(FileVersion::text(stamp).as_bytes())
}

fn content_of(path: &Path) -> Option<String> {
    let is_short =
        fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() <= HASHED_FILE_BYTES_MAX);
    if is_short { fs::read(path).ok().map(|bytes| sha256_hex(&bytes)) } else { None }
}

/// Why a command was ended before its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandStop {
    Cancelled,
    OutOfTime,
    TooLong,
    /// The disk did not take what it printed.
    OutputLost(io::ErrorKind),
    /// By `exec_stop`.
    Stopped,
    HostEnded,
}

/// Ends a command that nobody waits for any more.
struct StopOnDrop(CommandStopper);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn start(supervisor: &Path, spec: &CommandSpec) -> io::Result<(io::PipeReader, RunningCommand)> {
    let (reader, writer) = io::pipe()?;
    let errors = OwnedFd::from(writer.try_clone()?);
    Ok((reader, launch_one_of_many(supervisor, spec, OwnedFd::from(writer), errors)?))
}

/// Reads what the command prints until it ends, or ends it.
async fn follow(
    output: io::PipeReader,
    running: RunningCommand,
    ctx: &RunContext,
    time: Duration,
) -> io::Result<(CommandOutput, Result<CommandEnd, CommandStop>)> {
    let stopper = StopOnDrop(running.stopper()?);
    let (output, reading) = AbandonablePipe::new(output)?;
    let progress = Arc::clone(&ctx.progress);
    let mut task = tokio::task::spawn_blocking(move || read_and_wait(output, running, &*progress));
    let reason = tokio::select! {
        biased;
        done = &mut task => return done.map_err(io::Error::other)?,
        () = ctx.call.cancel.cancelled() => CommandStop::Cancelled,
        () = tokio::time::sleep(time) => CommandStop::OutOfTime,
    };
    stopper.0.stop();
    // The supervisor kills everything, and then the pipe closes. If it does not, the answer says why.
    let done = tokio::select! {
        done = &mut task => done,
        () = tokio::time::sleep(Duration::from_secs(STOPPED_OUTPUT_SECS_MAX)) => {
            drop(reading);
            task.await
        }
    };
    let (output, end) = done.map_err(io::Error::other)??;
    Ok((output, stopped(end, reason)))
}

fn read_and_wait(
    pipe: AbandonablePipe,
    running: RunningCommand,
    progress: &dyn Progress,
) -> io::Result<(CommandOutput, Result<CommandEnd, CommandStop>)> {
    let output = CommandOutput::read(pipe, progress)?;
    if output.is_too_long {
        running.stopper()?.stop();
        return Ok((output, stopped(Ok(running.wait()), CommandStop::TooLong)));
    }
    Ok((output, Ok(running.wait())))
}

/// How a command ended that was stopped: for that reason, unless nobody can say that it did.
fn stopped(
    end: Result<CommandEnd, CommandStop>,
    reason: CommandStop,
) -> Result<CommandEnd, CommandStop> {
    match end {
        Ok(CommandEnd::Exited(_) | CommandEnd::Killed(_) | CommandEnd::Stopped) => Err(reason),
        end => end,
    }
}

/// How a command in the background ended.
fn ended_in_words(end: &Result<CommandEnd, CommandStop>) -> String {
    match end {
        Ok(CommandEnd::Exited(code)) => format!("exit code {code}"),
        Ok(CommandEnd::Killed(signal)) => format!("killed by signal {signal}"),
        Ok(CommandEnd::NotStarted(reason)) => format!("it did not start: {reason}"),
        Ok(CommandEnd::Ended(reason)) => reason.clone(),
        Ok(CommandEnd::Unknown(reason)) => unknown(reason),
        Err(CommandStop::OutOfTime) => {
            "ended at its `timeout` with everything it started".to_owned()
        }
        Err(CommandStop::TooLong) => {
            format!("ended: it printed more than {} MiB", COMMAND_OUTPUT_BYTES_MAX >> 20)
        }
        Err(CommandStop::OutputLost(kind)) => {
            format!("ended: its output could not be kept ({kind}); free some disk space")
        }
        Ok(CommandEnd::Stopped)
        | Err(CommandStop::Cancelled | CommandStop::Stopped | CommandStop::HostEnded) => {
            "stopped; everything it started was ended".to_owned()
        }
    }
}

fn unknown(reason: &str) -> String {
    format!("outcome unknown: {reason}; the command may have run, look before you try again")
}

fn finished(
    output: CommandOutput,
    end: Result<CommandEnd, CommandStop>,
    (secs, ctx): (u64, &RunContext),
    (trust, absent): (Trust, &BTreeSet<String>),
) -> Result<ToolOutput, Refusal> {
    let (text, full) = output.finish().map_err(|error| own_refusal(error.to_string()))?;
    let (remark, outcome) = match end {
        Ok(CommandEnd::Exited(code)) => (format!("exit code {code}"), ToolOutcome::Done),
        Ok(CommandEnd::Killed(signal)) => (format!("killed by signal {signal}"), ToolOutcome::Done),
        Ok(CommandEnd::Stopped)
        | Err(CommandStop::Cancelled | CommandStop::Stopped | CommandStop::HostEnded) => {
            ("cancelled; everything it started was ended".to_owned(), ToolOutcome::Failed)
        }
        Ok(CommandEnd::NotStarted(reason)) => {
            return Err(own_refusal(format!("the command did not start: {reason}")));
        }
        Ok(CommandEnd::Ended(reason)) => (reason, ToolOutcome::Failed),
        Ok(CommandEnd::Unknown(reason)) => (unknown(&reason), ToolOutcome::Failed),
        Err(CommandStop::OutOfTime) if ctx.time_left < Duration::from_secs(secs) => (
            "ended: the time of this turn is over; everything it started was ended".to_owned(),
            ToolOutcome::Failed,
        ),
        Err(CommandStop::OutOfTime) => (
            format!("ended after {secs} s (`timeout`); everything it started was ended"),
            ToolOutcome::Done,
        ),
        Err(reason @ (CommandStop::TooLong | CommandStop::OutputLost(_))) => {
            (ended_in_words(&Err(reason)), ToolOutcome::Done)
        }
    };
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let explained = stand_ins::remark(absent, &text).map_or_else(String::new, |it| it + "\n");
    let text = format!("{text}{newline}{explained}[{remark}]");
    Ok(ToolOutput { full, ..ToolOutput::text(outcome, trust, text) })
}

impl Tool for ExecShell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        _ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        Box::pin(async move { blocking(|| self.look(input).map(|(_, _, plan)| plan)) })
    }

    fn run(&self, prepared: CallPlan, ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            if let Some(stopped) = call::stopped_before_it_began(NAME, &ctx) {
                return stopped;
            }
            self.execute(prepared, ctx).await.unwrap_or_else(call::failed)
        })
    }
}

pub(crate) fn tool(setup: CommandSetup, claims: Arc<FileClaims>) -> Arc<dyn Tool> {
    Arc::new(ExecShell { spec: schema::spec::<ExecShellInput>(NAME, DESCRIPTION), setup, claims })
}
