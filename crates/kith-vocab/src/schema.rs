//! Our types in the JSON Schema of calls: as texts, or as objects that another document describes.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::event::Event;
use crate::event::control::{Bound, Queue, SkillEntry};
use crate::event::messages::{StopReason, Usage};
use crate::event::models::{Purpose, Wire};
use crate::header::{Audience, Priming, SessionHeader};
use crate::ids::{CallId, EventId, LeafId, SessionId, ThreadId};
use crate::ingress::RunningBehavior;
use crate::json::Json;
use crate::snapshot::InstructionSnapshot;

macro_rules! described {
    ($($form:ty: $($name:ty),+;)+) => {$($(
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                <$form>::schema_name()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$form>::json_schema(generator)
            }
        }
    )+)+};
}

described! {
    String: Audience, Bound, CallId, EventId, LeafId, Purpose, Queue, RunningBehavior, SessionId,
        ThreadId, Wire;
    Value: Event, InstructionSnapshot, Json, Priming, SessionHeader, SkillEntry, StopReason, Usage;
}
