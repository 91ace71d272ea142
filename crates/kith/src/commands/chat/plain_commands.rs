//! The `/` commands of a conversation that is read line by line: those of the drawn terminal, with
//! numbered lists in the place of its menus.

use kith_host::calls::message::{MessageTarget, RetryTurn};
use kith_host::calls::models::NameModel;
use kith_host::calls::queue::{EditQueue, ListQueue, QueueChange, TakeNext};
use kith_host::calls::session::{
    CompactSession, DescribeSession, SessionDescription, SessionView, ShowSession,
};
use kith_host::calls::why::ExplainRequest;
use kith_host::clock::SystemClock;
use kith_host::error::CallError;
use kith_host::words::short;
use kith_vocab::clock::Clock as _;
use kith_vocab::event::Event;
use kith_vocab::event::control::Queue;
use kith_vocab::ids::EventId;
use tokio_util::sync::CancellationToken;

use super::plain::ChatLoop;
use crate::program::terminal::answers::{cost_answer, why_lines};
use crate::program::terminal::lists::ListOwner;
use crate::program::terminal::picker::{PickEntry, PickList};
use crate::program::terminal::slash::{branch_before, list_of, start_primed};
use crate::program::terminal::styled::Line;
use crate::program::terminal::words::{ScreenText, commands};
use crate::program::transcript::path::{TranscriptPart, along};
use crate::program::{transcript, ui};

/// A longer number is the beginning of an id.
const NUMBER_DIGITS_MAX: usize = 3;

impl ChatLoop {
    /// Obeys a command; what cannot be done is an error, which ends no conversation at a terminal.
    pub(super) async fn command(&mut self, text: &str) -> Result<(), CallError> {
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let (name, rest) = (name.trim_start_matches('/'), rest.trim());
        match name {
            "help" | "?" => self.help(),
            "new" => {
                self.stop_running_turn().await;
                self.target = MessageTarget::New;
                self.resumed = None;
                self.remark(ScreenText::NewNext);
            }
            "resume" | "sessions" | "branch" | "model" | "prime" => {
                let Some(list) = list_of(name) else { return Ok(()) };
                return self.choose(name, list, rest).await;
            }
            "retry" => {
                let Some(session) = self.session_or_remark().await? else { return Ok(()) };
                let retry_id = new_id();
                self.show_turn(RetryTurn { session, retry_id }).await?;
            }
            "why" => {
                let Some(session) = self.session_or_remark().await? else { return Ok(()) };
                let call = ExplainRequest { turn: None, request: None, session, with_body: false };
                print_lines(&why_lines(self.language, &self.client.call(call).await?.data));
            }
            "cost" => {
                let session = self.session().await?.map(|id| id.to_string());
                print_lines(&cost_answer(&self.client, self.language, session).await?);
            }
            "queue" => return self.queue(rest).await,
            "compact" => {
                let Some(session) = self.session_or_remark().await? else { return Ok(()) };
                let (compact_id, model) = (new_id(), self.model.clone());
                let call = CompactSession { session, compact_id, model };
                self.client.follow(call, drop, CancellationToken::new()).await?;
                self.remark(ScreenText::Summarised);
            }
            _ => {
                let known = commands(self.language);
                let known: Vec<String> = known.iter().map(|(name, _)| format!("/{name}")).collect();
                let unknown = self.language.say(ScreenText::UnknownCommand);
                ui::error_line(&format!("({unknown} /{name}: {})", known.join(" ")));
            }
        }
        Ok(())
    }

    fn help(&self) {
        for (name, about) in commands(self.language) {
            ui::error_line(&format!("  /{name:<10} {about}"));
        }
        ui::error_line(self.language.say(ScreenText::PlainHelp));
    }

    fn remark(&self, text: ScreenText) {
        ui::error_line(&format!("({})", self.language.say(text)));
    }

    /// The session of the conversation, or a remark that there is none yet.
    async fn session_or_remark(&self) -> Result<Option<String>, CallError> {
        let session = self.session().await?.map(|id| id.to_string());
        if session.is_none() {
            self.remark(ScreenText::NothingSaid);
        }
        Ok(session)
    }

    async fn entries(&self, list: PickList) -> Result<Vec<PickEntry>, CallError> {
        let owner = ListOwner {
            language: self.language,
            agent_id: self.agent_id.clone(),
            session: self.session().await?,
            model: self.model.clone(),
            folders: self.folders.clone(),
        };
        owner.entries(&self.client, list).await
    }

    /// Lists what can be chosen, or takes what was named by its number or name.
    async fn choose(&mut self, name: &str, list: PickList, rest: &str) -> Result<(), CallError> {
        let entries = self.entries(list).await?;
        if rest.is_empty() {
            for (n, PickEntry { value, about, is_current }) in (1..).zip(&entries) {
                let mark = if *is_current { "*" } else { " " };
                ui::error_line(&format!("{n:>3} {mark} {value}  {about}"));
            }
            if entries.is_empty() {
                let why = match list {
                    PickList::Scripts => ScreenText::NoScripts,
                    _ => ScreenText::NothingSaid,
                };
                self.remark(why);
            } else {
                let how = self.language.say(ScreenText::ChooseByNumber);
                ui::error_line(&format!("{how} /{name} 1"));
            }
            return Ok(());
        }
        let is_number = rest.len() <= NUMBER_DIGITS_MAX;
        let number = rest.parse::<usize>().ok().filter(|_| is_number);
        let by_number = number.and_then(|n| entries.get(n.checked_sub(1)?));
        let value = by_number.map_or_else(|| rest.to_owned(), |entry| entry.value.clone());
        match list {
            PickList::Sessions => self.resume(value).await,
            PickList::Messages => self.branch(value).await,
            PickList::Models => self.choose_model(value).await,
            PickList::Scripts => self.prime(value).await,
            PickList::Calls => Ok(()),
        }
    }

    async fn resume(&mut self, session: String) -> Result<(), CallError> {
        let found = self.client.call(DescribeSession { session }).await?.data;
        let SessionDescription { session_id, agent_id, .. } = found;
        let session = session_id.to_string();
        let view = self.client.call(ShowSession { session }).await?.data;
        if let Some(agent_id) = agent_id {
            self.agent_id = agent_id;
        }
        self.show(&view);
        self.resumed = Some(session_id);
        Ok(())
    }

    /// Prints the end of a session that is continued.
    fn show(&self, view: &SessionView) {
        let id = view.header.session_id;
        let events: Vec<Event> = along(&view.events, view.leaf)
            .into_iter()
            .filter_map(|part| match part {
                TranscriptPart::Event(event) if event.is_tree() => Some(event.clone()),
                _ => None,
            })
            .collect();
        let continuing = self.language.say(ScreenText::Continuing);
        ui::error_line(&format!("{continuing} {} · {}", short(id), view.header.cwd));
        if let Some(told) = transcript::beginning(&events, id) {
            ui::error_line(&format!("\n{told}"));
        }
    }

    async fn branch(&self, to: String) -> Result<(), CallError> {
        let Some(session) = self.session_or_remark().await? else { return Ok(()) };
        if let Some(text) = branch_before(&self.client, session, &to).await? {
            self.remark(ScreenText::GoesOnBefore);
            ui::error_line(&format!("  {text}"));
        } else {
            let told = self.language.say(ScreenText::GoesOnAfter);
            ui::error_line(&format!("({told} {to})"));
        }
        Ok(())
    }

    async fn choose_model(&mut self, name: String) -> Result<(), CallError> {
        if self.client.is_remote() {
            let call = NameModel { model: Some(name.clone()) };
            let named = self.client.call(call).await?.data;
            ui::error_line(&format!("({} / {})", named.name.provider, named.name.model));
            (self.model, self.host_model) = (Some(name), Some(named));
            return Ok(());
        }
        let settings = self.settings.current()?;
        let chosen = self.models.choose(Some(&name), &settings)?;
        let choice = chosen.provider.choice();
        ui::error_line(&format!("({} / {})", choice.provider, choice.model));
        self.model = Some(name);
        Ok(())
    }

    async fn prime(&mut self, script: String) -> Result<(), CallError> {
        let (agent_id, thread_id) = (self.agent_id.clone(), self.thread_id.clone());
        let view =
            start_primed(&self.client, agent_id, thread_id, self.cwd.clone(), script).await?;
        self.resumed = None;
        self.target = MessageTarget::Current;
        self.show(&view);
        Ok(())
    }

    async fn queue(&self, rest: &str) -> Result<(), CallError> {
        let Some(session) = self.session_or_remark().await? else { return Ok(()) };
        let waiting = self.client.call(ListQueue { session: session.clone() }).await?.data;
        match rest.split_once(' ').unwrap_or((rest, "")) {
            ("go", _) => {
                self.client.call(TakeNext { session, take_id: new_id() }).await?;
            }
            ("rm", n) => {
                let number = n.trim().parse::<usize>().ok().and_then(|n| n.checked_sub(1));
                let Some(item) = number.and_then(|n| waiting.follow_ups.get(n)) else {
                    self.remark(ScreenText::WhichOne);
                    return Ok(());
                };
                let change = QueueChange::Remove { item_id: item.id.clone(), updated_at: None };
                let (edit_id, queue) = (new_id(), Queue::FollowUp);
                self.client.call(EditQueue { session, edit_id, queue, change }).await?;
            }
            _ if waiting.follow_ups.is_empty() => self.remark(ScreenText::NothingWaits),
            _ => {
                for (n, item) in (1..).zip(&waiting.follow_ups) {
                    ui::error_line(&format!("{n:>3}  {}", item.content));
                }
            }
        }
        Ok(())
    }
}

fn new_id() -> EventId {
    EventId::from_uuid(SystemClock.new_id())
}

fn print_lines(lines: &[Line]) {
    for line in lines {
        ui::error_line(&line.text());
    }
}
