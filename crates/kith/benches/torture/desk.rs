//! The real program, its desk failing at every system call that changes it.
//!
//! The desk is SQLite, which does its own I/O; no seam of ours lies below it. So the faults are
//! injected from outside by `strace`: the process is killed as it enters the n-th call on the
//! desk's files, or that call fails. `strace` counts the calls of each thread by themselves: one opens
//! and closes the desk, another uses it.
//! A power cut is made of a kill: what the write-ahead log got after its last sync is cut off.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::life::RealHouse;
use super::server::ServerProcess;
use super::table::Table;
use super::turn::{HARM_HEAD, Harm};

const THREAD: &str = "cli:room:a";
const CALLS: &str = "pwrite64,write,fdatasync,fsync,ftruncate,unlink";
/// More calls than a message takes.
const CALLS_MAX: usize = 400;

#[derive(Clone, Copy, Debug)]
enum Fault {
    Kill,
    PowerCut,
    /// The n-th write finds no room; later ones do.
    FullOnce,
    /// From the n-th write on there is no room.
    Full,
    FailedSync,
}

const FAULTS: [(Fault, &str); 5] = [
    (Fault::Kill, "killed at every call on the desk's files"),
    (Fault::PowerCut, "the same, and unsynced bytes of its write-ahead log vanish"),
    (Fault::FullOnce, "no room for one write of the desk"),
    (Fault::Full, "no room from a write of the desk on"),
    (Fault::FailedSync, "every sync of the desk fails once"),
];

impl Fault {
    /// What strace is told. It counts the calls of each name by themselves.
    fn injection(self, call: &str, n: usize) -> String {
        match self {
            Fault::Kill | Fault::PowerCut => format!("inject={call}:signal=SIGKILL:when={n}"),
            Fault::FullOnce => format!("inject={call}:error=ENOSPC:when={n}"),
            Fault::Full => format!("inject={call}:error=ENOSPC:when={n}+"),
            Fault::FailedSync => format!("inject={call}:error=EIO:when={n}"),
        }
    }

    /// The names of the calls that it strikes.
    fn calls(self) -> &'static str {
        match self {
            Fault::Kill | Fault::PowerCut => CALLS,
            Fault::FullOnce | Fault::Full => "pwrite64,write",
            Fault::FailedSync => "fdatasync,fsync",
        }
    }

    /// Everywhere it can strike: the name of a call, and which of its kind.
    fn points(self, calls: &[Call]) -> Vec<(&'static str, usize)> {
        let of_name = |name: &'static str| {
            let n_calls = calls.iter().filter(|it| it.name == name).count();
            (1..=n_calls.min(CALLS_MAX)).map(move |n| (name, n))
        };
        self.calls().split(',').flat_map(of_name).collect()
    }
}

pub(crate) async fn run(kith: &Path, dir: &Path) -> (Table, bool) {
    let mut head = vec!["house", "fault", "operations M", "lives that failed of it"];
    head.extend(HARM_HEAD);
    let mut table = Table::new("torture-desk", &head);
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        table.note("not run: `strace` is not installed");
        return (table, true);
    }
    let server = ServerProcess::start();
    let fresh = RealHouse::make(kith, &dir.join("desk-fresh"), &server);
    let lived_in = fresh.copied_to(&dir.join("desk-lived-in"));
    answer(&lived_in, "m0").expect("an undisturbed message is answered");
    let mut total = Harm::default();
    for (house, name, n_before) in [(&fresh, "new", 0), (&lived_in, "lived in", 1)] {
        let calls = calls_of_a_message(house, dir);
        for (fault, what) in FAULTS {
            let points = fault.points(&calls);
            let (mut harm, mut n_failed) = (Harm::default(), 0);
            for &(call, n) in &points {
                let injection = fault.injection(call, n);
                let (one, failed) = one_case(house, dir, fault, &injection, n_before).await;
                n_failed += usize::from(failed);
                if !one.is_none() {
                    println!("HARM {name} {injection}: {one:?}");
                }
                harm.add(one);
            }
            total.add(harm);
            let [lost, doubled, unanswered, damaged, panics] = harm.cells();
            let (name, what) = (name.to_owned(), what.to_owned());
            let (m, n_failed) = (points.len().to_string(), n_failed.to_string());
            table.row([name, what, m, n_failed, lost, doubled, unanswered, damaged, panics]);
        }
    }
    (table, total.is_none())
}

/// One fault, and then an undisturbed life in which the message is answered. Also tells whether
/// the life with the fault failed of it.
async fn one_case(
    template: &RealHouse,
    dir: &Path,
    fault: Fault,
    injection: &str,
    n_before: usize,
) -> (Harm, bool) {
    let folder = tempfile::tempdir_in(dir).expect("a folder can be made");
    let house = template.copied_to(&folder.path().join("house"));
    let trace = folder.path().join("trace");
    let tracer = tracer(&house, &trace, Some(injection));
    let output = house.ask(&tracer, THREAD, "m1").output().expect("strace can be started");
    let mut harm = Harm::default();
    // The program's word for a bug of its own.
    harm.panics += usize::from(output.status.code() == Some(70));
    if matches!(fault, Fault::PowerCut) {
        forget_unsynced(&house, &read_trace(&trace));
    }
    if let Err(said) = answer(&house, "m1") {
        println!("UNANSWERED {injection}: {said}");
        harm.unanswered += 1;
    }
    let account = house.account().await;
    let n_said = account.said.get("cli:local:m1").copied().unwrap_or_default();
    harm.lost += usize::from(n_said == 0);
    harm.lost += n_before.saturating_sub(account.said.get("cli:local:m0").copied().unwrap_or(0));
    harm.doubled += n_said.saturating_sub(1);
    harm.doubled += account.n_turns_ended.saturating_sub(n_before + 1);
    harm.unanswered += account.n_unclosed;
    harm.damaged += account.n_damaged + account.n_mismatches;
    (harm, !output.status.success())
}

fn answer(house: &RealHouse, id: &str) -> Result<(), String> {
    let output = house.ask(&[], THREAD, id).output().expect("kith can be started");
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A system call on one of the desk's files that ended.
struct Call {
    name: String,
    is_on_wal: bool,
    /// Where the bytes written end.
    end: u64,
}

fn calls_of_a_message(template: &RealHouse, dir: &Path) -> Vec<Call> {
    let folder = tempfile::tempdir_in(dir).expect("a folder can be made");
    let house = template.copied_to(&folder.path().join("house"));
    let trace = folder.path().join("trace");
    let tracer = tracer(&house, &trace, None);
    let output = house.ask(&tracer, THREAD, "m1").output().expect("strace can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    read_trace(&trace)
}

fn tracer(house: &RealHouse, trace: &Path, injection: Option<&str>) -> Vec<String> {
    let mut words: Vec<String> =
        ["strace", "-f", "-qq", "-y", "-s", "0", "-o"].map(str::to_owned).into();
    words.push(trace.to_string_lossy().into_owned());
    for path in desk_files(house) {
        words.extend(["-P".to_owned(), path.to_string_lossy().into_owned()]);
    }
    words.extend(["-e".to_owned(), format!("trace={CALLS}")]);
    words.extend(injection.map(|it| ["-e".to_owned(), it.to_owned()]).into_iter().flatten());
    words
}

fn desk_files(house: &RealHouse) -> [PathBuf; 3] {
    let file = |name: &str| house.dir.join(".kith").join(name);
    [file("state.db"), file("state.db-wal"), file("state.db-journal")]
}

/// Lines as `123 pwrite64(9</house/.kith/state.db-wal>, ""..., 24, 0) = 24`.
fn read_trace(trace: &Path) -> Vec<Call> {
    let text = fs::read_to_string(trace).unwrap_or_default();
    let call = |line: &str| {
        let (_, line) = line.split_once(' ')?;
        let (name, rest) = line.trim_start().split_once('(')?;
        let (args, result) = rest.rsplit_once(" = ")?;
        let (args, _) = args.rsplit_once(')')?;
        if result.starts_with(['?', '-']) {
            return None;
        }
        let mut numbers = args.rsplit(", ").map_while(|it| it.parse::<u64>().ok());
        let end = numbers.next().unwrap_or_default() + numbers.next().unwrap_or_default();
        Some(Call { name: name.to_owned(), is_on_wal: args.contains("-wal>"), end })
    };
    text.lines().filter_map(call).collect()
}

/// Cuts the write-ahead log where its last sync found it.
fn forget_unsynced(house: &RealHouse, calls: &[Call]) {
    let [_, wal, _] = desk_files(house);
    let Ok(file) = fs::OpenOptions::new().write(true).open(&wal) else { return };
    let (mut written, mut synced) = (0, 0);
    for call in calls.iter().filter(|it| it.is_on_wal) {
        match call.name.as_str() {
            "pwrite64" => written = call.end.max(written),
            "fdatasync" | "fsync" => synced = written,
            _ => (),
        }
    }
    if written > synced {
        file.set_len(synced).expect("a file can be cut");
    }
}
