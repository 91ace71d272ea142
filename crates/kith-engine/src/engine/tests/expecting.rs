//! A message that is meant for one place of the conversation is said there or not at all.

use kith_sessions::desk::RowTarget;
use kith_testkit::files::{CrashModel, Fault, Written};
use kith_testkit::gate::Gate;
use kith_vocab::ingress::IngressEvent;

use super::branching::mover;
use super::*;
use crate::report::TurnReport;

fn expecting(key: &str, text: &str, leaf: LeafId) -> IngressEvent {
    IngressEvent { expected_leaf: Some(leaf), ..message(key, ROOM, text) }
}

fn n_messages(house: &TestHouse, id: SessionId) -> usize {
    house.events(id).iter().filter(|it| matches!(it.body, Body::UserMessage(_))).count()
}

#[tokio::test(start_paused = true)]
async fn a_message_is_said_where_its_author_looked() {
    let house = TestHouse::new(&Arc::new(script().says("One.").says("Two.")));
    let engine = house.engine();
    let first = ask(&engine, &expecting("m1", "one", LeafId::Start)).await.unwrap();
    assert_eq!((first.text.as_str(), first.end), ("One.", MessageEnd::Done));
    let second = expecting("m2", "two", first.leaf.into());
    assert_eq!(ask(&engine, &second).await.unwrap().text, "Two.");
}

#[tokio::test(start_paused = true)]
async fn a_message_for_another_place_is_not_said_now_nor_later() {
    let model = Arc::new(script().says("One.").says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap();
    let second = ask(&engine, &message("m2", ROOM, "two")).await.unwrap();
    let id = first.session_id;
    let late = expecting("late", "too late", first.leaf.into());
    let report = ask(&engine, &late).await.unwrap();
    assert_eq!(report.end, MessageEnd::Declined(second.leaf.into()));
    assert_eq!(report.text, "");
    within(engine.until_rest()).await;
    assert!(house.desk_is_clear(id).await);
    let events = house.events(id);
    let last = events.last().unwrap();
    assert_eq!((last.body.type_name(), last.ingress_key.as_ref()), ("notice", Some(&late.key)));

    // Delivered again: the same answer, in this process and the next, wherever the leaf is by then.
    let file = house.file(id);
    assert_eq!(ask(&engine, &late).await.unwrap(), report);
    assert_eq!(house.file(id), file);
    engine.branch(id, first.leaf.into(), mover(&house)).await.unwrap();
    engine.kill();
    assert_eq!(ask(&house.engine(), &late).await.unwrap(), report);
    assert_eq!((n_messages(&house, id), model.bodies().len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn of_two_messages_for_the_same_place_one_is_said() {
    let model = Arc::new(script().says("Zero.").says("Yes.").says("Never."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = ask(&engine, &message("m0", ROOM, "zero")).await.unwrap();
    // The first of them is said. The second is compared when its line is written: by then a turn
    // is open that did not begin where its author looked.
    let one = expecting("m1", "one", first.leaf.into());
    let two = expecting("m2", "two", first.leaf.into());
    let (one, two) = tokio::join!(ask(&engine, &one), ask(&engine, &two));
    let reports = [one.unwrap(), two.unwrap()];
    let (said, declined): (Vec<&TurnReport>, Vec<&TurnReport>) =
        reports.iter().partition(|it| it.end == MessageEnd::Done);
    assert_eq!((said.len(), declined.len()), (1, 1), "{reports:?}");
    assert_eq!(said[0].text, "Yes.");
    assert!(matches!(declined[0].end, MessageEnd::Declined(_)), "{reports:?}");
    assert_eq!((n_messages(&house, first.session_id), model.bodies().len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn the_progress_of_the_open_turn_is_no_conflict() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").behind(&gate).says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = engine.send(&message("m1", ROOM, "one"), RowTarget::Current).await.unwrap();
    let id = first.session_id();
    within(gate.reached()).await;
    // Its author saw the first message, and no answer yet.
    let seen = crate::state::State::of(&house.events(id)).leaf();
    let second =
        engine.send(&expecting("m2", "two", seen.into()), RowTarget::Current).await.unwrap();
    let stale = expecting("m3", "three", LeafId::Start);
    let stale = ask(&engine, &stale).await.unwrap();
    assert!(matches!(stale.end, MessageEnd::Declined(_)), "{stale:?}");
    gate.open();
    assert_eq!(within(first.end()).await.unwrap().text, "One.");
    assert_eq!(within(second.end()).await.unwrap().text, "Two.");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_waits_with_others_is_told_that_it_was_not_said() {
    let house = TestHouse::new(&Arc::new(script().says("Zero.").says("Two.")));
    let engine = house.engine();
    let first = ask(&engine, &message("m0", ROOM, "zero")).await.unwrap();
    let stale = expecting("m1", "one", LeafId::Start);
    let one = engine.accept(&stale, RowTarget::Current).await.unwrap();
    let one = engine.follow_row(&one).await.unwrap();
    assert_eq!(ask(&engine, &message("m2", ROOM, "two")).await.unwrap().text, "Two.");
    assert_eq!(within(one.end()).await.unwrap().end, MessageEnd::Declined(first.leaf.into()));
}

#[tokio::test(start_paused = true)]
async fn kill_at_every_write_of_a_conflict_never_says_the_message() {
    let mut n_kills = 0;
    for at in 1.. {
        let model = Arc::new(script().says("One."));
        let mut house = TestHouse::new(&model);
        let engine = house.engine();
        let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap();
        within(engine.until_rest()).await;
        let late = expecting("late", "too late", LeafId::Start);
        house.files.plan(house.files.count() + at, Fault::Kill { written: Written::Half });
        let killed = ask(&engine, &late).await.is_err();
        engine.kill();
        house.files = house.files.reboot(CrashModel::PowerCut);
        let engine = house.engine();
        let report = ask(&engine, &late).await.unwrap();
        assert_eq!(report.end, MessageEnd::Declined(first.leaf.into()), "{at}");
        within(engine.until_rest()).await;
        let id = first.session_id;
        assert_eq!((n_messages(&house, id), model.bodies().len()), (1, 1), "{at}");
        assert_eq!(house.outline(id).matches("notice").count(), 1, "{at}");
        assert!(house.desk_is_clear(id).await, "{at}");
        if !killed {
            break;
        }
        n_kills += 1;
    }
    assert!(n_kills >= 1, "{n_kills}");
}
