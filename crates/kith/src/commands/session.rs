//! `kith session`: one function per verb; the list and the export in files of their own.

mod export;
pub(crate) mod list;

use std::process::ExitCode;

use kith_host::call::Response;
use kith_host::calls::session::{
    DescribeSession, HitKind, RemoveSession, RenameSession, RepairSession, ReplayReport,
    ReplaySession, SearchSessions, SessionDescription, SessionView, ShowSession, Verification,
    VerifyProgress, VerifySession,
};
use kith_host::calls::tree::{BranchSession, CloneSession, ShowTree};
use kith_host::clock::SystemClock;
use kith_host::error::{CallError, ErrorCode};
use kith_host::host::upkeep::checked_title;
use kith_host::words::{local_zone, place_in_words, short, size_in_words};
use kith_vocab::block::{Block, plain_text};
use kith_vocab::clock::Clock;
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{EventId, LeafId, SessionId};
use serde::Serialize;

use super::session_name::named_session;
use super::{
    CommandResult, ask, call, exit_of_check, follow, house_of, local_time, remote, settings_of,
};
use super::{print_answer, print_form, print_notes};
use crate::program::args::session::{SessionCommand, SessionRm, SessionShow};
use crate::program::args::{Ask, GlobalArgs, ModelArg, leaf_of};
use crate::program::branches::drawn;
use crate::program::progress::ProgressLine;
use crate::program::transcript::event_list::event_list;
use crate::program::ui::ErrorForm;
use crate::program::{transcript, ui};

pub(crate) async fn run(shared: &GlobalArgs, command: SessionCommand) -> CommandResult {
    match command {
        SessionCommand::Ls { limit } => list::run(shared, limit).await,
        SessionCommand::Show(args) => show(shared, args).await,
        SessionCommand::Verify { session } => verify(shared, session).await,
        SessionCommand::Replay { session } => replay(shared, session).await,
        SessionCommand::Export { session, format } => export::run(shared, session, format).await,
        SessionCommand::Rename { session, title } => rename(shared, session, &title).await,
        SessionCommand::Repair { session } => repair(shared, session).await,
        SessionCommand::Search { query, limit } => search(shared, &query, limit).await,
        SessionCommand::Rm(args) => remove(shared, args).await,
        SessionCommand::Tree { session } => tree(shared, session).await,
        SessionCommand::Branch { session, to, expected_leaf } => {
            branch(shared, session, to, expected_leaf.as_deref()).await
        }
        SessionCommand::Rerun { session, at, model } => {
            rerun(shared, session, at.as_deref(), model, false).await
        }
        SessionCommand::Clone { session, at } => clone(shared, session, at).await,
    }
}

async fn show(shared: &GlobalArgs, args: SessionShow) -> CommandResult {
    let session = named_session(shared, args.session).await?;
    let told = call(shared, ShowSession { session }).await?;
    Ok(print_answer(shared, &told, |SessionView { header, events, leaf, .. }| {
        if args.all {
            return ui::lines(event_list(events, *leaf, &local_zone()));
        }
        let text = transcript::transcript(header, events, *leaf);
        if !text.is_empty() {
            ui::line(text.trim_end());
        }
        let n_hidden = events.iter().filter(|event| !transcript::is_shown(header, event)).count();
        print_notes(&transcript::hidden_in_words(n_hidden));
    }))
}

async fn replay(shared: &GlobalArgs, session: Option<String>) -> CommandResult {
    let session = named_session(shared, session).await?;
    let told = call(shared, ReplaySession { session }).await?;
    let ReplayReport { events, compared, other_renderer, difference } = &told.data;
    let is_same = difference.is_none();
    if shared.json {
        print_form(is_same, &told.data);
    } else if let Some(it) = difference {
        ui::line(&format!("event {} ({}) differs: {}", it.seq, it.event_type, it.what));
    } else {
        ui::line(&format!("replayed {events} events; all {compared} decisions came out the same"));
    }
    if *other_renderer > 0 {
        ui::note(&format!(
            "the bytes of {other_renderer} requests were made by another version of kith; not compared"
        ));
    }
    print_notes(&told.notes);
    Ok(exit_of_check(is_same))
}

async fn verify(shared: &GlobalArgs, session: Option<String>) -> CommandResult {
    let session = named_session(shared, session).await?;
    let progress = ProgressLine::begin("Verifying");
    let report = progress.reporter();
    let count = move |so_far: VerifyProgress| report(format!("{} events", so_far.events));
    let told = follow(shared, VerifySession { session }, count).await;
    drop(progress);
    let told = told?;
    let found = &told.data;
    let problem = problem_of(&told);
    if shared.json {
        let error = problem.as_ref().map(ui::error_form);
        print_form(error.is_none(), &VerifyForm { found, error });
        print_notes(&told.notes);
        return Ok(exit_of_check(problem.is_none()));
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
    if found.damaged.is_none() {
        print_notes(&told.notes);
    }
    if let Some(problem) = problem {
        return Err(problem);
    }
    let compared = found.requests - found.other_renderer.len() as u64;
    let requests = match found.requests {
        0 => "no requests to check".to_owned(),
        n => format!("{compared} of {n} requests rebuilt byte for byte"),
    };
    ui::line(&format!("OK: {} events intact, {requests}", found.events));
    Ok(ExitCode::SUCCESS)
}

/// What `verify --json` prints: the findings, and the first of them as every failure is told.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct VerifyForm<'a> {
    #[serde(flatten)]
    found: &'a Verification,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorForm>,
}

/// Why a session does not verify.
fn problem_of(told: &Response<Verification>) -> Option<CallError> {
    let found = &told.data;
    let Some(damage) = &found.damaged else {
        let n_differ = found.mismatches.len();
        let message =
            format!("{n_differ} of {} requests differ from what was sent", found.requests);
        return (n_differ > 0).then(|| CallError::request(ErrorCode::Damaged, message));
    };
    let message = told.notes.join("; ");
    let shows = match found.events {
        0 => "nothing can be read".to_owned(),
        n => format!("`kith session show` shows the {n} intact events"),
    };
    // A log of a newer version is not damaged; the newer program can read it.
    let has_nothing = damage.line <= 1 || found.events == 0;
    let helps = if damage.code == ErrorCode::NewerVersion || has_nothing {
        shows
    } else {
        format!("{shows}, `kith session repair` copies them into a new session")
    };
    let problem = CallError::request(ErrorCode::Damaged, message).at_line(damage.line);
    Some(problem.hint(format!("{helps}; nothing was changed")))
}

async fn rename(shared: &GlobalArgs, session: String, title: &[String]) -> CommandResult {
    // Arguments are checked before the house is touched.
    let title = checked_title(&title.join(" "))?;
    let session = named_session(shared, Some(session)).await?;
    let told = call(shared, RenameSession { session, title }).await?;
    Ok(print_answer(shared, &told, |renamed| {
        ui::line(&format!("{}  {}", short(renamed.session_id), renamed.title));
    }))
}

async fn repair(shared: &GlobalArgs, session: Option<String>) -> CommandResult {
    let session = named_session(shared, session).await?;
    let progress = ProgressLine::begin("Copying what can be read");
    let told = call(shared, RepairSession { session }).await;
    drop(progress);
    Ok(print_answer(shared, &told?, |repaired| {
        ui::line(&format!(
            "copied {} events into the new session {}; line {} is the first unreadable one ({})",
            repaired.events,
            short(repaired.session_id),
            repaired.lost_from.line,
            repaired.lost_from.code
        ));
    }))
}

async fn search(shared: &GlobalArgs, words: &[String], limit: u32) -> CommandResult {
    // Without an index, or while it is built anew, every session is read.
    let progress = ProgressLine::begin("Searching");
    let query = SearchSessions { query: words.join(" "), limit };
    let told = follow(shared, query, progress.sessions_read()).await;
    drop(progress);
    let told = told?;
    Ok(print_answer(shared, &told, |found| {
        if found.hits.is_empty() {
            return ui::note("no messages match all of these words");
        }
        let zone = local_zone();
        ui::lines(found.hits.iter().map(|hit| {
            let time = local_time(&hit.ts, &zone).unwrap_or_else(|| hit.ts.clone());
            let kind = match hit.kind {
                HitKind::User => "user",
                HitKind::Agent => "agent",
                HitKind::Summary => "summary",
                HitKind::Title => "title",
            };
            let branch = if hit.is_abandoned { "  (on another branch)" } else { "" };
            format!("{}  {time}  {kind:<7}  {}{branch}", short(hit.session_id), hit.text)
        }));
        if u32::try_from(found.hits.len()).is_ok_and(|n| n == limit) {
            ui::note("there may be more; raise `--limit` to see them");
        }
    }))
}

async fn tree(shared: &GlobalArgs, session: Option<String>) -> CommandResult {
    let session = named_session(shared, session).await?;
    let told = call(shared, ShowTree { session }).await?;
    Ok(print_answer(shared, &told, |view| ui::lines(drawn(view))))
}

async fn branch(
    shared: &GlobalArgs,
    session: Option<String>,
    to: String,
    expected_leaf: Option<&str>,
) -> CommandResult {
    // Arguments are checked before the house is touched.
    let expected_leaf = leaf_of(expected_leaf)?;
    let session = named_session(shared, session).await?;
    let branch_id = EventId::from_uuid(SystemClock.new_id());
    let told = call(shared, BranchSession { session, to, expected_leaf, branch_id }).await?;
    Ok(print_answer(shared, &told, |at| {
        let (session, place) = (short(at.session_id), place_in_words(LeafId::from(at.leaf)));
        ui::line(&format!("session {session} now continues {place}"));
    }))
}

/// Moves to the place before the message and sends it again.
pub(super) async fn rerun(
    shared: &GlobalArgs,
    session: Option<String>,
    at: Option<&str>,
    model: ModelArg,
    stream_json: bool,
) -> CommandResult {
    // An unknown model is refused before the leaf moves.
    let watch = settings_of(shared, &house_of(shared)?)?;
    remote::expected_model(shared, model.model.as_deref(), &watch).await?;
    let session = named_session(shared, session).await?;
    let view = call(shared, ShowSession { session: session.clone() }).await?.data;
    let message = message_at(&view, at)?;
    let Body::UserMessage(said) = &message.body else { return Err(no_message(at)) };
    if said.message.content.iter().any(|block| !matches!(block, Block::Text(_))) {
        let why = "the message has attachments, which cannot be sent again by themselves";
        return Err(CallError::invalid(why).hint("send it again with `kith ask --attach`"));
    }
    let text = plain_text(&said.message.content);
    let to = message.parent_id.map_or_else(|| "start".to_owned(), |id| id.to_string());
    let branch_id = EventId::from_uuid(SystemClock.new_id());
    let expected_leaf = Some(LeafId::from(view.leaf));
    let branch = BranchSession { session: session.clone(), to, expected_leaf, branch_id };
    print_notes(&call(shared, branch).await?.notes);
    let (text, session) = (vec![text.to_string()], Some(session));
    let is_whole = true;
    let args = Ask { text, session, model: model.clone(), stream_json, is_whole, ..Ask::default() };
    ask::run(shared, model, args).await
}

/// The message that began the turn of an event, or else the last message of the conversation.
fn message_at<'a>(view: &'a SessionView, at: Option<&str>) -> Result<&'a Event, CallError> {
    let by_id = |id: EventId| view.events.iter().find(|event| event.id == id);
    let named = |at: &str| EventId::named_by(at, view.events.iter().map(|event| event.id));
    let mut event = match at {
        None => view.leaf.and_then(by_id),
        Some(at) => named(at).first().copied().and_then(by_id),
    };
    // A control event belongs to the message before it.
    if let Some(beside) = event.filter(|event| !event.is_tree()) {
        let earlier = view.events.iter().rev().filter(|it| it.seq < beside.seq);
        event = earlier.into_iter().find(|it| it.is_tree());
    }
    while let Some(found) = event {
        if found.is_lived() && matches!(found.body, Body::UserMessage(_)) {
            return Ok(found);
        }
        event = found.parent_id.and_then(by_id);
    }
    Err(no_message(at))
}

fn no_message(at: Option<&str>) -> CallError {
    let message = match at {
        Some(at) => format!("there is no message at or before `{at}`"),
        None => "nothing was said in the session yet".to_owned(),
    };
    CallError::invalid(message).hint("`kith session tree` lists the events of a session")
}

async fn clone(shared: &GlobalArgs, session: Option<String>, at: Option<String>) -> CommandResult {
    let session = named_session(shared, session).await?;
    let clone_id = SessionId::from_uuid(SystemClock.new_id());
    let told = call(shared, CloneSession { session, at, clone_id }).await?;
    Ok(print_answer(shared, &told, |at| {
        let (session, place) = (short(at.session_id), place_in_words(LeafId::from(at.leaf)));
        ui::line(&format!("created session {session}, which continues {place}"));
    }))
}

async fn remove(shared: &GlobalArgs, args: SessionRm) -> CommandResult {
    let session = named_session(shared, Some(args.session)).await?;
    let described = call(shared, DescribeSession { session }).await?;
    print_notes(&described.notes);
    let described = described.data;
    let id = described.session_id;
    if !args.yes {
        let what = in_words(&described);
        if shared.json || !ui::is_interactive() || !ui::input_is_terminal() {
            let message = format!("refusing to remove {what} without confirmation");
            return Err(CallError::invalid(message).hint("pass `--yes` to confirm"));
        }
        ui::note("this cannot be undone; clones and anything already sent stay as they are");
        if !ui::confirm(&format!("Remove {what}? [y/N] "))? {
            return Err(CallError::request(ErrorCode::Cancelled, "nothing was removed"));
        }
    }
    // The whole id, so that the session that was shown is the one removed.
    let told = call(shared, RemoveSession { session: id.to_string() }).await?;
    Ok(print_answer(shared, &told, |files| {
        if described.is_gone {
            ui::line(&format!("forgot session {}", short(id)));
        }
        for path in &files.removed {
            ui::line(&format!("removed .kith/{path}"));
        }
    }))
}

/// The session that would be removed, and its size.
fn in_words(described: &SessionDescription) -> String {
    let id = short(described.session_id);
    if described.is_gone {
        return format!("session {id} (its file is missing)");
    }
    let title = described.title.as_ref().map_or_else(String::new, |title| format!(" ({title})"));
    let size = size_in_words(described.bytes);
    let others = match described.files.saturating_sub(1) {
        0 => String::new(),
        1 => " in the log and 1 other file".to_owned(),
        n => format!(" in the log and {n} other files"),
    };
    format!("session {id}{title} ({size}{others})")
}
