//! Ordinary commands of developers, in small projects: in the sandbox they exit as they do outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kith_testkit::another_user::not_run;
use serde::Deserialize;

use crate::house::House;

/// The code by which a shell says that there is no such program.
const NOT_FOUND: i32 = 127;

/// Variables of a developer that say where tool chains and packages lie.
const PLACES: [&str; 6] = ["HOME", "PATH", "CARGO_HOME", "RUSTUP_HOME", "PYENV_ROOT", "NVM_DIR"];

#[derive(Deserialize)]
struct Ordinary {
    commands: Vec<OrdinaryCommand>,
}

#[derive(Deserialize)]
struct OrdinaryCommand {
    project: String,
    command: String,
}

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// Runs the commands of a kind of project, in their order, each on what the ones before left.
fn run_all(project: &str, n_expected: usize) {
    let text = fs::read_to_string(testdata("policy/ordinary.json")).unwrap();
    let all = serde_json::from_str::<Ordinary>(&text).unwrap().commands;
    let commands: Vec<String> =
        all.into_iter().filter(|it| it.project == project).map(|it| it.command).collect();
    assert_eq!(commands.len(), n_expected);
    let (outside, inside) = (prepared(project), prepared(project));
    let mut different = Vec::new();
    for command in commands {
        let expected = run_outside(&outside.path(""), &command);
        if expected == NOT_FOUND {
            not_run(&format!("`{command}`: not installed here"));
            continue;
        }
        let ran = inside.behind(&[], &["sandbox", "--", "/bin/bash", "-c", &command]).unwrap();
        if ran.stderr.contains("allows no namespaces") {
            not_run(&format!("this machine allows no sandbox: {}", ran.shown()));
            return;
        }
        if ran.code != expected {
            different.push(format!("{command}: {expected} outside; inside {}", ran.shown()));
        }
    }
    assert_eq!(different, Vec::<String>::new());
}

/// A project whose user is the one that runs the tests: tool chains are installed in that home.
fn prepared(project: &str) -> House {
    let mut house = House::empty();
    for name in PLACES {
        if let Ok(value) = std::env::var(name) {
            house.set(name, &value);
        }
    }
    let files = if project == "git" { "files" } else { project };
    copy(&testdata("projects").join(files), &house.path(""));
    if project == "git" {
        let begin = "git init -q && git config user.email a@example.org && git config user.name A \
                     && git add . && git commit -qm one && echo more >> README.md \
                     && git commit -qam two && echo work >> README.md && echo new > src/new.txt";
        assert_eq!(run_outside(&house.path(""), begin), 0);
    }
    house
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        // So that nobody takes it for a crate of this project.
        let name = entry.file_name().into_string().unwrap();
        let target = to.join(name.trim_end_matches(".sample"));
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn run_outside(folder: &Path, command: &str) -> i32 {
    let mut bash = Command::new("/bin/bash");
    bash.args(["-c", command]).current_dir(folder).stdin(Stdio::null()).env_clear();
    bash.envs(PLACES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    bash.output().unwrap().status.code().unwrap_or(-1)
}

#[test]
fn git_commands_exit_in_the_sandbox_as_they_do_outside() {
    run_all("git", 26);
}

#[test]
fn cargo_commands_exit_in_the_sandbox_as_they_do_outside() {
    run_all("cargo", 16);
}

#[test]
fn npm_commands_exit_in_the_sandbox_as_they_do_outside() {
    run_all("npm", 12);
}

#[test]
fn python_commands_exit_in_the_sandbox_as_they_do_outside() {
    run_all("python", 12);
}

#[test]
fn make_commands_exit_in_the_sandbox_as_they_do_outside() {
    run_all("make", 10);
}

#[test]
fn commands_on_files_exit_in_the_sandbox_as_they_do_outside() {
    run_all("files", 24);
}
