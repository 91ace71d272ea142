//! `cargo xtask test`: everything a change must pass, in the order that fails soonest.
//!
//! The steps share their work: `test`, `clippy` and `doc` all choose the workspace's features with
//! its tests, so each dependency is compiled once (for the tests) and checked once (for clippy and
//! the documentation, which cannot use what the tests built).

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{ExitCode, Stdio};

use anyhow::Context;

use crate::invocation::Invocation;
use crate::page::{self, Form};
use crate::times::Times;
use crate::{openapi, peers, tidy, ui_messages, usage, workspace_root};

pub(crate) const PURPOSE: &str = "formatting, rules, clippy, all tests and the documentation";

pub(crate) const HELP: &str = "
cargo xtask test [--page | --peers]

Runs everything a change must pass: formatting, the rules of `cargo xtask tidy`, clippy with
warnings as errors, all tests, the thread files they wrote and a running daemon against the AI SDK,
a few scenarios of the web page (with node and Chromium, if they are installed), documentation tests
and the documentation itself. It stops at the first failure with the command that repeats it, and
ends with a table of steps and seconds.

With --page it runs all scenarios of the web page instead, in a real Chromium against the program's
own copy of the page. It installs Debian's chromium, if it runs as root, and npm's packages. It
leaves pictures of every view in target/screens.

With --peers it runs turns with llama.cpp's server and a small model, and has schemathesis try the
HTTP calls of a running daemon; all are installed from Python packages at the first run. Where that
is not possible, it says so.

Example:
  cargo xtask test
  cargo xtask test --page
  cargo xtask test --peers
";

/// The variable that `kith-testkit` looks at, and the file, below the root, that it names.
const SKIPPED_VARIABLE: &str = "KITH_SKIPPED_TESTS";
const SKIPPED_FILE: &str = "target/tmp/skipped-tests";

const SHORT_TESTS: &str = "the long form of `every_message_of_any_life_is_dealt_with_once`, of \
                           `no_seed_breaks_a_promise_and_every_session_proves_itself`, and of the \
                           `no_crash_loses_or_doubles_anything_…` and \
                           `…_stream_was_cut_nothing_has_run_and_the_session_goes_on` tests \
                           (`KITH_SLOW_TESTS=1`)";

struct Step {
    name: &'static str,
    work: Work,
}

enum Work {
    Command(Invocation),
    Tidy,
    /// The tests, told where to note that one cannot run here.
    Tests(Invocation),
    UiMessages,
    Chat,
    Page(Form),
    Peers,
    OpenApi,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    /// It could not be done on this machine: what, and why.
    Skipped(String),
}

impl Outcome {
    fn of(succeeded: bool) -> Outcome {
        if succeeded { Outcome::Passed } else { Outcome::Failed }
    }
}

impl Work {
    fn shown(&self) -> String {
        match self {
            Work::Command(invocation) | Work::Tests(invocation) => invocation.to_string(),
            Work::Tidy => String::from("cargo xtask tidy"),
            Work::UiMessages => String::from(ui_messages::SHOWN),
            Work::Chat => String::from(ui_messages::CHAT_SHOWN),
            Work::Page(form) => page::shown(*form),
            Work::Peers => String::from(peers::SHOWN),
            Work::OpenApi => String::from(openapi::SHOWN),
        }
    }

    fn perform(&self, root: &Path) -> anyhow::Result<Outcome> {
        match self {
            Work::Command(invocation) => Ok(Outcome::of(invocation.run_in(root)?.success())),
            Work::Tests(invocation) => {
                let notes = root.join(SKIPPED_FILE);
                if notes.exists() {
                    fs::remove_file(&notes).context("cannot remove the notes of the last run")?;
                }
                let mut command = invocation.command(root);
                let status = command.env(SKIPPED_VARIABLE, &notes).status();
                Ok(Outcome::of(
                    status.with_context(|| format!("cannot run `{invocation}`"))?.success(),
                ))
            }
            Work::Tidy => Ok(Outcome::of(tidy::holds(root)?)),
            Work::UiMessages => ui_messages::check(root),
            Work::Chat => ui_messages::check_chat(root),
            Work::Page(form) => page::check(root, *form),
            Work::Peers => peers::check(root),
            Work::OpenApi => openapi::check(root),
        }
    }
}

pub(crate) fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    let root = workspace_root();
    let alone = match args.first().map(String::as_str) {
        Some("--page") => vec![Step { name: "page", work: Work::Page(Form::Whole) }],
        Some("--peers") => vec![
            Step { name: "peers", work: Work::Peers },
            Step { name: "openapi", work: Work::OpenApi },
        ],
        _ => Vec::new(),
    };
    if let Some(first) = alone.first() {
        let shown = format!("test --{}", first.name);
        usage::no_arguments(&shown, args.get(1..).unwrap_or_default())?;
        return run_alone(&alone, &root);
    }
    usage::no_arguments("test", args)?;
    let runner = Runner::installed(&root);

    let mut times = Times::new("step");
    let mut not_done = Vec::new();
    for step in steps(runner) {
        println!("== {}: {}", step.name, step.work.shown());
        let (outcome, took) = times.measure(step.name, || step.work.perform(&root));
        let outcome = outcome?;
        if outcome == Outcome::Failed {
            println!("\n{times}");
            eprintln!("error: {} failed after {:.1} s", step.name, took.as_secs_f64());
            eprintln!("hint: repeat it with: {}", step.work.shown());
            return Ok(ExitCode::FAILURE);
        }
        if let Outcome::Skipped(sentence) = outcome {
            println!("   {} SKIPPED: {sentence}", step.name);
            not_done.push(sentence);
            continue;
        }
        println!("   {} passed in {:.1} s", step.name, took.as_secs_f64());
    }
    println!("\n{times}");
    for sentence in not_done {
        println!("skipped: {sentence}");
    }
    // No test has noted anything if there is no file.
    let notes = fs::read_to_string(root.join(SKIPPED_FILE)).unwrap_or_default();
    for note in skipped_tests(&notes) {
        println!("skipped: {note}");
    }
    for sentence in skipped(runner, std::env::var_os("KITH_SLOW_TESTS").as_deref()) {
        println!("skipped: {sentence}");
    }
    if let Some(sentence) = not_run_without_privileges(is_superuser()) {
        println!("skipped: {sentence}");
    }
    println!("everything passed");
    Ok(ExitCode::SUCCESS)
}

fn run_alone(steps: &[Step], root: &Path) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for Step { name, work } in steps {
        println!("== {name}: {}", work.shown());
        match work.perform(root)? {
            Outcome::Passed => println!("{name} passed"),
            Outcome::Failed => {
                eprintln!("error: {name} failed");
                code = ExitCode::FAILURE;
            }
            Outcome::Skipped(sentence) => println!("skipped: {sentence}"),
        }
    }
    Ok(code)
}

/// Tests that give a file away, which only the superuser can: under any other user they pass without
/// having looked.
const SUPERUSER_TESTS: [&str; 7] = [
    "a_file_of_another_user_in_the_kith_folder_is_refused",
    "files_of_another_user_are_left_out_and_told",
    "only_a_socket_of_ours_in_a_folder_of_ours_is_talked_to (in part)",
    "settings_that_others_own_or_could_write_are_not_obeyed_on_this_machine_either (in part)",
    "skills_of_another_user_are_left_out_also_of_the_home",
    "the_walk_never_goes_through_a_folder_of_another_user",
    "what_belongs_to_another_user_is_not_opened",
];

fn not_run_without_privileges(is_superuser: bool) -> Option<String> {
    let names = SUPERUSER_TESTS.join(", ");
    (!is_superuser).then(|| format!("what only the superuser can try: {names}"))
}

#[cfg(unix)]
pub(crate) fn is_superuser() -> bool {
    use std::os::unix::fs::MetadataExt;
    // The folder of a process belongs to whoever started it.
    fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

#[cfg(not(unix))]
pub(crate) fn is_superuser() -> bool {
    false
}

/// Which program runs the tests. nextest is faster and is used when it is there, but a clone must
/// not need anything that cargo does not bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runner {
    Nextest,
    CargoTest,
}

impl Runner {
    fn installed(root: &Path) -> Runner {
        let mut probe = Invocation::cargo(&["nextest", "--version"]).command(root);
        match probe.stdout(Stdio::null()).stderr(Stdio::null()).status() {
            Ok(status) if status.success() => Runner::Nextest,
            Ok(_) | Err(_) => Runner::CargoTest,
        }
    }
}

// Cheap steps first. Clippy stands before the tests: when the code does not compile it says so in
// half the time. `--lib --bins --examples` picks the same features as the tests (there are no
// examples, naming them is what makes cargo do so) and thereby the work clippy has done.
fn steps(runner: Runner) -> Vec<Step> {
    let tests: &[&str] = match runner {
        Runner::Nextest => &["nextest", "run", "--workspace"],
        Runner::CargoTest => &["test", "--workspace", "--all-targets"],
    };
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    let docs = ["doc", "--workspace", "--no-deps", "--lib", "--bins", "--examples"];
    vec![
        Step {
            name: "format",
            work: Work::Command(Invocation::cargo(&["fmt", "--all", "--check"])),
        },
        Step { name: "tidy", work: Work::Tidy },
        Step { name: "clippy", work: Work::Command(Invocation::cargo(&clippy)) },
        Step { name: "tests", work: Work::Tests(Invocation::cargo(tests)) },
        Step { name: "ui messages", work: Work::UiMessages },
        Step { name: "chat", work: Work::Chat },
        Step { name: "page", work: Work::Page(Form::Short) },
        Step {
            name: "doc tests",
            work: Work::Command(Invocation::cargo(&["test", "--workspace", "--doc"])),
        },
        Step {
            name: "docs",
            work: Work::Command(
                Invocation::cargo(&docs).with_environment("RUSTDOCFLAGS", "-D warnings"),
            ),
        },
    ]
}

/// Tests of the run that could not run here, each with its reason.
fn skipped_tests(notes: &str) -> BTreeSet<&str> {
    notes.lines().collect()
}

/// What this run did not look at, and why, so that nobody takes silence for a pass.
fn skipped(runner: Runner, slow_tests: Option<&OsStr>) -> Vec<&'static str> {
    let mut sentences = Vec::new();
    if runner == Runner::CargoTest {
        sentences
            .push("cargo-nextest is not installed, so `cargo test` ran the tests (same tests)");
    }
    if slow_tests.is_none() {
        sentences.push(SHORT_TESTS);
    }
    sentences
}

#[cfg(test)]
mod tests;
