//! One event, or one block of it, as a part of a message.

use jiff::Timestamp;
use kith_vocab::block::Block;
use kith_vocab::event::calls::{ApprovalReplied, ApprovalRequested};
use kith_vocab::event::control::Level;
use kith_vocab::event::messages::{HarnessItemEvent, Visibility};
use kith_vocab::event::models::ModelFailed;
use kith_vocab::ids::EventId;
use kith_vocab::json::Json;
use kith_vocab::text::Text;

use super::{
    ApprovalView, DataPart, ErrorView, FilePart, MessagePart, NoticeView, ReminderView, ReplyView,
    ToolPart, ToolState,
};

/// A line of a reminder that is shown folded.
const FOLDED_CHARS_MAX: usize = 200;

pub(super) fn shown_part(block: &Block) -> Option<MessagePart> {
    match block {
        Block::Text(it) if it.text.is_empty() => None,
        Block::Text(it) => Some(MessagePart::Text { text: it.text.clone() }),
        // What a vendor hides from us is not for a screen, nor is its proof that it said the rest.
        Block::Thinking(it) if it.redacted.is_some() || it.text.is_empty() => None,
        Block::Thinking(it) => Some(MessagePart::Reasoning { text: it.text.clone() }),
        Block::Image(_) | Block::Audio(_) | Block::File(_) => {
            FilePart::of(block).map(MessagePart::File)
        }
        Block::ToolCall(call) => {
            let (tool_name, input) = call.meant();
            Some(MessagePart::DynamicTool(ToolPart {
                tool_name,
                tool_call_id: call.call_id,
                state: ToolState::InputAvailable { input },
            }))
        }
    }
}

pub(super) fn reminder(id: EventId, event: &HarnessItemEvent) -> Option<MessagePart> {
    let item = &event.item;
    let text = match item.visibility {
        Visibility::Hidden => return None,
        Visibility::Display => item.content.clone(),
        Visibility::Compact => {
            let line = item.content.lines().find(|line| !line.trim().is_empty());
            line.unwrap_or_default()
                .trim()
                .chars()
                .take(FOLDED_CHARS_MAX)
                .collect::<String>()
                .into()
        }
    };
    let (kind, origin, visibility) = (item.kind, item.origin, item.visibility);
    let data = ReminderView { kind, origin, visibility, text, author: event.author.clone() };
    Some(MessagePart::Reminder(DataPart { id, data }))
}

pub(super) fn record(id: EventId, record: &Json) -> MessagePart {
    MessagePart::Record(DataPart { id, data: record.clone() })
}

pub(super) fn failure(id: EventId, failed: &ModelFailed) -> MessagePart {
    let data = ErrorView {
        kind: failed.kind,
        text: failed.message.clone(),
        attempt: failed.attempt,
        retried: failed.retry_at.is_some(),
    };
    MessagePart::Error(DataPart { id, data })
}

pub(super) fn question(id: EventId, asked: &ApprovalRequested) -> MessagePart {
    let data = ApprovalView {
        approval_id: asked.approval_id.clone(),
        tool_call_id: asked.call_id,
        code: asked.code.clone(),
        summary: asked.summary.clone(),
        command: asked.command.clone(),
        paths: asked.paths.clone(),
        risk: asked.risk.clone(),
        expires_at: rfc3339(asked.expires_at),
    };
    MessagePart::Approval(DataPart { id, data })
}

pub(super) fn reply(id: EventId, replied: &ApprovalReplied) -> MessagePart {
    let data = ReplyView {
        text: replied.text.clone(),
        author: replied.author.clone(),
        verdict: replied.verdict,
        approvals: replied.approvals.clone(),
    };
    MessagePart::ApprovalReply(DataPart { id, data })
}

pub(super) fn notice(id: EventId, text: Text, level: Level) -> MessagePart {
    MessagePart::Notice(DataPart { id, data: NoticeView { text, level } })
}

pub(super) fn rfc3339(ms: u64) -> String {
    let timestamp = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    format!("{:.3}", timestamp.unwrap_or(Timestamp::MAX))
}
