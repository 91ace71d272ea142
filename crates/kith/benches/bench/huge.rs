//! A session of a gigabyte: what each command makes of it. Asked for by name, since it takes long.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Ground;
use super::conversation::{self, Length};
use super::figure::{Figure, megabytes, ms};
use super::life::{RealHouse, user_home};
use super::server::ServerProcess;

const GIGABYTE: Length = Length {
    events_min: 0,
    bytes_min: 1_000_000_000,
    result_bytes: 12_000,
    compaction_every: Some(1000),
};
/// How often a process is looked at while it runs; its peak is what it said last.
const LOOK: Duration = Duration::from_millis(5);
const TIME_MAX: Duration = Duration::from_secs(20);
/// Far less than the session: nothing may hold all of it.
const PEAK_BYTES_MAX: u64 = 400_000_000;

pub(crate) fn measure(ground: &Ground) -> Vec<Figure> {
    let server = ServerProcess::start();
    let house = RealHouse::make(&ground.kith, &ground.dir.join("huge"), &server);
    let began = Instant::now();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let id = runtime.block_on(conversation::write(&house.dir, "huge", GIGABYTE)).to_string();
    println!("written in {:.1} s", began.elapsed().as_secs_f64());
    let kith = |args: &[&str]| {
        let mut command = Command::new(&ground.kith);
        command.args(args).arg("--home").arg(&house.dir).env("HOME", user_home(&house.dir));
        command
    };
    let ask = |words: &str| kith(&["ask", words, "--session", &id, "--model", "demo"]);
    let commands: [(&str, Command); 8] = [
        ("session ls, without an index", kith(&["session", "ls"])),
        ("session show", kith(&["session", "show", &id])),
        ("session verify", kith(&["session", "verify", &id])),
        ("doctor", kith(&["doctor"])),
        ("ask in it, the first time", ask("say one")),
        ("ask in it again", ask("say two")),
        ("session ls, later", kith(&["session", "ls"])),
        ("session export", kith(&["session", "export", &id])),
    ];
    commands.into_iter().map(|(name, command)| figure(name, command, &ground.dir)).collect()
}

fn figure(name: &str, mut command: Command, dir: &Path) -> Figure {
    let output = std::fs::File::create(dir.join("output")).expect("a file can be made");
    command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(output);
    let began = Instant::now();
    let mut child = command.spawn().expect("kith can be started");
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let code = loop {
        let status = std::fs::read_to_string(&status_file).unwrap_or_default();
        peak = peak.max(peak_in(&status));
        if let Some(status) = child.try_wait().expect("a child can be looked at") {
            break status.code();
        }
        std::thread::sleep(LOOK);
    };
    let took = began.elapsed();
    let code = code.map_or("killed".to_owned(), |code| format!("exit {code}"));
    let value = format!("{}, {:.0} MB, {code}", ms(took), megabytes(peak));
    Figure::new(format!("a session of 1 GB: `kith {name}`"), value)
        .goal("at most 20 s, 400 MB", took <= TIME_MAX && peak <= PEAK_BYTES_MAX)
}

fn peak_in(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|it| it.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}
