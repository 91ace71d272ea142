//! Plain `kith`: a conversation, line by line.
//!
//! At a terminal it greets, prompts and shows answers as they grow, and a failure ends a turn, not the
//! conversation. Elsewhere it is a filter: one message per line, the answers on stdout, and the first
//! failure ends it.

mod first_sight;
mod host_model;
mod new_agent;

use std::io::{self, BufRead, Read};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use kith_host::calls::agent::ExplainAgent;
use kith_host::calls::daemon::HostKind;
use kith_host::calls::message::{
    CancelTurn, MessageOutcome, MessageReply, MessageTarget, SendMessage,
};
use kith_host::calls::models::NamedModel;
use kith_host::calls::session::{DescribeSession, SessionDescription};
use kith_host::calls::thread::{FindCurrentSession, GetThread};
use kith_host::client::Client;
use kith_host::clock::SystemClock;
use kith_host::error::{Blame, CallError, ErrorCode};
use kith_host::house::House;
use kith_host::models::{ChosenModel, DEMO_LABEL, ModelRegistry};
use kith_host::settings::watch::SettingsWatch;
use kith_host::words::short;
use kith_vocab::clock::Clock;
use kith_vocab::ids::{EventId, SessionId, ThreadId};
use kith_vocab::ingress::{MESSAGE_BYTES_MAX, RunningBehavior};
use tokio::sync::mpsc;

use super::ask::{as_text, check_length, failure_of, send};
use super::{CommandResult, client_of, house_of, leave, print_notes};
use crate::program::args::{GlobalArgs, ModelArg};
use crate::program::screen::{Live, Quiet};
use crate::program::signals::{StopKind, StopSignal};
use crate::program::terminal::words::{ScreenLanguage, ScreenText};
use crate::program::terminal::{self, ChatSetup};
use crate::program::{transcript, ui};

const HELP: &str = "Type a message and press Enter. /new starts a new session, Ctrl-C stops an \
                    answer, /quit or Ctrl-D quits.";

/// Reports on unfinished turns that wait to be shown; the next one waits for room.
const NOTES_MAX: usize = 64;
const WORKING_IN: &str = "Working in ";
const ANOTHER_HOST: &str = "Another kith is running in this house; it answers here too.";

/// `resume` is the session to speak in; without one it is the current one of this folder's thread.
pub(crate) async fn run(
    shared: &GlobalArgs,
    model: ModelArg,
    resume: Option<String>,
    plain: bool,
) -> CommandResult {
    if shared.json {
        return Err(CallError::usage("the interactive chat has no JSON output")
            .hint("use `kith ask --json TEXT` instead"));
    }
    let is_attended = ui::is_interactive();
    let house = match house_of(shared) {
        Err(error) if is_attended && !shared.unattended => new_agent::offer(shared, error)?,
        found => found?,
    };
    if is_attended {
        first_sight::of_house(&house)?;
    }
    let settings = SettingsWatch::open(&house)?;
    let models = ModelRegistry::new(Arc::clone(&settings));
    let chosen = models.choose(model.model.as_deref(), &settings.last_good())?;
    let thread_id = house.thread_of_cwd()?;
    let cwd = house.cwd.display().to_string();
    let (sender, notes) = mpsc::channel(NOTES_MAX);
    let client = client_of(shared, house.clone()).known_as(HostKind::Chat).resuming(sender);
    let mut agent_id = settings.last_good().team.choose(shared.agent()).map(|it| it.id.clone());
    let resumed = describe(&client, resume).await?;
    // A session is somebody's; only what goes to a thread must know whose that is.
    if let Some(owner) = resumed.as_ref().and_then(|it| it.agent_id.clone()) {
        agent_id = settings.last_good().team.member(&owner).map(|it| it.id.clone());
    }
    let agent_id = agent_id?;
    if is_attended {
        first_sight::of_repository(&client, &agent_id, &cwd).await?;
    }
    if is_attended && !plain && can_be_drawn_on() {
        let language = ScreenLanguage::of(&settings.last_good(), &agent_id);
        let host_model = host_model::other_than(&client, model.model.as_deref(), &chosen).await?;
        let answering = (&chosen, host_model.as_ref());
        let mut banner = banner(&client, &house, &agent_id, answering, language).await?;
        if resumed.is_some() {
            // A session has its own folder, which the terminal names.
            banner.retain(|line| !line.starts_with(language.say(ScreenText::WorkingIn)));
        }
        let session = resumed.map(|it| it.session_id.to_string());
        let model = model.model;
        #[rustfmt::skip]
        let setup = ChatSetup {
            client, agent_id, thread_id, house, model, settings, models, notes, session, banner,
            context_window: chosen.provider.choice().context_window, host_model,
        };
        return in_terminal(setup).await;
    }
    if is_attended {
        greet(&client, &house, &agent_id, &thread_id, &chosen, resumed.as_ref()).await?;
    } else if chosen.by_default {
        ui::note(DEMO_LABEL);
    }
    let mut conversation = ChatLoop {
        client,
        agent_id,
        thread_id,
        cwd,
        model: model.model,
        settings,
        models,
        target: MessageTarget::Current,
        resumed: resumed.map(|it| it.session_id),
        is_attended,
        has_answered: false,
        notes,
        stop: StopSignal::listen()?,
    };
    let ended = conversation.go_on(lines_of_stdin()).await;
    leave(conversation.client, &mut conversation.stop).await;
    while let Ok(note) = conversation.notes.try_recv() {
        ui::note(&note);
    }
    ended.map(|()| ExitCode::SUCCESS)
}

/// The session that is resumed, if one is.
async fn describe(
    client: &Client,
    session: Option<String>,
) -> Result<Option<SessionDescription>, CallError> {
    let Some(session) = session else { return Ok(None) };
    let found = client.call(DescribeSession { session }).await?.data;
    if found.is_gone {
        let message = format!("the file of session {} is missing", short(found.session_id));
        return Err(CallError::request(ErrorCode::SessionNotFound, message));
    }
    Ok(Some(found))
}

async fn in_terminal(setup: ChatSetup) -> CommandResult {
    let mut stop = StopSignal::listen()?;
    let (client, ended) = terminal::run(setup, &mut stop).await;
    if let Some(client) = client {
        leave(client, &mut stop).await;
    }
    ended.map(|()| ExitCode::SUCCESS)
}

async fn banner(
    client: &Client,
    house: &House,
    agent_id: &str,
    (chosen, of_host): (&ChosenModel, Option<&NamedModel>),
    language: ScreenLanguage,
) -> Result<Vec<String>, CallError> {
    let name = name_of(client, agent_id).await;
    let own_model = &chosen.provider.choice().model;
    let model = of_host.map_or(own_model, |it| &it.name.model);
    let mut banner = vec![format!("{name} · {model} · {}", house.dir.display())];
    if house.cwd != house.dir {
        let working_in = language.say(ScreenText::WorkingIn);
        banner.push(format!("{working_in} {}", house.cwd.display()));
    }
    if chosen.by_default && of_host.is_none() {
        banner.push(match language {
            ScreenLanguage::English => DEMO_LABEL.to_owned(),
            ScreenLanguage::Chinese => language.say(ScreenText::DemoModel).to_owned(),
        });
    }
    if !client.is_host().await? {
        banner.push(language.say(ScreenText::AnotherHost).to_owned());
    }
    if of_host.is_some() {
        banner.push(format!("{} {own_model}", language.say(ScreenText::HostsModel)));
    }
    Ok(banner)
}

/// Whether the terminal can move its cursor.
fn can_be_drawn_on() -> bool {
    std::env::var("TERM").is_ok_and(|term| !term.is_empty() && term != "dumb")
}

/// Who answers, with which model, and in which folder.
async fn greeting(
    client: &Client,
    house: &House,
    agent_id: &str,
    chosen: &ChosenModel,
) -> Vec<String> {
    let name = name_of(client, agent_id).await;
    let model = &chosen.provider.choice().model;
    let mut lines = vec![format!("{name} in {} (model: {model})", house.dir.display())];
    if house.cwd != house.dir {
        lines.push(format!("{WORKING_IN}{}", house.cwd.display()));
    }
    lines
}

/// Without the name people see the id: files that cannot be read are reported by a message.
async fn name_of(client: &Client, agent_id: &str) -> String {
    let identity = client.call(ExplainAgent { agent_id: Some(agent_id.to_owned()) }).await;
    identity.map_or_else(|_| agent_id.to_owned(), |told| told.data.name)
}

async fn greet(
    client: &Client,
    house: &House,
    agent_id: &str,
    thread_id: &ThreadId,
    chosen: &ChosenModel,
    resumed: Option<&SessionDescription>,
) -> Result<(), CallError> {
    for line in greeting(client, house, agent_id, chosen).await {
        ui::error_line(&line);
    }
    if chosen.by_default {
        ui::note(DEMO_LABEL);
    }
    if !client.is_host().await? {
        ui::error_line(ANOTHER_HOST);
        ui::error_line(HELP);
        return Ok(());
    }
    if let Some(SessionDescription { session_id, title, .. }) = resumed {
        let about = title.as_ref().map_or_else(String::new, |title| format!(", “{title}”"));
        ui::error_line(&format!("Continuing session {}{about}.", short(*session_id)));
        ui::error_line(HELP);
        return Ok(());
    }
    let (agent_id, thread_id) = (Some(agent_id.to_owned()), thread_id.clone());
    let thread = client.call(GetThread { agent_id, thread_id }).await?.data;
    if let Some(session) = thread.session {
        let id = session.session_id;
        let about = session.title.map_or_else(String::new, |title| format!(", “{title}”"));
        ui::error_line(&format!("Continuing session {}{about}.", short(id)));
        if let Some(told) = transcript::beginning(&session.history, id) {
            ui::error_line(&format!("\n{told}\n"));
        }
    }
    ui::error_line(HELP);
    Ok(())
}

struct ChatLoop {
    client: Client,
    agent_id: String,
    thread_id: ThreadId,
    cwd: String,
    model: Option<String>,
    settings: Arc<SettingsWatch>,
    models: ModelRegistry,
    target: MessageTarget,
    /// The session that was opened by name, until another one is begun.
    resumed: Option<SessionId>,
    is_attended: bool,
    has_answered: bool,
    /// Reports on the turns that an earlier host left unfinished.
    notes: mpsc::Receiver<String>,
    stop: StopSignal,
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
    async fn go_on(&mut self, mut lines: InputLines) -> Result<(), CallError> {
        let mut interrupted = false;
        // Ends with the input, `/quit` or Ctrl-C.
        loop {
            match self.hear(&mut lines).await? {
                ChatInput::Interrupt if self.is_attended && !interrupted => {
                    interrupted = true;
                    ui::error_line("\n(press Ctrl-C again or Ctrl-D to quit)");
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
            "/help" => ui::error_line(HELP),
            "/new" => {
                self.stop_running_turn().await;
                self.target = MessageTarget::New;
                self.resumed = None;
                ui::error_line("(your next message starts a new session)");
            }
            word if is_command(word) => {
                ui::error_line(&format!("(unknown command {word}; try /new, /help or /quit)"));
            }
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

    /// Stops a turn that runs in the thread and was started elsewhere, before a new session starts.
    async fn stop_running_turn(&self) {
        let (agent_id, thread_id) = (Some(self.agent_id.clone()), self.thread_id.clone());
        let session = match self.resumed {
            Some(id) => Some(id),
            // What cannot be stopped is waited for by the next message, which tells why.
            None => match self.client.call(FindCurrentSession { agent_id, thread_id }).await {
                Ok(found) => found.data.session_id,
                Err(_) => None,
            },
        };
        let Some(session) = session.map(|id| id.to_string()) else { return };
        let cancel_id = EventId::from_uuid(SystemClock.new_id());
        let stopped = self.client.call(CancelTurn { session, cancel_id }).await;
        if stopped.is_ok_and(|told| told.data.was_running) {
            ui::error_line("(stopping the running turn)");
        }
    }

    async fn turn(&mut self, text: String) -> Result<(), CallError> {
        // Settings may change while a conversation is open.
        let settings = self.settings.current()?;
        let chosen = self.models.choose(self.model.as_deref(), &settings)?;
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
            expects: chosen.name,
            expected_leaf: None,
            running_behavior: RunningBehavior::FollowUp,
            attachments: Vec::new(),
        };
        let live = Arc::new(Live::default());
        let told = if self.is_attended {
            let told = send(&self.client, message, live.clone(), &mut self.stop).await;
            live.end_line();
            told?
        } else {
            send(&self.client, message, Arc::new(Quiet::default()), &mut self.stop).await?
        };
        // Only after the message was accepted: one that was refused starts nothing.
        self.target = MessageTarget::Current;
        let MessageReply { answer, outcome } = told.data;
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
                ui::note(&why);
                Ok(())
            }
            MessageOutcome::Cancelled if self.is_attended => {
                ui::error_line("(stopped)");
                Ok(())
            }
            MessageOutcome::Withdrawn if self.is_attended => {
                ui::error_line("(your message was withdrawn before it was answered)");
                Ok(())
            }
            outcome => failure_of(&outcome, &self.stop).map_or(Ok(()), Err),
        }
    }
}

/// `/word`, as opposed to a path or a sentence that begins with a slash.
fn is_command(text: &str) -> bool {
    text.strip_prefix('/').is_some_and(|word| {
        !word.is_empty() && word.chars().all(|ch| ch.is_ascii_lowercase() || ch == '-')
    })
}

type InputLines = mpsc::Receiver<Result<String, CallError>>;

/// Reads stdin in a thread of its own, because reading blocks. The thread ends with the program.
fn lines_of_stdin() -> InputLines {
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
