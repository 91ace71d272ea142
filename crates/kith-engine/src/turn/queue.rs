//! Messages that begin a turn, wait for one, or steer one.
//!
//! An item that becomes a message is written before its queue is written anew, in the same batch: a
//! reader that finds an item neither in the queue nor in a turn knows that it was removed.

use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::Body;
use kith_vocab::event::control::{Queue, QueueItem, QueueUpdate, TurnStarted};
use kith_vocab::event::messages::{
    Author, HarnessItem, HarnessItemEvent, HarnessKind, IngressRef, MessageContent, Origin, Trust,
    UserMessage, Visibility,
};
use kith_vocab::event::models::ModelRef;
use kith_vocab::ids::EventId;
use kith_vocab::ingress::{IngressContent, IngressEvent, RunningBehavior};
use kith_vocab::provider::{ModelChoice, Models};

use super::{TurnSetup, ask};
use crate::session::{EventSource, Session};

/// A message that is about to begin a turn.
pub(crate) struct NewTurn {
    /// The id of the message's event, if it was fixed before.
    id: Option<EventId>,
    client_id: String,
    ingress_key: Option<String>,
    queue_item_id: Option<String>,
    content: Vec<Block>,
    author: Author,
    trust: Trust,
    ingress: Option<IngressRef>,
    models: Vec<ModelRef>,
    attended: bool,
    language: Option<String>,
}

impl From<IngressEvent> for NewTurn {
    fn from(event: IngressEvent) -> NewTurn {
        NewTurn {
            id: None,
            content: content_of(&event),
            client_id: event.client_id,
            ingress_key: Some(event.key),
            queue_item_id: None,
            author: event.author,
            trust: event.trust,
            ingress: Some(event.ingress),
            models: event.models,
            attended: event.attended,
            language: event.language,
        }
    }
}

impl From<QueueItem> for NewTurn {
    fn from(item: QueueItem) -> NewTurn {
        NewTurn {
            id: None,
            client_id: item.client_id,
            ingress_key: item.ingress_key,
            queue_item_id: Some(item.id),
            content: item.content,
            author: item.author,
            trust: item.trust,
            ingress: item.ingress,
            models: item.models,
            attended: item.attended,
            language: item.language,
        }
    }
}

impl NewTurn {
    pub(crate) fn with_id(self, id: Option<EventId>) -> NewTurn {
        NewTurn { id, ..self }
    }
}

/// Stages the message, the reminders that go with it, and the start of its turn.
pub(crate) fn begin(
    session: &mut Session,
    new: NewTurn,
    setup: &TurnSetup,
    models: &dyn Models,
    news: impl FnOnce(&Session) -> Vec<Body>,
) {
    let NewTurn {
        client_id, ingress_key, queue_item_id, models: recorded, attended, language, ..
    } = new;
    let message = UserMessage {
        message: MessageContent { content: new.content, meta: None },
        author: new.author,
        trust: new.trust,
        ingress: new.ingress,
        queue_item_id: queue_item_id.clone(),
        primed: None,
    };
    session.start_clock();
    let source =
        EventSource { id: new.id, client_id: &client_id, ingress_key: ingress_key.as_deref() };
    session.stage_from(source, Body::UserMessage(message));
    for body in news(session) {
        session.stage_news(body);
    }
    session.stage(turn_started(setup, models, recorded, attended, language));
    if let Some(item_id) = queue_item_id {
        remove_queued(session, EventSource::RUNTIME, |item| item.id == item_id);
    }
}

/// The start of a turn with these models. `language` is that of the client whose message it is.
pub(crate) fn turn_started(
    setup: &TurnSetup,
    models: &dyn Models,
    recorded: Vec<ModelRef>,
    attended: bool,
    language: Option<String>,
) -> Body {
    let chosen: Option<ModelChoice> =
        ask::find_model(models, &recorded).ok().map(|provider| provider.choice().clone());
    let named = || recorded.first().map(|model| model.model.clone()).unwrap_or_default();
    Body::TurnStarted(TurnStarted {
        limits: setup.limits,
        context_window: chosen.as_ref().map_or(0, |it| it.context_window),
        model: chosen.map_or_else(named, |it| it.model),
        language: setup.language.clone().or(language).unwrap_or_else(|| "en".to_owned()),
        attended,
        models: recorded,
    })
}

/// Puts messages that came while a turn is open into the queues they are meant for. A queue is
/// written once, however many messages join it: each time it is written whole.
pub(crate) fn queue_messages(session: &mut Session, events: &[IngressEvent]) {
    for (queue, behavior) in
        [(Queue::Steer, RunningBehavior::Steer), (Queue::FollowUp, RunningBehavior::FollowUp)]
    {
        let joining: Vec<&IngressEvent> =
            events.iter().filter(|event| event.running_behavior == behavior).collect();
        let Some(first) = joining.first() else { continue };
        let mut items = items_of(session, queue).to_vec();
        items.extend(joining.iter().map(|event| queue_item(session, event)));
        // With several, each item names its own row.
        let ingress_key = (joining.len() == 1).then_some(first.key.as_str());
        let source = EventSource { id: None, client_id: &first.client_id, ingress_key };
        session.stage_from(source, Body::QueueUpdate(QueueUpdate { queue, items }));
    }
}

fn queue_item(session: &Session, event: &IngressEvent) -> QueueItem {
    let now = session.now();
    QueueItem {
        id: session.new_event_id().to_string(),
        content: content_of(event),
        created_at: now,
        updated_at: now,
        client_id: event.client_id.clone(),
        author: event.author.clone(),
        trust: event.trust,
        ingress: Some(event.ingress.clone()),
        ingress_key: Some(event.key.clone()),
        models: event.models.clone(),
        attended: event.attended,
        language: event.language.clone(),
    }
}

/// The steers become reminders: the model reads them with its next request. One that names other
/// models waits for a turn of its own.
pub(super) fn drain_steers(session: &mut Session) {
    let state = session.state();
    let may_read = |item: &QueueItem| state.turn.as_ref().is_some_and(|it| it.may_read(item));
    let (read, kept): (Vec<_>, Vec<_>) = state.steers.iter().cloned().partition(may_read);
    for item in read {
        let body = Body::HarnessItem(HarnessItemEvent {
            item: HarnessItem {
                kind: HarnessKind::Steer,
                origin: Origin::User,
                content: plain_text(&item.content),
                visibility: Visibility::Display,
                data: None,
            },
            trust: item.trust,
            author: Some(item.author),
            queue_item_id: Some(item.id),
            merged_into: session.state().merge_target(),
            primed: None,
        });
        let source = EventSource {
            id: None,
            client_id: &item.client_id,
            ingress_key: item.ingress_key.as_deref(),
        };
        session.stage_from(source, body);
    }
    session.stage(Body::QueueUpdate(QueueUpdate { queue: Queue::Steer, items: kept }));
}

/// Removes the items that fit from the queue that has some. False if none does.
pub(crate) fn remove_queued(
    session: &mut Session,
    source: EventSource<'_>,
    fits: impl Fn(&QueueItem) -> bool,
) -> bool {
    for queue in [Queue::Steer, Queue::FollowUp] {
        let mut items = items_of(session, queue).to_vec();
        let n_before = items.len();
        items.retain(|item| !fits(item));
        if items.len() < n_before {
            session.stage_from(source, Body::QueueUpdate(QueueUpdate { queue, items }));
            return true;
        }
    }
    false
}

pub(crate) fn items_of(session: &Session, queue: Queue) -> &[QueueItem] {
    match queue {
        Queue::FollowUp => &session.state().follow_ups,
        Queue::Steer => &session.state().steers,
    }
}

fn content_of(event: &IngressEvent) -> Vec<Block> {
    let IngressContent::Text { text, attachments } = &event.content;
    let media = attachments.iter().cloned().map(|media| match media.media_type.split('/').next() {
        Some("image") => Block::Image(media),
        Some("audio") => Block::Audio(media),
        _ => Block::File(media),
    });
    [Block::text(text.as_str())].into_iter().chain(media).collect()
}
