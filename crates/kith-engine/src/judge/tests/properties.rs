//! What holds for any command.

use proptest::prelude::*;

use super::*;

fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 1,
        Verdict::Deny => 2,
    }
}

fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "ls",
        "rm",
        "-r",
        "git",
        "push",
        "src",
        "a.txt",
        "cat",
        "sh",
        "-c",
        "cargo",
        "test",
        "/etc/x",
        "x",
        "echo",
        "curl",
        "env",
        "timeout",
        "5",
        "python3",
        "AGENTS.md",
        ".kith",
        "find",
        "-delete",
        "sudo",
    ])
    .prop_map(str::to_owned)
}

fn command() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 1..5).prop_map(|words| words.join(" "))
}

fn quoted(word: &str, how: u8) -> String {
    match how % 4 {
        0 => word.to_owned(),
        1 => format!("'{word}'"),
        2 => format!("\"{word}\""),
        _ => word.chars().flat_map(|ch| ['\\', ch]).collect(),
    }
}

fn scene() -> Scene {
    let rules = RuleSet {
        deny: rules(&["exec_shell(git push *)"]),
        allow: rules(&["exec_shell(rm *)"]),
        ..RuleSet::default()
    };
    Scene { rules, ..Scene::default() }
}

proptest! {
    #[test]
    fn any_text_gets_a_verdict_and_never_leaves_the_sandbox(text in "\\PC{0,120}") {
        let judgement = Scene::default().shell(&text);
        prop_assert!(judgement.verdict != Verdict::Allow || judgement.sandbox == Sandbox::Workspace);
    }

    #[test]
    fn a_further_segment_never_makes_the_verdict_laxer(
        first in command(),
        second in command(),
        joint in prop::sample::select(vec![" && ", " || ", "; ", " | ", "\n"]),
    ) {
        let scene = scene();
        let both = rank(scene.shell(&format!("{first}{joint}{second}")).verdict);
        prop_assert!(both >= rank(scene.shell(&first).verdict), "{first}");
        // A pipe gives the second its input, and `cd` another folder; it is judged at least as strictly.
        prop_assert!(both >= rank(scene.shell(&second).verdict), "{second}");
    }

    #[test]
    fn quotes_never_make_the_verdict_laxer(
        words in prop::collection::vec(word(), 1..5),
        how in prop::collection::vec(0_u8..4, 5),
    ) {
        let scene = scene();
        let plain = scene.shell(&words.join(" "));
        let quoted: Vec<String> = words.iter().zip(&how).map(|(word, how)| quoted(word, *how)).collect();
        let disguised = scene.shell(&quoted.join(" "));
        prop_assert!(rank(disguised.verdict) >= rank(plain.verdict), "{quoted:?}: {plain:?} {disguised:?}");
    }
}
