//! Rebuilds every request of a log and compares it with the hash that was logged.
//!
//! The log holds the hash of each body before it was sent. Because what a model is shown is a pure
//! function of the log, folding it again up to that line must give the same bytes, whatever has
//! become of the files since.

use std::sync::Arc;

use futures_util::FutureExt as _;
use kith_providers::media::{MediaBytes, media_of};
use kith_providers::render;
use kith_sessions::journal::Journal;
use kith_vocab::block::Media;
use kith_vocab::digest::Sha256Writer;
use kith_vocab::event::models::{ModelRequested, Purpose};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::EventId;

use crate::context::context_of;
use crate::state::State;

/// Finds the bytes of a blob; `None` if they are gone.
pub type BlobReader = Box<dyn Fn(&str) -> Option<Vec<u8>> + Send>;

#[derive(Default)]
pub struct Verifier {
    state: State,
    /// Without one, requests that carried images or files are not rebuilt.
    blobs: Option<BlobReader>,
    /// Whether events before a compaction are dropped; see [`Verifier::trimming`].
    trims: bool,
    pub n_requests: u64,
    pub mismatches: Vec<Mismatch>,
    /// Requests whose bytes another version of the renderer made: not proven, not disproven.
    pub other_renderer: Vec<EventId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    pub request_id: EventId,
    pub expected: String,
    pub rebuilt: String,
}

impl Verifier {
    /// Holds no more of a long log than its next request needs. If the log goes back behind a
    /// compaction, that was too little: [`Verifier::needs_full_read`] is true, and the log must be
    /// read without trimming.
    pub fn trimming() -> Verifier {
        Verifier { trims: true, ..Verifier::default() }
    }

    /// Rebuilds also requests that carried images or files.
    #[must_use]
    pub fn with_blobs(mut self, blobs: BlobReader) -> Verifier {
        self.blobs = Some(blobs);
        self
    }

    pub fn needs_full_read(&self) -> bool {
        self.state.needs_full_read
    }

    pub fn read(&mut self, event: &Event) {
        if let Body::ModelRequested(requested) = &event.body {
            self.n_requests += 1;
            self.compare(requested);
        }
        if self.trims {
            self.state.fold_trimming(event);
        } else {
            self.state.fold(event);
        }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    fn compare(&mut self, requested: &ModelRequested) {
        if requested.renderer_version != render::renderer_version(requested.wire) {
            self.other_renderer.push(requested.request_id);
            return;
        }
        let mut lost = None;
        let rebuilt = match rebuild(&self.state, requested, self.blobs.as_ref(), &mut lost) {
            Ok(sha256) => sha256,
            Err(error) => error.to_string(),
        };
        if rebuilt != requested.body_sha256 {
            let rebuilt = lost.map_or(rebuilt, |blob| format!("blob `{blob}` is lost or damaged"));
            let expected = requested.body_sha256.clone();
            let request_id = requested.request_id;
            self.mismatches.push(Mismatch { request_id, expected, rebuilt });
        }
    }
}

/// Reads the blobs of a journal. One that would have to be waited for counts as gone: the files of a
/// house are read at once.
pub fn blobs_of(journal: Arc<dyn Journal>) -> BlobReader {
    Box::new(move |sha256| journal.read_blob(sha256).now_or_never()?.ok())
}

/// The hash of a request's body, from the state before it was made. `lost` is set to a blob that it
/// needed and that is gone.
fn rebuild(
    state: &State,
    requested: &ModelRequested,
    blobs: Option<&BlobReader>,
    lost: &mut Option<String>,
) -> Result<String, render::RenderError> {
    let context = context_of(state, requested);
    let request = context.request(&requested.provider, &requested.model, &requested.parameters);
    let mut media = MediaBytes::new();
    // A request for a summary carries none: its images and files are told in words.
    let carried = match requested.purpose {
        Purpose::Turn => media_of(requested.wire, &request)?,
        Purpose::Compact => Vec::new(),
    };
    for Media { blob, .. } in carried {
        if state.refused_media.is_refused(&requested.provider, &requested.model, blob) {
            media.insert(blob.clone(), Vec::new());
            continue;
        }
        match blobs.and_then(|read| read(blob)) {
            Some(bytes) => _ = media.insert(blob.clone(), bytes),
            None => *lost = Some(blob.clone()),
        }
    }
    let mut sha256 = Sha256Writer::default();
    render::render_to(requested.wire, &request, &media, &mut sha256)?;
    Ok(sha256.finish_hex())
}

#[cfg(test)]
mod tests;
