//! `cargo xtask simulate`: the whole host, from one seed after another.
//!
//! Each seed runs on one thread, and the seeds on as many threads as there are cores, two at most.

#![expect(clippy::print_stdout, reason = "its report is what it is run for")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a program for developers, which measures real time and writes its report"
)]

#[path = "simulation.rs"]
mod simulation;

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use simulation::{Bug, Found, Tally, run_seed};

const THREADS_MAX: usize = 2;
const SEEDS: u64 = 1_000;

struct Arguments {
    first: u64,
    n_seeds: u64,
    bug: Option<Bug>,
    out: Option<std::path::PathBuf>,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(wrong) => {
            println!("error: {wrong}");
            return ExitCode::from(2);
        }
    };
    let began = Instant::now();
    let (tally, found) = run(&arguments);
    let secs = began.elapsed().as_secs_f64();
    print!("{tally}");
    let per_sec = u32::try_from(tally.seeds).map_or(f64::NAN, |seeds| f64::from(seeds) / secs);
    println!("{secs:>12.1} seconds, {per_sec:.0} seeds a second");
    for found in &found {
        match arguments.n_seeds {
            1 => println!("\n{found:#}"),
            _ => println!("\n{found}"),
        }
    }
    let verdict = if found.is_empty() { "nothing found" } else { "FAILED" };
    println!("{verdict}");
    // One seed, or one with a mistake put in, says nothing about the program.
    let counts = arguments.n_seeds > 1 && arguments.bug.is_none();
    if let Some(out) = arguments.out.as_ref().filter(|_| counts) {
        write_table(out, &arguments, &tally, secs, verdict);
    }
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments { first: 0, n_seeds: SEEDS, bug: None, out: None };
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("`{arg}` needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is not a number"));
        match arg.as_str() {
            "--seed" => (arguments.first, arguments.n_seeds) = (number()?, 1),
            "--seeds" => arguments.n_seeds = number()?,
            "--first" => arguments.first = number()?,
            "--bug" => {
                let bug = Bug::named(&value).ok_or_else(|| format!("there is no bug `{value}`"))?;
                arguments.bug = Some(bug);
            }
            "--out" => arguments.out = Some(value.into()),
            other => return Err(format!("there is no `{other}`")),
        }
    }
    Ok(arguments)
}

fn run(arguments: &Arguments) -> (Tally, Vec<Found>) {
    let next = AtomicU64::new(arguments.first);
    let end = arguments.first + arguments.n_seeds;
    let is_over = AtomicBool::new(false);
    let (results, digest) = (Mutex::new((Tally::default(), Vec::new())), AtomicU64::new(0));
    let work = || {
        while !is_over.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return;
            }
            let outcome = run_seed(seed, arguments.bug);
            let mut results = results.lock().unwrap();
            match outcome {
                Ok(passed) => {
                    results.0 += passed.tally;
                    digest.fetch_xor(passed.digest, Ordering::Relaxed);
                }
                Err(found) => {
                    results.0.seeds += 1;
                    results.1.push(*found);
                    is_over.store(true, Ordering::Relaxed);
                }
            }
        }
    };
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(work);
        }
    });
    // The same seeds give the same one, on any machine.
    println!("{:>12x} is the digest of all that was observed", digest.into_inner());
    results.into_inner().unwrap()
}

fn write_table(
    out: &std::path::Path,
    arguments: &Arguments,
    tally: &Tally,
    secs: f64,
    verdict: &str,
) {
    let (first, last) = (arguments.first, arguments.first + arguments.n_seeds - 1);
    let mut table = format!(
        "Seeds {first} to {last} in {secs:.0} s: {verdict}.\n\n| count | of |\n|---:|---|\n"
    );
    for (count, words) in tally.lines() {
        writeln!(table, "| {count} | {words} |").expect("a string takes every write");
    }
    std::fs::create_dir_all(out).expect("the folder for reports can be made");
    std::fs::write(out.join("simulate.md"), table).expect("the report can be written");
}
