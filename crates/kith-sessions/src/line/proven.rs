//! Which events need not be read back before they are written.
//!
//! Reading a line back is the surest proof that it can be read later, but for the events of which
//! every turn is made it was a fifteenth of all that a turn costs. For these the proof is given
//! once, by a property test: whatever they hold, their line is read as the event it was. A build
//! with debug assertions, and so every other test, reads back all the same.

use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;

/// Whether the line of such an event is known to be read as what it was. One that holds optional
/// JSON is not: `null` would be read as nothing. Nor is one whose ids were not made by our clock.
pub(super) fn is_proven(event: &Event) -> bool {
    let body = match &event.body {
        Body::AssistantMessage(it) => it.primed.is_none() && it.request_id.is_none_or(is_ours),
        Body::UserMessage(it) => it.primed.is_none(),
        Body::ToolResult(it) => it.primed.is_none(),
        Body::ModelRequested(it) => is_ours(it.request_id),
        Body::TurnStarted(_) | Body::CallJudged(_) | Body::ToolStarted(_) | Body::TurnEnded(_) => {
            true
        }
        _ => false,
    };
    let parent = if event.is_tree() {
        event.parent_id.is_none_or(is_ours)
    } else {
        event.parent_id.is_none()
    };
    body && parent && is_ours(event.id)
}

/// Only ids of version 7 are read.
fn is_ours(id: EventId) -> bool {
    id.as_uuid().get_version_num() == 7
}

#[cfg(test)]
mod tests;
