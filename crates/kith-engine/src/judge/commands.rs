//! Whether a rule that denies or asks may be about a command, in whatever way that is written.
//!
//! `git push` is also `git -C . push`, `/usr/bin/git --no-pager push`, `env git push` and
//! `bash -c 'git push'`. Such a rule is stricter than it needs to be rather than blind.

use kith_shell::facts::{SegmentFacts, ShellFacts};
use kith_shell::programs::base_name;
use kith_shell::risks::may_run_arguments;
use kith_shell::rough;

use super::globs::matches_text;

/// How deep commands are looked for in the arguments of others.
const COMMAND_DEPTH_MAX: usize = 3;

/// A command of more words counts as the one that is looked for: to look for it among the words takes
/// time that grows with their square.
const COMMAND_WORDS_MAX: usize = 2_000;

/// Letters of options with the long form that nearly all programs have for them.
const LONG_FORMS: [(char, &str); 3] = [('f', "force"), ('r', "recursive"), ('R', "recursive")];

/// Whether the pattern of a rule may be about any command of the script.
pub(super) fn may_be_meant(pattern: &str, shell: &ShellFacts) -> bool {
    let is_hidden = shell.obstacles.iter().any(|it| it.kind.hides_the_rest());
    shell.segments.iter().any(|it| is_in_segment(pattern, it))
        || (is_hidden && is_in_text(pattern, &shell.command, COMMAND_DEPTH_MAX))
}

fn is_in_segment(pattern: &str, segment: &SegmentFacts) -> bool {
    is_in_words(pattern, &segment.argv, &segment.replaced, COMMAND_DEPTH_MAX)
}

fn is_in_text(pattern: &str, text: &str, depth: usize) -> bool {
    rough::commands(text).iter().any(|argv| is_in_words(pattern, argv, &[], depth))
}

fn is_in_words(pattern: &str, argv: &[String], replaced: &[usize], depth: usize) -> bool {
    let Some(program) = argv.first() else { return false };
    if is_command(pattern, argv, replaced) {
        return true;
    }
    if depth == 0 || !may_run_arguments(program) {
        return false;
    }
    if argv.len() > COMMAND_WORDS_MAX {
        return true;
    }
    (1..argv.len()).any(|start| {
        let later: Vec<usize> = replaced.iter().filter_map(|at| at.checked_sub(start)).collect();
        is_command(pattern, &argv[start..], &later)
            || (argv[start].contains(char::is_whitespace)
                && is_in_text(pattern, &argv[start], depth - 1))
    })
}

/// Whether the words of the pattern come in this order, with options and their values in between.
fn is_command(pattern: &str, argv: &[String], replaced: &[usize]) -> bool {
    let mut words = pattern.split_whitespace();
    let (Some(first), Some((program, arguments))) = (words.next(), argv.split_first()) else {
        return false;
    };
    let words: Vec<&str> = words.collect();
    if first == "*" && words.is_empty() {
        return true;
    }
    if !matches_text(first, base_name(program)) && !matches_text(first, program) {
        return false;
    }
    let is_replaced = |at: usize| replaced.contains(&(at + 1));
    // The places at which the next word of the pattern may stand.
    let mut places = vec![false; arguments.len() + 1];
    places[0] = true;
    for (n, word) in words.iter().enumerate() {
        if *word == "*" && n + 1 == words.len() {
            return places.contains(&true);
        }
        skip_options(&mut places, arguments);
        let mut next = vec![false; arguments.len() + 1];
        for (at, argument) in arguments.iter().enumerate().filter(|(at, _)| places[*at]) {
            if is_replaced(at) {
                return true;
            }
            next[at + 1] |= matches_text(word, argument);
        }
        if word.starts_with('-') && has_option(word, arguments) {
            next.iter_mut().zip(&places).for_each(|(next, place)| *next |= place);
        }
        places = next;
    }
    places[arguments.len()]
}

fn skip_options(places: &mut [bool], arguments: &[String]) {
    for (at, argument) in arguments.iter().enumerate() {
        if places[at] && argument.starts_with(['-', '+']) {
            places[at + 1] = true;
            // The next word may be the value of this one.
            if let Some(place) = places.get_mut(at + 2) {
                *place = true;
            }
        }
    }
}

/// Whether an option is given in any form: `-rf` as `-fr`, `-r -f` or `--recursive --forc`.
fn has_option(option: &str, arguments: &[String]) -> bool {
    let is_long = |name: &str| {
        arguments.iter().filter_map(|it| it.strip_prefix("--")).any(|it| {
            let given = it.split('=').next().unwrap_or(it);
            !given.is_empty() && name.starts_with(given)
        })
    };
    if let Some(name) = option.strip_prefix("--") {
        return is_long(name);
    }
    let has_letter = |letter: char| {
        let mut bundles =
            arguments.iter().filter(|it| it.starts_with('-') && !it.starts_with("--"));
        let long = LONG_FORMS.iter().find(|(it, _)| *it == letter);
        bundles.any(|it| it.contains(letter)) || long.is_some_and(|(_, name)| is_long(name))
    };
    option.chars().skip(1).all(has_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, command: &str, expected: bool) {
        let argv: Vec<String> = command.split(' ').map(|it| it.replace('_', " ")).collect();
        assert_eq!(is_in_words(pattern, &argv, &[], COMMAND_DEPTH_MAX), expected, "{command}");
    }

    #[test]
    fn a_command_is_found_in_every_way_to_write_it() {
        for command in [
            "git push",
            "git push origin",
            "git -C . push",
            "git --no-pager -c a=b push -f",
            "/usr/bin/git --git-dir x push",
            "env A=1 git push",
            "env -i git push",
            "sudo -u me git -C . push",
            "bash -c git_push",
            "sh -c ls;_git_-C_x_push",
            "xargs git push",
            "find . -exec git push ;",
            "frobnicate git push",
            "watch -n 5 git_push",
            "eval git_push",
            "timeout 5 bash -c env_git_push",
        ] {
            check("git push *", command, true);
        }
        for command in ["git commit -m push", "echo git push", "grep git push", "git pushy", "ls"] {
            check("git push *", command, false);
        }
    }

    #[test]
    fn a_command_of_too_many_words_is_any_command() {
        let command = "frobnicate ".to_owned() + &"git -a ".repeat(9_000);
        check("git push *", &command, true);
        check("git push *", &format!("ls {command}"), false);
    }

    #[test]
    fn options_are_found_in_any_order_and_form() {
        for command in ["rm -rf x", "rm -fr x", "rm -r -f x", "rm x -r --force", "rm --rec --for x"]
        {
            check("rm -rf *", command, true);
        }
        check("rm -rf *", "rm -r x", false);
        check("git push --force *", "git push origin --forc", true);
        check("git push", "git push origin", false);
    }

    #[test]
    fn a_word_that_the_shell_replaces_may_be_any() {
        let argv: Vec<String> = ["git", "p*"].iter().map(|&it| it.to_owned()).collect();
        assert!(is_command("git push *", &argv, &[1]));
        assert!(!is_command("hg push *", &argv, &[1]));
    }
}
