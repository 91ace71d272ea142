//! Logs that are bounded, the owner's alone, and never in anybody's way.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

const ID: &str = "0198a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1";

fn id_of(n: u8) -> SessionId {
    format!("{}{n:02x}", &ID[..34]).parse().unwrap()
}

struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    fn new() -> Folder {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".kith")).unwrap();
        Folder { dir }
    }

    fn kith_dir(&self) -> PathBuf {
        self.dir.path().join(".kith")
    }

    fn names(&self) -> Vec<String> {
        let read = fs::read_dir(self.kith_dir().join(FOLDER)).unwrap();
        let mut names: Vec<String> =
            read.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn text(&self, name: LogName) -> String {
        fs::read_to_string(name.path(&self.kith_dir())).unwrap()
    }
}

#[test]
fn lines_are_appended_in_a_file_that_is_the_owners_alone() {
    let folder = Folder::new();
    let name = LogName::Session(id_of(1));
    LogWriter::in_folder(&folder.kith_dir()).append(name, b"a=1\n").unwrap();
    LogWriter::in_folder(&folder.kith_dir()).append(name, b"a=2\n").unwrap();
    assert_eq!(folder.text(name), "a=1\na=2\n");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(name.path(&folder.kith_dir())), 0o600);
    assert_eq!(mode(folder.kith_dir().join(FOLDER)), 0o700);
}

#[test]
fn a_long_log_is_renamed_and_one_before_it_is_kept() {
    let folder = Folder::new();
    let bounds = LogBounds { file_bytes_max: 10, ..LogBounds::default() };
    let mut writer = LogWriter::with_bounds(&folder.kith_dir(), bounds);
    for n in 0..9 {
        writer.append(LogName::Host, format!("n={n}\n").as_bytes()).unwrap();
    }
    assert_eq!(folder.names(), ["host.log", "host.log.1"]);
    let (_, lines) = LogTail::open(&folder.kith_dir(), LogName::Host, 100).unwrap();
    assert_eq!(lines, ["n=6", "n=7", "n=8"]);
    let (_, lines) = LogTail::open(&folder.kith_dir(), LogName::Host, 2).unwrap();
    assert_eq!(lines, ["n=7", "n=8"], "two of them, across the rename");
}

#[test]
fn the_oldest_logs_go_when_the_folder_holds_too_much() {
    let folder = Folder::new();
    let bounds = LogBounds { file_bytes_max: 100, folder_bytes_max: 250, files_max: 1_000 };
    let mut writer = LogWriter::with_bounds(&folder.kith_dir(), bounds);
    let line = [b"x".repeat(99), b"\n".to_vec()].concat();
    writer.append(LogName::Host, &line).unwrap();
    for n in 0..5 {
        writer.append(LogName::Session(id_of(n)), &line).unwrap();
        // Their order is that of their times.
        let path = LogName::Session(id_of(n)).path(&folder.kith_dir());
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(n));
        File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
    }
    writer.append(LogName::Session(id_of(9)), b"x\n").unwrap();
    writer.remove_oldest().unwrap();
    let left = [id_of(3), id_of(4), id_of(9)].map(|id| format!("{id}.log"));
    assert_eq!(folder.names()[..3], left);
    assert_eq!(folder.names()[3..], ["host.log"], "the host's own is not theirs");
    let bounds = LogBounds { files_max: 1, ..LogBounds::default() };
    let mut writer = LogWriter::with_bounds(&folder.kith_dir(), bounds);
    writer.append(LogName::Session(id_of(10)), b"x\n").unwrap();
    assert_eq!(folder.names(), [format!("{}.log", id_of(10)), "host.log".to_owned()]);
}

#[test]
fn few_files_stay_open_and_all_are_appended_to() {
    let folder = Folder::new();
    let mut writer = LogWriter::in_folder(&folder.kith_dir());
    for round in 0..2 {
        for n in 0..40 {
            writer.append(LogName::Session(id_of(n)), format!("r={round}\n").as_bytes()).unwrap();
        }
    }
    assert_eq!(writer.open.len(), OPEN_LOGS_MAX);
    for n in 0..40 {
        assert_eq!(folder.text(LogName::Session(id_of(n))), "r=0\nr=1\n");
    }
}

#[test]
fn nothing_is_written_or_read_through_a_link() {
    let folder = Folder::new();
    let name = LogName::Session(id_of(1));
    fs::create_dir(folder.kith_dir().join(FOLDER)).unwrap();
    let elsewhere = folder.dir.path().join("elsewhere");
    fs::write(&elsewhere, "mine\n").unwrap();
    symlink(&elsewhere, name.path(&folder.kith_dir())).unwrap();
    let mut writer = LogWriter::in_folder(&folder.kith_dir());
    let refused = writer.append(name, b"a=1\n").unwrap_err();
    assert!(refused.to_string().contains("symbolic link"), "{refused}");
    assert!(LogTail::open(&folder.kith_dir(), name, 10).is_err());
    fs::remove_file(name.path(&folder.kith_dir())).unwrap();
    fs::hard_link(&elsewhere, name.path(&folder.kith_dir())).unwrap();
    assert!(writer.append(name, b"a=1\n").unwrap_err().to_string().contains("second name"));
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine\n");

    let folder = Folder::new();
    symlink(folder.dir.path(), folder.kith_dir().join(FOLDER)).unwrap();
    let mut writer = LogWriter::in_folder(&folder.kith_dir());
    assert!(writer.append(LogName::Host, b"a=1\n").is_err());
    assert!(!folder.dir.path().join("host.log").exists());
    assert!(writer.remove(id_of(1)).is_err(), "nothing is removed through it either");
}

#[test]
fn a_follower_reads_on_across_a_rename() {
    let folder = Folder::new();
    let (mut tail, lines) = LogTail::open(&folder.kith_dir(), LogName::Host, 10).unwrap();
    assert_eq!(lines, Vec::<String>::new());
    assert_eq!(tail.read_new().unwrap(), Vec::<String>::new());
    let bounds = LogBounds { file_bytes_max: 20, ..LogBounds::default() };
    let mut writer = LogWriter::with_bounds(&folder.kith_dir(), bounds);
    let mut seen = Vec::new();
    for n in 0..50 {
        writer.append(LogName::Host, format!("n={n}\n").as_bytes()).unwrap();
        if n % 3 == 0 {
            seen.extend(tail.read_new().unwrap());
        }
    }
    seen.extend(tail.read_new().unwrap());
    let all: Vec<String> = (0..50).map(|n| format!("n={n}")).collect();
    assert_eq!(seen, all);
}

#[test]
fn half_a_line_waits_for_its_end() {
    let folder = Folder::new();
    let mut writer = LogWriter::in_folder(&folder.kith_dir());
    writer.append(LogName::Host, b"a=1\nb").unwrap();
    let (mut tail, lines) = LogTail::open(&folder.kith_dir(), LogName::Host, 10).unwrap();
    assert_eq!(lines, ["a=1"]);
    assert_eq!(tail.read_new().unwrap(), Vec::<String>::new());
    writer.append(LogName::Host, b"=2\n").unwrap();
    assert_eq!(tail.read_new().unwrap(), ["b=2"]);
}

#[test]
fn a_removed_session_leaves_no_log() {
    let folder = Folder::new();
    let bounds = LogBounds { file_bytes_max: 4, ..LogBounds::default() };
    let mut writer = LogWriter::with_bounds(&folder.kith_dir(), bounds);
    for id in [id_of(1), id_of(2)] {
        writer.append(LogName::Session(id), b"a=1\n").unwrap();
        writer.append(LogName::Session(id), b"a=2\n").unwrap();
    }
    writer.remove(id_of(1)).unwrap();
    writer.remove(id_of(1)).unwrap();
    assert_eq!(folder.names(), [format!("{}.log", id_of(2)), format!("{}.log.1", id_of(2))]);
}
