//! What git would do.

use super::options::is_given_by;
use super::{Finding, ProgramCall, RiskKind, finding};
use crate::bundles::has_letter;

/// Subcommands that change nothing outside the repository and lose nothing that cannot be found
/// again.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "add", "annotate", "apply", "archive", "blame", "bundle", "cat-file", "check-attr",
    "check-ignore", "check-mailmap", "check-ref-format", "cherry", "cherry-pick", "commit",
    "commit-graph", "count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree",
    "for-each-ref", "format-patch", "fsck", "grep", "hash-object", "help", "init", "log",
    "ls-files", "ls-tree", "merge", "merge-base", "merge-tree", "mv", "name-rev", "range-diff",
    "reflog", "rev-list", "rev-parse", "revert", "shortlog", "show", "show-branch", "show-ref",
    "status", "stripspace", "switch", "symbolic-ref", "var", "verify-commit", "verify-tag",
    "version", "whatchanged", "write-tree", "--version",
];

#[rustfmt::skip]
const NETWORK: &[&str] = &[
    "clone", "fetch", "ls-remote", "pull", "push", "remote-update", "request-pull", "send-email",
];

/// Subcommands that lose changes or history.
#[rustfmt::skip]
const DESTRUCTIVE: &[&str] = &[
    "clean", "rm", "gc", "prune", "filter-branch", "update-ref", "replace", "rebase",
];

/// What makes `checkout` write over files of the project.
#[rustfmt::skip]
const CHECKOUT_LOSES: &[&str] = &[
    "--force", "--", ".", "--ours", "--theirs", "--patch", "--pathspec-from-file",
];

/// Options before the subcommand that only change what is printed, or where.
#[rustfmt::skip]
const GLOBAL_FLAGS: &[&str] = &[
    "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs",
];

pub(super) fn risk(command: &ProgramCall<'_>) -> Option<Finding> {
    let mut arguments = command.arguments.iter().map(String::as_str);
    let subcommand = loop {
        match arguments.next() {
            None | Some("--help") => return None,
            Some("-C") => {
                arguments.next();
            }
            Some(flag) if GLOBAL_FLAGS.contains(&flag) => (),
            Some("--version") => break "--version",
            // `-c`, `--exec-path`, `--git-dir`, `--config-env`, `-p`: each can name programs.
            Some(option) if option.starts_with('-') => {
                return finding(RiskKind::RunsOther, option);
            }
            Some(subcommand) => break subcommand,
        }
    };
    let rest: Vec<&str> = arguments.collect();
    if let Some(option) = rest.iter().find(|it| runs_programs(it)) {
        return finding(RiskKind::RunsOther, option);
    }
    let word = format!("git {subcommand}");
    // A reason to ask counts also shortened, as git allows it; a reason not to ask does not.
    let has =
        |options: &[&str]| rest.iter().any(|it| options.iter().any(|option| is_option(option, it)));
    let has_exactly = |options: &[&str]| rest.iter().any(|it| options.contains(it));
    let letters =
        |letters: &str, valued: &str| rest.iter().any(|it| has_letter(it, letters, valued));
    let first = rest.first().copied();
    let kind = match subcommand {
        _ if NETWORK.contains(&subcommand) => RiskKind::Network,
        _ if DESTRUCTIVE.contains(&subcommand) => RiskKind::Destructive,
        "reset" if has(&["--hard", "--merge", "--keep"]) => RiskKind::Destructive,
        "switch" if letters("fC", "c") || has(&["--force", "--discard-changes"]) => {
            RiskKind::Destructive
        }
        "checkout" if letters("fBp", "b") || has(CHECKOUT_LOSES) => RiskKind::Destructive,
        // Patterns of git's own, which the shell leaves alone.
        "checkout" if rest.iter().any(|it| it.starts_with(':') || it.contains(['*', '?', '['])) => {
            RiskKind::Destructive
        }
        // With paths after a name it takes them from there.
        "checkout" if rest.iter().filter(|it| !it.starts_with('-')).count() > 2 => {
            RiskKind::Destructive
        }
        "checkout" if first.is_some_and(|it| it.contains('.') || it.ends_with('/')) => {
            RiskKind::Destructive
        }
        "restore" if !has_exactly(&["--staged", "-S"]) || has(&["--worktree", "-W"]) => {
            RiskKind::Destructive
        }
        "branch" if letters("DdfMC", "u") || has(&["--delete", "--force"]) => RiskKind::Destructive,
        "tag" if letters("df", "mFun") || has(&["--delete", "--force"]) => RiskKind::Destructive,
        "merge" | "cherry-pick" | "revert" if has(&["--abort"]) => RiskKind::Destructive,
        "apply" | "am" if !only_tells(&rest) => RiskKind::UnnamedFiles,
        "stash" if has(&["drop", "clear"]) => RiskKind::Destructive,
        "worktree" if has(&["remove", "prune"]) => RiskKind::Destructive,
        "reflog" if has(&["expire", "delete"]) => RiskKind::Destructive,
        "commit" | "merge" | "revert" | "cherry-pick" if has(&["--edit", "-e"]) => {
            RiskKind::RunsOther
        }
        "config" if has_exactly(&["--get", "--list", "-l", "--get-all", "get", "list"]) => {
            return None;
        }
        "remote" if matches!(first, None | Some("-v" | "get-url")) => return None,
        "submodule" if matches!(first, None | Some("status" | "summary")) => return None,
        "bisect" if !has(&["run", "visualize", "view"]) => return None,
        "notes" | "worktree" | "stash" | "branch" | "tag" | "checkout" | "restore" | "reset"
        | "sparse-checkout" | "am" => return None,
        _ if HARMLESS.contains(&subcommand) => return None,
        "remote" | "submodule" => RiskKind::Network,
        _ => RiskKind::RunsOther,
    };
    finding(kind, &word)
}

/// Whether `apply` and `am`, which change the files that a patch names, are to change none.
fn only_tells(arguments: &[&str]) -> bool {
    let tells = |it: &&str| {
        let of_apply = matches!(*it, "--check" | "--stat" | "--numstat" | "--summary");
        of_apply || matches!(*it, "--abort" | "--quit" | "--show-current-patch")
    };
    let changes = ["--apply", "--index", "--cached"];
    let changes = |it: &&str| changes.iter().any(|option| is_option(option, it));
    arguments.iter().any(tells) && !arguments.iter().any(changes)
}

/// Options of subcommands that name a program.
fn runs_programs(word: &str) -> bool {
    let options = [
        "--ext-diff",
        "--textconv",
        "--open-files-in-pager",
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "-x",
        "--remote",
        "--template",
        "--tool",
        "-s=",
        "--strategy",
        "--gpg-sign",
    ];
    // `git grep -Oless`
    options.iter().any(|it| is_option(it, word)) || word.starts_with("-O")
}

/// Letters stand alone here: `-n3` is not `-n` with a value to be feared.
fn is_option(option: &str, word: &str) -> bool {
    if option.starts_with("--") { is_given_by(option, word) } else { option == word }
}
