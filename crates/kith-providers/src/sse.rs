//! Server-Sent Events from bytes cut anywhere.
//!
//! Each byte is looked at a fixed number of times, however the stream is cut: a decoder that
//! searches its buffer again with every piece takes seconds for one large event.

/// Of one event: its lines and the data gathered from them.
pub(crate) const SSE_EVENT_BYTES_MAX: usize = 8 * 1024 * 1024;

const BYTE_ORDER_MARK: &str = "\u{feff}";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// The name of the event, empty when it has none.
    pub(crate) name: String,
    pub(crate) data: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SseError {
    #[error("sent an event of more than {SSE_EVENT_BYTES_MAX} bytes")]
    TooLong,
    #[error("sent bytes that are not UTF-8: check the base URL")]
    NotUtf8,
}

#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    /// The line that has begun and not ended.
    line: Vec<u8>,
    name: String,
    /// The data lines so far, each with a line feed.
    data: String,
    /// The last byte was a carriage return, so a line feed right now belongs to it.
    after_return: bool,
    after_first_line: bool,
}

impl SseDecoder {
    /// Takes the next bytes and appends the events they complete. After an error the stream is
    /// worth nothing more; the events before it are in `events`.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        events: &mut Vec<SseEvent>,
    ) -> Result<(), SseError> {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if self.after_return && first == b'\n' {
                rest = &rest[1..];
            }
            self.after_return = false;
            let Some(line_len) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
                return self.extend_line(rest);
            };
            self.extend_line(&rest[..line_len])?;
            self.after_return = rest[line_len] == b'\r';
            rest = &rest[line_len + 1..];
            events.extend(self.end_line()?);
        }
        Ok(())
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if self.line.len() + self.name.len() + self.data.len() + bytes.len() > SSE_EVENT_BYTES_MAX {
            return Err(SseError::TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseError> {
        let bytes = std::mem::take(&mut self.line);
        let mut line = str::from_utf8(&bytes).map_err(|_| SseError::NotUtf8)?;
        if !self.after_first_line {
            self.after_first_line = true;
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.end_event());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "event" => value.clone_into(&mut self.name),
            // A comment has an empty field. `id` and `retry` serve to connect again, which would
            // ask the model twice.
            _ => (),
        }
        Ok(None)
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        let name = std::mem::take(&mut self.name);
        let mut data = std::mem::take(&mut self.data);
        // An event without any data line is none.
        data.pop()?;
        Some(SseEvent { name, data })
    }
}

#[cfg(test)]
mod tests;
