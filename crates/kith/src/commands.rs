//! One file per verb. A verb asks a client and prints the answer.

mod ask;
mod backup;
mod chat;
mod doctor;
mod explain;
mod init;
mod new;
mod prime;
mod prompt;
mod session;
mod skill;
mod thread;
mod trust;

use std::process::ExitCode;
use std::sync::Arc;

use kith_sessions::desk::Desk;
use kith_sessions::disk::DiskFiles;
use kith_sessions::store::SessionStore;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::args::{Command, Invocation, Shared};
use crate::client::{Answer, Client, Request};
use crate::config::Config;
use crate::door::Door;
use crate::house::House;
use crate::reading::Reader;
use crate::report::{Blame, Report};
use crate::screen::Quiet;
use crate::signals::Brake;
use crate::{args, signals, ui};

pub(crate) fn run(invocation: Invocation) -> ExitCode {
    let Invocation { shared, model, command, .. } = invocation;
    let outcome = in_runtime(async {
        match command {
            None => chat::run(&shared, model).await,
            Some(Command::Ask(args)) => ask::run(&shared, model, args).await,
            Some(Command::New(args)) => new::run(&shared, args).await,
            Some(Command::Prime(args)) => prime::run(&shared, args).await,
            Some(Command::Init(args)) => init::run(&shared, args),
            Some(Command::Session(args)) => session::run(&shared, args).await,
            Some(Command::Thread(args)) => thread::run(&shared, args).await,
            Some(Command::Prompt(args)) => prompt::run(&shared, args).await,
            Some(Command::Skill(args)) => skill::run(&shared, args).await,
            Some(Command::Backup(args)) => backup::run(&shared, args).await,
            Some(Command::Explain(args)) => explain::run(&shared, &args),
            Some(Command::Doctor(_)) => doctor::run(&shared).await,
            Some(Command::Trust(args)) => trust::run(&shared, args).await,
        }
    });
    outcome.unwrap_or_else(|report| ui::failure(&report, args::asks_for_json()))
}

fn in_runtime(work: impl Future<Output = Result<ExitCode, Report>>) -> Result<ExitCode, Report> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|source| Report::new(Blame::Environment, "internal_error", source))?;
    let outcome = runtime.block_on(async {
        signals::outlive_file_limits()?;
        work.await
    });
    // A reader of stdin may still be blocked; it owes us nothing.
    runtime.shutdown_background();
    outcome
}

/// Asks without taking the lock: such a request changes nothing and creates nothing.
async fn read(shared: &Shared, request: Request) -> Result<Answer, Report> {
    let reader = match &request {
        // It needs the desk only for what is trusted elsewhere.
        Request::GetPrompt { .. } => reader_or(shared, "no other repository is trusted").await?,
        // Without the desk nobody can tell what is trusted, or whether the end of a log was lost.
        Request::ListRepositories {} | Request::VerifySession { .. } => {
            let house = House::find(shared.home.as_deref())?;
            let desk = Desk::open_read_only(&house.desk_path()).await?;
            reader_of(house, desk)
        }
        _ => reader(shared).await?,
    };
    reader.call(request, &Quiet, &CancellationToken::new()).await
}

/// Reads the sessions also where the desk cannot be read.
async fn reader(shared: &Shared) -> Result<Reader, Report> {
    reader_or(shared, "the sessions are read as they are").await
}

/// Reads also without the desk, and says what that means.
async fn reader_or(shared: &Shared, without: &str) -> Result<Reader, Report> {
    let house = House::find(shared.home.as_deref())?;
    let opened = Desk::open_read_only(&house.desk_path()).await;
    let desk = opened.unwrap_or_else(|error| {
        let why = Report::from(error).message();
        ui::note(&format!("{without}: {why}"));
        None
    });
    Ok(reader_of(house, desk))
}

fn reader_of(house: House, desk: Option<Desk>) -> Reader {
    let store = SessionStore::new(Arc::new(DiskFiles), &house.kith_dir());
    Reader::new(house, store, desk)
}

/// Asks the host, wherever it is, and leaves when it has answered.
async fn write(shared: &Shared, request: Request) -> Result<Answer, Report> {
    let house = House::find(shared.home.as_deref())?;
    let config = Config::load(&house)?;
    let mut brake = Brake::take()?;
    let door = Door::new(house, config);
    let cancel = CancellationToken::new();
    let answer = tokio::select! {
        answer = door.call(request, &Quiet, &cancel) => answer,
        _ = brake.pulled() => Err(Report::new(Blame::Request, "cancelled", "stopped")),
    };
    door.leave(&mut brake).await;
    answer
}

// Flattened as text, not as a JSON value: that would round numbers the log keeps as they came.
#[derive(Serialize)]
struct Printed<'a, T> {
    ok: bool,
    #[serde(flatten)]
    form: &'a T,
}

/// `{"ok": …}` with the form's own keys.
fn print_form(ok: bool, form: &impl Serialize) {
    ui::json(&Printed { ok, form });
}

fn print_notes(notes: &[String]) {
    for note in notes {
        ui::note(note);
    }
}

fn unexpected() -> Report {
    Report::new(Blame::Program, "internal_error", "the answer does not fit the request")
}
