use super::*;

#[test]
fn groups_are_written_out() {
    let code = "use std::{fs::{self, File}, io as input};\npub(crate) use a::b::*;";
    let paths: Vec<String> = imported(code).into_iter().map(|it| it.path).collect();
    assert_eq!(paths, ["std::fs", "std::fs::File", "std::io", "a::b::*"]);
}

#[test]
fn captures_are_no_imports() {
    assert_eq!(imported("fn f<'a>(x: &'a str) -> impl Sized + use<'a> { x }"), []);
}

#[test]
fn paths_in_code_are_joined() {
    let paths: Vec<String> = written("let x = std::fs::read(a.b)?; y::<u8>(); plain")
        .into_iter()
        .map(|it| it.path)
        .collect();
    assert_eq!(paths, ["std::fs::read"]);
}
