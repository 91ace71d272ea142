//! `kith queue` and `kith steer`: messages for a session in which a turn runs.

use kith_host::calls::queue::{
    EditQueue, ListQueue, QueueChange, QueuedMessage, TakeNext, WaitingMessages,
};
use kith_host::clock::SystemClock;
use kith_host::error::{CallError, ErrorCode};
use kith_host::words::short;
use kith_vocab::clock::Clock as _;
use kith_vocab::event::control::Queue;
use kith_vocab::ids::EventId;
use kith_vocab::ingress::RunningBehavior;

use super::ask::{self, message_text};
use super::session_name::named_session;
use super::{CommandResult, call, print_answer};
use crate::program::args::queue::{QueueCommand, Steer};
use crate::program::args::{Ask, GlobalArgs, ModelArg};
use crate::program::branches::fitted;
use crate::program::ui;

/// Maximum width of a waiting message in a list.
const SHOWN_COLUMNS_MAX: usize = 70;

pub(crate) async fn steer(shared: &GlobalArgs, model: ModelArg, args: Steer) -> CommandResult {
    send(shared, model, args, RunningBehavior::Steer).await
}

pub(crate) async fn run(
    shared: &GlobalArgs,
    model: ModelArg,
    command: QueueCommand,
) -> CommandResult {
    match command {
        QueueCommand::Ls { session } => list(shared, session).await,
        QueueCommand::Add(args) => send(shared, model, args, RunningBehavior::FollowUp).await,
        QueueCommand::Edit { item, text, session } => {
            let text = message_text(&text)?;
            let change = |item: &QueuedMessage| QueueChange::Replace {
                item_id: item.id.clone(),
                updated_at: item.updated_at,
                text,
            };
            edit(shared, session, &item, change).await
        }
        QueueCommand::Rm { item, session } => {
            let change = |item: &QueuedMessage| QueueChange::Remove {
                item_id: item.id.clone(),
                updated_at: Some(item.updated_at),
            };
            edit(shared, session, &item, change).await
        }
        QueueCommand::Move { item, to, session } => {
            let change = |item: &QueuedMessage| QueueChange::Move {
                item_id: item.id.clone(),
                updated_at: Some(item.updated_at),
                to: to.saturating_sub(1),
            };
            edit(shared, session, &item, change).await
        }
        QueueCommand::Go { session } => go_on(shared, session).await,
    }
}

async fn send(
    shared: &GlobalArgs,
    model: ModelArg,
    args: Steer,
    running_behavior: RunningBehavior,
) -> CommandResult {
    let Steer { text, session, stream_json, model: own_model } = args;
    let ask = Ask { text, session, stream_json, model: own_model, ..Ask::default() };
    ask::run_as(shared, model, ask, running_behavior).await
}

async fn list(shared: &GlobalArgs, session: Option<String>) -> CommandResult {
    let session = named_session(shared, session).await?;
    let told = call(shared, ListQueue { session }).await?;
    Ok(print_answer(shared, &told, |waiting| {
        if waiting.steers.is_empty() && waiting.follow_ups.is_empty() {
            ui::note(&format!("nothing waits in session {}", short(waiting.session_id)));
        }
        for (number, (queue, item)) in (1..).zip(items(waiting)) {
            let kind = if queue == Queue::Steer { "steer  " } else { "message" };
            let text = item.content.lines().next().unwrap_or_default();
            ui::line(&format!("{number:>3}  {kind}  {}", fitted(text, SHOWN_COLUMNS_MAX)));
        }
        if waiting.is_held && !waiting.follow_ups.is_empty() {
            ui::note(
                "the last turn did not end well, so they wait until your next message is answered; \
                 `kith queue go` continues now",
            );
        }
    }))
}

async fn edit(
    shared: &GlobalArgs,
    session: Option<String>,
    named: &str,
    change: impl FnOnce(&QueuedMessage) -> QueueChange,
) -> CommandResult {
    let session = named_session(shared, session).await?;
    let waiting = call(shared, ListQueue { session: session.clone() }).await?.data;
    let (queue, item) = find(&waiting, named)?;
    let change = change(item);
    let edit_id = EventId::from_uuid(SystemClock.new_id());
    let told = call(shared, EditQueue { session, edit_id, queue, change }).await?;
    Ok(print_answer(shared, &told, |view| {
        let n = view.queue.len();
        let noun = if n == 1 { "message waits" } else { "messages wait" };
        ui::line(&format!("{n} {noun} in session {}", short(view.session_id)));
    }))
}

async fn go_on(shared: &GlobalArgs, session: Option<String>) -> CommandResult {
    let session = named_session(shared, session).await?;
    let take_id = EventId::from_uuid(SystemClock.new_id());
    let told = call(shared, TakeNext { session, take_id }).await?;
    Ok(print_answer(shared, &told, |taken| {
        let id = short(taken.session_id);
        if taken.has_begun {
            ui::line(&format!("the next message of session {id} is being answered"));
        } else {
            ui::note(&format!("nothing waits in session {id}"));
        }
    }))
}

/// The waiting messages, in the order in which they are answered.
fn items(waiting: &WaitingMessages) -> impl Iterator<Item = (Queue, &QueuedMessage)> {
    let steers = waiting.steers.iter().map(|item| (Queue::Steer, item));
    steers.chain(waiting.follow_ups.iter().map(|item| (Queue::FollowUp, item)))
}

fn find<'a>(
    waiting: &'a WaitingMessages,
    named: &str,
) -> Result<(Queue, &'a QueuedMessage), CallError> {
    let by_number = named.parse::<usize>().ok().and_then(|n| items(waiting).nth(n.checked_sub(1)?));
    by_number.or_else(|| items(waiting).find(|(_, item)| item.id == named)).ok_or_else(|| {
        let message = format!("there is no waiting message `{named}`");
        CallError::request(ErrorCode::InvalidRequest, message)
            .hint("`kith queue ls` lists them with their numbers")
    })
}
