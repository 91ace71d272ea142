//! The intent of a message, recognised by rules, in English and Chinese.
//!
//! The order of the rules matters: commands (`say …`, `run …`) are tried before subjects, so that
//! `say what time it is` is echoed and not answered.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Intent<'a> {
    Say(&'a str),
    /// A tool by its name, with its arguments as JSON.
    Call {
        tool: &'a str,
        arguments: &'a str,
    },
    Run(&'a str),
    Write {
        text: &'a str,
        path: &'a str,
    },
    Edit {
        path: &'a str,
        old: &'a str,
        new: &'a str,
    },
    Fetch(&'a str),
    Recall(Recall),
    Remember(&'a str),
    Read(&'a str),
    List,
    Search(&'a str),
    UseSkill(&'a str),
    TellTime,
    Summarise,
    Introduce,
    /// Anything else.
    Chat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recall {
    First,
    Latest,
    Name,
}

const QUOTES: [(char, char); 7] =
    [('`', '`'), ('"', '"'), ('\'', '\''), ('“', '”'), ('‘', '’'), ('「', '」'), ('『', '』')];

/// How a file begins that goes along with a message.
const ATTACHED: &str = "\n\n<attachment name=\"";

/// Polite words that may precede the command.
const POLITE_WORDS_MAX: usize = 4;

impl<'a> Intent<'a> {
    pub(super) fn of(words: &'a str) -> Intent<'a> {
        // What a file that goes along says is not what the person wants.
        let words = words.split(ATTACHED).next().unwrap_or(words);
        let wanted = without_politeness(words.trim());
        if wanted.is_empty() {
            return Intent::Introduce;
        }
        let lower = wanted.to_lowercase();
        command(wanted)
            .or_else(|| recall(&lower).map(Intent::Recall))
            .or_else(|| remember(wanted))
            .or_else(|| read(wanted))
            .or_else(|| list(&lower))
            .or_else(|| search(wanted))
            .or_else(|| skill(wanted))
            .or_else(|| subject(&lower))
            .unwrap_or(Intent::Chat)
    }
}

fn command(wanted: &str) -> Option<Intent<'_>> {
    let say =
        ["say ", "repeat after me", "repeat ", "echo ", "重复", "跟我说", "说一句", "说：", "说 "];
    if let Some(rest) = after_any(wanted, &say) {
        return filled(unquoted(rest)).map(Intent::Say);
    }
    if let Some(rest) = after_any(wanted, &["call ", "调用"]) {
        let rest = after_any(rest, &["the tool ", "tool ", "工具"]).unwrap_or(rest);
        let (tool, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, "{}"));
        let tool = without_end_mark(unquoted(tool));
        let arguments = after_any(arguments.trim(), &["with "]).unwrap_or(arguments).trim();
        return filled(tool).map(|tool| Intent::Call { tool, arguments });
    }
    let run = ["run ", "execute ", "运行", "执行", "跑一下"];
    if let Some(rest) = after_any(wanted, &run) {
        let rest = after_any(rest, &["the command ", "命令"]).unwrap_or(rest);
        return filled(quoted(rest).unwrap_or(rest.trim_end_matches('。'))).map(Intent::Run);
    }
    if let Some(rest) = after_any(wanted, &["fetch ", "抓取", "获取网页", "打开网页"]) {
        let url = without_end_mark(quoted(rest).unwrap_or(rest));
        return url.contains("://").then_some(Intent::Fetch(url));
    }
    edit(wanted).or_else(|| write(wanted))
}

/// `replace a by b in note.txt`, `把 note.txt 里的 a 改成 b`.
fn edit(wanted: &str) -> Option<Intent<'_>> {
    let (path, old, new) = if let Some(rest) = after_any(wanted, &["replace ", "edit ", "change "])
    {
        let (change, path) = rest.rsplit_once(" in ")?;
        let split = [" by ", " with ", " to "].iter().find_map(|word| change.split_once(word));
        let (old, new) = split?;
        (path, old, new)
    } else {
        let rest = after_any(wanted, &["把", "将"])?;
        let (place, new) =
            ["改成", "替换成", "替换为", "改为"].iter().find_map(|word| rest.split_once(word))?;
        let (path, old) =
            ["里的", "中的", "里面的"].iter().find_map(|word| place.split_once(word))?;
        (path, old, new.trim_end_matches('。'))
    };
    let (old, new) = (filled(unquoted(old))?, unquoted(new));
    Some(Intent::Edit { path: path_in(path, AnyWord::IsAPath)?, old, new })
}

fn write(wanted: &str) -> Option<Intent<'_>> {
    let parts = if let Some(rest) = after_any(wanted, &["write ", "save "]) {
        rest.rsplit_once(" to ").or_else(|| rest.rsplit_once(" into "))
    } else {
        let rest = after_any(wanted, &["把", "将", "写"])?;
        ["写到", "写入", "写进", "保存到", "到"].iter().find_map(|word| rest.rsplit_once(word))
    };
    let (text, path) = parts?;
    Some(Intent::Write { text: filled(unquoted(text))?, path: path_in(path, AnyWord::IsAPath)? })
}

fn recall(lower: &str) -> Option<Recall> {
    let name = ["what is my name", "what's my name", "know my name", "who am i"];
    let name_zh = ["我叫什么", "我的名字是什么", "我的名字叫什么", "我是谁"];
    if contains_any(lower, &name) || contains_any(lower, &name_zh) {
        return Some(Recall::Name);
    }
    let said =
        ["did i say", "what i said", "did i tell", "did i ask", "did i just", "my first message"];
    let said_zh = [
        "我说了什么",
        "我说过什么",
        "我刚才说",
        "我刚刚说",
        "我之前说",
        "我第一句",
        "我最先",
        "我一开始",
    ];
    if !contains_any(lower, &said) && !contains_any(lower, &said_zh) {
        return None;
    }
    let is_first = contains_any(lower, &["first", "第一", "最先", "一开始"]);
    Some(if is_first { Recall::First } else { Recall::Latest })
}

fn remember(wanted: &str) -> Option<Intent<'_>> {
    let words =
        ["remember that ", "remember:", "remember ", "note that ", "记住", "记一下", "记得"];
    after_any(wanted, &words).and_then(filled).map(Intent::Remember)
}

fn read(wanted: &str) -> Option<Intent<'_>> {
    if let Some(rest) = after_any(wanted, &["read ", "cat ", "读取", "读一下", "读"]) {
        return path_in(rest, AnyWord::IsAPath).map(Intent::Read);
    }
    // `show` and `open` are also said of things that are not files.
    let rest =
        after_any(wanted, &["show me ", "show ", "open ", "打开", "看一下", "看看", "显示"])?;
    path_in(rest, AnyWord::IsNoPath).map(Intent::Read)
}

fn list<'a>(lower: &str) -> Option<Intent<'a>> {
    let files = ["what files", "which files", "list of files", "show me the files", "show files"];
    let files_zh = ["有哪些文件", "有什么文件", "看看文件", "文件列表"];
    let begins = after_any(lower, &["list ", "列出", "列一下"]);
    let is_list = begins
        .is_some_and(|rest| contains_any(rest, &["file", "folder", "director", "文件", "目录"]))
        || contains_any(lower, &files)
        || contains_any(lower, &files_zh)
        || matches!(lower, "ls" | "dir");
    is_list.then_some(Intent::List)
}

fn search(wanted: &str) -> Option<Intent<'_>> {
    let words = [
        "search the files for ",
        "search for ",
        "search ",
        "look for ",
        "find ",
        "grep ",
        "搜索",
        "查找",
        "搜一下",
    ];
    let rest = after_any(wanted, &words)?;
    filled(quoted(rest).unwrap_or_else(|| without_end_mark(rest))).map(Intent::Search)
}

fn skill(wanted: &str) -> Option<Intent<'_>> {
    let words = ["use the skill ", "load the skill ", "use skill ", "使用技能", "加载技能"];
    let rest = after_any(wanted, &words)?;
    filled(quoted(rest).unwrap_or_else(|| without_end_mark(rest))).map(Intent::UseSkill)
}

fn subject<'a>(lower: &str) -> Option<Intent<'a>> {
    let time = [
        "what time",
        "what date",
        "what day",
        "which day",
        "the date",
        "the time is",
        "is the time",
        "'s the time",
        "today's date",
        "current time",
        "current date",
    ];
    let time_zh = ["几点", "几号", "日期", "星期几", "周几", "什么时间", "现在时间"];
    if contains_any(lower, &time) || contains_any(lower, &time_zh) {
        return Some(Intent::TellTime);
    }
    if contains_any(lower, &["summary", "summari", "总结", "摘要"]) {
        return Some(Intent::Summarise);
    }
    let who = [
        "who are you",
        "what are you",
        "what can you",
        "are you a",
        "your name",
        "which model",
        "what model",
    ];
    let who_zh = ["你是谁", "你是什么", "你能做什么", "你会什么", "什么模型", "帮助"];
    let is_greeting = matches!(
        without_end_mark(lower),
        "help" | "there" | "hi" | "hello" | "hey" | "你好" | "您好" | "嗨"
    );
    let introduces = is_greeting || contains_any(lower, &who) || contains_any(lower, &who_zh);
    introduces.then_some(Intent::Introduce)
}

fn without_politeness(words: &str) -> &str {
    let polite = [
        "hello,",
        "hello ",
        "hi,",
        "hi ",
        "hey,",
        "hey ",
        "please ",
        "please, ",
        "can you ",
        "could you ",
        "would you ",
        "kindly ",
        "你好，",
        "你好,",
        "您好，",
        "请你",
        "请",
        "帮我",
        "麻烦",
        "能不能",
        "可以",
    ];
    let mut wanted = words;
    for _ in 0..POLITE_WORDS_MAX {
        match after_any(wanted, &polite) {
            Some(rest) => wanted = rest,
            None => break,
        }
    }
    let end = [", please", "please", " please."];
    end.iter().find_map(|suffix| wanted.strip_suffix(suffix)).unwrap_or(wanted).trim_end()
}

/// What follows the first of these that the words begin with; ASCII case does not matter.
fn after_any<'a>(words: &'a str, beginnings: &[&str]) -> Option<&'a str> {
    let rest = beginnings.iter().find_map(|beginning| {
        let (head, rest) = words.split_at_checked(beginning.len())?;
        head.eq_ignore_ascii_case(beginning).then_some(rest)
    })?;
    Some(
        rest.trim_start_matches(|ch: char| {
            ch.is_whitespace() || matches!(ch, ':' | '：' | ',' | '，')
        }),
    )
}

fn contains_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

fn filled(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.is_empty()).then_some(text)
}

/// The text between the first pair of backticks, or between quotes around the whole.
fn quoted(text: &str) -> Option<&str> {
    let text = without_end_mark(text);
    if let Some((_, rest)) = text.split_once('`')
        && let Some((inner, _)) = rest.split_once('`')
    {
        return filled(inner);
    }
    QUOTES.iter().find_map(|(open, close)| filled(text.strip_prefix(*open)?.strip_suffix(*close)?))
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    QUOTES
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close))
        .unwrap_or(text)
}

fn without_end_mark(text: &str) -> &str {
    text.trim().trim_end_matches(['.', '?', '!', '。', '？', '！']).trim_end()
}

/// Whether a single word without a dot or slash is taken for a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnyWord {
    IsAPath,
    IsNoPath,
}

fn path_in(text: &str, any_word: AnyWord) -> Option<&str> {
    if let Some(path) = quoted(text) {
        return Some(path);
    }
    let text = after_any(text, &["the file ", "file ", "the ", "文件"]).unwrap_or(text);
    let words: Vec<&str> = text.split_whitespace().map(bare_path).collect();
    let looks_like_path = |word: &&&str| word.contains(['.', '/']) && word.len() > 1;
    if let Some(path) = words.iter().find(looks_like_path) {
        return Some(path);
    }
    match (words.as_slice(), any_word) {
        ([word], AnyWord::IsAPath) => filled(word),
        _ => None,
    }
}

/// `notes.md文件的内容。` is about `notes.md`.
fn bare_path(word: &str) -> &str {
    let word = without_end_mark(word).trim_end_matches([',', ';', ':']);
    // As the terminal completes names of files.
    let word = word.strip_prefix('@').filter(|name| !name.is_empty()).unwrap_or(word);
    let begins_in_ascii = word.starts_with(|ch: char| ch.is_ascii());
    let end = word.find(super::is_ideograph).filter(|_| begins_in_ascii);
    &word[..end.unwrap_or(word.len())]
}
