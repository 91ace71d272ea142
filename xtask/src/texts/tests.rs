use super::*;

#[test]
fn sentences_are_found_with_line_kind_and_code() {
    let tree = Tree::fixture(
        r#"//- crates/kith-x/src/lib.rs
#[derive(Error)]
enum Problem {
    #[error("cannot read `{path}`")]
    Read,
}
#[expect(dead_code, reason = "nobody reads this")]
fn refuse() -> CallError {
    let sql = "SELECT name FROM rows";
    let message = format!("the file is \
                           too long");
    CallError::request(ErrorCode::InvalidRequest, message)
        .hint("send it in parts")
}
#[cfg(test)]
mod tests {
    fn said() -> &'static str { "a sentence of a test" }
}
"#,
    );
    let file = tree.production_files().next().unwrap();
    assert_eq!(
        texts_of(&file),
        [
            "3: error cannot read `{path}`",
            "9: text [invalid_request] the file is too long",
            "12: hint send it in parts",
        ]
    );
}

#[test]
fn the_snapshots_are_there() {
    let tree = Tree::read(&workspace_root()).unwrap();
    for (title, path) in SNAPSHOTS {
        assert!(tree.text(path).is_some_and(|text| text.contains("\n---\n")), "{title}: {path}");
    }
}
