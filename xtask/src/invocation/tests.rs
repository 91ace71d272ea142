use super::*;

#[test]
fn a_command_is_shown_as_a_shell_takes_it() {
    let docs =
        Invocation::cargo(&["doc", "--workspace"]).with_environment("RUSTDOCFLAGS", "-D warnings");
    assert_eq!(docs.to_string(), "RUSTDOCFLAGS='-D warnings' cargo doc --workspace");

    let ask = Invocation::new("target/debug/kith", &["ask", "What's new?", ""]);
    assert_eq!(ask.to_string(), r"target/debug/kith ask 'What'\''s new?' ''");
}
