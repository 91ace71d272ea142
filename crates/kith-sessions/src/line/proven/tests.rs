use kith_vocab::block::{Block, Media, Thinking, ToolCall};
use kith_vocab::event::calls::{CallJudged, Effect, Sandbox, ToolStarted, Verdict};
use kith_vocab::event::control::{Bound, EndReason, Limits, TurnEnded, TurnStarted};
use kith_vocab::event::messages::{
    AnswerContent, AssistantMessage, Author, IngressRef, MessageContent, Outcome, StopReason,
    ToolResult, Trust, Usage, UserMessage,
};
use kith_vocab::event::models::{ModelRef, ModelRequested, Purpose, Reserved, Wire};
use kith_vocab::event::{BatchPlace, SourceTag};
use kith_vocab::json::Json;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::test_runner::RngSeed;
use serde_json::Value;

use super::*;
use crate::line::{Decoder, LineHash, encode_batch};
use crate::samples::{event_id, every_type, notice};

const N_BODIES: usize = 8;
const JSON_DEPTH: u32 = 4;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        rng_seed: RngSeed::Fixed(0x6b69_7468),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_line_of_a_proven_event_is_read_as_the_event_it_was(parts in any_parts(), which in 0..N_BODIES) {
        let event = parts.event(which);
        assert!(is_proven(&event), "{event:?}");
        let prev = LineHash::of(b"the line before");
        let bytes = encode_batch(std::slice::from_ref(&event), prev).unwrap().bytes;
        let line = bytes.strip_suffix(b"\n").unwrap();
        let read = Decoder::default().event(line, prev).unwrap();
        assert_eq!((read.event, read.batch), (event, BatchPlace::ALONE));
    }
}

#[test]
fn what_may_be_read_as_something_else_is_not_proven() {
    assert!(!is_proven(&notice(1, "hi")));
    let samples = every_type();
    let find = |name: &str| samples.iter().find(|it| it.body.type_name() == name).unwrap().clone();
    let null = Some(serde_json::from_str("null").unwrap());

    let mut answer = find("assistant_message");
    let Body::AssistantMessage(body) = &mut answer.body else { panic!() };
    body.primed = null.clone();
    assert!(!is_proven(&answer));

    let mut message = find("user_message");
    let Body::UserMessage(body) = &mut message.body else { panic!() };
    body.primed = null.clone();
    assert!(!is_proven(&message));

    let mut result = find("tool_result");
    let Body::ToolResult(body) = &mut result.body else { panic!() };
    body.primed = null;
    assert!(!is_proven(&result));

    let foreign = EventId::from_uuid(uuid::Uuid::nil());
    let mut request = find("model_requested");
    assert!(is_proven(&request));
    let Body::ModelRequested(body) = &mut request.body else { panic!() };
    body.request_id = foreign;
    assert!(!is_proven(&request));

    let ended = find("turn_ended");
    assert!(is_proven(&ended));
    assert!(!is_proven(&Event { id: foreign, ..ended.clone() }));
    assert!(!is_proven(&Event { parent_id: Some(event_id(9)), ..ended }));
}

/// What events are made of: any text, any number, any choice, any JSON.
#[derive(Clone, Debug)]
struct Parts {
    texts: Vec<String>,
    numbers: Vec<u64>,
    choices: Vec<usize>,
    json: Json,
    blocks: Vec<Block>,
}

fn any_parts() -> impl Strategy<Value = Parts> {
    let texts = proptest::collection::vec(any::<String>(), 8);
    let numbers = proptest::collection::vec(any::<u64>(), 8);
    let choices = proptest::collection::vec(any::<usize>(), 10);
    let blocks = proptest::collection::vec(any_block(), 0..4);
    (texts, numbers, choices, any_json(), blocks).prop_map(
        |(texts, numbers, choices, json, blocks)| Parts { texts, numbers, choices, json, blocks },
    )
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(JSON_DEPTH, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Value::from(map.into_iter().collect::<serde_json::Map<_, _>>())),
        ]
    });
    value.prop_map(|value| Json::of(&value))
}

fn any_block() -> impl Strategy<Value = Block> {
    let some = || any::<Option<String>>();
    prop_oneof![
        any::<String>().prop_map(Block::text),
        (any::<String>(), some(), some()).prop_map(|(text, signature, redacted)| {
            Block::Thinking(Thinking {
                text: text.into(),
                signature: signature.map(Into::into),
                redacted: redacted.map(Into::into),
            })
        }),
        (any::<String>(), any::<String>(), any::<u64>(), some(), 0..3_usize).prop_map(
            |(media_type, blob, bytes, name, kind)| {
                [Block::Image, Block::Audio, Block::File][kind](Media {
                    media_type,
                    blob,
                    bytes,
                    name,
                })
            }
        ),
        (any::<u32>(), any::<String>(), any::<String>(), any_json(), some()).prop_map(
            |(index, provider_call_id, tool, input, raw_input)| {
                let call_id = event_id(3).call(index);
                Block::ToolCall(ToolCall {
                    call_id,
                    provider_call_id,
                    tool,
                    input,
                    raw_input: raw_input.map(Into::into),
                })
            }
        ),
    ]
}

impl Parts {
    fn event(&self, which: usize) -> Event {
        let body = self.body(which);
        let parent_id = self.maybe(0, event_id(self.numbers[0] >> 16)).filter(|_| body.is_tree());
        Event {
            seq: self.numbers[1],
            id: event_id(self.numbers[2] >> 16),
            ts: self.numbers[3],
            client_id: self.text(0),
            ingress_key: self.maybe(1, self.text(1)),
            parent_id,
            source_tag: self
                .among(2, &[None, Some(SourceTag::Clone), Some(SourceTag::PrimingScript)]),
            body,
        }
    }

    fn body(&self, which: usize) -> Body {
        match which {
            0 => Body::UserMessage(self.user_message()),
            1 => Body::AssistantMessage(self.assistant_message()),
            2 => Body::ToolResult(self.tool_result()),
            3 => Body::TurnStarted(self.turn_started()),
            4 => Body::ModelRequested(self.model_requested()),
            5 => Body::CallJudged(self.call_judged()),
            6 => Body::ToolStarted(ToolStarted {
                call_id: event_id(5).call(7),
                digest: self.text(2),
            }),
            _ => Body::TurnEnded(self.turn_ended()),
        }
    }

    fn user_message(&self) -> UserMessage {
        let ingress = IngressRef {
            platform: self.text(2),
            account: self.text(3),
            message_id: self.text(4),
            correlation_id: self.text(5),
        };
        UserMessage {
            message: MessageContent {
                content: self.blocks.clone(),
                meta: self.among(3, &[None, Some(true), Some(false)]),
            },
            author: Author { user_id: self.text(6), display_name: self.text(7) },
            trust: self.trust(),
            ingress: self.maybe(4, ingress),
            queue_item_id: self.maybe(5, self.text(2)),
            primed: None,
        }
    }

    fn assistant_message(&self) -> AssistantMessage {
        let reasons = [
            StopReason::EndTurn,
            StopReason::ToolCall,
            StopReason::Cancelled,
            StopReason::MaxTokens,
            StopReason::Refusal,
            StopReason::Error,
        ];
        AssistantMessage {
            request_id: self.maybe(4, event_id(self.numbers[1] >> 16)),
            message: AnswerContent { content: self.blocks.clone() },
            provider: self.maybe(5, self.text(3)),
            model: self.maybe(6, self.text(4)),
            usage: self.maybe(7, self.usage()),
            stop_reason: self.among(3, &reasons),
            primed: None,
        }
    }

    fn tool_result(&self) -> ToolResult {
        let outcomes = [
            Outcome::Done,
            Outcome::Failed,
            Outcome::Refused,
            Outcome::Cancelled,
            Outcome::Interrupted,
        ];
        ToolResult {
            call_id: event_id(self.numbers[4] >> 16).call(3),
            tool: self.text(2),
            content: self.blocks.clone(),
            outcome: self.among(3, &outcomes),
            trust: self.trust(),
            full_output: self.maybe(4, self.text(3)),
            primed: None,
        }
    }

    fn turn_started(&self) -> TurnStarted {
        let limits = Limits {
            steps: self.small(4),
            repeats: self.small(5),
            wall_ms: self.numbers[6],
            tokens: self.maybe(3, self.numbers[7]),
            cost_micros: self.maybe(4, self.numbers[0]),
        };
        TurnStarted {
            limits,
            context_window: self.numbers[1],
            model: self.text(2),
            language: self.text(3),
            attended: self.among(5, &[true, false]),
            models: (0..self.choices[6] % 3).map(|_| self.model_ref()).collect(),
        }
    }

    fn model_ref(&self) -> ModelRef {
        ModelRef {
            name: self.text(4),
            provider: self.text(5),
            wire: self.among(4, &[Wire::OpenaiChat, Wire::Anthropic, Wire::OpenaiResponses]),
            model: self.text(6),
            endpoint: self.text(2),
        }
    }

    fn model_requested(&self) -> ModelRequested {
        ModelRequested {
            request_id: event_id(self.numbers[4] >> 16),
            purpose: self.among(3, &[Purpose::Turn, Purpose::Compact]),
            provider: self.text(2),
            wire: self.among(4, &[Wire::OpenaiChat, Wire::Anthropic, Wire::OpenaiResponses]),
            model: self.text(3),
            parameters: self.json.clone(),
            renderer_version: self.small(5),
            body_sha256: self.text(4),
            body_bytes: self.numbers[6],
            reserved: Reserved {
                tokens: self.numbers[7],
                cost_micros: self.maybe(5, self.numbers[0]),
            },
            scope: None,
        }
    }

    fn call_judged(&self) -> CallJudged {
        let effects = [
            Effect::Read,
            Effect::Write,
            Effect::Exec,
            Effect::Network,
            Effect::Message,
            Effect::Oneself,
        ];
        CallJudged {
            call_id: event_id(self.numbers[4] >> 16).call(self.small(5)),
            tool: self.text(2),
            effect: self.among(3, &effects),
            verdict: self.among(4, &[Verdict::Allow, Verdict::Ask, Verdict::Deny]),
            reason: self.text(3).into(),
            rule: self.maybe(5, self.text(4)),
            grant_id: self.maybe(6, self.text(5)),
            sandbox: self.among(7, &[Sandbox::None, Sandbox::Workspace, Sandbox::Network]),
            digest: self.text(6),
            facts: self.json.clone(),
        }
    }

    fn turn_ended(&self) -> TurnEnded {
        let reasons = [EndReason::Done, EndReason::Cancelled, EndReason::Failed, EndReason::Bound];
        let bounds = [Bound::Steps, Bound::Repeats, Bound::Wall, Bound::Tokens, Bound::Cost];
        TurnEnded {
            reason: self.among(3, &reasons),
            bound: self.maybe(4, self.among(5, &bounds)),
            steps: self.small(4),
            usage: self.maybe(7, self.usage()),
        }
    }

    fn usage(&self) -> Usage {
        Usage {
            input: self.numbers[4],
            output: self.numbers[5],
            cache_read: self.numbers[6],
            cache_write: self.numbers[7],
            cost_micros: self.maybe(3, self.numbers[0]),
            is_estimate: self.maybe(2, ()).is_some(),
        }
    }

    fn trust(&self) -> Trust {
        let levels = [Trust::Owner, Trust::Paired, Trust::Shared, Trust::Peer, Trust::Untrusted];
        self.among(6, &levels)
    }

    fn text(&self, place: usize) -> String {
        self.texts[place].clone()
    }

    fn small(&self, place: usize) -> u32 {
        u32::try_from(self.numbers[place] >> 32).unwrap()
    }

    fn maybe<T>(&self, place: usize, value: T) -> Option<T> {
        self.choices[place].is_multiple_of(2).then_some(value)
    }

    fn among<T: Copy>(&self, place: usize, values: &[T]) -> T {
        values[self.choices[place] % values.len()]
    }
}
