//! What the host tells people beside an answer, in English and 简体中文.
//!
//! Errors are English with a code that clients translate; notes have none, so they are worded here.

use kith_engine::words::is_chinese;

/// A note before it is put into words. Sessions are named as people type them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostNote {
    /// The desk was made anew from the logs.
    DeskRebuilt {
        n_threads: u64,
    },
    /// A model has no key, and the next one of the settings is asked.
    ModelPassedOver {
        model: String,
        why: String,
        next: String,
    },
    /// A turn of an earlier host was finished.
    Finished {
        session: String,
    },
    /// A turn of an earlier host could not be finished.
    NotFinished {
        session: String,
        why: String,
    },
    /// The same, because its model cannot be asked from here.
    NotResumed {
        session: String,
        why: String,
    },
    /// A session that an earlier host left is gone.
    FileMissing {
        session: String,
    },
    /// The session of the conversation is gone.
    StartsOver {
        session: String,
    },
    /// The session cannot be written, and the conversation goes on in another one.
    Moved {
        session: String,
        problem: String,
        to: String,
    },
    /// A message that an earlier host left is answered before this one.
    AnsweredFirst {
        session: String,
    },
    ThreadFileFailed {
        why: String,
    },
    WaitsForApproval,
    WaitsBehindFailure,
    NoAnswer,
    /// What an error or a file says by itself.
    Told(String),
}

impl HostNote {
    /// The note for readers of a language, named by its tag (`zh-CN`). English unless it is Chinese.
    pub fn in_language(&self, tag: &str) -> String {
        if is_chinese(tag) { self.in_chinese() } else { self.in_english() }
    }

    pub fn in_english(&self) -> String {
        match self {
            HostNote::DeskRebuilt { n_threads } => format!(
                "`.kith/state.db` was missing or older than the sessions and was rebuilt from their \
                 logs (threads: {n_threads}), without your trusted repositories: check `kith trust ls`"
            ),
            HostNote::ModelPassedOver { model, why, next } => {
                format!("model `{model}` is passed over: {why}; `{next}` is asked instead")
            }
            HostNote::Finished { session } => format!(
                "session {session} had been interrupted and is now finished: `kith session show \
                 {session}`"
            ),
            HostNote::NotFinished { session, why } => {
                format!("session {session} had been interrupted and cannot continue: {why}")
            }
            HostNote::NotResumed { session, why } => format!(
                "session {session} had been interrupted and was not resumed: {why}; then run `kith \
                 retry --session {session}`"
            ),
            HostNote::FileMissing { session } => {
                format!("session {session} had been interrupted, and its file is missing")
            }
            HostNote::StartsOver { session } => {
                format!("the file of session {session} is missing; the conversation starts over")
            }
            HostNote::Moved { session, problem, to } => {
                format!("session {session} {problem}; the conversation continues in session {to}")
            }
            HostNote::AnsweredFirst { session } => format!(
                "an earlier message had been interrupted and is answered first: `kith session show \
                 {session}`"
            ),
            HostNote::ThreadFileFailed { why } => {
                format!("{why}; the next turn or `kith thread rebuild` corrects it")
            }
            HostNote::WaitsForApproval => "The turn is waiting for your approval.".to_owned(),
            HostNote::WaitsBehindFailure => "Your message is waiting because the turn before it \
                 failed or was stopped. `kith retry` continues that turn, then your message is \
                 answered."
                .to_owned(),
            HostNote::NoAnswer => "no answer was recorded for this message; send it again with a \
                 new `--message-id` if it still matters"
                .to_owned(),
            HostNote::Told(text) => text.clone(),
        }
    }

    fn in_chinese(&self) -> String {
        match self {
            HostNote::DeskRebuilt { n_threads } => format!(
                "`.kith/state.db` 丢失或比会话旧，已根据日志重建（线程数：{n_threads}），其中不含你信任过的仓库：\
                 请用 `kith trust ls` 检查"
            ),
            HostNote::ModelPassedOver { model, why, next } => {
                format!("已跳过模型 `{model}`（{why}），改用 `{next}`")
            }
            HostNote::Finished { session } => {
                format!("会话 {session} 之前中断过，现已完成：`kith session show {session}`")
            }
            HostNote::NotFinished { session, why } => {
                format!("会话 {session} 之前中断过，无法继续：{why}")
            }
            HostNote::NotResumed { session, why } => format!(
                "会话 {session} 之前中断过，尚未恢复：{why}；处理后请运行 `kith retry --session \
                 {session}`"
            ),
            HostNote::FileMissing { session } => {
                format!("会话 {session} 之前中断过，它的文件已不存在")
            }
            HostNote::StartsOver { session } => {
                format!("会话 {session} 的文件已不存在，对话重新开始")
            }
            HostNote::Moved { session, problem, to } => {
                format!("会话 {session} 无法继续（{problem}），对话转到会话 {to}")
            }
            HostNote::AnsweredFirst { session } => {
                format!("之前有一条消息被中断，会先回答它：`kith session show {session}`")
            }
            HostNote::ThreadFileFailed { why } => {
                format!("{why}；下一个回合或 `kith thread rebuild` 会修正")
            }
            HostNote::WaitsForApproval => "这个回合正在等待你批准。".to_owned(),
            HostNote::WaitsBehindFailure => "你的消息正在等待，因为前一个回合失败或被停止了。\
                 `kith retry` 会继续那个回合，然后回答你的消息。"
                .to_owned(),
            HostNote::NoAnswer => "没有找到这条消息的回答；如果仍然需要，请换一个新的 \
                 `--message-id` 再发一次"
                .to_owned(),
            HostNote::Told(text) => text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_told_in_the_language_of_its_reader() {
        let note = HostNote::Finished { session: "4c1ec498".to_owned() };
        let english = "session 4c1ec498 had been interrupted and is now finished: `kith session \
                       show 4c1ec498`";
        assert_eq!(note.in_language("en"), english);
        assert_eq!(note.in_language("de-DE"), english);
        let chinese = "会话 4c1ec498 之前中断过，现已完成：`kith session show 4c1ec498`";
        assert_eq!(note.in_language("zh-CN"), chinese);
    }
}
