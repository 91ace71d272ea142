//! The program from its start to its first request, and its size.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Ground;
use super::figure::{Figure, median, megabytes, ms, ratio};
use super::house::WallClock;
use super::life::RealHouse;
use super::server::ServerProcess;

const VERSION_RUNS: usize = 200;
const ASK_RUNS: usize = 60;
const PROMPT_BYTES_MAX: u64 = 6 * 1024;
const BINARY_BYTES_MAX: u64 = 30_000_000;

pub(crate) fn measure(ground: &Ground) -> Vec<Figure> {
    let empty = empty_program(&ground.dir);
    let mut figures = vec![version(&ground.kith, &empty)];
    let server = ServerProcess::start();
    let house = RealHouse::make(&ground.kith, &ground.dir.join("start"), &server);
    figures.push(first_request(&house, &server, &empty));
    figures.push(prompt_size(ground, &server));
    let bytes = fs::metadata(&ground.kith).expect("the program is there").len();
    figures.push(
        Figure::new("binary (profile `fast`)", format!("{:.1} MB", megabytes(bytes)))
            .goal("at most 30 MB with the web page", bytes <= BINARY_BYTES_MAX),
    );
    figures
}

/// The least a Rust program costs to start on this machine.
fn empty_program(dir: &Path) -> PathBuf {
    let source = dir.join("empty.rs");
    fs::write(&source, "fn main() {}\n").expect("a file can be written");
    let program = dir.join("empty");
    let status = Command::new("rustc").args(["-O", "-o"]).arg(&program).arg(&source).status();
    assert!(status.expect("rustc can be started").success(), "rustc failed");
    program
}

fn version(kith: &Path, empty: &Path) -> Figure {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..VERSION_RUNS {
        theirs.push(time_of(&mut Command::new(empty)));
        ours.push(time_of(Command::new(kith).arg("--version")));
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let ratio = ratio(ours, theirs);
    Figure::new("`kith --version`", ms(ours))
        .against(format!("{} empty program", ms(theirs)), ratio)
        .goal("at most 2x", ratio <= 2.0)
}

fn time_of(command: &mut Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let status = command.status().expect("a program can be started");
    assert!(status.success(), "{command:?} failed");
    began.elapsed()
}

fn first_request(house: &RealHouse, server: &ServerProcess, empty: &Path) -> Figure {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    server.take_log();
    for n in 0..ASK_RUNS {
        theirs.push(time_of(&mut Command::new(empty)));
        let began = WallClock::micros();
        let output = house.ask(&[], &format!("cli:room:s{n}"), &format!("s{n}")).output();
        assert!(output.expect("kith can be started").status.success(), "kith ask failed");
        let first = server.take_log().first().expect("the model was asked").first_byte_us;
        ours.push(Duration::from_micros(first - began));
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let ratio = ratio(ours, theirs);
    Figure::new("`kith ask`, new session: start to first byte of the request", ms(ours))
        .against(format!("{} empty program", ms(theirs)), ratio)
        .goal("about 15 ms where an empty program takes 1-2 ms", ratio <= 10.0)
}

/// The first request of an agent whose own files are empty, all of it.
fn prompt_size(ground: &Ground, server: &ServerProcess) -> Figure {
    let house = RealHouse::make(&ground.kith, &ground.dir.join("prompt"), server);
    for entry in fs::read_dir(&house.dir).expect("the house can be read").flatten() {
        if entry.path().extension().is_some_and(|it| it == "md") {
            fs::write(entry.path(), "").expect("a file can be emptied");
        }
    }
    server.take_log();
    let output = house.ask(&[], "cli:room:p", "p").output().expect("kith can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let bytes = server.take_log().first().expect("the model was asked").body_bytes;
    let name = "first request of an agent whose own files are empty, with tool schemas";
    Figure::new(name, format!("{bytes} bytes")).goal("at most 6 KB", bytes <= PROMPT_BYTES_MAX)
}
