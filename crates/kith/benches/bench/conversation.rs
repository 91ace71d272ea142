//! Long lives, written quickly: sessions of any number of events, with compactions or without.

use std::path::Path;
use std::sync::Arc;

use kith_engine::feed::Feed;
use kith_engine::session::{EventSource, Session, SessionParts};
use kith_providers::render::renderer_version;
use kith_sessions::journal::{FilesJournal, Journal};
use kith_sessions::store::SessionStore;
use kith_testkit::first_events::first_events;
use kith_vocab::block::{Block, ToolCall};
use kith_vocab::clock::Clock;
use kith_vocab::event::Body;
use kith_vocab::event::calls::{CallJudged, Effect, Sandbox, Verdict};
use kith_vocab::event::control::{EndReason, Limits, TurnEnded, TurnStarted};
use kith_vocab::event::messages::{
    AnswerContent, AssistantMessage, Compact, Ledger, MessageContent, Outcome, StopReason,
    ToolResult, Trust, Usage, UserMessage,
};
use kith_vocab::event::models::{ModelRequested, Purpose, Reserved, Wire};
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::json::Json;
use serde_json::json;

use super::bench_house::{prompt, tools};
use super::house::{Unsynced, WallClock, header, model_ref, owner};

const HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// How long a life is, and how much is said in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    pub(crate) events_min: u64,
    pub(crate) bytes_min: u64,
    /// Of what a tool gives back; an answer has a quarter of it.
    pub(crate) result_bytes: usize,
    /// Events from one compaction to the next; `None` for a life without any.
    pub(crate) compaction_every: Option<u64>,
}

/// Writes a session of the house in `dir`, in the thread `cli:room:<name>`.
pub(crate) async fn write(dir: &Path, name: &str, length: Length) -> SessionId {
    let store = SessionStore::new(Arc::new(Unsynced), &dir.join(".kith"));
    let id = SessionId::from_uuid(WallClock.new_id());
    let path = store.path(id);
    let journal = Arc::new(FilesJournal::new(store));
    let header = header(id, &format!("cli:room:{name}"));
    let session = Session::new(parts(id, journal), header);
    let mut life = Life { session, length, n_events: 0 };
    for body in first_events(&prompt(), &tools(dir)) {
        life.stage(body);
    }
    let mut next_compaction = length.compaction_every.unwrap_or(u64::MAX);
    // Ends because every turn adds events and bytes.
    loop {
        let spoken = life.turn().await;
        if life.n_events >= next_compaction {
            life.compact(spoken).await;
            next_compaction += length.compaction_every.unwrap_or_default();
        }
        let bytes = std::fs::metadata(&path).expect("the session is there").len();
        if life.n_events >= length.events_min && bytes >= length.bytes_min {
            return id;
        }
    }
}

/// What a session needs that has no engine.
pub(crate) fn parts(id: SessionId, journal: Arc<dyn Journal>) -> SessionParts {
    let feed = Feed::new("bench".to_owned()).session(id);
    SessionParts { journal, feed, clock: Arc::new(WallClock) }
}

struct Life {
    session: Session,
    length: Length,
    n_events: u64,
}

impl Life {
    /// The nine events of a turn with one read, in the batches in which the engine writes them.
    async fn turn(&mut self) -> EventId {
        let spoken = self.stage(user_message());
        self.stage(turn_started());
        let request = self.request(Purpose::Turn).await;
        let call = ToolCall {
            call_id: request.call(0),
            provider_call_id: "call_0".to_owned(),
            tool: "read_file".to_owned(),
            input: Json::of(&json!({"path": "note.txt"})),
            raw_input: None,
        };
        let judged = judged(&call);
        let said = vec![Block::ToolCall(call.clone())];
        self.stage_as(request, answer(request, said, StopReason::ToolCall));
        self.stage(judged);
        self.commit().await;
        self.stage(result(&call, self.length.result_bytes));
        let request = self.request(Purpose::Turn).await;
        let words = vec![Block::text("so it is. ".repeat(self.length.result_bytes / 40 + 1))];
        self.stage_as(request, answer(request, words, StopReason::EndTurn));
        self.stage(Body::TurnEnded(TurnEnded {
            reason: EndReason::Done,
            bound: None,
            steps: 2,
            usage: None,
        }));
        self.commit().await;
        spoken
    }

    async fn compact(&mut self, first_kept_event_id: EventId) {
        let request_id = self.request(Purpose::Compact).await;
        let compact = Compact {
            request_id,
            model: "fake".to_owned(),
            usage: Usage::default(),
            summary: "The note says seven; it has been read often. ".repeat(20).into(),
            ledger: Ledger::default(),
            first_kept_event_id,
            tokens_before: 100_000,
            tokens_after: 1000,
        };
        self.stage_as(request_id, Body::Compact(compact));
        self.commit().await;
    }

    async fn request(&mut self, purpose: Purpose) -> EventId {
        let request_id = EventId::from_uuid(WallClock.new_id());
        self.stage(Body::ModelRequested(ModelRequested {
            request_id,
            purpose,
            provider: "fake".to_owned(),
            wire: Wire::OpenaiChat,
            model: "fake".to_owned(),
            parameters: Json::empty_object(),
            renderer_version: renderer_version(Wire::OpenaiChat),
            body_sha256: HASH.to_owned(),
            body_bytes: 1,
            reserved: Reserved { tokens: 1, cost_micros: None },
            scope: None,
        }));
        self.commit().await;
        request_id
    }

    fn stage(&mut self, body: Body) -> EventId {
        self.n_events += 1;
        self.session.stage(body)
    }

    fn stage_as(&mut self, id: EventId, body: Body) {
        self.n_events += 1;
        self.session.stage_from(EventSource { id: Some(id), ..EventSource::RUNTIME }, body);
    }

    async fn commit(&mut self) {
        self.session.commit().await.expect("a batch is taken");
    }
}

fn user_message() -> Body {
    let text = "Please read the note and tell me what it says.";
    Body::UserMessage(UserMessage {
        message: MessageContent { content: vec![Block::text(text)], meta: None },
        author: owner(),
        trust: Trust::Owner,
        ingress: None,
        queue_item_id: None,
        primed: None,
    })
}

fn turn_started() -> Body {
    Body::TurnStarted(TurnStarted {
        limits: Limits::default(),
        context_window: 128_000,
        model: "fake".to_owned(),
        language: "en".to_owned(),
        attended: true,
        models: vec![model_ref()],
    })
}

fn answer(request_id: EventId, content: Vec<Block>, stop_reason: StopReason) -> Body {
    Body::AssistantMessage(AssistantMessage {
        request_id: Some(request_id),
        message: AnswerContent { content },
        provider: Some("fake".to_owned()),
        model: Some("fake".to_owned()),
        usage: Some(Usage::default()),
        stop_reason,
        primed: None,
    })
}

fn judged(call: &ToolCall) -> Body {
    Body::CallJudged(CallJudged {
        call_id: call.call_id,
        tool: call.tool.clone(),
        effect: Effect::Read,
        verdict: Verdict::Allow,
        reason: "reading is free".into(),
        rule: None,
        grant_id: None,
        sandbox: Sandbox::None,
        digest: HASH.to_owned(),
        facts: Json::empty_object(),
    })
}

fn result(call: &ToolCall, n_bytes: usize) -> Body {
    Body::ToolResult(ToolResult {
        call_id: call.call_id,
        tool: call.tool.clone(),
        content: vec![Block::text("seven, ".repeat(n_bytes / 7 + 1))],
        outcome: Outcome::Done,
        trust: Trust::Owner,
        full_output: None,
        primed: None,
    })
}
