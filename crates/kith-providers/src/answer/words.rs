//! Answers in words, for the tests of every wire.

use std::fmt::Write as _;
use std::sync::Mutex;

use kith_vocab::block::Thinking;
use kith_vocab::event::messages::Usage;
use kith_vocab::event::models::Wire;
use kith_vocab::provider::{AnswerBlock, Delta, DeltaSink, FailureCause};
use kith_vocab::secret::filter::SecretFilter;

use super::{Accumulator, PartialAnswer};
use crate::fault::Fault;

/// The answer that comes of the data of these events, in words.
pub(crate) fn in_words(wire: Wire, events: &[&str]) -> String {
    let mut answer = Accumulator::of(wire);
    for event in events {
        if let Err(fault) = answer.feed(event, &Seen::default()) {
            return fault_in_words(fault, answer.into_partial());
        }
    }
    let answer = match answer.finish() {
        Ok(answer) => answer,
        Err(unfinished) => return fault_in_words(unfinished.0, unfinished.1),
    };
    let mut words = String::new();
    for block in &answer.content {
        match block {
            AnswerBlock::Text(text) => write!(words, "text: {text} | "),
            AnswerBlock::Thinking(thinking) => {
                let Thinking { text, signature, redacted } = thinking;
                let marks =
                    [signature, redacted].map(|it| it.as_ref().map(|it| format!(" [{it}]")));
                let marks: String = marks.into_iter().flatten().collect();
                write!(words, "thinking: {text}{marks} | ")
            }
            AnswerBlock::Call { provider_call_id, tool, arguments } => {
                write!(words, "call {provider_call_id}: {tool} {arguments} | ")
            }
        }
        .unwrap();
    }
    write!(words, "{:?}", answer.stop_reason).unwrap();
    words + &usage_in_words(answer.usage)
}

fn usage_in_words(usage: Option<Usage>) -> String {
    let Some(Usage { input, output, cache_read, cache_write, .. }) = usage else {
        return String::new();
    };
    let written = if cache_write > 0 { format!("+{cache_write}") } else { String::new() };
    format!(" | {input}+{cache_read}{written} in, {output} out")
}

fn fault_in_words(fault: Fault, partial: PartialAnswer) -> String {
    let unfinished = fault.into_failure("p", &SecretFilter::default(), partial);
    let FailureCause::Failed { kind, message, retryable, .. } = unfinished.cause else { panic!() };
    let retryable = if retryable { ", retryable" } else { "" };
    let message = message.strip_prefix("`p` ").unwrap();
    let usage = usage_in_words(unfinished.usage);
    format!("{kind:?} after `{}`{retryable}: {message}{usage}", unfinished.partial_text)
}

/// A sink that writes down what it is told.
#[derive(Default)]
pub(crate) struct Seen(Mutex<Vec<String>>);

impl Seen {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl DeltaSink for Seen {
    fn delta(&self, delta: Delta<'_>) {
        self.0.lock().unwrap().push(format!("{} {:?}", delta.block, delta.part));
    }
}
