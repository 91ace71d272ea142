//! Who is at the other end of the host's socket. Only the owner's own programs may speak to a host, and a
//! host may answer them only if it is one of those.
//!
//! A command in the sandbox runs as the owner, and a house may lie in the folder that it works in. So the
//! user is not enough.

use kith_tools::sandbox::is_peer_outside;
use tokio::net::UnixStream;

/// Why nothing may be said to the process at the other end; `None` if it is the owner's.
pub(crate) fn refusal_of(stream: &UnixStream) -> Option<&'static str> {
    let peer = stream.peer_cred().ok().map(|peer| peer.uid());
    if !is_ours(peer, rustix::process::getuid().as_raw()) {
        Some("this house belongs to another user")
    } else if !is_peer_outside(stream) {
        Some("a command in a sandbox may not use a house")
    } else {
        None
    }
}

/// A peer whose user the system does not tell is refused.
fn is_ours(peer: Option<u32>, own: u32) -> bool {
    peer == Some(own)
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn only_processes_of_the_same_user_are_talked_to() {
        assert!(is_ours(Some(1000), 1000));
        assert!(is_ours(Some(0), 0));
        assert!(!is_ours(Some(1001), 1000));
        assert!(!is_ours(Some(0), 1000));
        assert!(!is_ours(Some(1000), 0));
        assert!(!is_ours(None, 0));
    }
}
