//! `kith session ls`: a row per session.

use std::path::PathBuf;

use jiff::tz::TimeZone;
use kith_host::calls::session::{ListSessions, SessionList, SessionRow, SessionState};
use kith_host::words::{local_zone, short};
use kith_vocab::ids::SessionId;
use serde::Serialize;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::super::session_name::current_session;
use super::super::{CommandResult, follow, house_of, local_time, padded, print_as};
use crate::program::args::GlobalArgs;
use crate::program::progress::ProgressLine;
use crate::program::ui::Emphasis;
use crate::program::{pager, ui};

/// The list as `--json` prints it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ListForm<'a> {
    #[serde(flatten)]
    list: &'a SessionList,
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<SessionId>,
}

/// What a table of sessions has in common.
struct Table {
    /// Whose a session is is worth a column only where there are several agents.
    agent_width: Option<usize>,
    place_width: usize,
    zone: TimeZone,
    /// `None` where a program reads the lines: without headings and marks, and with threads.
    for_people: Option<FolderNames>,
    current: Option<SessionId>,
}

/// How folders are shown to a person.
#[derive(Clone, Debug, Default)]
pub(crate) struct FolderNames {
    /// The user's own folder, which is shown as `~`.
    pub(crate) user_home: Option<PathBuf>,
}

pub(super) async fn run(shared: &GlobalArgs, limit: Option<u32>) -> CommandResult {
    let progress = ProgressLine::begin("Reading sessions");
    let query = ListSessions { agent_id: shared.agent_id() };
    let told = follow(shared, query, progress.sessions_read()).await;
    // Where no agent is meant, or the desk cannot be read, no session is marked.
    let current = current_session(shared).await.ok().flatten();
    drop(progress);
    let mut told = told?;
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let n_more = told.data.sessions.len().saturating_sub(limit);
    told.data.sessions.truncate(limit);
    let form = ListForm { list: &told.data, current };
    Ok(print_as(shared, &told, &form, |list| {
        if list.sessions.is_empty() {
            return ui::note("no sessions yet; `kith ask \"hello\"` starts one");
        }
        let user_home = || house_of(shared).ok()?.real_user_home();
        let folders = || FolderNames { user_home: user_home() };
        let for_people = ui::is_interactive().then(folders);
        let table = Table::new(&list.sessions, for_people, current);
        let lines = table.lines(&list.sessions);
        pager::show(&lines);
        if n_more > 0 {
            ui::note(&format!("{n_more} older not shown; raise `--limit` to see them"));
        }
    }))
}

const AGENT: &str = "AGENT";
const FOLDER: &str = "FOLDER";
/// Maximum width of a folder; of a longer one the end is shown.
const FOLDER_COLUMNS_MAX: usize = 40;

impl FolderNames {
    /// The folder of a session, or the thread of one that began elsewhere.
    pub(crate) fn place(&self, row: &SessionRow) -> String {
        let is_of_a_folder = thread(row).starts_with("cli:room:");
        let Some(cwd) = row.cwd.as_ref().filter(|_| is_of_a_folder) else {
            return thread(row).to_owned();
        };
        let home = self.user_home.as_ref().and_then(|home| home.to_str());
        let inside = home.and_then(|home| cwd.strip_prefix(home));
        let shown = match inside {
            Some("") => "~".to_owned(),
            Some(inside) if inside.starts_with('/') => format!("~{inside}"),
            _ => cwd.clone(),
        };
        let mut width = shown.width();
        let mut chars = shown.chars();
        while width > FOLDER_COLUMNS_MAX
            && let Some(ch) = chars.next()
        {
            width -= ch.width().unwrap_or_default();
        }
        if chars.as_str().len() == shown.len() { shown } else { format!("…{}", chars.as_str()) }
    }
}

impl Table {
    fn new(rows: &[SessionRow], people: Option<FolderNames>, current: Option<SessionId>) -> Table {
        let is_team = rows.iter().any(|row| rows.first().is_some_and(|it| agent(it) != agent(row)));
        let mut table = Table {
            agent_width: None,
            place_width: 0,
            zone: local_zone(),
            for_people: people,
            current,
        };
        let heading = |heading: &str| if table.for_people.is_some() { heading.len() } else { 0 };
        let widths = rows.iter().map(|row| (agent(row).width(), table.place(row).width()));
        let widest = widths.fold((heading(AGENT), heading(FOLDER)), |(agents, places), (a, p)| {
            (agents.max(a), places.max(p))
        });
        table.agent_width = is_team.then_some(widest.0);
        table.place_width = widest.1;
        table
    }

    /// The lines as they are printed: visible, and where colours are used with the current one standing out.
    fn lines(&self, rows: &[SessionRow]) -> Vec<String> {
        let headings = ["SESSION", "CHANGED", "STATE", AGENT, FOLDER, "TITLE"];
        let heading = self.for_people.is_some().then(|| self.columns(" ", headings));
        let heading = heading.map(|it| ui::emphasised(&it, Emphasis::Dim));
        let line = |row: &SessionRow| {
            if self.is_current(row) && self.for_people.is_some() {
                ui::emphasised(&self.line(row), Emphasis::Strong)
            } else {
                ui::visible(&self.line(row))
            }
        };
        heading.into_iter().chain(rows.iter().map(line)).collect()
    }

    fn is_current(&self, row: &SessionRow) -> bool {
        self.current == Some(row.session_id)
    }

    fn place(&self, row: &SessionRow) -> String {
        self.for_people.as_ref().map_or_else(|| thread(row).to_owned(), |it| it.place(row))
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
        let mark = if self.is_current(row) { "*" } else { " " };
        let id = short(row.session_id);
        self.columns(mark, [&id, &updated, state, agent(row), &self.place(row), &title])
    }

    fn columns(&self, mark: &str, columns: [&str; 6]) -> String {
        let [id, updated, state, agent, place, title] = columns;
        let mark = if self.for_people.is_some() { format!("{mark} ") } else { String::new() };
        let agent = self.agent_width.map_or_else(String::new, |width| padded(agent, width) + "  ");
        let place = padded(place, self.place_width);
        format!("{mark}{id:8}  {updated:16}  {state:9}  {agent}{place}  {title}")
    }
}

fn agent(row: &SessionRow) -> &str {
    row.agent_id.as_deref().unwrap_or("-")
}

fn thread(row: &SessionRow) -> &str {
    row.thread_id.as_ref().map_or("-", |thread| thread.as_str())
}
