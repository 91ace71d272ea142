//! Identical calls in a row.

use kith_vocab::block::ToolCall;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Repeats {
    tool: String,
    input: String,
    times: u32,
}

impl Repeats {
    pub(super) fn n_in_a_row(&self) -> u32 {
        self.times
    }

    pub(super) fn count(&mut self, call: &ToolCall) {
        let input = call.raw_input.as_deref().unwrap_or(call.input.as_str());
        if self.times > 0 && self.tool == call.tool && self.input == input {
            self.times += 1;
        } else {
            *self = Repeats { tool: call.tool.clone(), input: input.to_owned(), times: 1 };
        }
    }
}
