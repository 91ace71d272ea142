//! A small language in which a whole log is one line.
//!
//! A test of the engine is about the order of events, and thirty fields of each would hide it.
//! Lines are separated by `|`; `\n` in a text is a new line.
//!
//! | line | event |
//! |---|---|
//! | `user: TEXT`, `user#u1: TEXT`, `user@peer: TEXT`, `user key=K: TEXT` | `user_message`, labelled, of that trust, of that inbox row |
//! | `asked model`, `asked compact` | `model_requested` |
//! | `model: TEXT, tool=c1, other(x)=c2` | `assistant_message`; `tool(?)` has broken arguments; `model#m1:` labels, `model/max_tokens:` stops so |
//! | `failed KIND [retry]` | `model_failed` |
//! | `free c1`, `hold c1`, `forbid c1` | `call_judged`: allow, ask, deny |
//! | `asked c1` | `approval_requested` |
//! | `allow c1`, `deny c1`, `expired c1` | `approval_decided` |
//! | `start c1` | `tool_started` |
//! | `done c1 [TEXT]`, `fail`, `refused`, `cancelled`, `interrupted` | `tool_result` |
//! | `resumed`, `cancel`, `notice TEXT`, `title TEXT` | those |
//! | `ended done` (`failed`, `cancelled`, `bound`) | `turn_ended` |
//! | `note TEXT`, `steer TEXT`, `joined c1 TEXT` | `harness_item`; the last is merged into the result of `c1` |
//! | `queue [key=K] [models=NAME,NAME] TEXT`, `queue steer …` | `queue_update` with one item more |
//! | `taken`, `drained` | the first follow-up as `user_message`, all steers as `harness_item`, and the queue without them |
//! | `started [steps=N] [repeats=N] [wall=N] [tokens=N] [cost=N] [unattended] [models=NAME,NAME]` | `turn_started` |
//! | `retried …` | the same, where the turn has ended: it is open again |
//! | `leaf LABEL`, `leaf root` | `leaf_moved`; the label of a call is its result |
//! | `compact requested`, `compact keep=LABEL TEXT` | `compact_requested`, `compact` |
//! | `snapshot TEXT`, `tools NAME NAME` | `instruction_snapshot`, `toolset_snapshot` |
//! | `later MS` | nothing: the next event is so much later |
//! | `primed LINE`, `cloned LINE` | the event of that line with its `sourceTag` |

mod queue;
mod words;

use std::collections::BTreeMap;

use kith_vocab::event::control::{Queue, QueueItem};
use kith_vocab::event::{Event, SourceTag};
use kith_vocab::ids::{CallId, EventId};
use kith_vocab::json::Json;

use crate::sheet::Sheet;

#[derive(Clone, Debug)]
pub struct Transcript {
    pub events: Vec<Event>,
    /// Events by their label; a result has the label of its call.
    pub labels: BTreeMap<String, EventId>,
    pub calls: BTreeMap<String, CallId>,
    /// The time of the last event, or what `later` made of it.
    pub now: u64,
}

impl Transcript {
    #[track_caller]
    pub fn event(&self, label: &str) -> EventId {
        *self.labels.get(label).unwrap_or_else(|| panic!("no event is labelled `{label}`"))
    }

    #[track_caller]
    pub fn call(&self, label: &str) -> CallId {
        *self.calls.get(label).unwrap_or_else(|| panic!("no call is labelled `{label}`"))
    }

    /// The label of a call, to say in words what is done with it.
    pub fn label_of(&self, call_id: CallId) -> String {
        let label = self.calls.iter().find(|(_, known)| **known == call_id);
        label.map_or_else(|| call_id.to_string(), |(label, _)| label.clone())
    }
}

/// Reads a transcript.
///
/// # Panics
/// On a line it does not know: a test that is not understood must not pass.
#[track_caller]
pub fn transcript(line: &str) -> Transcript {
    let mut scribe = Scribe::new();
    for line in line.split('|').map(str::trim).filter(|line| !line.is_empty()) {
        scribe.line(&line.replace("\\n", "\n"));
    }
    let labels = scribe.labels;
    let calls = scribe.calls.into_iter().map(|(label, call)| (label, call.id)).collect();
    Transcript { now: scribe.sheet.now, events: scribe.sheet.events, labels, calls }
}

/// What a line may refer back to.
struct Scribe {
    sheet: Sheet,
    labels: BTreeMap<String, EventId>,
    calls: BTreeMap<String, KnownCall>,
    tag: Option<SourceTag>,
    open_request: Option<EventId>,
    n_requests: u32,
    n_failures: u32,
    follow_ups: Vec<QueueItem>,
    steers: Vec<QueueItem>,
    n_queued: u32,
    /// The last turn has ended and nobody has spoken since.
    has_ended: bool,
}

#[derive(Clone)]
struct KnownCall {
    id: CallId,
    tool: String,
    input: Json,
    is_open: bool,
}

impl Scribe {
    fn new() -> Scribe {
        Scribe {
            sheet: Sheet::new(),
            labels: BTreeMap::new(),
            calls: BTreeMap::new(),
            tag: None,
            open_request: None,
            n_requests: 0,
            n_failures: 0,
            follow_ups: Vec::new(),
            steers: Vec::new(),
            n_queued: 0,
            has_ended: false,
        }
    }

    fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("primed ") {
            return self.tagged(SourceTag::PrimingScript, rest);
        }
        if let Some(rest) = line.strip_prefix("cloned ") {
            return self.tagged(SourceTag::Clone, rest);
        }
        let is_spoken = |line: &str, who: &str| {
            line.strip_prefix(who).is_some_and(|rest| {
                rest.starts_with([':', '#', '@', '/']) || rest.starts_with(" key=")
            })
        };
        if is_spoken(line, "user") {
            return self.user(line);
        }
        if is_spoken(line, "model") {
            return self.model(line);
        }
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        self.verb(verb, rest.trim());
    }

    fn tagged(&mut self, tag: SourceTag, rest: &str) {
        self.tag = Some(tag);
        self.line(rest);
        self.tag = None;
    }

    fn known_call(&self, label: &str) -> &KnownCall {
        self.calls.get(label).unwrap_or_else(|| panic!("no call is labelled `{label}`"))
    }

    fn known_event(&self, label: &str) -> EventId {
        *self.labels.get(label).unwrap_or_else(|| panic!("no event is labelled `{label}`"))
    }

    fn queue_of(&mut self, queue: Queue) -> &mut Vec<QueueItem> {
        match queue {
            Queue::FollowUp => &mut self.follow_ups,
            Queue::Steer => &mut self.steers,
        }
    }
}

#[cfg(test)]
mod tests;
