//! `kith` alone: a conversation, drawn in a terminal or line by line ([`plain`]).
//!
//! At a terminal a failure ends a turn, not the conversation. Elsewhere it is a filter: one message per
//! line, the answers on stdout, and the first failure ends it.

mod first_sight;
mod host_model;
mod new_agent;
mod plain;
mod plain_commands;

use std::process::ExitCode;
use std::sync::Arc;

use kith_host::calls::agent::ExplainAgent;
use kith_host::calls::daemon::HostKind;
use kith_host::calls::message::MessageTarget;
use kith_host::calls::models::NamedModel;
use kith_host::calls::session::{DescribeSession, SessionDescription};
use kith_host::calls::thread::GetThread;
use kith_host::client::Client;
use kith_host::error::{CallError, ErrorCode};
use kith_host::house::House;
use kith_host::models::{ChosenModel, DEMO_LABEL, ModelRegistry};
use kith_host::settings::watch::SettingsWatch;
use kith_host::words::short;
use kith_vocab::ids::{SessionId, ThreadId};
use tokio::sync::mpsc;

use self::plain::{ChatLoop, lines_of_stdin};
use super::session::list::FolderNames;
use super::{CommandResult, client_of, house_of, leave, settings_of};
use crate::program::args::{GlobalArgs, ModelArg};
use crate::program::signals::StopSignal;
use crate::program::terminal::words::{ScreenLanguage, ScreenText};
use crate::program::terminal::{self, ChatSetup};
use crate::program::{transcript, ui};

/// Reports on unfinished turns that wait to be shown; the next one waits for room.
const NOTES_MAX: usize = 64;

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
    let house = house_or_new(shared, is_attended)?;
    let settings = settings_of(shared, &house)?;
    let models = ModelRegistry::new(Arc::clone(&settings));
    let chosen = own_choice(shared, &models, &settings, model.model.as_deref())?;
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
    let language = ScreenLanguage::of(&settings.last_good(), &agent_id);
    if is_attended && !client.is_remote() {
        first_sight::of_repository(&client, &agent_id, &cwd, language).await?;
    }
    let host_model = if is_attended || client.is_remote() {
        host_model::other_than(&client, model.model.as_deref(), chosen.as_ref()).await?
    } else {
        None
    };
    if is_attended {
        let answering = (chosen.as_ref(), host_model.as_ref());
        let mut banner = banner(&client, &house, &agent_id, answering, language).await?;
        if resumed.is_some() {
            // A session has its own folder, which the terminal names.
            banner.retain(|line| !line.starts_with(language.say(ScreenText::WorkingIn)));
        }
        if plain || !can_be_drawn_on() {
            greet(&client, (&agent_id, &thread_id), &banner, resumed.as_ref(), language).await?;
        } else {
            let session = resumed.map(|it| it.session_id.to_string());
            let context_window = context_window(chosen.as_ref(), host_model.as_ref());
            #[rustfmt::skip]
            let setup = ChatSetup {
                client, agent_id, thread_id, house, model: model.model, settings, models, notes, session,
                banner, context_window, host_model,
            };
            return in_terminal(setup).await;
        }
    } else if chosen.is_some_and(|it| it.by_default) {
        ui::note(DEMO_LABEL);
    }
    let conversation = ChatLoop {
        client,
        agent_id,
        thread_id,
        cwd,
        folders: FolderNames { user_home: house.real_user_home() },
        language,
        model: model.model,
        host_model,
        settings,
        models,
        target: MessageTarget::Current,
        resumed: resumed.map(|it| it.session_id),
        is_attended,
        has_answered: false,
        notes,
        stop: StopSignal::listen()?,
    };
    line_by_line(conversation).await
}

async fn line_by_line(mut conversation: ChatLoop) -> CommandResult {
    let ended = conversation.go_on(lines_of_stdin()).await;
    leave(conversation.client, &mut conversation.stop).await;
    while let Ok(note) = conversation.notes.try_recv() {
        ui::note(&note);
    }
    ended.map(|()| ExitCode::SUCCESS)
}

/// The model that this process would ask; on another machine its host chooses.
fn own_choice(
    shared: &GlobalArgs,
    models: &ModelRegistry,
    settings: &SettingsWatch,
    named: Option<&str>,
) -> Result<Option<ChosenModel>, CallError> {
    if shared.remote_house.is_some() {
        return Ok(None);
    }
    models.choose(named, &settings.last_good()).map(Some)
}

fn context_window(chosen: Option<&ChosenModel>, of_host: Option<&NamedModel>) -> u64 {
    let own = chosen.map(|it| it.provider.choice().context_window);
    own.or(of_host.map(|it| it.context_window)).unwrap_or_default()
}

/// The house, or a new one for whoever has none.
fn house_or_new(shared: &GlobalArgs, is_attended: bool) -> Result<House, CallError> {
    if let Some(remote) = &shared.remote_house {
        return Ok(remote.house().clone());
    }
    let house = match house_of(shared) {
        Err(error) if is_attended && !shared.unattended => new_agent::offer(shared, error)?,
        found => found?,
    };
    if is_attended {
        first_sight::of_house(&house)?;
    }
    Ok(house)
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
    (chosen, of_host): (Option<&ChosenModel>, Option<&NamedModel>),
    language: ScreenLanguage,
) -> Result<Vec<String>, CallError> {
    let name = name_of(client, agent_id).await;
    let own_model = chosen.map(|it| it.provider.choice().model.as_str());
    let model = of_host.map(|it| it.name.model.as_str()).or(own_model).unwrap_or_default();
    let mut banner = vec![format!("{name} · {model} · {}", house.dir.display())];
    if house.cwd != house.dir {
        let working_in = language.say(ScreenText::WorkingIn);
        banner.push(format!("{working_in}{}", house.cwd.display()));
    }
    if chosen.is_some_and(|it| it.by_default) && of_host.is_none() {
        banner.push(match language {
            ScreenLanguage::English => DEMO_LABEL.to_owned(),
            ScreenLanguage::Chinese => language.say(ScreenText::DemoModel).to_owned(),
        });
    }
    if let Some(remote) = client.remote_address() {
        banner.push(format!("{} {}", language.say(ScreenText::RemoteHost), remote.authority()));
        return Ok(banner);
    }
    if !client.is_host().await? {
        banner.push(language.say(ScreenText::AnotherHost).to_owned());
    }
    if let Some(own_model) = own_model.filter(|_| of_host.is_some()) {
        banner.push(format!("{} {own_model}", language.say(ScreenText::HostsModel)));
    }
    Ok(banner)
}

/// Whether the terminal can move its cursor.
fn can_be_drawn_on() -> bool {
    std::env::var("TERM").is_ok_and(|term| !term.is_empty() && term != "dumb")
}

/// The agent's name behind its emoji. Without the name people see the id: files that cannot be read are reported by a message.
async fn name_of(client: &Client, agent_id: &str) -> String {
    let identity = client.call(ExplainAgent { agent_id: Some(agent_id.to_owned()) }).await;
    let Ok(told) = identity else { return agent_id.to_owned() };
    match told.data.emoji {
        Some(emoji) => format!("{emoji} {}", told.data.name),
        None => told.data.name,
    }
}

/// Prints who answers, and the conversation that goes on.
async fn greet(
    client: &Client,
    (agent_id, thread_id): (&str, &ThreadId),
    banner: &[String],
    resumed: Option<&SessionDescription>,
    language: ScreenLanguage,
) -> Result<(), CallError> {
    for line in banner {
        ui::error_line(line);
    }
    let continuing = |id: SessionId, title: Option<&String>| {
        let about = title.map_or_else(String::new, |title| format!(", “{title}”"));
        let continuing = language.say(ScreenText::Continuing);
        ui::error_line(&format!("{continuing} {}{about}", short(id)));
    };
    if let Some(SessionDescription { session_id, title, .. }) = resumed {
        continuing(*session_id, title.as_ref());
    } else {
        let (agent_id, thread_id) = (Some(agent_id.to_owned()), thread_id.clone());
        let thread = client.call(GetThread { agent_id, thread_id }).await?.data;
        if let Some(session) = thread.session {
            continuing(session.session_id, session.title.as_ref());
            if let Some(told) = transcript::beginning(&session.history, session.session_id) {
                ui::error_line(&format!("\n{told}\n"));
            }
        }
    }
    ui::error_line(language.say(ScreenText::PlainHelp));
    Ok(())
}
