//! What a model was sent, and from where each byte came.

use std::sync::Arc;

use kith_engine::verify::blobs_of;
use kith_engine::why::{
    ChangeCause, PartChange, PartSource, Proof, RequestChange, RequestExplainer, RequestFinder,
    WantedRequest,
};
use kith_vocab::event::Event;
use kith_vocab::json::Json;

use super::ReadSide;
use crate::call::{Reply, Response};
use crate::calls::why::{
    CauseView, ChangeView, ExplainRequest, PartChangeView, RequestExplanation, RequestProof,
    SourceView, SpanView,
};
use crate::error::{CallError, ErrorCode};
use crate::words::short;

pub async fn explain_request(
    side: Arc<ReadSide>,
    call: ExplainRequest,
) -> Reply<RequestExplanation> {
    let session_id = side.resolve(&call.session).await?;
    let wanted = match (call.request, call.turn) {
        (Some(request), _) => WantedRequest::Id(request),
        (None, Some(turn)) => WantedRequest::OfTurn(turn),
        (None, None) => WantedRequest::Last,
    };
    let mut finder = RequestFinder::new(wanted);
    side.each(session_id, &mut |event: Event| finder.read(&event)).await?;
    let Some(wanted) = finder.found() else {
        let (id, n_turns) = (short(session_id), finder.n_turns());
        let message = match wanted {
            WantedRequest::Id(request) => format!("session {id} has no request `{request}`"),
            WantedRequest::OfTurn(turn) => format!("turn {turn} of session {id} asked no model"),
            WantedRequest::Last => format!("no model was asked in session {id}"),
        };
        return Err(CallError::invalid(message).hint(format!("the session has {n_turns} turns")));
    };
    let mut explainer = RequestExplainer::new(wanted, blobs_of(Arc::clone(&side.journal)));
    let mut refused = None;
    let each = &mut |event: Event| {
        if refused.is_none() {
            refused = explainer.read(&event).err();
        }
    };
    side.each(session_id, each).await?;
    if let Some(error) = refused {
        return Err(CallError::request(ErrorCode::InvalidRequest, error));
    }
    let Some(found) = explainer.finish() else {
        return Err(CallError::bug("a request that was found is missing"));
    };
    let spans = found.spans.iter().map(|span| SpanView {
        start: span.start as u64,
        end: span.end as u64,
        source: source_view(&found.parts[span.part].source),
    });
    let spans = spans.collect();
    let requested = found.requested;
    Ok(Response::new(RequestExplanation {
        session_id,
        request_id: requested.request_id,
        at: found.at,
        turn: found.turn,
        purpose: requested.purpose,
        provider: requested.provider,
        model: requested.model,
        wire: requested.wire,
        body_bytes: found.body.len() as u64,
        body_sha256: requested.body_sha256,
        proof: match found.proof {
            Proof::Same => RequestProof::Same,
            Proof::Different => RequestProof::Different,
            Proof::OtherRenderer => RequestProof::OtherRenderer,
            Proof::BlobLost => RequestProof::BlobLost,
        },
        spans,
        change: found.change.as_ref().map(change_view),
        usage: found.usage,
        body: call.with_body.then(|| String::from_utf8_lossy(&found.body).into_owned()),
    }))
}

fn change_view(change: &RequestChange) -> ChangeView {
    ChangeView {
        request_before: change.request_before,
        stable_bytes: change.stable_bytes,
        cause: match change.cause {
            ChangeCause::Continued => CauseView::Continued,
            ChangeCause::Branched => CauseView::Branched,
            ChangeCause::Compacted => CauseView::Compacted,
            ChangeCause::OtherModel => CauseView::OtherModel,
            ChangeCause::OtherPurpose => CauseView::OtherPurpose,
            ChangeCause::Unexplained => CauseView::Unexplained,
        },
        first: change.first.as_ref().map(|first| match first {
            PartChange::Added(source) => PartChangeView::Added { source: source_view(source) },
            PartChange::Removed(source) => PartChangeView::Removed { source: source_view(source) },
            PartChange::Replaced { before, now } => {
                PartChangeView::Replaced { before: source_view(before), now: source_view(now) }
            }
        }),
    }
}

fn source_view(source: &PartSource) -> SourceView {
    match source {
        PartSource::Section { kind, files } => {
            let name = Json::of(kind).as_str().trim_matches('"').to_owned();
            SourceView::Section { name, files: files.clone() }
        }
        PartSource::Tool { name } => SourceView::Tool { name: name.clone() },
        PartSource::Event { id, event_type } => {
            SourceView::Event { id: *id, event_type: (*event_type).to_owned() }
        }
        PartSource::Runtime => SourceView::Runtime,
    }
}
