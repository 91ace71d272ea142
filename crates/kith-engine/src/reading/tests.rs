use kith_testkit::events::{any_event_log, fixed_cases};
use kith_testkit::transcript::transcript;
use proptest::proptest;

use super::*;
use crate::step::decide;

const COMPACTED: &str = "user#u1: one | model: an early answer | ended done | user#u2: two | model: b \
                         | ended done | compact keep=u2 Short. | user#u3: three | model: c \
                         | ended done";

proptest! {
    #![proptest_config(fixed_cases(500))]

    #[test]
    fn a_log_amounts_to_the_same_however_it_is_read(log in any_event_log(80)) {
        let (read, whole) = (read(&log).0, State::of(&log));
        assert!(!read.needs_full_read);
        assert_eq!(read.leaf(), whole.leaf());
        assert!(read.conversation == whole.conversation);
        assert_eq!(decide(&read, 1), decide(&whole, 1));
    }
}

#[test]
fn what_stands_before_a_compaction_is_not_held() {
    let (state, n_readings) = read(&transcript(COMPACTED).events);
    assert_eq!(n_readings, 1);
    let held = serde_json::to_string(&state).unwrap();
    assert!(held.contains("three") && !held.contains("an early answer"), "{held}");
    let whole = serde_json::to_string(&State::of(&transcript(COMPACTED).events)).unwrap();
    assert!(whole.contains("an early answer") && whole.len() > held.len(), "{whole}");
}

#[test]
fn a_log_whose_leaf_went_back_behind_a_compaction_is_read_again() {
    let log = transcript(&format!("{COMPACTED} | leaf u1"));
    let (state, n_readings) = read(&log.events);
    assert_eq!(n_readings, 2);
    assert!(state == State::of(&log.events));
}

fn read(log: &[Event]) -> (State, usize) {
    let mut folding = StateReader::default();
    let mut n_readings = 0;
    loop {
        n_readings += 1;
        for event in log {
            folding.take(event);
        }
        if let Some(state) = folding.finish() {
            return (state, n_readings);
        }
    }
}
