//! One body of each type, as the numbers choose.

use kith_vocab::block::Block;
use kith_vocab::event::Body;
use kith_vocab::event::calls::{
    ApprovalDecided, ApprovalReplied, ApprovalRequested, CallJudged, Decision, Delegated,
    ReplyVerdict, Sandbox, ToolStarted, Verdict,
};
use kith_vocab::event::control::{
    CancelRequested, EgressIntended, EgressOutcome, EgressSettled, EndReason, LeafMoved,
    LeafReason, Level, LogRepaired, Notice, Queue, QueueUpdate, Resumed, SessionTitleUpdated,
    SkillIndexDelta, SkillIndexSnapshot, TitleSource, TurnEnded, TurnStarted,
};
use kith_vocab::event::messages::{
    AnswerContent, AssistantMessage, Compact, HarnessItemEvent, InstructionSnapshotEvent, Ledger,
    MessageContent, Outcome, PrimedRecord, StopReason, ToolResult, UserMessage,
};
use kith_vocab::event::models::{
    CompactRequested, ModelFailed, ModelRequested, Purpose, Reserved, Wire,
};
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::json::Json;
use serde_json::json;

use super::parts::{
    TOOLS, author, bound, call, effect, failure, grant, harness_item, hash, ingress, item_id,
    limits, models, primed, queue_item, skill, snapshot, spoken, text, thinking, toolset, trust,
    usage, via,
};
use super::{Seed, Writer};
use crate::sha256_hex;

impl Writer {
    pub(super) fn body(&mut self, type_name: &str, id: EventId, seed: &mut Seed) -> Body {
        self.tree_body(type_name, id, seed)
            .or_else(|| self.call_body(type_name, seed))
            .or_else(|| self.model_body(type_name, seed))
            .or_else(|| self.control_body(type_name, seed))
            .unwrap_or_else(|| panic!("`{type_name}` has no generator"))
    }

    fn tree_body(&mut self, type_name: &str, id: EventId, seed: &mut Seed) -> Option<Body> {
        Some(match type_name {
            "user_message" => Body::UserMessage(UserMessage {
                message: MessageContent { content: spoken(seed), meta: seed.maybe(|_| true) },
                author: author(seed),
                trust: trust(seed),
                ingress: seed.maybe(ingress),
                queue_item_id: seed.maybe(item_id),
                primed: seed.maybe(primed),
            }),
            "assistant_message" => self.answer(id, seed),
            "tool_result" => Body::ToolResult(ToolResult {
                call_id: self.call_id(seed),
                tool: seed.among(&TOOLS).to_owned(),
                content: spoken(seed),
                outcome: seed.among(&[
                    Outcome::Done,
                    Outcome::Failed,
                    Outcome::Refused,
                    Outcome::Cancelled,
                    Outcome::Interrupted,
                ]),
                trust: trust(seed),
                full_output: seed.maybe(hash),
                primed: None,
            }),
            "harness_item" => Body::HarnessItem(HarnessItemEvent {
                item: harness_item(seed),
                trust: trust(seed),
                author: seed.maybe(author),
                queue_item_id: seed.maybe(item_id),
                merged_into: seed.maybe(|seed| self.result_id(seed)),
                primed: seed.maybe(primed),
            }),
            "compact" => Body::Compact(Compact {
                request_id: id,
                model: "scripted".to_owned(),
                usage: usage(seed),
                summary: text(seed).into(),
                ledger: Ledger {
                    identifiers: vec![text(seed)],
                    paths: Vec::new(),
                    open_tasks: vec![text(seed)],
                    done_tasks: Vec::new(),
                },
                first_kept_event_id: self.tree_id(seed),
                tokens_before: seed.number(),
                tokens_after: seed.number(),
            }),
            "primed_record" => {
                Body::PrimedRecord(PrimedRecord { record: Json::of(&json!({"text": text(seed)})) })
            }
            _ => return None,
        })
    }

    fn answer(&mut self, id: EventId, seed: &mut Seed) -> Body {
        let mut content = Vec::new();
        let n_calls = seed.among(&[1, 0, 2, 0, 1, 3]);
        if seed.below(4) != 3 {
            content.push(Block::text(text(seed)));
        }
        if seed.one_in(4) {
            content.insert(0, Block::Thinking(thinking(seed)));
        }
        content.extend((0..n_calls).map(|index| call(id, index, seed)));
        let default_stop = if n_calls > 0 { StopReason::ToolCall } else { StopReason::EndTurn };
        let asked = self.requests.contains(&id);
        Body::AssistantMessage(AssistantMessage {
            request_id: if asked { Some(id) } else { seed.maybe(|seed| self.request_id(seed)) },
            message: AnswerContent { content },
            provider: seed.maybe(|_| "scripted".to_owned()),
            model: seed.maybe(|seed| seed.among(&["scripted", "other"]).to_owned()),
            usage: seed.maybe(usage),
            stop_reason: seed.among(&[
                default_stop,
                default_stop,
                default_stop,
                StopReason::EndTurn,
                StopReason::ToolCall,
                StopReason::Cancelled,
                StopReason::MaxTokens,
                StopReason::Refusal,
                StopReason::Error,
            ]),
            primed: None,
        })
    }

    fn call_body(&mut self, type_name: &str, seed: &mut Seed) -> Option<Body> {
        let call_id = self.call_id(seed);
        // Digests of one call mostly agree.
        let digest = if seed.one_in(8) { hash(seed) } else { sha256_hex(b"digest") };
        Some(match type_name {
            "call_judged" => Body::CallJudged(CallJudged {
                call_id,
                tool: seed.among(&TOOLS).to_owned(),
                effect: effect(seed),
                verdict: seed.among(&[Verdict::Allow, Verdict::Ask, Verdict::Deny]),
                reason: text(seed).into(),
                rule: seed.maybe(text),
                grant_id: seed.maybe(text),
                sandbox: seed.among(&[Sandbox::None, Sandbox::Workspace, Sandbox::Network]),
                digest,
                facts: Json::empty_object(),
            }),
            "approval_requested" => Body::ApprovalRequested(ApprovalRequested {
                approval_id: format!("approval-{}", self.n_approvals + 1),
                call_id,
                thread_id: "cli:room:test".parse().expect("it has the form of a thread id"),
                code: text(seed),
                summary: text(seed).into(),
                command: seed.maybe(text).map(Into::into),
                paths: vec![text(seed)],
                digest,
                risk: text(seed).into(),
                approvers: vec!["owner".to_owned()],
                expires_at: self.sheet.now + seed.number() * 1000,
            }),
            "approval_replied" => Body::ApprovalReplied(ApprovalReplied {
                text: text(seed).into(),
                author: author(seed),
                ingress: ingress(seed),
                verdict: seed.among(&[
                    ReplyVerdict::Allow,
                    ReplyVerdict::Deny,
                    ReplyVerdict::AskBack,
                ]),
                approvals: vec![self.approval_id(seed)],
            }),
            "approval_decided" => Body::ApprovalDecided(ApprovalDecided {
                approval_id: self.approval_id(seed),
                decision: seed.among(&[Decision::Allow, Decision::Deny]),
                by: "owner".to_owned(),
                via: via(seed),
                grant: seed.maybe(grant),
                reason: seed.maybe(text).map(Into::into),
            }),
            "tool_started" => Body::ToolStarted(ToolStarted { call_id, digest }),
            "delegated" => {
                let session_id = SessionId::from_uuid(self.event_id(seed).as_uuid());
                Body::Delegated(Delegated { call_id, session_id })
            }
            _ => return None,
        })
    }

    fn model_body(&mut self, type_name: &str, seed: &mut Seed) -> Option<Body> {
        Some(match type_name {
            "instruction_snapshot" => {
                Body::InstructionSnapshot(InstructionSnapshotEvent { snapshot: snapshot(seed) })
            }
            "toolset_snapshot" => Body::ToolsetSnapshot(toolset(seed)),
            "model_requested" => {
                let fresh = self.sheet.new_id();
                let request_id = if seed.one_in(16) { self.event_id(seed) } else { fresh };
                let wire = seed.among(&[Wire::OpenaiChat, Wire::Anthropic, Wire::OpenaiResponses]);
                Body::ModelRequested(ModelRequested {
                    request_id,
                    purpose: seed.among(&[Purpose::Turn, Purpose::Turn, Purpose::Compact]),
                    provider: "scripted".to_owned(),
                    wire,
                    model: "scripted".to_owned(),
                    parameters: Json::empty_object(),
                    renderer_version: (self.renderer_version)(wire),
                    body_sha256: hash(seed),
                    body_bytes: seed.number(),
                    reserved: Reserved {
                        tokens: seed.number(),
                        cost_micros: seed.maybe(Seed::number),
                    },
                    scope: None,
                })
            }
            "model_failed" => Body::ModelFailed(ModelFailed {
                request_id: seed.maybe(|seed| self.request_id(seed)),
                kind: failure(seed),
                message: text(seed).into(),
                attempt: 1,
                retry_at: seed.maybe(|seed| self.sheet.now + seed.number() * 1000),
                fallback: None,
                usage: None,
            }),
            "compact_requested" => Body::CompactRequested(CompactRequested {
                by: "owner".to_owned(),
                models: Vec::new(),
            }),
            "skill_index_snapshot" => {
                Body::SkillIndexSnapshot(SkillIndexSnapshot { entries: vec![skill(seed)] })
            }
            "skill_index_delta" => Body::SkillIndexDelta(SkillIndexDelta {
                added: vec![skill(seed)],
                changed: Vec::new(),
                removed: vec![text(seed)],
            }),
            _ => return None,
        })
    }

    fn control_body(&mut self, type_name: &str, seed: &mut Seed) -> Option<Body> {
        Some(match type_name {
            "turn_started" => Body::TurnStarted(TurnStarted {
                limits: limits(seed),
                context_window: seed.among(&[128_000, 0, 1000, u64::MAX]),
                model: "scripted".to_owned(),
                language: seed.among(&["en", "zh", ""]).to_owned(),
                attended: seed.below(2) == 0,
                models: models(seed),
            }),
            "queue_update" => Body::QueueUpdate(QueueUpdate {
                queue: seed.among(&[Queue::FollowUp, Queue::Steer]),
                items: (0..seed.below(4)).map(|_| queue_item(seed)).collect(),
            }),
            "leaf_moved" => Body::LeafMoved(LeafMoved {
                to: (!seed.one_in(6)).then(|| self.tree_id(seed)),
                reason: seed.among(&[LeafReason::Branch, LeafReason::Silent]),
            }),
            "session_title_updated" => Body::SessionTitleUpdated(SessionTitleUpdated {
                title: text(seed),
                source: seed.among(&[TitleSource::User, TitleSource::Generated]),
            }),
            "cancel_requested" => Body::CancelRequested(CancelRequested { by: "owner".to_owned() }),
            "resumed" => Body::Resumed(Resumed {
                open_request: seed.maybe(|seed| self.request_id(seed)),
                open_calls: (0..seed.below(3)).map(|_| self.call_id(seed)).collect(),
            }),
            "notice" => Body::Notice(Notice {
                text: text(seed).into(),
                level: seed.among(&[Level::Info, Level::Warn, Level::Error]),
                about: seed.maybe(text),
            }),
            "turn_ended" => Body::TurnEnded(TurnEnded {
                reason: seed.among(&[
                    EndReason::Done,
                    EndReason::Cancelled,
                    EndReason::Failed,
                    EndReason::Bound,
                ]),
                bound: seed.maybe(bound),
                steps: u32::try_from(seed.below(60)).unwrap_or_default(),
                usage: seed.maybe(usage),
            }),
            "egress_intended" => Body::EgressIntended(EgressIntended {
                egress_id: item_id(seed),
                of: self.event_id(seed),
                thread_id: "cli:room:test".parse().expect("it has the form of a thread id"),
                parts: Json::of(&json!([text(seed)])),
            }),
            "egress_settled" => Body::EgressSettled(EgressSettled {
                egress_id: item_id(seed),
                outcome: seed.among(&[
                    EgressOutcome::Sent,
                    EgressOutcome::Failed,
                    EgressOutcome::Unknown,
                ]),
                platform_message_id: seed.maybe(text),
                error: seed.maybe(text),
            }),
            "log_repaired" => Body::LogRepaired(LogRepaired {
                torn_bytes: seed.number(),
                torn_file: "s.jsonl.torn-1".to_owned(),
            }),
            _ => return None,
        })
    }
}
