//! Commands such as `/new`: each makes calls as the commands of the program do.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kith_host::calls::message::{MessageTarget, RetryTurn};
use kith_host::calls::queue::{EditQueue, QueueChange, TakeNext};
use kith_host::calls::session::{CompactSession, CreateDialog, ReadBlob, SessionView, ShowSession};
use kith_host::calls::tree::BranchSession;
use kith_host::calls::why::ExplainRequest;
use kith_host::client::Client;
use kith_host::clock::SystemClock;
use kith_host::error::CallError;
use kith_host::words::short_event;
use kith_vocab::block::plain_text;
use kith_vocab::clock::Clock;
use kith_vocab::event::control::Queue;
use kith_vocab::event::{Body, Event};
use kith_vocab::header::Priming;
use kith_vocab::ids::{EventId, SessionId, ThreadId};
use tokio_util::sync::CancellationToken;

use super::answers::{cost_answer, why_lines};
use super::attached::without_attached;
use super::conversation::{DoneCall, OpenedOutput, QueuedText, remark};
use super::lists::ListOwner;
use super::open_block::OpenBlock;
use super::picker::{PickEntry, PickList, Picker};
use super::styled::{Line, Style};
use super::words::{ScreenLanguage, ScreenText, commands};
use super::{Incoming, TerminalChat};

/// Bytes of a call's whole output that are printed when it is opened.
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// `/word`, or `/word …` where there is such a command: other lines that begin with a slash are said.
pub(crate) fn is_command(text: &str) -> bool {
    let text = text.trim();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let Some(word) = first.strip_prefix('/').filter(|word| !word.is_empty()) else { return false };
    let all = commands(ScreenLanguage::English);
    let is_known = ["exit", "?"].contains(&word) || all.iter().any(|(name, _)| *name == word);
    let is_word = word.chars().all(|ch| ch.is_ascii_lowercase() || ch == '-');
    is_known || (is_word && rest.is_empty())
}

/// A message of this word alone is meant for the program, as in every other one.
pub(crate) fn is_farewell(text: &str) -> bool {
    ["exit", "quit", ":q"].contains(&text.trim())
}

/// The list that the argument of a command is chosen from.
pub(crate) fn list_of(command: &str) -> Option<PickList> {
    Some(match command {
        "resume" | "sessions" => PickList::Sessions,
        "branch" => PickList::Messages,
        "model" => PickList::Models,
        "prime" => PickList::Scripts,
        _ => return None,
    })
}

pub(super) fn run(chat: &mut TerminalChat, text: &str) {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim().to_owned();
    let echo = Line::styled(text, Style::DIM);
    chat.printed.push(Line::default());
    chat.printed.extend(echo.wrapped(chat.columns, 2));
    match name {
        "/quit" | "/exit" => chat.is_over = true,
        "/help" | "/?" => help(chat),
        "/new" => begin_new(chat),
        "/branch" if chat.conversation.session.is_none() => {
            chat.remark(ScreenText::NothingSaid);
        }
        "/resume" | "/sessions" | "/branch" | "/model" | "/prime" => {
            let Some(list) = list_of(name.trim_start_matches('/')) else { return };
            if rest.is_empty() { pick(chat, list) } else { picked(chat, list, rest) }
        }
        "/retry" => retry(chat),
        "/why" => {
            let language = chat.language;
            with_session(chat, move |client, session| async move {
                let call = ExplainRequest { session, turn: None, request: None, with_body: false };
                Ok(why_lines(language, &client.call(call).await?.data))
            });
        }
        "/cost" => {
            let language = chat.language;
            let session = chat.conversation.session.map(|it| it.to_string());
            chat.spawn(move |client| async move { cost_answer(&client, language, session).await });
        }
        "/queue" => queue(chat, &rest),
        "/compact" => compact(chat),
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

/// Opens the list from which the person chooses.
fn pick(chat: &mut TerminalChat, list: PickList) {
    let (owner, client, language) = (chat.list_owner(), Arc::clone(&chat.client), chat.language);
    chat.spawn_any(async move {
        let entries = owner.entries(&client, list).await?;
        if entries.is_empty() {
            let why = match list {
                PickList::Scripts => ScreenText::NoScripts,
                _ => ScreenText::NothingSaid,
            };
            return Ok(Incoming::Lines(vec![remark(language.say(why))]));
        }
        Ok(Incoming::Block(Box::new(OpenBlock::Picker(Picker::new(language, list, entries)))))
    });
}

/// An entry of a list was chosen, or named.
pub(super) fn picked(chat: &mut TerminalChat, list: PickList, value: String) {
    match list {
        PickList::Sessions => open(chat, value),
        PickList::Messages => branch(chat, value),
        PickList::Models => choose_model(chat, value),
        PickList::Scripts => prime(chat, value),
        PickList::Calls => {
            let call =
                value.parse().ok().and_then(|n| chat.conversation.done_calls().nth(n).cloned());
            if let Some(call) = call {
                open_call(chat, call);
            }
        }
    }
}

/// Ctrl-O: the whole input and output of a call. Where there are several, which one is asked first.
pub(super) fn show_call(chat: &mut TerminalChat) {
    let titles: Vec<String> =
        chat.conversation.done_calls().map(|call| call.title.clone()).collect();
    match titles.len() {
        0 => chat.remark(ScreenText::NoCall),
        1 => picked(chat, PickList::Calls, "0".to_owned()),
        _ => {
            let entry = |(n, about): (usize, String)| PickEntry {
                value: n.to_string(),
                about,
                is_current: false,
            };
            let entries = titles.into_iter().enumerate().map(entry).collect();
            let picker = Picker::new(chat.language, PickList::Calls, entries);
            chat.block = Some(OpenBlock::Picker(picker));
        }
    }
}

fn open_call(chat: &mut TerminalChat, call: DoneCall) {
    let (language, columns) = (chat.language, chat.columns);
    let Some(blob) = call.full_output.clone() else {
        let lines = call.lines(None, language, columns);
        return chat.printed.extend(lines);
    };
    chat.spawn(move |client| async move {
        let whole = whole_output(&client, blob).await?;
        Ok(call.lines(Some(&whole), language, columns))
    });
}

/// A blob as text, up to a limit.
async fn whole_output(client: &Client, sha256: String) -> Result<OpenedOutput, CallError> {
    let (mut bytes, mut offset, mut n_bytes) = (Vec::new(), Some(0), 0);
    while let Some(at) = offset
        && bytes.len() < OUTPUT_BYTES_MAX
    {
        let page = client.call(ReadBlob { sha256: sha256.clone(), offset: at }).await?.data;
        bytes.extend(STANDARD.decode(&page.data).map_err(CallError::filesystem)?);
        (offset, n_bytes) = (page.next_offset, page.bytes);
    }
    Ok(OpenedOutput::of(&bytes, n_bytes, OUTPUT_BYTES_MAX))
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
        chat.remark(ScreenText::NothingSaid);
    }
}

fn help(chat: &mut TerminalChat) {
    for (name, about) in commands(chat.language) {
        let line = Line::plain(&format!("  /{name:<10} {about}"));
        chat.printed.extend(line.wrapped(chat.columns, 4));
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
    chat.remark(ScreenText::NewNext);
}

fn open(chat: &mut TerminalChat, session: String) {
    let client = Arc::clone(&chat.client);
    chat.spawn_any(async move {
        let view = client.call(ShowSession { session }).await?.data;
        Ok(Incoming::Opened(Box::new(view)))
    });
}

/// Goes back to before a message, which comes into the input; what was said since stays in the log.
fn branch(chat: &mut TerminalChat, to: String) {
    let Some(session) = chat.conversation.session.map(|id| id.to_string()) else {
        return chat.remark(ScreenText::NothingSaid);
    };
    let (language, client) = (chat.language, Arc::clone(&chat.client));
    chat.spawn_any(async move {
        Ok(if let Some(text) = branch_before(&client, session, &to).await? {
            Incoming::TakenBack(Some(remark(language.say(ScreenText::GoesOnBefore))), text)
        } else {
            let told = format!("{} {to}", language.say(ScreenText::GoesOnAfter));
            Incoming::Lines(vec![remark(&told)])
        })
    });
}

/// Goes back to before a message and gives its text; to after any other event.
pub(crate) async fn branch_before(
    client: &Client,
    session: String,
    to: &str,
) -> Result<Option<String>, CallError> {
    let view = client.call(ShowSession { session: session.clone() }).await?.data;
    let is_named = |event: &&Event| short_event(event.id) == to || event.id.to_string() == to;
    let said = view.events.iter().find(is_named).and_then(|event| match &event.body {
        Body::UserMessage(it) => Some((event.parent_id, plain_text(&it.message.content))),
        _ => None,
    });
    let branch_id = EventId::from_uuid(SystemClock.new_id());
    let before = said
        .as_ref()
        .map(|(parent, _)| parent.map_or_else(|| "start".to_owned(), |parent| parent.to_string()));
    let place = before.unwrap_or_else(|| to.to_owned());
    client.call(BranchSession { session, to: place, expected_leaf: None, branch_id }).await?;
    Ok(said.map(|(_, text)| without_attached(&text).0.to_owned()))
}

fn retry(chat: &mut TerminalChat) {
    with_session(chat, move |client, session| async move {
        let retry_id = EventId::from_uuid(SystemClock.new_id());
        let call = RetryTurn { session, retry_id };
        client.follow(call, drop, CancellationToken::new()).await?;
        Ok(Vec::new())
    });
}

fn compact(chat: &mut TerminalChat) {
    let model = chat.model.clone();
    with_session(chat, move |client, session| async move {
        let compact_id = EventId::from_uuid(SystemClock.new_id());
        let call = CompactSession { session, compact_id, model };
        // The event in the log tells what came of it, here and in other terminals.
        client.follow(call, drop, CancellationToken::new()).await?;
        Ok(Vec::new())
    });
}

fn choose_model(chat: &mut TerminalChat, name: String) {
    if name.contains(char::is_whitespace) {
        let why = format!("`{name}` {}", chat.language.say(ScreenText::NotAModel));
        return chat.refuse(&why);
    }
    if chat.client.is_remote() {
        chat.model = Some(name);
        return chat.ask_for_host_model();
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
    let number = |word: &str| word.trim().parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    match rest.split_once(' ').unwrap_or((rest, "")) {
        ("go", _) if chat.conversation.follow_ups.is_empty() => {
            chat.remark(ScreenText::NothingWaits);
        }
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
                    chat.remark(why);
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
            for line in plain(lines) {
                chat.printed.extend(line.wrapped(chat.columns, 4));
            }
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
    let (agent_id, thread_id) = (chat.agent_id.clone(), chat.thread_id.clone());
    let (cwd, client) = (chat.cwd.display().to_string(), Arc::clone(&chat.client));
    chat.spawn_any(async move {
        let view = start_primed(&client, agent_id, thread_id, cwd, script).await?;
        Ok(Incoming::Opened(Box::new(view)))
    });
}

/// Starts a session of the thread with a priming script.
pub(crate) async fn start_primed(
    client: &Client,
    agent_id: String,
    thread_id: ThreadId,
    cwd: String,
    script: String,
) -> Result<SessionView, CallError> {
    let session_id = SessionId::from_uuid(SystemClock.new_id());
    let priming = Some(Priming { script_refs: vec![script], show_in_ui: true });
    let call = CreateDialog {
        session_id: Some(session_id),
        agent_id: Some(agent_id),
        thread_id: Some(thread_id),
        cwd: Some(cwd),
        priming,
    };
    client.call(call).await?;
    Ok(client.call(ShowSession { session: session_id.to_string() }).await?.data)
}

impl TerminalChat {
    pub(super) fn list_owner(&self) -> ListOwner {
        ListOwner {
            language: self.language,
            agent_id: self.agent_id.clone(),
            session: self.conversation.session,
            model: self.model.clone(),
            folders: self.folders.clone(),
        }
    }

    pub(super) fn remark(&mut self, text: ScreenText) {
        let line = remark(self.language.say(text));
        self.printed.extend(line.wrapped(self.columns, 2));
    }
}
