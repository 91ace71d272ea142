use super::*;
use crate::facts::ProgramFacts;

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
        ["python3", "python3 -c x", "bash -c x", "sh", "node -e x", "perl -e x", "lua5.4 -e x"]
    {
        check(command, &[RiskKind::InlineCode]);
    }
}
