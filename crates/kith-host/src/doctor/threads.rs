//! Checks that the thread files are up to date with the sessions.

use kith_engine::thread_file_sync::{ThreadFileSync, ThreadFileSyncError};

use super::{Check, failed, ok, warn};
use crate::error::CallError;

/// So many threads are named; the rest is counted.
const NAMES_SHOWN_MAX: usize = 3;

pub(super) async fn files(threads: ThreadFileSync, is_hosted: bool) -> Check {
    let name = "threads";
    let looked = async {
        let sessions = threads.sessions().await?;
        let mut behind = Vec::new();
        for key in sessions.keys() {
            if !threads.is_up_to_date(key).await? {
                behind.push(key.thread_id.to_string());
            }
        }
        Ok::<_, ThreadFileSyncError>((sessions.len(), behind))
    };
    let (n_threads, behind) = match looked.await {
        Ok(found) => found,
        Err(error) => return failed(name, &CallError::from(error)),
    };
    if behind.is_empty() {
        return ok(name, format!("{n_threads} up to date"));
    }
    if is_hosted {
        return ok(name, format!("updating {} thread files", behind.len()));
    }
    let shown = behind.iter().take(NAMES_SHOWN_MAX).cloned().collect::<Vec<_>>().join(", ");
    let rest = behind.len().saturating_sub(NAMES_SHOWN_MAX);
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    let detail = format!("the files of {shown}{more} are missing or out of date");
    warn(
        name,
        detail,
        "run `kith thread rebuild`; the next turn of each thread also updates its file",
    )
}
