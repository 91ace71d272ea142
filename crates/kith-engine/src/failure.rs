//! Why a session could not go on.

use kith_sessions::storage::StorageError;

/// The failure of a session's driver, sent to everyone who waits for the session or follows it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionFailure {
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The agent's files or settings do not allow the session to begin or go on.
    #[error("cannot set up the session: {reason}")]
    Setup { reason: String },
    #[error("cannot build the request to the model: {reason}")]
    Render { reason: String },
    /// What is to be answered names models that cannot be asked from here. It is left as it is until
    /// its session is spoken to or retried.
    #[error("{reason}")]
    ModelUnavailable { reason: String },
    #[error("the session's next step is {step}, which is not supported yet")]
    NotBuilt { step: &'static str },
    #[error("the session took more than {max} steps without finishing")]
    TooManySteps { max: usize },
    #[error("this is a bug in kith: the session's driver panicked")]
    Panicked,
}
