//! Who can read a thread, decided in one place.
//!
//! What of the agent's self enters a prompt hangs on this one word, so nobody else guesses it: a
//! channel names its thread, and the thread's name decides. Whatever is not certainly the owner's
//! own counts as read by others.

use crate::header::Audience;
use crate::ids::ThreadId;

/// The audience of a thread that begins. `owners_own` are the threads of other platforms that the
/// owner has with the agent alone.
pub fn audience_of(thread: &ThreadId, owners_own: &[ThreadId]) -> Audience {
    match thread.platform() {
        // The terminal of the owner's machine, the page that only the owner can open, and what the runtime
        // says to itself.
        "cli" | "web" | "system" => Audience::Owner,
        // Checked before the list: a peer stays a peer, even if it is listed.
        "peer" => Audience::Peer,
        _ if owners_own.contains(thread) => Audience::Owner,
        _ => Audience::Shared,
    }
}

impl Audience {
    /// The one of the two that is told less. A thread that others could read once stays theirs.
    #[must_use]
    pub fn narrowed_by(self, other: Audience) -> Audience {
        match (self, other) {
            (Audience::Peer, _) | (_, Audience::Peer) => Audience::Peer,
            (Audience::Shared, _) | (_, Audience::Shared) => Audience::Shared,
            (Audience::Owner, Audience::Owner) => Audience::Owner,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_name_decides_who_can_read_it() {
        check("cli:room:dcbc08e684213133", Audience::Owner);
        check("system:boot:main", Audience::Owner);
        check("peer:aid:luna.aid.pub", Audience::Peer);
        check("telegram:group:42", Audience::Shared);
        check("telegram:private:43", Audience::Shared);
        check("web:room:notes", Audience::Owner);
        check("smoke:signal:cli", Audience::Shared);
        check("clio:room:x", Audience::Shared);
    }

    #[test]
    fn what_is_named_as_the_owners_own_is_and_a_peer_never() {
        check("telegram:private:42", Audience::Owner);
        check("peer:aid:42", Audience::Peer);
    }

    #[test]
    fn an_audience_never_widens() {
        let all = [Audience::Owner, Audience::Shared, Audience::Peer];
        for (n, wide) in all.into_iter().enumerate() {
            for (m, narrow) in all.into_iter().enumerate() {
                assert_eq!(wide.narrowed_by(narrow), all[n.max(m)]);
            }
        }
    }

    #[track_caller]
    fn check(thread: &str, expected: Audience) {
        let own = ["telegram:private:42", "peer:aid:42"].map(|it| it.parse().unwrap());
        assert_eq!(audience_of(&thread.parse().unwrap(), &own), expected, "{thread}");
    }
}
