//! How commands and news of the inbox reach the driver of a session.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use crate::command::{CommandAnswer, DriverCommand};
use crate::engine::EngineError;

/// Commands that wait for a session; more are refused.
pub const MAILBOX_MAX: usize = 64;

/// Answered when the command's events are durable; dropped if the driver has ended.
pub(crate) type CommandReply = oneshot::Sender<Result<CommandAnswer, EngineError>>;

pub(crate) struct Mail {
    pub(crate) command: DriverCommand,
    pub(crate) reply: CommandReply,
}

/// The mailbox of one driver. The registry holds it too: it outlives a driver that fails until the
/// registry has noticed.
#[derive(Clone, Default)]
pub(crate) struct Mailbox(Arc<MailboxState>);

#[derive(Default)]
struct MailboxState {
    waiting: Mutex<QueuedMail>,
    wake: Notify,
}

#[derive(Default)]
struct QueuedMail {
    commands: VecDeque<Mail>,
    /// The desk has rows which the driver may not know. It is a flag and not a message, so it always
    /// finds room.
    has_rows: bool,
}

impl Mailbox {
    /// Queues a command. False if the mailbox is full; then its sender gets an error.
    pub(crate) fn send(&self, mail: Mail) -> bool {
        let mut waiting = self.waiting();
        if waiting.commands.len() >= MAILBOX_MAX {
            return false;
        }
        waiting.commands.push_back(mail);
        drop(waiting);
        self.0.wake.notify_one();
        true
    }

    pub(crate) fn announce_rows(&self) {
        self.waiting().has_rows = true;
        self.0.wake.notify_one();
    }

    /// Takes the next command that is there.
    pub(crate) fn take_command(&self) -> Option<Mail> {
        self.waiting().commands.pop_front()
    }

    /// Whether the desk has rows that the driver has not read; asked once per announcement.
    pub(crate) fn take_rows_flag(&self) -> bool {
        std::mem::take(&mut self.waiting().has_rows)
    }

    /// Whether there is nothing in it. Only the registry, whose lock keeps senders away, may act
    /// upon it.
    pub(crate) fn is_empty(&self) -> bool {
        let waiting = self.waiting();
        waiting.commands.is_empty() && !waiting.has_rows
    }

    /// Drops the queued commands; their senders see that the driver has ended.
    pub(crate) fn clear(&self) {
        let dropped = std::mem::take(&mut self.waiting().commands);
        drop(dropped);
    }

    /// Waits until there is a command or news of rows. It takes nothing out, so it may be dropped
    /// at any time.
    pub(crate) async fn wait(&self) {
        while self.is_empty() {
            self.0.wake.notified().await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, QueuedMail> {
        // Entries are put and taken whole.
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
