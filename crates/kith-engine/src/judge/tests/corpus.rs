//! The corpora of testdata/policy: judged, never executed.

#![expect(clippy::print_stdout, reason = "the counts are what a reader wants to see")]

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Misuse {
    commands: Vec<MisuseCommand>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct MisuseCommand {
    program: String,
    class: String,
    command: String,
    /// Why it does no harm in the sandbox, if it runs there without a question.
    inside: Option<String>,
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

/// The circumstances in which every command is judged.
fn scenes(command: &str) -> Vec<(&'static str, Scene)> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let program = words.first().copied().unwrap_or_default();
    let granted =
        [command, program].map(|it| grant(Some(it), Some("/etc/cron.d/x"), Some("198.51.100.7")));
    let deny = rules(&["exec_shell(true)"]);
    let trusted = JudgeMode::Trusted;
    vec![
        ("in a sandbox", Scene::default()),
        ("without a sandbox", Scene { sandbox: Sandbox::None, ..Scene::default() }),
        ("readonly", Scene::mode(JudgeMode::Readonly)),
        ("tainted", Scene { is_tainted: true, ..Scene::default() }),
        ("nobody there", Scene { is_attended: false, ..Scene::default() }),
        ("from a stranger", Scene { trust: Trust::Untrusted, ..Scene::default() }),
        ("granted before", Scene { grants: granted.to_vec(), ..Scene::default() }),
        (
            "granted, tainted",
            Scene { grants: granted.to_vec(), is_tainted: true, ..Scene::default() },
        ),
        ("trusted", Scene::mode(trusted)),
        ("trusted, no sandbox", Scene { sandbox: Sandbox::None, ..Scene::mode(trusted) }),
        (
            "trusted, with rules",
            Scene {
                rules: RuleSet { mode: trusted, deny, ..RuleSet::default() },
                ..Scene::default()
            },
        ),
    ]
}

type Counts = BTreeMap<(&'static str, &'static str), usize>;

/// Judges a command in all circumstances; panics if it would run outside the sandbox unasked.
fn judge_everywhere(command: &str, counts: &mut Counts) {
    for (name, scene) in scenes(command) {
        let judgement = scene.shell(command);
        let is_by_owner = rules_or_grants(&judgement);
        let outcome = match (judgement.verdict, judgement.sandbox) {
            (Verdict::Allow, Sandbox::None) => {
                panic!("{name}: `{command}` runs outside the sandbox without a question")
            }
            (Verdict::Allow, Sandbox::Network) if !is_by_owner => {
                panic!("{name}: `{command}` has the network without a question")
            }
            (Verdict::Allow, Sandbox::Network) => "with the network, as the owner said",
            (Verdict::Allow, Sandbox::Workspace) => "in the sandbox",
            (Verdict::Ask, _) => "asked",
            (Verdict::Deny, _) => "denied",
        };
        *counts.entry((name, outcome)).or_insert(0) += 1;
    }
}

/// Whether the owner has said before that such a command may run.
fn rules_or_grants(judgement: &Judgement) -> bool {
    judgement.grant_id.is_some() || judgement.rule.as_deref() == Some("mode")
}

fn shown(counts: &Counts) -> String {
    let rows = counts.iter().map(|((scene, outcome), n)| format!("  {scene}: {n} {outcome}"));
    rows.collect::<Vec<String>>().join("\n")
}

#[test]
fn no_misuse_runs_outside_the_sandbox_without_a_question() {
    let commands = misuse();
    let programs: BTreeSet<&str> = commands.iter().map(|it| it.program.as_str()).collect();
    let classes: BTreeSet<&str> = commands.iter().map(|it| it.class.as_str()).collect();
    assert!(programs.len() >= 350, "{} programs", programs.len());
    assert_eq!(classes.len(), 11, "{classes:?}");
    let (mut counts, mut by_class) = (Counts::new(), BTreeMap::new());
    let mut wrong: Vec<String> = Vec::new();
    for it in &commands {
        assert!(it.command.contains(&it.program) || it.program == "ld.so", "{}", it.command);
        judge_everywhere(&it.command, &mut counts);
        let judgement = Scene::default().shell(&it.command);
        let is_inside = judgement.verdict == Verdict::Allow;
        let (n_all, n_inside) = by_class.entry(it.class.as_str()).or_insert((0, 0));
        *n_all += 1;
        *n_inside += usize::from(is_inside);
        // Each one that is not asked about has its reason in the corpus, written by a person.
        if is_inside != it.inside.is_some() {
            wrong.push(format!("{}: {judgement:?}", it.command));
        }
    }
    println!("{} lines, {} programs\n{}", commands.len(), programs.len(), shown(&counts));
    for (class, (n_all, n_inside)) in by_class {
        println!("  {class}: {n_all}, of which {n_inside} run in the sandbox without a question");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The same command in disguise.
fn disguises(command: &str, seed: usize) -> Vec<String> {
    let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
    let mid = program.char_indices().nth(1 + seed % 2).map_or(program.len(), |(at, _)| at);
    let (head, tail) = program.split_at(mid);
    let bare = command.replace('\'', "");
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
        format!("git -c alias.x='!{bare}' x"),
        format!("bash -c '{bare}'"),
        format!("eval '{bare}'"),
        format!(
            "{} {rest}",
            program.replace('a', "\u{430}").replace('e', "\u{435}").replace('c', "\u{441}")
        ),
        format!("{head}\u{200b}{tail} {rest}"),
        format!("$'{program}' {rest}"),
        format!("planted-{program} {rest}"),
        format!("{command} > ~/.bashrc"),
        format!("{command} >> AGENTS.md"),
        format!("poetry run {command}"),
        format!("cd /tmp && {command}"),
        format!("CI=1 {command}"),
        format!("time {command}"),
        format!("flock x {command}"),
        format!("python3 -W ignore -c 'import os; os.system(\"{}\")'", bare.replace('"', "")),
    ]
}

/// A disguise makes no command freer than it is; where it changes what runs, the sandbox holds it.
#[test]
fn no_disguise_runs_outside_the_sandbox_without_a_question() {
    let commands = misuse();
    let step = if std::env::var_os("KITH_SLOW_TESTS").is_some() { 1 } else { 10 };
    let (mut counts, mut n_variants, mut freer) = (Counts::new(), 0, Vec::new());
    for (seed, it) in commands.iter().step_by(step).enumerate() {
        let is_free = |command: &str| Scene::default().shell(command).verdict == Verdict::Allow;
        let was_free = is_free(&it.command);
        for variant in disguises(&it.command, seed) {
            n_variants += 1;
            judge_everywhere(&variant, &mut counts);
            if !was_free && is_free(&variant) {
                freer.push(variant);
            }
        }
    }
    println!("{n_variants} variants\n{}", shown(&counts));
    assert!(n_variants >= 2000, "{n_variants} variants");
    assert!(freer.is_empty(), "{freer:#?}");
}

#[test]
fn ordinary_commands_run_without_asking() {
    let commands =
        read::<Ordinary>(include_str!("../../../../../testdata/policy/ordinary.json")).commands;
    assert_eq!(commands.len(), 100);
    let mut asked = Vec::new();
    for it in &commands {
        let judgement = Scene::default().shell(&it.command);
        assert_ne!(judgement.verdict, Verdict::Deny, "{}", it.command);
        if judgement.verdict == Verdict::Ask {
            asked.push(format!("{} ({}): {}", it.command, it.project, judgement.reason));
        } else {
            assert_eq!(judgement.sandbox, Sandbox::Workspace, "{}", it.command);
        }
    }
    println!("{} of 100 without a question; asked: {asked:#?}", 100 - asked.len());
    assert!(asked.len() <= 5, "{asked:#?}");
}

#[derive(Deserialize)]
struct LostWork {
    asked: Vec<String>,
    free: Vec<String>,
}

#[test]
fn work_is_not_lost_by_bundled_options_and_unusual_words() {
    let lost = read::<LostWork>(include_str!("../../../../../testdata/policy/lost.json"));
    let mut wrong = Vec::new();
    let labelled = [(lost.asked, Verdict::Ask), (lost.free, Verdict::Allow)];
    for (commands, verdict) in labelled {
        for command in commands {
            let judgement = Scene::default().shell(&command);
            if judgement.verdict != verdict {
                wrong.push(format!("{command}: {}", judgement.reason));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
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
