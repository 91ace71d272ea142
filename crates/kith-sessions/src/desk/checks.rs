//! Checks that every desk makes before it takes something.

use kith_vocab::digest::{is_sha256_hex, sha256_hex};
use kith_vocab::event::models::ModelRef;
use kith_vocab::ids::SessionId;
use kith_vocab::ingress::{
    ATTACHMENTS_MAX, INGRESS_KEY_BYTES_MAX, IngressContent, IngressEvent, MESSAGE_BYTES_MAX,
};

use super::{CommandTime, OPEN_ROW_BYTES_MAX, OPEN_ROWS_MAX, Repository, TaintedContent};
use crate::storage::{StorageError, StorageErrorKind};

/// Names, ids and paths around a message: no platform has any of this length.
pub const ENVELOPE_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of models of a message: the chosen one and its fallbacks.
pub const MESSAGE_MODELS_MAX: usize = 32;
/// Maximum number of trusted repositories.
pub const REPOSITORIES_MAX: u64 = 10_000;
/// Maximum number of standing approvals.
pub const GRANTS_MAX: u64 = 1_000;
/// Maximum number of contents that are remembered as untrusted.
pub const TAINTED_CONTENTS_MAX: u64 = 100_000;
/// Maximum number of times at which commands ran that may have written untrusted text.
pub const COMMAND_TIMES_MAX: u64 = 10_000;
/// The longest path on any supported system.
const PATH_BYTES_MAX: usize = 4096;

/// The open rows of a session before another message is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitingRows {
    pub(super) n_rows: usize,
    pub(super) bytes: u64,
}

/// Refuses a message that is too long to be kept.
pub(super) fn check_message(event: &IngressEvent) -> Result<(), StorageError> {
    let key_bytes = event.key.len();
    if key_bytes == 0 || key_bytes > INGRESS_KEY_BYTES_MAX {
        let message = format!(
            "the message's key has {key_bytes} bytes; it must have 1 to {INGRESS_KEY_BYTES_MAX}"
        );
        return Err(StorageError::new(StorageErrorKind::Refused, message));
    }
    let bytes = content_bytes(event);
    if bytes > MESSAGE_BYTES_MAX as u64 {
        return Err(limit(format!(
            "the message has {bytes} bytes, and the maximum is {MESSAGE_BYTES_MAX}; send it as a \
             file"
        )));
    }
    let IngressContent::Text { attachments, .. } = &event.content;
    if attachments.len() > ATTACHMENTS_MAX {
        return Err(limit(format!(
            "the message has {} attachments, and the maximum is {ATTACHMENTS_MAX}",
            attachments.len()
        )));
    }
    let envelope = [
        &event.agent_id,
        &event.client_id,
        &event.author.user_id,
        &event.author.display_name,
        &event.ingress.platform,
        &event.ingress.account,
        &event.ingress.message_id,
        &event.ingress.correlation_id,
        &event.cwd,
    ];
    if event.models.len() > MESSAGE_MODELS_MAX {
        return Err(limit(format!(
            "the message names {} models, and the maximum is {MESSAGE_MODELS_MAX}",
            event.models.len()
        )));
    }
    let names =
        |it: &ModelRef| [it.name.len(), it.provider.len(), it.model.len(), it.endpoint.len()];
    let models = event.models.iter().flat_map(names);
    let of_files =
        attachments.iter().flat_map(|it| [&it.media_type, &it.blob].into_iter().chain(&it.name));
    let texts = envelope.into_iter().chain(&event.language).chain(of_files).map(String::len);
    let bytes: usize = texts.chain(models).sum();
    if bytes > ENVELOPE_BYTES_MAX {
        return Err(limit(format!(
            "the names around the message have {bytes} bytes, and the maximum is \
             {ENVELOPE_BYTES_MAX}"
        )));
    }
    Ok(())
}

/// Refuses a message for a session for which too much waits already.
pub(super) fn check_waiting(
    session: SessionId,
    waiting: WaitingRows,
    event: &IngressEvent,
) -> Result<(), StorageError> {
    if waiting.n_rows >= OPEN_ROWS_MAX {
        let message =
            format!("{OPEN_ROWS_MAX} messages are already waiting for session `{session}`");
        return Err(limit(message));
    }
    if waiting.bytes + content_bytes(event) > OPEN_ROW_BYTES_MAX {
        let message = format!(
            "messages of {} bytes are already waiting for session `{session}`, and the maximum is \
             {OPEN_ROW_BYTES_MAX}",
            waiting.bytes
        );
        return Err(limit(message));
    }
    Ok(())
}

/// Refuses a key that stands for another message. A row that was entered from a log has no digest
/// and stands for whatever has its key.
pub(super) fn check_digest(event: &IngressEvent, stored: &str) -> Result<(), StorageError> {
    if stored.is_empty() || stored == digest(event) {
        return Ok(());
    }
    let message = format!("`{}` was already used for a different message", event.key);
    Err(StorageError::new(StorageErrorKind::Conflict, message))
}

/// Tells messages under one key apart: the SHA-256 of agent, thread and content.
pub(super) fn digest(event: &IngressEvent) -> String {
    let IngressEvent { agent_id, thread_id, content, .. } = event;
    // Texts are always JSON.
    let bytes = serde_json::to_vec(&(agent_id, thread_id, content)).unwrap_or_default();
    sha256_hex(&bytes)
}

pub(super) fn content_bytes(event: &IngressEvent) -> u64 {
    let IngressContent::Text { text, .. } = &event.content;
    text.len() as u64
}

pub(super) fn check_repository(repository: &Repository) -> Result<(), StorageError> {
    let bytes = repository.path.len() + repository.mark.len();
    if bytes > PATH_BYTES_MAX {
        let message = format!(
            "the path of the repository has {bytes} bytes, and the maximum is {PATH_BYTES_MAX}"
        );
        return Err(limit(message));
    }
    Ok(())
}

/// Refuses one more standing approval.
pub(super) fn too_many_grants() -> StorageError {
    limit(format!("there are {GRANTS_MAX} standing approvals already; revoke some"))
}

pub(super) fn too_many_repositories() -> StorageError {
    limit(format!(
        "{REPOSITORIES_MAX} repositories are already trusted; remove one with `kith trust rm` \
         first"
    ))
}

pub(super) fn check_tainted(content: &TaintedContent) -> Result<(), StorageError> {
    if is_sha256_hex(&content.sha256) {
        return Ok(());
    }
    let message = "a content must be named by its SHA-256".to_owned();
    Err(StorageError::new(StorageErrorKind::Refused, message))
}

pub(super) fn too_many_tainted() -> StorageError {
    limit(format!(
        "{TAINTED_CONTENTS_MAX} files are already remembered as written under the influence of \
         untrusted text; go on in a new session (`/new`), which writes without that"
    ))
}

pub(super) fn check_command(time: &CommandTime) -> Result<(), StorageError> {
    if time.root.starts_with('/') && time.root.len() <= PATH_BYTES_MAX {
        return Ok(());
    }
    let message = "the folder of a command must be an absolute path".to_owned();
    Err(StorageError::new(StorageErrorKind::Refused, message))
}

pub(super) fn too_many_commands() -> StorageError {
    limit(format!(
        "commands that may have written untrusted text are noted for {COMMAND_TIMES_MAX} times \
         already; work on in a folder that has been used before"
    ))
}

fn limit(message: String) -> StorageError {
    StorageError::new(StorageErrorKind::LimitReached, message)
}
