//! What can be chosen from: sessions, messages, models and scripts, for lists and for completion.

use kith_host::calls::models::{ListModels, ModelRow};
use kith_host::calls::priming::ListScripts;
use kith_host::calls::session::{ListSessions, SessionRow, SessionState};
use kith_host::calls::tree::ShowTree;
use kith_host::client::Client;
use kith_host::error::CallError;
use kith_host::words::{local_zone, short, short_event};
use kith_vocab::ids::SessionId;
use tokio_util::sync::CancellationToken;

use super::conversation::in_thousands;
use super::picker::{PickEntry, PickList};
use super::styled::fitted;
use super::words::{ScreenLanguage, ScreenText};
use crate::program::commands::local_time;
use crate::program::commands::session::list::FolderNames;

/// Columns of a title in a list.
const TITLE_COLUMNS_MAX: usize = 48;

/// Whose lists these are.
pub(crate) struct ListOwner {
    pub(crate) language: ScreenLanguage,
    pub(crate) agent_id: String,
    pub(crate) session: Option<SessionId>,
    /// The model that was chosen in this conversation.
    pub(crate) model: Option<String>,
    pub(crate) folders: FolderNames,
}

impl ListOwner {
    /// The entries of a list; that of the calls is in the conversation.
    pub(crate) async fn entries(
        self,
        client: &Client,
        list: PickList,
    ) -> Result<Vec<PickEntry>, CallError> {
        match list {
            PickList::Sessions => {
                let call = ListSessions { agent_id: Some(self.agent_id.clone()) };
                let listed = client.follow(call, |_| (), CancellationToken::new()).await?;
                let sessions = listed.data.sessions;
                Ok(sessions.iter().map(|row| self.session(row)).collect())
            }
            PickList::Messages => self.messages(client).await,
            PickList::Models => {
                let models = client.call(ListModels {}).await?.data.models;
                Ok(models.iter().map(|row| self.model(row)).collect())
            }
            PickList::Scripts => {
                let call = ListScripts { agent_id: Some(self.agent_id), query: None };
                let scripts = client.call(call).await?.data.scripts;
                // What cannot be read cannot be chosen; `kith prime ls` says why.
                let usable = scripts.into_iter().filter(|row| row.error.is_none());
                let entry = usable.filter_map(|row| {
                    let about = row.title.unwrap_or_default();
                    Some(PickEntry { value: row.script_ref?, about, is_current: false })
                });
                Ok(entry.collect())
            }
            PickList::Calls => Ok(Vec::new()),
        }
    }

    fn session(&self, row: &SessionRow) -> PickEntry {
        let time = row.updated_at.as_ref().and_then(|at| local_time(at, &local_zone()));
        let title = row.title.as_deref().unwrap_or(self.language.say(ScreenText::NoMessages));
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let state = match row.state {
            SessionState::Idle => String::new(),
            SessionState::Running => format!(" · {}", self.language.say(ScreenText::IsRunning)),
            SessionState::Waiting => format!(" · {}", self.language.say(ScreenText::IsWaiting)),
            SessionState::ReadOnly => format!(" · {}", self.language.say(ScreenText::IsReadOnly)),
        };
        PickEntry {
            value: short(row.session_id),
            // What tells sessions apart stands first, where a narrow terminal has room.
            about: [
                format!("{}{state}", fitted(&title, TITLE_COLUMNS_MAX)),
                self.folders.place(row),
                time.unwrap_or_else(|| "-".to_owned()),
            ]
            .join(" · "),
            is_current: self.session == Some(row.session_id),
        }
    }

    /// What was said in the conversation, newest first.
    async fn messages(&self, client: &Client) -> Result<Vec<PickEntry>, CallError> {
        let Some(session) = self.session else { return Ok(Vec::new()) };
        let tree = client.call(ShowTree { session: session.to_string() }).await?.data;
        let said = tree.nodes.iter().filter(|node| node.on_path && node.kind == "user_message");
        let entry = |node: &kith_host::calls::tree::TreeNode| PickEntry {
            value: short_event(node.event_id),
            about: node.text.split_whitespace().collect::<Vec<_>>().join(" "),
            is_current: false,
        };
        let mut entries: Vec<PickEntry> = said.map(entry).collect();
        entries.reverse();
        Ok(entries)
    }

    fn model(&self, row: &ModelRow) -> PickEntry {
        let mut parts = vec![row.model.clone()];
        parts.extend(row.server.clone());
        parts.extend(row.context_window.map(|tokens| {
            format!("{} {}", in_thousands(tokens), self.language.say(ScreenText::Tokens))
        }));
        if let Some(variable) = row.key_variable.as_ref().filter(|_| !row.has_key) {
            parts.push(format!("{variable} {}", self.language.say(ScreenText::NotSet)));
        }
        let is_current = match &self.model {
            Some(name) => *name == row.name,
            None => row.used,
        };
        PickEntry { value: row.name.clone(), about: parts.join(" · "), is_current }
    }
}
