//! The reason why there is no answer, in one sentence.
//!
//! The sentence goes into the log and before people, so what a server said is quoted short,
//! without control characters and never with the key.

use kith_vocab::event::models::FailureKind;
use kith_vocab::invisible::is_deceptive;
use kith_vocab::provider::{AnswerFailure, FailureCause};
use kith_vocab::secret::filter::SecretFilter;

use crate::answer::PartialAnswer;

/// Characters of a server's message that are quoted.
pub(crate) const QUOTE_CHARS_MAX: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    kind: FailureKind,
    /// The rest of a sentence that begins with the provider's name.
    what: String,
    said: String,
    retryable: bool,
    retry_after_ms: Option<u64>,
}

impl Fault {
    pub(crate) fn new(kind: FailureKind, what: impl Into<String>) -> Fault {
        let (said, retryable, retry_after_ms) = (String::new(), false, None);
        Fault { kind, what: what.into(), said, retryable, retry_after_ms }
    }

    /// The same request may succeed later.
    pub(crate) fn retryable(mut self) -> Fault {
        self.retryable = true;
        self
    }

    /// A server on this machine that may be loading its model is waited for with patience.
    pub(crate) fn of_loading(mut self) -> Fault {
        self.kind = FailureKind::Loading;
        self.what.push_str("; a server on this machine is waited for up to a minute");
        self
    }

    pub(crate) fn retry_after_ms(mut self, retry_after_ms: Option<u64>) -> Fault {
        self.retry_after_ms = retry_after_ms;
        self
    }

    /// Adds the server's own words.
    pub(crate) fn said(mut self, words: &str) -> Fault {
        words.clone_into(&mut self.said);
        self
    }

    pub(crate) fn into_failure(
        self,
        provider: &str,
        secrets: &SecretFilter,
        partial: PartialAnswer,
    ) -> AnswerFailure {
        let mut message = format!("`{provider}` {}", self.what);
        let said = quote(&self.said, secrets);
        if !said.is_empty() {
            message.push_str("; it said: ");
            message.push_str(&said);
        }
        let cause = FailureCause::Failed {
            kind: self.kind,
            message,
            retryable: self.retryable,
            retry_after_ms: self.retry_after_ms,
        };
        let PartialAnswer { text: partial_text, usage } = partial;
        AnswerFailure { cause, partial_text, usage }
    }
}

/// A stream that is not the protocol. Another try may give a better one.
pub(crate) fn not_json() -> Fault {
    Fault::new(FailureKind::Malformed, "sent an event that is not valid JSON for this API")
        .retryable()
}

/// Whether a vendor's words are about a conversation that is too long for the model.
pub(crate) fn is_about_length(words: &str) -> bool {
    const PHRASES: [&str; 13] = [
        "context length",
        "context_length",
        "context window",
        "context size",
        "context_size",
        "context limit",
        "maximum context",
        "available context",
        "too many tokens",
        "prompt is too long",
        "input is too long",
        "reduce the length",
        "request_too_large",
    ];
    let words = words.to_lowercase();
    PHRASES.iter().any(|phrase| words.contains(phrase))
}

fn quote(words: &str, secrets: &SecretFilter) -> String {
    let visible: String = words
        .chars()
        .map(|ch| if ch.is_whitespace() { ' ' } else { ch })
        .filter(|ch| !is_deceptive(*ch))
        .collect();
    // Before cutting: a cut could leave half of the key, which no search would find.
    let visible = secrets.filtered(&visible);
    let visible = visible.trim();
    match visible.char_indices().nth(QUOTE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &visible[..end]),
        None => visible.to_owned(),
    }
}
