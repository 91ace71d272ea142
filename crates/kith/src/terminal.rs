//! The conversation in a terminal: an input that is always there, and everything that happens in the
//! session above it.
//!
//! - [`conversation`]: what is shown of events and answers that grow.
//! - [`following`]: which session is shown, and what comes from it.
//! - [`input`] with [`editor`], [`history`] and [`completion`]: what is typed.
//! - [`live_area`]: the rows at the bottom that change.
//! - [`markdown`], [`styled`]: how text looks.
//! - [`keyboard`], [`keys`]: raw mode, keys and pastes.
//! - [`slash`]: commands such as `/new`.

mod completion;
mod conversation;
mod editor;
mod following;
mod history;
mod input;
mod keyboard;
mod keys;
mod live_area;
mod markdown;
mod slash;
mod styled;
mod words;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kith_host::call::Reply;
use kith_host::calls::message::{CancelTurn, MessageReply, MessageTarget, SendMessage};
use kith_host::calls::queue::{EditQueue, QueueChange};
use kith_host::calls::session::SessionView;
use kith_host::calls::subscription::{SubscriptionEnd, SubscriptionItem};
use kith_host::client::Client;
use kith_host::clock::SystemClock;
use kith_host::error::CallError;
use kith_host::house::House;
use kith_host::models::ModelRegistry;
use kith_host::settings::watch::SettingsWatch;
use kith_vocab::clock::Clock;
use kith_vocab::event::control::Queue;
use kith_vocab::ids::{EventId, SessionId, ThreadId};
use kith_vocab::ingress::{MESSAGE_BYTES_MAX, RunningBehavior};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::conversation::{QueuedText, ShownConversation, remark};
use self::following::FollowedFeed;
use self::input::{Input, InputAction};
use self::keyboard::Keyboard;
use self::keys::TerminalInput;
use self::live_area::{LiveArea, LiveRows};
use self::styled::{Colour, Line, Style, fitted};
use self::words::{ScreenLanguage, ScreenText};
use crate::program::signals::{StopKind, StopSignal};
use crate::program::ui;

/// How long leaving waits for messages that were just sent.
const DELIVERY_MAX: Duration = Duration::from_secs(5);
/// How often what runs is drawn anew.
const FRAME: Duration = Duration::from_millis(120);

/// What the conversation is held with.
pub(crate) struct ChatSetup {
    pub(crate) client: Client,
    pub(crate) agent_id: String,
    pub(crate) thread_id: ThreadId,
    pub(crate) house: House,
    pub(crate) model: Option<String>,
    pub(crate) settings: Arc<SettingsWatch>,
    pub(crate) models: ModelRegistry,
    /// What became of turns that an earlier host left, as it becomes known.
    pub(crate) notes: mpsc::UnboundedReceiver<String>,
    /// The session to go on with instead of that of the folder.
    pub(crate) session: Option<String>,
    pub(crate) banner: Vec<String>,
    /// In tokens; 0: unknown.
    pub(crate) context_window: u64,
}

/// What the loop waits for, besides keys and signals.
enum Incoming {
    /// From the subscription of this number.
    Feed(u32, Box<SubscriptionItem>),
    /// That subscription has ended.
    Unfollowed(u32, Result<SubscriptionEnd, CallError>),
    Sent {
        message: SentMessage,
        reply: Box<Reply<MessageReply>>,
    },
    /// A message was taken out of the queue, to be edited.
    TakenBack(String),
    /// The answer to a command.
    Lines(Vec<Line>),
    Failed(CallError),
    /// The conversation goes on in this session.
    Opened(Box<SessionView>),
    /// The conversation goes on in the folder's thread, whose session is this one.
    OpenedThread(Option<Box<SessionView>>),
}

/// A message that is on its way.
struct SentMessage {
    id: String,
    text: String,
    /// It was to start a session.
    is_first: bool,
}

struct TerminalChat {
    client: Arc<Client>,
    agent_id: String,
    thread_id: ThreadId,
    cwd: PathBuf,
    model: Option<String>,
    settings: Arc<SettingsWatch>,
    models: ModelRegistry,
    language: ScreenLanguage,
    conversation: ShownConversation,
    input: Input,
    area: LiveArea,
    keyboard: Keyboard,
    target: MessageTarget,
    incoming: mpsc::UnboundedReceiver<Incoming>,
    sender: mpsc::UnboundedSender<Incoming>,
    subscription: Option<FollowedFeed>,
    n_subscriptions: u32,
    /// Calls under way.
    tasks: JoinSet<()>,
    opened: Instant,
    columns: usize,
    rows: usize,
    is_coloured: bool,
    /// Ctrl-C was pressed where nothing ran.
    leaves_next: bool,
    is_over: bool,
    /// What is printed with the next drawing.
    printed: Vec<Line>,
}

/// Holds a conversation until the person leaves. The client comes back in any case: its host may have
/// other clients.
pub(crate) async fn run(
    setup: ChatSetup,
    stop: &mut StopSignal,
) -> (Option<Client>, Result<(), CallError>) {
    let (sender, incoming) = mpsc::unbounded_channel();
    let settings = setup.settings.last_good();
    let language = ScreenLanguage::of(settings.language);
    let keyboard = match Keyboard::open() {
        Ok(keyboard) => keyboard,
        Err(error) => return (Some(setup.client), Err(error)),
    };
    let (columns, rows) = keyboard::size();
    let mut chat = TerminalChat {
        client: Arc::new(setup.client),
        agent_id: setup.agent_id,
        thread_id: setup.thread_id,
        input: Input::new(language, &setup.house.kith_dir(), setup.house.cwd.clone()),
        cwd: setup.house.cwd,
        model: setup.model,
        settings: setup.settings,
        models: setup.models,
        language,
        conversation: ShownConversation::new(language, setup.context_window),
        area: LiveArea::default(),
        keyboard,
        target: MessageTarget::Current,
        incoming,
        sender,
        subscription: None,
        n_subscriptions: 0,
        tasks: JoinSet::new(),
        opened: Instant::now(),
        columns,
        rows,
        is_coloured: ui::is_coloured(),
        leaves_next: false,
        is_over: false,
        printed: Vec::new(),
    };
    for line in &setup.banner {
        chat.printed.extend(Line::styled(line, Style::DIM).wrapped(columns, 2));
    }
    let mut notes = setup.notes;
    let opened = chat.open(setup.session).await;
    let ended = match opened {
        Ok(()) => chat.go_on(&mut notes, stop).await,
        Err(error) => Err(error),
    };
    chat.close().await;
    while let Ok(note) = notes.try_recv() {
        ui::note(&note);
    }
    (Arc::into_inner(chat.client), ended)
}

impl TerminalChat {
    async fn go_on(
        &mut self,
        notes: &mut mpsc::UnboundedReceiver<String>,
        stop: &mut StopSignal,
    ) -> Result<(), CallError> {
        let mut hangup = signal(SignalKind::hangup()).map_err(CallError::filesystem)?;
        while !self.is_over {
            self.draw();
            let is_running = self.conversation.is_running();
            tokio::select! {
                Some(input) = self.keyboard.next() => {
                    self.key(&input)?;
                    while let Some(input) = self.keyboard.try_next() {
                        self.key(&input)?;
                    }
                }
                Some(incoming) = self.incoming.recv() => self.take(incoming),
                Some(note) = notes.recv() => {
                    let line = remark(&note);
                    self.printed.extend(line.wrapped(self.columns, 2));
                }
                kind = stop.received() => match kind {
                    StopKind::Interrupt => self.interrupt(),
                    StopKind::Terminate => self.is_over = true,
                },
                _ = hangup.recv() => self.is_over = true,
                () = tokio::time::sleep(FRAME), if is_running => (),
            }
            while let Ok(incoming) = self.incoming.try_recv() {
                self.take(incoming);
            }
            // A panic of a task was printed already.
            while self.tasks.try_join_next().is_some() {}
        }
        Ok(())
    }

    fn take(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Feed(n, item) => self.take_item(n, &item),
            Incoming::Unfollowed(n, ended) => self.unfollowed(n, ended),
            Incoming::Failed(error) => self.tell(&error),
            Incoming::Sent { message, reply } => self.sent(&message, *reply),
            Incoming::TakenBack(text) => self.input.put_back(&text),
            Incoming::Lines(lines) => {
                for line in lines {
                    self.printed.extend(line.wrapped(self.columns, 2));
                }
            }
            Incoming::Opened(view) => self.go_to(&view),
            Incoming::OpenedThread(view) => self.go_to_thread(view.as_deref()),
        }
    }

    /// What became of a message.
    fn sent(&mut self, message: &SentMessage, reply: Reply<MessageReply>) {
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
                    self.input.put_back(&message.text);
                    if message.is_first {
                        self.target = MessageTarget::New;
                    }
                }
            }
        }
    }

    fn tell(&mut self, error: &CallError) {
        for row in error.to_string().trim_end().lines() {
            let line = Line::styled(row, Style::coloured(Colour::Red));
            self.printed.extend(line.wrapped(self.columns, 2));
        }
    }

    fn key(&mut self, input: &TerminalInput) -> Result<(), CallError> {
        if *input == TerminalInput::Resized {
            (self.columns, self.rows) = keyboard::size();
            self.area.resized(self.columns);
            return Ok(());
        }
        // What was answered is in the log.
        self.is_over |= *input == TerminalInput::Gone;
        let Some(action) = self.input.take(input) else { return Ok(()) };
        if action != InputAction::Interrupt {
            self.leaves_next = false;
        }
        match action {
            InputAction::Changed => (),
            InputAction::Send(text) => self.said(&text, RunningBehavior::FollowUp),
            InputAction::Steer(text) => self.said(&text, RunningBehavior::Steer),
            InputAction::Stop => self.stop_turn(),
            InputAction::Interrupt => self.interrupt(),
            InputAction::Leave => self.is_over = true,
            InputAction::ShowResult => {
                let lines = self.conversation.last_result(self.columns);
                self.printed.extend(lines);
            }
            InputAction::EditQueued => self.edit_queued(),
            InputAction::ClearScreen => {
                self.area.erase();
                self.write("\x1b[2J\x1b[H");
            }
            InputAction::Suspend => self.suspend()?,
            InputAction::ExternalEditor => self.external_editor(),
        }
        Ok(())
    }

    /// Ctrl-C: stops what runs; where nothing runs, the second one leaves.
    fn interrupt(&mut self) {
        if self.conversation.is_running() {
            return self.stop_turn();
        }
        if self.leaves_next {
            self.is_over = true;
            return;
        }
        self.leaves_next = true;
        self.printed.push(remark(self.language.say(ScreenText::PressAgain)));
    }

    fn stop_turn(&mut self) {
        let Some(session) = self.conversation.session.filter(|_| self.conversation.is_running())
        else {
            return;
        };
        let cancel_id = EventId::from_uuid(SystemClock.new_id());
        let call = CancelTurn { session: session.to_string(), cancel_id };
        self.spawn(move |client| async move { client.call(call).await.map(|_| Vec::new()) });
    }

    /// Something was typed and sent off: a command, or a message.
    fn said(&mut self, text: &str, behavior: RunningBehavior) {
        if slash::is_command(text) {
            return slash::run(self, text.trim());
        }
        if text.len() > MESSAGE_BYTES_MAX {
            self.tell(&CallError::invalid(format!(
                "the message is longer than {MESSAGE_BYTES_MAX} bytes; put it in a file and ask the \
                 agent to read it"
            )));
            return self.input.put_back(text);
        }
        if let Err(error) = self.send(text.to_owned(), behavior) {
            self.tell(&error);
            self.input.put_back(text);
        }
    }

    fn send(&mut self, text: String, running_behavior: RunningBehavior) -> Result<(), CallError> {
        // Settings may change while a conversation is open.
        let settings = self.settings.current()?;
        let chosen = self.models.choose(self.model.as_deref(), &settings)?;
        self.conversation.set_context_window(chosen.provider.choice().context_window);
        let id = SystemClock.new_id().to_string();
        let message = SendMessage {
            client_message_id: id.clone(),
            text: text.clone(),
            agent_id: Some(self.agent_id.clone()),
            thread_id: self.thread_id.clone(),
            target: self.target.clone(),
            cwd: self.cwd.display().to_string(),
            model: self.model.clone(),
            expects: chosen.name,
            expected_leaf: None,
            running_behavior,
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
            sender.send(sent).unwrap_or_default();
        });
        Ok(())
    }

    /// Makes calls beside the loop, and prints what comes of them.
    fn spawn<F>(&mut self, work: impl FnOnce(Arc<Client>) -> F)
    where
        F: Future<Output = Result<Vec<Line>, CallError>> + Send + 'static,
    {
        let work = work(Arc::clone(&self.client));
        self.spawn_any(async move { work.await.map(Incoming::Lines) });
    }

    /// The same for what comes to something else than lines.
    fn spawn_any(
        &mut self,
        work: impl Future<Output = Result<Incoming, CallError>> + Send + 'static,
    ) {
        let sender = self.sender.clone();
        self.tasks.spawn(async move {
            let done = work.await.unwrap_or_else(Incoming::Failed);
            sender.send(done).unwrap_or_default();
        });
    }

    /// Takes the last message of one's own that waits back into the input.
    fn edit_queued(&mut self) {
        let item = self.conversation.follow_ups.iter().rev().find(|item| item.is_own).cloned();
        match (self.conversation.session, item) {
            (Some(session), Some(item)) => self.take_back(session, item),
            _ => self.input.previous_entry(),
        }
    }

    /// Takes a message out of the queue; when that is done it comes into the input.
    fn take_back(&mut self, session: SessionId, item: QueuedText) {
        let (session, client) = (session.to_string(), Arc::clone(&self.client));
        let edit_id = EventId::from_uuid(SystemClock.new_id());
        let change = QueueChange::Remove { item_id: item.id, updated_at: Some(item.updated_at) };
        let call = EditQueue { session, edit_id, queue: Queue::FollowUp, change };
        self.spawn_any(async move {
            client.call(call).await?;
            Ok(Incoming::TakenBack(item.text))
        });
    }

    fn suspend(&mut self) -> Result<(), CallError> {
        let erase = self.area.erase();
        self.write(&erase);
        self.keyboard.suspend()?;
        (self.columns, self.rows) = keyboard::size();
        Ok(())
    }

    fn external_editor(&mut self) {
        let erase = self.area.erase();
        self.write(&erase);
        match self.keyboard.edit(&self.input.take_text()) {
            Ok(text) => self.input.put_back(&text),
            Err((text, error)) => {
                self.input.put_back(&text);
                self.tell(&error);
            }
        }
    }

    /// Prints what is new, and shows the area below it anew.
    fn draw(&mut self) {
        let rows_max = self.rows.saturating_sub(1).max(1);
        let input =
            self.input.rows(self.columns, (rows_max / 2).max(1), self.conversation.is_running());
        let room = rows_max.saturating_sub(input.rows.len());
        let mut rows = self.conversation.live(self.columns, room, self.opened.elapsed());
        if rows.len() > room {
            rows.drain(..rows.len() - room);
        }
        let cursor_row = rows.len() + input.cursor_row;
        rows.extend(input.rows);
        for row in &mut rows {
            if row.width() > self.columns {
                *row = Line::plain(&fitted(&row.text(), self.columns));
            }
        }
        let area = LiveRows { rows, cursor_row, cursor_column: input.cursor_column };
        let printed = std::mem::take(&mut self.printed);
        if let Some(bytes) = self.area.change(&printed, &area, self.is_coloured) {
            self.write(&bytes);
        }
    }

    fn write(&mut self, bytes: &str) {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(bytes.as_bytes()).and_then(|()| stdout.flush());
        // A terminal that is gone ends the conversation; what was answered is in the log.
        if written.is_err() {
            self.is_over = true;
        }
    }

    /// Waits until what was sent has arrived.
    async fn deliver(&mut self) {
        let delivered = async {
            while self.conversation.has_pending() {
                let Some(incoming) = self.incoming.recv().await else { return };
                self.take(incoming);
            }
        };
        // What has not arrived by then is printed.
        tokio::time::timeout(DELIVERY_MAX, delivered).await.unwrap_or_default();
        self.draw();
    }

    /// Leaves the terminal as it was found.
    async fn close(&mut self) {
        self.deliver().await;
        let erase = self.area.erase();
        self.write(&erase);
        self.keyboard.close();
        for text in self.conversation.take_pending().into_iter().chain([self.input.take_text()]) {
            if !text.trim().is_empty() {
                ui::error_line(&format!("{}: {text}", self.language.say(ScreenText::NotSent)));
            }
        }
        // A turn goes on without anyone who looks.
        self.tasks.shutdown().await;
    }
}
