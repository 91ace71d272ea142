//! The conversation in a terminal: an input that is always there, and everything that happens in the
//! session above it.
//!
//! - [`conversation`]: what is shown of events and answers that grow.
//! - [`call_words`]: a call in a few words.
//! - [`following`]: which session is shown, and what comes from it.
//! - [`sending`]: messages on their way. [`screen`]: what is drawn and when.
//! - [`open_block`] with [`picker`]: what stands in the place of the input and takes the keys.
//! - [`input`] with [`editor`], [`history`] and [`completion`]: what is typed.
//! - [`file_roots`] with [`attached`]: files named with `@`.
//! - [`live_area`]: the rows at the bottom that change.
//! - [`markdown`], [`styled`]: how text looks.
//! - [`keyboard`], [`keys`]: raw mode, keys and pastes.
//! - [`answering`]: questions about calls, answered by a key.
//! - [`slash`] with [`lists`] and [`answers`]: commands such as `/new`.

mod answering;
pub(crate) mod answers;
mod attached;
pub(crate) mod call_words;
mod completion;
mod conversation;
mod editor;
mod file_roots;
mod following;
mod history;
mod input;
mod keyboard;
mod keys;
pub(crate) mod lists;
mod live_area;
mod markdown;
mod open_block;
pub(crate) mod picker;
mod screen;
mod sending;
pub(crate) mod slash;
pub(crate) mod styled;
pub(crate) mod words;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kith_host::call::Reply;
use kith_host::calls::approval::PendingApprovalView;
use kith_host::calls::message::{CancelTurn, MessageReply, MessageTarget};
use kith_host::calls::models::NamedModel;
use kith_host::calls::session::SessionView;
use kith_host::calls::subscription::{SubscriptionEnd, SubscriptionItem};
use kith_host::client::Client;
use kith_host::clock::SystemClock;
use kith_host::error::CallError;
use kith_host::house::{House, user_home};
use kith_host::models::ModelRegistry;
use kith_host::notes::HostNote;
use kith_host::settings::watch::SettingsWatch;
use kith_host::words::short;
use kith_vocab::clock::Clock;
use kith_vocab::ids::{EventId, ThreadId};
use kith_vocab::ingress::RunningBehavior;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::answering::LetterAnswer;
use self::conversation::{ShownConversation, remark};
use self::file_roots::FileRoots;
use self::following::FollowedFeed;
use self::input::{Input, InputAction};
use self::keyboard::Keyboard;
use self::keys::TerminalInput;
use self::live_area::LiveArea;
use self::open_block::{BlockStep, OpenBlock};
use self::picker::{PickEntry, PickList};
use self::styled::{Colour, Line, Style};
use self::words::{ScreenLanguage, ScreenText, error_rows};
use crate::program::commands::session::list::FolderNames;
use crate::program::signals::{StopKind, StopSignal};
use crate::program::ui;

/// How often what runs is drawn anew.
const FRAME: Duration = Duration::from_millis(120);
/// Items that wait to be shown; whoever has more waits for room.
const INCOMING_MAX: usize = 256;

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
    pub(crate) notes: mpsc::Receiver<String>,
    /// The session to go on with instead of that of the folder.
    pub(crate) session: Option<String>,
    pub(crate) banner: Vec<String>,
    /// In tokens; 0: unknown.
    pub(crate) context_window: u64,
    /// What the host uses, if that is not what this process would use.
    pub(crate) host_model: Option<NamedModel>,
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
    /// A message comes back into the input to be edited, with what there is to say about it.
    TakenBack(Option<Line>, String),
    /// A block to choose from.
    Block(Box<OpenBlock>),
    /// What an argument can be.
    Arguments(PickList, Vec<PickEntry>),
    /// The answer to a command.
    Lines(Vec<Line>),
    /// The model that the host would use now.
    HostModel(Box<NamedModel>),
    /// What the engine offers with questions.
    Offers(Vec<PendingApprovalView>),
    /// An answer to a question did not arrive.
    NotAnswered(String, CallError),
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
    folders: FolderNames,
    files: Arc<FileRoots>,
    model: Option<String>,
    host_model: Option<NamedModel>,
    settings: Arc<SettingsWatch>,
    models: ModelRegistry,
    language: ScreenLanguage,
    conversation: ShownConversation,
    input: Input,
    /// Stands in the place of the input while it is open.
    block: Option<OpenBlock>,
    area: LiveArea,
    keyboard: Keyboard,
    target: MessageTarget,
    incoming: mpsc::Receiver<Incoming>,
    sender: mpsc::Sender<Incoming>,
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
    letter_answer: Option<LetterAnswer>,
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
    let (sender, incoming) = mpsc::channel(INCOMING_MAX);
    let settings = setup.settings.last_good();
    let language = ScreenLanguage::of(&settings, &setup.agent_id);
    let keyboard = match Keyboard::open() {
        Ok(keyboard) => keyboard,
        Err(error) => return (Some(setup.client), Err(error)),
    };
    let (columns, rows) = keyboard::size();
    // An agent without a home has no files of its own.
    let home = settings.team.member(&setup.agent_id).map(|it| it.home.clone()).ok();
    let (roots, history) = if setup.client.is_remote() {
        (Vec::new(), user_home().map(|it| it.join(".kith")).unwrap_or_default())
    } else {
        (setup.house.readable_roots(home.as_deref()), setup.house.kith_dir())
    };
    let files = Arc::new(FileRoots::new(&setup.house.cwd, &roots));
    let mut chat = TerminalChat {
        client: Arc::new(setup.client),
        agent_id: setup.agent_id,
        thread_id: setup.thread_id,
        input: Input::new(language, &history, Arc::clone(&files)),
        files,
        folders: FolderNames { user_home: setup.house.real_user_home() },
        cwd: setup.house.cwd,
        model: setup.model,
        host_model: setup.host_model,
        settings: setup.settings,
        models: setup.models,
        language,
        conversation: ShownConversation::new(language, setup.context_window),
        block: None,
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
        letter_answer: None,
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
        notes: &mut mpsc::Receiver<String>,
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
                Some(note) = notes.recv() => self.take_note(&note),
                kind = stop.received() => match kind {
                    StopKind::Interrupt => self.interrupt(),
                    StopKind::Terminate => self.is_over = true,
                },
                _ = hangup.recv() => self.is_over = true,
                () = tokio::time::sleep(FRAME), if is_running => (),
            }
            // What came together is drawn together, within reason.
            for _ in 0..INCOMING_MAX {
                let Ok(incoming) = self.incoming.try_recv() else { break };
                self.take(incoming);
            }
            self.settle_answer();
            self.find_offers();
            // A panic of a task was printed already.
            while self.tasks.try_join_next().is_some() {}
        }
        Ok(())
    }

    fn take_note(&mut self, note: &str) {
        let finished = |session| HostNote::Finished { session: short(session) };
        let own = self.conversation.session.map(finished);
        // What was finished is on the screen if it is this session.
        if own.is_none_or(|own| own.in_language(self.language.tag()) != note) {
            self.printed.extend(remark(note).wrapped(self.columns, 2));
        }
    }

    fn take(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Feed(n, item) => self.take_item(n, &item),
            Incoming::Unfollowed(n, ended) => self.unfollowed(n, ended),
            Incoming::Failed(error) => self.tell(&error),
            Incoming::HostModel(named) => self.take_host_model(*named),
            Incoming::Offers(views) => self.conversation.set_offers(&views),
            Incoming::NotAnswered(approval_id, error) => self.not_answered(&approval_id, &error),
            Incoming::Sent { message, reply } => self.sent(&message, *reply),
            Incoming::TakenBack(line, text) => {
                self.printed.extend(line);
                self.input.put_back(&text);
            }
            Incoming::Block(block) => self.block = Some(*block),
            Incoming::Arguments(list, entries) => self.input.set_arguments(list, entries),
            Incoming::Lines(lines) => {
                for line in lines {
                    self.printed.extend(line.wrapped(self.columns, 2));
                }
            }
            Incoming::Opened(view) => self.go_to(&view),
            Incoming::OpenedThread(view) => self.go_to_thread(view.as_deref()),
        }
    }

    fn tell(&mut self, error: &CallError) {
        for row in error_rows(self.language, error) {
            let line = Line::styled(&row, Style::coloured(Colour::Red));
            self.printed.extend(line.wrapped(self.columns, 2));
        }
    }

    /// An error of the terminal itself, in its language.
    fn refuse(&mut self, why: &str) {
        let told = format!("{}{why}", self.language.say(ScreenText::Error));
        let line = Line::styled(&told, Style::coloured(Colour::Red));
        self.printed.extend(line.wrapped(self.columns, 2));
    }

    fn key(&mut self, input: &TerminalInput) -> Result<(), CallError> {
        if *input == TerminalInput::Resized {
            (self.columns, self.rows) = keyboard::size();
            self.area.resized(self.columns);
            return Ok(());
        }
        // What was answered is in the log.
        self.is_over |= *input == TerminalInput::Gone;
        if let Some(block) = &mut self.block {
            let step = block.take(input);
            self.block_key(step);
            return Ok(());
        }
        if self.take_question_key(input) {
            return Ok(());
        }
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
            InputAction::ShowCall => slash::show_call(self),
            InputAction::EditQueued => self.edit_queued(),
            InputAction::ClearScreen => {
                let erased = self.area.erase();
                self.write(&format!("{erased}\x1b[2J\x1b[H"));
            }
            InputAction::Suspend => self.suspend()?,
            InputAction::ExternalEditor => self.external_editor(),
        }
        self.find_arguments();
        Ok(())
    }

    /// A key went to the block that is open.
    fn block_key(&mut self, step: BlockStep) {
        match step {
            BlockStep::Stays => (),
            BlockStep::Closed => self.block = None,
            BlockStep::Picked(list, value) => {
                self.block = None;
                slash::picked(self, list, value);
            }
        }
    }

    /// Fetches what the argument that is being typed can be.
    fn find_arguments(&mut self) {
        let Some(list) = self.input.wanted_arguments() else { return };
        let (owner, client) = (self.list_owner(), Arc::clone(&self.client));
        self.spawn_any(async move {
            // Without the list there is nothing to complete with; the command itself says why.
            let entries = owner.entries(&client, list).await.unwrap_or_default();
            Ok(Incoming::Arguments(list, entries))
        });
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
            sender.send(done).await.unwrap_or_default();
        });
    }
}
