//! What the front matter of `Agent.md` says about approvals.
//!
//! ```yaml
//! ---
//! approvals:
//!   ask: ["exec_shell(git push *)"]
//!   deny: ["write_file(secrets/**)"]
//! ---
//! ```
//!
//! The constitution may make the rules stricter, never laxer, so there is no `allow`.

use std::path::Path;

use serde::Deserialize;

use crate::error::HomeError;
use crate::priming::yaml;
use crate::prompt_file;

/// Maximum number of rules of each kind.
pub const APPROVAL_RULES_MAX: usize = 200;

/// The rules that an agent sets itself, as it wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalRules {
    pub ask: Vec<String>,
    pub deny: Vec<String>,
}

/// Why the rules cannot be read, in words that follow the name of the file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ApprovalRulesError {
    pub line: usize,
    pub message: String,
}

impl ApprovalRules {
    /// Reads the rules of the agent that lives here. Without any, there are none.
    pub fn read(home: &Path) -> Result<Result<ApprovalRules, ApprovalRulesError>, HomeError> {
        Ok(ApprovalRules::of(&prompt_file::read_text(&home.join("Agent.md"))?))
    }

    pub fn of(text: &str) -> Result<ApprovalRules, ApprovalRulesError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some(inside) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))
        else {
            return Ok(ApprovalRules::default());
        };
        let mut at = 0;
        let mut end = None;
        for line in inside.split_inclusive('\n') {
            if line.trim_end() == "---" {
                end = Some(at);
                break;
            }
            at += line.len();
        }
        // A line of dashes without another is a rule across the page, not front matter.
        let Some(end) = end else { return Ok(ApprovalRules::default()) };
        let refuse = |line: usize, message: String| ApprovalRulesError { line, message };
        let entries = yaml::read(&inside[..end], 2)
            .map_err(|error| refuse(error.line, error.problem.to_string()))?;
        let Some(entry) = entries.into_iter().find(|it| it.name == "approvals") else {
            return Ok(ApprovalRules::default());
        };
        let rules: ApprovalRules = entry.value.read().map_err(|_| {
            let message = "`approvals` may have `ask` and `deny`, each a list of rules; rules of \
                           `Agent.md` can only make the policy stricter";
            refuse(entry.line, message.to_owned())
        })?;
        if rules.ask.len().max(rules.deny.len()) > APPROVAL_RULES_MAX {
            let message = format!("`approvals` has more than {APPROVAL_RULES_MAX} rules of a kind");
            return Err(refuse(entry.line, message));
        }
        Ok(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_matter_names_rules_to_ask_and_to_deny() {
        let text = "---\nname: x\napprovals:\n  ask: [\"exec_shell(git push *)\"]\n  deny: [fetch_url]\n---\nHi\n";
        let rules = ApprovalRules::of(text).unwrap();
        assert_eq!(rules.ask, ["exec_shell(git push *)"]);
        assert_eq!(rules.deny, ["fetch_url"]);
    }

    #[test]
    fn without_front_matter_there_are_no_rules() {
        for text in ["", "# Agent\n", "---\nno end", "---\nname: x\n---\n"] {
            assert_eq!(ApprovalRules::of(text), Ok(ApprovalRules::default()), "{text}");
        }
    }

    #[test]
    fn rules_that_would_widen_or_cannot_be_read_are_refused() {
        for text in [
            "---\napprovals: {allow: [exec_shell]}\n---\n",
            "---\napprovals: yes\n---\n",
            "---\napprovals: {ask: exec_shell}\n---\n",
            "---\na: [\n---\n",
        ] {
            assert!(ApprovalRules::of(text).is_err(), "{text}");
        }
    }
}
