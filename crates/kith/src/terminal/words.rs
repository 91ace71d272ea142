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
    KeysPicker,
    PickSession,
    PickMessage,
    PickModel,
    PickScript,
    PickCall,
    NoneFound,
    Filter,
    NoMessages,
    IsRunning,
    IsWaiting,
    IsReadOnly,
    Tokens,
    NotSet,
    GoesOnAfter,
    GoesOnBefore,
    QueueGo,
    QueueEdit,
    QueueRemove,
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
    Refused,
    Interrupted,
    Line,
    Lines,
    NoOutput,
    AsksInstead,
    Retries,
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
    SentByName,
    Total,
    Requests,
    Unpriced,
    ProofSame,
    ProofDifferent,
    ProofOther,
    ProofLost,
    CauseContinued,
    CauseBranched,
    CauseModel,
    CausePurpose,
    CauseUnknown,
    Unchanged,
    WhyMore,
    SourceTools,
    SourceLog,
    SourceRuntime,
    SourceForm,
    WorkingIn,
    AnotherHost,
    DemoModel,
    Attached,
    NotAttached,
    TooLarge,
    NotText,
    TooManyFiles,
    SteerHasNoFiles,
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
                "Ctrl-O open a call · Ctrl-R search · Ctrl-G editor · Up history or queue · Ctrl-C twice quits",
                "Ctrl-O 展开工具调用 · Ctrl-R 搜索 · Ctrl-G 编辑器 · ↑ 历史或队列 · 连按 Ctrl-C 退出",
            ],
            ScreenText::KeysPicker => [
                "↑↓ choose · Enter takes it · Esc closes · type to filter",
                "↑↓ 选择 · Enter 确定 · Esc 关闭 · 输入文字筛选",
            ],
            ScreenText::PickSession => ["Sessions", "会话"],
            ScreenText::PickMessage => ["Go back to before", "回到这条消息之前"],
            ScreenText::PickModel => ["Models", "模型"],
            ScreenText::PickScript => ["Priming scripts", "引导脚本"],
            ScreenText::PickCall => ["Calls", "工具调用"],
            ScreenText::NoneFound => ["none found", "没有匹配项"],
            ScreenText::Filter => ["filter", "筛选"],
            ScreenText::NoMessages => ["(no messages)", "（没有消息）"],
            ScreenText::IsRunning => ["running", "运行中"],
            ScreenText::IsWaiting => ["waiting", "等待中"],
            ScreenText::IsReadOnly => ["read-only", "只读"],
            ScreenText::Tokens => ["tokens", "词元"],
            ScreenText::NotSet => ["is not set", "未设置"],
            ScreenText::GoesOnAfter => ["the conversation goes on after", "对话将从此处之后继续："],
            ScreenText::GoesOnBefore => [
                "the conversation goes on before this message, which you can edit",
                "对话回到这条消息之前，可以修改后重新发送",
            ],
            ScreenText::QueueGo => ["send what waits", "继续发送"],
            ScreenText::QueueEdit => ["N: take it back to edit", "N：取回修改"],
            ScreenText::QueueRemove => ["N: remove it", "N：删除"],
            ScreenText::Sending => ["sending", "发送中"],
            ScreenText::Stopped => ["stopped", "已停止"],
            ScreenText::Elsewhere => ["in another terminal", "在另一个终端"],
            ScreenText::Queued => ["queued", "排队中"],
            ScreenText::Held => [
                "held until your next message is answered, or /queue go",
                "已暂停，下一条消息得到回答后继续，或用 /queue go",
            ],
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
            _ => self.list_texts(),
        }
    }

    /// The rest of them: a function has its limit.
    fn list_texts(self) -> [&'static str; 2] {
        match self {
            ScreenText::Earlier => {
                ["earlier messages: `kith session show`", "更早的消息：`kith session show`"]
            }
            ScreenText::Failed => ["failed", "失败"],
            ScreenText::Refused => ["refused", "已拒绝"],
            ScreenText::Interrupted => ["interrupted, outcome unknown", "已中断，结果未知"],
            ScreenText::Line => ["line", "行"],
            ScreenText::Lines => ["lines", "行"],
            ScreenText::NoOutput => ["no output", "没有输出"],
            ScreenText::AsksInstead => ["asking instead:", "改用"],
            ScreenText::Retries => ["retrying", "正在重试"],
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
            ScreenText::SentByName => [
                "it is not among the models of `kith model ls`, and is asked for by this name",
                "不在 `kith model ls` 列出的模型中，将按此名称请求",
            ],
            ScreenText::Total => ["total", "合计"],
            ScreenText::Requests => ["requests", "次请求"],
            ScreenText::Unpriced => ["without a price", "次没有价格"],
            ScreenText::ProofSame => ["rebuilt from the log byte for byte", "已由日志逐字节重建"],
            ScreenText::ProofDifferent => {
                ["NOT what the log's hash says was sent", "与日志记录的哈希不一致"]
            }
            ScreenText::ProofOther => {
                ["made by another version of kith; not compared", "由另一版本的 kith 生成，未比较"]
            }
            ScreenText::ProofLost => {
                ["an image or file that was sent is gone", "发送过的图片或文件已丢失"]
            }
            ScreenText::CauseContinued => ["the conversation went on", "对话在继续"],
            ScreenText::CauseBranched => {
                ["the conversation moved to another branch", "对话转到了另一分支"]
            }
            ScreenText::CauseModel => ["another model was asked", "换了模型"],
            ScreenText::CausePurpose => {
                ["one of them asks for a summary", "其中一次请求是压缩对话"]
            }
            ScreenText::CauseUnknown => ["nothing in the log explains it", "日志中没有原因"],
            ScreenText::Unchanged => ["unchanged since the request before", "与上一次请求相同"],
            ScreenText::WhyMore => ["every byte: `kith why`", "逐字节查看：`kith why`"],
            ScreenText::SourceTools => ["tools", "工具"],
            ScreenText::SourceLog => ["log", "日志"],
            ScreenText::SourceRuntime => ["fixed text of the runtime", "运行时的固定文字"],
            ScreenText::SourceForm => ["the form of the request", "请求的格式"],
            ScreenText::WorkingIn => ["Working in", "工作目录："],
            _ => self.command_texts(),
        }
    }

    /// The rest of them: a function has its limit.
    fn command_texts(self) -> [&'static str; 2] {
        match self {
            ScreenText::AnotherHost => [
                "Another kith is running in this house; it answers here too.",
                "这个家中已有另一个 kith 在运行，这里的回答由它给出。",
            ],
            ScreenText::DemoModel => [
                "using the built-in demo model; set ANTHROPIC_API_KEY or OPENAI_API_KEY to use a real one",
                "正在使用内置演示模型；设置 ANTHROPIC_API_KEY 或 OPENAI_API_KEY 可使用真实模型",
            ],
            ScreenText::Attached => ["attached", "已附上"],
            ScreenText::NotAttached => [
                "only the name is sent; the agent can read the file",
                "只发送文件名，可让智能体自行读取",
            ],
            ScreenText::TooLarge => ["is too large", "太大"],
            ScreenText::NotText => ["is not a text", "不是文本"],
            ScreenText::TooManyFiles => ["is one file too many", "超出了附件数量上限"],
            ScreenText::SteerHasNoFiles => ["is not sent with a steer", "不随插话发送"],
            ScreenText::NoCall => ["no tool was called yet", "还没有调用过工具"],
            _ => ["", ""],
        }
    }
}

/// The commands of the conversation, and what they do.
pub(crate) fn commands(language: ScreenLanguage) -> Vec<(&'static str, &'static str)> {
    let all = [
        ("new", "start a new session", "开始新会话"),
        ("resume", "choose another session to continue", "选择并继续另一个会话"),
        ("sessions", "the same list", "同上"),
        ("branch", "go back to before an earlier message", "回到更早的消息之前"),
        ("retry", "try the last turn again", "重试上一轮"),
        ("model", "choose the model", "选择模型"),
        ("why", "what the model was sent last, and from where", "模型最近看到了什么，来自哪里"),
        ("cost", "what was used", "用量与费用"),
        ("queue", "show the queue; /queue rm N, /queue go", "查看队列；/queue rm N，/queue go"),
        ("compact", "summarise the conversation so far", "压缩到目前为止的对话"),
        ("prime", "start a session with a priming script", "用引导脚本开始新会话"),
        ("help", "show the commands and keys", "显示命令和按键"),
        ("quit", "leave", "退出"),
    ];
    let pick = |(name, english, chinese)| match language {
        ScreenLanguage::English => (name, english),
        ScreenLanguage::Chinese => (name, chinese),
    };
    all.into_iter().map(pick).collect()
}
