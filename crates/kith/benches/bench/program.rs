//! Which figures there are, and which are asked for. Read in this order:
//!
//! - [`start`]: the program from its start to its first request, and its size.
//! - [`one_shot`]: `kith ask` beside a client that does nothing but its calls and appends.
//! - [`step`]: what a turn costs between an answer and the next request.
//! - [`commands`]: a command in the sandbox beside a bare spawn, and a written file.
//! - [`throughput`], [`bare`]: turns per second beside a loop that does nothing else.
//! - [`control`]: how soon a steer and a cancel reach a running turn.
//! - [`typing`]: how soon a key is on the screen while an answer streams.
//! - [`appends`]: durable appends beside raw `fdatasync`.
//! - [`sessions`]: old, large and many sessions.
//! - [`huge`]: a session of a gigabyte; only when it is asked for by name.
//! - [`memory`]: what an open session and an idle thread cost.
//! - [`daemon`]: the daemon, until it is ready and at rest.
//! - [`fan_out`]: one session with a thousand clients.
//! - [`page`]: the web page in a browser.
//! - [`unbuilt`]: figures whose subject does not exist yet.
//! - [`bench_house`], [`figure`], [`conversation`]: what it is done with.

mod appends;
mod bare;
mod bench_house;
mod commands;
mod control;
mod conversation;
mod daemon;
mod fan_out;
mod figure;
mod huge;
mod memory;
mod one_shot;
mod page;
mod sessions;
mod start;
mod step;
mod throughput;
mod typing;
mod unbuilt;

#[path = "../shared/house.rs"]
mod house;
#[path = "../shared/life.rs"]
mod life;
#[path = "../shared/server.rs"]
mod server;
#[path = "../shared/table.rs"]
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use figure::Figure;
use table::Table;

const USAGE: &str = "bench [--only NAME] --kith PATH --out DIR";

/// What each part is given.
pub(crate) struct Ground {
    kith: PathBuf,
    /// On the disk that is measured; emptied at the end.
    dir: PathBuf,
}

type Part = fn(&Ground) -> Vec<Figure>;

const PARTS: [(&str, Part); 14] = [
    ("start", start::measure),
    ("one_shot", one_shot::measure),
    ("step", step::measure),
    ("commands", commands::measure),
    ("throughput", throughput::measure),
    ("control", control::measure),
    ("typing", typing::measure),
    ("appends", appends::measure),
    ("sessions", sessions::measure),
    ("memory", memory::measure),
    ("daemon", daemon::measure),
    ("fan_out", fan_out::measure),
    ("page", page::measure),
    ("unbuilt", unbuilt::list),
];

/// What takes too long for every run.
const BY_NAME: [(&str, Part); 1] = [("huge", huge::measure)];

pub(crate) fn run() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some(server::FLAG) => return server::main(),
        Some(sessions::OPEN_FLAG) => return sessions::open_main(&args[1..]),
        Some(memory::THREADS_FLAG) => return memory::threads_main(&args[1..]),
        Some(one_shot::CLIENT_FLAG) => return one_shot::client_main(&args[1..]),
        Some(throughput::TURNS_FLAG) => return throughput::turns_main(&args[1..]),
        // `cargo test --all-targets` starts it so; a measurement needs a quiet machine.
        None => {
            println!("start it by `cargo xtask bench`");
            return ExitCode::SUCCESS;
        }
        _ => (),
    }
    let mut args = args.into_iter();
    let (mut only, mut kith, mut out) = (None, None, None);
    while let Some(arg) = args.next() {
        let slot = match arg.as_str() {
            "--only" => &mut only,
            "--kith" => &mut kith,
            "--out" => &mut out,
            _ => return wrong(&format!("`{arg}` is not known")),
        };
        *slot = args.next();
    }
    let (Some(kith), Some(out)) = (kith, out.map(PathBuf::from)) else {
        return wrong("`--kith` or `--out` is missing");
    };
    let names: Vec<&str> = PARTS.iter().chain(&BY_NAME).map(|(name, _)| *name).collect();
    if let Some(name) = only.as_ref().filter(|name| !names.contains(&name.as_str())) {
        return wrong(&format!("there is no part `{name}`; there are: {}", names.join(", ")));
    }
    std::fs::create_dir_all(&out).expect("the report folder can be made");
    let scratch = tempfile::tempdir_in(&out).expect("a scratch folder can be made");
    let ground = Ground { kith: PathBuf::from(kith), dir: scratch.path().to_owned() };
    measure(&ground, only.as_deref(), &out);
    ExitCode::SUCCESS
}

fn measure(ground: &Ground, only: Option<&str>, out: &std::path::Path) {
    let mut figures = Vec::new();
    let asked_for = PARTS.iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
    let by_name = BY_NAME.iter().filter(|(name, _)| only == Some(*name));
    for (name, part) in asked_for.chain(by_name) {
        let began = Instant::now();
        figures.extend(part(ground));
        println!("{name}: measured in {:.1} s", began.elapsed().as_secs_f64());
    }
    let mut table = Table::new("bench", &["figure", "value", "reference", "ratio", "goal", "met"]);
    for figure in figures {
        table.row(figure.cells());
    }
    table.print();
    // A part alone is for whoever works on it; the document shows whole runs.
    if only.is_none() {
        table.write(out);
    }
}

fn wrong(complaint: &str) -> ExitCode {
    println!("{complaint}\nusage: {USAGE}");
    ExitCode::from(2)
}
