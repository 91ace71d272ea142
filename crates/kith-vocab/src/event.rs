//! The words a session log is written in.
//!
//! One line of a session file is one [`Event`]. An event says what happened, never what the
//! program was planning: plans are worked out from the log, so a stale one cannot be read back.
//! The enumeration is closed; a reader that does not know a word must not guess its meaning.

pub mod calls;
pub mod control;
pub mod messages;
pub mod models;
pub mod texts;

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::EventId;
use crate::tagged_enum;

use calls::{
    ApprovalDecided, ApprovalReplied, ApprovalRequested, CallJudged, Delegated, ToolStarted,
};
use control::{
    CancelRequested, EgressIntended, EgressSettled, LeafMoved, LogRepaired, Notice, QueueUpdate,
    Resumed, SessionTitleUpdated, SkillIndexDelta, SkillIndexSnapshot, TurnEnded, TurnStarted,
};
use messages::{
    AssistantMessage, Compact, HarnessItemEvent, InstructionSnapshotEvent, PrimedRecord,
    ToolResult, UserMessage,
};
use models::{CompactRequested, ModelFailed, ModelRequested};

use crate::snapshot::ToolsetSnapshot;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Rises by one from 1; the header is line 1 of the file and has none.
    pub seq: u64,
    pub id: EventId,
    /// Milliseconds since 1970, UTC.
    pub ts: u64,
    /// Who caused it.
    pub client_id: String,
    /// The inbox row that caused it.
    pub ingress_key: Option<String>,
    /// The conversation event before it, `None` at the root. Always `None` for control events.
    pub parent_id: Option<EventId>,
    /// Set on what was not lived here. Such events oblige to nothing.
    pub source_tag: Option<SourceTag>,
    pub body: Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceTag {
    PrimingScript,
    Clone,
}

tagged_enum! {
    /// What happened.
    pub enum Body {
        InstructionSnapshot(InstructionSnapshotEvent) = "instruction_snapshot",
        ToolsetSnapshot(ToolsetSnapshot) = "toolset_snapshot",
        UserMessage(UserMessage) = "user_message",
        TurnStarted(TurnStarted) = "turn_started",
        AssistantMessage(AssistantMessage) = "assistant_message",
        ToolResult(ToolResult) = "tool_result",
        HarnessItem(HarnessItemEvent) = "harness_item",
        Compact(Compact) = "compact",
        PrimedRecord(PrimedRecord) = "primed_record",
        SkillIndexSnapshot(SkillIndexSnapshot) = "skill_index_snapshot",
        SkillIndexDelta(SkillIndexDelta) = "skill_index_delta",
        QueueUpdate(QueueUpdate) = "queue_update",
        LeafMoved(LeafMoved) = "leaf_moved",
        SessionTitleUpdated(SessionTitleUpdated) = "session_title_updated",
        ModelRequested(ModelRequested) = "model_requested",
        ModelFailed(ModelFailed) = "model_failed",
        CompactRequested(CompactRequested) = "compact_requested",
        CallJudged(CallJudged) = "call_judged",
        ApprovalRequested(ApprovalRequested) = "approval_requested",
        ApprovalReplied(ApprovalReplied) = "approval_replied",
        ApprovalDecided(ApprovalDecided) = "approval_decided",
        ToolStarted(ToolStarted) = "tool_started",
        Delegated(Delegated) = "delegated",
        CancelRequested(CancelRequested) = "cancel_requested",
        Resumed(Resumed) = "resumed",
        Notice(Notice) = "notice",
        TurnEnded(TurnEnded) = "turn_ended",
        EgressIntended(EgressIntended) = "egress_intended",
        EgressSettled(EgressSettled) = "egress_settled",
        LogRepaired(LogRepaired) = "log_repaired",
    }
}

impl Body {
    /// Whether the event is part of the conversation tree and so has a parent.
    pub fn is_tree(&self) -> bool {
        matches!(
            self,
            Body::UserMessage(_)
                | Body::AssistantMessage(_)
                | Body::ToolResult(_)
                | Body::HarnessItem(_)
                | Body::Compact(_)
                | Body::PrimedRecord(_)
        )
    }
}

impl Event {
    pub fn is_tree(&self) -> bool {
        self.body.is_tree()
    }

    /// Whether it happened in this session, as opposed to having been primed or cloned into it.
    pub fn is_lived(&self) -> bool {
        self.source_tag.is_none()
    }

    /// Whether it comes from a priming script, of this session or of the one it was cloned from.
    pub fn is_primed(&self) -> bool {
        match (self.source_tag, &self.body) {
            (None, _) => false,
            (Some(SourceTag::PrimingScript), _) => true,
            (Some(SourceTag::Clone), body) => match body {
                Body::UserMessage(it) => it.primed.is_some(),
                Body::AssistantMessage(it) => it.primed.is_some(),
                Body::ToolResult(it) => it.primed.is_some(),
                Body::HarnessItem(it) => it.primed.is_some(),
                Body::PrimedRecord(_) => true,
                _ => false,
            },
        }
    }
}

/// The place of an event in the batch it was written with: `[i, n]`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPlace(pub u32, pub u32);

impl BatchPlace {
    pub const ALONE: BatchPlace = BatchPlace(1, 1);
}

/// An event as a line holds it, without chain and checksum. The order of the keys is fixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord<'a> {
    pub event: Cow<'a, Event>,
    pub batch: BatchPlace,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordKeys<'a> {
    seq: u64,
    id: EventId,
    ts: u64,
    client_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ingress_key: Option<&'a str>,
    /// Present, if only as `null`, exactly on events of the tree.
    #[expect(clippy::option_option, reason = "absent, null and an id are three things here")]
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<Option<EventId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_tag: Option<SourceTag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    batch: Option<BatchPlace>,
    #[serde(flatten)]
    body: &'a Body,
}

impl Serialize for EventRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let event = &*self.event;
        RecordKeys {
            seq: event.seq,
            id: event.id,
            ts: event.ts,
            client_id: &event.client_id,
            ingress_key: event.ingress_key.as_deref(),
            parent_id: event.is_tree().then_some(event.parent_id),
            source_tag: event.source_tag,
            batch: (self.batch != BatchPlace::ALONE).then_some(self.batch),
            body: &event.body,
        }
        .serialize(serializer)
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EventRecord { event: Cow::Borrowed(self), batch: BatchPlace::ALONE }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Event, D::Error> {
        EventRecord::deserialize(deserializer).map(|record| record.event.into_owned())
    }
}

impl<'de> Deserialize<'de> for EventRecord<'static> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EventVisitor)
    }
}

struct EventVisitor;

impl<'de> Visitor<'de> for EventVisitor {
    type Value = EventRecord<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    // The order is part of the format: an event has one spelling, so reading and writing it again
    // cannot change a byte, and one pass without a buffer reads it.
    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut keys = Keys { map: &mut map, next: None };
        keys.advance()?;
        let seq = keys.required("seq")?;
        let id = keys.required("id")?;
        let ts = keys.required("ts")?;
        let client_id = keys.required("clientId")?;
        let ingress_key = keys.optional("ingressKey")?;
        let parent_id = keys.optional::<Option<EventId>>("parentId")?;
        let source_tag = keys.optional("sourceTag")?;
        let batch = keys.optional("batch")?;
        if keys.next.as_deref() != Some("type") {
            return Err(keys.unexpected("type"));
        }
        let tag: Cow<'de, str> = map.next_value()?;
        let body = Body::read_fields(&tag, map)?;
        if body.is_tree() != parent_id.is_some() {
            return Err(M::Error::custom(if body.is_tree() {
                "missing field `parentId`"
            } else {
                "`parentId` on a control event"
            }));
        }
        let parent_id = parent_id.flatten();
        // An event that is alone in its batch carries no place, so there is one way to write it.
        if let Some(BatchPlace(place, of)) = batch
            && (place == 0 || place > of || of < 2)
        {
            return Err(M::Error::custom(format_args!("`batch` [{place},{of}] is no place")));
        }
        let event = Event { seq, id, ts, client_id, ingress_key, parent_id, source_tag, body };
        Ok(EventRecord { event: Cow::Owned(event), batch: batch.unwrap_or(BatchPlace::ALONE) })
    }
}

/// Takes the keys of an object one by one in a fixed order.
struct Keys<'a, 'de, M> {
    map: &'a mut M,
    next: Option<Cow<'de, str>>,
}

impl<'de, M: MapAccess<'de>> Keys<'_, 'de, M> {
    fn advance(&mut self) -> Result<(), M::Error> {
        self.next = self.map.next_key()?;
        Ok(())
    }

    fn required<T: Deserialize<'de>>(&mut self, key: &'static str) -> Result<T, M::Error> {
        self.optional(key)?.ok_or_else(|| self.unexpected(key))
    }

    fn optional<T: Deserialize<'de>>(&mut self, key: &'static str) -> Result<Option<T>, M::Error> {
        if self.next.as_deref() != Some(key) {
            return Ok(None);
        }
        let value = self.map.next_value()?;
        // The fields of the body follow `type` and are read by it.
        self.advance()?;
        Ok(Some(value))
    }

    fn unexpected(&self, expected: &'static str) -> M::Error {
        match &self.next {
            Some(found) => {
                M::Error::custom(format_args!("expected key `{expected}`, found `{found}`"))
            }
            None => M::Error::missing_field(expected),
        }
    }
}

#[cfg(test)]
mod tests;
