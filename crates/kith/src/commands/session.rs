//! `kith session`: list, show, verify; the other verbs in files of their own.

mod branch;
mod export;
mod rename;
mod repair;
mod rm;
mod search;
mod tree;

use std::process::ExitCode;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kith_host::call::Response;
use kith_host::calls::session::{
    ListSessions, SessionList, SessionRow, SessionState, SessionView, ShowSession, VerifySession,
};
use kith_host::calls::thread::GetThread;
use kith_host::error::{CallError, ErrorCode};
use kith_host::words::short;

use super::{call, follow, house_of, print_form, print_notes};
use crate::program::args::{GlobalArgs, SessionCommand, SessionShow, SessionVerify};
use crate::program::transcript;
use crate::program::ui::{self, EXIT_REQUEST};

pub(crate) async fn run(
    shared: &GlobalArgs,
    command: SessionCommand,
) -> Result<ExitCode, CallError> {
    match command {
        SessionCommand::Ls(_) => list(shared).await,
        SessionCommand::Show(args) => show(shared, args).await,
        SessionCommand::Verify(args) => verify(shared, args).await,
        SessionCommand::Export(args) => export::run(shared, args).await,
        SessionCommand::Rename(args) => rename::run(shared, args).await,
        SessionCommand::Repair(args) => repair::run(shared, args).await,
        SessionCommand::Search(args) => search::run(shared, args).await,
        SessionCommand::Rm(args) => rm::run(shared, args).await,
        SessionCommand::Tree(args) => tree::run(shared, args).await,
        SessionCommand::Branch(args) => branch::run(shared, args).await,
        SessionCommand::Clone(args) => branch::run_clone(shared, args).await,
    }
}

async fn list(shared: &GlobalArgs) -> Result<ExitCode, CallError> {
    let told = sessions_of(shared).await?;
    let sessions = &told.data.sessions;
    if shared.json {
        print_form(true, &told.data);
    } else if sessions.is_empty() {
        ui::note("no sessions yet; `kith ask \"hello\"` starts one");
    } else {
        let zone = TimeZone::system();
        let width = |of: fn(&SessionRow) -> &str| {
            sessions.iter().map(|row| of(row).chars().count()).max().unwrap_or_default()
        };
        // Whose it is is worth a column only where there are several.
        let is_team = sessions.iter().any(|row| agent(row) != agent(&sessions[0]));
        let widths = (is_team.then(|| width(agent)), width(thread));
        // In one piece: ten thousand small writes would take longer than finding the rows.
        let lines: Vec<String> =
            sessions.iter().map(|row| table_line(row, widths, &zone)).collect();
        ui::line(&lines.join("\n"));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

/// The sessions of the agent that is named, or of all of them.
async fn sessions_of(shared: &GlobalArgs) -> Result<Response<SessionList>, CallError> {
    call(shared, ListSessions { agent_id: shared.agent_id() }).await
}

/// The session that is meant: the latest one of an agent is its own.
pub(super) async fn meant(shared: &GlobalArgs, session: String) -> Result<String, CallError> {
    if session != "latest" || shared.agent().is_none() {
        return Ok(session);
    }
    let newest = sessions_of(shared).await?.data.sessions.into_iter().next();
    newest.map(|row| row.session_id.to_string()).ok_or_else(|| {
        CallError::request(ErrorCode::SessionNotFound, "this agent has no sessions yet")
    })
}

/// The session that is named; without a name, the one in which this folder's conversation goes on.
pub(super) async fn named_or_current(
    shared: &GlobalArgs,
    session: Option<String>,
) -> Result<String, CallError> {
    if let Some(session) = session {
        return meant(shared, session).await;
    }
    let thread_id = house_of(shared)?.thread_of_cwd()?;
    let thread = call(shared, GetThread { agent_id: shared.agent_id(), thread_id }).await?.data;
    thread.session.map(|session| session.session_id.to_string()).ok_or_else(|| {
        let message = "no conversation in this folder yet";
        CallError::request(ErrorCode::SessionNotFound, message)
            .hint("choose a session with `--session`; `kith session ls` lists them")
    })
}

fn table_line(
    row: &SessionRow,
    (agent_width, thread_width): (Option<usize>, usize),
    zone: &TimeZone,
) -> String {
    let state = match row.state {
        SessionState::Idle => "idle",
        SessionState::Running => "running",
        SessionState::Waiting => "waiting",
        SessionState::ReadOnly => "read-only",
    };
    let updated = row.updated_at.as_ref().and_then(|time| time.parse::<Timestamp>().ok());
    let updated = updated.map_or_else(
        || "-".to_owned(),
        |time| time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
    );
    let untitled = if row.thread_id.is_none() { "(unreadable)" } else { "(no messages)" };
    let title = row.title.as_deref().unwrap_or(untitled);
    let title: Vec<&str> = title.split_whitespace().collect();
    let agent = agent_width.map_or_else(String::new, |width| format!("{:width$}  ", agent(row)));
    format!(
        "{}  {updated:16}  {state:9}  {agent}{:thread_width$}  {}",
        short(row.session_id),
        thread(row),
        title.join(" ")
    )
}

fn agent(row: &SessionRow) -> &str {
    row.agent_id.as_deref().unwrap_or("-")
}

fn thread(row: &SessionRow) -> &str {
    row.thread_id.as_ref().map_or("-", |thread| thread.as_str())
}

async fn show(shared: &GlobalArgs, args: SessionShow) -> Result<ExitCode, CallError> {
    let session = meant(shared, args.session).await?;
    let told = call(shared, ShowSession { session }).await?;
    let events = &told.data.events;
    if shared.json {
        print_form(true, &told.data);
    } else if args.all {
        for event in events {
            ui::json(event);
        }
    } else {
        let SessionView { header, leaf, .. } = &told.data;
        let text = transcript::transcript(header, events, *leaf);
        if !text.is_empty() {
            ui::line(text.trim_end());
        }
        let n_hidden = events.iter().filter(|event| !transcript::is_shown(header, event)).count();
        print_notes(&transcript::hidden_in_words(n_hidden).into_iter().collect::<Vec<_>>());
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

async fn verify(shared: &GlobalArgs, args: SessionVerify) -> Result<ExitCode, CallError> {
    let session = meant(shared, args.session).await?;
    let told = follow(shared, VerifySession { session }, |_| ()).await?;
    let found = &told.data;
    let is_sound = found.damaged.is_none() && found.mismatches.is_empty();
    if shared.json {
        // The form of this command names what was found; `ok` says whether all is well.
        print_form(is_sound, found);
        print_notes(&told.notes);
        return Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::from(EXIT_REQUEST) });
    }
    for mismatch in &found.mismatches {
        ui::line(&format!(
            "request {} differs: logged hash {}, rebuilt hash {}",
            mismatch.request_id, mismatch.expected, mismatch.rebuilt
        ));
    }
    for request_id in &found.other_renderer {
        ui::line(&format!(
            "request {request_id} was made by another version of kith; not compared"
        ));
    }
    if let Some(damage) = &found.damaged {
        let message = told.notes.join("; ");
        let shows = match found.events {
            0 => "nothing can be read".to_owned(),
            n => format!("`kith session show` shows the {n} intact events"),
        };
        // What a newer program wrote is not damaged for the newer program.
        let helps = if damage.code == ErrorCode::NewerVersion || damage.line <= 1 {
            shows
        } else {
            format!("{shows}, `kith session repair` copies them into a new session")
        };
        return Err(CallError::request(ErrorCode::Damaged, message)
            .at_line(damage.line)
            .hint(format!("{helps}; nothing was changed")));
    }
    print_notes(&told.notes);
    if !is_sound {
        let message = format!(
            "{} of {} requests differ from what was sent",
            found.mismatches.len(),
            found.requests
        );
        return Err(CallError::request(ErrorCode::Damaged, message));
    }
    let compared = found.requests - found.other_renderer.len() as u64;
    let requests = match found.requests {
        0 => "no requests to check".to_owned(),
        n => format!("{compared} of {n} requests rebuilt byte for byte"),
    };
    ui::line(&format!("OK: {} events intact, {requests}", found.events));
    Ok(ExitCode::SUCCESS)
}
