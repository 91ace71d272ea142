//! Commands that run on after their call: until they end, are stopped, or their host ends.
//!
//! What such a command prints goes into a file that only the owner can read, up to the limit of every
//! other command; what the model has not read yet is read from there. Which commands of a session run is
//! noted before one starts and when one has ended, so that the next host can tell the session which of
//! them ended with this one.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use kith_vocab::digest::sha256_hex;
use kith_vocab::event::messages::Trust;
use kith_vocab::ids::{CallId, SessionId};
use kith_vocab::tool::{Progress, SpillFile};
use tokio::sync::watch;

use super::output::{COMMAND_OUTPUT_BYTES_MAX, CommandOutput};
use super::{CommandStop, ended_in_words, start, stopped};
use crate::random_name::random_name;
use crate::sandbox::launch::{CommandStopper, RunningCommand};
use crate::sandbox::spec::CommandSpec;

/// Commands of all sessions that run at a time.
const BACKGROUND_COMMANDS_MAX: usize = 16;
/// Commands that have ended and whose last output nobody has read yet. The oldest is forgotten first.
const ENDED_COMMANDS_MAX: usize = 16;
/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 6;
/// Bytes read from a pipe at once.
const CHUNK_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a character in UTF-8.
const CHARACTER_BYTES_MAX: u64 = 4;
/// How long the end of all commands is waited for when their host ends.
const END_MS_MAX: u64 = 5_000;

/// Keeps which commands of each session run, for the host after this one.
pub trait BackgroundNotes: Send + Sync {
    /// Replaces what was noted. A note that cannot be kept costs a reminder, not the command.
    fn keep(&self, running: &BTreeMap<SessionId, Vec<String>>);
}

/// The commands of a house that run in the background.
#[derive(Default)]
pub struct BackgroundCommands {
    n_started: AtomicU64,
    commands: Mutex<CommandTable>,
    notes: Option<Box<dyn BackgroundNotes>>,
}

pub(crate) struct BackgroundCommand {
    pub(crate) id: String,
    /// Counts the commands of this host.
    number: u64,
    pub(crate) trust: Trust,
    stopper: CommandStopper,
    output: Mutex<FileOutput>,
    /// Why it was ended before its own end.
    reason: Mutex<Option<CommandStop>>,
    /// How it ended, in words.
    end: watch::Sender<Option<String>>,
    /// Counts pieces of output.
    grown: watch::Sender<u64>,
}

/// What a command has printed, in a file without a name.
struct FileOutput {
    file: File,
    bytes: u64,
    /// Up to where the model has read it.
    read_to: u64,
}

/// What of a command's output has not been read yet.
pub(crate) struct NewOutput {
    pub(crate) text: String,
    pub(crate) full: Option<SpillFile>,
    /// How the command ended; `None` while it runs.
    pub(crate) end: Option<String>,
}

impl BackgroundCommands {
    pub fn new(notes: Box<dyn BackgroundNotes>) -> BackgroundCommands {
        BackgroundCommands { notes: Some(notes), ..BackgroundCommands::default() }
    }

    /// The ids of a session's commands that this host knows.
    pub fn ids_of(&self, session: SessionId) -> Vec<String> {
        let commands = self.commands();
        let of_session = commands.keys().filter(|(it, _)| *it == session);
        of_session.map(|(_, id)| id.clone()).collect()
    }

    /// Ends all of them, and waits until they are gone.
    pub async fn end(&self) {
        let ended: Vec<_> = self.commands().values().cloned().collect();
        for command in &ended {
            command.stop(CommandStop::HostEnded);
        }
        let all_gone = async {
            for command in &ended {
                command.until_end().await;
            }
        };
        let time_max = Duration::from_millis(END_MS_MAX);
        // The supervisors kill what is left: the other end of their sockets closes with this process.
        tokio::time::timeout(time_max, all_gone).await.ok();
    }

    /// Ends the commands of a session that is gone, and forgets them.
    pub fn end_of(&self, session: SessionId) {
        let mut commands = self.commands();
        commands.retain(|(of, _), command| {
            let stays = *of != session;
            if !stays {
                command.stop(CommandStop::Stopped);
            }
            stays
        });
        self.note(&commands, None);
    }

    pub(super) fn start(
        self: &Arc<Self>,
        (session, call): (SessionId, &CallId),
        supervisor: &Path,
        spec: &CommandSpec,
        trust: Trust,
    ) -> io::Result<Arc<BackgroundCommand>> {
        let id = sha256_hex(call.to_string().as_bytes())[..ID_DIGITS].to_owned();
        let key = (session, id.clone());
        let mut commands = self.commands();
        if commands.contains_key(&key) {
            return Err(io::Error::other("this call has started a command already"));
        }
        let n_running = commands.values().filter(|it| it.end.borrow().is_none()).count();
        if n_running >= BACKGROUND_COMMANDS_MAX {
            let message = format!("{n_running} commands run in the background already; stop one");
            return Err(io::Error::other(message));
        }
        forget_oldest_ended(&mut commands);
        let output = FileOutput { file: nameless_file()?, bytes: 0, read_to: 0 };
        let number = self.n_started.fetch_add(1, Ordering::Relaxed);
        self.note(&commands, Some(&key));
        let started = start(supervisor, spec).and_then(|(pipe, running)| {
            let (end, grown) = (watch::Sender::new(None), watch::Sender::new(0));
            let (output, reason) = (Mutex::new(output), Mutex::default());
            let stopper = running.stopper()?;
            let command =
                BackgroundCommand { id, number, trust, stopper, output, reason, end, grown };
            let command = Arc::new(command);
            let (reader, all) = (Arc::clone(&command), Arc::downgrade(self));
            std::thread::Builder::new()
                .name("background command".to_owned())
                .spawn(move || reader.follow(pipe, running, &all))?;
            Ok(command)
        });
        match started {
            Ok(command) => {
                commands.insert(key, Arc::clone(&command));
                Ok(command)
            }
            Err(error) => {
                self.note(&commands, None);
                Err(error)
            }
        }
    }

    pub(crate) fn find(&self, session: SessionId, id: &str) -> Option<Arc<BackgroundCommand>> {
        self.commands().get(&(session, id.to_owned())).cloned()
    }

    /// Forgets a command whose end the model has been told.
    pub(crate) fn forget(&self, session: SessionId, id: &str) {
        let mut commands = self.commands();
        commands.remove(&(session, id.to_owned()));
        self.note(&commands, None);
    }

    /// Notes the commands that run, and the one that is about to.
    fn note(&self, commands: &CommandTable, starting: Option<&(SessionId, String)>) {
        let Some(notes) = &self.notes else { return };
        let mut running: BTreeMap<SessionId, Vec<String>> = BTreeMap::new();
        let ending_with_host = commands.iter().filter(|(_, it)| it.ends_with_host());
        for (session, id) in ending_with_host.map(|(key, _)| key).chain(starting) {
            running.entry(*session).or_default().push(id.clone());
        }
        notes.keep(&running);
    }

    fn commands(&self) -> MutexGuard<'_, CommandTable> {
        // The map is never left half-changed, so a panic elsewhere does not spoil it.
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type CommandTable = BTreeMap<(SessionId, String), Arc<BackgroundCommand>>;

/// Makes room: what nobody reads must not keep files for as long as the host lives.
fn forget_oldest_ended(commands: &mut CommandTable) {
    let mut ended: Vec<(u64, (SessionId, String))> = commands
        .iter()
        .filter(|(_, command)| command.end.borrow().is_some())
        .map(|(key, command)| (command.number, key.clone()))
        .collect();
    ended.sort_unstable();
    let n_too_many = (ended.len() + 1).saturating_sub(ENDED_COMMANDS_MAX);
    for (_, key) in ended.into_iter().take(n_too_many) {
        commands.remove(&key);
    }
}

impl BackgroundCommand {
    pub(super) fn stop(&self, reason: CommandStop) {
        if self.end.borrow().is_some() {
            return;
        }
        let mut first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(reason);
        self.stopper.stop();
    }

    /// Whether its host is what ends it, or will be: not a command that has ended by itself.
    fn ends_with_host(&self) -> bool {
        let reason = *self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        reason == Some(CommandStop::HostEnded) || self.end.borrow().is_none()
    }

    pub(crate) fn stop_as_asked(&self) {
        self.stop(CommandStop::Stopped);
    }

    pub(crate) async fn until_end(&self) {
        // The sender lives as long as the command.
        self.end.subscribe().wait_for(Option::is_some).await.ok();
    }

    /// Waits until it has printed something that was not read, or has ended.
    pub(crate) async fn until_news(&self) {
        let mut grown = self.grown.subscribe();
        if self.output().has_unread() {
            return;
        }
        tokio::select! {
            // The sender lives as long as the command.
            changed = grown.changed() => changed.unwrap_or_default(),
            () = self.until_end() => (),
        }
    }

    /// What it has printed since it was asked last.
    pub(crate) fn read_new(&self) -> io::Result<NewOutput> {
        // Looked at first: what it printed before its end is then in the file.
        let end = self.end.borrow().clone();
        let mut output = self.output();
        let from = output.read_to;
        // The rest of a character may be under way.
        let to = if end.is_none() { output.end_of_whole_characters()? } else { output.bytes };
        output.file.seek(SeekFrom::Start(from))?;
        let unread = Read::by_ref(&mut output.file).take(to - from);
        let (text, full) = CommandOutput::read(unread, &Unseen)?.finish()?;
        output.read_to = to;
        Ok(NewOutput { text, full, end })
    }

    /// Reads what the command prints until it ends.
    fn follow(
        &self,
        mut pipe: io::PipeReader,
        running: RunningCommand,
        all: &Weak<BackgroundCommands>,
    ) {
        let mut chunk = vec![0; CHUNK_BYTES_MAX];
        loop {
            let n_bytes = match pipe.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => break,
                Ok(n_bytes) => n_bytes,
            };
            let added = self.output().add(&chunk[..n_bytes]);
            if let Err(reason) = added {
                self.stop(reason);
                break;
            }
            self.grown.send_modify(|n| *n += 1);
        }
        drop(pipe);
        let end = Ok(running.wait());
        let reason = *self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        let end = match reason {
            Some(reason) => stopped(end, reason),
            None => end,
        };
        self.end.send_replace(Some(ended_in_words(&end)));
        if let Some(all) = all.upgrade() {
            all.note(&all.commands(), None);
        }
    }

    fn output(&self) -> MutexGuard<'_, FileOutput> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileOutput {
    fn has_unread(&self) -> bool {
        self.bytes > self.read_to
    }

    /// An error says why the command must end: it has printed too much, or the disk takes no more.
    fn add(&mut self, bytes: &[u8]) -> Result<(), CommandStop> {
        let written =
            self.file.seek(SeekFrom::Start(self.bytes)).and_then(|_| self.file.write_all(bytes));
        written.map_err(|error| CommandStop::OutputLost(error.kind()))?;
        self.bytes += bytes.len() as u64;
        if self.bytes < COMMAND_OUTPUT_BYTES_MAX { Ok(()) } else { Err(CommandStop::TooLong) }
    }

    /// Where the last whole character ends that has not been read.
    fn end_of_whole_characters(&mut self) -> io::Result<u64> {
        let from = self.bytes.saturating_sub(CHARACTER_BYTES_MAX).max(self.read_to);
        self.file.seek(SeekFrom::Start(from))?;
        let mut tail = Vec::new();
        Read::by_ref(&mut self.file).take(self.bytes - from).read_to_end(&mut tail)?;
        Ok(self.bytes - unfinished_bytes(&tail) as u64)
    }
}

/// Bytes at the end of a text that only begin a character.
fn unfinished_bytes(tail: &[u8]) -> usize {
    let is_lead = |byte: &u8| byte & 0b1100_0000 != 0b1000_0000;
    let Some(n_back) = tail.iter().rev().position(is_lead).map(|n| n + 1) else { return 0 };
    let expected = match tail[tail.len() - n_back] {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    };
    if n_back < expected { n_back } else { 0 }
}

/// Nobody watches it.
struct Unseen;

impl Progress for Unseen {
    fn line(&self, _: &str) {}
}

/// A file that is gone when it is closed, however this process ends.
fn nameless_file() -> io::Result<File> {
    let path = std::env::temp_dir().join(random_name("kith-background")?);
    let file =
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(bytes: &[u8]) -> FileOutput {
        let mut output = FileOutput { file: nameless_file().unwrap(), bytes: 0, read_to: 0 };
        output.add(bytes).unwrap();
        output
    }

    #[test]
    fn output_is_read_up_to_the_last_whole_character() {
        let check = |bytes: &[u8], end: u64| {
            assert_eq!(output(bytes).end_of_whole_characters().unwrap(), end, "{bytes:?}");
        };
        check(b"", 0);
        check(b"abc", 3);
        check("中".as_bytes(), 3);
        check(&"中文".as_bytes()[..5], 3);
        check(&"中文".as_bytes()[..4], 3);
        check(&"a😀".as_bytes()[..4], 1);
        check("a😀".as_bytes(), 5);
        // No text at all: nothing is held back for good.
        check(&[0x80; 9], 9);
    }

    #[test]
    fn output_that_the_disk_does_not_take_is_not_called_too_long() {
        let path = std::env::temp_dir().join(random_name("kith-background").unwrap());
        std::fs::write(&path, "").unwrap();
        let file = File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut output = FileOutput { file, bytes: 0, read_to: 0 };
        let reason = output.add(b"x").unwrap_err();
        assert!(matches!(reason, CommandStop::OutputLost(_)), "{reason:?}");
        let told = ended_in_words(&Err(reason));
        assert!(told.starts_with("ended: its output could not be kept"), "{told}");
    }
}
