//! The owner's rules: `tool` or `tool(pattern)`.
//!
//! For `exec_shell` the pattern is the beginning of a command, word by word, with `*` at its end for
//! any further words; for tools with a path it is a pattern of paths, for tools with an address one
//! of hosts.

use kith_shell::facts::{PathIntent, SegmentFacts};
use kith_shell::programs::base_name;
use kith_shell::risks::{RiskKind, inner_argv, risks};

use super::CallFacts;
use super::commands::may_be_meant;
use super::globs::{matches_path, matches_text};

/// Tools that show what files hold or what they are called. A rule that denies or asks about paths of one
/// holds for all.
const READING: [&str; 3] = ["read_file", "search_files", "list_files"];
/// Tools that change files, likewise.
const WRITING: [&str; 2] = ["write_file", "edit_file"];

pub const RULE_CHARS_MAX: usize = 500;

/// What calls may do without a rule that says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JudgeMode {
    #[default]
    Ask,
    /// Nothing but reading.
    Readonly,
    /// As `ask`, but what a permission could cover is not asked about.
    Trusted,
    Deny,
}

/// All rules in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSet {
    pub mode: JudgeMode,
    pub deny: Vec<PolicyRule>,
    pub ask: Vec<PolicyRule>,
    pub allow: Vec<PolicyRule>,
    /// Hosts that may be reached.
    pub hosts: Vec<String>,
    /// Why some rules cannot be read. Then every call that does more than read is asked about.
    pub problem: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRule {
    /// As the owner wrote it.
    pub text: String,
    tool: String,
    pattern: Option<String>,
}

impl PolicyRule {
    /// Reads a rule; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<PolicyRule, String> {
        let trimmed = text.trim();
        if trimmed.chars().count() > RULE_CHARS_MAX {
            return Err(format!("a rule has at most {RULE_CHARS_MAX} characters"));
        }
        let (tool, pattern) = match trimmed.split_once('(') {
            None => (trimmed, None),
            Some((tool, rest)) => {
                let pattern =
                    rest.strip_suffix(')').ok_or("the rule does not end with `)`")?.trim();
                if pattern.is_empty() {
                    return Err("the rule has nothing between `(` and `)`".to_owned());
                }
                (tool.trim(), Some(pattern.to_owned()))
            }
        };
        let is_name = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '_' | '-' | '.');
        if tool.is_empty() || !tool.chars().all(is_name) {
            let example = "`exec_shell(git push *)`, `write_file(docs/**)` or `fetch_url`";
            return Err(format!("a rule is a tool with or without a pattern, such as {example}"));
        }
        Ok(PolicyRule { text: trimmed.to_owned(), tool: tool.to_owned(), pattern })
    }

    /// Whether the rule speaks of the call or of any part of it. Where that cannot be told, it does:
    /// this is for rules that make the verdict stricter.
    pub(super) fn covers_any(&self, tool: &str, facts: &CallFacts) -> bool {
        if self.tool != tool {
            return self.covers_path_of(tool, facts);
        }
        let Some(pattern) = &self.pattern else { return true };
        match facts {
            CallFacts::Shell(shell) => may_be_meant(pattern, shell),
            CallFacts::Path(facts) => matches_path(pattern, &facts.path),
            CallFacts::Network(facts) => {
                matches_text(pattern, &facts.host) || matches_text(pattern, &facts.url)
            }
            CallFacts::Other { path } => path.as_ref().is_none_or(|it| matches_path(pattern, it)),
        }
    }

    /// Whether a rule about paths of one tool speaks of a path of another, which would do the same
    /// with it.
    fn covers_path_of(&self, tool: &str, facts: &CallFacts) -> bool {
        let Some(pattern) = &self.pattern else { return false };
        let (reads, writes) = (READING.contains(&&*self.tool), WRITING.contains(&&*self.tool));
        // What is said of a folder is said of what lies in it.
        let is_in = |path: &str| {
            matches_path(pattern, path)
                || matches_path(pattern, &format!("{}/x", path.trim_end_matches('/')))
        };
        match facts {
            CallFacts::Shell(shell) => {
                let mut paths = shell.segments.iter().flat_map(|it| &it.paths);
                paths.any(|it| {
                    (reads || (writes && it.intent > PathIntent::Read)) && is_in(&it.path)
                })
            }
            CallFacts::Path(facts) => writes && WRITING.contains(&tool) && is_in(&facts.path),
            CallFacts::Other { path: Some(path) } => {
                let is_same =
                    (reads && READING.contains(&tool)) || (writes && WRITING.contains(&tool));
                is_same && is_in(path)
            }
            CallFacts::Other { path: None } | CallFacts::Network(_) => false,
        }
    }

    /// Whether the rule speaks of some calls of a tool and not of others.
    pub(super) fn has_pattern_for(&self, tool: &str) -> bool {
        let is_of_paths =
            READING.contains(&self.tool.as_str()) || WRITING.contains(&self.tool.as_str());
        self.pattern.is_some() && (self.tool == tool || (is_of_paths && tool == "exec_shell"))
    }

    /// Whether the rule permits what the call, or this segment of it, does. It never permits code
    /// that is not certain.
    pub(super) fn covers(&self, tool: &str, facts: &CallFacts, segment: Option<usize>) -> bool {
        if self.tool != tool {
            return false;
        }
        match (facts, &self.pattern) {
            (CallFacts::Shell(shell), pattern) => {
                let segment = segment.and_then(|at| shell.segments.get(at));
                segment.is_some_and(|it| {
                    let is_certain = risks(it).iter().all(|it| {
                        it.kind == RiskKind::UnknownProgram || !it.kind.runs_other_code()
                    });
                    is_certain && pattern.as_ref().is_none_or(|pattern| is_command(pattern, it))
                })
            }
            (_, None) => true,
            (CallFacts::Path(facts), Some(pattern)) => matches_path(pattern, &facts.path),
            (CallFacts::Network(facts), Some(pattern)) => matches_text(pattern, &facts.host),
            (CallFacts::Other { .. }, Some(_)) => false,
        }
    }

    /// Whether the rule matches an example of the owner's: a command, a path or a host.
    pub fn matches_example(&self, example: &str) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        if self.tool == "exec_shell" {
            let script = kith_shell::parse::parse(example);
            return script.segments.iter().any(|segment| {
                let argv: Vec<String> = segment.words.iter().map(|it| it.text.clone()).collect();
                let start = kith_shell::wrappers::inner(&argv).start;
                is_argv(pattern, &argv) || is_argv(pattern, argv.get(start..).unwrap_or_default())
            });
        }
        matches_path(pattern, example) || matches_text(pattern, example)
    }
}

fn is_command(pattern: &str, segment: &SegmentFacts) -> bool {
    is_argv(pattern, &segment.argv) || is_argv(pattern, inner_argv(segment))
}

fn is_argv(pattern: &str, argv: &[String]) -> bool {
    let mut words = pattern.split_whitespace().peekable();
    let mut arguments = argv.iter().enumerate();
    while let Some(word) = words.next() {
        if word == "*" && words.peek().is_none() {
            return true;
        }
        let Some((at, argument)) = arguments.next() else { return false };
        let name = if at == 0 { base_name(argument) } else { argument };
        if !matches_text(word, name) && !matches_text(word, argument) {
            return false;
        }
    }
    arguments.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: &str, example: &str, expected: bool) {
        assert_eq!(PolicyRule::parse(rule).unwrap().matches_example(example), expected, "{rule}");
    }

    #[test]
    fn a_command_is_matched_word_by_word() {
        check("exec_shell(git push *)", "git push origin main", true);
        check("exec_shell(git push *)", "git push", true);
        check("exec_shell(git push)", "git push origin", false);
        check("exec_shell(git push *)", "git pushy", false);
        check("exec_shell(rm *)", "ls && /bin/r\"m\" -r x", true);
        check("exec_shell(rm *)", "timeout 5 rm x", true);
        check("exec_shell(rm *)", "echo rm", false);
        check("write_file(docs/**)", "/w/docs/a.md", true);
        check("fetch_url(*.example.org)", "a.example.org", true);
        check("read_file", "anything", true);
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in ["", "exec_shell(", "exec_shell()", "a b", "x(y", "(y)", "rm -rf"] {
            assert!(PolicyRule::parse(text).is_err(), "{text}");
        }
    }
}
