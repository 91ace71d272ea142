//! Plain `kith`: a conversation, line by line.
//!
//! With a person at the terminal it greets, prompts and shows answers as they grow, and a failure
//! ends a turn, not the conversation. Without one it is a filter: a message per line, the answers
//! on stdout, and the first failure ends it.

mod first_sight;

use std::io::{self, BufRead, Read};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use kith_home::identity::Identity;
use kith_vocab::clock::Clock;
use kith_vocab::ids::ThreadId;
use kith_vocab::ingress::MESSAGE_BYTES_MAX;
use tokio::sync::mpsc;

use super::ask::{as_text, check_length, send};
use super::print_notes;
use crate::args::{ModelArg, Shared};
use crate::client::{ModelName, Outcome, Place, SendMessage};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::door::{Door, Heir};
use crate::house::House;
use crate::models::{self, Chosen, DEMO_LABEL};
use crate::reading::short;
use crate::report::{Blame, Report};
use crate::screen::{Live, Quiet};
use crate::signals::{Brake, Pulled};
use crate::team::Member;
use crate::ui;

const HELP: &str = "Type a message and press Enter. /new begins anew, /quit or Ctrl-D ends, \
                    Ctrl-C stops an answer.";

pub(crate) async fn run(shared: &Shared, model: ModelArg) -> Result<ExitCode, Report> {
    if shared.json {
        return Err(Report::usage("a conversation has no JSON form")
            .hint("`kith ask --json TEXT` answers with one JSON value"));
    }
    let house = House::find(shared.home.as_deref())?;
    let is_attended = ui::is_interactive();
    if is_attended {
        first_sight::of_house(&house)?;
    }
    let config = Config::load(&house)?;
    let chosen = models::choose(model.model.as_deref(), &config)?;
    let thread_id = house.thread_of_cwd()?;
    let cwd = house.cwd.display().to_string();
    let member = config.team.choose(shared.agent())?.clone();
    let (sender, notes) = mpsc::unbounded_channel();
    // What was said to a real model is not for the demo to answer because a key is missing today.
    let heir = (!chosen.by_default)
        .then(|| Heir { provider: Arc::clone(&chosen.provider), notes: sender });
    let door = Door::new(house.clone(), config).with_heir(heir);
    if is_attended {
        first_sight::of_repository(&door, (&house, &member)).await?;
        greet(&door, &house, &member, &thread_id, &chosen).await?;
    } else if chosen.by_default {
        ui::note(DEMO_LABEL);
    }
    let mut talk = Talk {
        door,
        agent_id: member.id,
        thread_id,
        cwd,
        model: model.model,
        expects: chosen.name.clone(),
        place: Place::Current,
        is_attended,
        has_answered: false,
        notes,
        brake: Brake::take()?,
    };
    let talked = talk.go_on(lines_of_stdin()).await;
    talk.door.leave(&mut talk.brake).await;
    while let Ok(note) = talk.notes.try_recv() {
        ui::note(&note);
    }
    talked.map(|()| ExitCode::SUCCESS)
}

async fn greet(
    door: &Door,
    house: &House,
    member: &Member,
    thread_id: &ThreadId,
    chosen: &Chosen,
) -> Result<(), Report> {
    // Who it is adds to the greeting; a home whose files cannot be read says so when it must.
    let identity = Identity::read(&member.identity, &member.home)
        .unwrap_or_else(|_| Identity::resolve(&member.identity, ""));
    let name = identity.display_name();
    let model = &chosen.provider.choice().model;
    ui::error_line(&format!("{name} in {} (model: {model})", house.dir.display()));
    if chosen.by_default {
        ui::note(DEMO_LABEL);
    }
    let Some(host) = door.host().await? else {
        ui::error_line("Another kith is at work in this house; it answers here too.");
        ui::error_line(HELP);
        return Ok(());
    };
    if let Some((id, title)) = host.current(&member.id, thread_id).await? {
        let about = title.map_or_else(String::new, |title| format!(", “{title}”"));
        ui::error_line(&format!("Going on with session {}{about}.", short(id)));
        if let Some(told) = host.told_before(id).await? {
            ui::error_line(&format!("\n{told}\n"));
        }
    }
    ui::error_line(HELP);
    Ok(())
}

struct Talk {
    door: Door,
    agent_id: String,
    thread_id: ThreadId,
    cwd: String,
    model: Option<String>,
    expects: ModelName,
    place: Place,
    is_attended: bool,
    has_answered: bool,
    /// What became of turns that an earlier host left, as it becomes known.
    notes: mpsc::UnboundedReceiver<String>,
    brake: Brake,
}

enum Heard {
    Line(String),
    Note(String),
    /// Ctrl-C where nothing runs.
    Interrupt,
    End,
}

impl Talk {
    async fn go_on(&mut self, mut lines: Lines) -> Result<(), Report> {
        let mut interrupted = false;
        // Ends with the input, or when the person has had enough.
        loop {
            match self.hear(&mut lines).await? {
                Heard::Interrupt if self.is_attended && !interrupted => {
                    interrupted = true;
                    ui::error_line("\n(Ctrl-C again, or Ctrl-D, ends)");
                }
                Heard::Interrupt | Heard::End => break,
                Heard::Note(note) if self.is_attended => ui::error_line(&format!("\n({note})")),
                Heard::Note(note) => ui::note(&note),
                Heard::Line(text) => {
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

    async fn hear(&mut self, lines: &mut Lines) -> Result<Heard, Report> {
        if self.is_attended {
            ui::prompt("\n> ");
        }
        tokio::select! {
            line = lines.recv() => match line {
                None => Ok(Heard::End),
                Some(Ok(text)) => Ok(Heard::Line(text)),
                Some(Err(report)) if self.is_attended => {
                    ui::failure(&report, false);
                    Ok(Heard::Line(String::new()))
                }
                Some(Err(report)) => Err(report),
            },
            Some(note) = self.notes.recv() => Ok(Heard::Note(note)),
            pulled = self.brake.pulled() => match pulled {
                Pulled::Interrupt => Ok(Heard::Interrupt),
                Pulled::Terminate => Ok(Heard::End),
            },
        }
    }

    /// Does what a line says, and tells whether it was the last.
    async fn obey(&mut self, text: String) -> Result<bool, Report> {
        match text.trim() {
            "" => (),
            "/quit" | "/exit" => return Ok(true),
            "/help" => ui::error_line(HELP),
            "/new" => {
                self.place = Place::New;
                ui::error_line("(the next message begins a new session)");
            }
            word if is_command(word) => {
                ui::error_line(&format!("(there is no {word}; there are /new, /help and /quit)"));
            }
            _ => match self.turn(text).await {
                Ok(()) => (),
                Err(report) if self.is_attended => {
                    ui::failure(&report, false);
                }
                Err(report) => return Err(report),
            },
        }
        Ok(false)
    }

    async fn turn(&mut self, text: String) -> Result<(), Report> {
        let message = SendMessage {
            client_message_id: SystemClock.new_id().to_string(),
            text,
            agent_id: Some(self.agent_id.clone()),
            thread_id: self.thread_id.clone(),
            place: self.place.clone(),
            cwd: self.cwd.clone(),
            model: self.model.clone(),
            expects: self.expects.clone(),
            expected_leaf: None,
        };
        let live = Live::default();
        let (told, outcome) = if self.is_attended {
            let outcome = send(&self.door, message, &live, &mut self.brake).await;
            live.end_line();
            outcome?
        } else {
            send(&self.door, message, &Quiet, &mut self.brake).await?
        };
        // Only now: a message that could not be accepted has begun nothing.
        self.place = Place::Current;
        let text = told.form.text.trim_end();
        if matches!(outcome, Outcome::Answered | Outcome::Stopped(_))
            && !live.has_shown_text()
            && !text.is_empty()
        {
            // A blank line between answers, where nobody sees the questions between them.
            let gap = if self.has_answered { "\n" } else { "" };
            ui::line(&format!("{gap}{text}"));
            self.has_answered = true;
        }
        print_notes(&told.notes);
        match outcome {
            Outcome::Answered => Ok(()),
            Outcome::Stopped(why) => {
                ui::note(&why);
                Ok(())
            }
            Outcome::Cancelled if self.is_attended => {
                ui::error_line("(stopped)");
                Ok(())
            }
            Outcome::Cancelled => {
                Err(Report::new(Blame::Request, "cancelled", "the turn was stopped"))
            }
            Outcome::Failed(reason) => Err(Report::new(Blame::Environment, "model_failed", reason)),
        }
    }
}

/// `/word`, as opposed to a path or a sentence that begins with a slash.
fn is_command(text: &str) -> bool {
    text.strip_prefix('/').is_some_and(|word| {
        !word.is_empty() && word.chars().all(|ch| ch.is_ascii_lowercase() || ch == '-')
    })
}

type Lines = mpsc::Receiver<Result<String, Report>>;

/// Reading stdin blocks, so it has a thread of its own; it ends with the program.
fn lines_of_stdin() -> Lines {
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

fn next_line(stdin: &mut impl BufRead) -> Option<Result<String, Report>> {
    let mut bytes = Vec::new();
    let limit = MESSAGE_BYTES_MAX as u64 + 1;
    match stdin.take(limit).read_until(b'\n', &mut bytes) {
        Ok(0) => None,
        Ok(_) => {
            let checked = check_length(bytes.len()).and_then(|()| as_text(bytes));
            Some(checked.map(|text| text.trim_end_matches(['\n', '\r']).to_owned()))
        }
        Err(source) => {
            let message = format!("cannot read what was typed: {source}");
            Some(Err(Report::new(Blame::Environment, "filesystem_error", message)))
        }
    }
}
