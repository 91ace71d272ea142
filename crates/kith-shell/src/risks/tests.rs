use super::*;
use crate::facts::ProgramFacts;
use crate::script::Joint;

/// The kinds of risk of a command that is installed, without quotes in it.
fn kinds(argv: &[&str]) -> Vec<RiskKind> {
    let program =
        ProgramFacts { name: argv[0].to_owned(), path: None, place: ProgramPlace::System };
    let segment = SegmentFacts {
        joint: Joint::First,
        argv: argv.iter().map(|&it| it.to_owned()).collect(),
        replaced: Vec::new(),
        environment: Vec::new(),
        program,
        paths: Vec::new(),
    };
    risks(&segment).into_iter().map(|it| it.kind).collect()
}

#[track_caller]
fn check(command: &str, expected: &[RiskKind]) {
    let argv: Vec<&str> = command.split(' ').collect();
    assert_eq!(kinds(&argv), expected, "{command}");
}

#[test]
fn git_is_judged_by_its_subcommand_and_options() {
    for command in ["git", "git status", "git -C sub log -n 3", "git config --get x", "git stash"] {
        check(command, &[]);
    }
    for command in ["git reset --hard", "git clean -fd", "git restore x", "git branch -D x"] {
        check(command, &[RiskKind::Destructive]);
    }
    for command in ["git push", "git fetch", "git submodule update"] {
        check(command, &[RiskKind::Network]);
    }
    for command in ["git -c a=b log", "git --exec-path=x log", "git diff --ext-diff", "git frob"] {
        check(command, &[RiskKind::RunsOther]);
    }
    // Git takes options that are cut short.
    check("git reset --har", &[RiskKind::Destructive]);
    check("git diff --ext-d", &[RiskKind::RunsOther]);
    check("git fetch --upload=x", &[RiskKind::RunsOther]);
    check("git diff --text", &[]);
    check("git restore --stag x", &[RiskKind::Destructive]);
}

#[test]
fn a_patch_that_names_its_files_itself_is_asked_about() {
    for command in ["git apply x.patch", "git apply --check --apply x", "git am x.patch"] {
        check(command, &[RiskKind::UnnamedFiles]);
    }
    for command in ["patch -p1", "patch -p1 -i x.patch", "patch -d sub --input=x.patch"] {
        check(command, &[RiskKind::UnnamedFiles]);
    }
    for command in ["git apply --stat x.patch", "git am --abort", "patch --dry-run -p1"] {
        check(command, &[]);
    }
    check("patch src/a.rs x.patch", &[]);
}

#[test]
fn options_cut_short_are_the_options() {
    for command in
        ["sort --comp=./x f", "tar cf a.tar --checkpoint-a=exec=sh b", "split --filt=sh f"]
    {
        check(command, &[RiskKind::RunsOther]);
    }
    check("npm install --offl", &[RiskKind::Network]);
    check("cargo add x --offline", &[]);
}

#[test]
fn programs_that_run_their_arguments_are_known_as_such() {
    for command in [
        "hyperfine ls",
        "watch ls",
        "entr make",
        "parallel rm",
        "strace ls",
        "ltrace ls",
        "gdb x",
        "script x",
        "flock f ls",
        "chronic ls",
        "uvx ruff",
        "perf stat ls",
        "ionice ls",
    ] {
        check(command, &[RiskKind::Wrapper]);
    }
    for command in ["doas ls", "sudo ls", "pkexec ls"] {
        check(command, &[RiskKind::Privilege]);
    }
    check("cmake -E rm x", &[RiskKind::RunsOther]);
    check("cmake -P x.cmake", &[RiskKind::RunsOther]);
    check("poetry run sh -c id", &[RiskKind::InlineCode]);
    check("uv run python -c id", &[RiskKind::InlineCode]);
    check("timeout 5 nice setsid stdbuf -o0 bash -c id", &[RiskKind::InlineCode]);
    check("make -f x", &[RiskKind::RunsOther]);
    check("rustc -C linker=./x y.rs", &[RiskKind::RunsOther]);
    check("tar cIf sh a.tar b", &[RiskKind::RunsOther]);
    check("tar -xzf a.tar", &[RiskKind::Destructive]);
    check("tar xkf a.tar", &[]);
    check("tar czf out/x.tar.gz src", &[]);
}

#[test]
fn only_known_variables_are_free() {
    let kinds_with = |variable: &str| kinds(&["env", variable, "ls"]);
    for variable in ["CI=1", "RUST_BACKTRACE=full", "LC_ALL=C", "TZ=UTC", "PYTHONPATH=src:lib"] {
        assert_eq!(kinds_with(variable), [], "{variable}");
    }
    for variable in [
        "PATH=.",
        "LD_PRELOAD=x",
        "GIT_PAGER=x",
        "CC=./x",
        "FOO=1",
        "RUSTFLAGS=x",
        "TZ=/x",
        "LANG=../x",
        "PYTHONPATH=/x",
        "PYTHONPATH=../x",
        "BASH_ENV=x",
        "ENV=x",
        "GOFLAGS=-toolexec=x",
        "LESS=x",
    ] {
        assert_eq!(kinds_with(variable), [RiskKind::Environment], "{variable}");
    }
}

#[test]
fn scripts_of_sed_may_only_edit() {
    for script in ["s/a/b/g", "1,5p", "/x/d", "$!N;s/a/b/", "/a/,/b/{p;d}", "a text"] {
        assert_eq!(kinds(&["sed", "-n", script, "f"]), [], "{script}");
    }
    for script in ["1e id", "s/a/b/e", "w /x", "s/a/b/w x", "r x", "e", "s/a/b"] {
        assert_eq!(kinds(&["sed", script, "f"]), [RiskKind::InlineCode], "{script}");
        assert_eq!(kinds(&["sed", "-e", script, "f"]), [RiskKind::InlineCode], "{script}");
    }
}

#[test]
fn interpreters_run_files_and_no_text() {
    for command in ["python3 x.py", "python3 -m pytest", "bash x.sh", "node --test", "perl x.pl"] {
        check(command, &[]);
    }
    for command in
        ["python3 -W ignore x.py", "python3 -uB -Xdev x.py", "bash -eux -o pipefail x.sh"]
    {
        check(command, &[]);
    }
    for command in [
        "python3",
        "python3 -c x",
        "bash -c x",
        "sh",
        "node -e x",
        "perl -e x",
        "lua5.4 -e x",
        "python3 -W ignore -c x",
        "python3 -X dev -c x",
        "python3 -Bc x",
        "bash -ec x",
        "bash -s x",
        "bash -i",
        "node -r ./x y.js",
        "node --import x y.js",
        "perl -wne x f",
        "ruby -rsocket x.rb",
        "php -d a=b x.php",
        "python3 -m pty",
        "python3 -m timeit x",
        "python3 -",
        "bash -o pipefail -c x",
    ] {
        check(command, &[RiskKind::InlineCode]);
    }
}

#[test]
fn an_end_of_options_counts_for_the_command_that_it_is_given_to() {
    let has_options = |argv: &[&str]| {
        let segment = SegmentFacts {
            joint: Joint::First,
            argv: argv.iter().map(|&it| it.to_owned()).collect(),
            replaced: vec![argv.len() - 1],
            environment: Vec::new(),
            program: ProgramFacts {
                name: argv[0].to_owned(),
                path: None,
                place: ProgramPlace::System,
            },
            paths: Vec::new(),
        };
        risks(&segment).iter().any(|it| it.kind == RiskKind::Options)
    };
    // Only where a pattern begins with what may be a hyphen can it stand for an option.
    for (pattern, expected) in
        [("*", true), ("*.c", true), ("-*", true), ("[a]x", true), ("./*", false), ("src/*", false)]
    {
        assert_eq!(has_options(&["make", pattern]), expected, "{pattern}");
    }
    assert!(!has_options(&["make", "--", "*"]));
    assert!(!has_options(&["nice", "--", "make", "--", "*"]));
    assert!(has_options(&["nice", "--", "make", "*"]));
}

#[test]
fn a_script_of_sed_is_read_line_by_line() {
    let sed = |script: &str| kinds(&["sed", script, "f"]);
    assert_eq!(sed("a one\\\ntwo"), [RiskKind::InlineCode]);
    // To sed, the second line belongs to the text of the first, and the third is a command.
    assert_eq!(sed("a one\\\ns/\ne id\n# / /"), [RiskKind::InlineCode]);
    assert_eq!(sed("a one\\\n/\ne id\n/p"), [RiskKind::InlineCode]);
    assert_eq!(sed("s/a/b\\\nc/"), []);
}

#[test]
fn every_name_of_a_compiler_is_judged_alike() {
    for name in ["cc", "c++", "gcc", "g++"] {
        check(&format!("{name} -Wl,-plugin=x.so a.c"), &[RiskKind::RunsOther]);
    }
}
