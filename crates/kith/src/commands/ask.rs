//! `kith ask`: say one thing and print the answer.

use std::io::{self, Read};
use std::process::ExitCode;

use kith_engine::session::Watcher;
use kith_vocab::clock::Clock;
use kith_vocab::ingress::MESSAGE_BYTES_MAX;
use tokio_util::sync::CancellationToken;

use super::{print_form, print_notes, unexpected};
use crate::args::{Ask, ModelArg, Shared, leaf_of};
use crate::client::{
    Answer, Client, MessageAnswer, ModelName, Outcome, Place, Request, SendMessage, Told,
};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::door::Door;
use crate::house::House;
use crate::models::{self, DEMO_LABEL};
use crate::reading::short;
use crate::report::{Blame, Report};
use crate::screen::{Live, Quiet, StreamJson};
use crate::signals::Brake;
use crate::ui;

pub(crate) async fn run(shared: &Shared, model: ModelArg, args: Ask) -> Result<ExitCode, Report> {
    let model = args.model.model.clone().or(model.model);
    let house = House::find(shared.home.as_deref())?;
    // All that can be refused is refused before the house is touched.
    let config = Config::load(&house)?;
    let chosen = models::choose(model.as_deref(), &config)?;
    // A session is somebody's; only what goes to a thread must know whose that is.
    let agent_id = match (&args.session, shared.agent()) {
        (Some(_), None) => None,
        (_, named) => Some(config.team.choose(named)?.id.clone()),
    };
    let message = SendMessage { agent_id, ..message(&house, &args, model, chosen.name.clone())? };
    let door = Door::new(house, config);

    let as_json = shared.json || args.stream_json;
    let shows_live = ui::is_interactive() && !as_json;
    let live = Live::default();
    let screen: &dyn Watcher = match (args.stream_json, shows_live) {
        (true, _) => &StreamJson,
        (false, true) => &live,
        (false, false) => &Quiet,
    };
    let mut brake = Brake::take()?;
    let sent = send(&door, message, screen, &mut brake).await;
    live.end_line();
    let printed = sent.and_then(|(told, outcome)| {
        print(&told, outcome, as_json, !live.has_shown_text())?;
        if chosen.by_default {
            ui::note(DEMO_LABEL);
        }
        Ok(ExitCode::SUCCESS)
    });
    // The answer is out; whoever attached meanwhile is still answered.
    door.leave(&mut brake).await;
    printed
}

fn print(
    told: &Told<MessageAnswer>,
    outcome: Outcome,
    as_json: bool,
    is_unseen: bool,
) -> Result<(), Report> {
    let answer = &told.form;
    let kept = format!("what you said is kept: `kith session show {}`", short(answer.session_id));
    match outcome {
        Outcome::Failed(reason) => {
            print_notes(&told.notes);
            return Err(Report::new(Blame::Environment, "model_failed", reason).hint(kept));
        }
        Outcome::Cancelled => {
            print_notes(&told.notes);
            return Err(Report::new(Blame::Request, "cancelled", "the turn was stopped").hint(kept));
        }
        Outcome::Stopped(why) => ui::note(&why),
        Outcome::Answered => (),
    }
    if as_json {
        print_form(true, answer);
    } else if is_unseen && !answer.text.trim().is_empty() {
        ui::line(answer.text.trim_end());
    }
    print_notes(&told.notes);
    Ok(())
}

/// Sends the message. The first pull of the brake stops the turn in good order; the second does
/// not wait for that. What was said is kept either way.
pub(super) async fn send(
    client: &dyn Client,
    message: SendMessage,
    screen: &dyn Watcher,
    brake: &mut Brake,
) -> Result<(Told<MessageAnswer>, Outcome), Report> {
    let cancel = CancellationToken::new();
    let call = client.call(Request::SendMessage(message), screen, &cancel);
    tokio::pin!(call);
    let answer = loop {
        tokio::select! {
            answer = &mut call => break answer?,
            _ = brake.pulled() => {
                if cancel.is_cancelled() {
                    let message = "stopped at once, without waiting for the turn to end";
                    return Err(Report::new(Blame::Request, "cancelled", message)
                        .hint("the next message brings it to its end"));
                }
                cancel.cancel();
            }
        }
    };
    let Answer::Message(told, outcome) = answer else { return Err(unexpected()) };
    Ok((told, outcome))
}

fn message(
    house: &House,
    args: &Ask,
    model: Option<String>,
    expects: ModelName,
) -> Result<SendMessage, Report> {
    let thread_id = match &args.thread {
        None => house.thread_of_cwd()?,
        Some(thread) => thread.parse().map_err(|error| {
            Report::new(Blame::Usage, "usage", error).hint("for example `--thread web:room:notes`")
        })?,
    };
    let place = match (&args.session, args.new) {
        (Some(session), _) => Place::Session(session.clone()),
        (None, true) => Place::New,
        (None, false) => Place::Current,
    };
    let expected_leaf = leaf_of(args.expected_leaf.as_deref())?;
    let client_message_id = match &args.message_id {
        None => SystemClock.new_id().to_string(),
        Some(id) if id.trim().is_empty() => {
            return Err(Report::usage("the message id is empty")
                .hint("leave `--message-id` out, or name the message"));
        }
        Some(id) => id.clone(),
    };
    let cwd = house.cwd.display().to_string();
    let text = message_text(&args.text)?;
    Ok(SendMessage {
        client_message_id,
        text,
        agent_id: None,
        thread_id,
        place,
        cwd,
        model,
        expects,
        expected_leaf,
    })
}

fn message_text(words: &[String]) -> Result<String, Report> {
    let text = match words {
        [] if ui::input_is_terminal() => {
            return Err(Report::usage("what do you want to say?").hint("`kith ask \"hello\"`"));
        }
        [] => from_stdin()?,
        [dash] if dash == "-" => from_stdin()?,
        words => words.join(" "),
    };
    if text.trim().is_empty() {
        return Err(Report::usage("there is nothing to say: the message is empty")
            .hint("`kith ask \"hello\"`"));
    }
    check_length(text.len())?;
    Ok(text)
}

pub(super) fn check_length(bytes: usize) -> Result<(), Report> {
    if bytes <= MESSAGE_BYTES_MAX {
        return Ok(());
    }
    let message = format!("the message is longer than {MESSAGE_BYTES_MAX} bytes");
    Err(Report::new(Blame::Request, "invalid_request", message)
        .hint("put it into a file and ask the agent to read that"))
}

fn from_stdin() -> Result<String, Report> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MESSAGE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| Report::new(Blame::Environment, "filesystem_error", source))?;
    // A message that is too long may be cut within a letter; its length is what is wrong with it.
    check_length(bytes.len())?;
    as_text(bytes)
}

pub(super) fn as_text(bytes: Vec<u8>) -> Result<String, Report> {
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let message = format!("what came on stdin is not UTF-8 (byte {})", place + 1);
        Report::new(Blame::Request, "invalid_request", message)
            .hint("`iconv -t UTF-8` converts text of another encoding")
    })
}
