use super::*;

#[test]
fn every_form_of_a_dependency_is_seen() {
    let manifest = "\
[package]
name = \"kith-x\"
[dependencies]
a.workspace = true
# no = \"1\"
b = { version = \"1\", package = \"bee\" }
[dependencies.c]
version = \"1\"
[target.'cfg(unix)'.dev-dependencies]
d = \"1\"
[workspace.dependencies]
e = \"1\"
[lints]
workspace = true
";
    let seen: Vec<(usize, &str, Use)> =
        dependencies(manifest).iter().map(|it| (it.line, it.package, it.usage)).collect();
    assert_eq!(
        seen,
        [
            (4, "a", Use::Normal),
            (6, "bee", Use::Normal),
            (7, "c", Use::Normal),
            (10, "d", Use::Dev),
            (12, "e", Use::Workspace),
        ]
    );
    assert_eq!(package_name(manifest), Some("kith-x"));
}
