//! `kith session branch` and `kith session clone`: going on from an earlier place.

use std::process::ExitCode;

use kith_vocab::clock::Clock;
use kith_vocab::ids::{EventId, LeafId, SessionId};

use super::super::{print_form, print_notes, unexpected, write};
use crate::args::{SessionBranch, SessionClone, Shared, leaf_of};
use crate::client::{Answer, Request};
use crate::clock::SystemClock;
use crate::host::tree::place_in_words;
use crate::reading::short;
use crate::report::Report;
use crate::ui;

pub(super) async fn run(shared: &Shared, args: SessionBranch) -> Result<ExitCode, Report> {
    // Refused before the house is touched.
    let expected_leaf = leaf_of(args.expected_leaf.as_deref())?;
    let branch_id = EventId::from_uuid(SystemClock.new_id());
    let request =
        Request::BranchSession { session: args.session, to: args.to, expected_leaf, branch_id };
    let Answer::Branched(told) = write(shared, request).await? else { return Err(unexpected()) };
    if shared.json {
        print_form(true, &told.form);
    } else {
        let session = short(told.form.session_id);
        let place = place_in_words(LeafId::from(told.form.leaf));
        ui::line(&format!("session {session} goes on {place}"));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn run_clone(shared: &Shared, args: SessionClone) -> Result<ExitCode, Report> {
    let clone_id = SessionId::from_uuid(SystemClock.new_id());
    let request = Request::CloneSession { session: args.session, at: args.at, clone_id };
    let Answer::Cloned(told) = write(shared, request).await? else { return Err(unexpected()) };
    if shared.json {
        print_form(true, &told.form);
    } else {
        let session = short(told.form.session_id);
        let place = place_in_words(LeafId::from(told.form.leaf));
        ui::line(&format!("session {session} is new and goes on {place}"));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
