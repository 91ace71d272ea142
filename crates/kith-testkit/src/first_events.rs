//! The events that a session begins with.

use std::sync::Arc;

use kith_vocab::event::Body;
use kith_vocab::event::messages::InstructionSnapshotEvent;
use kith_vocab::json::Json;
use kith_vocab::snapshot::{
    InstructionSnapshot, SNAPSHOT_VERSION, Section, SectionKind, ToolsetSnapshot,
};
use kith_vocab::tool::Tool;

use crate::sha256_hex;

/// The snapshots of a prompt and of tools.
pub fn first_events(prompt: &str, tools: &[Arc<dyn Tool>]) -> Vec<Body> {
    let tools: Vec<_> = tools.iter().map(|tool| tool.spec().clone()).collect();
    let sha256 = sha256_hex(Json::of(&tools).as_str().as_bytes());
    vec![instruction_snapshot(prompt, 1), Body::ToolsetSnapshot(ToolsetSnapshot { tools, sha256 })]
}

/// A snapshot with this text in its first section; the others are empty.
pub fn instruction_snapshot(prompt: &str, frozen_at: u64) -> Body {
    let section = |kind| Section {
        kind,
        frozen_at,
        sources: None,
        rendered_block: if kind == SectionKind::Baseline {
            prompt.to_owned()
        } else {
            String::new()
        },
        data: None,
    };
    let snapshot = InstructionSnapshot {
        version: SNAPSHOT_VERSION,
        cwd: "/work".to_owned(),
        sections: SectionKind::ORDER.map(section).to_vec(),
    };
    Body::InstructionSnapshot(InstructionSnapshotEvent { snapshot })
}
