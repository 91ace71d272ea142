//! The JSON of vendors and platforms stays in its `wire.rs`.
//!
//! A wire type that leaves its module becomes everybody's type, and then a vendor's next release
//! changes the domain.

use super::Violation;
use super::source::{line_of, words};
use super::tree::{RustFile, Tree};

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let is_wire = |file: &RustFile| file.path.ends_with("/wire.rs");
    tree.production_files().filter(is_wire).flat_map(check_file).collect()
}

fn check_file(file: RustFile) -> Vec<Violation> {
    let code = &file.source.production;
    let visible = words(code).filter(|(offset, word)| {
        *word == "pub" && !code[offset + word.len()..].starts_with("(super)")
    });
    visible
        .map(|(offset, _)| {
            let text = "a wire type is visible outside its module; make it `pub(super)`";
            Violation::new(file.path, line_of(code, offset), text)
        })
        .collect()
}
