//! The commands. A command makes calls through a client and prints the answers.

mod agent;
pub(crate) mod approval;
mod ask;
mod chat;
mod completions;
pub(crate) mod cost;
mod explain;
pub(crate) mod forms;
mod house;
mod init;
mod logs;
pub(crate) mod model;
pub(crate) mod model_test;
mod new;
pub(crate) mod prime;
mod project;
mod queue;
mod remote;
mod sandbox;
pub(crate) mod session;
mod session_name;
pub(crate) mod skill;
mod thread;
mod trust;
mod turn;
pub(crate) mod up;
pub(crate) mod why;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kith_host::call::{Access, Call, Follow, Reply, Response};
use kith_host::caller::{CLI, Caller};
use kith_host::client::{Client, ReadsFrom};
use kith_host::error::{Blame, CallError, ErrorCode};
use kith_host::house::House;
use kith_host::language;
use kith_host::settings::Settings;
use kith_host::settings::watch::SettingsWatch;
use kith_vocab::ids::ThreadId;
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use unicode_width::UnicodeWidthStr as _;

use crate::program::args::approval::ApprovalsAction;
use crate::program::args::explain::Explain;
use crate::program::args::{Command, GlobalArgs, Invocation, ModelArg};
use crate::program::signals::StopSignal;
use crate::program::{args, resources, signals, ui};

/// The result of a command.
type CommandResult = Result<ExitCode, CallError>;

pub(crate) fn run(invocation: Invocation) -> ExitCode {
    let Invocation { mut shared, model, command, plain, .. } = invocation;
    ui::configure(shared.color, shared.quiet);
    let remote = remote::named(&shared);
    if remote.is_none() {
        shared.local_agent = local_agent(&shared);
    }
    // What stays long serves others meanwhile, and a test of a model must see its answer grow.
    let n_workers = match command {
        None | Some(Command::Resume { .. } | Command::Up(_) | Command::Model(_)) => 2,
        Some(_) => 1,
    };
    let outcome = in_runtime(n_workers, async {
        if let Some(address) = remote
            && remote::is_asked(command.as_ref())
        {
            remote::require_possible(command.as_ref())?;
            shared.remote_house = Some(remote::attach(&shared, &address).await?);
        }
        match command {
            None => chat::run(&shared, model, None, plain).await,
            Some(Command::Resume { session, model: own }) => {
                let model = ModelArg { model: own.model.or(model.model) };
                let session = session_name::named_session(&shared, session).await?;
                chat::run(&shared, model, Some(session), plain).await
            }
            Some(Command::Ask(args)) => ask::run(&shared, model, args).await,
            Some(Command::Retry(args)) => turn::retry(&shared, model, args).await,
            Some(Command::Cancel { session }) => turn::cancel(&shared, session).await,
            Some(Command::Steer(args)) => queue::steer(&shared, model, args).await,
            Some(Command::Queue(args)) => queue::run(&shared, model, args).await,
            Some(Command::Approvals(args)) => match args.action {
                None | Some(ApprovalsAction::Ls) => approval::list(&shared).await,
                Some(ApprovalsAction::Show { approval }) => approval::show(&shared, approval).await,
            },
            Some(Command::Approve(args)) => approval::approve(&shared, args).await,
            Some(Command::Deny(args)) => approval::deny(&shared, args).await,
            Some(Command::Grants(args)) => approval::grants(&shared, args).await,
            Some(Command::Compact(args)) => turn::compact(&shared, model, args.session).await,
            Some(Command::Cost(args)) => cost::run(&shared, args).await,
            Some(Command::Logs(args)) => logs::run(&shared, args).await,
            Some(Command::Agent(args)) => agent::run(&shared, args),
            Some(Command::Model(args)) => model::run(&shared, model, args).await,
            Some(Command::New(args)) => new::run(&shared, args).await,
            Some(Command::Prime(args)) => prime::run(&shared, args).await,
            Some(Command::Init(args)) => init::run(&shared, args),
            Some(Command::Session(args)) => session::run(&shared, args).await,
            Some(Command::Thread(args)) => thread::run(&shared, args).await,
            Some(Command::Prompt(args)) => house::prompt(&shared, args).await,
            Some(Command::Skill(args)) => skill::run(&shared, args).await,
            Some(Command::Backup { dir }) => house::back_up(&shared, &dir).await,
            Some(Command::Why(args)) => why::run(&shared, args.session, args.body).await,
            Some(Command::Explain(Explain::Identity)) => house::explain_identity(&shared).await,
            Some(Command::Explain(Explain::Command(args))) => explain::command(&shared, args).await,
            Some(Command::Explain(Explain::Reply { text, pending })) => {
                approval::explain_reply(&shared, &text, pending.as_deref())
            }
            Some(Command::Sandbox(args)) => sandbox::run(&shared, args).await,
            Some(Command::Doctor { verbose }) => house::check(&shared, verbose).await,
            Some(Command::Project(args)) => project::run(&shared, args).await,
            Some(Command::Trust(args)) => trust::run(&shared, args).await,
            Some(Command::Up(args)) => up::up(&shared, args).await,
            Some(Command::Down) => up::down(&shared).await,
            Some(Command::Status) => up::status(&shared).await,
            Some(Command::Completions(args)) => Ok(completions::run(&shared, &args)),
            Some(Command::Man(args)) => completions::man(&shared, &args),
            Some(Command::Complete(args)) => completions::complete_words(args).await,
        }
    });
    outcome.unwrap_or_else(|report| ui::report_error(&report, args::asks_for_json()))
}

fn in_runtime(n_workers: usize, work: impl Future<Output = CommandResult>) -> CommandResult {
    resources::require(n_workers)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(n_workers)
        .enable_all()
        .build()
        .map_err(|source| CallError::new(Blame::Environment, ErrorCode::InternalError, source))?;
    let outcome = runtime.block_on(async {
        signals::outlive_file_limits()?;
        work.await
    });
    // A thread may still be blocked reading stdin; its result is not needed.
    runtime.shutdown_background();
    outcome
}

/// A client of this house that speaks for the owner.
fn client_of(shared: &GlobalArgs, house: House) -> Client {
    let caller = caller_of(shared);
    if let Some(remote) = &shared.remote_house {
        return remote.client(caller);
    }
    let reads_from = if shared.from_host { ReadsFrom::Host } else { ReadsFrom::Files };
    Client::new(house, caller, reads_from)
}

fn caller_of(shared: &GlobalArgs) -> Caller {
    let caller = Caller::owner(CLI).speaking(language::of_locale());
    if shared.unattended { caller.unattended() } else { caller }
}

fn house_of(shared: &GlobalArgs) -> Result<House, CallError> {
    match &shared.remote_house {
        Some(remote) => Ok(remote.house().clone()),
        None => House::find(shared.home.as_deref()),
    }
}

/// The settings of the house; of one on another machine only its agents are known.
fn settings_of(shared: &GlobalArgs, house: &House) -> Result<Arc<SettingsWatch>, CallError> {
    match &shared.remote_house {
        Some(remote) => Ok(Arc::clone(remote.settings())),
        None => SettingsWatch::open(house),
    }
}

/// The agent in whose home this is. What is wrong with the house is told by what needs it.
fn local_agent(shared: &GlobalArgs) -> Option<String> {
    let house = house_of(shared).ok()?;
    let is_inside = house.cwd != house.dir && house.cwd.starts_with(&house.dir);
    if shared.named_agent().is_some() || !is_inside || !house.dir.join("kith.toml").is_file() {
        return None;
    }
    let team = Settings::load(&house).ok()?.team;
    team.living_in(&house, &house.cwd).map(|member| member.id.clone())
}

/// The thread that was named, or else that of the current folder.
fn thread_of(house: &House, thread: Option<&str>) -> Result<ThreadId, CallError> {
    let Some(thread) = thread else { return house.thread_of_cwd() };
    thread.parse().map_err(|error| {
        CallError::new(Blame::Usage, ErrorCode::Usage, error)
            .hint("use a thread id such as `--thread web:room:notes`")
    })
}

/// The real path of a folder that was named.
fn folder(dir: &Path) -> Result<PathBuf, CallError> {
    let unusable = |what: String| {
        CallError::invalid(format!("cannot use the folder `{}`: {what}", dir.display()))
    };
    let real = dir.canonicalize().map_err(|source| unusable(source.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(unusable("not a folder".to_owned())) }
}

/// Makes one call, and disconnects when it is answered.
async fn call<C: Call>(shared: &GlobalArgs, call: C) -> Reply<C::Answer> {
    let client = client_of(shared, house_of(shared)?);
    answered(shared, C::ACCESS, client, async |client: &Client| client.call(call).await).await
}

/// Makes one call that answers with items.
async fn follow<C: Follow>(
    shared: &GlobalArgs,
    call: C,
    take: impl Fn(C::Item) + Send + Sync + 'static,
) -> Reply<C::Answer> {
    let client = client_of(shared, house_of(shared)?);
    let cancel = CancellationToken::new();
    let ask = async |client: &Client| client.follow(call, take, cancel).await;
    answered(shared, C::ACCESS, client, ask).await
}

/// Waits for an answer, then shuts the host down in order if it is in this process.
async fn answered<T>(
    shared: &GlobalArgs,
    access: Access,
    client: Client,
    ask: impl AsyncFnOnce(&Client) -> Result<T, CallError>,
) -> Result<T, CallError> {
    if access == Access::Read && !shared.from_host && shared.remote_house.is_none() {
        return ask(&client).await;
    }
    let mut answer = Err(CallError::stopped("stopped"));
    let asked = async { answer = ask(&client).await };
    let mut stop = until_stopped(Box::pin(asked)).await?;
    leave(client, &mut stop).await;
    answer
}

/// Runs this until it is done or the person wants no more. Of any type, so that it is compiled once
/// and not for every call.
async fn until_stopped(
    work: Pin<Box<dyn Future<Output = ()> + '_>>,
) -> Result<StopSignal, CallError> {
    let mut stop = StopSignal::listen()?;
    tokio::select! {
        () = work => (),
        _ = stop.received() => (),
    }
    Ok(stop)
}

/// Disconnects. If the host is in this process, turns of other clients are finished first.
async fn leave(client: Client, stop: &mut StopSignal) {
    let stop = async {
        stop.received().await;
    };
    let explain = || {
        if ui::is_interactive() {
            ui::note(
                "a turn is still running here; it is finished first, or press Ctrl-C to quit now (it \
                 will be resumed later)",
            );
        }
    };
    client.leave(stop, explain).await;
}

// Flattened as text, not as a JSON value: that would round numbers the log keeps as they came.
#[derive(Serialize)]
struct PrintedForm<'a, T> {
    ok: bool,
    #[serde(flatten)]
    form: &'a T,
}

/// The result of a check, as `--json` prints it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CheckForm<'a, T> {
    checked: usize,
    failed: usize,
    issues: &'a [T],
}

/// Paths as JSON has them.
fn as_texts(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// `{"ok": …}` with the form's own keys.
fn print_form(ok: bool, form: &impl Serialize) {
    ui::json(&PrintedForm { ok, form });
}

fn print_notes<'a>(notes: impl IntoIterator<Item = &'a String>) {
    for note in notes {
        ui::note(note);
    }
}

/// Prints an answer: all of it with `--json`, else as `show` does; then its notes.
fn print_answer<T: Serialize>(
    shared: &GlobalArgs,
    told: &Response<T>,
    show: impl FnOnce(&T),
) -> ExitCode {
    print_as(shared, told, &told.data, show)
}

/// Prints an answer that has a form of its own with `--json`.
fn print_as<T>(
    shared: &GlobalArgs,
    told: &Response<T>,
    form: &impl Serialize,
    show: impl FnOnce(&T),
) -> ExitCode {
    if shared.json {
        print_form(true, form);
    } else {
        show(&told.data);
    }
    print_notes(&told.notes);
    ExitCode::SUCCESS
}

/// The exit code of a command that looks for problems.
fn exit_of_check(is_sound: bool) -> ExitCode {
    if is_sound { ExitCode::SUCCESS } else { ExitCode::from(ui::EXIT_REQUEST) }
}

/// A time of an answer as lists show it; `None` if it is not a time.
pub(crate) fn local_time(time: &str, zone: &TimeZone) -> Option<String> {
    let time = time.parse::<Timestamp>().ok()?.to_zoned(zone.clone());
    Some(time.strftime("%Y-%m-%d %H:%M").to_string())
}

/// Padded by what a screen shows: Chinese is two columns wide.
fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// `1 thread` or `2 threads`.
fn counted(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}
