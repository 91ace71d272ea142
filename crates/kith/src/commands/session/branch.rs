//! `kith session branch` and `kith session clone`: continue from an earlier point.

use std::process::ExitCode;

use kith_host::calls::tree::{BranchSession, CloneSession};
use kith_host::clock::SystemClock;
use kith_host::error::CallError;
use kith_host::words::{place_in_words, short};
use kith_vocab::clock::Clock;
use kith_vocab::ids::{EventId, LeafId, SessionId};

use super::super::{call, print_form, print_notes};
use crate::program::args::{GlobalArgs, SessionBranch, SessionClone, leaf_of};
use crate::program::ui;

pub(super) async fn run(shared: &GlobalArgs, args: SessionBranch) -> Result<ExitCode, CallError> {
    // Refused before the house is touched.
    let expected_leaf = leaf_of(args.expected_leaf.as_deref())?;
    let branch_id = EventId::from_uuid(SystemClock.new_id());
    let branch = BranchSession { session: args.session, to: args.to, expected_leaf, branch_id };
    let told = call(shared, branch).await?;
    if shared.json {
        print_form(true, &told.data);
    } else {
        let session = short(told.data.session_id);
        let place = place_in_words(LeafId::from(told.data.leaf));
        ui::line(&format!("session {session} now continues {place}"));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn run_clone(
    shared: &GlobalArgs,
    args: SessionClone,
) -> Result<ExitCode, CallError> {
    let clone_id = SessionId::from_uuid(SystemClock.new_id());
    let clone = CloneSession { session: args.session, at: args.at, clone_id };
    let told = call(shared, clone).await?;
    if shared.json {
        print_form(true, &told.data);
    } else {
        let session = short(told.data.session_id);
        let place = place_in_words(LeafId::from(told.data.leaf));
        ui::line(&format!("created session {session}, which continues {place}"));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
