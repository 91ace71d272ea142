use kith_testkit::clock::FakeClock;
use kith_vocab::clock::Clock;

use super::*;

fn branch(session_id: SessionId, clock: &FakeClock) -> Branch {
    Branch {
        agent_id: "main".to_owned(),
        thread_id: "cli:room:a".parse().unwrap(),
        session_id,
        id: EventId::from_uuid(clock.new_id()),
        to: LeafId::Start,
        expected_leaf: None,
        by: "owner".to_owned(),
        client_id: "cli".to_owned(),
    }
}

#[test]
fn only_the_turn_that_is_meant_is_stopped_and_by_one_only() {
    let clock = FakeClock::new();
    let session_id = SessionId::from_uuid(clock.new_id());
    let [turn, other] = [(); 2].map(|()| EventId::from_uuid(clock.new_id()));
    let wish = branch(session_id, &clock);
    let halts = Halts::default();
    assert!(halts.wish(Victim::Any, &wish).is_none(), "nothing runs");

    let entry = halts.enter(session_id, Some(turn), &CancellationToken::new());
    assert!(halts.wish(Victim::Turn(other), &wish).is_none());
    assert!(
        halts.wish(Victim::Any, &branch(SessionId::from_uuid(clock.new_id()), &clock)).is_none()
    );
    assert!(!entry.halt.is_cancelled() && !entry.cancel.is_cancelled());
    let mut answer = halts.wish(Victim::Turn(turn), &wish).unwrap();
    assert!(entry.halt.is_cancelled() && entry.cancel.is_cancelled());
    assert!(halts.wish(Victim::Any, &wish).is_none(), "someone was quicker");
    let granted = entry.leave().unwrap();
    granted.reply.send(Ok(LeafId::Start)).unwrap();
    assert!(matches!(answer.try_recv(), Ok(Ok(LeafId::Start))));
    assert!(halts.wish(Victim::Any, &wish).is_none(), "it runs no more");
}

#[test]
fn a_turn_that_breaks_off_lets_go_of_who_waits() {
    let clock = FakeClock::new();
    let session_id = SessionId::from_uuid(clock.new_id());
    let halts = Halts::default();
    let cancel = CancellationToken::new();
    let entry = halts.enter(session_id, None, &cancel);
    let mut answer = halts.wish(Victim::Any, &branch(session_id, &clock)).unwrap();
    drop(entry);
    assert!(answer.try_recv().is_err());
    // Whoever runs the turn was not stopped, only the turn.
    assert!(!cancel.is_cancelled());
    let entry = halts.enter(session_id, None, &cancel);
    cancel.cancel();
    assert!(entry.cancel.is_cancelled() && !entry.halt.is_cancelled());
}
