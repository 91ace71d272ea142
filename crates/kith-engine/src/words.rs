//! What the engine tells people in a conversation, in English and 简体中文.
//!
//! One catalogue, so that all texts can be read side by side. The language is the one recorded with
//! the turn; a notice keeps the text it was written with.

use kith_vocab::budget::{CapAmount, CapPeriod, CapReached};
use kith_vocab::event::control::{Bound, Limits};
use kith_vocab::event::models::FailureKind;

use crate::translation::in_chinese;

/// Whether readers of the language, named by its tag (`zh-CN`), read Chinese.
pub fn is_chinese(tag: &str) -> bool {
    tag.split(['-', '_']).next().is_some_and(|primary| primary.eq_ignore_ascii_case("zh"))
}

/// Why a call was refused, where it is the engine that refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalText {
    NotAllowed,
    NobodyToAsk,
    UnknownDeed,
    Changed,
    SandboxChanged,
    LookedTooLong,
    NobodyAnswered,
    EndedBefore,
    HoldsSecret,
}

impl RefusalText {
    /// A part of a sentence, without a full stop.
    pub(crate) fn in_language(self, tag: &str) -> &'static str {
        let (english, chinese) = match self {
            RefusalText::NotAllowed => ("it was not allowed", "没有得到允许"),
            RefusalText::NobodyToAsk => (
                "it needs a person's approval, and nobody is there who could give it",
                "需要有人批准，而没有人可以批准",
            ),
            RefusalText::UnknownDeed => (
                "it needs an approval, and what it would do is not known",
                "需要批准，而无法确定它会做什么",
            ),
            RefusalText::Changed => (
                "what it would act on has changed since it was allowed",
                "批准之后，它要操作的内容已经变了",
            ),
            RefusalText::SandboxChanged => (
                "the sandbox it would run in has changed since it was allowed",
                "批准之后，它要使用的沙箱已经变了",
            ),
            RefusalText::LookedTooLong => (
                "looking at what it would do took longer than the turn may last",
                "查看它会做什么所用的时间超过了这个回合的上限",
            ),
            RefusalText::NobodyAnswered => ("nobody answered in time", "没有人及时回答"),
            RefusalText::EndedBefore => {
                ("the turn ended before anyone answered", "还没有人回答，这个回合就结束了")
            }
            RefusalText::HoldsSecret => (
                "its arguments contain a key, token or password of this machine, which must not leave \
                 it; leave the secret out",
                "参数里有这台机器的密钥、令牌或密码，不能发出去；请去掉它",
            ),
        };
        if is_chinese(tag) { chinese } else { english }
    }
}

/// The result of a call that was refused, as model and people read it.
pub(crate) fn refused(reason: &str, tag: &str) -> String {
    let reason = match reason.trim().trim_end_matches(['.', '。']) {
        "" => RefusalText::NotAllowed.in_language(tag),
        reason => reason,
    };
    if is_chinese(tag) { format!("已拒绝：{reason}。") } else { format!("Refused: {reason}.") }
}

/// A notice before it is put into words.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoticeText<'a> {
    TurnFailed {
        /// `None` if what failed was not a request.
        kind: Option<FailureKind>,
        reason: &'a str,
    },
    /// A model failed for good, and another one that its author named is asked.
    FallsBack {
        kind: FailureKind,
        reason: &'a str,
        to: &'a str,
    },
    /// The answer ran into the limit on its length.
    CutOff,
    /// The conversation is too long even to be summarised.
    TooLong {
        model: &'a str,
    },
    /// Messages that were too long for the model were shortened for the summary.
    SummaryOfCutTexts {
        model: &'a str,
    },
    /// The model reads less than the request that it answered.
    OverWindow {
        model: &'a str,
        tokens: u64,
        window: u64,
    },
    InterruptedTooOften,
    SummaryInterruptedTooOften,
    LimitReached {
        bound: Bound,
        limits: &'a Limits,
    },
    CapReached(CapReached),
    /// The conversation did not end where the author of a message expected it to.
    NotSent,
    Withdrawn,
    QueuedBehindApproval,
    MovedToAnotherSession,
    /// The readable part of a damaged session was copied here.
    ContinuesFromCopy {
        problem: &'a str,
    },
    /// Nothing of a damaged session could be read.
    StartsOver {
        problem: &'a str,
    },
}

impl NoticeText<'_> {
    /// The text for readers of a language, named by its tag (`zh-CN`). English unless it is Chinese.
    pub(crate) fn in_language(self, tag: &str) -> String {
        if is_chinese(tag) { self.in_chinese() } else { self.in_english() }
    }

    fn in_english(self) -> String {
        match self {
            NoticeText::TurnFailed { reason, .. } => format!("The turn failed: {reason}."),
            NoticeText::FallsBack { reason, to, .. } => {
                format!("The model failed: {reason}. `{to}` is asked instead.")
            }
            NoticeText::TooLong { model } => format!(
                "The conversation is too long for `{model}`, even to be summarised. Choose a model \
                 with a larger context, go back with `kith session branch`, or start over with \
                 `kith ask --new`."
            ),
            NoticeText::SummaryOfCutTexts { model } => format!(
                "An earlier message is too long for `{model}`. The conversation was summarised, and \
                 only the beginning and the end of that message went into the summary. The log keeps \
                 all of it; send what matters again in smaller parts."
            ),
            NoticeText::OverWindow { model, tokens, window } => format!(
                "The conversation has about {tokens} tokens, and `{model}` reads {window} at once: it \
                 may not have read all of it, and a summary would not help. Choose a model with a \
                 larger context, start over with `kith ask --new`, or correct `contextWindow` of the \
                 model in kith.toml."
            ),
            NoticeText::CutOff => "The answer was cut off at its length limit. Say \"go on\" to \
                 continue, or raise `maxTokens` of the model in kith.toml."
                .to_owned(),
            NoticeText::InterruptedTooOften => {
                "The turn failed: it was interrupted too many times.".to_owned()
            }
            NoticeText::SummaryInterruptedTooOften => {
                "The conversation was not summarised: making the summary was interrupted too many \
                 times. `kith compact` tries it again."
                    .to_owned()
            }
            NoticeText::LimitReached { bound, limits } => {
                let count = |n: u64, one: &str, many: &str| match n {
                    1 => format!("1 {one}"),
                    _ => format!("{n} {many}"),
                };
                let limit = match bound {
                    Bound::Steps => count(limits.steps.into(), "model request", "model requests"),
                    Bound::Repeats => format!("{} identical calls in a row", limits.repeats),
                    Bound::Wall => count(limits.wall_ms / 1000, "second", "seconds"),
                    Bound::Tokens => count(limits.tokens.unwrap_or_default(), "token", "tokens"),
                    Bound::Cost => {
                        format!("{} USD", dollars(limits.cost_micros.unwrap_or_default()))
                    }
                };
                format!("The turn stopped at its limit of {limit}. Say \"go on\" to continue.")
            }
            NoticeText::CapReached(it) => cap_in_english(&it),
            NoticeText::NotSent => {
                "A message was not sent: the conversation had moved on in the meantime.".to_owned()
            }
            NoticeText::Withdrawn => "A message was withdrawn before it was answered.".to_owned(),
            NoticeText::QueuedBehindApproval => {
                "The message is queued: the turn is waiting for an approval.".to_owned()
            }
            NoticeText::MovedToAnotherSession => {
                "The turn was stopped: the conversation continues in another session.".to_owned()
            }
            NoticeText::ContinuesFromCopy { problem } => format!(
                "The previous session of this thread is read-only: {problem}. The conversation \
                 continues here with everything that could be read."
            ),
            NoticeText::StartsOver { problem } => format!(
                "The previous session of this thread is read-only: {problem}. The conversation \
                 starts over here, without the earlier messages."
            ),
        }
    }

    fn in_chinese(self) -> String {
        match self {
            NoticeText::TurnFailed { kind, reason } => {
                format!("这个回合失败了：{}。", reason_in_chinese(kind, reason))
            }
            NoticeText::FallsBack { kind, reason, to } => {
                format!("{}。改用 `{to}`。", reason_in_chinese(Some(kind), reason))
            }
            NoticeText::TooLong { model } => format!(
                "对话对 `{model}` 来说太长，连摘要也无法生成。请换一个上下文更大的模型，用 \
                 `kith session branch` 回到之前，或用 `kith ask --new` 重新开始。"
            ),
            NoticeText::SummaryOfCutTexts { model } => format!(
                "之前有一条消息对 `{model}` 来说太长。对话已生成摘要，那条消息只有开头和结尾进入了摘要。\
                 日志里保留了全文；重要的内容请分成几段重新发送。"
            ),
            NoticeText::OverWindow { model, tokens, window } => format!(
                "对话约有 {tokens} 个 token，而 `{model}` 一次只能读 {window} 个，可能没有读到全部内容，生成摘要也无济于事。\
                 请换一个上下文更大的模型，用 `kith ask --new` 重新开始，或在 kith.toml 中更正该模型的 `contextWindow`。"
            ),
            NoticeText::CutOff => {
                "回答到达长度上限，被截断了。回复“继续”即可接着说，或在 kith.toml \
                 中提高该模型的 `maxTokens`。"
                    .to_owned()
            }
            NoticeText::InterruptedTooOften => "这个回合失败了：中断的次数太多。".to_owned(),
            NoticeText::SummaryInterruptedTooOften => {
                "没有生成摘要：中断的次数太多。运行 `kith compact` 可以再试一次。".to_owned()
            }
            NoticeText::LimitReached { bound, limits } => {
                let limit = match bound {
                    Bound::Steps => format!("{} 次模型请求", limits.steps),
                    Bound::Repeats => format!("连续 {} 次相同的工具调用", limits.repeats),
                    Bound::Wall => format!("{} 秒", limits.wall_ms / 1000),
                    Bound::Tokens => format!("{} 个 token", limits.tokens.unwrap_or_default()),
                    Bound::Cost => {
                        format!("{} 美元", dollars(limits.cost_micros.unwrap_or_default()))
                    }
                };
                format!("这个回合到达上限（{limit}），先停在这里。回复“继续”即可接着进行。")
            }
            NoticeText::CapReached(it) => cap_in_chinese(&it),
            NoticeText::NotSent => "有一条消息没有发送：写它的时候，对话又有了新内容。".to_owned(),
            NoticeText::Withdrawn => "有一条消息在得到回复之前撤回了。".to_owned(),
            NoticeText::QueuedBehindApproval => "消息已排队：这个回合正在等待审批。".to_owned(),
            NoticeText::MovedToAnotherSession => {
                "这个回合已停止：对话转到另一个会话继续了。".to_owned()
            }
            NoticeText::ContinuesFromCopy { problem } => format!(
                "这个线程的上一个会话只能读取（{problem}）。对话在这里继续，能读出的内容都保留了下来。"
            ),
            NoticeText::StartsOver { problem } => format!(
                "这个线程的上一个会话只能读取（{problem}）。对话在这里重新开始，不含之前的内容。"
            ),
        }
    }
}

/// Why it failed: the reason itself where it is known, else its kind and the sentence as it came.
fn reason_in_chinese(kind: Option<FailureKind>, reason: &str) -> String {
    match (in_chinese(reason), kind) {
        (Some(reason), _) => reason,
        (None, Some(kind)) => format!("{}（{reason}）", failure_in_chinese(kind)),
        (None, None) => reason.to_owned(),
    }
}

/// What failed, for people who do not read English.
fn failure_in_chinese(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Network => "连不上模型服务",
        FailureKind::Status => "模型服务返回了错误",
        FailureKind::Loading => "本机的模型服务尚未就绪",
        FailureKind::Auth => "模型服务不接受密钥",
        FailureKind::Cut => "回答中途断开",
        FailureKind::Timeout => "模型服务长时间没有响应",
        FailureKind::Malformed => "无法识别模型服务的响应",
        FailureKind::Empty => "模型给出了空回答",
        FailureKind::Truncated => "工具调用到达长度上限，被截断",
        FailureKind::ContextLength => "对话超出了模型的上下文长度",
        FailureKind::Media => "模型不接受对话中的图片或文件",
        FailureKind::Budget => "预算已用完",
    }
}

fn cap_in_english(reached: &CapReached) -> String {
    let CapNumbers { used, cap, most } = CapNumbers::of(reached);
    let (unit, uses) = match reached.cap {
        CapAmount::Tokens(_) => ("tokens", "use"),
        CapAmount::CostMicros(_) => ("USD", "cost"),
    };
    let place = match reached.period {
        CapPeriod::Day => "",
        CapPeriod::ThreadDay => " in this conversation",
    };
    format!(
        "The model was not asked: {used} of {cap} {unit} used today{place}, and this \
         request may {uses} up to {most} {unit}. Raise `{}` in `[budget]` of kith.toml, \
         lower `maxTokens`, or continue tomorrow.",
        cap_key(reached)
    )
}

fn cap_in_chinese(reached: &CapReached) -> String {
    let CapNumbers { used, cap, most } = CapNumbers::of(reached);
    let unit = match reached.cap {
        CapAmount::Tokens(_) => "个 token",
        CapAmount::CostMicros(_) => "美元",
    };
    let place = match reached.period {
        CapPeriod::Day => "今天已用",
        CapPeriod::ThreadDay => "这个对话今天已用",
    };
    format!(
        "没有向模型发送请求：{place} {used} {unit}（上限 {cap} {unit}），这次请求最多可能再用 \
         {most} {unit}。请在 kith.toml 的 `[budget]` 中提高 `{}`，或调低 `maxTokens`，或明天继续。",
        cap_key(reached)
    )
}

/// The numbers of a cap that was reached, as they are shown.
struct CapNumbers {
    used: String,
    cap: String,
    most: String,
}

impl CapNumbers {
    fn of(reached: &CapReached) -> CapNumbers {
        let (cap, show): (u64, fn(u64) -> String) = match reached.cap {
            CapAmount::Tokens(cap) => (cap, |tokens| tokens.to_string()),
            CapAmount::CostMicros(cap) => (cap, dollars),
        };
        CapNumbers { used: show(reached.used), cap: show(cap), most: show(reached.most) }
    }
}

/// The key of a cap in the settings.
fn cap_key(reached: &CapReached) -> &'static str {
    match (reached.cap, reached.period) {
        (CapAmount::Tokens(_), CapPeriod::Day) => "tokensPerDay",
        (CapAmount::Tokens(_), CapPeriod::ThreadDay) => "tokensPerThread",
        (CapAmount::CostMicros(_), CapPeriod::Day) => "costPerDay",
        (CapAmount::CostMicros(_), CapPeriod::ThreadDay) => "costPerThread",
    }
}

/// An amount of money, without the zeros that say nothing.
fn dollars(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
