//! What each word of the language writes.

use kith_vocab::block::{Block, ToolCall};
use kith_vocab::event::Body;
use kith_vocab::event::calls::{
    ApprovalDecided, ApprovalRequested, CallJudged, Decision, Effect, Sandbox, ToolStarted,
    Verdict, Via,
};
use kith_vocab::event::control::{
    Bound, CancelRequested, EndReason, LeafMoved, LeafReason, Level, Notice, Resumed,
    SessionTitleUpdated, TitleSource, TurnEnded,
};
use kith_vocab::event::messages::{
    AnswerContent, AssistantMessage, Compact, HarnessItem, HarnessItemEvent, HarnessKind, Ledger,
    MessageContent, Origin, Outcome, StopReason, ToolResult, Trust, Usage, UserMessage, Visibility,
};
use kith_vocab::event::models::{
    CompactRequested, FailureKind, ModelFailed, ModelRequested, Purpose, Reserved, Wire,
};
use kith_vocab::ids::EventId;
use kith_vocab::json::Json;
use kith_vocab::snapshot::{ToolSpec, ToolsetSnapshot};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{KnownCall, Scribe};
use crate::clock::START;
use crate::first_events::instruction_snapshot;
use crate::sha256_hex;
use crate::sheet::{Envelope, OWNER_TRUST, owner};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const RETRY_MS: u64 = 1000;

impl Scribe {
    pub(super) fn verb(&mut self, verb: &str, rest: &str) {
        match verb {
            "asked" => self.asked(rest),
            "failed" => self.failed(rest),
            "free" => self.judged(rest, Verdict::Allow),
            "hold" => self.judged(rest, Verdict::Ask),
            "forbid" => self.judged(rest, Verdict::Deny),
            "allow" => self.decided(rest, Decision::Allow, Via::Command),
            "deny" => self.decided(rest, Decision::Deny, Via::Command),
            "expired" => self.decided(rest, Decision::Deny, Via::Expiry),
            "start" => self.start(rest),
            "done" => self.result(rest, Outcome::Done),
            "fail" => self.result(rest, Outcome::Failed),
            "refused" => self.result(rest, Outcome::Refused),
            "cancelled" => self.result(rest, Outcome::Cancelled),
            "interrupted" => self.result(rest, Outcome::Interrupted),
            "resumed" => self.resumed(),
            "cancel" => {
                self.write(Body::CancelRequested(CancelRequested { by: "owner".to_owned() }));
            }
            "ended" => self.ended(rest),
            "note" => self.reminder(HarnessKind::RuntimeNotice, rest, None),
            "steer" => self.reminder(HarnessKind::Steer, rest, None),
            "joined" => {
                let (label, text) = rest.split_once(' ').expect("`joined` names a call and a text");
                let result = self.known_event(label);
                self.reminder(HarnessKind::RuntimeNotice, text, Some(result));
            }
            "queue" => self.queued(rest),
            "taken" => self.taken(),
            "drained" => self.drained(),
            "started" => self.started(rest),
            "retried" => self.retried(rest),
            "leaf" => self.leaf(rest),
            "title" => {
                let (title, source) = (rest.to_owned(), TitleSource::Generated);
                self.write(Body::SessionTitleUpdated(SessionTitleUpdated { title, source }));
            }
            "notice" => {
                let notice = Notice { text: rest.into(), level: Level::Info, about: None };
                self.write(Body::Notice(notice));
            }
            "compact" => self.compact(rest),
            "snapshot" => self.snapshot(rest),
            "tools" => self.tools(rest),
            "later" => self.sheet.now += rest.parse::<u64>().expect("`later` is in milliseconds"),
            _ => panic!("unknown transcript verb `{verb}`"),
        }
    }

    pub(super) fn write(&mut self, body: Body) {
        self.write_as(None, body);
    }

    fn write_as(&mut self, id: Option<EventId>, body: Body) -> EventId {
        self.sheet.push_as(Envelope { id, source_tag: self.tag, ingress_key: None }, body)
    }

    pub(super) fn write_of_row(&mut self, ingress_key: Option<String>, body: Body) -> EventId {
        self.sheet.push_as(Envelope { id: None, source_tag: self.tag, ingress_key }, body)
    }

    pub(super) fn user(&mut self, line: &str) {
        let (who, text) = line.split_once(": ").expect("a message is `user: TEXT`");
        let (who, key) =
            who.split_once(" key=").map_or((who, None), |(who, key)| (who, Some(key.to_owned())));
        let (who, trust) = who
            .split_once('@')
            .map_or((who, OWNER_TRUST), |(who, trust)| (who, word::<Trust>(trust)));
        let id = self.write_of_row(key, user_message(text, trust, None));
        self.has_ended = false;
        self.label(who, id);
    }

    fn label(&mut self, who: &str, id: EventId) {
        if let Some((_, label)) = who.split_once('#') {
            self.labels.insert(label.to_owned(), id);
        }
    }

    pub(super) fn model(&mut self, line: &str) {
        let (who, said) = line.split_once(':').expect("an answer is `model: TEXT`");
        let (who, stop_reason) = who
            .split_once('/')
            .map_or((who, None), |(who, stop)| (who, Some(word::<StopReason>(stop))));
        let request_id = self.open_request.take();
        let id = request_id.unwrap_or_else(|| self.sheet.new_id());
        let mut parts: Vec<&str> = said.trim().split(", ").collect();
        let mut calls = Vec::new();
        while let Some(call) = parts.last().and_then(|part| parse_call(part)) {
            calls.insert(0, call);
            parts.pop();
        }
        let text = parts.join(", ");
        let text = text.trim_end_matches(',');
        let mut content = Vec::new();
        if !text.is_empty() {
            content.push(Block::text(text));
        }
        let has_calls = !calls.is_empty();
        for (index, call) in (0..).zip(calls) {
            content.push(self.call(id, index, &call));
        }
        let default_stop = if has_calls { StopReason::ToolCall } else { StopReason::EndTurn };
        let answer = AssistantMessage {
            request_id,
            message: AnswerContent { content },
            provider: Some("scripted".to_owned()),
            model: Some("scripted".to_owned()),
            usage: Some(Usage { input: 10, output: 5, ..Usage::default() }),
            stop_reason: stop_reason.unwrap_or(default_stop),
            primed: None,
        };
        self.n_failures = 0;
        self.write_as(Some(id), Body::AssistantMessage(answer));
        self.label(who, id);
    }

    fn call(&mut self, answer: EventId, index: u32, call: &Spoken<'_>) -> Block {
        let id = answer.call(index);
        let (input, raw_input) = match call.argument {
            Some("?") => (Json::empty_object(), Some("{\"path\": \"a".to_owned())),
            Some(argument) => (Json::of(&json!({"argument": argument})), None),
            None => (Json::of(&json!({"call": call.label})), None),
        };
        let known =
            KnownCall { id, tool: call.tool.to_owned(), input: input.clone(), is_open: false };
        self.calls.insert(call.label.to_owned(), known);
        Block::ToolCall(ToolCall {
            call_id: id,
            provider_call_id: format!("call_{index}"),
            tool: call.tool.to_owned(),
            input,
            raw_input: raw_input.map(Into::into),
        })
    }

    fn asked(&mut self, what: &str) {
        match what {
            "model" => self.requested(Purpose::Turn),
            "compact" => self.requested(Purpose::Compact),
            label => self.asked_about(label),
        }
    }

    fn requested(&mut self, purpose: Purpose) {
        let request_id = self.sheet.new_id();
        self.open_request = Some(request_id);
        self.n_requests += 1;
        self.write(Body::ModelRequested(ModelRequested {
            request_id,
            purpose,
            provider: "scripted".to_owned(),
            wire: Wire::OpenaiChat,
            model: "scripted".to_owned(),
            parameters: Json::empty_object(),
            renderer_version: 0,
            body_sha256: sha256_hex(request_id.to_string().as_bytes()),
            body_bytes: 100,
            reserved: Reserved { tokens: 1000, cost_micros: None },
            scope: None,
        }));
    }

    fn asked_about(&mut self, label: &str) {
        let call = self.known_call(label).clone();
        self.write(Body::ApprovalRequested(ApprovalRequested {
            approval_id: approval_id(label),
            call_id: call.id,
            thread_id: "cli:room:test".parse().expect("it has the form of a thread id"),
            code: label.to_uppercase(),
            summary: format!("{} {}", call.tool, call.input.as_str()).into(),
            command: None,
            paths: Vec::new(),
            digest: digest(&call),
            risk: "none, it is a test".into(),
            approvers: vec!["owner".to_owned()],
            expires_at: self.sheet.now + DAY_MS,
        }));
    }

    fn failed(&mut self, rest: &str) {
        let (kind, retry) = rest.split_once(' ').unwrap_or((rest, ""));
        assert!(retry.is_empty() || retry == "retry", "`failed KIND [retry]`");
        self.n_failures += 1;
        let failure = ModelFailed {
            request_id: self.open_request.take(),
            kind: word::<FailureKind>(kind),
            message: format!("the model failed: {kind}").into(),
            attempt: self.n_failures,
            retry_at: (!retry.is_empty()).then_some(self.sheet.now + RETRY_MS),
            fallback: None,
            usage: None,
        };
        self.write(Body::ModelFailed(failure));
    }

    fn judged(&mut self, label: &str, verdict: Verdict) {
        let call = self.known_call(label).clone();
        let reads = call.tool.starts_with("read") || call.tool.starts_with("list");
        self.write(Body::CallJudged(CallJudged {
            call_id: call.id,
            tool: call.tool.clone(),
            effect: if reads { Effect::Read } else { Effect::Write },
            verdict,
            reason: "the test says so".into(),
            rule: None,
            grant_id: None,
            sandbox: Sandbox::None,
            digest: digest(&call),
            facts: Json::empty_object(),
        }));
    }

    fn decided(&mut self, label: &str, decision: Decision, via: Via) {
        self.known_call(label);
        self.write(Body::ApprovalDecided(ApprovalDecided {
            approval_id: approval_id(label),
            decision,
            by: "owner".to_owned(),
            via,
            grant: None,
            reason: None,
        }));
    }

    fn start(&mut self, label: &str) {
        let call = self.known_call(label).clone();
        self.write(Body::ToolStarted(ToolStarted { call_id: call.id, digest: digest(&call) }));
        self.set_open(label, true);
    }

    fn set_open(&mut self, label: &str, is_open: bool) {
        if let Some(call) = self.calls.get_mut(label) {
            call.is_open = is_open;
        }
    }

    fn result(&mut self, rest: &str, outcome: Outcome) {
        let (label, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let text = if text.is_empty() {
            format!("{label} {outcome:?}").to_lowercase()
        } else {
            text.to_owned()
        };
        let call = self.known_call(label).clone();
        let result = ToolResult {
            call_id: call.id,
            tool: call.tool,
            content: vec![Block::text(text)],
            outcome,
            trust: OWNER_TRUST,
            full_output: None,
            primed: None,
        };
        let id = self.write_as(None, Body::ToolResult(result));
        self.labels.insert(label.to_owned(), id);
        self.set_open(label, false);
    }

    fn resumed(&mut self) {
        let open_request = self.open_request.take();
        let open_calls =
            self.calls.values().filter(|call| call.is_open).map(|call| call.id).collect();
        self.write(Body::Resumed(Resumed { open_request, open_calls }));
    }

    fn ended(&mut self, reason: &str) {
        let reason = word::<EndReason>(reason);
        let bound = (reason == EndReason::Bound).then_some(Bound::Steps);
        let steps = std::mem::take(&mut self.n_requests);
        self.n_failures = 0;
        self.has_ended = true;
        self.write(Body::TurnEnded(TurnEnded { reason, bound, steps, usage: None }));
    }

    fn reminder(&mut self, kind: HarnessKind, text: &str, merged_into: Option<EventId>) {
        self.write(reminder(kind, text, merged_into, None));
    }

    fn leaf(&mut self, label: &str) {
        let to = (label != "root").then(|| self.known_event(label));
        self.write(Body::LeafMoved(LeafMoved { to, reason: LeafReason::Branch }));
        self.sheet.leaf = to;
    }

    fn compact(&mut self, rest: &str) {
        if rest == "requested" {
            let by = "owner".to_owned();
            return self.write(Body::CompactRequested(CompactRequested { by, models: Vec::new() }));
        }
        let rest = rest.strip_prefix("keep=").expect("`compact keep=LABEL TEXT`");
        let (label, summary) = rest.split_once(' ').unwrap_or((rest, "summary"));
        let first_kept_event_id = self.known_event(label);
        let request_id = self.open_request.take().unwrap_or_else(|| self.sheet.new_id());
        let compact = Compact {
            request_id,
            model: "scripted".to_owned(),
            usage: Usage { input: 10, output: 5, ..Usage::default() },
            summary: summary.into(),
            ledger: Ledger::default(),
            first_kept_event_id,
            tokens_before: 1000,
            tokens_after: 100,
        };
        self.write_as(Some(request_id), Body::Compact(compact));
    }

    fn snapshot(&mut self, text: &str) {
        self.write(instruction_snapshot(text, START));
    }

    fn tools(&mut self, names: &str) {
        let tool = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: format!("The test's {name}."),
            input_schema: Json::of(&json!({"type": "object", "properties": {}})),
        };
        let tools: Vec<ToolSpec> = names.split_whitespace().map(tool).collect();
        let sha256 = sha256_hex(Json::of(&tools).as_str().as_bytes());
        self.write(Body::ToolsetSnapshot(ToolsetSnapshot { tools, sha256 }));
    }
}

struct Spoken<'a> {
    tool: &'a str,
    argument: Option<&'a str>,
    label: &'a str,
}

/// `tool=label` or `tool(argument)=label`; anything else is part of the text.
fn parse_call(part: &str) -> Option<Spoken<'_>> {
    let (tool, label) = part.trim().rsplit_once('=')?;
    let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    let (tool, argument) = match tool.strip_suffix(')') {
        Some(open) => open.split_once('(').map(|(tool, argument)| (tool, Some(argument)))?,
        None => (tool, None),
    };
    (is_word(tool) && is_word(label)).then_some(Spoken { tool, argument, label })
}

/// A word of the log's own enumerations.
fn word<T: DeserializeOwned>(word: &str) -> T {
    serde_json::from_value(json!(word)).unwrap_or_else(|error| panic!("`{word}`: {error}"))
}

fn approval_id(label: &str) -> String {
    format!("approval-{label}")
}

fn digest(call: &KnownCall) -> String {
    sha256_hex(call.input.as_str().as_bytes())
}

pub(super) fn user_message(text: &str, trust: Trust, queue_item_id: Option<String>) -> Body {
    Body::UserMessage(UserMessage {
        message: MessageContent { content: vec![Block::text(text)], meta: None },
        author: owner(),
        trust,
        ingress: None,
        queue_item_id,
        primed: None,
    })
}

pub(super) fn reminder(
    kind: HarnessKind,
    text: &str,
    merged_into: Option<EventId>,
    queue_item_id: Option<String>,
) -> Body {
    let is_steer = kind == HarnessKind::Steer;
    Body::HarnessItem(HarnessItemEvent {
        item: HarnessItem {
            kind,
            origin: if is_steer { Origin::User } else { Origin::System },
            content: text.into(),
            visibility: if is_steer { Visibility::Display } else { Visibility::Compact },
            data: None,
        },
        trust: OWNER_TRUST,
        author: is_steer.then(owner),
        queue_item_id,
        merged_into,
        primed: None,
    })
}
