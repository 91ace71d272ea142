//! A line by itself, whatever stands before it.

use super::{CRC_KEY, Decoder, EventLine, covered, parse_hex, split_prev};
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

/// The checksum, its key and the end of the object.
const CHECKSUM_BYTES: usize = CRC_KEY.len() + 8 + 2;

/// Says of a line that is too long to be held whether it was written to its end.
#[derive(Default)]
pub(crate) struct RunningChecksum {
    crc: u32,
    /// The last bytes, which may be the checksum itself.
    last: Vec<u8>,
}

impl RunningChecksum {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.last.extend_from_slice(bytes);
        let n_covered = self.last.len().saturating_sub(CHECKSUM_BYTES);
        self.crc = crc32c::crc32c_append(self.crc, self.last.get(..n_covered).unwrap_or_default());
        self.last.drain(..n_covered);
    }

    /// Whether the line ends in its right checksum.
    pub(crate) fn is_right(&self) -> bool {
        let digits = self.last.strip_prefix(CRC_KEY).and_then(|it| it.strip_suffix(b"\"}"));
        digits.and_then(parse_hex) == Some(u64::from(self.crc))
    }
}
