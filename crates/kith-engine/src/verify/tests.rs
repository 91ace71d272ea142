use kith_providers::render::renderer_version;
use kith_testkit::events::{any_event_log_rendered_by, fixed_cases};
use kith_testkit::transcript::transcript;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::*;

/// Reads the log in both ways; returns how much the two had to compare.
fn check(log: &[Event]) -> Compared {
    let (mut trimming, mut whole) = (Verifier::trimming(), Verifier::default());
    for event in log {
        trimming.read(event);
        whole.read(event);
    }
    assert!(!whole.needs_full_read());
    assert!(whole.other_renderer.is_empty());
    if !trimming.needs_full_read() {
        assert_eq!(trimming.mismatches, whole.mismatches);
    }
    assert_eq!(trimming.n_requests, whole.n_requests);
    Compared {
        mismatches: whole.mismatches.len(),
        trimming: usize::from(!trimming.needs_full_read() && has_compaction(log)),
        needing_all: usize::from(trimming.needs_full_read()),
    }
}

#[derive(Debug, Default)]
struct Compared {
    mismatches: usize,
    /// Logs with a compaction that the thrifty one could follow.
    trimming: usize,
    needing_all: usize,
}

fn has_compaction(log: &[Event]) -> bool {
    log.iter().any(|event| matches!(event.body, Body::Compact(_)))
}

#[test]
fn a_thrifty_verifier_finds_the_same_or_says_that_it_needs_all() {
    let config = fixed_cases(300);
    let mut runner = TestRunner::new(config.clone());
    let logs = any_event_log_rendered_by(80, renderer_version);
    let mut sum = Compared::default();
    for _ in 0..config.cases {
        let compared = check(&logs.new_tree(&mut runner).unwrap().current());
        sum.mismatches += compared.mismatches;
        sum.trimming += compared.trimming;
        sum.needing_all += compared.needing_all;
    }
    // Nobody made the bodies of these logs, so every request that is compared differs.
    let Compared { mismatches, trimming, needing_all } = sum;
    assert!(mismatches > 100 && trimming > 10 && needing_all > 0, "{sum:?}");
}

#[test]
fn a_request_of_another_renderer_is_neither_proven_nor_disproven() {
    let log = transcript("snapshot be kind | user: hi | asked model | model: hello");
    let mut verifier = Verifier::default();
    log.events.iter().for_each(|event| verifier.read(event));
    assert_eq!((verifier.n_requests, verifier.other_renderer.len()), (1, 1));
    assert_eq!(verifier.mismatches, []);
}
