//! `kith thread`: lists and shows threads, and rebuilds their files.

use std::process::ExitCode;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kith_host::call::Response;
use kith_host::calls::session::ShowSession;
use kith_host::calls::thread::{
    CompactThreads, ListMessages, ListThreadSessions, ListThreads, MessageSource, RebuildThreads,
    ThreadFilesSummary, ThreadRowView,
};
use kith_host::error::CallError;
use kith_host::words::short;

use super::{call, print_form, print_notes};
use crate::program::args::{GlobalArgs, Thread, ThreadShow};
use crate::program::{transcript, ui};

pub(crate) async fn run(shared: &GlobalArgs, command: Thread) -> Result<ExitCode, CallError> {
    match command {
        Thread::Ls(_) => list(shared).await,
        Thread::Show(args) => show(shared, args).await,
        Thread::Rebuild(args) => {
            let rebuild = RebuildThreads { agent_id: shared.agent_id(), thread: args.thread };
            Ok(print_summary(shared, &call(shared, rebuild).await?))
        }
        Thread::Compact(args) => {
            let compact = CompactThreads { agent_id: shared.agent_id(), thread: args.thread };
            Ok(print_summary(shared, &call(shared, compact).await?))
        }
    }
}

async fn list(shared: &GlobalArgs) -> Result<ExitCode, CallError> {
    let told = call(shared, ListThreads { agent_id: shared.agent_id() }).await?;
    let threads = &told.data.threads;
    if shared.json {
        print_form(true, &told.data);
    } else if threads.is_empty() {
        ui::note("no threads yet; `kith ask \"hello\"` starts one");
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
        row.title.as_deref().unwrap_or("(no messages)").split_whitespace().collect();
    let (thread, session) = (row.thread_id.as_str(), short(row.session_id));
    format!("{thread:width$}  {updated:16}  {session}  {}", title.join(" "))
}

async fn show(shared: &GlobalArgs, args: ThreadShow) -> Result<ExitCode, CallError> {
    let (agent_id, thread) = (shared.agent_id(), args.thread);
    if shared.json {
        let list = ListMessages { agent_id, of: MessageSource::Thread(thread) };
        let told = call(shared, list).await?;
        ui::json(&told.data.messages);
        print_notes(&told.notes);
        return Ok(ExitCode::SUCCESS);
    }
    let listed = call(shared, ListThreadSessions { agent_id, thread }).await?;
    let (mut said, mut notes) = (Vec::new(), listed.notes);
    for id in listed.data.sessions {
        let told = call(shared, ShowSession { session: id.to_string() }).await?;
        let text = transcript::transcript(&told.data.header, &told.data.events, told.data.leaf);
        said.push(text.trim_end().to_owned());
        notes.extend(told.notes);
    }
    said.retain(|text| !text.is_empty());
    if !said.is_empty() {
        ui::line(&said.join("\n\n"));
    }
    notes.dedup();
    print_notes(&notes);
    Ok(ExitCode::SUCCESS)
}

fn print_summary(shared: &GlobalArgs, told: &Response<ThreadFilesSummary>) -> ExitCode {
    if shared.json {
        print_form(true, &told.data);
    } else {
        let (threads, messages) = (told.data.threads, told.data.messages);
        let threads =
            if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        let messages =
            if messages == 1 { "1 message".to_owned() } else { format!("{messages} messages") };
        ui::line(&format!("{threads}, {messages}"));
    }
    print_notes(&told.notes);
    ExitCode::SUCCESS
}
