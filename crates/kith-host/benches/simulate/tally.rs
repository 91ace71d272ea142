//! How much a simulation did.

use std::fmt;
use std::ops::AddAssign;

macro_rules! tally {
    ($($field:ident: $words:literal,)*) => {
        /// Counts of what happened.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Tally {
            $(pub(crate) $field: u64,)*
        }

        impl AddAssign for Tally {
            fn add_assign(&mut self, other: Tally) {
                $(self.$field += other.$field;)*
            }
        }

        impl Tally {
            /// Each count and what it counts.
            pub(crate) fn lines(&self) -> Vec<(u64, &'static str)> {
                vec![$((self.$field, $words),)*]
            }
        }
    };
}

tally! {
    seeds: "seeds",
    lives: "lives of a host",
    steps: "calls of a port",
    messages: "messages accepted",
    redeliveries: "messages delivered again",
    commands: "commands answered",
    branches: "branches",
    clones: "clones",
    removals: "sessions removed",
    turns: "turns ended",
    requests: "requests to models",
    model_faults: "requests not answered well",
    effects: "side effects of tools",
    kills: "processes killed",
    power_cuts: "power cuts",
    disk_faults: "faults of the disk",
    old_desks: "old desks put back",
    clock_jumps: "jumps of the clock",
    events_followed: "events seen by followers",
    stream_resumes: "subscriptions that went on with the stream",
    fallbacks: "subscriptions that went on from the log",
    reloads: "subscriptions that began anew",
    checkpoints: "checkpoints made",
    checkpoint_openings: "sessions opened from a checkpoint",
    damages: "session files damaged",
    repairs: "damaged sessions copied",
    proven_sessions: "sessions verified and replayed",
    proven_requests: "requests rebuilt byte for byte",
    replayed: "decisions replayed",
    shared_sessions: "of these sessions, written to by two clients or more",
    steers: "steers read by a turn",
    follow_ups: "messages taken from a queue",
    cancels: "turns and summaries cancelled",
    failures: "failed requests to models",
    compactions: "summaries",
    moves: "moves to another branch",
    resumes: "turns resumed after the host was lost",
    flips: "bytes flipped in a log, each named by its line",
    flipped_whole: "logs in which each byte was flipped",
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, words) in self.lines() {
            writeln!(f, "{count:>12} {words}")?;
        }
        Ok(())
    }
}
