//! Numbers as people read them.

use std::time::Duration;

pub(crate) fn in_thousands(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}.{}k", tokens / 1_000, tokens % 1_000 / 100),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}

pub(crate) fn in_bytes(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KB", bytes / 1_024),
        _ => format!("{} MB", bytes / 1_048_576),
    }
}

pub(crate) fn in_seconds(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{} s", time.as_secs()),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}
