//! A log becomes a request in one place, and messages for screens in one other.
//!
//! A second conversion would show a model or a person another conversation than the first.

use super::Violation;
use super::source::{line_of, words};
use super::tree::{RustFile, Tree};

/// What a conversion makes, and where that may stand: the path begins with one of these.
const PLACES: [(&str, &[&str]); 2] = [
    (
        "ElementKind",
        &[
            "crates/kith-vocab/src/conversation.rs",
            "crates/kith-engine/src/state/",
            // A request for a summary shows a part of what was converted; an explanation reads it.
            "crates/kith-engine/src/context/summary.rs",
            "crates/kith-engine/src/why/parts.rs",
            // What is rendered was converted before.
            "crates/kith-providers/src/render",
            "crates/kith-providers/src/anthropic/wire.rs",
            "crates/kith-providers/src/openai_chat/wire.rs",
            "crates/kith-providers/src/openai_responses/wire.rs",
            "crates/kith-providers/src/media",
        ],
    ),
    ("UiRole", &["crates/kith-engine/src/ui_message"]),
];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    tree.production_files().flat_map(check_file).collect()
}

fn check_file(file: RustFile) -> Vec<Violation> {
    let code = &file.source.production;
    let elsewhere = PLACES
        .iter()
        .filter(|(_, places)| !places.iter().any(|place| file.path.starts_with(place)));
    let found = elsewhere.filter_map(|(name, places)| {
        let (offset, _) = words(code).find(|(_, word)| word == name)?;
        let text = format!("`{name}` is used outside `{}`; convert there", places[0]);
        Some(Violation::new(file.path, line_of(code, offset), text))
    });
    found.collect()
}
