//! `kith thread`: list, show, and make thread files again.

use std::process::ExitCode;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kith_engine::state::State;

use super::{print_form, print_notes, reader, unexpected, write};
use crate::args::{Shared, Thread, ThreadShow};
use crate::client::{Answer, Request, ThreadRowView, ThreadWork};
use crate::config::Config;
use crate::house::House;
use crate::reading::{short, tail_in_words};
use crate::report::Report;
use crate::{transcript, ui};

pub(crate) async fn run(shared: &Shared, command: Thread) -> Result<ExitCode, Report> {
    match command {
        Thread::Ls(_) => list(shared).await,
        Thread::Show(args) => show(shared, args).await,
        Thread::Rebuild(args) => work(shared, args.thread, ThreadWork::Rebuild).await,
        Thread::Compact(args) => work(shared, args.thread, ThreadWork::Compact).await,
    }
}

/// A thread is one agent's: the one that is named, or the one that is meant when nobody is.
fn meant(shared: &Shared) -> Result<String, Report> {
    let house = House::find(shared.home.as_deref())?;
    Ok(Config::load(&house)?.team.choose(shared.agent())?.id.clone())
}

async fn list(shared: &Shared) -> Result<ExitCode, Report> {
    let told = reader(shared).await?.threads(&meant(shared)?).await?;
    let threads = &told.form.threads;
    if shared.json {
        print_form(true, &told.form);
    } else if threads.is_empty() {
        ui::note("no threads yet; `kith ask \"hello\"` begins one");
    } else {
        let zone = TimeZone::system();
        let width = threads.iter().map(|it| it.thread_id.as_str().chars().count()).max();
        let width = width.unwrap_or_default();
        let lines: Vec<String> = threads.iter().map(|it| table_line(it, width, &zone)).collect();
        ui::line(&lines.join("\n"));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

fn table_line(row: &ThreadRowView, width: usize, zone: &TimeZone) -> String {
    let updated = row.updated_at.as_ref().and_then(|time| time.parse::<Timestamp>().ok());
    let updated = updated.map_or_else(
        || "-".to_owned(),
        |time| time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
    );
    let title: Vec<&str> =
        row.title.as_deref().unwrap_or("(no words)").split_whitespace().collect();
    let (thread, session) = (row.thread_id.as_str(), short(row.session_id));
    format!("{thread:width$}  {updated:16}  {session}  {}", title.join(" "))
}

async fn show(shared: &Shared, args: ThreadShow) -> Result<ExitCode, Report> {
    let reader = reader(shared).await?;
    let agent_id = meant(shared)?;
    if shared.json {
        ui::json(&reader.thread_messages(&agent_id, &args.thread)?);
        return Ok(ExitCode::SUCCESS);
    }
    let (_, ids) = reader.thread_sessions(&agent_id, &args.thread)?;
    let (mut said, mut notes) = (Vec::new(), Vec::new());
    for id in ids {
        let mut events = Vec::new();
        let mut state = State::default();
        let each = &mut |event| {
            state.fold(&event);
            events.push(event);
        };
        let reading = reader.each(id, each).await?;
        notes.extend(tail_in_words(&reading.tail));
        let text = transcript::transcript(&reading.header, &events, state.leaf());
        said.push(text.trim_end().to_owned());
    }
    said.retain(|text| !text.is_empty());
    if !said.is_empty() {
        ui::line(&said.join("\n\n"));
    }
    print_notes(&notes);
    Ok(ExitCode::SUCCESS)
}

async fn work(
    shared: &Shared,
    thread: Option<String>,
    work: ThreadWork,
) -> Result<ExitCode, Report> {
    let agent_id = shared.agent().map(str::to_owned);
    let request = Request::WorkOnThreads { agent_id, thread, work };
    let Answer::ThreadsMade(told) = write(shared, request).await? else {
        return Err(unexpected());
    };
    if shared.json {
        print_form(true, &told.form);
    } else {
        let (threads, messages) = (told.form.threads, told.form.messages);
        let threads =
            if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        let messages =
            if messages == 1 { "1 message".to_owned() } else { format!("{messages} messages") };
        ui::line(&format!("{threads}, {messages}"));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
