//! `kith up`, `kith down` and `kith status`: the host as a daemon.

use std::ffi::OsString;
use std::process::ExitCode;

use kith_host::calls::daemon::{CreateLogin, HostKind, HostStatus, ReleaseReason};
use kith_host::client::Client;
use kith_host::daemon::{DaemonStart, open_in_browser};
use kith_host::error::CallError;
use serde::Serialize;
use tokio::sync::mpsc;

use super::{CommandResult, client_of, house_of, leave, print_form};
use crate::program::args::GlobalArgs;
use crate::program::args::up::Up;
use crate::program::signals::StopSignal;
use crate::program::ui;

/// The port that is tried first: `kith` on the keys of a telephone.
const PORT: u16 = 5484;
/// Reports on unfinished turns that wait to be printed.
const NOTES_MAX: usize = 64;

/// What `kith up --json`, `kith down --json` and `kith status --json` print.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusForm {
    /// Whether the house has a host.
    running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<HostStatus>,
    /// Logs a browser in, once and within a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    login_url: Option<String>,
}

pub(crate) async fn up(shared: &GlobalArgs, args: Up) -> CommandResult {
    let house = house_of(shared)?;
    let (sender, notes) = mpsc::channel(NOTES_MAX);
    let client = client_of(shared, house).known_as(HostKind::Daemon).resuming(sender);
    if args.detach {
        return in_background(shared, &client, &args).await;
    }
    let mut stop = StopSignal::listen()?;
    let started = tokio::select! {
        started = client.become_daemon(args.replace) => started?,
        _ = stop.received() => return Err(CallError::stopped("stopped before it was up")),
    };
    if let DaemonStart::Running(status) = started {
        return announce(shared, &client, *status, args.open).await;
    }
    let address = serve(&client, args.port).await;
    let outcome = match address {
        Ok(address) => attend(shared, &client, &address, args.open, notes, &mut stop).await,
        Err(error) => Err(error),
    };
    leave(client, &mut stop).await;
    outcome
}

async fn serve(client: &Client, port: Option<u16>) -> Result<String, CallError> {
    if let Some(port) = port {
        return client.serve_http(port).await;
    }
    // Another house, or another program, may have the usual one.
    match client.serve_http(PORT).await {
        Ok(address) => Ok(address),
        Err(_) => client.serve_http(0).await,
    }
}

/// Stays until somebody stops it, and prints what becomes of unfinished turns.
async fn attend(
    shared: &GlobalArgs,
    client: &Client,
    address: &str,
    open: bool,
    mut notes: mpsc::Receiver<String>,
    stop: &mut StopSignal,
) -> CommandResult {
    if let Some(status) = client.status().await? {
        announce(shared, client, status, open).await?;
    }
    if !shared.json {
        ui::note(&format!("serving {address} until Ctrl-C or `kith down`"));
    }
    loop {
        tokio::select! {
            _ = stop.received() => break,
            reason = client.release_requested() => {
                if reason == ReleaseReason::TakeOver {
                    ui::note("another kith takes over");
                }
                break;
            }
            Some(note) = notes.recv() => ui::note(&note),
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn in_background(shared: &GlobalArgs, client: &Client, args: &Up) -> CommandResult {
    if let Some(status) = client.status().await?
        && status.kind == HostKind::Daemon
        && !args.replace
    {
        return announce(shared, client, status, args.open).await;
    }
    let mut words = vec![OsString::from("up")];
    if let Some(home) = &shared.home {
        words.extend([OsString::from("--home"), home.clone().into_os_string()]);
    }
    if let Some(port) = args.port {
        words.extend([OsString::from("--port"), OsString::from(port.to_string())]);
    }
    if args.replace {
        words.push(OsString::from("--replace"));
    }
    let status = client.start_daemon(&words).await?;
    announce(shared, client, status, args.open).await
}

/// Tells where the page is, and opens it if that was asked for.
async fn announce(
    shared: &GlobalArgs,
    client: &Client,
    status: HostStatus,
    open: bool,
) -> CommandResult {
    let login = client.ask_running(CreateLogin {}).await?.map(|it| it.data.url);
    if shared.json {
        let host = Some(status);
        print_form(true, &StatusForm { running: true, host, login_url: login.clone() });
    } else {
        ui::line(&in_words(&status));
        // In a file it would be a secret at the wrong place, and too late to be of use.
        if let Some(url) = login.as_ref().filter(|_| ui::is_interactive()) {
            ui::line(&format!("Open the page within a minute: {url}"));
        }
    }
    if let Some(url) = login.filter(|_| open)
        && let Err(error) = open_in_browser(&url)
    {
        ui::note(&error.message());
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn down(shared: &GlobalArgs) -> CommandResult {
    let client = client_of(shared, house_of(shared)?);
    let stopped = client.stop_daemon().await?;
    if shared.json {
        print_form(true, &StatusForm { running: false, host: stopped, login_url: None });
    } else if let Some(status) = stopped {
        ui::line(&format!("The daemon (pid {}) has stopped", status.pid));
    } else {
        ui::line("No daemon is running in this house");
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn status(shared: &GlobalArgs) -> CommandResult {
    let client = client_of(shared, house_of(shared)?);
    let status = client.status().await?;
    let is_running = status.is_some();
    if shared.json {
        print_form(true, &StatusForm { running: is_running, host: status, login_url: None });
    } else if let Some(status) = &status {
        ui::line(&in_words(status));
        let HostStatus { started_at, version, working_sessions, open_sessions, .. } = status;
        ui::line(&format!("kith {version}, since {started_at}"));
        ui::line(&format!("Sessions: {working_sessions} running, {open_sessions} idle"));
    } else {
        ui::line("Nothing is running in this house; `kith up` starts the daemon");
    }
    Ok(ExitCode::SUCCESS)
}

fn in_words(status: &HostStatus) -> String {
    let HostStatus { kind, pid, address, .. } = status;
    match (kind, address) {
        (HostKind::Daemon, Some(address)) => format!("The daemon (pid {pid}) serves {address}"),
        (HostKind::Daemon, None) => format!("The daemon (pid {pid}) is starting"),
        (HostKind::Chat, _) => format!("A conversation in a terminal is the host (pid {pid})"),
        (HostKind::Command, _) => format!("A command is the host (pid {pid}) until it ends"),
    }
}
