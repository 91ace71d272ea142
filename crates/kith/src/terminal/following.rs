//! Which session the terminal shows, and what comes from it.

use std::sync::Arc;

use kith_host::calls::message::MessageTarget;
use kith_host::calls::session::{SessionView, ShowSession};
use kith_host::calls::subscription::{
    ResumePoint, Subscribe, SubscribedTo, SubscriptionEnd, SubscriptionEndReason, SubscriptionItem,
};
use kith_host::calls::thread::GetThread;
use kith_host::client::Client;
use kith_host::error::CallError;
use kith_vocab::clock::BoxFuture;
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::ThreadId;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::conversation::{ShownConversation, remark};
use super::styled::Line;
use super::words::ScreenText;
use super::{Incoming, TerminalChat};
use crate::program::transcript::path::{TranscriptPart, along};

/// Turns shown of a conversation that is continued.
const EARLIER_TURNS_MAX: usize = 3;

/// What is followed.
pub(super) struct FollowedFeed {
    n: u32,
    to: SubscribedTo,
    /// Where another one goes on.
    point: ResumePoint,
    /// `None` once it has ended.
    task: Option<AbortHandle>,
}

impl TerminalChat {
    /// Shows the end of the conversation that goes on, and follows it.
    pub(super) async fn open(&mut self, session: Option<String>) -> Result<(), CallError> {
        if let Some(session) = session {
            let view = self.client.call(ShowSession { session }).await?.data;
            self.go_to(&view);
            return Ok(());
        }
        let (agent_id, thread_id) = (self.agent_id.clone(), self.thread_id.clone());
        let view = session_of_thread(&self.client, agent_id, thread_id).await?;
        if let Some(view) = &view {
            self.show_end_of(view);
        }
        self.go_to_thread(view.as_deref());
        Ok(())
    }

    /// Goes on in a session instead of the folder's.
    pub(super) fn go_to(&mut self, view: &SessionView) {
        let id = view.header.session_id;
        // A session is somebody's.
        self.agent_id.clone_from(&view.header.agent_id);
        self.target = MessageTarget::Session(id.to_string());
        if view.header.cwd != self.cwd.display().to_string() {
            self.printed.push(remark(&format!(
                "{}{}",
                self.language.say(ScreenText::WorksIn),
                view.header.cwd
            )));
        }
        self.show_end_of(view);
        self.take_state_of(view);
        self.follow(SubscribedTo::Session(id.to_string()), end_of(view));
    }

    /// Follows the folder's thread from now on.
    pub(super) fn go_to_thread(&mut self, view: Option<&SessionView>) {
        let (agent_id, thread_id) = (self.agent_id.clone(), self.thread_id.clone());
        if let Some(view) = view {
            self.take_state_of(view);
        }
        let from = view.map(end_of).unwrap_or_default();
        self.follow(SubscribedTo::Thread { agent_id, thread_id }, from);
    }

    /// Looks for the thread's session, and follows it.
    pub(super) fn follow_thread(&mut self) {
        let client = Arc::clone(&self.client);
        let (agent_id, thread_id) = (self.agent_id.clone(), self.thread_id.clone());
        self.spawn_any(async move {
            let view = session_of_thread(&client, agent_id, thread_id).await?;
            Ok(Incoming::OpenedThread(view))
        });
    }

    /// Whether a turn runs there, and what waits.
    fn take_state_of(&mut self, view: &SessionView) {
        self.conversation = self.conversation.in_session(view.header.session_id);
        let now = self.opened.elapsed();
        for event in &view.events {
            self.conversation.take(&item(event), self.columns, now);
        }
    }

    /// Prints the last turns of the path.
    fn show_end_of(&mut self, view: &SessionView) {
        let events: Vec<&Event> = along(&view.events, view.leaf)
            .into_iter()
            .filter_map(|part| match part {
                TranscriptPart::Event(event) if event.is_tree() => Some(event),
                _ => None,
            })
            .collect();
        let said = events.iter().enumerate();
        let said = said.filter(|(_, event)| matches!(event.body, Body::UserMessage(_)));
        let places: Vec<usize> = said.map(|(place, _)| place).collect();
        let first = places.iter().rev().nth(EARLIER_TURNS_MAX - 1).copied().unwrap_or_default();
        let mut lines: Vec<Line> = Vec::new();
        if first > 0 {
            lines.push(remark(self.language.say(ScreenText::Earlier)));
        }
        let mut past = ShownConversation::new(self.language, 0).of_the_past();
        for event in &events[first..] {
            lines.extend(past.take(&item(event), self.columns, std::time::Duration::ZERO));
        }
        self.printed.extend(lines);
    }

    fn follow(&mut self, to: SubscribedTo, point: ResumePoint) {
        if let Some(task) = self.subscription.take().and_then(|before| before.task) {
            task.abort();
        }
        self.n_subscriptions += 1;
        let n = self.n_subscriptions;
        let (client, sender) = (Arc::clone(&self.client), self.sender.clone());
        let call = Subscribe { to: to.clone(), from: point.clone() };
        let task = self.tasks.spawn(async move {
            let feed = sender.clone();
            let take = move |item| -> BoxFuture<'static, ()> {
                let feed = feed.clone();
                Box::pin(async move {
                    // The receiver lives as long as the terminal; after that nobody looks.
                    feed.send(Incoming::Feed(n, Box::new(item))).await.unwrap_or_default();
                })
            };
            let ended = client.follow_paced(call, take, CancellationToken::new()).await;
            let ended = ended.map(|response| response.data);
            sender.send(Incoming::Unfollowed(n, ended)).await.unwrap_or_default();
        });
        self.subscription = Some(FollowedFeed { n, to, point, task: Some(task) });
    }

    /// Follows what was followed, if that has ended.
    pub(super) fn follow_again(&mut self) {
        if self.subscription.as_ref().is_some_and(|it| it.task.is_none())
            && let Some(FollowedFeed { to, point, .. }) = self.subscription.take()
        {
            self.follow(to, point);
        }
    }

    pub(super) fn take_item(&mut self, n: u32, item: &SubscriptionItem) {
        let Some(subscription) = self.subscription.as_mut().filter(|it| it.n == n) else { return };
        item.advance(&mut subscription.point);
        let now = self.opened.elapsed();
        let lines = self.conversation.take(item, self.columns, now);
        self.printed.extend(lines);
        if *item == SubscriptionItem::Removed && matches!(self.target, MessageTarget::Session(_)) {
            self.target = MessageTarget::New;
            self.follow_thread();
        }
    }

    pub(super) fn unfollowed(&mut self, n: u32, ended: Result<SubscriptionEnd, CallError>) {
        let Some(subscription) = self.subscription.as_mut().filter(|it| it.n == n) else { return };
        subscription.task = None;
        match ended {
            // Another process was the host: this one, or the next, goes on where it ended.
            Ok(SubscriptionEnd { reason, resume_point }) => {
                if let Some(point) = resume_point {
                    subscription.point = point;
                }
                if matches!(
                    reason,
                    SubscriptionEndReason::HostEnded | SubscriptionEndReason::Stalled
                ) {
                    self.follow_again();
                }
            }
            // The next message tries again.
            Err(error) => self.tell(&error),
        }
    }
}

fn item(event: &Event) -> SubscriptionItem {
    SubscriptionItem::Turn(kith_host::calls::feed::TurnItem::Event(Box::new(event.clone())))
}

/// The point behind the last event.
fn end_of(view: &SessionView) -> ResumePoint {
    ResumePoint {
        session_id: Some(view.header.session_id),
        persistent_last_seq: view.events.last().map_or(0, |event| event.seq),
        ..ResumePoint::default()
    }
}

async fn session_of_thread(
    client: &Client,
    agent_id: String,
    thread_id: ThreadId,
) -> Result<Option<Box<SessionView>>, CallError> {
    let call = GetThread { agent_id: Some(agent_id), thread_id };
    let Some(current) = client.call(call).await?.data.session else { return Ok(None) };
    let session = current.session_id.to_string();
    Ok(Some(Box::new(client.call(ShowSession { session }).await?.data)))
}
