//! The real program killed while a tool with an effect runs: nothing runs twice, and what nobody can
//! know is said.

use std::fs;
use std::path::Path;

use kith_testkit::another_user::not_run;

use crate::house::{House, of_type};

/// Without `KITH_SLOW_TESTS`.
const KILLS: u64 = 12;
const KILLS_SLOW: u64 = 1000;
/// Looks at the log between two moments at which a program may be killed.
const LOOKS_MAX: u64 = 40_000;

/// What came of the calls.
#[derive(Debug, Default)]
struct Ends {
    done: usize,
    unknown: usize,
    never_started: usize,
    /// Killed before the message was there.
    not_begun: usize,
}

#[test]
fn a_command_of_a_killed_program_runs_once_or_is_called_unknown() {
    check(
        |n| format!("echo {n} >> ran.txt"),
        |house, ask, chance| {
            kill(house, &ask, chance);
            // The same message again: what was begun is ended, what was done is not done again.
            house.kith(&ask).succeeded();
        },
    );
}

#[test]
fn an_approved_command_of_a_killed_program_runs_once_or_is_called_unknown() {
    check(
        |n| format!("rm -rf gone; echo {n} >> ran.txt"),
        |house, ask, chance| {
            let asked = house.kith(&ask);
            assert_eq!(asked.code, 4, "{}", asked.shown());
            kill(house, &["approve"], chance);
            // If the answer was lost, the question still waits; if not, the turn is ended.
            let ended = house.kith(&["approve"]);
            if ended.code != 0 {
                assert!(ended.stderr.contains("no approval is waiting"), "{}", ended.shown());
                house.kith(&ask).succeeded();
            }
        },
    );
}

/// Lets the demo model run each command, and `live` kill the program meanwhile.
#[expect(clippy::print_stdout, reason = "the counts are what the suite shows")]
fn check(command: impl Fn(u64) -> String, live: impl Fn(&House, [&str; 6], &mut Chance)) {
    let house = House::new();
    if !house.kith(&["explain", "command", "ls"]).shown().contains("in the sandbox") {
        not_run("there is no sandbox, so every command would be asked about");
        return;
    }
    let is_slow = std::env::var_os("KITH_SLOW_TESTS").is_some();
    let n_kills = if is_slow { KILLS_SLOW } else { KILLS };
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut ends = Ends::default();
    for n in 0..n_kills {
        let (command, key) = (command(n), format!("m{n}"));
        let words = format!("run `{command}`");
        live(&house, ["ask", "--model", "demo", "--message-id", &key, &words], &mut chance);
        count(&house, n, &command, &mut ends);
    }
    println!("{n_kills} kills: {ends:?}");
    let n_ends = ends.done + ends.unknown + ends.never_started + ends.not_begun;
    assert_eq!(n_ends as u64, n_kills);
    house.kith(&["session", "verify", "latest"]).succeeded();
}

fn kill(house: &House, args: &[&str], chance: &mut Chance) {
    let running = house.start(args);
    wait_a_little(house, chance.below(LOOKS_MAX));
    running.signal("KILL");
    running.finish();
}

/// Each look costs some microseconds, so the program is killed anywhere between its start and its end.
fn wait_a_little(house: &House, n_looks: u64) {
    for _ in 0..n_looks {
        // It may not be there yet.
        fs::metadata(house.path(".kith")).ok();
    }
}

fn count(house: &House, n: u64, command: &str, ends: &mut Ends) {
    let n_runs = lines(&house.path("ran.txt")).iter().filter(|it| **it == n.to_string()).count();
    let log = house.log();
    let judged: Vec<_> = of_type(&log, "call_judged")
        .into_iter()
        .filter(|it| it["facts"]["command"] == command)
        .collect();
    let Some(first) = judged.first() else {
        // Without a call nothing ran; the message was answered all the same.
        assert_eq!(n_runs, 0, "{n}");
        ends.not_begun += 1;
        return;
    };
    let call = &first["callId"];
    let started = of_type(&log, "tool_started").into_iter().filter(|it| it["callId"] == *call);
    let n_started = started.count();
    assert!(n_started <= 1, "call {n} was started {n_started} times");
    let results: Vec<_> =
        of_type(&log, "tool_result").into_iter().filter(|it| it["callId"] == *call).collect();
    assert_eq!(results.len(), 1, "call {n} has one result");
    match results[0]["outcome"].as_str().unwrap() {
        "done" => {
            assert_eq!(n_runs, 1, "call {n} is said to be done");
            ends.done += 1;
        }
        "interrupted" => {
            assert!(n_runs <= 1, "call {n} ran {n_runs} times");
            let text = results[0]["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("may or may not have taken effect"), "{text}");
            ends.unknown += 1;
        }
        _ => {
            assert_eq!(n_runs, 0, "call {n}: {}", results[0]);
            ends.never_started += 1;
        }
    }
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Numbers that are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
