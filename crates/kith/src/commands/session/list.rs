//! `kith session ls`: a row per session.

use jiff::tz::TimeZone;
use kith_host::calls::session::{ListSessions, SessionList, SessionRow, SessionState};
use kith_host::words::short;
use kith_vocab::ids::SessionId;
use serde::Serialize;

use super::super::session_name::current_session;
use super::super::{CommandResult, call, local_time, print_as};
use crate::program::args::GlobalArgs;
use crate::program::ui;

/// The list as `--json` prints it.
#[derive(Serialize)]
struct ListForm<'a> {
    #[serde(flatten)]
    list: &'a SessionList,
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<SessionId>,
}

/// What a table of sessions has in common.
struct Table {
    /// Whose a session is is worth a column only where there are several agents.
    agent_width: Option<usize>,
    thread_width: usize,
    zone: TimeZone,
    /// Headings and marks are for people; programs read the lines without them.
    is_for_people: bool,
    current: Option<SessionId>,
}

pub(super) async fn run(shared: &GlobalArgs, limit: Option<u32>) -> CommandResult {
    let mut told = call(shared, ListSessions { agent_id: shared.agent_id() }).await?;
    // Where no agent is meant, or the desk cannot be read, no session is marked.
    let current = current_session(shared).await.ok().flatten();
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let n_more = told.data.sessions.len().saturating_sub(limit);
    told.data.sessions.truncate(limit);
    let form = ListForm { list: &told.data, current };
    Ok(print_as(shared, &told, &form, |list| {
        let Some(first) = list.sessions.first() else {
            return ui::note("no sessions yet; `kith ask \"hello\"` starts one");
        };
        let width = |of: fn(&SessionRow) -> &str| {
            list.sessions.iter().map(|row| of(row).chars().count()).max().unwrap_or_default()
        };
        let is_team = list.sessions.iter().any(|row| agent(row) != agent(first));
        let is_for_people = ui::is_interactive();
        let beside = |heading: &str| if is_for_people { heading.len() } else { 0 };
        let table = Table {
            agent_width: is_team.then(|| width(agent).max(beside(AGENT))),
            thread_width: width(thread).max(beside(THREAD)),
            zone: TimeZone::system(),
            is_for_people,
            current,
        };
        ui::lines(table.heading().into_iter().chain(list.sessions.iter().map(|it| table.line(it))));
        if n_more > 0 {
            ui::note(&format!("{n_more} older not shown; raise `--limit` to see them"));
        }
    }))
}

const AGENT: &str = "AGENT";
const THREAD: &str = "THREAD";

impl Table {
    fn heading(&self) -> Option<String> {
        let headings = ["SESSION", "CHANGED", "STATE", AGENT, THREAD, "TITLE"];
        self.is_for_people.then(|| self.columns(" ", headings))
    }

    fn line(&self, row: &SessionRow) -> String {
        let state = match row.state {
            SessionState::Idle => "idle",
            SessionState::Running => "running",
            SessionState::Waiting => "waiting",
            SessionState::ReadOnly => "read-only",
        };
        let updated = row.updated_at.as_ref().and_then(|time| local_time(time, &self.zone));
        let updated = updated.unwrap_or_else(|| "-".to_owned());
        let untitled = if row.thread_id.is_none() { "(unreadable)" } else { "(no messages)" };
        let title = row.title.as_deref().unwrap_or(untitled);
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let mark = if self.current == Some(row.session_id) { "*" } else { " " };
        let id = short(row.session_id);
        self.columns(mark, [&id, &updated, state, agent(row), thread(row), &title])
    }

    fn columns(&self, mark: &str, columns: [&str; 6]) -> String {
        let [id, updated, state, agent, thread, title] = columns;
        let mark = if self.is_for_people { format!("{mark} ") } else { String::new() };
        let agent = self.agent_width.map_or_else(String::new, |width| format!("{agent:width$}  "));
        let width = self.thread_width;
        format!("{mark}{id:8}  {updated:16}  {state:9}  {agent}{thread:width$}  {title}")
    }
}

fn agent(row: &SessionRow) -> &str {
    row.agent_id.as_deref().unwrap_or("-")
}

fn thread(row: &SessionRow) -> &str {
    row.thread_id.as_ref().map_or("-", |thread| thread.as_str())
}
