//! The last batches and deltas that a session published.

use std::collections::VecDeque;
use std::sync::Arc;

use kith_vocab::block::{Block, plain_text};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::SessionId;

use super::delta::{DeltaKind, FeedDelta, RunningAnswer};
use crate::failure::SessionFailure;

/// Batches that are kept for subscribers that are slow.
pub const FEED_BATCHES_MAX: usize = 256;
/// Maximum total weight of these batches.
pub const FEED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Deltas that are kept for subscribers that are slow.
pub const FEED_DELTAS_MAX: usize = 4096;
/// Maximum total size of the texts of these deltas.
pub const FEED_DELTA_BYTES_MAX: usize = 1024 * 1024;

/// The weight of an event besides its texts.
const EVENT_BYTES: usize = 512;

/// Limits on what is kept of each session for slow subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedLimits {
    pub batches_max: usize,
    pub bytes_max: usize,
    pub deltas_max: usize,
}

impl Default for FeedLimits {
    fn default() -> FeedLimits {
        let (batches_max, bytes_max) = (FEED_BATCHES_MAX, FEED_BYTES_MAX);
        FeedLimits { batches_max, bytes_max, deltas_max: FEED_DELTAS_MAX }
    }
}

#[derive(Debug)]
pub(super) struct Ring {
    limits: FeedLimits,
    /// The number of the event that will be published next; `None` before a driver said so.
    pub(super) next_seq: Option<u64>,
    pub(super) batches: VecDeque<PublishedBatch>,
    n_bytes: usize,
    pub(super) deltas: VecDeque<Arc<FeedDelta>>,
    delta_bytes: usize,
    /// Deltas up to this number are no longer in the ring.
    pub(super) deltas_dropped_to: u64,
    pub(super) running: Option<RunningAnswer>,
    pub(super) failure: Option<(u64, Arc<SessionFailure>)>,
    /// How often the session failed or moved.
    pub(super) n_endings: u64,
    pub(super) moved_to: Option<SessionId>,
    pub(super) is_removed: bool,
}

#[derive(Debug)]
pub(super) struct PublishedBatch {
    pub(super) order: u64,
    pub(super) events: Vec<Arc<Event>>,
    n_bytes: usize,
}

impl Ring {
    pub(super) fn new(order: u64, limits: FeedLimits) -> Ring {
        Ring {
            limits,
            next_seq: None,
            batches: VecDeque::new(),
            n_bytes: 0,
            deltas: VecDeque::new(),
            delta_bytes: 0,
            deltas_dropped_to: order.saturating_sub(1),
            running: None,
            failure: None,
            n_endings: 0,
            moved_to: None,
            is_removed: false,
        }
    }

    pub(super) fn begin_at(&mut self, next_seq: u64) {
        if self.next_seq != Some(next_seq) {
            self.batches.clear();
            self.n_bytes = 0;
            self.next_seq = Some(next_seq);
        }
    }

    pub(super) fn clear(&mut self) {
        (self.batches, self.n_bytes, self.running) = (VecDeque::new(), 0, None);
        if let Some(last) = self.deltas.back() {
            self.deltas_dropped_to = last.stream_seq;
            (self.deltas, self.delta_bytes) = (VecDeque::new(), 0);
        }
    }

    pub(super) fn push_batch(&mut self, order: u64, events: Vec<Event>) {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return };
        // Batches in the ring are contiguous; a follower that missed an earlier one reads the log.
        self.begin_at(first.seq);
        self.next_seq = Some(last.seq + 1);
        if events.iter().any(ends_a_stream) {
            // The event holds all of it; deltas that come later belong to something else.
            self.running = None;
            self.deltas.clear();
            self.delta_bytes = 0;
            self.deltas_dropped_to = order;
        }
        let n_bytes = events.iter().map(weight).sum();
        self.n_bytes += n_bytes;
        let events = events.into_iter().map(Arc::new).collect();
        self.batches.push_back(PublishedBatch { order, events, n_bytes });
        // The newest batch stays however large it is: those who keep up need no reading.
        let FeedLimits { batches_max, bytes_max, .. } = self.limits;
        while self.batches.len() > 1
            && (self.batches.len() > batches_max || self.n_bytes > bytes_max)
        {
            if let Some(dropped) = self.batches.pop_front() {
                self.n_bytes -= dropped.n_bytes;
            }
        }
    }

    pub(super) fn push_delta(&mut self, delta: FeedDelta) {
        if delta.kind != DeltaKind::Progress {
            match &mut self.running {
                Some(running) if running.request_id == delta.request_id => running.add(&delta),
                _ => {
                    let mut running = RunningAnswer::begun_by(&delta);
                    running.add(&delta);
                    self.running = Some(running);
                }
            }
        }
        self.delta_bytes += delta.text.len();
        self.deltas.push_back(Arc::new(delta));
        while (self.deltas.len() > self.limits.deltas_max
            || self.delta_bytes > FEED_DELTA_BYTES_MAX)
            && let Some(dropped) = self.deltas.pop_front()
        {
            self.delta_bytes -= dropped.text.len();
            self.deltas_dropped_to = dropped.stream_seq;
        }
    }

    pub(super) fn fail(&mut self, order: u64, failure: SessionFailure) {
        self.running = None;
        self.n_endings += 1;
        self.failure = Some((order, Arc::new(failure)));
    }

    /// The first event that is still here.
    pub(super) fn first_seq(&self) -> Option<u64> {
        self.batches.front().and_then(|batch| batch.events.first()).map(|event| event.seq)
    }
}

/// Whether the event ends a streamed answer or call.
fn ends_a_stream(event: &Event) -> bool {
    matches!(
        event.body,
        Body::AssistantMessage(_) | Body::ModelFailed(_) | Body::ToolResult(_) | Body::TurnEnded(_)
    )
}

/// About how much memory an event takes.
fn weight(event: &Event) -> usize {
    let texts = |blocks: &[Block]| -> usize {
        let calls = blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call.input.as_str().len()),
            _ => None,
        });
        plain_text(blocks).len() + calls.sum::<usize>()
    };
    EVENT_BYTES
        + match &event.body {
            Body::UserMessage(it) => texts(&it.message.content),
            Body::AssistantMessage(it) => texts(&it.message.content),
            Body::ToolResult(it) => texts(&it.content),
            Body::HarnessItem(it) => it.item.content.len(),
            Body::InstructionSnapshot(it) => {
                it.snapshot.sections.iter().map(|section| section.rendered_block.len()).sum()
            }
            Body::QueueUpdate(it) => it.items.iter().map(|item| texts(&item.content)).sum(),
            Body::Compact(it) => it.summary.len(),
            Body::PrimedRecord(it) => it.record.as_str().len(),
            _ => 0,
        }
}
