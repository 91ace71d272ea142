//! Arbitrary logs: any event after any other.
//!
//! Every event is well typed and valid by itself, and the log is well numbered; beyond that nothing
//! makes sense. References (parents, calls, requests, approvals, queue items) come from what was
//! written before, so they often hit something, and sometimes nothing. A log is read off a list of
//! small numbers: dropping or lowering one of them gives a shorter or plainer log, which is how a
//! failing one shrinks.

mod bodies;
mod parts;

use std::collections::HashSet;

use kith_vocab::event::models::Wire;
use kith_vocab::event::{Body, Event, SourceTag};
use kith_vocab::ids::{CallId, EventId};
use proptest::arbitrary::any;
use proptest::collection::vec;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config as ProptestConfig, RngSeed};

use crate::clock::{START, numbered_id};
use crate::sheet::{Envelope, Sheet};

/// Tells which version of the code makes the bytes of a wire. The constants live in a crate that
/// this one may not use, so a test that compares requests passes them.
pub type RendererVersion = fn(Wire) -> u32;

/// A log of at most so many events. Its requests were made by no renderer that ever was: a test
/// that compares them wants [`any_event_log_rendered_by`].
pub fn any_event_log(n_events_max: usize) -> impl Strategy<Value = Vec<Event>> {
    any_event_log_rendered_by(n_events_max, no_renderer)
}

/// A log of at most so many events, whose requests say that this renderer made them.
pub fn any_event_log_rendered_by(
    n_events_max: usize,
    renderer_version: RendererVersion,
) -> impl Strategy<Value = Vec<Event>> {
    let numbers = any::<[u8; SEED_BYTES]>();
    vec(numbers, 0..=n_events_max).prop_map(move |seeds| log_rendered_by(&seeds, renderer_version))
}

/// Lets the requests of a log say that this renderer made them: for logs written by hand.
pub fn set_renderer_version(events: &mut [Event], renderer_version: RendererVersion) {
    for event in events {
        if let Body::ModelRequested(request) = &mut event.body {
            request.renderer_version = renderer_version(request.wire);
        }
    }
}

fn no_renderer(_wire: Wire) -> u32 {
    0
}

/// Where the chance of property tests begins, for whoever wants other cases than the usual ones.
const PROPERTY_SEED: &str = "KITH_PROPERTY_SEED";
const PROPERTY_SEED_USUAL: u64 = 0x6b69_7468;

/// A property test that runs the same cases every time and writes no file. `cargo xtask torture
/// --properties` has it run others, and prints their seed.
pub fn fixed_cases(n_cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: n_cases,
        rng_seed: RngSeed::Fixed(property_seed(std::env::var(PROPERTY_SEED).ok().as_deref())),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn property_seed(named: Option<&str>) -> u64 {
    named.map_or(PROPERTY_SEED_USUAL, |seed| seed.parse().expect("a seed is a number"))
}

const SEED_BYTES: usize = 8;

/// The log that these numbers stand for: for fuzzers and loops that bring their own.
pub fn log_of(seeds: &[[u8; SEED_BYTES]]) -> Vec<Event> {
    log_rendered_by(seeds, no_renderer)
}

/// The same, with requests that say that this renderer made them.
pub fn log_rendered_by(
    seeds: &[[u8; SEED_BYTES]],
    renderer_version: RendererVersion,
) -> Vec<Event> {
    let mut writer = Writer::new(renderer_version);
    for seed in seeds {
        writer.write(Seed { bytes: *seed, at: 0 });
    }
    writer.sheet.events
}

/// Numbers that choose. Zero is always the plainest choice.
#[derive(Clone, Copy, Debug)]
struct Seed {
    bytes: [u8; SEED_BYTES],
    at: usize,
}

impl Seed {
    /// A choice among `n`. An event makes more choices than it has numbers, so they go round.
    fn below(&mut self, n: usize) -> usize {
        let (round, at) = (self.at / SEED_BYTES, self.at % SEED_BYTES);
        self.at += 1;
        // Each round reads the numbers in another way, else choices eight apart would be one.
        let other = if round == 0 { 0 } else { self.bytes[(at + round) % SEED_BYTES] };
        usize::from(self.bytes[at] ^ other.rotate_left(3)) % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    fn maybe<T>(&mut self, value: impl FnOnce(&mut Seed) -> T) -> Option<T> {
        (self.below(2) == 1).then(|| value(self))
    }

    fn among<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn number(&mut self) -> u64 {
        self.below(256) as u64
    }
}

/// What has been written, for what comes after to refer to.
struct Writer {
    renderer_version: RendererVersion,
    sheet: Sheet,
    used: HashSet<EventId>,
    /// Every id there is: of events, and of answers that were asked for.
    ids: Vec<EventId>,
    tree: Vec<EventId>,
    requests: Vec<EventId>,
    calls: Vec<CallId>,
    results: Vec<EventId>,
    n_approvals: usize,
}

impl Writer {
    fn new(renderer_version: RendererVersion) -> Writer {
        Writer {
            renderer_version,
            sheet: Sheet::new(),
            used: HashSet::new(),
            ids: Vec::new(),
            tree: Vec::new(),
            requests: Vec::new(),
            calls: Vec::new(),
            results: Vec::new(),
            n_approvals: 0,
        }
    }

    fn write(&mut self, mut seed: Seed) {
        let chosen = type_of(seed.below(TYPES_BY_WEIGHT.len() + Body::TYPES.len()));
        let type_name = self.or_retry(chosen, &mut seed);
        let id = self.choose_id(type_name, &mut seed);
        let body = self.body(type_name, id, &mut seed);
        if body.is_tree() {
            self.choose_parent(&mut seed);
        }
        let source_tag = self.choose_tag(&body, &mut seed);
        let ingress_key = seed.one_in(4).then(|| parts::ingress_key(&mut seed));
        self.remember(id, &body);
        if let Body::LeafMoved(moved) = &body
            && moved.to.is_none_or(|to| self.tree.contains(&to))
        {
            self.sheet.leaf = moved.to;
        }
        self.sheet.now += seed.number() * seed.number();
        self.sheet.push_as(Envelope { id: Some(id), ingress_key, source_tag }, body);
    }

    // A turn that ended is sometimes retried: a `turn_started` where no turn is open.
    fn or_retry(&self, chosen: &'static str, seed: &mut Seed) -> &'static str {
        let has_ended =
            self.sheet.events.last().is_some_and(|last| matches!(last.body, Body::TurnEnded(_)));
        if has_ended && seed.one_in(4) { "turn_started" } else { chosen }
    }

    // An answer has the id that its request announced, unless it comes unasked.
    fn choose_id(&mut self, type_name: &str, seed: &mut Seed) -> EventId {
        let announced = self.requests.last().copied().filter(|id| !self.used.contains(id));
        match announced {
            Some(id) if matches!(type_name, "assistant_message" | "compact") && !seed.one_in(8) => {
                id
            }
            _ => self.sheet.new_id(),
        }
    }

    fn choose_parent(&mut self, seed: &mut Seed) {
        match seed.below(16) {
            14 => self.sheet.leaf = None,
            15 if !self.tree.is_empty() => self.sheet.leaf = Some(seed.among(&self.tree)),
            _ => (),
        }
    }

    fn choose_tag(&self, body: &Body, seed: &mut Seed) -> Option<SourceTag> {
        let may_be_inherited = body.is_tree()
            || matches!(
                body,
                Body::InstructionSnapshot(_)
                    | Body::ToolsetSnapshot(_)
                    | Body::SkillIndexSnapshot(_)
                    | Body::SkillIndexDelta(_)
            );
        // What was not lived here mostly stands at the beginning.
        let n = if self.sheet.events.len() < 4 { 3 } else { 16 };
        (may_be_inherited && seed.one_in(n))
            .then(|| seed.among(&[SourceTag::PrimingScript, SourceTag::Clone]))
    }

    fn remember(&mut self, id: EventId, body: &Body) {
        self.used.insert(id);
        self.ids.push(id);
        if body.is_tree() {
            self.tree.push(id);
        }
        match body {
            Body::ModelRequested(request) => self.requests.push(request.request_id),
            Body::AssistantMessage(answer) => {
                let n_calls = answer
                    .message
                    .content
                    .iter()
                    .filter(|block| matches!(block, kith_vocab::block::Block::ToolCall(_)));
                self.calls.extend((0..).zip(n_calls).map(|(index, _)| id.call(index)));
            }
            Body::ToolResult(_) => self.results.push(id),
            Body::ApprovalRequested(_) => self.n_approvals += 1,
            _ => (),
        }
    }

    /// The newest of them, or an older one, or one that is not there.
    fn one_of<T: Copy>(pool: &[T], missing: T, seed: &mut Seed) -> T {
        if pool.is_empty() || seed.one_in(12) {
            return missing;
        }
        let age = if seed.below(2) == 0 { 0 } else { seed.below(pool.len()) };
        pool[pool.len() - 1 - age]
    }

    fn call_id(&self, seed: &mut Seed) -> CallId {
        Writer::one_of(&self.calls, unknown_id(seed).call(0), seed)
    }

    fn event_id(&self, seed: &mut Seed) -> EventId {
        Writer::one_of(&self.ids, unknown_id(seed), seed)
    }

    fn tree_id(&self, seed: &mut Seed) -> EventId {
        Writer::one_of(&self.tree, unknown_id(seed), seed)
    }

    fn result_id(&self, seed: &mut Seed) -> EventId {
        Writer::one_of(&self.results, self.event_id(seed), seed)
    }

    fn request_id(&self, seed: &mut Seed) -> EventId {
        Writer::one_of(&self.requests, unknown_id(seed), seed)
    }

    fn approval_id(&self, seed: &mut Seed) -> String {
        let newest = self.n_approvals;
        format!("approval-{}", if seed.below(2) == 0 { newest } else { seed.below(newest + 2) })
    }
}

fn unknown_id(seed: &mut Seed) -> EventId {
    const BEYOND_ANY_LOG: u64 = 1 << 40;
    EventId::from_uuid(numbered_id(START, BEYOND_ANY_LOG + seed.number()))
}

/// The events of a turn come more often than the others, else no call would ever be settled.
const TYPES_BY_WEIGHT: [&str; 33] = [
    "user_message",
    "user_message",
    "user_message",
    "assistant_message",
    "assistant_message",
    "assistant_message",
    "assistant_message",
    "assistant_message",
    "tool_result",
    "tool_result",
    "tool_result",
    "tool_result",
    "tool_result",
    "model_requested",
    "model_requested",
    "model_requested",
    "call_judged",
    "call_judged",
    "call_judged",
    "call_judged",
    "tool_started",
    "tool_started",
    "tool_started",
    "approval_requested",
    "approval_requested",
    "approval_decided",
    "approval_decided",
    "harness_item",
    "harness_item",
    "turn_ended",
    "turn_ended",
    "queue_update",
    "queue_update",
];

fn type_of(choice: usize) -> &'static str {
    TYPES_BY_WEIGHT
        .get(choice)
        .copied()
        .unwrap_or_else(|| Body::TYPES[choice - TYPES_BY_WEIGHT.len()])
}

#[cfg(test)]
mod tests;
