//! What came of many cases of one kind, counted by outcome.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::specimen::Found;

/// Cases that one thread takes at a time.
const SHARE: usize = 64;

/// What came of one kind of harm.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) n_cases: usize,
    pub(crate) whole: usize,
    pub(crate) torn: usize,
    /// Damage by the name it was given.
    pub(crate) named: BTreeMap<&'static str, usize>,
    /// Acknowledged events that were not found, or a history that did not happen.
    pub(crate) altered: usize,
    pub(crate) panics: usize,
    pub(crate) first: Option<String>,
}

impl Tally {
    pub(crate) fn add(&mut self, found: Found, what: impl FnOnce() -> String) {
        self.n_cases += 1;
        match found {
            Found::Whole => self.whole += 1,
            Found::Torn => self.torn += 1,
            Found::Named(code) => *self.named.entry(code.as_str()).or_default() += 1,
            Found::Altered(how) => {
                self.altered += 1;
                self.first.get_or_insert_with(|| format!("{}: {how}", what()));
            }
            Found::Panicked => {
                self.panics += 1;
                self.first.get_or_insert_with(|| format!("{}: panic", what()));
            }
        }
    }

    pub(crate) fn fail(&mut self, what: String) {
        self.altered += 1;
        self.first.get_or_insert(what);
    }

    fn merge(&mut self, other: Tally) {
        self.n_cases += other.n_cases;
        self.whole += other.whole;
        self.torn += other.torn;
        self.altered += other.altered;
        self.panics += other.panics;
        for (code, n) in other.named {
            *self.named.entry(code).or_default() += n;
        }
        self.first = self.first.take().or(other.first);
    }
}

/// Does the cases from 0 on, on every processor there is.
pub(crate) fn each(n_cases: usize, case: impl Fn(usize, &mut Tally) + Sync) -> Tally {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut tally = Tally::default();
        // Ends when all cases are taken.
        loop {
            let from = next.fetch_add(SHARE, Ordering::Relaxed);
            if from >= n_cases {
                return tally;
            }
            (from..n_cases.min(from + SHARE)).for_each(|n| case(n, &mut tally));
        }
    };
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut total = Tally::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            total.merge(thread.join().expect("cases catch their panics"));
        }
    });
    total
}
