//! The terminal as a device: raw mode, keys and pastes, its size, and leaving it for another program.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::thread::{self, JoinHandle};

use kith_host::error::{Blame, CallError, ErrorCode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::pipe;
use rustix::process::{Signal, getpid, kill_process};
use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, OutputModes, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::keys::{KeyParser, TerminalInput};

/// Where the size is not known.
const SIZE_USUAL: (usize, usize) = (80, 24);
const READ_BYTES: usize = 64 * 1024;
/// Keys that wait to be taken; more stay in the terminal.
const INPUTS_MAX: usize = 1_024;
/// After this an escape is the key, and not the beginning of a sequence.
const KEY_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 30_000_000 };
/// Pastes come as brackets around the text.
const PASTES_BRACKETED: &str = "\x1b[?2004h";
const PASTES_PLAIN: &str = "\x1b[?2004l";

pub(crate) struct Keyboard {
    inputs: mpsc::Receiver<TerminalInput>,
    sender: mpsc::Sender<TerminalInput>,
    /// Keys that had been read when the terminal was given away.
    waiting: VecDeque<TerminalInput>,
    resized: tokio::signal::unix::Signal,
    /// `None` while another program has the terminal.
    taken: Option<TakenTerminal>,
}

struct TakenTerminal {
    /// How the terminal was found.
    modes: Termios,
    /// The reader ends when this does.
    stop: Option<OwnedFd>,
    reader: Option<JoinHandle<()>>,
}

impl Keyboard {
    pub(crate) fn open() -> Result<Keyboard, CallError> {
        let (sender, inputs) = mpsc::channel(INPUTS_MAX);
        let resized = signal(SignalKind::window_change()).map_err(unusable)?;
        let mut keyboard =
            Keyboard { inputs, sender, waiting: VecDeque::new(), resized, taken: None };
        keyboard.take()?;
        Ok(keyboard)
    }

    /// The next key or paste.
    pub(crate) async fn next(&mut self) -> Option<TerminalInput> {
        if let Some(input) = self.waiting.pop_front() {
            return Some(input);
        }
        tokio::select! {
            input = self.inputs.recv() => input,
            _ = self.resized.recv() => Some(TerminalInput::Resized),
        }
    }

    /// A key that was read already, if there is one.
    pub(crate) fn try_next(&mut self) -> Option<TerminalInput> {
        self.waiting.pop_front().or_else(|| self.inputs.try_recv().ok())
    }

    fn take(&mut self) -> Result<(), CallError> {
        let modes = tcgetattr(stdin()).map_err(unusable)?;
        let mut raw = modes.clone();
        raw.make_raw();
        // A line end still returns to the first column, whoever prints it.
        raw.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
        let (stopped, stop) = pipe().map_err(unusable)?;
        tcsetattr(stdin(), OptionalActions::Now, &raw).map_err(unusable)?;
        print(PASTES_BRACKETED);
        let sender = self.sender.clone();
        let reader = thread::Builder::new()
            .name("kith-keyboard".to_owned())
            .spawn(move || read_keys(&stopped, &sender))
            .map_err(unusable)?;
        self.taken = Some(TakenTerminal { modes, stop: Some(stop), reader: Some(reader) });
        Ok(())
    }

    /// Gives the terminal back as it was found.
    pub(crate) fn close(&mut self) {
        let Some(mut taken) = self.taken.take() else { return };
        drop(taken.stop.take());
        if let Some(reader) = taken.reader.take() {
            // It may wait for room for what it has read.
            while !reader.is_finished() {
                match self.inputs.try_recv() {
                    Ok(input) => self.waiting.push_back(input),
                    Err(_) => thread::yield_now(),
                }
            }
            // A panic of it was printed already.
            reader.join().unwrap_or_default();
        }
        print(PASTES_PLAIN);
        // A terminal that is gone has no modes.
        tcsetattr(stdin(), OptionalActions::Now, &taken.modes).unwrap_or_default();
    }

    /// Ctrl-Z: stops this process until the shell continues it.
    pub(crate) fn suspend(&mut self) -> Result<(), CallError> {
        self.close();
        kill_process(getpid(), Signal::TSTP).map_err(unusable)?;
        self.take()
    }

    /// Lets the person's editor change a text. If that fails, the text comes back with the reason.
    pub(crate) fn edit(&mut self, text: &str) -> Result<String, (String, CallError)> {
        self.close();
        let edited = edited(text);
        let taken = self.take();
        match (edited, taken) {
            (Ok(edited), Ok(())) => Ok(edited),
            (Err(error), _) | (_, Err(error)) => Err((text.to_owned(), error)),
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.close();
    }
}

fn unusable(source: impl Into<io::Error>) -> CallError {
    let message = format!("cannot use the terminal: {}", source.into());
    CallError::new(Blame::Environment, ErrorCode::InternalError, message)
        .hint("`kith --plain` reads it line by line")
}

fn print(codes: &str) {
    let mut stdout = io::stdout().lock();
    stdout.write_all(codes.as_bytes()).and_then(|()| stdout.flush()).unwrap_or_default();
}

/// Reads until it is stopped or the terminal is gone.
fn read_keys(stopped: &OwnedFd, sender: &mpsc::Sender<TerminalInput>) {
    let mut parser = KeyParser::default();
    let mut bytes = vec![0; READ_BYTES];
    loop {
        let mut sources =
            [PollFd::from_borrowed_fd(stdin(), PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        // The bytes of one key come together, or nearly so.
        let wait = parser.is_waiting().then_some(&KEY_PAUSE);
        match poll(&mut sources, wait) {
            Err(Errno::INTR) => continue,
            Err(_) => break,
            Ok(0) => {
                if !send_all(sender, parser.advance(&[], true)) {
                    return;
                }
                // What is cut goes on with the next bytes, however late.
                if parser.is_waiting() && poll(&mut sources, None).is_err() {
                    break;
                }
                continue;
            }
            Ok(_) if !sources[1].revents().is_empty() => return,
            Ok(_) => (),
        }
        let n_bytes = match rustix::io::read(stdin(), &mut bytes[..]) {
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Ok(n_bytes @ 1..) => n_bytes,
            Ok(0) | Err(_) => break,
        };
        if !send_all(sender, parser.advance(&bytes[..n_bytes], false)) {
            return;
        }
    }
    sender.blocking_send(TerminalInput::Gone).unwrap_or_default();
}

/// False if nobody takes them any more.
fn send_all(sender: &mpsc::Sender<TerminalInput>, inputs: Vec<TerminalInput>) -> bool {
    inputs.into_iter().all(|input| sender.blocking_send(input).is_ok())
}

/// Columns and rows.
pub(crate) fn size() -> (usize, usize) {
    match tcgetwinsize(stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            (usize::from(size.ws_col), usize::from(size.ws_row))
        }
        _ => SIZE_USUAL,
    }
}

#[expect(clippy::disallowed_methods, reason = "the person starts their own editor")]
fn edited(text: &str) -> Result<String, CallError> {
    let editors = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
    let editor = editors.into_iter().find(|it| !it.trim().is_empty());
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let failed = |what: String| CallError::filesystem(what).hint("set EDITOR to another editor");
    let mut file = tempfile::Builder::new()
        .prefix("kith-")
        .suffix(".md")
        .tempfile()
        .map_err(|source| failed(format!("cannot make a file to edit: {source}")))?;
    file.write_all(text.as_bytes()).map_err(CallError::filesystem)?;
    // As shells do it: the variable may hold arguments.
    let status = Command::new("sh")
        .args(["-c", "exec $0 \"$1\"", &editor])
        .arg(file.path())
        .status()
        .map_err(|source| failed(format!("cannot start `{editor}`: {source}")))?;
    if !status.success() {
        return Err(failed(format!("`{editor}` ended with {status}; the text is as it was")));
    }
    let text = std::fs::read_to_string(file.path()).map_err(CallError::filesystem)?;
    Ok(text.trim_end().to_owned())
}
