//! Calls about sessions, their events and the long texts of those.

use kith_vocab::event::Event;
use kith_vocab::header::{Priming, SessionHeader};
use kith_vocab::ids::{EventId, SessionId, ThreadId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;
use crate::calls::feed::TurnItem;
use crate::error::ErrorCode;

/// Lists sessions, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListSessions {
    /// Only those of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

call!(Read "list_sessions", ListSessions => SessionList, items ReadProgress);

/// How far the reading of sessions that the index does not know has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadProgress {
    pub sessions: u64,
    /// How many there are to read or to pass over.
    pub total: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionList {
    pub sessions: Vec<SessionRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    pub session_id: SessionId,
    pub thread_id: Option<ThreadId>,
    pub agent_id: Option<String>,
    pub title: Option<String>,
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
    pub events: u64,
    pub leaf: Option<EventId>,
    /// The folder it began in.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The folder of the project it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub state: SessionState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionState {
    Idle,
    Running,
    Waiting,
    ReadOnly,
}

/// Shows a whole session. One whose events do not fit into an answer is read in pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowSession {
    /// A whole id, the beginning or the end of one, or `latest`.
    pub session: String,
}

call!(Read "show_session", ShowSession => SessionView);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    pub header: SessionHeader,
    pub events: Vec<Event>,
    pub leaf: Option<EventId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damaged: Option<DamageView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DamageView {
    pub line: usize,
    pub code: ErrorCode,
}

/// Reads a page of a session's events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadEvents {
    pub session: String,
    /// Only events with a greater sequence number.
    #[serde(default)]
    pub after: u64,
    /// Maximum number of events.
    pub limit: u32,
}

call!(Read "read_events", ReadEvents => EventPage);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventPage {
    pub events: Vec<Event>,
    /// Where the next page begins; absent at the end of the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<u64>,
}

/// Says what a session is and what belongs to it, for someone who wants to remove it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DescribeSession {
    pub session: String,
}

call!(Read "describe_session", DescribeSession => SessionDescription);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDescription {
    pub session_id: SessionId,
    /// Whose it is, if its first line can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub title: Option<String>,
    /// Whether the desk knows it and its file is gone.
    pub is_gone: bool,
    /// Its log and what only it holds.
    pub files: u64,
    pub bytes: u64,
}

/// Builds every request of a session again and compares it with what was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifySession {
    pub session: String,
}

call!(Read "verify_session", VerifySession => Verification, items VerifyProgress);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifyProgress {
    /// How many events were read so far.
    pub events: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    pub events: u64,
    pub requests: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damaged: Option<DamageView>,
    pub mismatches: Vec<MismatchView>,
    /// Requests made by another version of the renderer: neither proven nor disproven.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_renderer: Vec<EventId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MismatchView {
    pub request_id: EventId,
    pub expected: String,
    pub rebuilt: String,
}

/// Goes through a session again: whatever the runtime decided must follow from what came before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplaySession {
    pub session: String,
}

call!(Read "replay_session", ReplaySession => ReplayReport);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayReport {
    pub events: u64,
    /// Events that the runtime decided on: requests, calls, ends of turns, what was taken from a queue.
    pub compared: u64,
    /// Requests made by another version of the renderer: their bytes were not compared.
    pub other_renderer: u64,
    /// The first event that does not follow from those before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<ReplayDifference>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayDifference {
    pub seq: u64,
    pub event_id: EventId,
    pub event_type: String,
    pub what: String,
}

/// Reads a session from its header to its last event, whatever its length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportSession {
    pub session: String,
}

call!(Read "export_session", ExportSession => ExportSummary, items ExportItem);

/// A part of an export: first the header, then each event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExportItem {
    Header { header: SessionHeader, title: Option<String> },
    Event(Event),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportSummary {
    pub session_id: SessionId,
    pub events: u64,
}

/// Finds what was said by its words, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchSessions {
    pub query: String,
    /// Maximum number of results.
    pub limit: u32,
}

call!(Read "search_sessions", SearchSessions => SearchHits, items ReadProgress);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchHits {
    pub hits: Vec<SearchHit>,
}

/// What a text that was found is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HitKind {
    User,
    Agent,
    Summary,
    Title,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    pub session_id: SessionId,
    pub event_id: EventId,
    pub kind: HitKind,
    /// An excerpt.
    pub text: String,
    pub ts: String,
    /// Whether it stands on a branch that the conversation has left.
    #[serde(default)]
    pub is_abandoned: bool,
}

/// Sets a session's title. A generated title never replaces it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RenameSession {
    pub session: String,
    pub title: String,
}

call!(Write "rename_session", RenameSession => RenamedSession);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenamedSession {
    pub session_id: SessionId,
    pub title: String,
}

/// Copies what can be read of a damaged session into a new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RepairSession {
    pub session: String,
}

call!(Write "repair_session", RepairSession => RepairView);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepairView {
    /// The new session.
    pub session_id: SessionId,
    /// How many events were copied.
    pub events: u64,
    /// The first line of the damaged one that cannot be read.
    pub lost_from: DamageView,
}

/// Removes a session for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoveSession {
    pub session: String,
}

call!(Write "remove_session", RemoveSession => RemovedFiles);

/// The files that are gone, as they were called beneath `.kith`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedFiles {
    pub removed: Vec<String>,
}

/// Reads a page of a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadBlob {
    /// 64 hex digits in lower case.
    pub sha256: String,
    /// The first byte of the page.
    #[serde(default)]
    pub offset: u64,
}

call!(Read "read_blob", ReadBlob => BlobPage);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlobPage {
    /// The size of the whole blob.
    pub bytes: u64,
    /// The bytes of the page in base64, with padding. A character may be cut at its end.
    pub data: String,
    /// Where the next page begins; absent at the end of the blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

/// Begins a session, empty or with a history that scripts tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateDialog {
    /// The id the session will have; without it, a new one. A repeated one makes no second session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Whose; without it, the default agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Without it, a new thread of the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Without it, the folder of the house.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priming: Option<Priming>,
}

call!(Write "create_dialog", CreateDialog => CreatedDialog);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedDialog {
    pub session_id: SessionId,
    pub thread_id: ThreadId,
    /// How many events its scripts became.
    pub primed: usize,
}

/// Has a session summarised, so that the model is shown less of it, and waits for the summary. The
/// items are what happens meanwhile. A client that stops it stops a summary that is being made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompactSession {
    pub session: String,
    /// A repeated id makes no second summary.
    pub compact_id: EventId,
    /// The model that writes it, if no turn is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

call!(Write "compact_session", CompactSession => CompactedSession, items TurnItem);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactedSession {
    pub session_id: SessionId,
    /// The event of the summary. A branch to what stands before it undoes it.
    pub compact: EventId,
    /// What the model was shown before and is shown now, in tokens as far as they can be estimated.
    pub tokens_before: u64,
    pub tokens_after: u64,
}
