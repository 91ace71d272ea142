//! A conversation that is read and printed line by line: for screen readers, simple terminals and
//! pipes.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::thread;

use kith_host::call::Follow;
use kith_host::calls::feed::TurnItem;
use kith_host::calls::message::{
    Acknowledgement, CancelTurn, MessageOutcome, MessageReply, MessageTarget, SendMessage,
};
use kith_host::calls::models::NamedModel;
use kith_host::calls::thread::FindCurrentSession;
use kith_host::client::Client;
use kith_host::clock::SystemClock;
use kith_host::error::{Blame, CallError};
use kith_host::models::ModelRegistry;
use kith_host::settings::watch::SettingsWatch;
use kith_vocab::clock::Clock;
use kith_vocab::ids::{EventId, SessionId, ThreadId};
use kith_vocab::ingress::{MESSAGE_BYTES_MAX, RunningBehavior};
use tokio::sync::mpsc;

use super::super::ask::{as_text, check_length, failure_of, send, tell_stopped};
use super::super::print_notes;
use crate::program::commands::session::list::FolderNames;
use crate::program::screen::{Live, Quiet};
use crate::program::signals::{StopKind, StopSignal};
use crate::program::terminal::slash::{is_command, is_farewell};
use crate::program::terminal::words::{ScreenLanguage, ScreenText};
use crate::program::ui;

pub(super) struct ChatLoop {
    pub(super) client: Client,
    pub(super) agent_id: String,
    pub(super) thread_id: ThreadId,
    pub(super) cwd: String,
    pub(super) folders: FolderNames,
    pub(super) language: ScreenLanguage,
    pub(super) model: Option<String>,
    /// What the host uses, if that is not what this process would use.
    pub(super) host_model: Option<NamedModel>,
    pub(super) settings: Arc<SettingsWatch>,
    pub(super) models: ModelRegistry,
    pub(super) target: MessageTarget,
    /// The session that was opened by name, until another one is begun.
    pub(super) resumed: Option<SessionId>,
    pub(super) is_attended: bool,
    pub(super) has_answered: bool,
    /// Reports on the turns that an earlier host left unfinished.
    pub(super) notes: mpsc::Receiver<String>,
    pub(super) stop: StopSignal,
}

/// The next input of the conversation.
enum ChatInput {
    Line(String),
    Note(String),
    /// Ctrl-C while no turn runs.
    Interrupt,
    End,
}

impl ChatLoop {
    pub(super) async fn go_on(&mut self, mut lines: InputLines) -> Result<(), CallError> {
        let mut interrupted = false;
        // Ends with the input, `/quit` or Ctrl-C.
        loop {
            match self.hear(&mut lines).await? {
                ChatInput::Interrupt if self.is_attended && !interrupted => {
                    interrupted = true;
                    let told = self.language.say(ScreenText::PressAgain);
                    ui::error_line(&format!("\n({told})"));
                }
                ChatInput::Interrupt | ChatInput::End => break,
                ChatInput::Note(note) if self.is_attended => ui::error_line(&format!("\n({note})")),
                ChatInput::Note(note) => ui::note(&note),
                ChatInput::Line(text) => {
                    interrupted = false;
                    if self.obey(text).await? {
                        return Ok(());
                    }
                }
            }
        }
        if self.is_attended {
            ui::error_line("");
        }
        Ok(())
    }

    async fn hear(&mut self, lines: &mut InputLines) -> Result<ChatInput, CallError> {
        if self.is_attended {
            ui::prompt("\n> ");
        }
        tokio::select! {
            line = lines.recv() => match line {
                None => Ok(ChatInput::End),
                Some(Ok(text)) => Ok(ChatInput::Line(text)),
                Some(Err(report)) if self.is_attended => {
                    ui::report_error(&report, false);
                    Ok(ChatInput::Line(String::new()))
                }
                Some(Err(report)) => Err(report),
            },
            Some(note) = self.notes.recv() => Ok(ChatInput::Note(note)),
            kind = self.stop.received() => match kind {
                StopKind::Interrupt => Ok(ChatInput::Interrupt),
                StopKind::Terminate => Ok(ChatInput::End),
            },
        }
    }

    /// Handles a line, and returns whether it was the last.
    async fn obey(&mut self, text: String) -> Result<bool, CallError> {
        match text.trim() {
            "" => (),
            "/quit" | "/exit" => return Ok(true),
            // What is piped in is said, word for word.
            word if self.is_attended && is_farewell(word) => return Ok(true),
            word if is_command(word) => match self.command(word).await {
                Err(report) if self.is_attended => {
                    ui::report_error(&report, false);
                }
                obeyed => return obeyed.map(|()| false),
            },
            _ => match self.turn(text).await {
                Ok(()) => (),
                Err(report) if self.is_attended => {
                    ui::report_error(&report, false);
                }
                Err(report) => return Err(report),
            },
        }
        Ok(false)
    }

    /// The session of the conversation, if it has begun.
    pub(super) async fn session(&self) -> Result<Option<SessionId>, CallError> {
        if let Some(id) = self.resumed {
            return Ok(Some(id));
        }
        let (agent_id, thread_id) = (Some(self.agent_id.clone()), self.thread_id.clone());
        let call = FindCurrentSession { agent_id, thread_id };
        Ok(self.client.call(call).await?.data.session_id)
    }

    /// Stops a turn that runs in the thread and was started elsewhere, before a new session starts.
    pub(super) async fn stop_running_turn(&self) {
        // What cannot be stopped is waited for by the next message, which tells why.
        let Ok(Some(session)) = self.session().await else { return };
        let cancel_id = EventId::from_uuid(SystemClock.new_id());
        let call = CancelTurn { session: session.to_string(), cancel_id };
        let stopped = self.client.call(call).await;
        if stopped.is_ok_and(|told| told.data.was_running) {
            ui::error_line(&format!("({})", self.language.say(ScreenText::Stopping)));
        }
    }

    async fn turn(&mut self, text: String) -> Result<(), CallError> {
        let is_hosts = self.model.is_none() || self.client.is_remote();
        let expects = if let Some(of_host) = self.host_model.as_ref().filter(|_| is_hosts) {
            of_host.name.clone()
        } else {
            // Settings may change while a conversation is open.
            let settings = self.settings.current()?;
            self.models.choose(self.model.as_deref(), &settings)?.name
        };
        let message = SendMessage {
            client_message_id: SystemClock.new_id().to_string(),
            text,
            agent_id: Some(self.agent_id.clone()),
            thread_id: self.thread_id.clone(),
            target: match self.resumed {
                Some(id) => MessageTarget::Session(id.to_string()),
                None => self.target.clone(),
            },
            cwd: self.cwd.clone(),
            model: self.model.clone(),
            expects,
            expected_leaf: None,
            running_behavior: RunningBehavior::FollowUp,
            ack: Acknowledgement::Completed,
            attachments: Vec::new(),
        };
        self.show_turn(message).await?;
        // Only after the message was accepted: one that was refused starts nothing.
        self.target = MessageTarget::Current;
        Ok(())
    }

    /// Follows a turn to its end, and prints it.
    pub(super) async fn show_turn<C>(&mut self, message: C) -> Result<(), CallError>
    where
        C: Follow<Answer = MessageReply, Item = TurnItem>,
    {
        let live = Arc::new(Live::in_language(self.language));
        let told = if self.is_attended {
            let told = send(&self.client, message, live.clone(), &mut self.stop).await;
            live.end_line();
            told?
        } else {
            send(&self.client, message, Arc::new(Quiet::default()), &mut self.stop).await?
        };
        let MessageReply { answer, outcome } = told.data;
        let end = answer.end;
        let text = answer.text.trim_end();
        if matches!(outcome, MessageOutcome::Answered | MessageOutcome::Stopped(_))
            && !live.has_shown_text()
            && !text.is_empty()
        {
            // A blank line between answers, because the output does not show the questions.
            let gap = if self.has_answered { "\n" } else { "" };
            ui::line(&format!("{gap}{text}"));
            self.has_answered = true;
        }
        print_notes(&told.notes);
        match outcome {
            MessageOutcome::Stopped(why) => {
                tell_stopped(end, &why);
                Ok(())
            }
            MessageOutcome::Cancelled if self.is_attended => {
                ui::error_line(&format!("({})", self.language.say(ScreenText::Stopped)));
                Ok(())
            }
            MessageOutcome::Withdrawn if self.is_attended => {
                ui::error_line(&format!("({})", self.language.say(ScreenText::WasWithdrawn)));
                Ok(())
            }
            outcome => failure_of(&outcome, &self.stop).map_or(Ok(()), Err),
        }
    }
}

pub(super) type InputLines = mpsc::Receiver<Result<String, CallError>>;

/// Reads stdin in a thread of its own, because reading blocks. The thread ends with the program.
pub(super) fn lines_of_stdin() -> InputLines {
    let (sender, receiver) = mpsc::channel(1);
    thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        while let Some(line) = next_line(&mut stdin) {
            let is_last = line.as_ref().is_err_and(|report| report.blame == Blame::Environment);
            if sender.blocking_send(line).is_err() || is_last {
                break;
            }
        }
    });
    receiver
}

fn next_line(stdin: &mut impl BufRead) -> Option<Result<String, CallError>> {
    let mut bytes = Vec::new();
    let limit = MESSAGE_BYTES_MAX as u64 + 1;
    match stdin.take(limit).read_until(b'\n', &mut bytes) {
        Ok(0) => None,
        Ok(_) => {
            let checked = check_length(bytes.len()).and_then(|()| as_text(bytes));
            Some(checked.map(|text| text.trim_end_matches(['\n', '\r']).to_owned()))
        }
        Err(source) => {
            Some(Err(CallError::filesystem(format!("cannot read from the terminal: {source}"))))
        }
    }
}
