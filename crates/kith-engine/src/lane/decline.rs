//! A message that was meant for another place of the conversation.

use kith_vocab::event::Body;
use kith_vocab::event::control::{Level, Notice};
use kith_vocab::ids::LeafId;
use kith_vocab::ingress::IngressEvent;

use crate::session::{CLIENT_ID, Session, SessionError, Watcher};

/// Says in place of the message why it is not said. The row's key stands in the log then, so that a
/// later delivery, or another process after a crash, comes to the same end.
pub(super) fn decline(
    session: &mut Session,
    event: &IngressEvent,
    present: LeafId,
    watcher: &dyn Watcher,
) -> Result<(), SessionError> {
    let text = "A message was not said: the conversation had gone on since its author looked.";
    let (text, about) = (text.to_owned(), Some(present.to_string()));
    let notice = Notice { text, level: Level::Warn, about };
    session.act_for(&event.client_id);
    let id = session.new_event_id();
    session.stage_as(id, Some(event.key.clone()), Body::Notice(notice));
    session.act_for(CLIENT_ID);
    session.commit(watcher)
}
