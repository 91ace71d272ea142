//! Reading from a command that may never close its output.
//!
//! The pipe closes when the last process that holds it is gone. A command that runs outside of the sandbox can
//! end its own supervisor, and then nobody ends what it left behind.

use std::io::{self, PipeReader, PipeWriter, Read};

use rustix::event::{PollFd, PollFlags, poll};

/// A pipe that ends when its writers are gone, or when nobody waits for them any more.
pub(super) struct AbandonablePipe {
    pipe: PipeReader,
    abandoned: PipeReader,
}

/// Dropping it ends the reading.
pub(super) struct ReadingHandle(#[expect(dead_code, reason = "is there to be closed")] PipeWriter);

impl AbandonablePipe {
    pub(super) fn new(pipe: PipeReader) -> io::Result<(AbandonablePipe, ReadingHandle)> {
        let (abandoned, handle) = io::pipe()?;
        Ok((AbandonablePipe { pipe, abandoned }, ReadingHandle(handle)))
    }
}

impl Read for AbandonablePipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut polled =
            [PollFd::new(&self.pipe, PollFlags::IN), PollFd::new(&self.abandoned, PollFlags::IN)];
        poll(&mut polled, None)?;
        // Not even what is there to be read: somebody may be printing without end.
        if !polled[1].revents().is_empty() {
            return Ok(0);
        }
        self.pipe.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn reading_ends_with_the_last_writer_or_when_it_is_given_up() {
        let (pipe, mut writer) = io::pipe().unwrap();
        let (mut reader, handle) = AbandonablePipe::new(pipe).unwrap();
        writer.write_all(b"x").unwrap();
        assert_eq!(reader.read(&mut [0; 8]).unwrap(), 1);
        drop(handle);
        assert_eq!(reader.read(&mut [0; 8]).unwrap(), 0);
        let (pipe, writer) = io::pipe().unwrap();
        let (mut reader, _handle) = AbandonablePipe::new(pipe).unwrap();
        drop(writer);
        assert_eq!(reader.read(&mut [0; 8]).unwrap(), 0);
    }
}
