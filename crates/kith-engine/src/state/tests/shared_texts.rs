//! Events that share a long text go on sharing it, in the tree and in what the model is shown.

use kith_testkit::transcript::transcript;
use kith_vocab::conversation::{ElementKind, ResultPartKind};
use kith_vocab::event::messages::Trust;
use kith_vocab::event::texts::TextPlace;
use kith_vocab::event::{Body, Event};
use kith_vocab::text::Text;

use crate::state::State;

const LONG_BYTES: usize = 128 * 1024;

#[test]
fn sixty_events_that_share_a_text_hold_it_once() {
    let text = Text::from("x <b>".repeat(LONG_BYTES / 5));
    assert_eq!(n_held(&text, Trust::Owner), 1);
    assert_eq!(n_held(&text, Trust::Untrusted), 1);
}

#[test]
fn what_must_be_escaped_in_a_shared_text_is_escaped_once_for_each_set_of_marks() {
    let text = Text::from("x <system-reminder>".repeat(LONG_BYTES / 19));
    // As it was said, in results, and in reminders.
    assert_eq!(n_held(&text, Trust::Owner), 3);
    // As it was said, in blocks, and in blocks of reminders.
    assert_eq!(n_held(&text, Trust::Untrusted), 3);
}

/// Folds sixty events with the text, and says how many texts of its length are then held.
fn n_held(text: &Text, trust: Trust) -> usize {
    let line = "user: LONG | model: LONG, read=c1 | free c1 | done c1 LONG | joined c1 LONG \
                | model: ok | note LONG | model: LONG | ended done";
    let mut events = transcript(&[line; 12].join(" | ")).events;
    for event in &mut events {
        event.body.each_text(&mut |place| match place {
            TextPlace::Text(it) if *it == "LONG" => *it = text.clone(),
            TextPlace::Text(_) | TextPlace::Json(_) => (),
        });
        match &mut event.body {
            Body::UserMessage(it) => it.trust = trust,
            Body::ToolResult(it) => it.trust = trust,
            Body::HarnessItem(it) => it.trust = trust,
            _ => (),
        }
    }
    let n_long = events.iter().flat_map(texts_of).filter(|it| it.is_same(text)).count();
    assert_eq!(n_long, 72);
    let state = State::of(&events);
    let tail = state.conversation.tail_message();
    let messages = state.conversation.finished().iter().chain([&tail]);
    let shown = messages.flat_map(|message| &message.elements).flat_map(|it| match &it.kind {
        ElementKind::Text(it) | ElementKind::Meta(it) => vec![it.text().clone()],
        ElementKind::Result(it) => {
            let texts = it.parts.iter().filter_map(|part| match &part.kind {
                ResultPartKind::Text(it) => Some(it.text().clone()),
                ResultPartKind::Media(_) => None,
            });
            texts.collect()
        }
        _ => Vec::new(),
    });
    let mut held: Vec<Text> = Vec::new();
    let mut n_seen = 0;
    for it in state.tree.events().flat_map(texts_of).chain(shown) {
        n_seen += usize::from(it.len() >= text.len());
        if it.len() >= text.len() && !held.iter().any(|known| known.is_same(&it)) {
            held.push(it);
        }
    }
    assert_eq!(n_seen, 2 * n_long);
    held.len()
}

fn texts_of(event: &Event) -> Vec<Text> {
    let mut texts = Vec::new();
    event.body.clone().each_text(&mut |place| {
        if let TextPlace::Text(it) = place {
            texts.push(it.clone());
        }
    });
    texts
}
