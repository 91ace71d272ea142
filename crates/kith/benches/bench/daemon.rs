//! The daemon: how soon it is ready, and what it takes when nobody asks anything of it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Ground;
use super::figure::{Figure, median, megabytes, ms};
use super::life::{RealHouse, user_home};
use super::memory::status_bytes_of;
use super::server::ServerProcess;

const RUNS: usize = 20;
const READY_MAX: Duration = Duration::from_millis(15);
const IDLE_BYTES_MAX: u64 = 20_000_000;

pub(crate) fn measure(ground: &Ground) -> Vec<Figure> {
    let server = ServerProcess::start();
    let house = RealHouse::make(&ground.kith, &ground.dir.join("daemon"), &server);
    let (mut times, mut sizes) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (daemon, ready) = start(ground, &house);
        times.push(ready);
        sizes.push(status_bytes_of(&daemon.id().to_string(), "VmRSS"));
        stop(daemon);
    }
    let (ready, idle) = (median(times), median(sizes));
    vec![
        Figure::new("idle daemon, resident", format!("{:.1} MB", megabytes(idle)))
            .goal("at most 20 MB", idle <= IDLE_BYTES_MAX),
        Figure::new("daemon, start to ready", ms(ready)).goal("about 15 ms", ready <= READY_MAX),
    ]
}

/// Starts the daemon, and waits until it is ready.
fn start(ground: &Ground, house: &RealHouse) -> (Child, Duration) {
    let began = Instant::now();
    let (daemon, _) = ready(up(ground, house));
    (daemon, began.elapsed())
}

/// Starts the daemon with a model that is asked at an address; returns where it listens.
pub(crate) fn start_with_model(ground: &Ground, house: &RealHouse, url: &str) -> (Child, String) {
    let mut up = up(ground, house);
    up.env("OPENAI_API_KEY", "none").env("OPENAI_BASE_URL", url).env_remove("ANTHROPIC_API_KEY");
    let (daemon, line) = ready(up);
    let (_, address) = line.split_once("http://").expect("it says where it listens");
    let end = address.find(|it: char| !it.is_ascii_digit() && !".:".contains(it));
    let address = &address[..end.unwrap_or(address.len())];
    (daemon, address.to_owned())
}

fn up(ground: &Ground, house: &RealHouse) -> Command {
    let mut command = Command::new(&ground.kith);
    command
        .args(["up", "--port", "0", "--home"])
        .arg(&house.dir)
        .current_dir(&house.dir)
        .env("HOME", user_home(&house.dir))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

fn ready(mut up: Command) -> (Child, String) {
    let mut daemon = up.spawn().expect("kith can be started");
    let stdout = daemon.stdout.take().expect("its output is piped");
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).expect("it says something");
    assert!(line.contains("serves http"), "{line}");
    (daemon, line)
}

pub(crate) fn stop(mut daemon: Child) {
    let pid = daemon.id().to_string();
    let status = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(status.expect("kill can be started").success(), "kill failed");
    daemon.wait().expect("a child can be waited for");
}
