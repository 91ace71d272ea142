//! The corpora of testdata/policy: judged, never executed.

#![expect(clippy::print_stdout, reason = "the counts are what a reader wants to see")]

use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Misuse {
    commands: Vec<MisuseCommand>,
}

#[derive(Clone, Deserialize)]
struct MisuseCommand {
    program: String,
    class: String,
    command: String,
}

#[derive(Deserialize)]
struct Ordinary {
    commands: Vec<OrdinaryCommand>,
}

#[derive(Deserialize)]
struct OrdinaryCommand {
    project: String,
    command: String,
}

#[derive(Deserialize)]
struct Examples {
    free: Vec<String>,
    held: Vec<String>,
}

fn read<T: for<'de> Deserialize<'de>>(text: &str) -> T {
    serde_json::from_str(text).unwrap()
}

fn misuse() -> Vec<MisuseCommand> {
    read::<Misuse>(include_str!("../../../../../testdata/policy/misuse.json")).commands
}

/// Counts verdicts; panics on the first command that would leave the sandbox unasked.
fn count(
    commands: impl IntoIterator<Item = (String, String)>,
) -> BTreeMap<(String, &'static str), usize> {
    let mut counts = BTreeMap::new();
    for (class, command) in commands {
        let judgement = Scene::default().shell(&command);
        let outcome = match (judgement.verdict, judgement.sandbox) {
            (Verdict::Allow, Sandbox::Workspace) => "in the sandbox",
            (Verdict::Allow, _) => panic!("`{command}` leaves the sandbox without asking"),
            (Verdict::Ask | Verdict::Deny, _) => "asked",
        };
        *counts.entry((class, outcome)).or_insert(0) += 1;
    }
    counts
}

fn total(counts: &BTreeMap<(String, &'static str), usize>, outcome: &str) -> usize {
    counts.iter().filter(|((_, it), _)| *it == outcome).map(|(_, n)| n).sum()
}

#[test]
fn no_misuse_leaves_the_sandbox_without_asking() {
    let commands = misuse();
    let mut programs: Vec<&str> = commands.iter().map(|it| it.program.as_str()).collect();
    programs.sort_unstable();
    programs.dedup();
    let mut classes: Vec<&str> = commands.iter().map(|it| it.class.as_str()).collect();
    classes.sort_unstable();
    classes.dedup();
    assert!(programs.len() >= 350, "{} programs", programs.len());
    assert_eq!(classes.len(), 11, "{classes:?}");
    let counts = count(commands.iter().map(|it| (it.class.clone(), it.command.clone())));
    println!("{} programs: {counts:#?}", programs.len());
    // The sandbox holds all of them; nearly all are seen by a person as well. The rest are programs
    // of the workspace named as such, and tools without the argument that makes them dangerous.
    assert!(total(&counts, "in the sandbox") <= 30, "{counts:#?}");
}

/// The same command in disguise.
fn disguises(command: &str, seed: usize) -> Vec<String> {
    let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
    let mid = program.char_indices().nth(1 + seed % 2).map_or(program.len(), |(at, _)| at);
    let (head, tail) = program.split_at(mid);
    vec![
        format!("\"{program}\" {rest}"),
        format!("{head}''{tail} {rest}"),
        format!("\\{program} {rest}"),
        format!("{head}\\\n{tail} {rest}"),
        format!("X={program}; $X {rest}"),
        format!("$(echo {program}) {rest}"),
        format!("`echo {program}` {rest}"),
        format!("echo $({command})"),
        format!("true\n{command}"),
        format!("true; {command}"),
        format!("true && {command}"),
        format!("false || {command}"),
        format!("ls | {command}"),
        format!("({command})"),
        format!("{{ {command}; }}"),
        format!("! {command}"),
        format!("{command} &"),
        format!("if true; then {command}; fi"),
        format!("f() {{ {command}; }}; f"),
        format!("sh <<E\n{command}\nE"),
        format!("cat <<< x; {command}"),
        format!("env {command}"),
        format!("env -i {command}"),
        format!("env A=1 {command}"),
        format!("PATH=.:/x {command}"),
        format!("LD_PRELOAD=./x.so {command}"),
        format!("timeout 5 {command}"),
        format!("nohup nice {command}"),
        format!("echo x | xargs {command}"),
        format!("find . -exec {command} \\;"),
        format!("git -c alias.x='!{command}' x"),
        format!("bash -c '{}'", command.replace('\'', "")),
        format!("eval '{}'", command.replace('\'', "")),
        format!(
            "{} {rest}",
            program.replace('a', "\u{430}").replace('e', "\u{435}").replace('c', "\u{441}")
        ),
        format!("{head}\u{200b}{tail} {rest}"),
        format!("$'{program}' {rest}"),
        format!("./{program} {rest} > /etc/x"),
        format!("planted-{program} {rest}"),
        format!("{command} > ~/.bashrc"),
        format!("{command} >> AGENTS.md"),
    ]
}

#[test]
fn no_disguise_leaves_the_sandbox_without_asking() {
    let commands = misuse();
    // Every eighth command in every disguise.
    let picked = commands.iter().step_by(8).enumerate();
    let variants: Vec<(String, String)> = picked
        .flat_map(|(seed, it)| disguises(&it.command, seed))
        .map(|it| ("disguised".to_owned(), it))
        .collect();
    assert!(variants.len() >= 2000, "{} variants", variants.len());
    let counts = count(variants.clone());
    println!("{} variants: {counts:#?}", variants.len());
    assert!(total(&counts, "in the sandbox") <= 50, "{counts:#?}");
}

#[test]
fn ordinary_commands_run_without_asking() {
    let commands =
        read::<Ordinary>(include_str!("../../../../../testdata/policy/ordinary.json")).commands;
    assert_eq!(commands.len(), 100);
    let counts = count(commands.iter().map(|it| (it.project.clone(), it.command.clone())));
    println!("{counts:#?}");
    for it in &commands {
        let judgement = Scene::default().shell(&it.command);
        if judgement.verdict != Verdict::Allow {
            println!("asks: {}: {}", it.command, judgement.reason);
        }
    }
    assert!(total(&counts, "in the sandbox") >= 95, "{counts:#?}");
}

#[test]
fn the_examples_hold() {
    let examples = read::<Examples>(include_str!("../../../../../testdata/policy/commands.json"));
    for command in &examples.free {
        let judgement = Scene::default().shell(command);
        assert_eq!(judgement.verdict, Verdict::Allow, "{command}: {judgement:?}");
    }
    for command in &examples.held {
        let judgement = Scene::default().shell(command);
        assert_eq!(judgement.verdict, Verdict::Ask, "{command}: {judgement:?}");
    }
}
