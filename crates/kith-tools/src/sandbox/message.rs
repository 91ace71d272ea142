//! A command on its way to a supervisor: one line, and with it the files that the command reads and prints to.

use std::io::{self, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

use rustix::io::retry_on_intr;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// Files that go along with a line: input, output and errors.
const FILES_MAX: usize = 3;

/// Sends a line, and the files with its first byte. An error means that the other side has not read all of it.
pub(super) fn send(
    mut socket: &UnixStream,
    line: &[u8],
    files: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut along = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !along.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let parts = [IoSlice::new(line)];
    let n_sent = retry_on_intr(|| sendmsg(socket, &parts, &mut along, SendFlags::empty()))?;
    socket.write_all(&line[n_sent..])
}

#[cfg(target_os = "linux")]
pub(super) use self::receiving::{MessageReceived, receive};

#[cfg(target_os = "linux")]
mod receiving {
    use std::io::IoSliceMut;
    use std::os::fd::OwnedFd;

    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

    use super::{FILES_MAX, MaybeUninit, UnixStream, io, retry_on_intr};
    use crate::sandbox::spec::SPEC_BYTES_MAX;

    /// Bytes that are read at once.
    const CHUNK_BYTES: usize = 16 * 1024;

    pub(in crate::sandbox) struct MessageReceived {
        /// Without an end if the other side has gone away.
        pub(in crate::sandbox) line: Vec<u8>,
        pub(in crate::sandbox) files: Vec<OwnedFd>,
    }

    /// Waits for a line.
    pub(in crate::sandbox) fn receive(socket: &UnixStream) -> io::Result<MessageReceived> {
        let mut received = MessageReceived { line: Vec::new(), files: Vec::new() };
        let mut chunk = vec![0; CHUNK_BYTES];
        while received.line.last() != Some(&b'\n') {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
            let mut along = RecvAncillaryBuffer::new(&mut space);
            let flags = RecvFlags::CMSG_CLOEXEC;
            let mut parts = [IoSliceMut::new(&mut chunk)];
            let got = retry_on_intr(|| recvmsg(socket, &mut parts, &mut along, flags))?;
            for message in along.drain() {
                if let RecvAncillaryMessage::ScmRights(files) = message {
                    received.files.extend(files);
                }
            }
            if got.bytes == 0 {
                break;
            }
            received.line.extend_from_slice(&chunk[..got.bytes]);
            if received.line.len() > SPEC_BYTES_MAX {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is too long"));
            }
        }
        Ok(received)
    }
}
