//! Exit codes of the program, and its message on platforms where it cannot run.

use super::*;

#[test]
fn readme_and_program_say_what_each_platform_can_expect() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (name, words) in [
        (
            "README.md",
            "Linux is supported. macOS is expected to work but is not tested. Windows: not",
        ),
        ("README.zh-CN.md", "Windows"),
    ] {
        let readme = std::fs::read_to_string(root.join(name)).unwrap();
        assert!(readme.contains(words), "{name}");
    }
    let elsewhere = include_str!("unsupported.rs");
    let sentence = r"error: kith runs only on Linux and macOS\nhint: on Windows, run it inside WSL";
    assert!(elsewhere.contains(sentence), "{elsewhere}");
}

#[test]
fn only_a_bug_ends_with_exit_code_70() {
    let exit_code = |code: ExitCode| format!("{code:?}");
    let panicked = guarded(|| panic!("a promise is broken"));
    assert_eq!(exit_code(panicked), exit_code(ExitCode::from(70)));
    assert_eq!(exit_code(guarded(|| ExitCode::from(3))), exit_code(ExitCode::from(3)));
}
