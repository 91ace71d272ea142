//! A block that stands above the input while it is open, takes the keys, and ends with a choice.
//!
//! Another kind of block is another variant: it says what a key does ([`OpenBlock::take`]) and which
//! rows it has ([`OpenBlock::rows`]); what a choice means is decided in `TerminalChat::block_key`.

use super::keys::TerminalInput;
use super::live_area::LiveRows;
use super::picker::{PickList, Picker};

pub(crate) enum OpenBlock {
    Picker(Picker),
}

/// What a key did to the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlockStep {
    Stays,
    /// Nothing was chosen.
    Closed,
    /// An entry of a list was chosen.
    Picked(PickList, String),
}

impl OpenBlock {
    pub(crate) fn take(&mut self, input: &TerminalInput) -> BlockStep {
        match self {
            OpenBlock::Picker(picker) => picker.take(input),
        }
    }

    /// The rows that stand in the place of the input, and the cursor in them.
    pub(crate) fn rows(&self, columns: usize, rows_max: usize) -> LiveRows {
        match self {
            OpenBlock::Picker(picker) => picker.rows(columns, rows_max),
        }
    }
}
