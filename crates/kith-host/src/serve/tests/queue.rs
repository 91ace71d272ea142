//! Messages that wait are changed by clients other than their authors.

use kith_testkit::gate::Gate;
use kith_testkit::scripted::ScriptedModel;
use kith_vocab::block::plain_text;
use kith_vocab::event::control::{Queue, QueueItem};
use kith_vocab::ingress::MESSAGE_BYTES_MAX;

use super::*;
use crate::calls::message::CancelTurn;
use crate::calls::queue::{EditQueue, QueueChange, QueueView, TakeNext, TakenMessage};

/// A client that follows a session and another that gives commands.
struct QueueClients {
    follower: RawClient,
    other: RawClient,
    session: String,
    n_requests: u32,
}

impl QueueClients {
    /// Waits until a queue holds as many messages, and gives them.
    async fn queued(&mut self, n_items: usize) -> Vec<QueueItem> {
        loop {
            let item = tokio::time::timeout(PATIENCE, self.follower.item()).await.unwrap();
            if let SubscriptionItem::Turn(TurnItem::Event(event)) = item
                && let Body::QueueUpdate(update) = event.body
                && update.items.len() == n_items
            {
                return update.items;
            }
        }
    }

    /// What is said in the next so many turns.
    async fn said(&mut self, n_turns: usize) -> Vec<String> {
        let mut said = Vec::new();
        let mut n_ended = 0;
        while n_ended < n_turns {
            let item = tokio::time::timeout(PATIENCE, self.follower.item()).await.unwrap();
            let SubscriptionItem::Turn(TurnItem::Event(event)) = item else { continue };
            match event.body {
                Body::UserMessage(it) => said.push(plain_text(&it.message.content).to_string()),
                Body::TurnEnded(_) => n_ended += 1,
                _ => (),
            }
        }
        said
    }

    async fn ask<C: Call>(&mut self, call: C) -> Result<C::Answer, CallError> {
        self.n_requests += 1;
        self.other.ask(&self.n_requests.to_string(), &call).await;
        self.other.answer::<C>().await
    }

    async fn edit(&mut self, change: QueueChange) -> Result<Vec<String>, ErrorCode> {
        let (session, queue) = (self.session.clone(), Queue::FollowUp);
        let call = EditQueue { session, edit_id: new_id(), queue, change };
        let edited: Result<QueueView, _> = self.ask(call).await;
        edited.map(|it| it.queue.into_iter().map(|it| it.content).collect()).map_err(|it| it.code)
    }

    async fn take_next(&mut self) -> Result<TakenMessage, CallError> {
        let call = TakeNext { session: self.session.clone(), take_id: new_id() };
        self.ask(call).await
    }
}

impl Listening {
    /// The owner, whose first message is being answered behind the gate, a guest, and clients.
    async fn with_a_guest(&self, gate: &Gate) -> (RawClient, Caller, QueueClients) {
        let mut author = self.connect().await;
        author.ask("m1", &message("m1", "one")).await;
        gate.reached().await;
        let sessions = self.host.reads().list().await.unwrap().data.sessions;
        let session = sessions[0].session_id.to_string();
        let guest = Caller {
            platform: "web".to_owned(),
            user: Author { user_id: "ann".to_owned(), display_name: "Ann".to_owned() },
            trust: Trust::Paired,
            ..Caller::owner("page")
        };
        let mut follower = self.connect().await;
        follower.subscribe("1", &session).await;
        let other = self.connect().await;
        (author, guest, QueueClients { follower, other, session, n_requests: 0 })
    }

    /// The same with a message of the owner's and one of the guest's, which wait in this order.
    async fn with_two_waiting(&self, gate: &Gate) -> (Caller, QueueClients, Vec<QueueItem>) {
        let (mut author, guest, mut clients) = self.with_a_guest(gate).await;
        author.ask("m2", &message("m2", "the owner's")).await;
        clients.queued(1).await;
        let (host, caller) = (Arc::clone(&self.host), guest.clone());
        tokio::spawn(async move {
            let said = message("m3", "the guest's");
            routes::answer(&host, caller, said, Follower::<TurnItem>::none()).await
        });
        let items = clients.queued(2).await;
        (guest, clients, items)
    }
}

fn new_id() -> EventId {
    EventId::from_uuid(SystemClock.new_id())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_waits_is_edited_moved_removed_and_taken_by_another_client() {
    let gate = Gate::new();
    let model = ScriptedModel::new([]).says("never").behind(&gate).says("a").says("b");
    let house = Listening::with_model(model).await;
    let (mut author, _, mut clients) = house.with_a_guest(&gate).await;
    let mut items = Vec::new();
    for (n, (id, text)) in [("m2", "two"), ("m3", "three"), ("m4", "four")].into_iter().enumerate()
    {
        author.ask(id, &message(id, text)).await;
        items = clients.queued(n + 1).await;
    }
    let id = |n: usize| items[n].id.clone();

    let replace = |updated_at, text: &str| {
        let text = text.to_owned();
        QueueChange::Replace { item_id: id(0), updated_at, text }
    };
    let seen = items[0].updated_at;
    let edited = clients.edit(replace(seen, "two and a half")).await;
    assert_eq!(edited.unwrap(), ["two and a half", "three", "four"]);
    // Who has not seen that it was changed does not change it again.
    assert_eq!(clients.edit(replace(seen, "2")).await, Err(ErrorCode::Conflict));
    assert_eq!(clients.edit(replace(seen, " ")).await, Err(ErrorCode::InvalidRequest));
    let moved = QueueChange::Move { item_id: id(2), updated_at: None, to: 0 };
    assert_eq!(clients.edit(moved).await.unwrap(), ["four", "two and a half", "three"]);
    let removed = QueueChange::Remove { item_id: id(1), updated_at: Some(items[1].updated_at) };
    assert_eq!(clients.edit(removed.clone()).await.unwrap(), ["four", "two and a half"]);
    assert_eq!(clients.edit(removed).await, Err(ErrorCode::InvalidRequest));

    // The queue goes on by itself only after a turn that ended well.
    assert_eq!(clients.take_next().await.unwrap_err().code, ErrorCode::RuntimeBusy);
    let cancel = CancelTurn { session: clients.session.clone(), cancel_id: new_id() };
    assert!(clients.ask(cancel).await.unwrap().was_running);
    clients.said(1).await;
    let taken = clients.take_next().await.unwrap();
    assert!(taken.has_begun);
    assert_eq!(taken.queue.iter().map(|it| &it.content).collect::<Vec<_>>(), ["two and a half"]);
    assert_eq!(clients.said(2).await, ["four", "two and a half"]);
    let nothing = clients.take_next().await.unwrap();
    assert_eq!((nothing.has_begun, nothing.queue.len()), (false, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_not_the_owner_changes_only_their_own_waiting_messages() {
    let gate = Gate::new();
    let model = ScriptedModel::new([]).says("never").behind(&gate);
    let house = Listening::with_model(model).await;
    let (guest, clients, items) = house.with_two_waiting(&gate).await;
    let edits = items.iter().map(|item| EditQueue {
        session: clients.session.clone(),
        edit_id: new_id(),
        queue: Queue::FollowUp,
        change: QueueChange::Replace {
            item_id: item.id.clone(),
            updated_at: item.updated_at,
            text: "pay Ann".to_owned(),
        },
    });
    let edits: Vec<EditQueue> = edits.collect();
    for (caller, expected) in [
        // Whoever has the name of the guest elsewhere is somebody else.
        (Caller { platform: "chat".to_owned(), ..guest.clone() }, [Err(ErrorCode::AuthFailed); 2]),
        (Caller { account: "other".to_owned(), ..guest.clone() }, [Err(ErrorCode::AuthFailed); 2]),
        (guest, [Err(ErrorCode::AuthFailed), Ok(())]),
    ] {
        for (edit, expected) in edits.iter().zip(expected) {
            let (caller, edit) = (caller.clone(), edit.clone());
            let answer = routes::answer(&house.host, caller, edit, Follower::<()>::none()).await;
            assert_eq!(answer.map(drop).map_err(|error| error.code), expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_held_is_taken_by_its_author_or_the_owner() {
    let gate = Gate::new();
    let model = ScriptedModel::new([]).says("never").behind(&gate).says("a").says("b");
    let house = Listening::with_model(model).await;
    let (guest, mut clients, items) = house.with_two_waiting(&gate).await;
    let cancel = CancelTurn { session: clients.session.clone(), cancel_id: new_id() };
    assert!(clients.ask(cancel).await.unwrap().was_running);
    clients.said(1).await;
    let take = async |caller: Caller, take_id: EventId| {
        let call = TakeNext { session: clients.session.clone(), take_id };
        let taken = routes::answer(&house.host, caller, call, Follower::<()>::none()).await;
        taken.map(|it| it.data.has_begun).map_err(|error| error.code)
    };
    assert_eq!(take(guest.clone(), new_id()).await, Err(ErrorCode::AuthFailed));
    let edit_first = EditQueue {
        session: clients.session.clone(),
        edit_id: new_id(),
        queue: Queue::FollowUp,
        change: QueueChange::Move { item_id: items[1].id.clone(), updated_at: None, to: 0 },
    };
    let owner = Caller::owner("page");
    routes::answer(&house.host, owner, edit_first, Follower::<()>::none()).await.unwrap();
    let namesake = Caller { platform: "chat".to_owned(), ..guest.clone() };
    assert_eq!(take(namesake, new_id()).await, Err(ErrorCode::AuthFailed));
    let take_id = new_id();
    assert_eq!(take(guest.clone(), take_id).await, Ok(true));
    // Asked again it is the same, although the owner's message is the first now.
    assert_eq!(take(guest, take_id).await, Ok(true));
    assert_eq!(clients.said(2).await, ["the guest's", "the owner's"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_waits_is_not_made_longer_than_one_that_is_sent() {
    let gate = Gate::new();
    let model = ScriptedModel::new([]).says("never").behind(&gate);
    let house = Listening::with_model(model).await;
    let (mut author, _, mut clients) = house.with_a_guest(&gate).await;
    author.ask("m2", &message("m2", "two")).await;
    let items = clients.queued(1).await;
    for (n_bytes, expected) in
        [(MESSAGE_BYTES_MAX + 1, Err(ErrorCode::InvalidRequest)), (MESSAGE_BYTES_MAX, Ok(1))]
    {
        let (item_id, updated_at) = (items[0].id.clone(), items[0].updated_at);
        let change = QueueChange::Replace { item_id, updated_at, text: "m".repeat(n_bytes) };
        assert_eq!(clients.edit(change).await.map(|it| it.len()), expected);
    }
}
