//! The real program, killed at random times while its tools change the world.
//!
//! Each message has a command append a line and a file made. The lines are counted outside of all that
//! can crash: a line that stands twice was run twice. A call that was cut short must be told as one
//! that may or may not have taken effect.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use kith_sessions::disk::DiskFiles;
use kith_sessions::store::SessionStore;
use kith_vocab::event::Body;
use kith_vocab::event::messages::Outcome;
use kith_vocab::ids::CallId;

use super::kills::{KillTally, median, torment};
use super::life::RealHouse;
use super::server::{EFFECTS, ServerProcess};
use super::table::Table;

/// What the log says of one call.
#[derive(Default)]
struct LoggedCall {
    message_id: String,
    tool: String,
    n_started: usize,
    outcomes: Vec<Outcome>,
}

/// What the log and the world say together.
#[derive(Default)]
struct EffectCount {
    calls: usize,
    done: usize,
    /// Told as unknown, and the effect was there, or not.
    unknown_there: usize,
    unknown_absent: usize,
    twice: usize,
    /// Started, and no result says what became of it.
    unsaid: usize,
    /// Done as the log says, and the effect is not there; or refused, and it is.
    untrue: usize,
}

pub(crate) fn run(kith: &Path, dir: &Path, n_kills: u64, seed: u64) -> (Table, bool) {
    let server = ServerProcess::start();
    let house = RealHouse::make(kith, &dir.join("effects"), &server);
    let work = dir.join("effects-work");
    fs::create_dir_all(&work).expect("a folder can be made");
    let url = server.url_with_effects();
    let began = Instant::now();
    let ask = |thread: &str, id: &str| -> Command {
        let mut command = house.ask(&[], thread, id);
        command.current_dir(&work).env("OPENAI_BASE_URL", &url);
        command
    };
    let tally = torment(&ask, n_kills, seed);
    let count = count(&house.dir.join(".kith"), &work);
    let mut table =
        Table::new("torture-effects", &["random SIGKILLs while tools change the world", "count"]);
    let mut put = |what: &str, n: usize| table.row([what.to_owned(), n.to_string()]);
    put("messages", usize::try_from(tally.n_messages).unwrap_or(usize::MAX));
    put("kills", usize::try_from(tally.n_kills).unwrap_or(usize::MAX));
    put("calls of side-effecting tools", count.calls);
    put("done, as the log says", count.done);
    put("cut short and told as unknown: the effect was there", count.unknown_there);
    put("cut short and told as unknown: it was not", count.unknown_absent);
    put("run twice", count.twice);
    put("cut short and not told", count.unsaid);
    put("told otherwise than it was", count.untrue);
    put("messages that were never answered", usize::try_from(tally.n_failed).unwrap_or(usize::MAX));
    let KillTally { took, .. } = &tally;
    let (seconds, life) = (began.elapsed().as_secs_f64(), median(took).as_secs_f64() * 1000.0);
    table.note(format!(
        "seed {seed}; an undisturbed life takes {life:.1} ms; {seconds:.0} s; lines are counted in a \
         file that a command of `exec_shell` appends to, files are made by `write_file`"
    ));
    let n_bad = count.twice + count.unsaid + count.untrue;
    // A suite in which nothing ran shows nothing.
    let has_shown = count.done > 0;
    (table, n_bad == 0 && tally.n_failed == 0 && has_shown)
}

fn count(kith_dir: &Path, work: &Path) -> EffectCount {
    let lines = fs::read_to_string(work.join(EFFECTS)).unwrap_or_default();
    let mut appended: BTreeMap<&str, usize> = BTreeMap::new();
    for line in lines.lines() {
        *appended.entry(line.trim()).or_default() += 1;
    }
    let made = |id: &str| -> PathBuf { work.join(format!("made/{id}.txt")) };
    let mut count = EffectCount::default();
    for call in logged_calls(kith_dir).into_values() {
        let n_effects = match call.tool.as_str() {
            "exec_shell" => appended.get(call.message_id.as_str()).copied().unwrap_or_default(),
            _ => usize::from(made(&call.message_id).exists()),
        };
        count.calls += 1;
        count.twice += usize::from(n_effects > 1 || call.n_started > 1);
        match (call.outcomes.as_slice(), n_effects > 0) {
            ([], _) => count.unsaid += usize::from(call.n_started > 0),
            ([Outcome::Done], true) => count.done += 1,
            ([Outcome::Interrupted], true) => count.unknown_there += 1,
            ([Outcome::Interrupted], false) => count.unknown_absent += 1,
            ([Outcome::Failed | Outcome::Refused | Outcome::Cancelled], false) => (),
            _ => count.untrue += 1,
        }
    }
    count
}

/// The calls of all logs of a house.
fn logged_calls(kith_dir: &Path) -> BTreeMap<CallId, LoggedCall> {
    let store = SessionStore::new(Arc::new(DiskFiles), kith_dir);
    let mut calls: BTreeMap<CallId, LoggedCall> = BTreeMap::new();
    for id in store.list().expect("sessions can be listed") {
        let mut message_id = String::new();
        let read = store.read(id, None, &mut |event| match &event.body {
            Body::UserMessage(_) => {
                let key = event.ingress_key.as_deref().unwrap_or_default();
                key.rsplit(':').next().unwrap_or_default().clone_into(&mut message_id);
            }
            Body::CallJudged(it) => {
                let call = calls.entry(it.call_id).or_default();
                (call.tool, call.message_id) = (it.tool.clone(), message_id.clone());
            }
            Body::ToolStarted(it) => calls.entry(it.call_id).or_default().n_started += 1,
            Body::ToolResult(it) => {
                let call = calls.entry(it.call_id).or_default();
                call.tool.clone_from(&it.tool);
                call.message_id.clone_from(&message_id);
                call.outcomes.push(it.outcome);
            }
            _ => (),
        });
        read.expect("a session can be read");
    }
    calls
}
