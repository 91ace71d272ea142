use kith_testkit::events::{any_event_log, fixed_cases};
use proptest::proptest;

use super::*;

proptest! {
    #![proptest_config(fixed_cases(300))]

    #[test]
    fn a_thrifty_verifier_finds_the_same_or_says_that_it_needs_all(log in any_event_log(80)) {
        let (mut thrifty, mut whole) = (Verifier::thrifty(), Verifier::default());
        for event in &log {
            thrifty.read(event);
            whole.read(event);
        }
        assert!(!whole.needs_all());
        if !thrifty.needs_all() {
            assert_eq!(thrifty.mismatches, whole.mismatches);
        }
        assert_eq!(thrifty.n_requests, whole.n_requests);
    }
}
