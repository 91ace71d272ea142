//! Sessions that are adopted, put away, opened again, found damaged or removed.

use futures_util::FutureExt;
use kith_sessions::desk::{Inbox, RowTarget, ThreadRecords};
use kith_testkit::files::{CrashModel, Fault, Written};
use kith_testkit::first_events::first_events;
use kith_testkit::gate::Gate;
use kith_testkit::transcript::transcript;
use kith_vocab::event::SourceTag;
use kith_vocab::header::{CloneOrigin, SessionHeader};
use kith_vocab::ids::EventId;

use super::prompts::prove;
use super::*;
use crate::checkpoints::CHECKPOINT_BYTES_MIN;
use crate::command::CommandAction;
use crate::fixture::{header, user_message};
use crate::registry::OPEN_SESSIONS_MAX;
use crate::state::State;

#[tokio::test(start_paused = true)]
async fn an_adopted_session_waits_for_its_first_message_and_shows_its_history() {
    let model = Arc::new(script().says("Yes."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let opening = first_events("Be kind.", &[]).into_iter().map(|body| (None, body));
    let primed = user_message("primed words");
    let bodies = opening.chain([(Some(SourceTag::PrimingScript), primed)]);
    let events: Vec<Event> = (1..)
        .zip(bodies)
        .map(|(seq, (source_tag, body))| Event {
            seq,
            id: EventId::from_uuid(house.clock.new_id()),
            ts: 1,
            client_id: "cli".to_owned(),
            ingress_key: None,
            parent_id: None,
            source_tag,
            body,
        })
        .collect();
    let header = house.adopt(&engine, ROOM, &events).await;
    assert!(resume(&engine).await.is_empty());
    assert!(model.bodies().is_empty());

    let report = ask(&engine, &message("m1", ROOM, "and now?")).await.unwrap();
    assert_eq!((report.session_id, report.text.as_str()), (header.session_id, "Yes."));
    let body = String::from_utf8(model.bodies().remove(0).bytes).unwrap();
    assert!(body.contains("primed words"), "{body}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_no_thread_can_be_in_is_taken_back() {
    let house = TestHouse::new(&Arc::new(script()));
    let engine = house.engine();
    let header = header(house.new_session_id());
    // The file is made, and then the desk refuses.
    house.desk.fail_change_at(0);
    engine.adopt(&header, Vec::new()).await.unwrap_err();
    assert_eq!(house.store().list().unwrap(), []);
    engine.adopt(&header, Vec::new()).await.unwrap();
    assert_eq!(house.store().list().unwrap(), [header.session_id]);
}

#[tokio::test(start_paused = true)]
async fn only_the_least_recently_used_session_is_closed_and_it_opens_again() {
    let model = Arc::new(script());
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let ask_one = async |round: usize, n: usize| {
        let event = message(&format!("m{round}-{n}"), &format!("cli:room:{n}"), "hi");
        ask(&engine, &event).await.unwrap().session_id
    };
    let mut ids = Vec::new();
    for n in 0..OPEN_SESSIONS_MAX {
        ids.push(ask_one(0, n).await);
    }
    within(engine.until_rest()).await;
    assert_eq!(engine.n_sessions(), (0, OPEN_SESSIONS_MAX));
    // The first is spoken to again, so the second is the one that goes.
    ask_one(1, 0).await;
    ask_one(0, OPEN_SESSIONS_MAX).await;
    within(engine.until_rest()).await;
    assert_eq!(engine.n_sessions(), (0, OPEN_SESSIONS_MAX));
    let is_open = |id: SessionId| engine.shared.journal.open_bytes(id).is_some();
    let closed: Vec<usize> = (0..ids.len()).filter(|n| !is_open(ids[*n])).collect();
    assert_eq!(closed, [1]);
    // It opens again where it was.
    assert_eq!(ask_one(1, 1).await, ids[1]);
    let events = house.events(ids[1]);
    let n_said = events.iter().filter(|it| matches!(it.body, Body::UserMessage(_))).count();
    assert_eq!(n_said, 2);
    assert_eq!(house.desk.threads().await.unwrap().len(), OPEN_SESSIONS_MAX + 1);
}

#[tokio::test(start_paused = true)]
async fn a_long_session_goes_on_from_its_checkpoint() {
    let model = Arc::new((0..60).fold(script(), |model, n| model.says(&format!("{n}"))));
    let house = TestHouse::new(&model);
    let mut session_id = None;
    for n in 0..60 {
        // A new host for each message: every one opens the session again.
        let engine = house.engine();
        let text = format!("{n} {}", "word ".repeat(2_000));
        let report = ask(&engine, &message(&format!("m{n}"), ROOM, &text)).await.unwrap();
        session_id = Some(report.session_id);
        within(engine.until_rest()).await;
        engine.flush().await;
        engine.kill();
    }
    let id = session_id.unwrap();
    let engine = house.engine();
    let head = house.desk.head(id).await.unwrap();
    let (cursor, stored) = engine.shared.checkpoints.take(id, head).await.unwrap();
    assert!(house.file(id).len() as u64 >= CHECKPOINT_BYTES_MIN);
    let events = house.events(id);
    assert!(cursor.head.seq < events.len() as u64);
    assert_eq!(stored.n_events, cursor.head.seq);
    let opened = engine.shared.load(id, head).await.unwrap();
    assert!(*opened.state() == State::of(&events));
    prove(&house, id, &model);
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_is_made_again_only_when_the_log_has_grown_by_what_the_last_one_weighed() {
    let model = Arc::new(script().says("One."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let id = ask(&engine, &message("m1", ROOM, "hello")).await.unwrap().session_id;
    within(engine.until_rest()).await;
    engine.kill();
    let engine = house.engine();
    let head = house.desk.head(id).await.unwrap();
    let mut session = engine.shared.load(id, head).await.unwrap();
    let n_bytes = house.file(id).len() as u64;
    assert!(
        session.due_checkpoint(n_bytes).is_some() && session.due_checkpoint(n_bytes + 1).is_none()
    );
    session.note_checkpoint(0);
    assert!(session.due_checkpoint(0).is_some());
    session.note_checkpoint(1);
    assert!(session.due_checkpoint(0).is_none());
}

/// Changes one bit in the middle of a session file.
fn damage(house: &TestHouse, id: SessionId, words: &[u8]) -> Vec<u8> {
    let mut bytes = house.file(id);
    let at = bytes.windows(words.len()).rposition(|it| it == words).unwrap();
    bytes[at] ^= 1;
    house.files.write_raw(house.store().path(id), &bytes);
    bytes
}

/// A house without a host, and its only session, in which the answer "One." is damaged.
async fn damaged_house(model: &Arc<ScriptedModel>) -> (TestHouse, SessionId) {
    let house = TestHouse::new(model);
    let engine = house.engine();
    let damaged = ask(&engine, &message("m1", ROOM, "hello")).await.unwrap().session_id;
    within(engine.until_rest()).await;
    engine.kill();
    damage(&house, damaged, b"One.");
    (house, damaged)
}

#[tokio::test(start_paused = true)]
async fn a_second_repair_leaves_the_copy_to_its_driver() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").says("Two.").behind(&gate));
    let (house, damaged) = damaged_house(&model).await;
    let engine = house.engine();
    let mut second = engine.send(&message("m2", ROOM, "more"), RowTarget::Current).await.unwrap();
    within(gate.reached()).await;
    let (copy, repaired) = engine.repair(damaged).await.unwrap();
    assert!(repaired.is_none());
    gate.open();
    let report = loop {
        match within(second.next()).await.unwrap() {
            RowProgress::Settled(report) => break report,
            RowProgress::Item(FeedItem::Failed(failure)) => panic!("{failure}"),
            RowProgress::Item(_) => (),
        }
    };
    assert_eq!((report.text.as_str(), report.session_id), ("Two.", copy));
    assert_eq!(model.bodies().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_damaged_session_stays_as_it_is_and_its_thread_goes_on_in_a_repaired_copy() {
    let model = Arc::new(script().says("One.").says("Two.").says("Three.").says("Four."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "hello")).await.unwrap();
    ask(&engine, &message("m2", ROOM, "lost")).await.unwrap();
    within(engine.until_rest()).await;
    engine.kill();
    let bytes = damage(&house, first.session_id, b"Two.");

    let engine = house.engine();
    let third = ask(&engine, &message("m3", ROOM, "more")).await.unwrap();
    assert_eq!(third.text, "Three.");
    assert_ne!(third.session_id, first.session_id);
    assert_eq!(house.file(first.session_id), bytes);
    // The copy holds what could be read.
    let body = String::from_utf8(model.bodies()[2].bytes.clone()).unwrap();
    assert!(body.contains("One.") && !body.contains("Two."), "{body}");
    insta::assert_snapshot!(house.outline(third.session_id), @r"
    1/1 instruction_snapshot
    1/1 toolset_snapshot
    1/1 user_message [hello]
    1/1 assistant_message stopReason=end_turn [One.]
    1/1 user_message [lost]
    1/1 harness_item [The log of this conversation was damaged. Something that was said or done at this point is missing and cannot be recovered. Do not guess what it was; ask if it matters.]
    1/1 notice
    1/3 user_message [more]
    2/3 turn_started
    3/3 model_requested
    1/2 assistant_message stopReason=end_turn [Three.]
    2/2 turn_ended reason=done
    ");
    let events = house.events(third.session_id);
    let notice = events.iter().find_map(|event| match &event.body {
        Body::Notice(notice) => Some(notice.text.as_str()),
        _ => None,
    });
    assert!(notice.unwrap().contains("is read-only"), "{notice:?}");
    // What the damaged session holds is not said again.
    let again = ask(&engine, &message("m1", ROOM, "hello")).await.unwrap();
    assert_eq!((again.session_id, again.text.as_str()), (first.session_id, "One."));
    assert_eq!(model.bodies().len(), 3);
    // From now on the thread is there.
    let fourth = ask(&engine, &message("m4", ROOM, "on")).await.unwrap();
    assert_eq!((fourth.session_id, fourth.text.as_str()), (third.session_id, "Four."));
    assert!(house.desk_is_clear(first.session_id).await);
}

#[tokio::test(start_paused = true)]
async fn what_stands_behind_the_damage_is_kept_and_the_model_is_told_what_is_missing() {
    let model = Arc::new(script().says("One.").says("Two.").says("Three."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "hello")).await.unwrap();
    ask(&engine, &message("m2", ROOM, "more")).await.unwrap();
    within(engine.until_rest()).await;
    engine.kill();
    damage(&house, first.session_id, b"One.");
    let engine = house.engine();
    let third = ask(&engine, &message("m3", ROOM, "on")).await.unwrap();
    assert_ne!(third.session_id, first.session_id);
    let bodies = model.bodies();
    let body = String::from_utf8_lossy(&bodies.last().unwrap().bytes);
    let at = |text: &str| body.find(text).unwrap_or_else(|| panic!("{text} is not in {body}"));
    let order = [at("hello"), at("is missing and cannot be recovered"), at("more"), at("Two.")];
    assert!(order.is_sorted() && order[3] < at("\"on\""), "{body}");
    assert!(!body.contains("One."), "{body}");
    // The person is told before the answer.
    let types: Vec<&str> =
        house.events(third.session_id).iter().map(|it| it.body.type_name()).collect();
    let place = |name: &str| types.iter().rposition(|it| *it == name).unwrap();
    assert!(place("notice") < place("model_requested"), "{types:?}");
    // What is behind the damage is not said again either.
    let again = ask(&engine, &message("m2", ROOM, "more")).await.unwrap();
    assert_eq!((again.session_id, model.bodies().len()), (third.session_id, 3));
    assert_eq!((again.text.as_str(), again.end), ("Two.", MessageEnd::Done));
    // Of the one whose answer was lost nothing is made up.
    let lost = ask(&engine, &message("m1", ROOM, "hello")).await.unwrap_err();
    assert!(matches!(lost, EngineError::Failed(SessionFailure::Storage(_))), "{lost}");
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_is_damaged_as_well_is_repaired_in_its_turn() {
    let model = Arc::new(script().says("One.").says("Two.").says("Three."));
    let (house, first) = damaged_house(&model).await;
    let engine = house.engine();
    let second = ask(&engine, &message("m2", ROOM, "more")).await.unwrap().session_id;
    within(engine.until_rest()).await;
    engine.kill();
    damage(&house, second, b"Two.");
    let engine = house.engine();
    // Also somebody who speaks to the first of them.
    let third = message("m3", ROOM, "on");
    let third = engine.send(&third, RowTarget::Session(first)).await.unwrap();
    let third = within(third.end()).await.unwrap();
    assert_eq!(third.text, "Three.");
    assert!(third.session_id != first && third.session_id != second);
    let (copy, made) = engine.repair(second).await.unwrap();
    assert_eq!((copy, made), (third.session_id, None));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_came_during_a_repair_is_followed_into_the_copy() {
    let (house, damaged) = damaged_house(&Arc::new(script().says("One.").says("Two."))).await;
    let engine = house.engine();
    let accepted = engine.accept(&message("m2", ROOM, "more"), RowTarget::Current).await.unwrap();
    let followed = engine.follow_row(&accepted).await.unwrap();
    let (copy, _) = engine.repair(damaged).await.unwrap();
    let report = within(followed.end()).await.unwrap();
    assert_eq!((report.text.as_str(), report.session_id), ("Two.", copy));
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_row_has_moved_before_it_is_followed_is_followed_into_the_copy() {
    let (house, damaged) = damaged_house(&Arc::new(script().says("One.").says("Two."))).await;
    let engine = house.engine();
    let accepted = engine.accept(&message("m2", ROOM, "more"), RowTarget::Current).await.unwrap();
    let (copy, _) = engine.repair(damaged).await.unwrap();
    let followed = engine.follow_row(&accepted).await.unwrap();
    let report = within(followed.end()).await.unwrap();
    assert_eq!((report.text.as_str(), report.session_id), ("Two.", copy));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_told_of_a_repair_before_its_row_moves_is_followed_into_the_copy() {
    let (house, damaged) = damaged_house(&Arc::new(script().says("One.").says("Two."))).await;
    let engine = house.engine();
    let accepted = engine.accept(&message("m2", ROOM, "more"), RowTarget::Current).await.unwrap();
    let mut followed = engine.follow_row(&accepted).await.unwrap();
    // What a driver says that moved the rows before this one was accepted.
    engine.shared.feed.moved(damaged, house.new_session_id());
    let told = within(followed.next()).await.unwrap();
    assert!(matches!(told, RowProgress::Item(FeedItem::Moved { .. })), "{told:?}");
    assert!(!followed.is_closed());
    let report = within(followed.end()).await.unwrap();
    assert_eq!(report.text, "Two.");
    assert_ne!(report.session_id, damaged);
}

#[tokio::test(start_paused = true)]
async fn an_older_session_is_no_copy_whatever_it_says_of_itself() {
    let model = Arc::new(script().says("One.").says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let older = house.new_session_id();
    let damaged = ask(&engine, &message("m1", ROOM, "hello")).await.unwrap().session_id;
    within(engine.until_rest()).await;
    engine.kill();
    assert!(older < damaged);
    let origin = CloneOrigin { session_id: damaged, event_id: house.new_event_id() };
    let header = house.store().header(damaged).unwrap();
    let header = SessionHeader { session_id: older, cloned_from: Some(origin), ..header };
    house.store().create(&header, &[]).unwrap();
    damage(&house, damaged, b"One.");
    let engine = house.engine();
    let report = ask(&engine, &message("m2", ROOM, "more")).await.unwrap();
    assert_eq!(report.text, "Two.");
    assert!(report.session_id > damaged, "it went on in {}", report.session_id);
}

#[tokio::test(start_paused = true)]
async fn a_session_without_its_first_line_goes_on_with_the_rest() {
    let model = Arc::new(script().says("One.").says("Two."));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let first = ask(&engine, &message("m1", ROOM, "hello")).await.unwrap().session_id;
    within(engine.until_rest()).await;
    engine.kill();
    damage(&house, first, b"session_header");
    let engine = house.engine();
    let second = ask(&engine, &message("m2", ROOM, "more")).await.unwrap();
    assert_eq!(second.text, "Two.");
    let bodies = model.bodies();
    let body = String::from_utf8_lossy(&bodies.last().unwrap().bytes);
    assert!(body.contains("hello") && body.contains("One."), "{body}");
}

#[tokio::test(start_paused = true)]
async fn whatever_fails_once_while_a_session_is_repaired_its_message_is_answered() {
    for operation in 1..30 {
        let (house, _) = damaged_house(&Arc::new(script().says("One.").says("Two."))).await;
        house.files.plan(house.files.count() + operation, Fault::FailSync);
        let engine = house.engine();
        engine.send(&message("m2", ROOM, "more"), RowTarget::Current).await.unwrap();
        house.clock.sleep(120_000).await;
        within(engine.until_rest()).await;
        let waiting = house.desk.sessions_with_open_rows().await.unwrap();
        assert_eq!(waiting, [], "operation {operation}");
    }
}

#[tokio::test(start_paused = true)]
async fn followers_of_a_damaged_session_are_told_where_it_goes_on() {
    let model = Arc::new(script().says("One.").says("Two."));
    let (house, id) = damaged_house(&model).await;
    let engine = house.engine();
    let accepted = engine.accept(&message("m2", ROOM, "more"), RowTarget::Current).await.unwrap();
    assert_eq!(accepted.session_id, id);
    let mut followed = engine.subscribe(id, &ResumePoint::default()).await.unwrap().1;
    let mut row = engine.follow_row(&accepted).await.unwrap();
    engine.wake(id);
    let moved_to = loop {
        if let FeedItem::Moved { to } = within(followed.next()).await.unwrap() {
            break to;
        }
    };
    let error = within(followed.next()).await.unwrap_err();
    assert!(matches!(error, crate::feed::SubscriptionError::Ended { .. }), "{error}");
    // Whoever waits for the message goes along.
    let mut was_told = false;
    let report = loop {
        match within(row.next()).await.unwrap() {
            RowProgress::Settled(report) => break report,
            RowProgress::Item(FeedItem::Moved { to }) => was_told = to == moved_to,
            RowProgress::Item(_) => (),
        }
    };
    assert_eq!((report.session_id, report.text.as_str()), (moved_to, "Two."));
    assert!(was_told);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_not_removed_while_its_turn_runs_or_a_message_waits() {
    let gate = Gate::new();
    let model = Arc::new(script().says("One.").behind(&gate));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let event = message("m1", ROOM, "hello");
    let row = engine.send(&event, RowTarget::Current).await.unwrap();
    let id = row.session_id();
    within(gate.reached()).await;
    let error = engine.remove(id).await.unwrap_err();
    assert!(matches!(error, EngineError::InUse { .. }), "{error}");
    gate.open();
    assert_eq!(within(row.end()).await.unwrap().text, "One.");
    within(engine.until_rest()).await;

    // Accepted, and nobody has looked at it yet.
    engine.accept(&message("m2", ROOM, "more"), RowTarget::Current).await.unwrap();
    let error = engine.remove(id).await.unwrap_err();
    assert!(matches!(error, EngineError::InUse { .. }), "{error}");
    assert_eq!(resume(&engine).await, [id]);

    let mut followed = engine.subscribe(id, &ResumePoint::default()).await.unwrap().1;
    engine.remove(id).await.unwrap();
    while !matches!(within(followed.next()).await.unwrap(), FeedItem::Removed) {}
    assert_eq!(house.store().list().unwrap(), []);
    // The key is remembered, so a late delivery is not taken for a new message.
    let accepted = engine.accept(&event, RowTarget::Current).await.unwrap();
    assert!(!accepted.first && !accepted.status.is_open());
    let anew = ask(&engine, &message("m3", ROOM, "anew")).await.unwrap();
    assert_ne!(anew.session_id, id);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_waits_for_a_person_keeps_its_session_open() {
    let model = Arc::new(script());
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let log = transcript(
        "snapshot be kind | tools write_file | user: a | started models=scripted | asked model \
         | model: ok, write_file=c1 | hold c1 | asked c1",
    );
    let waiting: SessionHeader = house.adopt(&engine, ROOM, &log.events).await;
    engine.wake(waiting.session_id);
    within(engine.until_rest()).await;
    for n in 0..=OPEN_SESSIONS_MAX {
        let event = message(&format!("m{n}"), &format!("cli:other:{n}"), "hi");
        ask(&engine, &event).await.unwrap();
    }
    within(engine.until_rest()).await;
    assert!(engine.shared.journal.open_bytes(waiting.session_id).is_some());
    assert_eq!(engine.n_sessions(), (0, OPEN_SESSIONS_MAX));
    assert!(house.desk.open_rows(waiting.session_id).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_command_is_told_why_its_session_could_not_take_it() {
    let house = TestHouse::new(&Arc::new(script().says("One.")));
    let engine = house.engine();
    let cancel = || CommandAction::Cancel { key: None };
    let error = house.command(&engine, house.new_session_id(), cancel()).await.unwrap_err();
    assert!(error.to_string().starts_with("there is no session"), "{error}");

    let first = ask(&engine, &message("m1", ROOM, "hello")).await.unwrap();
    within(engine.until_rest()).await;
    engine.kill();
    let error = house.command(&engine, first.session_id, cancel()).await.unwrap_err();
    assert!(matches!(error, EngineError::Stopping), "{error}");
    damage(&house, first.session_id, b"One.");
    let error = house.command(&house.engine(), first.session_id, cancel()).await.unwrap_err();
    assert!(error.to_string().contains("is damaged at line"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn rows_of_a_damaged_session_that_its_thread_has_left_move_to_the_copy_too() {
    let (house, first) =
        damaged_house(&Arc::new(script().says("One.").says("Two.").says("Three."))).await;
    let engine = house.engine();
    let back = engine.accept(&message("m2", ROOM, "two"), RowTarget::Session(first)).await.unwrap();
    let back = engine.follow_row(&back).await.unwrap();
    let anew = engine.accept(&message("m3", ROOM, "three"), RowTarget::New).await.unwrap();
    resume(&engine).await;
    let report = within(back.end()).await.unwrap();
    assert_eq!(report.end, MessageEnd::Done, "{report:?}");
    assert_ne!(report.session_id, first);
    assert!(resume(&engine).await.is_empty());
    let current = house.desk.current_session("main", &ROOM.parse().unwrap()).await.unwrap();
    assert_eq!(current, Some(anew.session_id));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_when_the_rows_of_a_damaged_session_have_moved_is_answered_in_the_copy()
 {
    let (house, first) =
        damaged_house(&Arc::new(script().says("One.").says("Two.").says("Three."))).await;
    let engine = house.engine();
    let (desk, other) = (house.desk.clone(), engine.clone());
    let mut is_sent = false;
    // The copy is written to once more, after the rows have moved and before the driver ends.
    house.files.set_hook(move |_, _| {
        let current = desk.current_session("main", &ROOM.parse().unwrap()).now_or_never();
        if !is_sent && current.unwrap().unwrap() != Some(first) {
            is_sent = true;
            let event = message("m3", ROOM, "three");
            let accepted = other.accept(&event, RowTarget::Session(first)).now_or_never();
            assert_eq!(accepted.unwrap().unwrap().session_id, first);
            other.wake(first);
        }
        Ok(())
    });
    let second = ask(&engine, &message("m2", ROOM, "two")).await.unwrap();
    assert_ne!(second.session_id, first);
    within(engine.until_rest()).await;
    house.files.remove_hook();
    let outline = house.outline(second.session_id);
    assert_eq!(outline.matches("[three]").count(), 1, "{outline}");
    assert!(outline.contains("[Three.]"), "{outline}");
    assert!(house.desk_is_clear(first).await);
}

#[tokio::test(start_paused = true)]
async fn kill_at_every_write_of_a_repair_makes_one_copy_and_says_the_message_once() {
    let mut n_kills = 0;
    for at in 1.. {
        let model = Arc::new(script().says("One.").says("Two."));
        let mut house = TestHouse::new(&model);
        let engine = house.engine();
        let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap().session_id;
        within(engine.until_rest()).await;
        engine.kill();
        damage(&house, first, b"One.");
        let engine = house.engine();
        house.files.plan(house.files.count() + at, Fault::Kill { written: Written::All });
        let event = message("m2", ROOM, "two");
        let killed = ask(&engine, &event).await.is_err();
        engine.kill();
        house.files = house.files.reboot(CrashModel::PowerCut);
        let engine = house.engine();
        let report = ask(&engine, &event).await.unwrap();
        assert_eq!(report.end, MessageEnd::Done, "{at}: {report:?}");
        within(engine.until_rest()).await;
        assert_eq!(house.store().list().unwrap(), [first, report.session_id], "{at}");
        assert_eq!(house.outline(report.session_id).matches("[two]").count(), 1, "{at}");
        assert!(resume(&engine).await.is_empty());
        if !killed {
            break;
        }
        n_kills += 1;
    }
    assert!(n_kills > 5, "{n_kills}");
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_is_full_during_a_repair_loses_nothing_that_can_be_read() {
    for at in 1..12 {
        let model = Arc::new(script().says("One.").says("Two.").says("Three."));
        let house = TestHouse::new(&model);
        let engine = house.engine();
        let first = ask(&engine, &message("m1", ROOM, "one")).await.unwrap().session_id;
        ask(&engine, &message("m2", ROOM, "two")).await.unwrap();
        within(engine.until_rest()).await;
        engine.kill();
        damage(&house, first, b"Two.");
        let engine = house.engine();
        house.files.plan(house.files.count() + at, Fault::Full);
        let event = message("m3", ROOM, "three");
        if ask(&engine, &event).await.is_err() {
            house.files.heal();
            ask(&engine, &event).await.unwrap();
        }
        let body = String::from_utf8(model.bodies().pop().unwrap().bytes).unwrap();
        assert!(body.contains("One.") && body.contains("three"), "{at}: {body}");
    }
}
