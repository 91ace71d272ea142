//! Messages through desk, driver, log and model.

mod approvals;
mod branching;
mod cloning;
mod compaction;
mod crash_table;
mod crashes;
mod cut_streams;
mod estimates;
mod expecting;
mod following;
mod limits;
mod lives;
mod media;
mod models;
mod obligations;
mod prompts;
mod recovery;
mod running;
mod secrets;
mod sessions;
mod simulated;
mod too_long;
mod turns;
mod waiting;

use kith_testkit::scripted::ScriptedModel;
use kith_vocab::event::Event;

use super::*;
use crate::feed::FeedItem;
use crate::fixture::{TestHouse, ask, message, within};
use crate::report::MessageEnd;

const ROOM: &str = "cli:room:a";

/// Looks before a test gives up on what it waits for.
const LOOKS_MAX: usize = 100_000;

fn script() -> ScriptedModel {
    ScriptedModel::new([])
}

/// Lets the other tasks go on until something holds.
async fn until(holds: impl Fn() -> bool) {
    for _ in 0..LOOKS_MAX {
        if holds() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it never comes");
}

/// Lets the other tasks go on for a while.
async fn pass_a_while() {
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
}

/// Waits for an event of a session.
async fn event_of(subscription: &mut Subscription, fits: impl Fn(&Body) -> bool) -> Arc<Event> {
    loop {
        if let FeedItem::Event(event) = within(subscription.next()).await.unwrap()
            && fits(&event.body)
        {
            return event;
        }
    }
}

/// Goes on with what an earlier host left, and waits until nothing is left to do.
async fn resume(engine: &Engine) -> Vec<SessionId> {
    let sessions = engine.resume_all().await.unwrap();
    within(engine.until_rest()).await;
    sessions
}

#[tokio::test(start_paused = true)]
async fn a_message_is_answered_and_a_repeated_key_gets_the_first_answer_again() {
    let model = Arc::new(script().says("One.").says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let event = message("m1", ROOM, "hello");
    let first = ask(&engine, &event).await.unwrap();
    assert_eq!((first.text.as_str(), first.end), ("One.", MessageEnd::Done));
    engine.kill();

    let engine = house.engine();
    let again = ask(&engine, &event).await.unwrap();
    assert_eq!((again.text.as_str(), again.leaf), ("One.", first.leaf));
    let second = ask(&engine, &message("m2", ROOM, "more")).await.unwrap();
    assert_eq!((second.text.as_str(), second.session_id), ("Two.", first.session_id));
    let again = ask(&engine, &event).await.unwrap();
    assert_eq!((again.text.as_str(), again.leaf), ("One.", first.leaf));
    assert_eq!(model.bodies().len(), 2);
}
