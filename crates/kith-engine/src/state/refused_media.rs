//! Images and files that the server of a model has refused.
//!
//! The log keeps them, and so would every later request. So that one of them does not make all of those
//! fail, it is told in words to the model that refused it.

use kith_vocab::block::{Block, Media};
use kith_vocab::event::Body;
use kith_vocab::event::models::{FailureKind, Purpose};
use serde::{Deserialize, Serialize};

use super::conversation::Conversation;
use super::elements::media_of_element;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedMedia {
    /// Provider and model of the last request.
    asked: Option<(String, String)>,
    refused: Vec<RefusedBlob>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RefusedBlob {
    by: (String, String),
    blob: String,
}

impl RefusedMedia {
    pub fn is_refused(&self, provider: &str, model: &str, blob: &str) -> bool {
        let is_it = |it: &RefusedBlob| it.blob == blob && it.by.0 == provider && it.by.1 == model;
        self.refused.iter().any(is_it)
    }

    pub(super) fn fold(&mut self, body: &Body, conversation: &Conversation) {
        match body {
            Body::ModelRequested(it) if it.purpose == Purpose::Turn => {
                self.asked = Some((it.provider.clone(), it.model.clone()));
            }
            Body::ModelFailed(it) if it.kind == FailureKind::Media => {
                let Some(by) = self.asked.clone() else { return };
                for blob in suspects(conversation) {
                    if !self.is_refused(&by.0, &by.1, &blob) {
                        self.refused.push(RefusedBlob { by: by.clone(), blob });
                    }
                }
            }
            // Who sends it again wants it tried again.
            Body::UserMessage(it) => {
                for block in &it.message.content {
                    if let Block::Image(media) | Block::Audio(media) | Block::File(media) = block {
                        self.refused.retain(|it| it.blob != media.blob);
                    }
                }
            }
            _ => (),
        }
    }

    /// A turn that is retried shows them again.
    pub(super) fn forget(&mut self) {
        self.refused.clear();
    }
}

/// What is new since the last answer; without any, a model that takes none was shown those of another.
fn suspects(conversation: &Conversation) -> Vec<String> {
    let blob_of = |media: &Media| media.blob.clone();
    let new: Vec<String> = conversation.tail_media().map(blob_of).collect();
    if !new.is_empty() {
        return new;
    }
    let elements = conversation.finished().iter().flat_map(|it| &it.elements);
    elements.flat_map(media_of_element).map(blob_of).collect()
}
