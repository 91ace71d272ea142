//! Projects any log, branches included.
//!
//! The state follows the branches; every event beside the tree is kept with the message it was
//! written after. Then the path is walked as if nothing else had ever been.

use std::collections::HashMap;

use kith_vocab::event::{Body, Event};
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::EventId;

use super::UiMessage;
use super::projection::Projection;
use crate::state::State;

/// The messages of a session's conversation as it is now.
pub fn project(header: &SessionHeader, events: impl IntoIterator<Item = Event>) -> Vec<UiMessage> {
    let mut builder = ProjectionBuilder::default();
    for event in events {
        builder.take(event);
    }
    builder.project(header)
}

/// Gathers the events of a log before they are projected.
#[derive(Default)]
pub struct ProjectionBuilder {
    state: State,
    /// Control events, by the message after which they were written.
    beside: HashMap<Option<EventId>, Vec<SideEvent>>,
}

enum SideEvent {
    Shown(Box<Event>),
    /// An event that no screen shows. It can be large, and only its number counts.
    Passed {
        seq: u64,
    },
}

impl ProjectionBuilder {
    pub fn take(&mut self, event: Event) {
        self.state.fold(&event);
        if event.is_tree() {
            return;
        }
        let beside = self.beside.entry(self.state.leaf()).or_default();
        beside.push(match event.body {
            Body::InstructionSnapshot(_)
            | Body::ToolsetSnapshot(_)
            | Body::SkillIndexSnapshot(_)
            | Body::SkillIndexDelta(_)
            | Body::QueueUpdate(_)
            | Body::ModelRequested(_)
            | Body::CallJudged(_) => SideEvent::Passed { seq: event.seq },
            _ => SideEvent::Shown(Box::new(event)),
        });
    }

    pub fn project(mut self, header: &SessionHeader) -> Vec<UiMessage> {
        let mut projection = Projection::new(header);
        add(&mut projection, self.beside.remove(&None));
        for node in self.state.tree.path() {
            projection.add(&node.event);
            add(&mut projection, self.beside.remove(&Some(node.event.id)));
        }
        projection.into_messages()
    }
}

fn add(projection: &mut Projection, beside: Option<Vec<SideEvent>>) {
    for it in beside.into_iter().flatten() {
        match it {
            SideEvent::Shown(event) => projection.add(&event),
            SideEvent::Passed { seq } => projection.pass(seq),
        }
    }
}
