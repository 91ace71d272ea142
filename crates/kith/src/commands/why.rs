//! `kith why`: the request that a model was sent, with the source of each byte.

use std::process::ExitCode;

use kith_host::calls::why::{
    CauseView, ChangeView, ExplainRequest, PartChangeView, RequestExplanation, RequestProof,
    SourceView,
};
use kith_host::error::CallError;
use kith_host::words::short;
use kith_vocab::event::models::Purpose;
use kith_vocab::ids::EventId;

use super::session_name::named_session;
use super::{CommandResult, call, print_answer, print_notes};
use crate::program::args::GlobalArgs;
use crate::program::ui;

pub(crate) async fn run(
    shared: &GlobalArgs,
    place: Option<String>,
    with_body: bool,
) -> CommandResult {
    let (session, turn) = place_of(place)?;
    let session = named_session(shared, session).await?;
    let told = call(shared, ExplainRequest { session, turn, request: None, with_body }).await?;
    if let Some(body) = told.data.body.as_ref().filter(|_| !shared.json) {
        ui::document(body);
        print_notes(&told.notes);
        return Ok(ExitCode::SUCCESS);
    }
    Ok(print_answer(shared, &told, |found| ui::lines(lines(found))))
}

/// The named session and turn.
fn place_of(place: Option<String>) -> Result<(Option<String>, Option<u32>), CallError> {
    let Some(place) = place else { return Ok((None, None)) };
    let (session, turn) = match place.split_once('@') {
        Some((session, turn)) => (session, Some(turn)),
        None => (place.as_str(), None),
    };
    let turn = turn.map(|turn| {
        turn.parse().ok().filter(|turn| *turn > 0).ok_or_else(|| {
            CallError::usage(format!("`{turn}` is not the number of a turn"))
                .hint("count from 1, for example `kith why latest@3`")
        })
    });
    let session = Some(session.to_owned()).filter(|session| !session.is_empty());
    Ok((session, turn.transpose()?))
}

/// The explanation as people read it.
pub(crate) fn lines(found: &RequestExplanation) -> Vec<String> {
    let mut lines = Vec::new();
    let what = match found.purpose {
        Purpose::Turn => "request",
        Purpose::Compact => "request for a summary",
    };
    lines.push(format!(
        "session {}, turn {}: {what} {} to {}/{}",
        short(found.session_id),
        found.turn,
        short_event(found.request_id),
        found.provider,
        found.model
    ));
    let proof = match found.proof {
        RequestProof::Same => "rebuilt from the log byte for byte",
        RequestProof::Different => "NOT what the log's hash says was sent",
        RequestProof::OtherRenderer => "made by another version of kith; not compared",
        RequestProof::BlobLost => "an image or file that was sent is gone",
    };
    lines.push(format!("body: {} bytes, {proof}", found.body_bytes));
    if let Some(usage) = &found.usage {
        let cached = match usage.cache_read {
            0 => String::new(),
            cached => format!(" and {cached} from the cache"),
        };
        let cost = usage
            .cost_micros
            .map(|micros| format!(", {}.{:06} USD", micros / 1_000_000, micros % 1_000_000));
        lines.push(format!(
            "tokens: {} read{cached}, {} written{}",
            usage.input.saturating_add(usage.cache_write),
            usage.output,
            cost.unwrap_or_default()
        ));
    }
    if let Some(change) = &found.change {
        lines.push(change_in_words(change, found.body_bytes));
    }
    let mut at = 0;
    let mut n_form = 0;
    for span in &found.spans {
        n_form += span.start.saturating_sub(at);
        at = span.end;
        let n = span.end - span.start;
        lines.push(format!("{:>9} {n:>8}  {}", span.start, source_in_words(&span.source)));
    }
    n_form += found.body_bytes.saturating_sub(at);
    lines.push(format!("{:>9} {n_form:>8}  the form of the request", "between"));
    lines
}

fn change_in_words(change: &ChangeView, body_bytes: u64) -> String {
    let share = change.stable_bytes * 100 / body_bytes.max(1);
    let first = match &change.first {
        None => String::new(),
        Some(PartChangeView::Added { source }) => {
            format!("; first new part: {}", source_in_words(source))
        }
        Some(PartChangeView::Removed { source }) => {
            format!("; first part that is gone: {}", source_in_words(source))
        }
        Some(PartChangeView::Replaced { before, now }) => format!(
            "; first change: {} where {} stood",
            source_in_words(now),
            source_in_words(before)
        ),
    };
    let cause = match change.cause {
        CauseView::Continued => "the conversation went on",
        CauseView::Branched => "the conversation moved to another branch",
        CauseView::Compacted => "the conversation was summarised",
        CauseView::OtherModel => "another model was asked",
        CauseView::OtherPurpose => "one of them asks for a summary",
        CauseView::Unexplained => "nothing in the log explains it",
    };
    format!(
        "since request {}: {} bytes ({share} %) unchanged; {cause}{first}",
        short_event(change.request_before),
        change.stable_bytes
    )
}

fn source_in_words(source: &SourceView) -> String {
    match source {
        SourceView::Section { name, files } if files.is_empty() => format!("section {name}"),
        SourceView::Section { name, files } => format!("section {name}: {}", files.join(", ")),
        SourceView::Tool { name } => format!("tool {name}"),
        SourceView::Event { id, event_type } => format!("{event_type} {}", short_event(*id)),
        SourceView::Runtime => "fixed text of the runtime".to_owned(),
    }
}

/// The end of an id: ids differ there.
fn short_event(id: EventId) -> String {
    let id = id.to_string();
    id[id.len().saturating_sub(8)..].to_owned()
}
