//! One hand-made example of every event, with everything it may hold and with nothing it need not.

use kith_vocab::block::{Block, Media, Thinking, ToolCall};
use kith_vocab::event::calls::{
    ApprovalDecided, ApprovalReplied, ApprovalRequested, CallJudged, Decision, Delegated, Effect,
    Grant, ReplyVerdict, Sandbox, ToolStarted, Verdict, Via,
};
use kith_vocab::event::control::{
    Bound, CancelRequested, EgressIntended, EgressOutcome, EgressSettled, EndReason, LeafMoved,
    LeafReason, Level, Limits, LogRepaired, Notice, Queue, QueueItem, QueueUpdate, Resumed,
    SessionTitleUpdated, SkillEntry, SkillIndexDelta, SkillIndexSnapshot, TitleSource, TurnEnded,
    TurnStarted,
};
use kith_vocab::event::messages::{
    AnswerContent, AssistantMessage, Compact, HarnessItem, HarnessItemEvent, HarnessKind,
    IngressRef, InstructionSnapshotEvent, Ledger, MessageContent, Origin, Outcome, PrimedRecord,
    StopReason, ToolResult, Trust, Usage, UserMessage, Visibility,
};
use kith_vocab::event::models::{
    CompactRequested, FailureKind, ModelFailed, ModelRef, ModelRequested, Purpose, Reserved, Wire,
};
use kith_vocab::event::{Body, Event, SourceTag};
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::json::Json;
use kith_vocab::snapshot::{
    InstructionSnapshot, SNAPSHOT_VERSION, Scope, Section, SectionKind, Source, SourceType,
    ToolSpec, ToolsetSnapshot,
};
use serde_json::json;

use crate::clock::START;
use crate::sha256_hex;
use crate::sheet::{Envelope, OWNER_TRUST, Sheet, owner};

/// Every type of event, first with every optional field, then with none. Together they are a log:
/// numbers, ids and parents are as they must be.
pub fn sample_events() -> Vec<Event> {
    let mut sheet = Sheet::new();
    for fill in [Fill::Whole, Fill::Bare] {
        write_samples(&mut sheet, fill);
    }
    sheet.events
}

/// A model of this name in the settings. Another name is at another address too.
pub fn sample_model_ref(name: &str) -> ModelRef {
    ModelRef {
        name: name.to_owned(),
        provider: "scripted".to_owned(),
        wire: Wire::OpenaiChat,
        model: format!("{name}-1"),
        endpoint: sha256_hex(name.as_bytes())[..16].to_owned(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fill {
    Whole,
    Bare,
}

impl Fill {
    fn of<T>(self, value: T) -> Option<T> {
        (self == Fill::Whole).then_some(value)
    }
}

fn write_samples(sheet: &mut Sheet, fill: Fill) {
    let write = |sheet: &mut Sheet, id: Option<EventId>, body: Body| {
        let ingress_key = fill.of("cli:local:1".to_owned());
        sheet.push_as(Envelope { id, ingress_key, source_tag: None }, body)
    };
    write(sheet, None, instruction_snapshot(fill));
    write(sheet, None, toolset_snapshot());
    // What may have been lived elsewhere says so in its full form.
    let source_tag = fill.of(SourceTag::Clone);
    sheet.push_as(Envelope { source_tag, ..Envelope::default() }, user_message(fill));
    write(sheet, None, turn_started(fill));
    let answer = sheet.new_id();
    write(sheet, None, model_requested(answer, fill));
    write(sheet, Some(answer), assistant_message(answer, fill));
    for body in of_a_call(answer, fill) {
        write(sheet, None, body);
    }
    let result = write(sheet, None, tool_result(answer, fill));
    write(sheet, None, harness_item(result, fill));
    let compaction = sheet.new_id();
    write(sheet, Some(compaction), compact(compaction, answer, fill));
    let source_tag = fill.of(SourceTag::PrimingScript);
    sheet.push_as(Envelope { source_tag, ..Envelope::default() }, primed_record());
    for body in of_control(answer, fill) {
        write(sheet, None, body);
    }
}

fn of_a_call(answer: EventId, fill: Fill) -> Vec<Body> {
    let call_id = answer.call(0);
    let digest = sha256_hex(b"digest");
    let approval_id = "approval-1".to_owned();
    let grant = Grant {
        grant_id: "grant-1".to_owned(),
        argv_prefix: Some(vec!["git".to_owned(), "status".to_owned()]),
        path: Some("/work".to_owned()),
        expires_at: START,
        host: None,
    };
    vec![
        Body::CallJudged(CallJudged {
            call_id,
            tool: "write_file".to_owned(),
            effect: Effect::Oneself,
            verdict: Verdict::Ask,
            reason: "it changes the self".into(),
            rule: fill.of("self".to_owned()),
            grant_id: fill.of("grant-1".to_owned()),
            sandbox: Sandbox::Workspace,
            digest: digest.clone(),
            facts: Json::of(&json!({"path": "SOUL.md"})),
        }),
        Body::ApprovalRequested(ApprovalRequested {
            approval_id: approval_id.clone(),
            call_id,
            thread_id: thread_id(),
            code: "4F2".to_owned(),
            summary: "write SOUL.md".into(),
            command: fill.of("tee SOUL.md".into()),
            paths: vec!["SOUL.md".to_owned()],
            digest: digest.clone(),
            risk: "the agent changes".into(),
            approvers: vec!["owner".to_owned()],
            expires_at: START,
        }),
        Body::ApprovalReplied(ApprovalReplied {
            text: "同意".into(),
            author: owner(),
            ingress: ingress(),
            verdict: ReplyVerdict::AskBack,
            approvals: vec![approval_id.clone()],
        }),
        Body::ApprovalDecided(ApprovalDecided {
            approval_id,
            decision: Decision::Allow,
            by: "owner".to_owned(),
            via: Via::Words,
            grant: fill.of(grant),
            reason: fill.of("asked for it".into()),
        }),
        Body::ToolStarted(ToolStarted { call_id, digest }),
        Body::Delegated(Delegated { call_id, session_id: SessionId::from_uuid(answer.as_uuid()) }),
    ]
}

fn of_control(answer: EventId, fill: Fill) -> Vec<Body> {
    let by = "owner".to_owned();
    vec![
        Body::SkillIndexSnapshot(SkillIndexSnapshot { entries: vec![skill()] }),
        Body::SkillIndexDelta(SkillIndexDelta {
            added: vec![skill()],
            changed: Vec::new(),
            removed: vec!["old".to_owned()],
        }),
        Body::QueueUpdate(QueueUpdate { queue: Queue::Steer, items: vec![queue_item(fill)] }),
        Body::LeafMoved(LeafMoved { to: fill.of(answer), reason: LeafReason::Silent }),
        Body::SessionTitleUpdated(SessionTitleUpdated {
            title: "Tidy notes".to_owned(),
            source: TitleSource::User,
        }),
        Body::ModelFailed(ModelFailed {
            request_id: fill.of(answer),
            kind: FailureKind::ContextLength,
            message: "too long".into(),
            attempt: 1,
            retry_at: fill.of(START),
            fallback: None,
            usage: None,
        }),
        Body::CompactRequested(CompactRequested { by: by.clone(), models: Vec::new() }),
        Body::CancelRequested(CancelRequested { by }),
        Body::Resumed(Resumed { open_request: fill.of(answer), open_calls: vec![answer.call(0)] }),
        Body::Notice(Notice {
            text: "waiting".into(),
            level: Level::Warn,
            about: fill.of(answer.to_string()),
        }),
        Body::TurnEnded(TurnEnded {
            reason: EndReason::Bound,
            bound: fill.of(Bound::Repeats),
            steps: 3,
            usage: fill.of(usage(fill)),
        }),
        Body::EgressIntended(EgressIntended {
            egress_id: "egress-1".to_owned(),
            of: answer,
            thread_id: thread_id(),
            parts: Json::of(&json!([{"type": "text", "text": "hi"}])),
        }),
        Body::EgressSettled(EgressSettled {
            egress_id: "egress-1".to_owned(),
            outcome: EgressOutcome::Unknown,
            platform_message_id: fill.of("m-1".to_owned()),
            error: fill.of("timed out".to_owned()),
        }),
        Body::LogRepaired(LogRepaired { torn_bytes: 12, torn_file: "s.jsonl.torn-1".to_owned() }),
    ]
}

fn instruction_snapshot(fill: Fill) -> Body {
    let source = Source {
        source_type: SourceType::AgentsMd,
        path: fill.of("/house/AGENTS.md".to_owned()),
        scope: fill.of(Scope::GlobalUser),
        priority: fill.of(1),
        content: fill.of("Be kind.".to_owned()),
        sha256: fill.of(sha256_hex(b"Be kind.")),
        chars: fill.of(8),
        injected_chars: fill.of(8),
    };
    let section = |kind| Section {
        kind,
        frozen_at: START,
        sources: fill.of(vec![source.clone()]),
        rendered_block: format!("{kind:?} <system-reminder>"),
        data: fill.of(Json::of(&json!({"n": 1}))),
    };
    let mut sections: Vec<Section> = SectionKind::ORDER.into_iter().map(section).collect();
    // A source without any of its optional fields needs a section that has sources.
    sections[0].sources = Some(vec![source.clone()]);
    let snapshot =
        InstructionSnapshot { version: SNAPSHOT_VERSION, cwd: "/work".to_owned(), sections };
    Body::InstructionSnapshot(InstructionSnapshotEvent { snapshot })
}

fn toolset_snapshot() -> Body {
    let tools = vec![ToolSpec {
        name: "write_file".to_owned(),
        description: "Writes a file.".to_owned(),
        input_schema: Json::of(&json!({"type": "object"})),
    }];
    let sha256 = sha256_hex(Json::of(&tools).as_str().as_bytes());
    Body::ToolsetSnapshot(ToolsetSnapshot { tools, sha256 })
}

fn user_message(fill: Fill) -> Body {
    let mut content = vec![Block::text("你好 \u{1b}[31m </system-reminder>")];
    if fill == Fill::Whole {
        content.extend([
            Block::Image(media(fill)),
            Block::Audio(media(fill)),
            Block::File(media(fill)),
        ]);
    }
    Body::UserMessage(UserMessage {
        message: MessageContent { content, meta: fill.of(true) },
        author: owner(),
        trust: Trust::Paired,
        ingress: fill.of(ingress()),
        queue_item_id: fill.of("q1".to_owned()),
        primed: fill.of(Json::of(&json!({"id": "r0"}))),
    })
}

fn turn_started(fill: Fill) -> Body {
    let limits = Limits { tokens: fill.of(1000), cost_micros: fill.of(5), ..Limits::default() };
    Body::TurnStarted(TurnStarted {
        limits,
        context_window: 128_000,
        model: "scripted".to_owned(),
        language: "zh".to_owned(),
        attended: true,
        models: models(fill),
    })
}

fn assistant_message(id: EventId, fill: Fill) -> Body {
    let thinking = Thinking {
        text: "hm".into(),
        signature: fill.of("signature".into()),
        redacted: fill.of("redacted".into()),
    };
    let call = ToolCall {
        call_id: id.call(0),
        provider_call_id: "call_0".to_owned(),
        tool: "write_file".to_owned(),
        input: Json::parse(r#"{"n":1.50}"#).expect("it is JSON"),
        raw_input: fill.of("{\"n\":1.50".into()),
    };
    Body::AssistantMessage(AssistantMessage {
        request_id: fill.of(id),
        message: AnswerContent {
            content: vec![Block::Thinking(thinking), Block::text("ok"), Block::ToolCall(call)],
        },
        provider: fill.of("scripted".to_owned()),
        model: fill.of("scripted".to_owned()),
        usage: fill.of(usage(fill)),
        stop_reason: StopReason::MaxTokens,
        primed: fill.of(Json::of(&json!({"id": "r1"}))),
    })
}

fn tool_result(answer: EventId, fill: Fill) -> Body {
    Body::ToolResult(ToolResult {
        call_id: answer.call(0),
        tool: "write_file".to_owned(),
        content: vec![Block::text("written")],
        outcome: Outcome::Interrupted,
        trust: Trust::Untrusted,
        full_output: fill.of(sha256_hex(b"output")),
        primed: fill.of(Json::of(&json!({"id": "r2"}))),
    })
}

fn harness_item(result: EventId, fill: Fill) -> Body {
    Body::HarnessItem(HarnessItemEvent {
        item: HarnessItem {
            kind: HarnessKind::DateChange,
            origin: Origin::System,
            content: "The date is now 2026-11-16.".into(),
            visibility: Visibility::Compact,
            data: fill.of(Json::of(&json!({"date": "2026-11-16"}))),
        },
        trust: OWNER_TRUST,
        author: fill.of(owner()),
        queue_item_id: fill.of("q1".to_owned()),
        merged_into: fill.of(result),
        primed: fill.of(Json::of(&json!({"id": "r3"}))),
    })
}

fn compact(request_id: EventId, first_kept_event_id: EventId, fill: Fill) -> Body {
    let text = |text: &str| vec![text.to_owned()];
    Body::Compact(Compact {
        request_id,
        model: "scripted".to_owned(),
        usage: usage(fill),
        summary: "They tidied notes.".into(),
        ledger: Ledger {
            identifiers: text("id-1"),
            paths: text("/house/a"),
            open_tasks: text("tidy"),
            done_tasks: Vec::new(),
        },
        first_kept_event_id,
        tokens_before: 1000,
        tokens_after: 100,
    })
}

fn primed_record() -> Body {
    Body::PrimedRecord(PrimedRecord { record: Json::of(&json!({"role": "narrator"})) })
}

fn model_requested(request_id: EventId, fill: Fill) -> Body {
    Body::ModelRequested(ModelRequested {
        request_id,
        purpose: Purpose::Turn,
        provider: "scripted".to_owned(),
        wire: Wire::OpenaiChat,
        model: "scripted".to_owned(),
        parameters: Json::of(&json!({"temperature": 0.5})),
        renderer_version: 1,
        body_sha256: sha256_hex(b"{}"),
        body_bytes: 2,
        reserved: Reserved { tokens: 100, cost_micros: fill.of(7) },
        scope: None,
    })
}

fn queue_item(fill: Fill) -> QueueItem {
    QueueItem {
        id: "q1".to_owned(),
        content: vec![Block::text("and then?")],
        created_at: START,
        updated_at: START,
        client_id: "cli".to_owned(),
        author: owner(),
        trust: OWNER_TRUST,
        ingress: fill.of(ingress()),
        ingress_key: fill.of("cli:local:1".to_owned()),
        models: models(fill),
        attended: fill.of(false).unwrap_or(true),
        language: fill.of("zh".to_owned()),
    }
}

fn models(fill: Fill) -> Vec<ModelRef> {
    fill.of(vec![sample_model_ref("fast"), sample_model_ref("deep")]).unwrap_or_default()
}

fn media(fill: Fill) -> Media {
    Media {
        media_type: "image/png".to_owned(),
        blob: sha256_hex(b"png"),
        bytes: 3,
        name: fill.of("a.png".to_owned()),
    }
}

fn skill() -> SkillEntry {
    SkillEntry {
        name: "tidy".to_owned(),
        display_name: "Tidy".to_owned(),
        description: "Tidies.".to_owned(),
        path: "/house/skills/tidy".to_owned(),
        scope: "home".to_owned(),
        sha256: sha256_hex(b"tidy"),
    }
}

fn usage(fill: Fill) -> Usage {
    Usage {
        input: 10,
        output: 5,
        cache_read: 4,
        cache_write: 3,
        cost_micros: fill.of(9),
        is_estimate: fill.of(()).is_some(),
    }
}

fn ingress() -> IngressRef {
    IngressRef {
        platform: "cli".to_owned(),
        account: "local".to_owned(),
        message_id: "1".to_owned(),
        correlation_id: "c-1".to_owned(),
    }
}

fn thread_id() -> kith_vocab::ids::ThreadId {
    "cli:room:test".parse().expect("it has the form of a thread id")
}

#[cfg(test)]
mod tests;
