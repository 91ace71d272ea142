//! The program in a real terminal: screen, questions and colours.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use kith_testkit::gate::Gate;
use kith_testkit::server::ServerReply;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::house::{House, KITH, Vendor, of_type};
use crate::queue::until_waiting;

const ROWS: u16 = 30;
const COLUMNS: u16 = 110;
/// How long a test waits for something to appear.
const WAIT_MAX: Duration = Duration::from_mins(1);
/// Where is the cursor?
const ASKS_FOR_POSITION: &[u8] = b"\x1b[6n";

/// A terminal in which one command runs.
pub(crate) struct Terminal {
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    raw: Vec<u8>,
}

impl Terminal {
    pub(crate) fn start(house: &House, args: &[&str], variables: &[(&str, &str)]) -> Terminal {
        Terminal::sized_with(house, args, (COLUMNS, ROWS), variables)
    }

    /// In a terminal with so many columns and rows.
    pub(crate) fn sized(house: &House, args: &[&str], size: (u16, u16)) -> Terminal {
        Terminal::sized_with(house, args, size, &[])
    }

    pub(crate) fn sized_with(
        house: &House,
        args: &[&str],
        size: (u16, u16),
        variables: &[(&str, &str)],
    ) -> Terminal {
        Terminal::start_program(KITH, house, &house.path(""), args, size, variables)
    }

    /// In another folder than the house.
    pub(crate) fn start_in(house: &House, folder: &str, variables: &[(&str, &str)]) -> Terminal {
        std::fs::create_dir_all(house.path(folder)).unwrap();
        let folder = house.path(folder).canonicalize().unwrap();
        Terminal::start_program(KITH, house, &folder, &[], (COLUMNS, ROWS), variables)
    }

    /// A shell, in which a program can be suspended.
    pub(crate) fn start_shell(house: &House, variables: &[(&str, &str)]) -> Terminal {
        let size = (COLUMNS, ROWS);
        Terminal::start_program("/bin/sh", house, &house.path(""), &["-i"], size, variables)
    }

    fn start_program(
        program: &str,
        house: &House,
        folder: &Path,
        args: &[&str],
        (cols, rows): (u16, u16),
        variables: &[(&str, &str)],
    ) -> Terminal {
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
        let pty = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(folder);
        command.env_clear();
        command.env("HOME", house.path("../user"));
        command.env("TERM", "xterm-256color");
        command.env("TZ", "UTC");
        for (name, value) in house.variables() {
            command.env(name, value);
        }
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pty.slave.spawn_command(command).unwrap();
        let mut reader = pty.master.try_clone_reader().unwrap();
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut chunk = [0; 4096];
            // A terminal whose program has ended gives an error or nothing.
            while let Ok(n_bytes @ 1..) = reader.read(&mut chunk) {
                if sender.send(chunk[..n_bytes].to_vec()).is_err() {
                    return;
                }
            }
        });
        let keyboard = pty.master.take_writer().unwrap();
        let screen = vt100::Parser::new(rows.try_into().unwrap(), cols.try_into().unwrap(), 0);
        Terminal { master: pty.master, keyboard, child, output, screen, raw: Vec::new() }
    }

    fn show(&mut self, chunk: &[u8]) {
        self.screen.process(chunk);
        self.raw.extend_from_slice(chunk);
        if chunk.windows(ASKS_FOR_POSITION.len()).any(|it| it == ASKS_FOR_POSITION) {
            let (row, column) = self.screen.screen().cursor_position();
            self.press(&format!("\x1b[{};{}R", row + 1, column + 1));
        }
    }

    /// Whether the screen is whole: a drawing may come in pieces.
    fn is_drawn(&self) -> bool {
        let last = |codes: &[u8]| self.raw.windows(codes.len()).rposition(|it| it == codes);
        last(b"\x1b[?2026l") >= last(b"\x1b[?2026h")
    }

    /// Waits until this stands on the screen, and the screen is whole.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) {
        // What runs is drawn anew all the time, so that the next piece alone is no sign of life.
        let since = Instant::now();
        while !(self.screen.screen().contents().contains(text) && self.is_drawn()) {
            let chunk = self.output.recv_timeout(WAIT_MAX).ok();
            let Some(chunk) = chunk.filter(|_| since.elapsed() < WAIT_MAX) else {
                panic!("`{text}` never came:\n{}", self.screen.screen().contents());
            };
            self.show(&chunk);
        }
    }

    /// What stands on the screen.
    pub(crate) fn contents(&self) -> String {
        self.screen.screen().contents()
    }

    /// Whether a row was written beyond its end, so that the terminal broke it.
    pub(crate) fn is_any_row_wrapped(&self) -> bool {
        let (rows, _) = self.screen.screen().size();
        (0..rows.get()).any(|row| self.screen.screen().row_wrapped(row))
    }

    /// All that was ever printed, as it was.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.press(&format!("\x1b[200~{text}\x1b[201~"));
    }

    pub(crate) fn resize(&mut self, rows: u16, cols: u16) {
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).unwrap();
        self.screen.screen_mut().set_size(rows.try_into().unwrap(), cols.try_into().unwrap());
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Sends the program a signal.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.process_id().unwrap().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end of the program, and returns its exit code and the screen.
    pub(crate) fn end(mut self) -> (u32, String, Vec<u8>) {
        while let Ok(chunk) = self.output.recv_timeout(WAIT_MAX) {
            self.show(&chunk);
        }
        let code = self.child.wait().unwrap().exit_code();
        (code, self.screen.screen().contents(), self.raw)
    }
}

fn is_coloured(raw: &[u8]) -> bool {
    raw.windows(2).any(|it| it == b"\x1b[")
}

#[test]
fn a_terminal_is_coloured_and_no_color_is_honoured() {
    let house = House::empty();
    let (_, shown, raw) = Terminal::start(&house, &["--help"], &[]).end();
    assert!(is_coloured(&raw), "{shown}");
    let (_, shown, raw) = Terminal::start(&house, &["--help"], &[("NO_COLOR", "1")]).end();
    assert!(!is_coloured(&raw), "{shown}");
    // An empty value says nothing.
    let (_, shown, raw) = Terminal::start(&house, &["--help"], &[("NO_COLOR", "")]).end();
    assert!(is_coloured(&raw), "{shown}");
    let output = house.command(&["--help"]).env_remove("NO_COLOR").output().unwrap();
    assert!(!is_coloured(&output.stdout) && !is_coloured(&output.stderr), "in a pipe");
    // Of what is wrong only our own word is coloured: the rest may hold escape sequences.
    let (_, shown, raw) = Terminal::start(&house, &["session", "--\u{1b}[2Jhepl"], &[]).end();
    let raw = String::from_utf8(raw).unwrap();
    assert!(raw.starts_with("\u{1b}[1;31merror:\u{1b}[0m unexpected argument"), "{shown}");
    assert!(!raw.contains("\u{1b}[2J"), "{shown}");
}

#[test]
fn a_removal_asks_and_only_a_yes_removes() {
    let house = House::new();
    house.kith(&["ask", "say one", "--model", "demo"]).succeeded();
    let args = ["session", "rm", "latest"];
    for (answer, code) in [("n\r", 1), ("\r", 1)] {
        let mut terminal = Terminal::start(&house, &args, &[]);
        terminal.until("Remove session ");
        terminal.until("? [y/N]");
        terminal.press(answer);
        let (found, shown, _) = terminal.end();
        assert_eq!(found, code, "{shown}");
        assert!(shown.contains("nothing was removed"), "{shown}");
        assert_eq!(house.session_files().len(), 1);
    }
    let mut terminal = Terminal::start(&house, &args, &[]);
    terminal.until("Remove session ");
    terminal.until("? [y/N]");
    terminal.press("y\r");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(house.session_files().len(), 0);
}

#[test]
fn a_conversation_in_a_terminal_answers_and_ends() {
    let house = House::new();
    let mut terminal = Terminal::start(&house, &["--model", "demo"], &[("NO_COLOR", "1")]);
    terminal.until("\n> ");
    terminal.press("say 你好 there\r");
    terminal.until("\n你好 there");
    terminal.until("of the context");
    terminal.press("/quit\r");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, 0, "{shown}");
}

#[test]
fn ctrl_c_stops_the_answer_and_the_conversation_goes_on() {
    let vendor =
        Vendor::new([ServerReply::Trickle { pause_ms: 1 }, ServerReply::text("here again")]);
    let house = House::asking(&vendor);
    let mut terminal = Terminal::start(&house, &[], &[("NO_COLOR", "1")]);
    terminal.until("\n> ");
    terminal.press("talk for ever\r");
    terminal.until("drip");
    terminal.press("\u{3}");
    terminal.until("(stopped)");
    terminal.press("and now?\r");
    terminal.until("here again");
    terminal.press("/quit\r");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    let log = house.log();
    assert_eq!(of_type(&log, "user_message").len(), 2);
    let reasons: Vec<_> =
        of_type(&log, "turn_ended").iter().map(|it| it["reason"].clone()).collect();
    assert_eq!(reasons, ["cancelled", "done"]);
}

#[test]
fn a_steer_is_shown_as_a_steer_and_not_as_a_message() {
    let gate = Gate::new();
    let read = ServerReply::calls("", &[("read_file", serde_json::json!({ "path": "USER.md" }))]);
    let vendor = Vendor::new([read.behind(&gate), ServerReply::text("as you wish")]);
    let house = House::asking(&vendor);
    let mut terminal = Terminal::start(&house, &["ask", "work"], &[("NO_COLOR", "1")]);
    vendor.until_asked(1);
    let steer = house.start(&["steer", "only the tests"]);
    until_waiting(&house, 1);
    gate.open();
    terminal.until("(steer) only the tests");
    assert_eq!(terminal.end().0, 0);
    assert_eq!(steer.finish().code, 0);
    let shown = house.kith(&["session", "show", "latest"]).stdout;
    let told: Vec<&str> = shown.lines().filter(|it| it.contains("only the tests")).collect();
    assert!(told.len() == 1 && told[0].contains("(steer)"), "{shown}");
}
