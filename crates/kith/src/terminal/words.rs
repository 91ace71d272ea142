//! What the terminal says by itself, in English and Chinese.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenLanguage {
    English,
    Chinese,
}

/// A sentence of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenText {
    Thinking,
    Answering,
    Stopping,
    Waiting,
    Summarising,
    Summarised,
    KeysIdle,
    KeysBusy,
    KeysMore,
    Sending,
    Stopped,
    Elsewhere,
    Queued,
    Held,
    PressAgain,
    NewNext,
    Removed,
    Earlier,
    Failed,
    Lines,
    Context,
    Search,
    NoCall,
    NothingSaid,
    NotSent,
    WorksIn,
    NothingWaits,
    WhichOne,
    NoScripts,
    UnknownCommand,
    ChosenHere,
    SentByName,
}

impl ScreenLanguage {
    /// That of the settings, else that of the locale.
    pub(crate) fn of(setting: Option<&str>) -> ScreenLanguage {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"]
            .into_iter()
            .filter_map(|name| std::env::var(name).ok())
            .find(|value| !value.is_empty());
        let is_chinese = setting.or(locale.as_deref()).is_some_and(|it| it.starts_with("zh"));
        if is_chinese { ScreenLanguage::Chinese } else { ScreenLanguage::English }
    }

    pub(crate) fn say(self, word: ScreenText) -> &'static str {
        let [english, chinese] = word.texts();
        match self {
            ScreenLanguage::English => english,
            ScreenLanguage::Chinese => chinese,
        }
    }
}

impl ScreenText {
    fn texts(self) -> [&'static str; 2] {
        match self {
            ScreenText::Thinking => ["thinking", "思考中"],
            ScreenText::Answering => ["answering", "回答中"],
            ScreenText::Stopping => ["stopping", "正在停止"],
            ScreenText::Waiting => ["waiting for the model", "等待模型"],
            ScreenText::Summarising => ["summarising the conversation", "正在压缩对话"],
            ScreenText::Summarised => ["the conversation was summarised", "对话已压缩"],
            ScreenText::KeysIdle => [
                "Enter sends · Alt-Enter new line · / commands · @ file names",
                "Enter 发送 · Alt-Enter 换行 · / 命令 · @ 文件名",
            ],
            ScreenText::KeysBusy => {
                ["Enter queues · Ctrl-S steers · Esc stops", "Enter 排队 · Ctrl-S 插话 · Esc 停止"]
            }
            ScreenText::KeysMore => [
                "Ctrl-O last tool output · Ctrl-R search · Ctrl-G editor · Up history or queue · Ctrl-C twice quits",
                "Ctrl-O 查看工具输出 · Ctrl-R 搜索 · Ctrl-G 编辑器 · ↑ 历史或队列 · 连按 Ctrl-C 退出",
            ],
            ScreenText::Sending => ["sending", "发送中"],
            ScreenText::Stopped => ["stopped", "已停止"],
            ScreenText::Elsewhere => ["in another terminal", "在另一个终端"],
            ScreenText::Queued => ["queued", "排队中"],
            ScreenText::Held => ["held, /queue go sends it", "已暂停，/queue go 继续"],
            ScreenText::PressAgain => {
                ["press Ctrl-C again or Ctrl-D to quit", "再按一次 Ctrl-C 或 Ctrl-D 退出"]
            }
            ScreenText::NewNext => {
                ["your next message starts a new session", "下一条消息将开始新会话"]
            }
            ScreenText::Removed => [
                "this session was removed; your next message starts a new one",
                "此会话已被删除，下一条消息将开始新会话",
            ],
            ScreenText::Earlier => {
                ["earlier messages: `kith session show`", "更早的消息：`kith session show`"]
            }
            ScreenText::Failed => ["failed", "失败"],
            ScreenText::Lines => ["lines", "行"],
            ScreenText::Context => ["of the context", "上下文"],
            ScreenText::Search => ["search", "搜索"],
            ScreenText::NothingSaid => ["nothing was said here yet", "这里还没有对话"],
            ScreenText::NotSent => ["not sent", "未发送"],
            ScreenText::WorksIn => ["this session works in", "此会话的工作目录："],
            ScreenText::NothingWaits => ["nothing waits", "没有排队的消息"],
            ScreenText::WhichOne => {
                ["which one? for example /queue rm 1", "哪一条？例如 /queue rm 1"]
            }
            ScreenText::NoScripts => ["there are no priming scripts yet", "还没有引导脚本"],
            ScreenText::UnknownCommand => ["unknown command", "未知命令"],
            ScreenText::ChosenHere => ["chosen in this chat", "本次对话选用"],
            ScreenText::SentByName => [
                "it is not among the models of `kith model ls`, and is asked for by this name",
                "不在 `kith model ls` 列出的模型中，将按此名称请求",
            ],
            ScreenText::NoCall => ["no tool was called yet", "还没有调用过工具"],
        }
    }
}

/// The commands of the conversation, and what they do.
pub(crate) fn commands(language: ScreenLanguage) -> Vec<(&'static str, &'static str)> {
    let all = [
        ("new", "start a new session", "开始新会话"),
        ("resume", "continue another session: /resume ID", "继续另一个会话：/resume ID"),
        ("sessions", "list the sessions", "列出会话"),
        ("branch", "go back to an earlier message: /branch ID", "回到更早的消息：/branch ID"),
        ("retry", "try the last turn again", "重试上一轮"),
        ("model", "show or choose the model: /model NAME", "查看或选择模型：/model 名称"),
        ("why", "what the model was sent last, and from where", "模型最近看到了什么，来自哪里"),
        ("cost", "what was used", "用量与费用"),
        ("queue", "show the queue; /queue rm N, /queue go", "查看队列；/queue rm N，/queue go"),
        ("compact", "summarise the conversation so far", "压缩到目前为止的对话"),
        (
            "prime",
            "list the priming scripts, or start with one: /prime NAME",
            "列出引导脚本，或用它开始：/prime 名称",
        ),
        ("help", "show the commands and keys", "显示命令和按键"),
        ("quit", "leave", "退出"),
    ];
    let pick = |(name, english, chinese)| match language {
        ScreenLanguage::English => (name, english),
        ScreenLanguage::Chinese => (name, chinese),
    };
    all.into_iter().map(pick).collect()
}
