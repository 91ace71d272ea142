//! What requests have used, read from a log.

use std::collections::BTreeMap;

use kith_vocab::event::messages::Usage;
use kith_vocab::event::models::{FailureKind, ModelRequested};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;

/// What one request used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    pub request_id: EventId,
    /// When it was made, in milliseconds.
    pub at: u64,
    pub provider: String,
    pub model: String,
    pub usage: Usage,
    /// The vendor never said: what had been reserved counts.
    pub is_estimate: bool,
}

/// Reads what the requests of a log used. What was copied from another session was not spent here.
#[derive(Debug, Default)]
pub struct SpendingReader {
    open: BTreeMap<EventId, (u64, ModelRequested)>,
    spent: Vec<Spent>,
}

impl SpendingReader {
    pub fn read(&mut self, event: &Event) {
        if !event.is_lived() {
            return;
        }
        match &event.body {
            Body::ModelRequested(it) => {
                self.open.insert(it.request_id, (event.ts, it.clone()));
            }
            Body::AssistantMessage(it) => {
                // Without usage it was cut off; the failure that follows does not make it free.
                if let (Some(request), Some(usage)) = (it.request_id, it.usage) {
                    self.close(request, Some(usage));
                }
            }
            Body::Compact(it) => self.close(it.request_id, Some(it.usage)),
            Body::ModelFailed(it) => {
                let is_free = !matches!(it.kind, FailureKind::Cut | FailureKind::Timeout);
                if let Some(request) = it.request_id {
                    self.close(request, it.usage.or(is_free.then(Usage::default)));
                }
            }
            _ => (),
        }
    }

    /// What was spent, in the order in which it was known. A request of which nothing is known yet
    /// counts with its reservation.
    pub fn finish(mut self) -> Vec<Spent> {
        while let Some(request) = self.open.keys().next().copied() {
            self.close(request, None);
        }
        self.spent
    }

    fn close(&mut self, request_id: EventId, usage: Option<Usage>) {
        let Some((at, requested)) = self.open.remove(&request_id) else { return };
        let reserved = requested.reserved;
        let estimate = || Usage {
            input: reserved.tokens,
            cost_micros: reserved.cost_micros,
            ..Usage::default()
        };
        self.spent.push(Spent {
            request_id,
            at,
            provider: requested.provider,
            model: requested.model,
            is_estimate: usage.is_none(),
            usage: usage.unwrap_or_else(estimate),
        });
    }
}

#[cfg(test)]
mod tests {
    use kith_testkit::transcript::transcript;

    use super::*;

    #[test]
    fn answers_count_with_their_usage_and_open_requests_with_their_reservation() {
        let log = transcript(
            "snapshot x | user: hi | asked model | model: hello | ended done | user: on | asked model",
        );
        let mut reader = SpendingReader::default();
        for mut event in log.events {
            if let Body::AssistantMessage(it) = &mut event.body {
                it.usage = Some(Usage { input: 7, output: 2, ..Usage::default() });
            }
            reader.read(&event);
        }
        let spent = reader.finish();
        assert_eq!(spent.len(), 2);
        assert_eq!(spent.iter().map(|it| it.is_estimate).collect::<Vec<_>>(), [false, true]);
        assert_eq!((spent[0].usage.input, spent[0].usage.output), (7, 2));
    }

    #[test]
    fn a_failed_answer_counts_with_what_the_vendor_said_and_is_free_where_it_said_nothing() {
        let used = Usage { input: 7, output: 2, ..Usage::default() };
        for (usage, expected) in [(Some(used), 9), (None, 0)] {
            let log = transcript("snapshot x | user: hi | asked model | failed malformed");
            let mut reader = SpendingReader::default();
            for mut event in log.events {
                if let Body::ModelFailed(it) = &mut event.body {
                    it.usage = usage;
                }
                reader.read(&event);
            }
            let spent = reader.finish();
            let tokens = spent[0].usage.input + spent[0].usage.output;
            assert_eq!((spent.len(), tokens, spent[0].is_estimate), (1, expected, false));
        }
    }
}
