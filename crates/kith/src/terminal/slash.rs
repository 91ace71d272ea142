//! Commands such as `/new`: each makes calls as the commands of the program do.

use std::sync::Arc;

use kith_host::calls::cost::{CostGroup, SumCosts};
use kith_host::calls::message::{MessageTarget, RetryTurn};
use kith_host::calls::models::ListModels;
use kith_host::calls::priming::ListScripts;
use kith_host::calls::queue::{EditQueue, QueueChange, TakeNext};
use kith_host::calls::session::{
    CompactSession, CreateDialog, ListSessions, SessionRow, ShowSession,
};
use kith_host::calls::tree::{BranchSession, ShowTree};
use kith_host::calls::why::ExplainRequest;
use kith_host::client::Client;
use kith_host::clock::SystemClock;
use kith_host::error::CallError;
use kith_host::words::{short, short_event};
use kith_vocab::clock::Clock;
use kith_vocab::event::control::Queue;
use kith_vocab::header::Priming;
use kith_vocab::ids::{EventId, SessionId};
use tokio_util::sync::CancellationToken;

use super::conversation::{QueuedText, remark};
use super::styled::{Line, Style};
use super::words::{ScreenLanguage, ScreenText, commands};
use super::{Incoming, TerminalChat};
use crate::program::commands::{cost, model, why};

/// Rows of a list in the conversation; the commands of the program show all.
const ROWS_MAX: usize = 12;

/// `/word`, or `/word …` where there is such a command: other lines that begin with a slash are said.
pub(super) fn is_command(text: &str) -> bool {
    let text = text.trim();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let Some(word) = first.strip_prefix('/').filter(|word| !word.is_empty()) else { return false };
    let all = commands(ScreenLanguage::English);
    let is_known = word == "exit" || all.iter().any(|(name, _)| *name == word);
    let is_word = word.chars().all(|ch| ch.is_ascii_lowercase() || ch == '-');
    is_known || (is_word && rest.is_empty())
}

pub(super) fn run(chat: &mut TerminalChat, text: &str) {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim().to_owned();
    let echo = Line::styled(text, Style::DIM);
    chat.printed.extend(echo.wrapped(chat.columns, 2));
    match name {
        "/quit" | "/exit" => chat.is_over = true,
        "/help" => help(chat),
        "/new" => begin_new(chat),
        "/sessions" => list_sessions(chat),
        "/resume" if rest.is_empty() => list_sessions(chat),
        "/resume" => open(chat, rest),
        "/branch" => branch(chat, rest),
        "/retry" => retry(chat),
        "/model" => choose_model(chat, rest),
        "/why" => with_session(chat, move |client, session| async move {
            let call = ExplainRequest { session, turn: None, with_body: false };
            Ok(plain(why::lines(&client.call(call).await?.data)))
        }),
        "/cost" => chat.spawn(move |client| async move {
            let table = client.call(SumCosts { by: CostGroup::Model }).await?.data;
            Ok(plain(cost::lines(&table)))
        }),
        "/queue" => queue(chat, &rest),
        "/compact" => {
            let model = chat.model.clone();
            with_session(chat, move |client, session| async move {
                let compact_id = EventId::from_uuid(SystemClock.new_id());
                let call = CompactSession { session, compact_id, model };
                let done = client.follow(call, drop, CancellationToken::new()).await?.data;
                let (before, after) = (done.tokens_before, done.tokens_after);
                Ok(plain([format!("~{before} -> ~{after} tokens")]))
            });
        }
        "/prime" => prime(chat, rest),
        _ => {
            let known = commands(chat.language);
            let known: Vec<String> = known.iter().map(|(name, _)| format!("/{name}")).collect();
            let line = remark(&format!(
                "{} {name}: {}",
                chat.language.say(ScreenText::UnknownCommand),
                known.join(" ")
            ));
            chat.printed.extend(line.wrapped(chat.columns, 2));
        }
    }
}

fn plain(lines: impl IntoIterator<Item = String>) -> Vec<Line> {
    lines.into_iter().flat_map(|line| line.lines().map(Line::plain).collect::<Vec<_>>()).collect()
}

/// Makes calls about the session that is shown.
fn with_session<F>(chat: &mut TerminalChat, work: impl FnOnce(Arc<Client>, String) -> F)
where
    F: Future<Output = Result<Vec<Line>, CallError>> + Send + 'static,
{
    if let Some(session) = chat.conversation.session {
        chat.spawn(|client| work(client, session.to_string()));
    } else {
        let line = remark(chat.language.say(ScreenText::NothingSaid));
        chat.printed.push(line);
    }
}

fn help(chat: &mut TerminalChat) {
    for (name, about) in commands(chat.language) {
        chat.printed.push(Line::plain(&format!("  /{name:<10} {about}")));
    }
    for keys in [ScreenText::KeysIdle, ScreenText::KeysBusy, ScreenText::KeysMore] {
        let line = Line::styled(chat.language.say(keys), Style::DIM);
        chat.printed.extend(line.wrapped(chat.columns, 2));
    }
}

/// The person moves on: a turn that still runs is stopped.
fn begin_new(chat: &mut TerminalChat) {
    chat.stop_turn();
    if let MessageTarget::Session(_) = chat.target {
        chat.follow_thread();
    }
    chat.target = MessageTarget::New;
    let line = remark(chat.language.say(ScreenText::NewNext));
    chat.printed.push(line);
}

fn list_sessions(chat: &mut TerminalChat) {
    let agent_id = Some(chat.agent_id.clone());
    chat.spawn(move |client| async move {
        let sessions = client.call(ListSessions { agent_id }).await?.data.sessions;
        Ok(session_lines(&sessions))
    });
}

fn session_lines(sessions: &[SessionRow]) -> Vec<Line> {
    let n_more = sessions.len().saturating_sub(ROWS_MAX);
    let mut lines: Vec<Line> = Vec::new();
    for row in sessions.iter().take(ROWS_MAX) {
        let title = row.title.as_deref().unwrap_or_default();
        let time = row.updated_at.as_deref().and_then(|it| it.get(..16)).unwrap_or_default();
        let mut line = Line::styled(&format!("  {}", short(row.session_id)), Style::BOLD);
        line.push(&format!("  {}  {title}", time.replace('T', " ")), Style::PLAIN);
        lines.push(line);
    }
    let more =
        if n_more > 0 { format!(" ({n_more} more: `kith session ls`)") } else { String::new() };
    lines.push(Line::styled(&format!("  /resume ID{more}"), Style::DIM));
    lines
}

fn open(chat: &mut TerminalChat, session: String) {
    let client = Arc::clone(&chat.client);
    chat.spawn_any(async move {
        let view = client.call(ShowSession { session }).await?.data;
        Ok(Incoming::Opened(Box::new(view)))
    });
}

fn branch(chat: &mut TerminalChat, to: String) {
    with_session(chat, move |client, session| async move {
        if to.is_empty() {
            let tree = client.call(ShowTree { session }).await?.data;
            let said = tree.nodes.iter().filter(|node| node.on_path && node.kind == "user_message");
            let said: Vec<_> = said.collect();
            let first = said.len().saturating_sub(ROWS_MAX);
            let row = |node: &&kith_host::calls::tree::TreeNode| {
                format!("  {}  {}", short_event(node.event_id), node.text)
            };
            let lines = said[first..].iter().map(row);
            return Ok(plain(lines.chain(["  /branch ID".to_owned()])));
        }
        let branch_id = EventId::from_uuid(SystemClock.new_id());
        let call = BranchSession { session, to, expected_leaf: None, branch_id };
        let place = client.call(call).await?.data;
        let leaf =
            place.leaf.map_or_else(String::new, |leaf| format!(" after {}", short_event(leaf)));
        Ok(plain([format!("(the conversation goes on{leaf})")]))
    });
}

fn retry(chat: &mut TerminalChat) {
    with_session(chat, move |client, session| async move {
        let retry_id = EventId::from_uuid(SystemClock.new_id());
        let call = RetryTurn { session, retry_id };
        client.follow(call, drop, CancellationToken::new()).await?;
        Ok(Vec::new())
    });
}

fn choose_model(chat: &mut TerminalChat, name: String) {
    if name.is_empty() {
        let chosen = chat.model.as_ref();
        let here =
            chosen.map(|name| format!("{}: {name}", chat.language.say(ScreenText::ChosenHere)));
        return chat.spawn(move |client| async move {
            let mut lines = model::lines(&client.call(ListModels {}).await?.data);
            if let Some(here) = here {
                // What the settings choose does not count here.
                lines.retain(|line| !line.starts_with("Uses "));
                lines.push(here);
            }
            Ok(plain(lines))
        });
    }
    if name.contains(char::is_whitespace) {
        return chat.tell(&CallError::invalid(format!("`{name}` is not the name of a model")));
    }
    let chosen = chat.settings.current().and_then(|settings| {
        let is_listed = name == "demo" || settings.models.named.contains_key(&name);
        Ok((chat.models.choose(Some(&name), &settings)?, is_listed))
    });
    match chosen {
        Ok((chosen, is_listed)) => {
            let choice = chosen.provider.choice();
            chat.conversation.set_context_window(choice.context_window);
            let mut told = format!("{} / {}", choice.provider, choice.model);
            if !is_listed {
                told = format!("{told}: {}", chat.language.say(ScreenText::SentByName));
            }
            chat.printed.extend(remark(&told).wrapped(chat.columns, 2));
            chat.model = Some(name);
        }
        Err(error) => chat.tell(&error),
    }
}

fn queue(chat: &mut TerminalChat, rest: &str) {
    let number = |word: &str| word.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    match rest.split_once(' ').unwrap_or((rest, "")) {
        ("go", _) => with_session(chat, move |client, session| async move {
            let take_id = EventId::from_uuid(SystemClock.new_id());
            client.call(TakeNext { session, take_id }).await?;
            Ok(Vec::new())
        }),
        (what @ ("rm" | "edit"), n) => {
            let item = number(n).and_then(|n| chat.conversation.follow_ups.get(n).cloned());
            match (chat.conversation.session, item) {
                (Some(session), Some(item)) if what == "edit" => chat.take_back(session, item),
                (Some(_), Some(item)) => remove(chat, item),
                _ => {
                    let is_empty = chat.conversation.follow_ups.is_empty();
                    let why =
                        if is_empty { ScreenText::NothingWaits } else { ScreenText::WhichOne };
                    chat.printed.push(remark(chat.language.say(why)));
                }
            }
        }
        _ => {
            let rows = chat.conversation.follow_ups.iter().enumerate();
            let mut lines: Vec<String> =
                rows.map(|(n, item)| format!("  {} {}", n + 1, item.text)).collect();
            if lines.is_empty() {
                lines.push(format!("  {}", chat.language.say(ScreenText::NothingWaits)));
            }
            lines.push("  /queue rm N · /queue edit N · /queue go".to_owned());
            chat.printed.extend(plain(lines));
        }
    }
}

fn remove(chat: &mut TerminalChat, item: QueuedText) {
    with_session(chat, move |client, session| async move {
        let edit_id = EventId::from_uuid(SystemClock.new_id());
        let change = QueueChange::Remove { item_id: item.id, updated_at: Some(item.updated_at) };
        client.call(EditQueue { session, edit_id, queue: Queue::FollowUp, change }).await?;
        Ok(Vec::new())
    });
}

fn prime(chat: &mut TerminalChat, script: String) {
    let agent_id = Some(chat.agent_id.clone());
    if script.is_empty() {
        let none = chat.language.say(ScreenText::NoScripts);
        return chat.spawn(move |client| async move {
            let scripts = client.call(ListScripts { agent_id, query: None }).await?.data.scripts;
            let row = |row: &kith_host::calls::priming::ScriptRow| {
                let title = row.title.as_deref().unwrap_or_default();
                format!("  {}  {title}", row.script_ref.as_deref().unwrap_or(&row.path))
            };
            if scripts.is_empty() {
                return Ok(plain([format!("  {none}")]));
            }
            Ok(plain(scripts.iter().map(row).chain(["  /prime NAME".to_owned()])))
        });
    }
    let call = CreateDialog {
        session_id: SessionId::from_uuid(SystemClock.new_id()),
        agent_id,
        thread_id: chat.thread_id.clone(),
        cwd: chat.cwd.display().to_string(),
        priming: Some(Priming { script_refs: vec![script], show_in_ui: true }),
    };
    let client = Arc::clone(&chat.client);
    chat.spawn_any(async move {
        let session = call.session_id.to_string();
        client.call(call).await?;
        let view = client.call(ShowSession { session }).await?.data;
        Ok(Incoming::Opened(Box::new(view)))
    });
}
