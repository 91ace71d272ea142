//! `kith up`, `kith down` and `kith status`: the host as a daemon.

use std::ffi::OsString;
use std::process::ExitCode;

use kith_host::calls::daemon::{CreateLogin, HostKind, HostStatus, ReleaseReason};
use kith_host::client::Client;
use kith_host::daemon::{DaemonStart, open_in_browser};
use kith_host::error::CallError;
use kith_host::house::House;
use kith_host::http::tls::CertificateFiles;
use kith_host::service::{self, ServiceChange};
use kith_host::words::local_zone;
use serde::Serialize;
use tokio::sync::mpsc;

use super::{CommandResult, client_of, house_of, leave, local_time, print_form};
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
    if args.install || args.uninstall {
        return change_service(shared, &house, &args);
    }
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
    let address = match serve(&client, args.port).await {
        Ok(address) => listen(&client, &args).await.map(|()| address),
        Err(error) => Err(error),
    };
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

/// Lets other machines in, if that was asked for.
async fn listen(client: &Client, args: &Up) -> Result<(), CallError> {
    let Some(listen) = args.listen else { return Ok(()) };
    let files = args.certificate.clone().zip(args.key.clone());
    let files = files.map(|(certificate, key)| CertificateFiles { certificate, key });
    client.serve_remote(listen, files.as_ref()).await.map(drop)
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
    if args.replace {
        words.push(OsString::from("--replace"));
    }
    words.extend(served_at(args));
    let status = client.start_daemon(&words).await?;
    announce(shared, client, status, args.open).await
}

/// The options that say where it listens.
fn served_at(args: &Up) -> Vec<OsString> {
    let mut words = Vec::new();
    if let Some(port) = args.port {
        words.extend([OsString::from("--port"), OsString::from(port.to_string())]);
    }
    if let Some(listen) = args.listen {
        words.extend([OsString::from("--listen"), OsString::from(listen.to_string())]);
    }
    for (name, file) in [("--certificate", &args.certificate), ("--key", &args.key)] {
        if let Some(file) = file {
            // The service has another working folder.
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            words.extend([OsString::from(name), file.into_os_string()]);
        }
    }
    words
}

/// What `kith up --install --json` and `kith up --uninstall --json` print.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServiceForm {
    path: String,
    /// Whether the file was written or removed.
    changed: bool,
    /// What to type; nothing was started or stopped.
    commands: Vec<String>,
}

/// Writes or removes the file of the service. Starts and stops nothing.
fn change_service(shared: &GlobalArgs, house: &House, args: &Up) -> CommandResult {
    let change = if args.install {
        service::install(house, served_at(args))?
    } else {
        service::uninstall(house)?
    };
    let path = change.path.display().to_string();
    if shared.json {
        let ServiceChange { is_changed, commands, .. } = change;
        print_form(true, &ServiceForm { path, changed: is_changed, commands });
        return Ok(ExitCode::SUCCESS);
    }
    let told = match (args.install, change.is_changed) {
        (true, _) => format!("Wrote `{path}`. To start the daemon now and at every login, type:"),
        (false, true) => format!("Removed `{path}`. If the service still runs, type:"),
        (false, false) => format!("There is no `{path}`"),
    };
    ui::line(&told);
    for command in change.commands.iter().filter(|_| args.install || change.is_changed) {
        ui::line(&format!("  {command}"));
    }
    if args.install && change.reads_environment_file {
        ui::note(
            "The service does not see variables exported by your shell. Put API keys into \
             `~/.kith/environment`, one NAME=value per line",
        );
    }
    Ok(ExitCode::SUCCESS)
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
        tell_remote(&status);
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
        tell_remote(status);
        let HostStatus { started_at, version, working_sessions, open_sessions, .. } = status;
        let since = local_time(started_at, &local_zone());
        let since = since.unwrap_or_else(|| started_at.clone());
        ui::line(&format!("kith {version}, running since {since}"));
        ui::line(&format!("Sessions: {working_sessions} running, {open_sessions} idle"));
    } else {
        ui::line("Nothing is running in this house; `kith up` starts the daemon");
    }
    Ok(ExitCode::SUCCESS)
}

/// Says how other machines reach the host, if they can.
fn tell_remote(status: &HostStatus) {
    let Some(address) = &status.remote_address else { return };
    ui::line(&format!("From other machines: kith --remote '{address}'"));
    if address.contains("//0.0.0.0:") || address.contains("//[::]:") {
        ui::note("write the name or address of this machine in place of `0.0.0.0` or `[::]`");
    }
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
