//! A line by itself, whatever stands before it.

use super::{Decoder, EventLine, covered, split_prev};
use crate::damage::{BadLine, DamageCode, Flaw};
use crate::texts::BlobRef;

impl Decoder {
    /// Reads a line whose own checksum is right, without asking whether it follows the one before.
    pub(crate) fn intact_event(
        &mut self,
        line: &[u8],
        text_of: &mut dyn FnMut(&BlobRef) -> Result<String, BadLine>,
    ) -> Result<EventLine, BadLine> {
        let Some((_, prev)) = split_prev(covered(line)?) else {
            return Err(Flaw::partial(DamageCode::InvalidEvent, "it has no `prev`").into());
        };
        self.whole_event(line, prev, text_of)
    }
}
