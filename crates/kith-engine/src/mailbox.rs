//! How commands and news of the inbox reach the driver of a session.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Notify, mpsc, oneshot};

use crate::command::{Command, CommandAnswer};
use crate::engine::EngineError;

/// Commands that wait for a session; more are refused.
pub const MAILBOX_MAX: usize = 64;

/// Answered when the command's events are durable.
pub(crate) type Reply = oneshot::Sender<Result<CommandAnswer, EngineError>>;

pub(crate) struct Mail {
    pub(crate) command: Command,
    pub(crate) reply: Reply,
}

/// The side of the registry.
#[derive(Clone)]
pub(crate) struct MailboxSender {
    commands: mpsc::Sender<Mail>,
    rows: Arc<RowsFlag>,
}

/// Says that the desk has rows which the driver may not know. It is a flag and not a message, so it
/// always finds room.
#[derive(Default)]
struct RowsFlag {
    is_set: AtomicBool,
    wake: Notify,
}

/// The side of the driver.
pub(crate) struct Mailbox {
    commands: mpsc::Receiver<Mail>,
    /// What was received while the driver waited for something else.
    received: VecDeque<Mail>,
    rows: Arc<RowsFlag>,
}

pub(crate) fn mailbox() -> (MailboxSender, Mailbox) {
    let (sender, commands) = mpsc::channel(MAILBOX_MAX);
    let rows = Arc::<RowsFlag>::default();
    let mailbox = Mailbox { commands, received: VecDeque::new(), rows: Arc::clone(&rows) };
    (MailboxSender { commands: sender, rows }, mailbox)
}

impl MailboxSender {
    /// Hands a command over. False if the mailbox is full; then its sender is told.
    pub(crate) fn send(&self, mail: Mail) -> bool {
        self.commands.try_send(mail).is_ok()
    }

    pub(crate) fn announce_rows(&self) {
        self.rows.is_set.store(true, Ordering::SeqCst);
        self.rows.wake.notify_one();
    }
}

impl Mailbox {
    /// Takes the next command that is there.
    pub(crate) fn take_command(&mut self) -> Option<Mail> {
        self.received.pop_front().or_else(|| self.commands.try_recv().ok())
    }

    /// Whether the desk has rows that the driver has not read; asked once per announcement.
    pub(crate) fn take_rows_flag(&self) -> bool {
        self.rows.is_set.swap(false, Ordering::SeqCst)
    }

    /// Whether there is nothing in it. Only the registry, whose lock keeps senders away, may act
    /// upon it.
    pub(crate) fn is_empty(&self) -> bool {
        let has_rows = self.rows.is_set.load(Ordering::SeqCst);
        self.received.is_empty() && self.commands.is_empty() && !has_rows
    }

    /// Waits until there is a command or news of rows. It takes nothing out, so it may be dropped
    /// at any time.
    pub(crate) async fn wait(&mut self) {
        if !self.is_empty() {
            return;
        }
        tokio::select! {
            biased;
            mail = self.commands.recv() => match mail {
                Some(mail) => self.received.push_back(mail),
                // Nobody can send any more; the registry ends the driver.
                None => std::future::pending().await,
            },
            () = self.rows.wake.notified() => (),
        }
    }
}
