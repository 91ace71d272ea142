//! `kith thread`: lists and shows threads, and rebuilds their files.

use std::process::ExitCode;

use jiff::tz::TimeZone;
use kith_host::call::Response;
use kith_host::calls::session::ShowSession;
use kith_host::calls::thread::{
    CompactThreads, ListMessages, ListThreadSessions, ListThreads, MessageSource, RebuildThreads,
    ThreadFilesSummary, ThreadList, ThreadRowView,
};
use kith_host::words::{local_zone, short};
use unicode_width::UnicodeWidthStr as _;

use super::{CommandResult, call, counted, local_time, padded, print_answer, print_notes};
use crate::program::args::{GlobalArgs, Thread};
use crate::program::{transcript, ui};

pub(crate) async fn run(shared: &GlobalArgs, command: Thread) -> CommandResult {
    match command {
        Thread::Ls => list(shared).await,
        Thread::Show { thread } => show(shared, thread).await,
        Thread::Rebuild { thread } => {
            let rebuild = RebuildThreads { agent_id: shared.agent_id(), thread };
            Ok(print_summary(shared, &call(shared, rebuild).await?))
        }
        Thread::Compact { thread } => {
            let compact = CompactThreads { agent_id: shared.agent_id(), thread };
            Ok(print_summary(shared, &call(shared, compact).await?))
        }
    }
}

async fn list(shared: &GlobalArgs) -> CommandResult {
    let told = call(shared, ListThreads { agent_id: shared.agent_id() }).await?;
    Ok(print_answer(shared, &told, |ThreadList { threads }| {
        if threads.is_empty() {
            return ui::note("no threads yet; `kith ask \"hello\"` starts one");
        }
        let zone = local_zone();
        let width = threads.iter().map(|it| it.thread_id.as_str().width()).max();
        let width = width.unwrap_or_default();
        ui::lines(threads.iter().map(|it| table_line(it, width, &zone)));
    }))
}

fn table_line(row: &ThreadRowView, width: usize, zone: &TimeZone) -> String {
    let updated = row.updated_at.as_ref().and_then(|time| local_time(time, zone));
    let updated = updated.unwrap_or_else(|| "-".to_owned());
    let title: Vec<&str> =
        row.title.as_deref().unwrap_or("(no messages)").split_whitespace().collect();
    let (thread, session) = (padded(row.thread_id.as_str(), width), short(row.session_id));
    format!("{thread}  {updated:16}  {session}  {}", title.join(" "))
}

async fn show(shared: &GlobalArgs, thread: String) -> CommandResult {
    let agent_id = shared.agent_id();
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
    print_answer(shared, told, |ThreadFilesSummary { threads, messages }| {
        ui::line(&format!("{}, {}", counted(*threads, "thread"), counted(*messages, "message")));
    })
}
