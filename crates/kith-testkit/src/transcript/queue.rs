//! The words for what waits in a queue and for what a turn may use.

use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::Body;
use kith_vocab::event::control::{Limits, Queue, QueueItem, QueueUpdate, TurnStarted};
use kith_vocab::event::messages::HarnessKind;
use kith_vocab::event::models::ModelRef;

use super::Scribe;
use super::words::{reminder, user_message};
use crate::samples::sample_model_ref;
use crate::sheet::{OWNER_TRUST, owner};

impl Scribe {
    pub(super) fn queued(&mut self, rest: &str) {
        let (queue, mut text) = match rest.strip_prefix("steer ") {
            Some(rest) => (Queue::Steer, rest),
            None => (Queue::FollowUp, rest),
        };
        let (mut ingress_key, mut models) = (None, Vec::new());
        while let Some((option, rest)) = text.split_once(' ') {
            match option.split_once('=') {
                Some(("key", key)) => ingress_key = Some(key.to_owned()),
                Some(("models", names)) => models = model_refs(names),
                _ => break,
            }
            text = rest;
        }
        self.n_queued += 1;
        let item = QueueItem {
            id: format!("q{}", self.n_queued),
            content: vec![Block::text(text)],
            created_at: self.sheet.now,
            updated_at: self.sheet.now,
            client_id: "test".to_owned(),
            author: owner(),
            trust: OWNER_TRUST,
            ingress: None,
            ingress_key,
            models,
            attended: true,
            language: None,
        };
        self.queue_of(queue).push(item);
        self.rewrite(queue);
    }

    fn rewrite(&mut self, queue: Queue) {
        let items = self.queue_of(queue).clone();
        self.write(Body::QueueUpdate(QueueUpdate { queue, items }));
    }

    pub(super) fn taken(&mut self) {
        assert!(!self.follow_ups.is_empty(), "`taken` needs a follow-up in the queue");
        let item = self.follow_ups.remove(0);
        let text = plain_text(&item.content);
        self.write_of_row(item.ingress_key, user_message(&text, item.trust, Some(item.id)));
        self.has_ended = false;
        self.rewrite(Queue::FollowUp);
    }

    pub(super) fn drained(&mut self) {
        for item in std::mem::take(&mut self.steers) {
            let text = plain_text(&item.content);
            let steer = reminder(HarnessKind::Steer, &text, None, Some(item.id));
            self.write_of_row(item.ingress_key, steer);
        }
        self.rewrite(Queue::Steer);
    }

    pub(super) fn retried(&mut self, rest: &str) {
        assert!(self.has_ended, "`retried` needs a turn that has ended");
        self.has_ended = false;
        self.started(rest);
    }

    pub(super) fn started(&mut self, rest: &str) {
        let mut limits = Limits::default();
        let mut attended = true;
        let mut models = Vec::new();
        for option in rest.split_whitespace() {
            let (key, value) = option.split_once('=').unwrap_or((option, "0"));
            if key == "models" {
                models = model_refs(value);
                continue;
            }
            let value: u64 = value.parse().expect("a limit is a number");
            let small = || u32::try_from(value).expect("a limit on steps is small");
            match key {
                "steps" => limits.steps = small(),
                "repeats" => limits.repeats = small(),
                "wall" => limits.wall_ms = value,
                "tokens" => limits.tokens = Some(value),
                "cost" => limits.cost_micros = Some(value),
                "unattended" => attended = false,
                _ => panic!("unknown limit `{key}`"),
            }
        }
        self.write(Body::TurnStarted(TurnStarted {
            limits,
            context_window: 128_000,
            model: "scripted".to_owned(),
            language: "en".to_owned(),
            attended,
            models,
        }));
    }
}

/// `NAME,NAME`
fn model_refs(names: &str) -> Vec<ModelRef> {
    names.split(',').map(sample_model_ref).collect()
}
