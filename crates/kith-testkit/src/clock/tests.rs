use kith_vocab::ids::EventId;

use super::*;

#[test]
fn time_moves_only_when_told() {
    let clock = FakeClock::new();
    assert_eq!((clock.now(), clock.now()), (START, START));
    clock.advance(5);
    assert_eq!(clock.now(), START + 5);
}

#[test]
fn ids_are_version_7_and_rise_even_when_the_clock_does_not() {
    let clock = FakeClock::new();
    let mut ids = vec![clock.new_id(), clock.new_id()];
    clock.advance(1000);
    ids.push(clock.new_id());
    clock.jump_to(START - 1000);
    ids.push(clock.new_id());
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    for id in ids {
        id.to_string().parse::<EventId>().unwrap();
    }
}

#[test]
fn a_restarted_process_does_not_repeat_ids() {
    let first = FakeClock::new();
    let before = [first.new_id(), first.new_id()];
    let second = FakeClock::starting_at_id(first.next_id_number());
    assert!(!before.contains(&second.new_id()));
    assert_eq!(FakeClock::new().new_id(), before[0]);
}

#[test]
fn setting_the_wall_clock_does_not_move_the_monotonic_one() {
    let clock = FakeClock::new();
    clock.advance(7);
    let before = clock.monotonic();
    clock.jump_to(START - 60_000);
    assert_eq!((clock.now(), clock.monotonic()), (START - 60_000, before));
    clock.advance(5);
    assert_eq!((clock.now(), clock.monotonic()), (START - 59_995, before + 5));
}

#[tokio::test]
async fn waiting_moves_both_clocks() {
    let clock = FakeClock::new();
    let short = clock.sleep(1000);
    clock.sleep(60_000).await;
    short.await;
    assert_eq!((clock.now(), clock.monotonic()), (START + 60_000, 60_000));
    assert_eq!(clock.slept(), [60_000, 1000]);
}

#[tokio::test]
async fn held_sleepers_wait_for_time_to_pass_not_for_the_wall_clock() {
    let clock = FakeClock::new().holding_sleepers();
    let sleeper = tokio::spawn(clock.sleep(10));
    tokio::task::yield_now().await;
    clock.jump_to(START + 60_000);
    clock.advance(9);
    tokio::task::yield_now().await;
    assert!(!sleeper.is_finished());
    clock.advance(1);
    sleeper.await.unwrap();
}
