//! Why a call is allowed, asked about or denied, worded in English and 简体中文.
//!
//! The judge decides by values; the words for people and models are made here and nowhere else, so
//! that both languages say the same.

use kith_shell::risks::RiskKind;
use kith_shell::script::ObstacleKind;

use crate::words::is_chinese;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JudgeReason {
    OwnerDeniesAll,
    DenyRule(String),
    OnlyReading { tool: String },
    NobodyToAsk(Box<JudgeReason>),
    AskRule(String),
    NoEffects,
    FromStranger,
    UnreadableRules(String),
    UnknownAction { tool: String },
    Message,
    Host(String),
    NoSandbox,
    LeavesSandbox,
    AsksForNetwork,
    SharesNetwork { word: String },
    NoCommand,
    Obstacle { kind: ObstacleKind, text: String },
    Risk { kind: RiskKind, word: String },
    Path { about: PathReason, path: String },
    ModeTrusted,
    AllowRule(String),
    Granted,
    InSandbox,
    SegmentInSandbox,
    WorkspaceFile,
    NamedHost,
    FreeNotes,
    Reading,
}

/// What is the matter with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathReason {
    RunsLater,
    Outside,
    System,
    Device,
    Secret,
    Oneself,
    /// A change of the self while untrusted text is on the path.
    OneselfTainted,
    /// Git's own records.
    OfGit,
    Overwrites,
    Deletes,
    MovesOut,
}

impl JudgeReason {
    /// The reason as a part of a sentence, without a full stop.
    pub(super) fn text(&self, language: &str) -> String {
        if is_chinese(language) { self.in_chinese() } else { self.in_english() }
    }

    fn in_english(&self) -> String {
        match self {
            JudgeReason::OwnerDeniesAll => "the owner denies every call".to_owned(),
            JudgeReason::DenyRule(rule) => format!("the rule `{rule}` denies it"),
            JudgeReason::OnlyReading { tool } => {
                format!("`{tool}` does more than read, and the mode is `readonly`")
            }
            JudgeReason::NobodyToAsk(why) => {
                format!("nobody is there to ask: {}", why.in_english())
            }
            JudgeReason::AskRule(rule) => format!("the rule `{rule}` says to ask"),
            JudgeReason::NoEffects => "the tool does not say what the call does".to_owned(),
            JudgeReason::FromStranger => {
                "the message does not come from the owner or someone the owner knows".to_owned()
            }
            JudgeReason::UnreadableRules(problem) => problem.clone(),
            JudgeReason::UnknownAction { tool } => format!("what `{tool}` would do is not known"),
            JudgeReason::Message => "it sends a message to others".to_owned(),
            JudgeReason::Host(host) => format!("it reaches the network, host `{host}`"),
            JudgeReason::NoSandbox => {
                "this machine offers no sandbox, so nothing would hold the command back".to_owned()
            }
            JudgeReason::LeavesSandbox => "it asks to run outside the sandbox".to_owned(),
            JudgeReason::AsksForNetwork => "it asks for the network".to_owned(),
            JudgeReason::SharesNetwork { word } => {
                format!("`{word}` would have the network too, which only another part may use")
            }
            JudgeReason::NoCommand => "it contains no command".to_owned(),
            JudgeReason::Obstacle { kind, text } => obstacle_in_english(*kind, text),
            JudgeReason::Risk { kind, word } => risk_in_english(*kind, word),
            JudgeReason::Path { about, path } => path_in_english(*about, path),
            JudgeReason::ModeTrusted => "the owner chose the mode `trusted`".to_owned(),
            JudgeReason::AllowRule(rule) => format!("the rule `{rule}` allows it"),
            JudgeReason::Granted => "it was granted before".to_owned(),
            JudgeReason::InSandbox => "every part is understood and runs in the sandbox".to_owned(),
            JudgeReason::SegmentInSandbox => "it runs in the sandbox".to_owned(),
            JudgeReason::WorkspaceFile => "it changes a file of the workspace".to_owned(),
            JudgeReason::NamedHost => "the settings name the host".to_owned(),
            JudgeReason::FreeNotes => "notes are free while nothing untrusted was read".to_owned(),
            JudgeReason::Reading => "reading is always allowed".to_owned(),
        }
    }

    fn in_chinese(&self) -> String {
        match self {
            JudgeReason::OwnerDeniesAll => "主人拒绝所有调用".to_owned(),
            JudgeReason::DenyRule(rule) => format!("规则 `{rule}` 禁止"),
            JudgeReason::OnlyReading { tool } => {
                format!("`{tool}` 不只是读取，而当前模式是 `readonly`")
            }
            JudgeReason::NobodyToAsk(why) => format!("没有人可以询问：{}", why.in_chinese()),
            JudgeReason::AskRule(rule) => format!("规则 `{rule}` 要求先询问"),
            JudgeReason::NoEffects => "工具没有说明这次调用会做什么".to_owned(),
            JudgeReason::FromStranger => "消息不是来自主人或主人认识的人".to_owned(),
            JudgeReason::UnreadableRules(problem) => format!("规则无法读取：{problem}"),
            JudgeReason::UnknownAction { tool } => format!("无法确定 `{tool}` 会做什么"),
            JudgeReason::Message => "会给别人发消息".to_owned(),
            JudgeReason::Host(host) => format!("会访问网络，主机 `{host}`"),
            JudgeReason::NoSandbox => "这台机器没有沙箱，命令不受任何限制".to_owned(),
            JudgeReason::LeavesSandbox => "要求在沙箱之外运行".to_owned(),
            JudgeReason::AsksForNetwork => "要求使用网络".to_owned(),
            JudgeReason::SharesNetwork { word } => {
                format!("`{word}` 也会得到网络，而网络只允许给命令的另一部分")
            }
            JudgeReason::NoCommand => "里面没有命令".to_owned(),
            JudgeReason::Obstacle { kind, text } => obstacle_in_chinese(*kind, text),
            JudgeReason::Risk { kind, word } => risk_in_chinese(*kind, word),
            JudgeReason::Path { about, path } => path_in_chinese(*about, path),
            JudgeReason::ModeTrusted => "主人选择了 `trusted` 模式".to_owned(),
            JudgeReason::AllowRule(rule) => format!("规则 `{rule}` 允许"),
            JudgeReason::Granted => "之前已经批准过".to_owned(),
            JudgeReason::InSandbox => "每一部分都清楚，并在沙箱里运行".to_owned(),
            JudgeReason::SegmentInSandbox => "在沙箱里运行".to_owned(),
            JudgeReason::WorkspaceFile => "改动的是工作区里的文件".to_owned(),
            JudgeReason::NamedHost => "设置里列出了这个主机".to_owned(),
            JudgeReason::FreeNotes => "没有读过不可信内容时，可以随意记笔记".to_owned(),
            JudgeReason::Reading => "读取总是允许的".to_owned(),
        }
    }
}

fn risk_in_english(kind: RiskKind, word: &str) -> String {
    match kind {
        RiskKind::Destructive => format!("`{word}` can lose files or history"),
        RiskKind::UnnamedFiles => format!("`{word}` changes files that the command does not name"),
        RiskKind::Network => format!("`{word}` needs the network"),
        RiskKind::UnknownProgram => format!("`{word}` is not a program that Kith knows"),
        RiskKind::Machine => format!("`{word}` reaches other processes or services of the machine"),
        RiskKind::Privilege => format!("`{word}` asks for the rights of another user"),
        RiskKind::InlineCode => format!("`{word}` runs code that is not a file of the project"),
        RiskKind::Wrapper => format!("which command `{word}` runs is not certain"),
        RiskKind::RunsOther => format!("`{word}` can run other programs"),
        RiskKind::Options => format!("file names that match `{word}` could be taken for options"),
        RiskKind::Planted => {
            format!("`{word}` is a file of the workspace under the name of a program")
        }
        RiskKind::Environment => format!("the variable `{word}` can change which programs run"),
        RiskKind::ShellState => format!("`{word}` changes what the shell runs"),
    }
}

fn risk_in_chinese(kind: RiskKind, word: &str) -> String {
    match kind {
        RiskKind::Destructive => format!("`{word}` 可能丢失文件或历史"),
        RiskKind::UnnamedFiles => format!("`{word}` 会改动命令里没有写出的文件"),
        RiskKind::Network => format!("`{word}` 需要网络"),
        RiskKind::UnknownProgram => format!("`{word}` 不是 Kith 认识的程序"),
        RiskKind::Machine => format!("`{word}` 会影响这台机器上的其他进程或服务"),
        RiskKind::Privilege => format!("`{word}` 要求使用另一个用户的权限"),
        RiskKind::InlineCode => format!("`{word}` 运行的代码不是项目里的文件"),
        RiskKind::Wrapper => format!("无法确定 `{word}` 会运行哪个命令"),
        RiskKind::RunsOther => format!("`{word}` 可以运行其他程序"),
        RiskKind::Options => format!("`{word}` 代表的文件名可能被当作选项"),
        RiskKind::Planted => format!("`{word}` 是工作区里的文件，却用了程序的名字"),
        RiskKind::Environment => format!("变量 `{word}` 可能改变运行的程序"),
        RiskKind::ShellState => format!("`{word}` 会改变 shell 运行的内容"),
    }
}

fn path_in_english(about: PathReason, path: &str) -> String {
    match about {
        PathReason::RunsLater => {
            format!("`{path}` can make other programs run code later, outside the sandbox")
        }
        PathReason::Outside => format!("`{path}` lies outside the workspace"),
        PathReason::System => format!("`{path}` belongs to the system"),
        PathReason::Device => format!("`{path}` is a device or a file of the kernel"),
        PathReason::Secret => format!("`{path}` holds keys or Kith's own records"),
        PathReason::Oneself => format!("it changes what the agent is (`{path}`)"),
        PathReason::OneselfTainted => {
            format!("it changes what the agent is (`{path}`), and untrusted text was read before")
        }
        PathReason::OfGit => {
            format!("`{path}` belongs to git's own records, and history may be lost")
        }
        PathReason::Overwrites => format!("it overwrites `{path}`"),
        PathReason::Deletes => format!("it deletes `{path}`"),
        PathReason::MovesOut => format!("it moves `{path}` out of the workspace"),
    }
}

fn path_in_chinese(about: PathReason, path: &str) -> String {
    match about {
        PathReason::RunsLater => format!("`{path}` 会让其他程序以后在沙箱之外运行代码"),
        PathReason::Outside => format!("`{path}` 在工作区之外"),
        PathReason::System => format!("`{path}` 属于系统"),
        PathReason::Device => format!("`{path}` 是设备或内核文件"),
        PathReason::Secret => format!("`{path}` 保存着密钥或 Kith 自己的记录"),
        PathReason::Oneself => format!("会改动助手自身（`{path}`）"),
        PathReason::OneselfTainted => {
            format!("会改动助手自身（`{path}`），而之前读过不可信的内容")
        }
        PathReason::OfGit => format!("`{path}` 属于 git 自己的记录，项目的历史可能丢失"),
        PathReason::Overwrites => format!("会覆盖 `{path}`"),
        PathReason::Deletes => format!("会删除 `{path}`"),
        PathReason::MovesOut => format!("会把 `{path}` 移出工作区"),
    }
}

fn obstacle_in_english(kind: ObstacleKind, text: &str) -> String {
    let what = match kind {
        ObstacleKind::TooLong => return "the command is too long to be judged".to_owned(),
        ObstacleKind::TooDeep => return "the command is nested too deeply to be judged".to_owned(),
        ObstacleKind::Syntax => "has a form that is not understood",
        ObstacleKind::Ambiguous => "can be read in two ways",
        ObstacleKind::Character => {
            return "the command contains a control or invisible character".to_owned();
        }
        ObstacleKind::Substitution => "runs a command inside another",
        ObstacleKind::Expansion => "depends on a variable",
        ObstacleKind::Quoting => "is quoted in a way that is not judged",
        ObstacleKind::HereDocument => "has a here-document",
        ObstacleKind::ControlFlow => "has control flow",
        ObstacleKind::Test => "has a test or arithmetic",
        ObstacleKind::Function => "defines a function",
        ObstacleKind::Variable => "sets a variable",
        ObstacleKind::Background => return "it leaves a command in the background".to_owned(),
        ObstacleKind::Redirection => "has a redirection that is not judged",
        ObstacleKind::Program => "does not name its program plainly",
        ObstacleKind::Other => "is not understood",
    };
    format!("`{text}` {what}")
}

fn obstacle_in_chinese(kind: ObstacleKind, text: &str) -> String {
    let what = match kind {
        ObstacleKind::TooLong => return "命令太长，无法判断".to_owned(),
        ObstacleKind::TooDeep => return "命令嵌套太深，无法判断".to_owned(),
        ObstacleKind::Syntax => "的写法无法理解",
        ObstacleKind::Ambiguous => "有两种读法",
        ObstacleKind::Character => return "命令里有控制字符或看不见的字符".to_owned(),
        ObstacleKind::Substitution => "在命令里又运行命令",
        ObstacleKind::Expansion => "取决于变量",
        ObstacleKind::Quoting => "的引号写法无法判断",
        ObstacleKind::HereDocument => "含有 here-document",
        ObstacleKind::ControlFlow => "含有流程控制",
        ObstacleKind::Test => "含有条件测试或算术",
        ObstacleKind::Function => "定义了函数",
        ObstacleKind::Variable => "设置了变量",
        ObstacleKind::Background => return "会留下一个后台命令".to_owned(),
        ObstacleKind::Redirection => "的重定向无法判断",
        ObstacleKind::Program => "没有直接写明程序",
        ObstacleKind::Other => "无法理解",
    };
    format!("`{text}` {what}")
}
