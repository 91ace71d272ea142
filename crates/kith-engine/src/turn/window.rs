//! Tells a person when a server took a request that is longer than its model reads.
//!
//! Some servers leave out the beginning of such a request without a word. Where a summary cannot
//! shorten it, it is sent all the same: the window in the settings may be wrong.

use kith_vocab::event::control::Level;
use kith_vocab::event::models::Purpose;
use kith_vocab::provider::ModelChoice;

use crate::context::summary;
use crate::session::Session;
use crate::state::State;
use crate::words::NoticeText;

/// The tokens of a body of this length, if the model reads fewer and the last answer was not given in
/// the same state.
pub(super) fn tokens_over(
    state: &State,
    body_bytes: u64,
    choice: &ModelChoice,
    purpose: Purpose,
) -> Option<u64> {
    let window = choice.context_window;
    if window == 0 || purpose != Purpose::Turn {
        return None;
    }
    let text_bytes = body_bytes.saturating_sub(summary::new_media_bytes(state));
    let tokens = state.context_size.tokens(text_bytes);
    let is_told = state.context_size.answered_tokens().is_some_and(|last| last > window);
    (tokens > window && !is_told).then_some(tokens)
}

pub(super) fn tell(session: &mut Session, choice: &ModelChoice, tokens: u64) {
    let (model, window) = (&choice.model, choice.context_window);
    let text = NoticeText::OverWindow { model, tokens, window };
    let turn = session.state().turn.as_ref();
    let about = turn.map(|turn| turn.began_with.to_string());
    let text = text.in_language(session.state().language());
    session.stage_notice(text, Level::Warn, about);
}
