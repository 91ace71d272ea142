//! Fifty processes that start at once on one house: one hosts, the others attach, each message once.
//!
//! In the second half some are killed, the host among them; those who lose it must find another
//! and be answered all the same.

use std::path::Path;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use super::chance::Chance;
use super::life::RealHouse;
use super::server::ServerProcess;
use super::table::Table;

const PROCESSES: usize = 50;
const ROUNDS: u64 = 15;
const KILLS_PER_ROUND: usize = 10;
/// Before each kill; a message is answered in less.
const PAUSE_MICROS_MAX: u64 = 10_000;
const THREADS: usize = 5;

/// What came of some rounds.
#[derive(Default)]
struct Outcome {
    n_messages: usize,
    n_killed: usize,
    n_hosts_killed: usize,
    /// The keys of messages that got no answer, each with what was said instead. Only their log
    /// can tell that they were given up as designed; whatever else they are is a failure.
    unanswered: Vec<(String, String)>,
    took: Duration,
}

pub(crate) async fn run(kith: &Path, dir: &Path, seed: u64) -> (Table, bool) {
    let mut table = Table::new(
        "torture-crowd",
        &[
            "50 processes on one house",
            "messages",
            "killed",
            "of them hosts",
            "given up after three cuts",
            "failed",
            "lost",
            "doubled",
            "damaged",
            "seconds",
        ],
    );
    let mut is_good = true;
    for (name, n_kills) in [("undisturbed", 0), ("10 of each 50 killed", KILLS_PER_ROUND)] {
        let server = ServerProcess::start();
        let house = RealHouse::make(kith, &dir.join(format!("crowd-{n_kills}")), &server);
        let mut outcome = Outcome::default();
        for round in 0..ROUNDS {
            let mut chance = Chance::of(seed, round);
            one_round(&house, round, n_kills, &mut chance, &mut outcome);
        }
        let account = house.account().await;
        let said = (0..outcome.n_messages).map(|n| {
            let key = format!("cli:local:r{}-{}", n / PROCESSES, n % PROCESSES);
            account.said.get(&key).copied().unwrap_or_default()
        });
        let said: Vec<usize> = said.collect();
        let lost = said.iter().filter(|&&n| n == 0).count() + account.n_unclosed;
        let mut doubled: usize = said.iter().map(|n| n.saturating_sub(1)).sum();
        doubled += account.n_turns_ended.saturating_sub(outcome.n_messages);
        let damaged = account.n_damaged + account.n_mismatches;
        let failed = outcome.unanswered.iter().filter(|(key, _)| !account.given_up.contains(key));
        let failed: Vec<&(String, String)> = failed.collect();
        for (key, said) in &failed {
            println!("UNANSWERED {key}: {said}");
        }
        let n_failed = failed.len();
        is_good &= n_failed + lost + doubled + damaged == 0;
        table.row([
            name.to_owned(),
            outcome.n_messages.to_string(),
            outcome.n_killed.to_string(),
            outcome.n_hosts_killed.to_string(),
            (outcome.unanswered.len() - n_failed).to_string(),
            n_failed.to_string(),
            lost.to_string(),
            doubled.to_string(),
            damaged.to_string(),
            format!("{:.1}", outcome.took.as_secs_f64()),
        ]);
    }
    table.note(format!("seed {seed}"));
    (table, is_good)
}

fn one_round(
    house: &RealHouse,
    round: u64,
    n_kills: usize,
    chance: &mut Chance,
    outcome: &mut Outcome,
) {
    let began = Instant::now();
    let thread = |n: usize| format!("cli:room:t{}", n % THREADS);
    let id = |n: usize| format!("r{round}-{n}");
    let start = |n| house.ask(&[], &thread(n), &id(n)).spawn().expect("kith can be started");
    let mut children: Vec<Child> = Vec::new();
    for n in 0..PROCESSES {
        children.push(start(n));
        // Between the starts: the first ones are done before the last one begins.
        if n_kills > 0 && (n + 1) % (PROCESSES / n_kills) == 0 {
            std::thread::sleep(Duration::from_micros(chance.next() % PAUSE_MICROS_MAX));
            outcome.n_hosts_killed += usize::from(kill_one(house, &mut children, chance));
        }
    }
    let wait = |child: Child| child.wait_with_output().expect("a child ends");
    let outputs: Vec<Output> = children.into_iter().map(wait).collect();
    for (n, mut output) in outputs.into_iter().enumerate() {
        outcome.n_messages += 1;
        if output.status.code().is_none() {
            outcome.n_killed += 1;
            output = house.ask(&[], &thread(n), &id(n)).output().expect("kith can be started");
        }
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            outcome.unanswered.push((format!("cli:local:{}", id(n)), said));
        }
    }
    outcome.took += began.elapsed();
}

/// Kills the host, which the lock names, or any other that still runs. True if it was the host.
fn kill_one(house: &RealHouse, children: &mut [Child], chance: &mut Chance) -> bool {
    let lock = std::fs::read_to_string(house.dir.join(".kith/host.lock")).unwrap_or_default();
    let host: Option<u32> = lock.split_whitespace().nth(1).and_then(|pid| pid.parse().ok());
    let running = children.iter_mut().filter_map(|child| match child.try_wait() {
        Ok(None) => Some(child),
        Ok(Some(_)) | Err(_) => None,
    });
    let mut running: Vec<&mut Child> = running.collect();
    if running.is_empty() {
        return false;
    }
    let place = running.iter().position(|child| Some(child.id()) == host);
    let victim = place.unwrap_or_else(|| chance.below(running.len()));
    // It may end in this moment, which the wait for it tells.
    running[victim].kill().ok();
    place.is_some()
}
