//! What the terminal says by itself, in English and Chinese.

use kith_host::error::{CallError, ErrorCode};
use kith_host::language;
use kith_host::settings::Settings;
use kith_host::words::sentence_in_chinese;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ScreenLanguage {
    #[default]
    English,
    Chinese,
}

impl ScreenLanguage {
    /// For texts that the engine words.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            ScreenLanguage::English => "en",
            ScreenLanguage::Chinese => "zh",
        }
    }
}

/// One table of sentences, so that none is without its words.
macro_rules! screen_texts {
    ($($name:ident = $english:literal, $chinese:literal;)+) => {
        /// A sentence of the terminal.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum ScreenText {
            $($name,)+
        }

        impl ScreenText {
            #[cfg(test)]
            const ALL: &[ScreenText] = &[$(ScreenText::$name,)+];

            fn texts(self) -> [&'static str; 2] {
                match self {
                    $(ScreenText::$name => [$english, $chinese],)+
                }
            }
        }
    };
}

screen_texts! {
    Thinking = "thinking", "思考中";
    Answering = "answering", "回答中";
    Stopping = "stopping", "正在停止";
    Colon = ": ", "：";
    Comma = ", ", "，";
    Asking = "waiting for your answer", "等待你的答复";
    AllowOnce = "yes", "同意";
    AllowStanding = "yes, and do not ask again about", "同意，并且";
    AllowStandingFor = "for 1 hour", "一小时内不再询问";
    DenyIt = "no", "拒绝";
    NextQuestion = "next question", "下一项";
    WholeAbove = "the whole question stands above", "完整内容见上方";
    ExpiresIn = "expires in", "剩余时间：";
    Expired = "not answered in time", "超时未答复";
    NotAskedAnyMore = "no longer asked", "不再询问";
    Allowed = "allowed", "已同意";
    Denied = "denied", "已拒绝";
    NotAskedAgain = "not asked again about", "不再询问";
    Until = "until", "有效至";
    KeysAnswer = "press a key above, or answer in words and Enter · Esc stops", "按上面的键，或输入文字后按 Enter 答复 · Esc 停止";
    Waiting = "waiting for the model", "等待模型";
    Summarising = "summarising the conversation", "正在生成对话摘要";
    Summarised = "the conversation was summarised", "已生成对话摘要";
    KeysIdle = "Enter sends · Alt-Enter new line · / commands · @ file names", "Enter 发送 · Alt-Enter 换行 · / 命令 · @ 文件名";
    KeysBusy = "Enter queues · Ctrl-S steers · Esc stops", "Enter 排队 · Ctrl-S 插话 · Esc 停止";
    KeysMore = "Ctrl-O open a call · Ctrl-R search · Ctrl-G editor · Up history or queue · Ctrl-C twice quits", "Ctrl-O 展开工具调用 · Ctrl-R 搜索 · Ctrl-G 编辑器 · ↑ 历史或队列 · 连按 Ctrl-C 退出";
    KeysPicker = "↑↓ choose · Enter takes it · Esc closes · type to filter", "↑↓ 选择 · Enter 确定 · Esc 关闭 · 输入文字筛选";
    PickSession = "Sessions", "会话";
    PickMessage = "Go back to before", "回到这条消息之前";
    PickModel = "Models", "模型";
    PickScript = "Priming scripts", "启动脚本";
    PickCall = "Calls", "工具调用";
    NoneFound = "none found", "没有匹配项";
    Filter = "filter", "筛选";
    NoMessages = "(no messages)", "（没有消息）";
    IsRunning = "running", "运行中";
    IsWaiting = "waiting", "等待中";
    IsReadOnly = "read-only", "只读";
    Tokens = "tokens", "个 token";
    NotSet = "is not set", "未设置";
    GoesOnAfter = "the conversation goes on after", "对话将从此处之后继续：";
    GoesOnBefore = "the conversation goes on before this message, which you can edit", "对话回到这条消息之前，可以修改后重新发送";
    QueueGo = "send what waits", "继续发送";
    QueueEdit = "N: take it back to edit", "N：取回修改";
    QueueRemove = "N: remove it", "N：删除";
    Sending = "sending", "发送中";
    Stopped = "stopped", "已停止";
    WasCutOff = "cut off at the length limit", "到达长度上限，被截断";
    Elsewhere = "in another terminal", "在另一个终端";
    Continuing = "Continuing session", "继续会话";
    PlainHelp = "Type a message and press Enter. /help lists the commands, Ctrl-C stops an answer, /quit or Ctrl-D quits.", "输入消息后按 Enter 发送。/help 列出命令，Ctrl-C 停止回答，/quit 或 Ctrl-D 退出。";
    ChooseByNumber = "choose one by its number:", "用编号选择，例如";
    WasWithdrawn = "your message was withdrawn before it was answered", "消息在得到回答之前已撤回";
    Queued = "queued", "排队中";
    Held = "held until your next message is answered, or /queue go", "已暂停，下一条消息得到回答后继续，或用 /queue go";
    PressAgain = "press Ctrl-C again or Ctrl-D to quit", "再按一次 Ctrl-C 或 Ctrl-D 退出";
    NewNext = "your next message starts a new session", "下一条消息将开始新会话";
    Removed = "this session was removed; your next message starts a new one", "此会话已被删除，下一条消息将开始新会话";
    Earlier = "earlier messages: `kith session show`", "更早的消息：`kith session show`";
    Failed = "failed", "失败";
    Refused = "refused", "已拒绝";
    Interrupted = "interrupted, outcome unknown", "已中断，结果未知";
    Line = "line", "行";
    Lines = "lines", "行";
    NoOutput = "no output", "没有输出";
    AsksInstead = "asking instead:", "改用";
    AskedAgain = "the answer was interrupted; asking again", "回答中断，正在重新请求";
    Retries = "retrying", "正在重试";
    Context = "{percent} % of the context", "上下文 {percent} %";
    Search = "search", "搜索";
    NoCall = "no tool was called yet", "还没有调用过工具";
    NothingSaid = "nothing was said here yet", "这里还没有对话";
    NotSent = "not sent", "未发送";
    WorksIn = "this session works in ", "此会话的工作目录：";
    NothingWaits = "nothing waits", "没有排队的消息";
    WhichOne = "which one? for example /queue rm 1", "哪一条？例如 /queue rm 1";
    NoScripts = "there are no priming scripts yet; `kith prime new NAME` creates one", "还没有启动脚本；`kith prime new NAME` 可以新建一个";
    UnknownCommand = "unknown command", "未知命令";
    SentByName = "it is not among the models of `kith model ls`, and is asked for by this name", "不在 `kith model ls` 列出的模型中，将按此名称请求";
    ThisSession = "this session", "本会话";
    AllSessions = "all sessions", "全部会话";
    Request = "request", "次请求";
    Requests = "requests", "次请求";
    Unpriced = "without a price", "次没有价格";
    ProofSame = "rebuilt from the log byte for byte", "已由日志逐字节重建";
    ProofDifferent = "NOT what the log's hash says was sent", "与日志记录的哈希不一致";
    ProofOther = "made by another version of kith; not compared", "由另一版本的 kith 生成，未比较";
    ProofLost = "an image or file that was sent is gone", "发送过的图片或文件已丢失";
    CauseContinued = "the conversation went on", "对话在继续";
    CauseBranched = "the conversation moved to another branch", "对话转到了另一分支";
    CauseModel = "another model was asked", "换了模型";
    CausePurpose = "one of them asks for a summary", "其中一次请求是生成摘要";
    CauseUnknown = "nothing in the log explains it", "日志中没有原因";
    Unchanged = "unchanged since the request before", "与上一次请求相同";
    WhyMore = "every byte: `kith why`", "逐字节查看：`kith why`";
    SourceTools = "tools", "工具";
    SourceLog = "log", "日志";
    SourceRuntime = "fixed text of the runtime", "运行时的固定文字";
    SourceForm = "the form of the request", "请求的格式";
    WorkingIn = "Working in ", "工作目录：";
    NoAgent = "There is no agent in `{folder}` or any folder above it.", "`{folder}` 和它的上级文件夹里都没有智能体。";
    CreateAgent = "Create one in `{folder}`? [y/N] ", "在 `{folder}` 创建一个吗？[y/N] ";
    AgentMade = "That folder is the agent's house: its files, settings and conversations stay there. Edit Agent.md to change how it works.", "这个文件夹就是智能体的家，它的文件、配置和对话都在里面。修改 Agent.md 可以改变它的工作方式。";
    TrustHouse = "The agent here came with the repository `{folder}`. If you trust it, its files count as your\ninstructions, and its kith.toml decides where your messages and keys go. Trust it? [y/N] ", "这里的智能体来自仓库 `{folder}`。如果信任它，它的文件就等同于你的指令，\n它的 kith.toml 会决定消息和密钥发往哪里。信任吗？[y/N] ";
    TrustRepository = "The repository `{folder}` has {n} AGENTS.md for this folder and is not trusted yet.\nTreat it as your instructions? [y/N] ", "仓库 `{folder}` 对这个文件夹有 {n} 个 AGENTS.md，你还没有信任这个仓库。\n把它当作你的指令吗？[y/N] ";
    TrustIgnored = "ignored; run `kith trust .` to use it", "已忽略；运行 `kith trust .` 可以启用";
    AnotherHost = "Another kith is already running for this agent; answers come from it.", "这个智能体已有另一个 kith 在运行，这里的回答由它给出。";
    RemoteHost = "On another machine:", "在另一台机器上：";
    DemoModel = "using the built-in demo model; set ANTHROPIC_API_KEY or OPENAI_API_KEY to use a real one", "正在使用内置演示模型；设置 ANTHROPIC_API_KEY 或 OPENAI_API_KEY 可使用真实模型";
    Attached = "attached", "已附上";
    NotAttached = "only the name is sent; the agent can read the file", "只发送文件名，可让智能体自行读取";
    TooLarge = "is too large", "太大";
    NotText = "is not a text", "不是文本";
    TooManyFiles = "is one file too many", "超出了附件数量上限";
    SteerHasNoFiles = "is not sent with a steer", "不随插话发送";
    LongMessage = "the message is too long; put it in a file and ask the agent to read it", "消息太长；请存成文件，让智能体来读";
    HostsModel = "The other kith uses this model, and so does this terminal; quit it to use", "另一个 kith 使用这个模型，这里也用它；要改用下面的模型，请先退出另一个 kith：";
    ModelChanged = "answers come from another model now; send the message again if that is right:", "现在由另一个模型回答，确认无误后请重新发送：";
    NotAModel = "is not the name of a model", "不是模型名称";
    Paste = "paste", "粘贴";
    Bytes = "bytes", "字节";
    OutputCut = "not shown; `kith session show` has all of it", "未显示；`kith session show` 可查看全部";
    WholeOutputCut = "not shown: the output is longer than this view", "未显示：输出超过了可展示的长度";
    Hint = "hint: ", "提示：";
    Cause = "  cause: ", "  原因：";
    Error = "error: ", "错误：";
}

impl ScreenLanguage {
    /// The one in which the person is told everything else too.
    pub(crate) fn of(settings: &Settings, agent_id: &str) -> ScreenLanguage {
        let locale = language::of_locale();
        let tag = language::for_person(settings, Some(agent_id), locale.as_deref());
        ScreenLanguage::of_tag(&tag)
    }

    /// The one of the environment, where no agent is known yet.
    pub(crate) fn of_locale() -> ScreenLanguage {
        language::of_locale().map_or(ScreenLanguage::English, |tag| ScreenLanguage::of_tag(&tag))
    }

    fn of_tag(tag: &str) -> ScreenLanguage {
        let is_chinese = tag.split('-').next().is_some_and(|it| it.eq_ignore_ascii_case("zh"));
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

impl ScreenLanguage {
    /// The sentence with the folder that it names.
    pub(crate) fn of_folder(self, word: ScreenText, folder: &str) -> String {
        self.say(word).replace("{folder}", folder)
    }

    /// `search: words`.
    pub(crate) fn labelled(self, label: ScreenText, text: &str) -> String {
        format!("{}{}{text}", self.say(label), self.say(ScreenText::Colon))
    }

    /// A sentence about a failure, as it came where it is not known in this language.
    pub(crate) fn sentence(self, english: &str) -> String {
        self.known_sentence(english).unwrap_or_else(|| english.to_owned())
    }

    fn known_sentence(self, english: &str) -> Option<String> {
        match self {
            ScreenLanguage::English => None,
            ScreenLanguage::Chinese => sentence_in_chinese(english),
        }
    }
}

/// What went wrong, by its code, for people who do not read English. `None` where the code says less
/// than the message.
pub(crate) fn error_in_chinese(code: ErrorCode) -> Option<&'static str> {
    Some(match code {
        ErrorCode::SessionNotFound => "找不到这个会话",
        ErrorCode::ProjectNotFound => "找不到这个项目",
        ErrorCode::RuntimeBusy => "正忙，请稍后再试",
        ErrorCode::InvalidRequest => "请求无法执行",
        ErrorCode::AuthFailed => "身份验证失败",
        ErrorCode::ProtocolMismatch => "与正在运行的 kith 版本不兼容",
        ErrorCode::ResyncFailed => "无法接上之前的进度",
        ErrorCode::InvalidEventId => "找不到这条消息",
        ErrorCode::Conflict => "会话已发生变化，操作未执行",
        ErrorCode::AlreadyExists => "已经存在",
        ErrorCode::FilesystemError => "无法读写文件",
        ErrorCode::InternalError => "kith 内部错误",
        ErrorCode::Usage => "用法有误",
        ErrorCode::HomeNotFound => "找不到智能体",
        ErrorCode::Untrusted => "尚未信任这个目录",
        ErrorCode::ModelFailed => "模型请求失败",
        ErrorCode::DiskFull => "磁盘已满",
        ErrorCode::Cancelled => "已取消",
        ErrorCode::NewerVersion => "会话由更新版本的 kith 写入",
        ErrorCode::Damaged
        | ErrorCode::MissingHeader
        | ErrorCode::InvalidHeader
        | ErrorCode::InvalidEvent
        | ErrorCode::InvalidJson
        | ErrorCode::DuplicateEventId
        | ErrorCode::InvalidParent
        | ErrorCode::NonMonotonicSeq
        | ErrorCode::BrokenChain
        | ErrorCode::BadCrc
        | ErrorCode::BrokenBatch
        | ErrorCode::BadBlob
        | ErrorCode::LostTail => "会话文件已损坏",
        ErrorCode::Unknown => return None,
    })
}

/// An error in rows. In Chinese a sentence that is not known stays as the host words it, below what it
/// is by its code.
pub(crate) fn error_rows(language: ScreenLanguage, error: &CallError) -> Vec<String> {
    let by_code = match language {
        ScreenLanguage::English => None,
        ScreenLanguage::Chinese => error_in_chinese(error.code),
    };
    let head = language.say(ScreenText::Error);
    let mut rows = match (language.known_sentence(&error.message), by_code) {
        (Some(message), _) => vec![format!("{head}{message}")],
        (None, Some(told)) => vec![format!("{head}{told}"), format!("  {}", error.message)],
        (None, None) => vec![format!("{head}{}", error.message)],
    };
    let causes = error.causes.iter().map(|it| (ScreenText::Cause, it));
    let hints = error.hints.iter().map(|it| (ScreenText::Hint, it));
    rows.extend(
        causes
            .chain(hints)
            .map(|(what, text)| format!("{}{}", language.say(what), language.sentence(text))),
    );
    rows.iter().flat_map(|row| row.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The commands of the conversation, and what they do.
pub(crate) fn commands(language: ScreenLanguage) -> Vec<(&'static str, &'static str)> {
    let all = [
        ("new", "start a new session", "开始新会话"),
        ("resume", "choose another session to continue", "选择并继续另一个会话"),
        ("sessions", "same as /resume", "同 /resume"),
        ("branch", "go back to before an earlier message", "回到更早的消息之前"),
        ("retry", "try the last turn again", "重试上一个回合"),
        ("model", "choose the model", "选择模型"),
        ("why", "what the model was sent last, and from where", "模型最近看到了什么，来自哪里"),
        ("cost", "tokens and cost, of this session and of all", "用量与费用：本会话与全部会话"),
        ("queue", "show the queue; /queue rm N, edit N, go", "查看队列；/queue rm N、edit N、go"),
        ("compact", "summarise the conversation so far", "为到目前为止的对话生成摘要"),
        ("prime", "start a session with a priming script", "用启动脚本开始新会话"),
        ("help", "show the commands and keys", "显示命令和按键"),
        ("quit", "leave", "退出"),
    ];
    let pick = |(name, english, chinese)| match language {
        ScreenLanguage::English => (name, english),
        ScreenLanguage::Chinese => (name, chinese),
    };
    all.into_iter().map(pick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_has_words_in_both_languages() {
        for text in ScreenText::ALL {
            let [english, chinese] = text.texts();
            assert!(!english.is_empty() && !chinese.is_empty(), "{text:?}");
            assert!(english.is_ascii() || english.contains(['·', '↑']), "{text:?}: {english}");
            assert!(!chinese.is_ascii(), "{text:?}: {chinese}");
        }
    }

    #[test]
    fn an_error_is_told_in_chinese_or_says_what_it_is_and_keeps_its_details() {
        let known = CallError::request(ErrorCode::SessionNotFound, "there is no session `x`");
        assert_eq!(
            error_rows(ScreenLanguage::Chinese, &known.hint("type more of the id")),
            ["错误：没有会话 `x`", "提示：请多输入几位 id"]
        );
        let error = CallError::request(ErrorCode::SessionNotFound, "no session `x`").hint("look");
        assert_eq!(
            error_rows(ScreenLanguage::Chinese, &error),
            ["错误：找不到这个会话", "  no session `x`", "提示：look"]
        );
        assert_eq!(
            error_rows(ScreenLanguage::English, &error),
            ["error: no session `x`", "hint: look"]
        );
        for code in ErrorCode::ALL {
            assert_eq!(error_in_chinese(*code).is_none(), *code == ErrorCode::Unknown, "{code}");
        }
    }
}
