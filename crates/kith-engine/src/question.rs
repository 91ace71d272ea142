//! The question that a person is asked about a call, in English and 简体中文.
//!
//! One place words it for every screen and channel: what will be done, on what, what can go wrong,
//! and how to answer. Nothing in it is left to the model alone, nothing is cut, and characters that
//! a reader would not see are spelled out.

use kith_vocab::event::calls::{ApprovalRequested, Effect, Sandbox};
use kith_vocab::invisible::visible;

use crate::reply::{PendingApproval, Unclear};
use crate::words::is_chinese;

/// A longer command, or one of more lines, is told of in the headline.
const GLANCE_CHARS_MAX: usize = 200;
const GLANCE_LINES_MAX: usize = 5;
/// A longer run of blanks is shown as a count.
const BLANKS_SHOWN_MAX: usize = 8;
/// A longer run of empty lines is shown as a count.
const EMPTY_LINES_SHOWN_MAX: usize = 1;

/// The whole question, as text of several lines.
pub fn question_text(asked: &ApprovalRequested, language: &str) -> String {
    let zh = is_chinese(language);
    let code = &asked.code;
    let mut lines = Vec::new();
    let summary = with_counted_blanks(&on_one_line(&asked.summary));
    let size = asked.command.as_deref().and_then(|it| size_text(it, zh));
    let more = match (&size, zh) {
        (None, _) => String::new(),
        (Some(size), true) => format!("（后面还有：命令共 {size}，请看完再答）"),
        (Some(size), false) => format!(" (more follows: the command has {size}; read all of it)"),
    };
    lines.push(if zh {
        format!("需要你批准 [{code}]：{summary}{more}")
    } else {
        format!("Approval needed [{code}]: {summary}{more}")
    });
    if let Some(command) = &asked.command {
        lines.push(match (size, zh) {
            (None, true) => "命令：".to_owned(),
            (None, false) => "Command:".to_owned(),
            (Some(size), true) => format!("命令（{size}）："),
            (Some(size), false) => format!("Command ({size}):"),
        });
        lines.extend(command_lines(command, zh).into_iter().map(|line| format!("    {line}")));
    }
    if !asked.paths.is_empty() {
        let paths: Vec<String> = asked.paths.iter().map(|path| on_one_line(path)).collect();
        let paths = paths.join(if zh { "、" } else { ", " });
        lines.push(if zh { format!("涉及：{paths}") } else { format!("On: {paths}") });
    }
    let risk = on_one_line(&asked.risk);
    lines.push(if zh { format!("风险：{risk}") } else { format!("Risk: {risk}") });
    lines.push(if zh {
        format!(
            "回复“同意”或“拒绝”（可附理由）；有多项时写上代码，例如“同意 {code}”。也可以用 `kith \
             approve {code}` 或 `kith deny {code}`。"
        )
    } else {
        format!(
            "Answer yes or no (a reason is welcome); with several questions add the code, as in \
             \"yes {code}\". Or use `kith approve {code}` or `kith deny {code}`."
        )
    });
    lines.join("\n")
}

/// How long a command is, if it cannot be read at a glance.
fn size_text(command: &str, zh: bool) -> Option<String> {
    let (n_chars, n_lines) = (command.chars().count(), command.lines().count());
    if n_chars <= GLANCE_CHARS_MAX && n_lines <= GLANCE_LINES_MAX {
        return None;
    }
    let lines = if n_lines == 1 { "line" } else { "lines" };
    Some(if zh {
        format!("{n_chars} 个字符、{n_lines} 行")
    } else {
        format!("{n_chars} characters in {n_lines} {lines}")
    })
}

/// The lines of a command. Blanks and empty lines that would push something out of sight are counted.
fn command_lines(command: &str, zh: bool) -> Vec<String> {
    let visible = visible(command);
    let all: Vec<&str> = visible.lines().collect();
    let mut lines = Vec::new();
    for run in all.chunk_by(|a, b| a.trim().is_empty() && b.trim().is_empty()) {
        let is_empty = run.iter().all(|it| it.trim().is_empty());
        if is_empty && run.len() > EMPTY_LINES_SHOWN_MAX {
            let n = run.len();
            lines.push(if zh {
                format!("⏎×{n}（空行）")
            } else {
                format!("⏎×{n} (empty lines)")
            });
        } else {
            lines.extend(run.iter().map(|it| with_counted_blanks(it)));
        }
    }
    lines
}

/// The text with long runs of blanks inside it as counts: `␣×3000`.
fn with_counted_blanks(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let chars: Vec<char> = text.chars().collect();
    for run in chars.chunk_by(|a, b| a.is_whitespace() && b.is_whitespace()) {
        if run.len() > BLANKS_SHOWN_MAX && run[0].is_whitespace() {
            shown.extend([" ␣×", &run.len().to_string(), " "]);
        } else {
            shown.extend(run);
        }
    }
    shown
}

/// How much of a diff a question does not show, and where the whole is.
pub fn left_out_text(n_lines: u64, code: &str, language: &str) -> String {
    if is_chinese(language) {
        format!("… 还有 {n_lines} 行改动没有显示；`kith approvals show {code}` 显示全部内容")
    } else {
        let lines = if n_lines == 1 { "line" } else { "lines" };
        format!(
            "… {n_lines} more {lines} of the diff; `kith approvals show {code}` shows all that would \
             be written"
        )
    }
}

/// The text with what a reader would not see spelled out, line ends too: a file's name must not add
/// a line of its own to the question.
fn on_one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\r', "\\r")
}

/// Adds to a reason every part of a command that is one, so that none is only to be found by reading all.
pub(crate) fn with_parts(reason: &str, parts: &[String], language: &str) -> String {
    // Of a single part the reason tells.
    if parts.len() < 2 {
        return reason.to_owned();
    }
    let list = parts.join(if is_chinese(language) { "；" } else { "; " });
    if is_chinese(language) {
        format!("{reason}；需要批准的部分：{list}")
    } else {
        format!("{reason}; parts to approve: {list}")
    }
}

/// What can go wrong where the call would run, and why the policy does not decide by itself.
pub(crate) fn risk_text(effect: Effect, sandbox: Sandbox, reason: &str, language: &str) -> String {
    let reason = reason.trim().trim_end_matches(['.', '。']);
    let zh = is_chinese(language);
    let risk = if zh { risk_in_chinese(effect, sandbox) } else { risk_in_english(effect, sandbox) };
    match (zh, reason.is_empty()) {
        (true, true) => format!("{risk}。"),
        (true, false) => format!("{risk}（{reason}）。"),
        (false, true) => format!("{risk}."),
        (false, false) => format!("{risk} ({reason})."),
    }
}

fn risk_in_english(effect: Effect, sandbox: Sandbox) -> &'static str {
    match (effect, sandbox) {
        (Effect::Read, _) => "It reads content",
        (Effect::Write, _) => "It changes files, and what they held may be lost",
        (Effect::Exec, Sandbox::None) => {
            "It runs without a sandbox, so it can read, change and send whatever you can; of the \
             files that it uses, only those that the command names are checked before it starts"
        }
        (Effect::Exec, Sandbox::Workspace) => {
            "It runs in the sandbox without a network, so it can change or delete files of the \
             workspace and nothing else"
        }
        (Effect::Exec, Sandbox::Network) => {
            "It runs in the sandbox with the network, so it can change or delete files of the \
             workspace, and what it can read may leave this machine"
        }
        (Effect::Network, _) => "It uses the network, and data may leave this machine",
        (Effect::Message, _) => "It sends a message in your name, which cannot be taken back",
        (Effect::Oneself, _) => "It changes the agent's own files or memory",
    }
}

fn risk_in_chinese(effect: Effect, sandbox: Sandbox) -> &'static str {
    match (effect, sandbox) {
        (Effect::Read, _) => "会读取内容",
        (Effect::Write, _) => "会改动文件，原有内容可能丢失",
        (Effect::Exec, Sandbox::None) => {
            "会在沙箱之外运行，你能读、能改、能发出去的，它都能；启动前只核对命令里写明的文件"
        }
        (Effect::Exec, Sandbox::Workspace) => {
            "会在没有网络的沙箱里运行，只能改动或删除工作区里的文件"
        }
        (Effect::Exec, Sandbox::Network) => {
            "会在有网络的沙箱里运行，能改动或删除工作区里的文件，读到的内容可能离开这台机器"
        }
        (Effect::Network, _) => "会访问网络，数据可能离开这台机器",
        (Effect::Message, _) => "会以你的名义发消息，发出后无法收回",
        (Effect::Oneself, _) => "会改动助手自身的文件或记忆",
    }
}

/// Why a reply was not taken for a decision, and what to answer instead.
pub fn ask_back_text(unclear: Unclear, pending: &[PendingApproval], language: &str) -> String {
    let zh = is_chinese(language);
    let why = if zh { unclear_in_chinese(unclear) } else { unclear_in_english(unclear) };
    let list: Vec<String> =
        pending.iter().map(|it| format!("{} ({})", it.code, on_one_line(&it.summary))).collect();
    let code = pending.first().map_or("", |it| &it.code);
    if zh {
        let list = list.join("；");
        format!("{why}正在等待：{list}。请回复“同意 {code}”“拒绝 {code}”“全部同意”或“全部拒绝”。")
    } else {
        let list = list.join("; ");
        format!(
            "{why} Waiting: {list}. Answer \"yes {code}\", \"no {code}\", \"approve all\" or \"deny \
             all\"."
        )
    }
}

/// Why a reply is unclear, in a sentence.
pub fn unclear_in_english(unclear: Unclear) -> &'static str {
    match unclear {
        Unclear::WhichOne => "Several approvals are waiting, and the reply does not say which.",
        Unclear::UnknownName => "The reply names something that is not waiting for an approval.",
        Unclear::Question => "The reply is a question, not a decision.",
        Unclear::Condition => "The reply sets a condition or makes an exception.",
        Unclear::Doubt => "The reply is not certain.",
        Unclear::Quoted => "The reply quotes somebody, so it is not clear what you decide.",
        Unclear::Mixed => "The reply says yes and no.",
        Unclear::TooLong => "An approval by words lasts 24 hours at most.",
        Unclear::OnceOnly => "This can only be approved once, not for a while.",
        Unclear::Unknown => "The reply was not understood as a decision.",
    }
}

fn unclear_in_chinese(unclear: Unclear) -> &'static str {
    match unclear {
        Unclear::WhichOne => "有多项在等待批准，回复没有说明是哪一项。",
        Unclear::UnknownName => "回复里提到的内容并不在等待批准。",
        Unclear::Question => "这是一个问题，不是决定。",
        Unclear::Condition => "回复带有条件或例外。",
        Unclear::Doubt => "回复的语气不确定。",
        Unclear::Quoted => "回复引用了别的话，看不出你的决定。",
        Unclear::Mixed => "回复里既有同意也有拒绝。",
        Unclear::TooLong => "口头批准最长 24 小时。",
        Unclear::OnceOnly => "这一项只能单次批准，不能批准一段时间。",
        Unclear::Unknown => "没能看懂这条回复的决定。",
    }
}

#[cfg(test)]
mod tests;
