//! What requests have used, read from a log.

use std::collections::BTreeMap;

use kith_vocab::event::messages::Usage;
use kith_vocab::event::models::{FailureKind, ModelRequested, Reserved};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;
use kith_vocab::json::Json;

/// The longest answer that is expected when a request does not limit it.
const ANSWER_TOKENS_USUAL: u64 = 8_192;
/// What vendors call that limit.
const ANSWER_LIMITS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/// What one request used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    pub request_id: EventId,
    /// When it was made, in milliseconds.
    pub at: u64,
    pub provider: String,
    pub model: String,
    pub usage: Usage,
    /// The vendor never said: an estimate counts, or else what was reserved.
    pub is_estimate: bool,
}

/// Reads what the requests of a log used. What was copied from another session was not spent here.
#[derive(Debug, Default)]
pub struct SpendingReader {
    open: BTreeMap<EventId, (u64, ModelRequested)>,
    /// The request that was made last.
    last: Option<EventId>,
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
                self.last = Some(it.request_id);
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
            Body::TurnEnded(it) => {
                if let (Some(request), Some(usage)) = (self.last, it.usage) {
                    self.close(request, Some(usage));
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
        let usage = usage.unwrap_or_else(|| reserved_usage(&requested));
        self.spent.push(Spent {
            request_id,
            at,
            provider: requested.provider,
            model: requested.model,
            is_estimate: usage.is_estimate,
            usage,
        });
    }
}

/// What a request may have used at most: its input, and the longest answer.
fn reserved_usage(requested: &ModelRequested) -> Usage {
    let Reserved { tokens, cost_micros } = requested.reserved;
    let output = answer_tokens_max(&requested.parameters).min(tokens);
    let input = tokens - output;
    Usage { input, output, cost_micros, is_estimate: true, ..Usage::default() }
}

/// The longest answer that is expected of a request.
pub(crate) fn answer_tokens_max(parameters: &Json) -> u64 {
    answer_limit(parameters).unwrap_or(ANSWER_TOKENS_USUAL)
}

/// The limit that a request itself sets on its answer.
pub(crate) fn answer_limit(parameters: &Json) -> Option<u64> {
    let members: serde_json::Map<String, serde_json::Value> = parameters.read().unwrap_or_default();
    ANSWER_LIMITS.iter().filter_map(|name| members.get(*name)?.as_u64()).min()
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
    fn a_reservation_counts_the_longest_answer_as_written_and_the_rest_as_read() {
        for (parameters, tokens, expected) in [
            ("{}", 10_000, (1_808, 8_192)),
            (r#"{"max_tokens":100}"#, 1_000, (900, 100)),
            ("{}", 100, (0, 100)),
        ] {
            let log = transcript("snapshot x | user: hi | asked model");
            let mut reader = SpendingReader::default();
            for mut event in log.events {
                if let Body::ModelRequested(it) = &mut event.body {
                    it.parameters = Json::parse(parameters).unwrap();
                    it.reserved = Reserved { tokens, cost_micros: Some(5) };
                }
                reader.read(&event);
            }
            let usage = reader.finish()[0].usage;
            assert_eq!((usage.input, usage.output), expected);
            assert_eq!((usage.cost_micros, usage.is_estimate), (Some(5), true));
        }
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
