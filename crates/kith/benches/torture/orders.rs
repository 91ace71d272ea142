//! Events in any order: folded, decided, and rendered for every wire.
//!
//! A log in a file was written by us; a log in an import, a clone or a newer format may hold
//! anything. Whatever it holds, there must be a step and a request that vendors accept.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use kith_engine::context::context;
use kith_engine::state::State;
use kith_engine::step::decide;
use kith_providers::media::media_of;
use kith_providers::render::{RenderError, render};
use kith_testkit::events::log_of;
use kith_testkit::validators::{Outline, validate};
use kith_vocab::event::models::{Purpose, Wire};
use kith_vocab::event::{Body, Event};
use kith_vocab::json::Json;

use super::chance::Chance;
use super::table::Table;

const EVENTS_MAX: usize = 40;
/// Logs that one thread takes at a time.
const SHARE: u64 = 1000;
/// Failing logs that are named.
const NAMED_MAX: usize = 5;

#[derive(Default)]
struct Counts {
    n_events: AtomicU64,
    n_contexts: AtomicU64,
    n_panics: AtomicU64,
    n_refused: AtomicU64,
    n_unstable: AtomicU64,
    named: Mutex<Vec<String>>,
}

/// What is wrong with the requests of a log.
enum Objection {
    Refused(String),
    Unstable(String),
}

pub(crate) fn run(n_logs: u64, first: u64, seed: u64) -> (Table, bool) {
    let began = Instant::now();
    let counts = Counts::default();
    let next = AtomicU64::new(first);
    let end = first + n_logs;
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                // Ends when all logs are taken.
                loop {
                    let from = next.fetch_add(SHARE, Ordering::Relaxed);
                    if from >= end {
                        return;
                    }
                    (from..end.min(from + SHARE)).for_each(|n| one_log(seed, n, &counts));
                }
            });
        }
    });
    let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
    let seconds = began.elapsed().as_secs_f64();
    let mut table = Table::new(
        "torture-orders",
        &["logs", "events", "contexts", "panics", "refused", "unstable", "seconds"],
    );
    table.row([
        n_logs.to_string(),
        count(&counts.n_events).to_string(),
        count(&counts.n_contexts).to_string(),
        count(&counts.n_panics).to_string(),
        count(&counts.n_refused).to_string(),
        count(&counts.n_unstable).to_string(),
        format!("{seconds:.1}"),
    ]);
    table.note(format!(
        "seed {seed}, logs {first} to {}, each of at most {EVENTS_MAX} events; all wires at the \
         end and at each `model_requested`",
        end.saturating_sub(1)
    ));
    for name in counts.named.lock().expect("nobody panics here").iter() {
        table.note(name.clone());
    }
    let n_bad = count(&counts.n_panics) + count(&counts.n_refused) + count(&counts.n_unstable);
    (table, n_bad == 0)
}

fn one_log(seed: u64, n: u64, counts: &Counts) {
    let mut chance = Chance::of(seed, n);
    let n_events = chance.below(EVENTS_MAX + 1);
    let seeds: Vec<[u8; 8]> = (0..n_events).map(|_| chance.next().to_le_bytes()).collect();
    counts.n_events.fetch_add(n_events as u64, Ordering::Relaxed);
    let (counter, what) = match catch_unwind(AssertUnwindSafe(|| examine(&log_of(&seeds)))) {
        Ok(Ok(n_contexts)) => {
            counts.n_contexts.fetch_add(n_contexts, Ordering::Relaxed);
            return;
        }
        Ok(Err(Objection::Refused(what))) => (&counts.n_refused, format!("refused: {what}")),
        Ok(Err(Objection::Unstable(what))) => (&counts.n_unstable, format!("unstable: {what}")),
        Err(panic) => (&counts.n_panics, format!("panic: {}", words_of(&*panic))),
    };
    counter.fetch_add(1, Ordering::Relaxed);
    let mut named = counts.named.lock().expect("nobody panics here");
    if named.len() < NAMED_MAX {
        named.push(format!("log {n} (repeat: `--orders 1 --first {n} --seed {seed}`): {what}"));
    }
}

/// Folds the log event by event; how many requests were built and accepted.
fn examine(log: &[Event]) -> Result<u64, Objection> {
    let mut state = State::default();
    let mut earlier: Option<Vec<Outline>> = None;
    let mut n_contexts = 0;
    for event in log {
        match &event.body {
            Body::ModelRequested(it) if it.purpose == Purpose::Turn => {
                let now = outlines(&state)?;
                n_contexts += WIRES.len() as u64;
                if let Some(earlier) = &earlier {
                    compare(earlier, &now)?;
                }
                earlier = Some(now);
            }
            // Here the model is shown another path, or a shorter one.
            Body::Compact(_)
            | Body::LeafMoved(_)
            | Body::InstructionSnapshot(_)
            | Body::ToolsetSnapshot(_) => earlier = None,
            _ if event.is_tree() && event.parent_id != state.leaf() => earlier = None,
            _ => (),
        }
        state.fold(event);
        assert_eq!(decide(&state, event.ts), decide(&state, event.ts), "asked twice, two steps");
        decide(&state, u64::MAX);
    }
    outlines(&state)?;
    Ok(n_contexts + WIRES.len() as u64)
}

const WIRES: [Wire; 3] = [Wire::OpenaiChat, Wire::Anthropic, Wire::OpenaiResponses];

fn outlines(state: &State) -> Result<Vec<Outline>, Objection> {
    WIRES.into_iter().map(|wire| outline(wire, state)).collect()
}

fn outline(wire: Wire, state: &State) -> Result<Outline, Objection> {
    let mut context = context(state);
    if context.system.trim().is_empty() {
        "(the log has no snapshot)".clone_into(&mut context.system);
    }
    let parameters = Json::empty_object();
    let request = context.request("scripted", "scripted", &parameters);
    let refused = |error: RenderError| Objection::Refused(error.to_string());
    let media = media_of(wire, &request).map_err(refused)?.into_iter();
    let media = media.map(|it| (it.blob.clone(), b"\x89PNG\r\n\x1a\n".to_vec())).collect();
    let body = render(wire, &request, &media).map_err(refused)?;
    validate(wire, &body).map_err(Objection::Refused)
}

fn compare(earlier: &[Outline], now: &[Outline]) -> Result<(), Objection> {
    for (earlier, now) in earlier.iter().zip(now) {
        let differs =
            |(index, element): &(usize, &String)| now.elements.get(*index) != Some(*element);
        if let Some((index, _)) = earlier.elements.iter().enumerate().find(differs) {
            let n = earlier.elements.len();
            return Err(Objection::Unstable(format!("element {index} of {n} changed")));
        }
    }
    Ok(())
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("(no words)").to_owned()
}
