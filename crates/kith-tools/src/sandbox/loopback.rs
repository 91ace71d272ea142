//! The loopback device of a new network namespace: switched on by one message to the kernel.

use std::io;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sendto, socket_with};

const MESSAGE_BYTES: u32 = 32;
const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
/// The first device of every network namespace.
const LOOPBACK: i32 = 1;
const IFF_UP: u32 = 1;

pub(super) fn bring_up() -> io::Result<()> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // The protocol that routes and devices are changed by has the number 0.
        None,
    )?;
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(&socket, &message(), SendFlags::empty(), &kernel)?;
    Ok(())
}

/// A header (length, type, flags, sequence, port), then which device and which of its flags.
fn message() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MESSAGE_BYTES as usize);
    bytes.extend(MESSAGE_BYTES.to_ne_bytes());
    bytes.extend(RTM_NEWLINK.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    bytes.extend([0; 8]);
    // Family and type of the device do not matter for a change of flags.
    bytes.extend([0; 4]);
    bytes.extend(LOOPBACK.to_ne_bytes());
    bytes.extend(IFF_UP.to_ne_bytes());
    bytes.extend(IFF_UP.to_ne_bytes());
    bytes
}
