//! Checks the host, the desk, the inbox, the sessions with their blobs, the thread files and the clock.

use std::collections::BTreeSet;

use kith_engine::thread_file_sync::{ThreadFileSync, ThreadFileSyncError};
use kith_sessions::damage::DamageCode;
use kith_sessions::desk::{DESK_VERSION, Desk, SqliteDesk};
use kith_sessions::journal::Journal;
use kith_sessions::lock;
use kith_sessions::read::{Reading, Tail};
use kith_sessions::storage::{StorageError, StorageErrorKind};
use kith_vocab::blocking::blocking;
use kith_vocab::event::Event;
use kith_vocab::ids::SessionId;

use super::{Check, and_more, fail, failed, ok, warn};
use crate::attach::{self, AskFailure};
use crate::error::{CallError, DESK_LOST};
use crate::house::House;
use crate::words::{local_time, short};

/// Maximum number of sessions or threads named in a check; the rest are counted.
const NAMES_SHOWN_MAX: usize = 3;
/// How far this clock may be behind the newest event.
const CLOCK_BEHIND_MS_MAX: u64 = 60_000;
/// The first of January 2026: earlier than any session.
const CLOCK_MS_MIN: u64 = 1_767_225_600_000;

/// The host, and whether there is one.
pub(super) async fn host(house: &House) -> (Check, bool) {
    let name = "host";
    let kith_dir = house.kith_dir();
    let holder = match blocking(|| lock::holder(&kith_dir)) {
        Ok(holder) => with_local_time(&holder),
        Err(error) => return (failed(name, &CallError::from(error)), false),
    };
    match attach::is_answered(&attach::host_socket(&kith_dir)).await {
        Ok(()) => return (ok(name, format!("running ({holder})")), true),
        Err(AskFailure::Refused(report)) => return (failed(name, &report), true),
        Err(AskFailure::Silent | AskFailure::Disconnected | AskFailure::Unreachable(_)) => (),
    }
    if blocking(|| lock::is_held(&kith_dir)) {
        let detail = format!("running but not responding ({holder})");
        let fix = "it may be suspended: resume it with `fg`, or kill it (nothing will be lost)";
        return (fail(name, detail, fix), true);
    }
    (ok(name, "not running (a command that needs one starts it)".to_owned()), false)
}

/// `pid N since MS` with the time as people read it.
fn with_local_time(holder: &str) -> String {
    match holder.rsplit_once(" since ") {
        Some((who, ms)) => match ms.parse() {
            Ok(ms) => format!("{who} since {}", local_time(ms)),
            Err(_) => holder.to_owned(),
        },
        None => holder.to_owned(),
    }
}

/// The desk, all of it.
pub(super) async fn desk(desk: &SqliteDesk) -> Check {
    match desk.problem().await {
        Ok(None) => ok("desk", format!("intact (format version {DESK_VERSION})")),
        Ok(Some(problem)) => fail("desk", format!("damaged: {problem}"), DESK_LOST),
        Err(error) => failed("desk", &CallError::from(error)),
    }
}

pub(super) async fn inbox(desk: &dyn Desk, is_hosted: bool) -> Check {
    let name = "inbox";
    let counted = async {
        let sessions = desk.sessions_with_open_rows().await?;
        let mut n_rows = 0;
        for session in &sessions {
            n_rows += desk.open_rows(*session).await?.len();
        }
        Ok::<_, StorageError>((n_rows, sessions))
    };
    match counted.await {
        Err(error) => failed(name, &CallError::from(error)),
        Ok((0, _)) => ok(name, "no messages are waiting".to_owned()),
        Ok((n, _)) if is_hosted => ok(name, format!("processing {}", messages(n))),
        Ok((n, sessions)) => {
            let detail = format!("{} interrupted, in {}", messages(n), names(&sessions));
            warn(name, detail, "run `kith`, or send a message to that session, to resume")
        }
    }
}

/// What was found in the session files.
#[derive(Default)]
struct SessionHealth {
    whole: u64,
    torn: Vec<SessionId>,
    damaged: Vec<SessionId>,
    /// Damaged, and what can be read of it is in another session.
    repaired: Vec<SessionId>,
    /// Known to the desk, and without a file.
    gone: Vec<SessionId>,
    without_blobs: Vec<SessionId>,
    unread: Option<CallError>,
    newest: u64,
}

/// The sessions, their blobs, and the clock, which must not be behind what they say.
pub(super) async fn sessions(
    journal: &dyn Journal,
    desk: Option<&dyn Desk>,
    now: u64,
) -> Vec<Check> {
    let ids = match journal.list().await {
        Ok(ids) => ids,
        Err(error) => return vec![failed("sessions", &CallError::from(error))],
    };
    let mut found = SessionHealth::default();
    if let Some(desk) = desk {
        // A desk that cannot be read is told where the desk is.
        let heads = desk.heads().await.unwrap_or_default().into_iter().map(|(id, _)| id);
        found.gone = heads.filter(|id| !ids.contains(id)).collect();
    }
    for id in ids {
        let head = match desk {
            // A head that cannot be read is told where the desk is.
            Some(desk) => desk.head(id).await.unwrap_or_default(),
            None => None,
        };
        let mut newest = 0;
        let each = &mut |event: Event| newest = newest.max(event.ts);
        let reading = journal.read(id, head, 0, each).await;
        found.newest = found.newest.max(newest);
        found.add(id, reading);
    }
    let copied = copied_sessions(journal).await;
    let damaged = std::mem::take(&mut found.damaged);
    (found.repaired, found.damaged) = damaged.into_iter().partition(|id| copied.contains(id));
    vec![found.files(), found.blobs(), found.clock(now)]
}

/// The sessions of which a repaired copy exists. A clone is in a thread of its own.
async fn copied_sessions(journal: &dyn Journal) -> BTreeSet<SessionId> {
    let mut copied = BTreeSet::new();
    // Without a list of them all damaged ones are told as such.
    for id in journal.list().await.unwrap_or_default() {
        let Some(header) = journal.header(id).await.ok() else { continue };
        let Some(origin) = header.cloned_from else { continue };
        let source = journal.header(origin.session_id).await;
        if source.is_ok_and(|source| source.thread_id == header.thread_id) {
            copied.insert(origin.session_id);
        }
    }
    copied
}

/// Whether the thread files are up to date with the sessions.
pub(super) async fn threads(threads: ThreadFileSync, is_hosted: bool) -> Check {
    let name = "threads";
    let looked = async {
        let sessions = threads.sessions().await?;
        let (mut n_absent, mut behind) = (0, Vec::new());
        for key in sessions.keys() {
            if threads.is_up_to_date(key).await? {
                continue;
            }
            if threads.is_absent(key)? {
                n_absent += 1;
            } else {
                behind.push(key.thread_id.to_string());
            }
        }
        Ok::<_, ThreadFileSyncError>((sessions.len(), n_absent, behind))
    };
    let (n_threads, n_absent, behind) = match looked.await {
        Ok(found) => found,
        Err(error) => return failed(name, &CallError::from(error)),
    };
    if is_hosted && n_absent + behind.len() > 0 {
        let detail = match n_absent + behind.len() {
            1 => "updating 1 thread file".to_owned(),
            n => format!("updating {n} thread files"),
        };
        return ok(name, detail);
    }
    if behind.is_empty() {
        let up_to_date = format!("{} up to date", n_threads - n_absent);
        // A backup leaves them out: whatever is derived from the logs can be made again.
        return ok(
            name,
            match n_absent {
                0 if n_threads == 0 => "none yet".to_owned(),
                0 => up_to_date,
                n => format!(
                    "{up_to_date}, {n} not written yet (the next turn of a thread writes its file)"
                ),
            },
        );
    }
    let detail = format!("the files of {} are out of date", first_of(&behind));
    warn(
        name,
        detail,
        "run `kith thread rebuild`; the next turn of each thread also updates its file",
    )
}

impl SessionHealth {
    fn add(&mut self, id: SessionId, reading: Result<Reading, StorageError>) {
        let damage = match reading {
            Ok(Reading { tail: Tail::Clean, .. }) => return self.whole += 1,
            Ok(Reading { tail: Tail::Torn { .. }, .. }) => return self.torn.push(id),
            Ok(Reading { tail: Tail::Damaged(damage), .. })
            | Err(StorageError { kind: StorageErrorKind::Damaged(damage), .. }) => damage,
            Err(error) => {
                self.unread = Some(CallError::of_session(id, error));
                return;
            }
        };
        if damage.code == DamageCode::BadBlob {
            self.without_blobs.push(id);
        } else {
            self.damaged.push(id);
        }
    }

    fn is_without_sessions(&self) -> bool {
        self.whole == 0 && self.torn.is_empty() && self.without_blobs.is_empty()
    }

    fn files(&self) -> Check {
        let name = "sessions";
        if let Some(report) = &self.unread {
            return failed(name, report);
        }
        let torn = match self.torn.as_slice() {
            [] => String::new(),
            torn => format!("; {} with an incomplete last write ({})", torn.len(), names(torn)),
        };
        let detail = format!("{} intact{torn}", self.whole);
        if let Some(first) = self.gone.first() {
            let detail = format!("{detail}; {} missing ({})", self.gone.len(), names(&self.gone));
            let fix = format!(
                "restore `.kith/sessions` from a backup, or run `kith session rm {}` to forget one",
                short(*first)
            );
            return fail(name, detail, fix);
        }
        let detail = match self.repaired.as_slice() {
            [] => detail,
            repaired => format!("{detail}; {} damaged and repaired", repaired.len()),
        };
        match self.damaged.as_slice() {
            [] if !self.repaired.is_empty() => {
                let id = self.repaired.first().map(|id| short(*id)).unwrap_or_default();
                let fix = format!("run `kith session rm {id}` to remove a damaged original");
                warn(name, detail, fix)
            }
            [] if self.is_without_sessions() => ok(name, "none yet".to_owned()),
            [] => ok(name, detail),
            damaged => {
                let detail = format!("{detail}; {} damaged ({})", damaged.len(), names(damaged));
                fail(name, detail, repair(damaged))
            }
        }
    }

    fn blobs(&self) -> Check {
        let name = "blobs";
        match self.without_blobs.as_slice() {
            [] => ok(name, "all referenced blobs are present".to_owned()),
            ids => {
                let detail = format!("missing or damaged in {}", names(ids));
                let fix = format!("restore `.kith/blobs` from a backup, or {}", repair(ids));
                fail(name, detail, fix)
            }
        }
    }

    fn clock(&self, now: u64) -> Check {
        let name = "clock";
        let newest = local_time(self.newest);
        if now < CLOCK_MS_MIN {
            return warn(name, format!("it says {}", local_time(now)), "set this machine's clock");
        }
        if now + CLOCK_BEHIND_MS_MAX < self.newest {
            let detail =
                format!("it says {}, but the newest event is from {newest}", local_time(now));
            let fix = "set this machine's clock; the order of events does not depend on it";
            return warn(name, detail, fix);
        }
        ok(name, "not behind the newest event".to_owned())
    }
}

fn messages(n: usize) -> String {
    if n == 1 { "1 message".to_owned() } else { format!("{n} messages") }
}

fn repair(ids: &[SessionId]) -> String {
    let id = ids.first().map(|id| short(*id)).unwrap_or_default();
    format!("run `kith session repair {id}` to copy the readable part into a new session")
}

fn names(ids: &[SessionId]) -> String {
    first_of(&ids.iter().map(|id| short(*id)).collect::<Vec<_>>())
}

fn first_of(names: &[String]) -> String {
    let shown = names.iter().take(NAMES_SHOWN_MAX).map(String::as_str).collect::<Vec<_>>();
    format!("{}{}", shown.join(", "), and_more(names.len() - shown.len()))
}
