//! What a command asks for, and who answers.
//!
//! Every command speaks these requests to a [`Client`] and prints what comes back. Whether the
//! answer comes from an engine in this process or from a host elsewhere is not its business, so
//! there is one code path and one set of forms.

pub(crate) mod dialog;

use dialog::{CreateDialog, Created};
use kith_engine::session::Watcher;
use kith_vocab::clock::BoxFuture;
use kith_vocab::event::messages::{StopReason, Usage};
use kith_vocab::event::{Event, EventRecord};
use kith_vocab::header::{Audience, SessionHeader};
use kith_vocab::ids::{EventId, LeafId, SessionId, ThreadId};
use kith_vocab::snapshot::InstructionSnapshot;
use serde::{Deserialize, Deserializer, Serialize};
use tokio_util::sync::CancellationToken;

use crate::report::Report;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Request {
    SendMessage(SendMessage),
    CreateDialog(CreateDialog),
    ListSessions {},
    ShowSession {
        session: String,
    },
    VerifySession {
        session: String,
    },
    GetPrompt {
        agent_id: Option<String>,
        audience: Audience,
        cwd: String,
    },
    RenameSession {
        session: String,
        title: String,
    },
    RepairSession {
        session: String,
    },
    SearchSessions {
        query: String,
        limit: u32,
    },
    RemoveSession {
        session: String,
    },
    ShowTree {
        session: String,
    },
    BranchSession {
        session: String,
        to: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected_leaf: Option<LeafId>,
        /// A repeated id gets the first answer again.
        branch_id: EventId,
    },
    CloneSession {
        session: String,
        at: Option<String>,
        /// The session to be made. A repeated id gets the first answer again.
        clone_id: SessionId,
    },
    WorkOnThreads {
        agent_id: Option<String>,
        thread: Option<String>,
        work: ThreadWork,
    },
    ListRepositories {},
    TrustRepository {
        path: String,
    },
    DistrustRepository {
        path: String,
    },
}

/// What is done to thread files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ThreadWork {
    Rebuild,
    Compact,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SendMessage {
    /// A repeated id gets the first answer again.
    pub(crate) client_message_id: String,
    pub(crate) text: String,
    /// Whom it is for; with a session, only if the person said so: a session is somebody's.
    pub(crate) agent_id: Option<String>,
    pub(crate) thread_id: ThreadId,
    pub(crate) place: Place,
    pub(crate) cwd: String,
    pub(crate) model: Option<String>,
    /// The model that would be asked here. A host that was set up for another one refuses: what
    /// is said goes only where its author thinks it goes.
    pub(crate) expects: ModelName,
    /// It is said only if the conversation ends there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expected_leaf: Option<LeafId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ModelName {
    pub(crate) provider: String,
    pub(crate) model: String,
    /// Where it is asked, if that is elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
}

impl Request {
    /// The word it has in the protocol.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Request::SendMessage(_) => "send_message",
            Request::CreateDialog(_) => "create_dialog",
            Request::ListSessions {} => "list_sessions",
            Request::ShowSession { .. } => "show_session",
            Request::VerifySession { .. } => "verify_session",
            Request::GetPrompt { .. } => "get_prompt",
            Request::RenameSession { .. } => "rename_session",
            Request::RepairSession { .. } => "repair_session",
            Request::SearchSessions { .. } => "search_sessions",
            Request::RemoveSession { .. } => "remove_session",
            Request::ShowTree { .. } => "show_tree",
            Request::BranchSession { .. } => "branch_session",
            Request::CloneSession { .. } => "clone_session",
            Request::WorkOnThreads { .. } => "work_on_threads",
            Request::ListRepositories {} => "list_repositories",
            Request::TrustRepository { .. } => "trust_repository",
            Request::DistrustRepository { .. } => "distrust_repository",
        }
    }
}

/// Which session of the thread a message goes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Place {
    Current,
    New,
    Session(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Answer {
    Message(Told<MessageAnswer>, Outcome),
    Created(Told<Created>),
    Sessions(Told<SessionList>),
    Session(Told<Box<SessionView>>),
    Verification(Told<Verification>),
    Prompt(Told<PromptView>),
    Renamed(Told<Renamed>),
    Repaired(Told<RepairView>),
    Found(Told<Found>),
    Removed(Told<Removed>),
    Tree(Told<TreeView>),
    Branched(Told<TreePlace>),
    Cloned(Told<TreePlace>),
    ThreadsMade(Told<ThreadsMade>),
    Repositories(Told<RepositoryList>),
    Trusted(Told<TrustedView>),
}

/// What was said that holds the words, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Hit {
    pub(crate) session_id: SessionId,
    pub(crate) event_id: EventId,
    /// An excerpt.
    pub(crate) text: String,
    pub(crate) ts: String,
}

/// The files that are gone, as they were called beneath `.kith`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Removed {
    pub(crate) removed: Vec<String>,
}

/// The form that programs rely on, and what a person should know besides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Told<T> {
    pub(crate) form: T,
    pub(crate) notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageAnswer {
    pub(crate) session_id: SessionId,
    pub(crate) thread_id: ThreadId,
    pub(crate) leaf: Option<EventId>,
    pub(crate) text: String,
    pub(crate) usage: Usage,
    pub(crate) stop_reason: Option<StopReason>,
    pub(crate) pending_approvals: Vec<String>,
}

/// How the turn ended, for the exit code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Outcome {
    Answered,
    Cancelled,
    /// At one of its limits.
    Stopped(String),
    Failed(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionList {
    pub(crate) sessions: Vec<SessionRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionRow {
    pub(crate) session_id: SessionId,
    pub(crate) thread_id: Option<ThreadId>,
    pub(crate) agent_id: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) created_at: Option<String>,
    pub(crate) updated_at: Option<String>,
    pub(crate) events: u64,
    pub(crate) leaf: Option<EventId>,
    pub(crate) state: SessionState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum SessionState {
    Idle,
    Running,
    Waiting,
    ReadOnly,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionView {
    pub(crate) header: SessionHeader,
    #[serde(deserialize_with = "events")]
    pub(crate) events: Vec<Event>,
    pub(crate) leaf: Option<EventId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) damaged: Option<DamageView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DamageView {
    pub(crate) line: usize,
    pub(crate) code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Verification {
    pub(crate) events: u64,
    pub(crate) requests: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) damaged: Option<DamageView>,
    pub(crate) mismatches: Vec<MismatchView>,
    /// Requests made by another version of the renderer: neither proven nor disproven.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) other_renderer: Vec<EventId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MismatchView {
    pub(crate) request_id: EventId,
    pub(crate) expected: String,
    pub(crate) rebuilt: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptView {
    pub(crate) system_prompt: String,
    pub(crate) snapshot: InstructionSnapshot,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Renamed {
    pub(crate) session_id: SessionId,
    pub(crate) title: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RepairView {
    /// The new session.
    pub(crate) session_id: SessionId,
    /// How many events were copied.
    pub(crate) events: u64,
    /// Where the damaged one can no longer be read.
    pub(crate) lost_from: DamageView,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TreeView {
    pub(crate) session_id: SessionId,
    pub(crate) leaf: Option<EventId>,
    /// In the order of the log.
    pub(crate) nodes: Vec<TreeNode>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TreeNode {
    pub(crate) event_id: EventId,
    pub(crate) parent_id: Option<EventId>,
    /// The type of the event.
    pub(crate) kind: String,
    /// How it begins.
    pub(crate) text: String,
    pub(crate) ts: String,
    pub(crate) on_path: bool,
}

/// Where a session goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TreePlace {
    pub(crate) session_id: SessionId,
    pub(crate) leaf: Option<EventId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ThreadList {
    pub(crate) threads: Vec<ThreadRowView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadRowView {
    pub(crate) thread_id: ThreadId,
    pub(crate) audience: Audience,
    /// The one that the next message goes to.
    pub(crate) session_id: SessionId,
    pub(crate) title: Option<String>,
    pub(crate) updated_at: Option<String>,
    pub(crate) pending_approvals: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ThreadsMade {
    pub(crate) threads: u64,
    pub(crate) messages: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RepositoryList {
    pub(crate) repositories: Vec<RepositoryRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RepositoryRow {
    pub(crate) path: String,
    pub(crate) trusted_at: String,
}

/// What was trusted, or no longer is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TrustedView {
    pub(crate) path: String,
}

pub(crate) trait Client: Send + Sync {
    fn call<'a>(
        &'a self,
        request: Request,
        screen: &'a dyn Watcher,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Answer, Report>>;
}

fn events<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Event>, D::Error> {
    let records = Vec::<EventRecord<'static>>::deserialize(deserializer)?;
    Ok(records.into_iter().map(|record| record.event.into_owned()).collect())
}

#[cfg(test)]
mod tests;
