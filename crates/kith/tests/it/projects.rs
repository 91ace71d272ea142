//! Ordinary commands of developers in small projects: in the sandbox they exit as they do outside.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use kith_testkit::another_user::not_run;

use crate::house::House;

/// A project, the program it needs, and commands in their order, each on what the ones before left.
const PROJECTS: [(&str, &str, &[&str]); 5] = [
    (
        "cargo",
        "cargo",
        &[
            "cargo check --offline",
            "cargo build --offline",
            "cargo test --offline",
            "cargo test --offline -- --ignored",
            "cargo metadata --offline --format-version 1 > /dev/null",
            "cargo tree --offline",
            "cargo clean",
            "cargo no-such-command",
            "rustc --version",
            "ls target || echo clean",
        ],
    ),
    (
        "npm",
        "npm",
        &[
            "node --version",
            "npm test",
            "npm run build",
            "npm run fail",
            "npm run no-such-script",
            "npm ls",
            "npm pkg get name",
            "node -p 'require(\"./dist/sum.js\")(1, 2)'",
            "npm config get cache",
        ],
    ),
    (
        "python",
        "python3",
        &[
            "python3 --version",
            "python3 -m unittest",
            "python3 -m unittest no_such_module",
            "python3 -c 'import summing; print(summing.add(1, 2))'",
            "python3 -m compileall -q .",
            "python3 -m venv --without-pip venv",
            "./venv/bin/python -c 'print(1)'",
            "python3 -m json.tool missing.json",
            "python3 no-such-file.py",
        ],
    ),
    (
        "make",
        "make",
        &[
            "make",
            "make check",
            "make -j4 clean check",
            "make fail",
            "make -n",
            "make no-such-target",
            "make clean",
            "awk '{print}' numbers.txt | sort -r | head -1",
            "grep -rn 2 .",
            "find . -name '*.txt' | wc -l",
            "sed -i s/3/4/ numbers.txt && cat numbers.txt",
            "tar -cf all.tar Makefile numbers.txt && tar -tf all.tar",
            "diff Makefile numbers.txt",
            "test -f missing",
            "cp numbers.txt copy.txt && mv copy.txt moved.txt && rm moved.txt",
            "mkdir -p a/b && touch a/b/c && rm -r a",
        ],
    ),
    (
        "git",
        "git",
        &[
            "git status --short",
            "echo two > two.txt && git add two.txt",
            "git diff --cached --stat",
            "git commit -qm two",
            "git log --oneline",
            "git switch -qc topic",
            "echo three >> two.txt && git commit -qam three",
            "git switch -q -",
            "git merge -q topic",
            "git stash list",
            "echo x >> two.txt && git stash -q && git stash pop -q",
            "git checkout -q -- two.txt",
            "git show --stat HEAD",
            "git blame two.txt",
            "git tag v1",
            "git rev-parse HEAD~99",
            "git grep two",
            "git ls-files",
            "git clean -nd",
            "git mv two.txt 2.txt",
            "git reset -q --hard",
        ],
    ),
];

#[test]
fn ordinary_commands_exit_in_the_sandbox_as_they_do_outside() {
    let (mut n_commands, mut different) = (0, Vec::new());
    for (project, program, commands) in PROJECTS {
        if run_outside(Path::new("/"), &format!("command -v {program} && {program} --version")) != 0
        {
            not_run(&format!("`{program}` is not installed"));
            continue;
        }
        let (outside, inside) = (prepared(project), prepared(project));
        for command in commands {
            let expected = run_outside(&outside.path(""), command);
            let ran = inside.behind(&[], &["sandbox", "--", "/bin/bash", "-c", command]).unwrap();
            assert!(!ran.stderr.contains("allows no namespaces"), "{}", ran.shown());
            n_commands += 1;
            if ran.code != expected {
                different.push(format!("{command}: {expected} outside; inside {}", ran.shown()));
            }
        }
    }
    assert_eq!(different, Vec::<String>::new(), "of {n_commands} commands");
}

/// A house with the files of a project, whose user is the one that runs the tests: tool chains are
/// installed in that home.
fn prepared(project: &str) -> House {
    let mut house = House::new();
    for name in ["HOME", "PATH", "CARGO_HOME", "RUSTUP_HOME", "PYENV_ROOT"] {
        if let Ok(value) = std::env::var(name) {
            house.set(name, &value);
        }
    }
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/projects").join(project);
    if source.is_dir() {
        copy(&source, &house.path(""));
    } else {
        house.write("one.txt", "one\n");
        let begin = "git init -q && git config user.email a@example.org && git config user.name A \
                     && git add one.txt && git commit -qm one";
        assert_eq!(run_outside(&house.path(""), begin), 0);
    }
    house
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn run_outside(folder: &Path, command: &str) -> i32 {
    let mut bash = Command::new("/bin/bash");
    bash.args(["-c", command]).current_dir(folder).stdin(Stdio::null());
    bash.output().unwrap().status.code().unwrap_or(-1)
}
