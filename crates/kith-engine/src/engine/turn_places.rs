//! Where the turns of a session stand in its log, for those who show one of them again.

use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{SessionId, ThreadId};

use super::{Engine, EngineError, RowFollower};
use crate::report::{MessageEnd, RowReader};
use crate::turn_tracker::{TurnChange, TurnTracker};

/// A turn of a session that a person's message began.
#[derive(Clone, Debug)]
pub struct TurnPlace {
    /// The message that began it.
    pub message: Event,
    /// The key of the message.
    pub key: String,
    pub thread_id: ThreadId,
    pub agent_id: String,
    /// The questions to people in it: the id of each approval, and the event that asks.
    pub questions: Vec<(String, u64)>,
    /// Whether the model or a tool is at work in it.
    pub is_running: bool,
    /// Whether it cannot go on before a person has answered.
    pub waits_for_person: bool,
    /// The newest event of the log.
    head: u64,
}

impl Engine {
    /// The last turn of a session whose first message is wanted.
    pub async fn find_turn(
        &self,
        id: SessionId,
        is_wanted: impl Fn(&Event) -> bool + Send + Sync,
    ) -> Result<Option<TurnPlace>, EngineError> {
        if !self.shared.journal.exists(id).await? {
            return Ok(None);
        }
        let header = self.shared.journal.header(id).await?;
        let mut found: Option<(TurnPlace, RowReader)> = None;
        let mut turns = TurnTracker::default();
        let mut is_inside = false;
        let mut head = 0;
        let each = &mut |event: Event| {
            head = event.seq;
            if turns.read(&event) == Some(TurnChange::Begun) {
                is_inside = event.is_lived() && is_wanted(&event);
                if let Some(key) = event.ingress_key.clone().filter(|_| is_inside) {
                    let reader = RowReader::new(id, &header.thread_id, &key);
                    let place = TurnPlace {
                        message: event.clone(),
                        key,
                        thread_id: header.thread_id.clone(),
                        agent_id: header.agent_id.clone(),
                        questions: Vec::new(),
                        is_running: false,
                        waits_for_person: false,
                        head,
                    };
                    found = Some((place, reader));
                }
            }
            let Some((place, reader)) = found.as_mut().filter(|_| is_inside) else { return };
            if let Body::ApprovalRequested(it) = &event.body {
                place.questions.push((it.approval_id.clone(), event.seq));
            }
            reader.read(&event);
        };
        self.shared.journal.read(id, None, 0, each).await?;
        Ok(found.map(|(place, reader)| {
            let waits_for_person = reader.settled().is_some_and(|it| it.end == MessageEnd::Waiting);
            let is_running = reader.is_in_turn() && !waits_for_person;
            TurnPlace { is_running, waits_for_person, head, ..place }
        }))
    }

    /// Follows a turn from its first message, also what has happened of it already.
    pub fn follow_turn(&self, id: SessionId, turn: &TurnPlace) -> RowFollower {
        let subscription = self.follow(id, turn.message.seq.saturating_sub(1));
        let reader = RowReader::new(id, &turn.thread_id, &turn.key);
        RowFollower::telling_again(self.clone(), subscription, reader, turn.head)
    }
}
