//! The real program, killed at random times while it answers.
//!
//! A message is said again under its own id until it is answered. Each life is killed at a time
//! drawn from the whole length of an undisturbed one, so kills fall on the start, the desk, the
//! log, the request and the end alike.

use std::path::Path;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::chance::Chance;
use super::life::RealHouse;
use super::server::ServerProcess;
use super::table::Table;

/// Threads that take turns: no session grows so long that its reading hides the rest.
const THREADS: u64 = 40;
/// Lives of one message that may be cut short. Three that were cut while the model was asked
/// end the turn by design.
const KILLS_PER_MESSAGE_MAX: u64 = 2;
/// A kill may also come just after the end.
const BEYOND_THE_END: f64 = 1.1;
/// Of undisturbed lives; the last ones tell how long the next will take.
const LIVES_REMEMBERED_MAX: usize = 21;

pub(crate) struct KillTally {
    pub(crate) n_kills: u64,
    /// Lives that ended before their kill.
    n_escaped: u64,
    pub(crate) n_messages: u64,
    pub(crate) n_failed: u64,
    leaves: Vec<String>,
    pub(crate) took: Vec<Duration>,
}

pub(crate) async fn run(kith: &Path, dir: &Path, n_kills: u64, seed: u64) -> (Table, bool) {
    let server = ServerProcess::start();
    let house = RealHouse::make(kith, &dir.join("kills"), &server);
    let began = Instant::now();
    let tally = torment(&|thread, id| house.ask(&[], thread, id), n_kills, seed);
    let account = house.account().await;

    let keys = (0..tally.n_messages).map(|n| format!("cli:local:m{n}"));
    let times_said = keys.map(|key| account.said.get(&key).copied().unwrap_or_default());
    let times_said: Vec<usize> = times_said.collect();
    let mut lost = times_said.iter().filter(|&&n| n == 0).count();
    lost += tally.leaves.iter().filter(|leaf| !account.event_ids.contains(*leaf)).count();
    let n_messages = usize::try_from(tally.n_messages).unwrap_or(usize::MAX);
    let mut doubled: usize = times_said.iter().map(|n| n.saturating_sub(1)).sum();
    doubled += account.n_turns_ended.saturating_sub(n_messages);
    let unended = n_messages.saturating_sub(account.n_turns_ended) + account.n_unclosed;

    let mut table = Table::new("torture-kills", &["random SIGKILLs of the real program", "count"]);
    let mut put = |what: &str, n: String| table.row([what.to_owned(), n]);
    put("messages M", tally.n_messages.to_string());
    put("kills", tally.n_kills.to_string());
    put("lives that ended before their kill", tally.n_escaped.to_string());
    put("sessions", account.n_sessions.to_string());
    put("turns cut short and taken up again", account.n_resumed.to_string());
    put("torn tails set aside", account.n_repaired.to_string());
    put("requests built again from the logs", account.n_requests.to_string());
    put("requests that came out differently", account.n_mismatches.to_string());
    put("messages that were never answered", tally.n_failed.to_string());
    put("turns that did not end", unended.to_string());
    put("sessions that are damaged", account.n_damaged.to_string());
    put("lost", lost.to_string());
    put("doubled", doubled.to_string());
    put("seconds", format!("{:.1}", began.elapsed().as_secs_f64()));
    let median = median(&tally.took).as_secs_f64() * 1000.0;
    table.note(format!(
        "seed {seed}; an undisturbed life takes {median:.1} ms; *doubled* counts \
         messages and turns; the table of effects counts what tools did"
    ));
    let n_bad = lost + doubled + unended + account.n_damaged + account.n_mismatches;
    (table, n_bad == 0 && tally.n_failed == 0)
}

/// Says messages and kills the program that `ask` starts until it was killed so often.
pub(crate) fn torment(ask: &dyn Fn(&str, &str) -> Command, n_kills: u64, seed: u64) -> KillTally {
    let mut tally = KillTally {
        n_kills: 0,
        n_escaped: 0,
        n_messages: 0,
        n_failed: 0,
        leaves: Vec::new(),
        took: Vec::new(),
    };
    while tally.n_kills < n_kills {
        let mut chance = Chance::of(seed, tally.n_messages);
        let thread = format!("cli:room:t{}", tally.n_messages % THREADS);
        let id = format!("m{}", tally.n_messages);
        tally.n_messages += 1;
        let is_first = tally.took.is_empty();
        let n_lives = if is_first { 0 } else { 1 + chance.next() % KILLS_PER_MESSAGE_MAX };
        let mut is_answered = false;
        for _ in 0..n_lives {
            let whole = median(&tally.took).mul_f64(BEYOND_THE_END);
            #[expect(clippy::cast_precision_loss, reason = "a share need not be exact")]
            let share = (chance.next() >> 11) as f64 / (1_u64 << 53) as f64;
            let child = ask(&thread, &id).spawn().expect("kith can be started");
            std::thread::sleep(whole.mul_f64(share));
            if let Some(output) = kill(child) {
                tally.n_escaped += 1;
                is_answered = tally.note(&output);
                break;
            }
            tally.n_kills += 1;
        }
        if !is_answered {
            let began = Instant::now();
            let output = ask(&thread, &id).output().expect("kith can be started");
            tally.took.push(began.elapsed());
            if tally.took.len() > LIVES_REMEMBERED_MAX {
                tally.took.remove(0);
            }
            if !tally.note(&output) {
                tally.n_failed += 1;
                println!("UNANSWERED {id}: {}", String::from_utf8_lossy(&output.stdout));
            }
        }
    }
    tally
}

/// Kills the process; what it said, if it had ended by itself.
fn kill(mut child: Child) -> Option<Output> {
    if child.try_wait().expect("a child can be looked at").is_none() {
        // It may end in this moment, which the wait below tells.
        child.kill().ok();
    }
    let output = child.wait_with_output().expect("a child ends");
    output.status.code().map(|_| output)
}

impl KillTally {
    /// Whether the message was answered. What is answered must be in a log from then on.
    fn note(&mut self, output: &Output) -> bool {
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let is_answered = output.status.success() && said["ok"] == true;
        if let (true, Some(leaf)) = (is_answered, said["leaf"].as_str()) {
            self.leaves.push(leaf.to_owned());
        }
        is_answered
    }
}

pub(crate) fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
