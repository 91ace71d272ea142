//! Rules that a well-typed event may still break.
//!
//! These rules need nothing but the event itself, so they hold at the moment it is written as well
//! as when a file is read. What needs its neighbours (order, parents, chain) is the log's affair.

use std::collections::HashSet;

use crate::block::Block;
use crate::digest::is_sha256_hex;
use crate::event::{Body, Event};
use crate::json::Json;
use crate::snapshot::{InstructionSnapshot, SNAPSHOT_VERSION, SectionKind, ToolsetSnapshot};

/// Says in words what is wrong with the event, if anything is.
pub fn validate(event: &Event) -> Result<(), String> {
    if event.source_tag.is_some() && !may_be_inherited(&event.body) {
        return Err(format!("`{}` cannot be primed or cloned", event.body.type_name()));
    }
    match &event.body {
        Body::InstructionSnapshot(it) => snapshot(&it.snapshot),
        Body::ToolsetSnapshot(it) => toolset(it),
        Body::UserMessage(it) => {
            optional_object("primed", it.primed.as_ref())?;
            spoken(&it.message.content)
        }
        Body::AssistantMessage(it) => {
            optional_object("primed", it.primed.as_ref())?;
            answer(event, &it.message.content)
        }
        Body::ToolResult(it) => {
            optional_object("primed", it.primed.as_ref())?;
            it.full_output.as_ref().map_or(Ok(()), |hash| sha256("fullOutput", hash))?;
            spoken(&it.content)
        }
        Body::HarnessItem(it) => {
            optional_object("primed", it.primed.as_ref())?;
            optional_object("data", it.item.data.as_ref())
        }
        Body::PrimedRecord(it) => object("record", &it.record),
        Body::QueueUpdate(it) => it.items.iter().try_for_each(|item| spoken(&item.content)),
        Body::ModelRequested(it) => {
            object("parameters", &it.parameters)?;
            sha256("bodySha256", &it.body_sha256)
        }
        Body::CallJudged(it) => {
            object("facts", &it.facts)?;
            sha256("digest", &it.digest)
        }
        Body::ApprovalRequested(it) => sha256("digest", &it.digest),
        Body::ToolStarted(it) => sha256("digest", &it.digest),
        Body::TurnStarted(_)
        | Body::Compact(_)
        | Body::SkillIndexSnapshot(_)
        | Body::SkillIndexDelta(_)
        | Body::LeafMoved(_)
        | Body::SessionTitleUpdated(_)
        | Body::ModelFailed(_)
        | Body::CompactRequested(_)
        | Body::ApprovalReplied(_)
        | Body::ApprovalDecided(_)
        | Body::Delegated(_)
        | Body::CancelRequested(_)
        | Body::Resumed(_)
        | Body::Notice(_)
        | Body::TurnEnded(_)
        | Body::EgressIntended(_)
        | Body::EgressSettled(_)
        | Body::LogRepaired(_) => Ok(()),
    }
}

// What happened elsewhere may be told here, but its obligations (approvals, starts, deliveries)
// stay where they arose.
fn may_be_inherited(body: &Body) -> bool {
    body.is_tree()
        || matches!(
            body,
            Body::InstructionSnapshot(_)
                | Body::ToolsetSnapshot(_)
                | Body::SkillIndexSnapshot(_)
                | Body::SkillIndexDelta(_)
        )
}

fn snapshot(snapshot: &InstructionSnapshot) -> Result<(), String> {
    if snapshot.version != SNAPSHOT_VERSION {
        return Err(format!("snapshot version {} is not {SNAPSHOT_VERSION}", snapshot.version));
    }
    if !snapshot.sections.iter().map(|section| section.kind).eq(SectionKind::ORDER) {
        return Err(
            "a snapshot has the sections baseline, agents, memory, workspace, environment, time, \
             each once and in this order"
                .to_owned(),
        );
    }
    for section in &snapshot.sections {
        optional_object("data", section.data.as_ref())?;
        for source in section.sources.iter().flatten() {
            source.sha256.as_ref().map_or(Ok(()), |hash| sha256("sha256", hash))?;
        }
    }
    Ok(())
}

fn toolset(toolset: &ToolsetSnapshot) -> Result<(), String> {
    sha256("sha256", &toolset.sha256)?;
    let mut names = HashSet::new();
    for tool in &toolset.tools {
        if tool.name.is_empty() || !names.insert(&tool.name) {
            return Err(format!("tool name `{}` is empty or stands twice", tool.name));
        }
        object("inputSchema", &tool.input_schema)?;
    }
    Ok(())
}

/// Content that a person or a tool gave: it can neither call nor think.
fn spoken(content: &[Block]) -> Result<(), String> {
    for block in content {
        match block {
            Block::ToolCall(_) | Block::Thinking(_) => {
                return Err(format!("`{}` stands outside an answer", block.type_name()));
            }
            Block::Image(media) | Block::Audio(media) | Block::File(media) => {
                sha256("blob", &media.blob)?;
            }
            Block::Text(_) => (),
        }
    }
    Ok(())
}

fn answer(event: &Event, content: &[Block]) -> Result<(), String> {
    let mut n_calls = 0;
    for block in content {
        match block {
            Block::ToolCall(call) => {
                let expected = event.id.call(n_calls);
                if call.call_id != expected {
                    return Err(format!("call id `{}` is not `{expected}`", call.call_id));
                }
                object("input", &call.input)?;
                n_calls += 1;
            }
            Block::Image(media) | Block::Audio(media) | Block::File(media) => {
                sha256("blob", &media.blob)?;
            }
            Block::Text(_) | Block::Thinking(_) => (),
        }
    }
    Ok(())
}

fn optional_object(field: &str, json: Option<&Json>) -> Result<(), String> {
    json.map_or(Ok(()), |json| object(field, json))
}

fn object(field: &str, json: &Json) -> Result<(), String> {
    if json.is_object() { Ok(()) } else { Err(format!("`{field}` is not an object")) }
}

fn sha256(field: &str, hex: &str) -> Result<(), String> {
    let refused = || format!("`{field}` is not a SHA-256 in lower-case hex");
    is_sha256_hex(hex).then_some(()).ok_or_else(refused)
}

#[cfg(test)]
mod tests;
