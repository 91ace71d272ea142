//! Messages that a log holds and that are not dealt with, as they were accepted.

use std::collections::BTreeMap;

use kith_vocab::block::plain_text;
use kith_vocab::event::control::{Queue, QueueItem};
use kith_vocab::event::messages::{Author, HarnessKind, IngressRef, Trust};
use kith_vocab::event::models::ModelRef;
use kith_vocab::event::{Body, Event};
use kith_vocab::header::SessionHeader;
use kith_vocab::ingress::{IngressContent, IngressEvent, RunningBehavior};

use crate::state::State;

/// The first event of each inbox row says what was accepted: a queue item may be edited later.
#[derive(Default)]
pub(super) struct OpenMessages(BTreeMap<String, FirstMention>);

struct FirstMention {
    text: String,
    client_id: String,
    author: Author,
    trust: Trust,
    ingress: Option<IngressRef>,
    models: Vec<ModelRef>,
    running_behavior: RunningBehavior,
    ts: u64,
}

impl OpenMessages {
    pub(super) fn read(&mut self, event: &Event) {
        if !event.is_lived() {
            return;
        }
        if let Body::QueueUpdate(it) = &event.body {
            // One update may hold messages of several rows; each item names its own.
            for item in &it.items {
                let Some(key) = &item.ingress_key else { continue };
                self.0.entry(key.clone()).or_insert_with(|| queued(event, it.queue, item));
            }
        } else if let Some(key) = &event.ingress_key
            && !self.0.contains_key(key)
            && let Some(said) = first_said(event)
        {
            self.0.insert(key.clone(), said);
        }
    }

    /// Those that the turn or a queue of the session holds.
    pub(super) fn of(self, header: &SessionHeader, state: &State) -> Vec<IngressEvent> {
        let open = self.0.into_iter().filter(|(key, _)| state.holds_row(key));
        let turn = state.turn.as_ref();
        let event = |(key, said): (String, FirstMention)| IngressEvent {
            agent_id: header.agent_id.clone(),
            thread_id: header.thread_id.clone(),
            audience: header.audience,
            client_id: said.client_id,
            author: said.author,
            trust: said.trust,
            ingress: said.ingress.unwrap_or_else(|| ingress_of(&key)),
            ts: said.ts,
            cwd: header.cwd.clone(),
            expected_leaf: None,
            running_behavior: said.running_behavior,
            models: if said.models.is_empty() {
                turn.map(|turn| turn.models.clone()).unwrap_or_default()
            } else {
                said.models
            },
            attended: turn.is_none_or(|turn| turn.attended),
            language: None,
            content: IngressContent::text(said.text),
            key,
        };
        open.map(event).collect()
    }
}

fn first_said(event: &Event) -> Option<FirstMention> {
    let (client_id, ts) = (event.client_id.clone(), event.ts);
    match &event.body {
        Body::UserMessage(it) => Some(FirstMention {
            text: plain_text(&it.message.content).to_string(),
            client_id,
            author: it.author.clone(),
            trust: it.trust,
            ingress: it.ingress.clone(),
            models: Vec::new(),
            running_behavior: RunningBehavior::FollowUp,
            ts,
        }),
        Body::HarnessItem(it) if it.item.kind == HarnessKind::Steer => Some(FirstMention {
            text: it.item.content.to_string(),
            client_id,
            author: it.author.clone()?,
            trust: it.trust,
            ingress: None,
            models: Vec::new(),
            running_behavior: RunningBehavior::Steer,
            ts,
        }),
        _ => None,
    }
}

fn queued(event: &Event, queue: Queue, item: &QueueItem) -> FirstMention {
    FirstMention {
        text: plain_text(&item.content).to_string(),
        client_id: item.client_id.clone(),
        author: item.author.clone(),
        trust: item.trust,
        ingress: item.ingress.clone(),
        models: item.models.clone(),
        running_behavior: match queue {
            Queue::FollowUp => RunningBehavior::FollowUp,
            Queue::Steer => RunningBehavior::Steer,
        },
        ts: event.ts,
    }
}

/// A key is `platform:account:id`.
fn ingress_of(key: &str) -> IngressRef {
    let mut parts = key.splitn(3, ':').map(str::to_owned);
    let mut part = || parts.next().unwrap_or_default();
    let (platform, account, message_id) = (part(), part(), part());
    IngressRef { platform, account, correlation_id: message_id.clone(), message_id }
}
