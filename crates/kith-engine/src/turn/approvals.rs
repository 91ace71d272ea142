//! Questions to a person about calls: asked, and told what changed when an approved call is another
//! than the one that was asked about.

use kith_vocab::block::ToolCall;
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::Body;
use kith_vocab::event::calls::{ApprovalRequested, Effect, Grant, Sandbox};
use kith_vocab::event::messages::Trust;
use kith_vocab::ids::CallId;
use kith_vocab::json::Json;
use serde_json::Value;

use super::{TurnContext, calls};
use crate::judge::grants::{GrantScope, scope_to_offer};
use crate::judge::parts_to_ask_about;
use crate::question::{risk_text, with_parts};
use crate::reply::{GrantWish, PendingApproval};
use crate::session::Session;
use crate::state::calls::CallProgress;
use crate::state::turn::Turn;
use crate::words::{RefusalText, is_chinese};

/// How long a question waits for an answer, unless it is configured.
pub const APPROVAL_EXPIRES_MS: u64 = 24 * 60 * 60 * 1000;
/// Differences that a refusal names.
const DIFFERENCES_SHOWN_MAX: usize = 3;
/// Digits and letters that nobody takes for one another, and no vowels, so that a code is no word.
const CODE_ALPHABET: &[u8; 28] = b"23456789BCDFGHJKLMNPQRSTVWXZ";
const CODE_CHARS: usize = 3;

/// Who may answer questions, and for how long they wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalSetup {
    pub expires_ms: u64,
    /// User ids; without any it is the author of the message, if that is the owner.
    pub approvers: Vec<String>,
    /// Whether a turn that nobody attends asks too; the question then waits in the list.
    pub asks_unattended: bool,
}

impl ApprovalSetup {
    /// Whether a question of a turn can be answered at all.
    pub(crate) fn has_someone(&self, is_attended: bool) -> bool {
        is_attended || self.asks_unattended
    }
}

impl Default for ApprovalSetup {
    fn default() -> ApprovalSetup {
        ApprovalSetup {
            expires_ms: APPROVAL_EXPIRES_MS,
            approvers: Vec::new(),
            asks_unattended: false,
        }
    }
}

/// Asks about each call, or refuses it if nobody is there who may answer.
pub(super) fn ask(session: &mut Session, ctx: &TurnContext, calls: &[ToolCall]) {
    for call in calls {
        let Some(turn) = &session.state().turn else { return };
        match question(session, ctx, turn, call.call_id) {
            Ok(asked) => {
                session.stage(Body::ApprovalRequested(asked));
            }
            Err(reason) => {
                let reason = reason.in_language(&turn.language);
                calls::refuse(session, call, reason);
            }
        }
    }
}

fn question(
    session: &Session,
    ctx: &TurnContext,
    turn: &Turn,
    call_id: CallId,
) -> Result<ApprovalRequested, RefusalText> {
    let approvers = approvers(ctx, turn);
    if !ctx.setup.approvals.has_someone(turn.attended) || approvers.is_empty() {
        return Err(RefusalText::NobodyToAsk);
    }
    let unknown = RefusalText::UnknownDeed;
    let progress = turn.calls.get(call_id).ok_or(unknown)?;
    let facts = progress.facts.as_ref().and_then(|facts| facts.read::<Value>().ok());
    let facts = facts.unwrap_or(Value::Null);
    let text = |key: &str| facts.get(key).and_then(Value::as_str).map(str::to_owned);
    let parts = progress.facts.as_ref().map(|it| parts_to_ask_about(it, &turn.language));
    let reason = with_parts(&progress.reason, &parts.unwrap_or_default(), &turn.language);
    let approval_id = format!("ap_{call_id}");
    let taken: Vec<&str> = turn.calls.questions().map(|it| it.code.as_str()).collect();
    Ok(ApprovalRequested {
        code: code_of(&approval_id, &taken),
        approval_id,
        call_id,
        thread_id: session.header().thread_id.clone(),
        summary: text("summary").unwrap_or_else(|| progress.call.tool_meant()).into(),
        command: text("command").map(Into::into),
        paths: paths_of(&facts),
        digest: progress.digest.clone().ok_or(unknown)?,
        risk: risk_text(
            progress.effect.unwrap_or(Effect::Oneself),
            progress.sandbox.unwrap_or(Sandbox::None),
            &reason,
            &turn.language,
        )
        .into(),
        approvers,
        expires_at: session.now().saturating_add(ctx.setup.approvals.expires_ms),
    })
}

fn approvers(ctx: &TurnContext, turn: &Turn) -> Vec<String> {
    let configured = &ctx.setup.approvals.approvers;
    if configured.is_empty() && turn.trust == Trust::Owner {
        return vec![turn.author.user_id.clone()];
    }
    configured.clone()
}

fn paths_of(facts: &Value) -> Vec<String> {
    let one = facts.get("path").and_then(Value::as_str);
    let many = facts.get("paths").and_then(Value::as_array).into_iter().flatten();
    let many = many.filter_map(|it| it.as_str().or_else(|| it.get("path")?.as_str()));
    let segments = facts.get("segments").and_then(Value::as_array).into_iter().flatten();
    let of_segment = |it: &'_ Value| it.get("paths").and_then(Value::as_array).cloned();
    let in_shell = segments.filter_map(of_segment).flatten();
    let in_shell = in_shell.filter_map(|it| it.get("path")?.as_str().map(str::to_owned));
    let address = facts.get("url").and_then(Value::as_str);
    let mut paths: Vec<String> =
        one.into_iter().chain(many).chain(address).map(str::to_owned).chain(in_shell).collect();
    paths.dedup();
    paths
}

/// A short name of the approval that a person can type. It follows from the id, so that a replay
/// gives the same.
fn code_of(approval_id: &str, taken: &[&str]) -> String {
    let mut seed = approval_id.to_owned();
    for _ in 0..100 {
        let hash = sha256_hex(seed.as_bytes());
        let code: String = hash.as_bytes()[..CODE_CHARS * 2]
            .chunks(2)
            .map(|pair| {
                let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as usize;
                char::from(CODE_ALPHABET[(digit(pair[0]) * 16 + digit(pair[1])) % 28])
            })
            .collect();
        // With a digit and a letter it is neither a number nor an abbreviation.
        let is_mixed = code.chars().any(|ch| ch.is_ascii_digit())
            && code.chars().any(|ch| ch.is_ascii_alphabetic());
        if is_mixed && !taken.contains(&code.as_str()) {
            return code;
        }
        seed = hash;
    }
    approval_id.to_owned()
}

/// The question as far as a reply can name it.
pub fn pending_of(asked: &ApprovalRequested, tool: &str) -> PendingApproval {
    PendingApproval {
        approval_id: asked.approval_id.clone(),
        code: asked.code.clone(),
        tool: tool.to_owned(),
        summary: asked.summary.to_string(),
        command: asked.command.as_ref().map(ToString::to_string),
        paths: asked.paths.clone(),
    }
}

/// The grant that a wish comes to, if one may stand for this call. It is never wider than what was
/// asked about, whatever the words.
pub(crate) fn grant_of(
    progress: &CallProgress,
    is_tainted: bool,
    wish: &GrantWish,
    grant_id: String,
    now: u64,
) -> Option<Grant> {
    let expires_at = now.saturating_add(u64::from(wish.minutes) * 60_000);
    let none = Grant { grant_id, argv_prefix: None, path: None, host: None, expires_at };
    let effects: Vec<Effect> = progress.effect.into_iter().collect();
    match scope_to_offer(&effects, progress.facts.as_ref()?, is_tainted)? {
        GrantScope::Command { argv, cwd } => {
            let is_meant = !wish.pattern.is_empty() && argv.starts_with(&wish.pattern);
            is_meant.then_some(Grant { argv_prefix: Some(argv), path: Some(cwd), ..none })
        }
        GrantScope::Path(path) => Some(Grant { path: Some(path), ..none }),
        GrantScope::Host(host) => Some(Grant { host: Some(host), ..none }),
    }
}

/// The wish to have the whole of what was asked about allowed for a while.
pub(crate) fn whole_wish(asked: &ApprovalRequested, minutes: u32) -> GrantWish {
    let words = asked.command.as_ref().map(|it| it.split_whitespace().map(str::to_owned).collect());
    let pattern = words.unwrap_or_else(|| asked.paths.first().cloned().into_iter().collect());
    GrantWish { pattern, minutes }
}

/// What of a call differs from what a person allowed, in words.
pub(super) fn differences(allowed: Option<&Json>, now: &Json, language: &str) -> String {
    let before = allowed.and_then(|it| it.read::<Value>().ok()).unwrap_or(Value::Null);
    let after = now.read::<Value>().unwrap_or(Value::Null);
    let mut names = Vec::new();
    compare(&before, &after, "", &mut names);
    names.retain(|name| name != "summary" && !name.starts_with("diff"));
    names.dedup();
    names.truncate(DIFFERENCES_SHOWN_MAX);
    let what = RefusalText::Changed.in_language(language);
    match (names.is_empty(), is_chinese(language)) {
        (true, _) => what.to_owned(),
        (false, true) => format!("{what}：{}", names.join("、")),
        (false, false) => format!("{what}: {}", names.join(", ")),
    }
}

fn compare(allowed: &Value, now: &Value, name: &str, names: &mut Vec<String>) {
    let join = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name} {key}") };
    match (allowed, now) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                compare(value, new.get(key).unwrap_or(&Value::Null), &join(key), names);
            }
            for key in new.keys().filter(|key| !old.contains_key(*key)) {
                names.push(join(key));
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (entry, now) in old.iter().zip(new) {
                match entry.get("path").and_then(Value::as_str) {
                    // A person knows a file by its path, whatever of it has changed.
                    Some(path) if entry != now => names.push(format!("`{path}`")),
                    Some(_) => (),
                    None => compare(entry, now, name, names),
                }
            }
        }
        _ if allowed != now => names.push(name.to_owned()),
        _ => (),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_difference_is_named_by_the_file_or_the_fact() {
        let check = |before: Value, after: Value, told: &str| {
            assert_eq!(differences(Some(&Json::of(&before)), &Json::of(&after), "en"), told);
        };
        let what = "what it would act on has changed since it was allowed";
        check(json!({"a": 1}), json!({"a": 1}), what);
        check(
            json!({"executable": "x"}),
            json!({"executable": "y"}),
            &format!("{what}: executable"),
        );
        let files = |hash: &str| json!({"files": [{"path": "a.txt", "sha256": hash}]});
        check(files("1"), files("2"), &format!("{what}: `a.txt`"));
    }

    #[test]
    fn a_code_is_short_mixed_and_not_taken() {
        let first = code_of("ap_x", &[]);
        let second = code_of("ap_x", &[&first]);
        assert_ne!(first, second);
        for code in [first, second] {
            assert_eq!(code.len(), CODE_CHARS);
            assert!(code.bytes().all(|byte| CODE_ALPHABET.contains(&byte)), "{code}");
        }
    }
}
