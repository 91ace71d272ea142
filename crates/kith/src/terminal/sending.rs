//! What is said: messages on their way, and what becomes of them.

use std::sync::Arc;

use kith_host::call::Reply;
use kith_host::calls::message::{Acknowledgement, MessageReply, MessageTarget, SendMessage};
use kith_host::calls::models::{NameModel, NamedModel};
use kith_host::calls::queue::{EditQueue, QueueChange};
use kith_host::clock::SystemClock;
use kith_host::error::{CallError, ErrorCode};
use kith_vocab::clock::Clock;
use kith_vocab::event::control::Queue;
use kith_vocab::ids::{EventId, SessionId};
use kith_vocab::ingress::{MESSAGE_BYTES_MAX, RunningBehavior};
use tokio_util::sync::CancellationToken;

use super::attached::{read_named, with_attached, without_attached};
use super::conversation::{QueuedText, in_bytes, remark};
use super::input::SaidText;
use super::words::ScreenText;
use super::{Incoming, SentMessage, TerminalChat, slash};

impl TerminalChat {
    /// Something was typed and sent off: a command, or a message.
    pub(super) fn said(&mut self, said: &SaidText, behavior: RunningBehavior) {
        let text = said.text.as_str();
        if slash::is_farewell(text) {
            self.is_over = true;
            return;
        }
        if slash::is_command(text) {
            return slash::run(self, text.trim());
        }
        let message = self.with_files(said, behavior);
        if message.len() > MESSAGE_BYTES_MAX {
            let (why, limit) = (ScreenText::LongMessage, in_bytes(MESSAGE_BYTES_MAX as u64));
            self.refuse(&format!(
                "{} ({} > {limit})",
                self.language.say(why),
                in_bytes(message.len() as u64)
            ));
            return self.input.put_back(text);
        }
        if let Err(error) = self.send(message, behavior) {
            self.tell(&error);
            self.input.put_back(text);
        }
    }

    /// The message with the files that it names, and a line for each that does not go along.
    fn with_files(&mut self, said: &SaidText, behavior: RunningBehavior) -> String {
        let mut files = read_named(&said.typed, &self.files);
        if behavior == RunningBehavior::Steer {
            // A steer is for the turn that runs, and short.
            let left_out =
                files.attached.drain(..).map(|it| (it.name, ScreenText::SteerHasNoFiles));
            files.left_out.extend(left_out);
        }
        for (name, why) in &files.left_out {
            let told = format!(
                "@{name} {}: {}",
                self.language.say(*why),
                self.language.say(ScreenText::NotAttached)
            );
            self.printed.extend(remark(&told).wrapped(self.columns, 2));
        }
        with_attached(&said.text, &files.attached)
    }

    pub(super) fn send(
        &mut self,
        text: String,
        running_behavior: RunningBehavior,
    ) -> Result<(), CallError> {
        let is_hosts = self.model.is_none() || self.client.is_remote();
        let expected = if let Some(of_host) = self.host_model.clone().filter(|_| is_hosts) {
            of_host
        } else {
            // Settings may change while a conversation is open.
            let settings = self.settings.current()?;
            let chosen = self.models.choose(self.model.as_deref(), &settings)?;
            let context_window = chosen.provider.choice().context_window;
            NamedModel { context_window, name: chosen.name }
        };
        self.conversation.set_context_window(expected.context_window);
        let id = SystemClock.new_id().to_string();
        let message = SendMessage {
            client_message_id: id.clone(),
            text: text.clone(),
            agent_id: Some(self.agent_id.clone()),
            thread_id: self.thread_id.clone(),
            target: self.target.clone(),
            cwd: self.cwd.display().to_string(),
            model: self.model.clone(),
            expects: expected.name,
            expected_leaf: None,
            running_behavior,
            ack: Acknowledgement::Completed,
            attachments: Vec::new(),
        };
        let is_first = self.target == MessageTarget::New;
        if is_first {
            self.target = MessageTarget::Current;
        }
        self.follow_again();
        self.conversation.sent(id.clone(), text.clone());
        let (client, sender) = (Arc::clone(&self.client), self.sender.clone());
        self.tasks.spawn(async move {
            let reply = client.follow(message, drop, CancellationToken::new()).await;
            let message = SentMessage { id, text, is_first };
            let sent = Incoming::Sent { message, reply: Box::new(reply) };
            sender.send(sent).await.unwrap_or_default();
        });
        Ok(())
    }

    /// What became of a message.
    pub(super) fn sent(&mut self, message: &SentMessage, reply: Reply<MessageReply>) {
        match reply {
            Ok(response) => {
                for note in &response.notes {
                    self.printed.extend(remark(note).wrapped(self.columns, 2));
                }
            }
            Err(error) => {
                self.tell(&error);
                // What was not accepted is not lost. What was is in the log.
                if self.conversation.forget_pending(&message.id) {
                    self.input.put_back(without_attached(&message.text).0);
                    if message.is_first {
                        self.target = MessageTarget::New;
                    }
                    if error.code == ErrorCode::Conflict {
                        self.ask_for_host_model();
                    }
                }
            }
        }
    }

    /// The host that answers has changed, or its settings have: it says which model it uses.
    pub(super) fn ask_for_host_model(&mut self) {
        let (call, client) = (NameModel { model: self.model.clone() }, Arc::clone(&self.client));
        self.spawn_any(
            async move { Ok(Incoming::HostModel(Box::new(client.call(call).await?.data))) },
        );
    }

    pub(super) fn take_host_model(&mut self, named: NamedModel) {
        if self.model.is_some() && !self.client.is_remote() {
            return;
        }
        let told = format!(
            "{} {} / {}",
            self.language.say(ScreenText::ModelChanged),
            named.name.provider,
            named.name.model
        );
        self.printed.extend(remark(&told).wrapped(self.columns, 2));
        self.host_model = Some(named);
    }

    /// Takes the last message of one's own that waits back into the input.
    pub(super) fn edit_queued(&mut self) {
        let item = self.conversation.follow_ups.iter().rev().find(|item| item.is_own).cloned();
        match (self.conversation.session, item) {
            (Some(session), Some(item)) => self.take_back(session, item),
            _ => self.input.previous_entry(),
        }
    }

    /// Takes a message out of the queue; when that is done it comes into the input.
    pub(super) fn take_back(&mut self, session: SessionId, item: QueuedText) {
        let (session, client) = (session.to_string(), Arc::clone(&self.client));
        let edit_id = EventId::from_uuid(SystemClock.new_id());
        // The files are read again when it is sent again.
        let text = without_attached(&item.text).0.to_owned();
        let change = QueueChange::Remove { item_id: item.id, updated_at: Some(item.updated_at) };
        let call = EditQueue { session, edit_id, queue: Queue::FollowUp, change };
        self.spawn_any(async move {
            client.call(call).await?;
            Ok(Incoming::TakenBack(None, text))
        });
    }
}
