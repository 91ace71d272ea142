//! The answers of the demo model.
//!
//! Every answer is a function of the request, so a session with it can be replayed. Tools are
//! called only if the request lists them.

use serde_json::{Map, Value};

use super::conversation::{DemoMessage, DemoRequest, Language, shortened};
use super::intent::{Intent, Recall};

const QUOTE_LINES_MAX: usize = 20;
const QUOTE_LINE_CHARS_MAX: usize = 200;
const ECHO_CHARS_MAX: usize = 80;
const SUMMARY_SAYINGS_MAX: usize = 10;

pub(super) struct DemoReply {
    pub(super) text: String,
    pub(super) call: Option<DemoCall>,
}

pub(super) struct DemoCall {
    pub(super) tool: String,
    /// A JSON object.
    pub(super) arguments: String,
}

pub(super) fn reply(request: &DemoRequest) -> DemoReply {
    let language = request.language();
    // A steer comes when the model has spoken, not beside a message, and is followed first.
    let is_spoken_to = matches!(request.messages.last(), Some(DemoMessage::User(_)));
    if let Some(steer) = request.reminder.as_ref().filter(|_| !is_spoken_to)
        && let Some(reply) = act(request, &Intent::of(steer))
    {
        return reply;
    }
    let words = match request.messages.last() {
        Some(DemoMessage::User(words)) => words.as_str(),
        Some(DemoMessage::Tool { .. }) => return text(report(request, language)),
        // Only a reminder came since. Acting on the last message again would do it twice.
        Some(DemoMessage::Model) => return text(nothing_to_do(language).to_owned()),
        None => "",
    };
    let intent = Intent::of(words);
    act(request, &intent).unwrap_or_else(|| {
        text(match intent {
            Intent::Recall(what) => recall(request, what, language),
            Intent::TellTime => tell_time(request, language),
            Intent::Summarise => summary(request),
            Intent::Introduce => introduction(request, language),
            _ => chat(request, words, language),
        })
    })
}

/// What the demo does when it is told to do something; `None` if it is only spoken to.
fn act(request: &DemoRequest, intent: &Intent<'_>) -> Option<DemoReply> {
    Some(match *intent {
        Intent::Say(echo) => text(echo.to_owned()),
        Intent::Call { tool, arguments } => call_with(request, tool, arguments),
        Intent::Run(command) => call(request, "exec_shell", &[("command", command)]),
        Intent::Write { text, path } => {
            call(request, "write_file", &[("path", path), ("content", text)])
        }
        Intent::Edit { path, old, new } => {
            call(request, "edit_file", &[("path", path), ("old", old), ("new", new)])
        }
        // Not in the list: tools that are seldom needed are called through this one.
        Intent::Fetch(url) => {
            let arguments = serde_json::json!({ "name": "fetch_url", "input": { "url": url } });
            call_with(request, "use_tool", &arguments.to_string())
        }
        Intent::Remember(fact) => call(request, "memory_append", &[("text", fact)]),
        Intent::Read(path) => call(request, "read_file", &[("path", path)]),
        Intent::List => call(request, "list_files", &[]),
        Intent::Search(pattern) => call(request, "search_files", &[("pattern", pattern)]),
        Intent::UseSkill(name) => call(request, "skill", &[("name", name)]),
        Intent::Recall(_)
        | Intent::TellTime
        | Intent::Summarise
        | Intent::Introduce
        | Intent::Chat => return None,
    })
}

fn text(text: String) -> DemoReply {
    DemoReply { text, call: None }
}

fn call(request: &DemoRequest, tool: &str, inputs: &[(&str, &str)]) -> DemoReply {
    let inputs = inputs.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
    let mut arguments: Map<String, Value> = inputs.collect();
    let listed = request.tools.iter().find(|listed| listed.name == tool);
    for name in listed.into_iter().flat_map(|listed| &listed.required) {
        if let Some(everything) = default_input(name).filter(|_| !arguments.contains_key(name)) {
            arguments.insert(name.clone(), Value::from(everything));
        }
    }
    call_with(request, tool, &Value::Object(arguments).to_string())
}

fn call_with(request: &DemoRequest, tool: &str, arguments: &str) -> DemoReply {
    let language = request.language();
    if !request.tools.iter().any(|listed| listed.name == tool) {
        return text(match language {
            Language::English => {
                format!("The tool `{tool}` is not in this session's list, so I cannot do that.")
            }
            Language::Chinese => format!("这个会话的工具列表里没有 `{tool}`，所以我做不了。"),
        });
    }
    let text = match language {
        Language::English => format!("I will use `{tool}` for that."),
        Language::Chinese => format!("我来用 `{tool}` 处理。"),
    };
    let call = DemoCall { tool: tool.to_owned(), arguments: arguments.to_owned() };
    DemoReply { text, call: Some(call) }
}

/// The widest sensible value for a required input that the message did not name.
fn default_input(name: &str) -> Option<&'static str> {
    match name {
        "pattern" | "glob" => Some("*"),
        "path" | "folder" | "directory" => Some("."),
        _ => None,
    }
}

/// A report of the results of the last round of calls.
fn report(request: &DemoRequest, language: Language) -> String {
    let mut reports: Vec<String> = Vec::new();
    for message in request.messages.iter().rev() {
        let DemoMessage::Tool { tool, text } = message else { break };
        reports.push(report_one(tool, text, language));
    }
    reports.reverse();
    reports.join("\n\n")
}

fn report_one(tool: &str, text: &str, language: Language) -> String {
    let shown = quote(text, language);
    match (language, is_failure(text)) {
        (Language::English, true) => format!("`{tool}` did not work: {shown}"),
        (Language::Chinese, true) => format!("`{tool}` 没有成功：{shown}"),
        (Language::English, false) => format!("Here is what `{tool}` gave:\n\n{shown}"),
        (Language::Chinese, false) => format!("`{tool}` 的结果：\n\n{shown}"),
    }
}

/// This wire does not say whether a tool failed, so its words must.
fn is_failure(text: &str) -> bool {
    const BEGINNINGS: [&str; 18] = [
        "error",
        "failed",
        "refused",
        "denied",
        "not allowed",
        "cancelled",
        "interrupted",
        "cannot",
        "could not",
        "permission denied",
        "unknown tool",
        "no such",
        "there is no ",
        "not approved",
        "拒绝",
        "失败",
        "已取消",
        "未获批准",
    ];
    let text = text.to_lowercase();
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

fn quote(text: &str, language: Language) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.iter().take(QUOTE_LINES_MAX);
    let mut shown: Vec<String> = shown.map(|line| shortened(line, QUOTE_LINE_CHARS_MAX)).collect();
    let n_more = lines.len().saturating_sub(QUOTE_LINES_MAX);
    if n_more > 0 {
        shown.push(match language {
            Language::English => format!("… and {n_more} more lines"),
            Language::Chinese => format!("……还有 {n_more} 行"),
        });
    }
    shown.join("\n")
}

fn recall(request: &DemoRequest, what: Recall, language: Language) -> String {
    // The last one is the question itself.
    let mut earlier: Vec<&str> = request.user_words().collect();
    earlier.pop();
    let found = match what {
        Recall::First => earlier.first().map(|words| shortened(words, QUOTE_LINE_CHARS_MAX)),
        Recall::Latest => earlier.last().map(|words| shortened(words, QUOTE_LINE_CHARS_MAX)),
        Recall::Name => earlier.iter().rev().find_map(|words| name_in(words)).map(str::to_owned),
    };
    match (language, what, found) {
        (Language::English, Recall::First, Some(words)) => {
            format!("The first thing you said was: “{words}”")
        }
        (Language::English, Recall::Latest, Some(words)) => {
            format!("Before this you said: “{words}”")
        }
        (Language::English, Recall::Name, Some(name)) => format!("You told me: {name}."),
        (Language::Chinese, Recall::First, Some(words)) => format!("你最先说的是：“{words}”"),
        (Language::Chinese, Recall::Latest, Some(words)) => format!("你刚才说的是：“{words}”"),
        (Language::Chinese, Recall::Name, Some(name)) => format!("你说过：{name}。"),
        (Language::English, _, None) => "You have not told me yet in this conversation.".to_owned(),
        (Language::Chinese, _, None) => "在这次对话里你还没有说过。".to_owned(),
    }
}

fn name_in(words: &str) -> Option<&str> {
    // Only ASCII changes its case here, so positions stay the same.
    let lower = words.to_ascii_lowercase();
    let beginnings = ["my name is ", "call me ", "我的名字是", "我叫"];
    let start = beginnings.iter().find_map(|it| lower.find(it).map(|start| start + it.len()))?;
    let name =
        words[start..].split(['.', ',', '!', '?', '\n', '。', '，', '！', '？']).next()?.trim();
    (!name.is_empty() && name.len() <= ECHO_CHARS_MAX).then_some(name)
}

/// The section on time is the last one of the system prompt.
fn tell_time(request: &DemoRequest, language: Language) -> String {
    let section = request.system.trim().rsplit("\n\n").next().unwrap_or_default();
    let shown = quote(section, language);
    match (language, shown.is_empty()) {
        (Language::English, false) => format!("My instructions say:\n\n{shown}"),
        (Language::Chinese, false) => format!("我的说明里写着：\n\n{shown}"),
        (Language::English, true) => "I was not told the time.".to_owned(),
        (Language::Chinese, true) => "没有人告诉我时间。".to_owned(),
    }
}

/// Under the headings that a compaction asks for, which are the same in every language.
fn summary(request: &DemoRequest) -> String {
    let mut sayings: Vec<&str> = request.user_words().collect();
    sayings.pop();
    let recent = sayings.len().saturating_sub(SUMMARY_SAYINGS_MAX);
    let facts: Vec<String> = sayings[recent..]
        .iter()
        .map(|words| format!("- The user said: {}", shortened(&one_line(words), ECHO_CHARS_MAX)))
        .collect();
    let facts = if facts.is_empty() { "- none".to_owned() } else { facts.join("\n") };
    let rest =
        ["Decisions", "Open tasks", "Preferences", "Done"].map(|it| format!("## {it}\n- none"));
    format!("## Facts\n{facts}\n\n{}", rest.join("\n\n"))
}

fn nothing_to_do(language: Language) -> &'static str {
    match language {
        Language::English => "Noted; there is nothing for me to do.",
        Language::Chinese => "知道了，没有需要我做的事。",
    }
}

/// Examples of requests, with the tool that each needs: only those of listed tools are shown.
const EXAMPLES: [(&str, &str, &str); 7] = [
    ("list_files", "list the files", "列出文件"),
    ("read_file", "read README.md", "读 README.md"),
    ("search_files", "search for TODO", "搜索 TODO"),
    ("exec_shell", "run `date`", "运行 date"),
    ("write_file", "write hello to note.txt", "把 hello 写到 note.txt"),
    ("edit_file", "replace hello by bye in note.txt", "把 note.txt 里的 hello 改成 bye"),
    ("memory_append", "remember that I like tea", "记住 我喜欢茶"),
];

fn examples(request: &DemoRequest, language: Language) -> String {
    let is_listed = |tool: &str| request.tools.iter().any(|listed| listed.name == tool);
    let listed = EXAMPLES.iter().filter(|(tool, ..)| is_listed(tool));
    match language {
        Language::English => {
            let words: Vec<&str> = listed.map(|(_, english, _)| *english).collect();
            [words, vec!["what did I say first"]].concat().join("; ")
        }
        Language::Chinese => {
            let words: Vec<&str> = listed.map(|(.., chinese)| *chinese).collect();
            [words, vec!["我最先说了什么"]].concat().join("；")
        }
    }
}

fn introduction(request: &DemoRequest, language: Language) -> String {
    let examples = examples(request, language);
    match language {
        Language::English => format!(
            "I am Kith's built-in demo model: a set of rules, not a language model. I need no key \
             and no network, and I am here so that you can try everything else. Type for example: \
             {examples}. For real answers set ANTHROPIC_API_KEY or OPENAI_API_KEY."
        ),
        Language::Chinese => format!(
            "我是 Kith 内置的演示模型：一组规则，不是语言模型。我不需要密钥和网络，只是让你可以先试用其他部分。\
             你可以输入：{examples}。想要真正的回答，请设置 ANTHROPIC_API_KEY 或 OPENAI_API_KEY。"
        ),
    }
}

fn chat(request: &DemoRequest, words: &str, language: Language) -> String {
    let echo = shortened(&one_line(words), ECHO_CHARS_MAX);
    let examples = examples(request, language);
    match language {
        Language::English => format!(
            "You said: “{echo}”. I am only the demo model and know a few rules. Try: {examples}."
        ),
        Language::Chinese => {
            format!("你说的是：“{echo}”。我只是演示模型，只懂几条规则。可以试试：{examples}。")
        }
    }
}

fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
