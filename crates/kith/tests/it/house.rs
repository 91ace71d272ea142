//! A house for one test, the program run in it, and a model server for it to ask.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use kith_testkit::another_user::program;
use kith_testkit::server::{FakeModelServer, LoggedRequest, ServerReply};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The program as it was built.
pub(crate) const KITH: &str = env!("CARGO_BIN_EXE_kith");
/// Lines that a test reads before it gives up on what it waits for.
const LINES_MAX: usize = 10_000;

pub(crate) struct House {
    _dir: TempDir,
    root: PathBuf,
    env: Vec<(String, String)>,
}

/// What came of a run.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) root: String,
}

impl House {
    /// A folder without an agent.
    pub(crate) fn empty() -> House {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["user", "house"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        House { _dir: dir, root, env: Vec::new() }
    }

    /// An agent with the shortest constitution there is.
    pub(crate) fn new() -> House {
        let house = House::empty();
        house.write("Agent.md", "Be kind.\n");
        house
    }

    /// The same, asking this server.
    pub(crate) fn asking(vendor: &Vendor) -> House {
        House::new()
            .with("OPENAI_API_KEY", "sk-test-0123456789")
            .with("OPENAI_BASE_URL", &vendor.server.base_url())
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> House {
        self.set(name, value);
        self
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// The variables that its programs get beside the usual ones.
    pub(crate) fn variables(&self) -> &[(String, String)] {
        &self.env
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.env.retain(|(known, _)| known != name);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join("house").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Every file beneath the house, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        gather(&self.path(""), "", &mut files);
        files.sort();
        files
    }

    pub(crate) fn kith(&self, args: &[&str]) -> Ran {
        self.kith_with_input(args, "")
    }

    pub(crate) fn kith_with_input(&self, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that refuses before it reads closes the pipe, which is part of the test.
        stdin.write_all(input.as_ref()).ok();
        drop(stdin);
        self.ran(child)
    }

    /// Ends what hangs: its exit code is then 124.
    pub(crate) fn kith_bounded(&self, args: &[&str]) -> Ran {
        let inner = self.command(args);
        let mut command = Command::new("timeout");
        command.arg("60").arg(inner.get_program()).args(inner.get_args());
        command.current_dir(self.path("")).env_clear();
        let variables = inner.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.envs(variables.chain([("PATH".as_ref(), "/usr/bin:/bin".as_ref())]));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.ran(command.spawn().unwrap())
    }

    /// In another folder than the house.
    pub(crate) fn kith_in(&self, folder: &str, args: &[&str]) -> Ran {
        let folder = self.path(folder).canonicalize().unwrap();
        let child = self.command(args).current_dir(folder).stdin(Stdio::null()).spawn().unwrap();
        self.ran(child)
    }

    /// With `--json`: exactly one value, on a line of its own.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.kith(args);
        ran.json()
    }

    /// Starts it and goes on.
    pub(crate) fn start(&self, args: &[&str]) -> Running<'_> {
        let mut child = self.command(args).stdin(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Running { house: self, child, stdout, seen: String::new() }
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program(KITH));
        command
            .args(args)
            .current_dir(self.path(""))
            .env_clear()
            .env("HOME", self.root.join("user"))
            .env("NO_COLOR", "1")
            .env("TZ", "UTC")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it behind another program, which is given it as its last arguments.
    pub(crate) fn behind(&self, program: &[&str], args: &[&str]) -> std::io::Result<Ran> {
        let whole = self.command(args);
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "60"]).args(program);
        command.arg(whole.get_program()).args(whole.get_args()).current_dir(self.path(""));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(whole.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(self.ran(command.spawn()?))
    }

    /// Runs it while the kernel refuses it something; `None`, and a line that says so, where there is
    /// no `strace`.
    #[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
    pub(crate) fn refused(&self, rules: &[&str], args: &[&str]) -> Option<Ran> {
        if Command::new("strace").arg("-V").output().is_err() {
            eprintln!("skipped: there is no strace");
            return None;
        }
        let strace = ["strace", "-f", "-qq", "-o", "/dev/null"];
        Some(self.behind(&[&strace, rules].concat(), args).unwrap())
    }

    fn ran(&self, child: Child) -> Ran {
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        // One that was killed has no code.
        let code = output.status.code().unwrap_or(-1);
        let root = self.root.display().to_string();
        Ran { code, stdout: text(output.stdout), stderr: text(output.stderr), root }
    }

    /// The only session there is.
    #[track_caller]
    pub(crate) fn session_file(&self) -> PathBuf {
        let sessions = self.session_files();
        assert_eq!(sessions.len(), 1, "{sessions:?}");
        sessions[0].clone()
    }

    pub(crate) fn session_files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path(".kith/sessions")) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect();
        paths.sort();
        paths
    }

    /// The lines of the only session.
    #[track_caller]
    pub(crate) fn log(&self) -> Vec<Value> {
        lines_of(&self.session_file())
    }
}

pub(crate) fn lines_of(session: &Path) -> Vec<Value> {
    let text = fs::read_to_string(session).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The types of the events, one word each.
pub(crate) fn types(log: &[Value]) -> String {
    let types: Vec<&str> = log.iter().map(|line| line["type"].as_str().unwrap()).collect();
    types.join(" ")
}

pub(crate) fn of_type<'a>(log: &'a [Value], event_type: &str) -> Vec<&'a Value> {
    log.iter().filter(|line| line["type"] == event_type).collect()
}

/// Changes one letter of the file where this text stands.
pub(crate) fn spoil(file: &Path, text: &str) {
    let mut bytes = fs::read(file).unwrap();
    let at = bytes.windows(text.len()).position(|it| it == text.as_bytes()).unwrap();
    bytes[at] ^= 1;
    fs::write(file, bytes).unwrap();
}

fn gather(folder: &Path, prefix: &str, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            gather(&entry.path(), &format!("{name}/"), files);
        } else {
            files.push(name);
        }
    }
}

impl Ran {
    /// Everything, with the names of folders in place of their paths.
    pub(crate) fn shown(&self) -> String {
        let mut text = format!("exit {}\n", self.code);
        for (name, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !stream.is_empty() {
                text = format!("{text}--- {name}\n{stream}");
            }
        }
        text.replace(&format!("{}/house", self.root), "[house]").replace(&self.root, "[root]")
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{}", self.shown());
        serde_json::from_str(&self.stdout).unwrap()
    }

    #[track_caller]
    pub(crate) fn succeeded(self) -> Ran {
        assert_eq!(self.code, 0, "{}", self.shown());
        self
    }
}

/// A run that is not over yet.
pub(crate) struct Running<'a> {
    house: &'a House,
    child: Child,
    stdout: BufReader<ChildStdout>,
    seen: String,
}

impl Running<'_> {
    /// Reads stdout up to the first line that holds this.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) {
        for _ in 0..LINES_MAX {
            let mut line = String::new();
            if self.stdout.read_line(&mut line).unwrap() == 0 {
                break;
            }
            self.seen.push_str(&line);
            if line.contains(text) {
                return;
            }
        }
        panic!("`{text}` never came; what came:\n{}", self.seen);
    }

    /// Reads stdout up to this, whether its line has ended or not.
    #[track_caller]
    pub(crate) fn until_printed(&mut self, text: &str) {
        let mut byte = [0];
        while self.stdout.read(&mut byte).unwrap() == 1 {
            self.seen.push(char::from(byte[0]));
            if self.seen.ends_with(text) {
                return;
            }
        }
        panic!("`{text}` never came; what came:\n{}", self.seen);
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([format!("-{name}"), pid]).status().unwrap();
        assert!(status.success());
    }

    pub(crate) fn finish(mut self) -> Ran {
        self.stdout.read_to_string(&mut self.seen).unwrap();
        let mut ran = self.house.ran(self.child);
        ran.stdout = self.seen;
        ran
    }

    /// Closes the pipe, whatever is still to come.
    pub(crate) fn hang_up(self) -> Ran {
        drop(self.stdout);
        self.house.ran(self.child)
    }

    pub(crate) fn last_line(ran: &Ran) -> Value {
        serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap()
    }
}

/// A model server that answers from a script. It runs beside the test, which blocks on the program.
pub(crate) struct Vendor {
    pub(crate) server: FakeModelServer,
    _runtime: Runtime,
}

impl Vendor {
    pub(crate) fn new(script: impl IntoIterator<Item = ServerReply>) -> Vendor {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(FakeModelServer::start(script));
        Vendor { server, _runtime: runtime }
    }

    pub(crate) fn base_url(&self) -> String {
        self.server.base_url()
    }

    /// Waits until so many requests have arrived.
    #[track_caller]
    pub(crate) fn until_asked(&self, n: usize) {
        self.server.wait_for_requests(n);
    }

    pub(crate) fn requests(&self) -> Vec<LoggedRequest> {
        self.server.requests()
    }

    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.requests().iter().map(|it| serde_json::from_slice(&it.body).unwrap()).collect()
    }
}
