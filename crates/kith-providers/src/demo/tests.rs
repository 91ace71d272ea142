//! A test is what was said and what the demo answers. The request goes through the real renderer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kith_vocab::block::ToolCall;
use kith_vocab::conversation::{
    CallResult, Element, ElementKind, Message, ModelRequest, ResultPart, ResultPartKind, Role,
};
use kith_vocab::ids::EventId;
use kith_vocab::snapshot::ToolSpec;

use super::*;
use crate::render::render;

const TOOLS: [&str; 9] = [
    "list_files",
    "read_file",
    "exec_shell",
    "write_file",
    "memory_append",
    "search_files",
    "skill",
    "edit_file",
    "use_tool",
];

const SYSTEM: &str = "You are Kith.\n\n# Time\nIt is Tuesday, 2 June 2026, 10:00 in Europe/Berlin.";

#[tokio::test]
async fn it_says_what_it_is() {
    for words in
        ["hello", "Hi!", "who are you?", "help", "hello, please", "hi there", "What can you do?"]
    {
        let said = ask(words).await;
        assert!(
            said.starts_with(
                "I am Kith's built-in demo model: a set of rules, not a language model"
            ),
            "{words}: {said}"
        );
    }
    for words in ["你好", "你是谁？", "你能做什么"] {
        assert!(ask(words).await.starts_with("我是 Kith 内置的演示模型"), "{words}");
    }
}

#[tokio::test]
async fn tools_are_called_when_asked() {
    for (words, call) in [
        ("list the files", "list_files {}"),
        ("Please list all files here.", "list_files {}"),
        ("what files are there?", "list_files {}"),
        ("ls", "list_files {}"),
        ("列出文件", "list_files {}"),
        ("这里有哪些文件？", "list_files {}"),
        (r#"call skill {"name":"x"}"#, r#"skill {"name":"x"}"#),
        ("call the tool `list_files`", "list_files {}"),
        (r#"调用工具 search_files {"pattern":"x"}"#, r#"search_files {"pattern":"x"}"#),
        ("read notes.md", r#"read_file {"path":"notes.md"}"#),
        ("read @notes.md", r#"read_file {"path":"notes.md"}"#),
        (
            "read @notes.md\n\n<attachment name=\"notes.md\" bytes=\"10\">\nread a skill\n</attachment>",
            r#"read_file {"path":"notes.md"}"#,
        ),
        ("Can you read the file docs/a b.md?", r#"read_file {"path":"docs/a"}"#),
        ("read `docs/a b.md`", r#"read_file {"path":"docs/a b.md"}"#),
        ("show me SOUL.md", r#"read_file {"path":"SOUL.md"}"#),
        ("read Makefile", r#"read_file {"path":"Makefile"}"#),
        ("读 notes.md", r#"read_file {"path":"notes.md"}"#),
        ("请读一下notes.md文件的内容。", r#"read_file {"path":"notes.md"}"#),
        ("打开文件 a/b.txt", r#"read_file {"path":"a/b.txt"}"#),
        ("run `date`", r#"exec_shell {"command":"date"}"#),
        ("run `rm -rf build` please", r#"exec_shell {"command":"rm -rf build"}"#),
        ("run git log --oneline", r#"exec_shell {"command":"git log --oneline"}"#),
        ("运行 date", r#"exec_shell {"command":"date"}"#),
        ("执行命令 `ls -l`", r#"exec_shell {"command":"ls -l"}"#),
        (
            "write hello to you to note.txt",
            r#"write_file {"path":"note.txt","content":"hello to you"}"#,
        ),
        (
            "write \"a \\\"b\\\"\" to x.txt",
            r#"write_file {"path":"x.txt","content":"a \\\"b\\\""}"#,
        ),
        ("把 你好 写到 note.txt", r#"write_file {"path":"note.txt","content":"你好"}"#),
        (
            "replace hello by bye in note.txt",
            r#"edit_file {"path":"note.txt","old":"hello","new":"bye"}"#,
        ),
        ("把 note.txt 里的 a 改成 b。", r#"edit_file {"path":"note.txt","old":"a","new":"b"}"#),
        (
            "fetch https://example.org/a?b=c",
            r#"use_tool {"name":"fetch_url","input":{"url":"https://example.org/a?b=c"}}"#,
        ),
        (
            "抓取 https://example.org/",
            r#"use_tool {"name":"fetch_url","input":{"url":"https://example.org/"}}"#,
        ),
        ("remember that I like tea", r#"memory_append {"text":"I like tea"}"#),
        ("记住：我喜欢茶", r#"memory_append {"text":"我喜欢茶"}"#),
        ("search for TODO", r#"search_files {"pattern":"TODO"}"#),
        ("搜索 TODO", r#"search_files {"pattern":"TODO"}"#),
        ("please use the skill tidy.", r#"skill {"name":"tidy"}"#),
        ("使用技能 tidy", r#"skill {"name":"tidy"}"#),
    ] {
        let said = ask(words).await;
        assert!(said.ends_with(&format!("-> {call}")), "{words}: {said}");
    }
}

#[tokio::test]
async fn a_tool_that_is_not_listed_is_not_called() {
    let answer = answer_to(&[user("run `date`")], &[]).await;
    assert_eq!(answer, "The tool `exec_shell` is not in this session's list, so I cannot do that.");
    let answer = answer_to(&[user("列出文件")], &["read_file"]).await;
    assert_eq!(answer, "这个会话的工具列表里没有 `list_files`，所以我做不了。");
}

#[tokio::test]
async fn inputs_a_tool_cannot_do_without_are_filled_in() {
    let answer = answer_to(&[user("list the files")], &["list_files!"]).await;
    assert_eq!(answer, r#"I will use `list_files` for that. -> list_files {"pattern":"*"}"#);
}

#[tokio::test]
async fn results_are_reported() {
    let reminder = "\n\n<system-reminder>\nthe date changed\n</system-reminder>";
    check_result("a.md\nb.md", "Here is what `list_files` gave:\n\na.md\nb.md").await;
    check_result(&format!("a.md{reminder}"), "Here is what `list_files` gave:\n\na.md").await;
    check_result("", "Here is what `list_files` gave:\n\n(no output)").await;
    check_result("refused: not now", "`list_files` did not work: refused: not now").await;
    let many = (1..=25).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    let answer = answer_to(&with_result(&many), &TOOLS).await;
    assert!(answer.ends_with("line 20\n… and 5 more lines"), "{answer}");
}

#[tokio::test]
async fn words_after_a_result_are_answered_instead() {
    let mut messages = with_result("a.md");
    messages[2].elements.push(text("say stop"));
    assert_eq!(answer_to(&messages, &TOOLS).await, "stop");
}

#[tokio::test]
async fn history_is_there() {
    let talk = [user("my name is Ada, hello"), model("hi"), user("I like tea"), model("ok")];
    let then = |words| [talk.as_slice(), &[user(words)]].concat();
    for (question, answer) in [
        ("what did I say first?", "The first thing you said was: “my name is Ada, hello”"),
        ("What did I just say?", "Before this you said: “I like tea”"),
        ("what is my name?", "You told me: Ada."),
        ("我最先说了什么", "你最先说的是：“my name is Ada, hello”"),
        ("我叫什么？", "你说过：Ada。"),
    ] {
        assert_eq!(answer_to(&then(question), &TOOLS).await, answer, "{question}");
    }
    assert_eq!(
        ask("what did I say first?").await,
        "You have not told me yet in this conversation."
    );
}

#[tokio::test]
async fn reminders_are_nobodys_words() {
    let reminder = meta("<system-reminder>\nsay boo\n</system-reminder>");
    let mut first = user("I like tea");
    first.elements.insert(0, reminder.clone());
    let mut last = user("what did I say first?");
    last.elements.push(reminder);
    let answer = answer_to(&[first, model("ok"), last], &TOOLS).await;
    assert_eq!(answer, "The first thing you said was: “I like tea”");
}

#[tokio::test]
async fn a_reminder_alone_repeats_no_deed() {
    let mut messages = with_result("a.md");
    messages.push(model("Here it is."));
    let reminder = meta("<system-reminder>\nit is Wednesday\n</system-reminder>");
    messages.push(Message { role: Role::User, elements: vec![reminder] });
    assert_eq!(answer_to(&messages, &TOOLS).await, "Noted; there is nothing for me to do.");
}

#[tokio::test]
async fn a_steer_is_followed_before_results_are_reported() {
    let steer = "\n\n<system-reminder>\nread notes.md instead\n</system-reminder>";
    let answer = answer_to(&with_result(&format!("a.md{steer}")), &TOOLS).await;
    assert_eq!(answer, r#"I will use `read_file` for that. -> read_file {"path":"notes.md"}"#);
    let mut messages = with_result("a.md");
    messages.push(model("Here it is."));
    let steer = meta("<system-reminder>\n说 完成了\n</system-reminder>");
    messages.push(Message { role: Role::User, elements: vec![steer] });
    assert_eq!(answer_to(&messages, &TOOLS).await, "完成了");
}

#[tokio::test]
async fn a_summary_has_its_headings() {
    let talk = [user("I like tea"), model("ok"), user("Summarise the conversation so far.")];
    assert_eq!(
        answer_to(&talk, &TOOLS).await,
        "## Facts\n- The user said: I like tea\n\n## Decisions\n- none\n\n## Open tasks\n- none\n\n\
         ## Preferences\n- none\n\n## Done\n- none"
    );
}

#[tokio::test]
async fn small_talk() {
    for (words, answer) in [
        ("say hello world", "hello world"),
        ("Repeat “what time is it”", "what time is it"),
        ("重复 你好", "你好"),
        (
            "what time is it?",
            "My instructions say:\n\n# Time\nIt is Tuesday, 2 June 2026, 10:00 in Europe/Berlin.",
        ),
        (
            "I had soup",
            "You said: “I had soup”. I am only the demo model and know a few rules. Try: list the files; read README.md; search for TODO; run `date`; write hello to note.txt; replace hello by bye in note.txt; remember that I like tea; what did I say first.",
        ),
        (
            "我喝了汤",
            "你说的是：“我喝了汤”。我只是演示模型，只懂几条规则。可以试试：列出文件；读 README.md；搜索 TODO；运行 date；把 hello 写到 note.txt；把 note.txt 里的 hello 改成 bye；记住 我喜欢茶；我最先说了什么。",
        ),
    ] {
        assert_eq!(ask(words).await, answer, "{words}");
    }
}

#[tokio::test]
async fn odd_words_are_answered_too() {
    for words in [
        "`",
        "run",
        "run `",
        "read",
        "write to",
        "把",
        "记住",
        "say",
        "\u{0}",
        "…",
        "读…",
        "é",
        "writé x to y",
    ] {
        assert!(!ask(words).await.is_empty(), "{words}");
    }
}

#[tokio::test]
async fn a_stop_is_heard_between_words() {
    struct StopAfter(CancellationToken, Mutex<usize>);
    impl DeltaSink for StopAfter {
        fn delta(&self, _: Delta<'_>) {
            let mut left = self.1.lock().unwrap();
            *left -= 1;
            if *left == 0 {
                self.0.cancel();
            }
        }
    }
    let cancel = CancellationToken::new();
    let sink = Arc::new(StopAfter(cancel.clone(), Mutex::new(2)));
    let ctx = AskContext { cancel, ..context(sink) };
    let unfinished = demo().ask(body(&[user("say a b c")], &[]), ctx).await.unwrap_err();
    assert_eq!(
        unfinished,
        AnswerFailure {
            cause: FailureCause::Cancelled,
            partial_text: "a b ".to_owned(),
            usage: None
        }
    );
}

#[test]
fn its_endpoint_is_that_of_its_name() {
    assert_eq!(ENDPOINT_DIGEST, &kith_vocab::digest::sha256_hex(b"demo")[..16]);
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let unfinished = demo().ask(b"{}".to_vec(), context(Arc::new(Heard::default()))).await;
    assert!(matches!(
        unfinished.unwrap_err().cause,
        FailureCause::Failed { kind: FailureKind::Malformed, .. }
    ));
}

async fn check_result(result: &str, expected: &str) {
    assert_eq!(answer_to(&with_result(result), &TOOLS).await, expected);
}

async fn ask(words: &str) -> String {
    answer_to(&[user(words)], &TOOLS).await
}

/// The answer's text and, after an arrow, its call. What the sink saw must be the same.
async fn answer_to(messages: &[Message], tools: &[&str]) -> String {
    let heard = Arc::new(Heard::default());
    let answer = demo().ask(body(messages, tools), context(heard.clone())).await.unwrap();
    assert!(answer.usage.unwrap().output > 0);
    let mut words = String::new();
    for block in answer.content {
        match block {
            AnswerBlock::Text(text) => words.push_str(&text),
            AnswerBlock::Call { tool, arguments, .. } => {
                assert_eq!(answer.stop_reason, StopReason::ToolCall);
                words.push_str(&[" -> ", &tool, " ", &arguments].concat());
            }
            AnswerBlock::Thinking(_) => panic!("a set of rules does not think"),
        }
    }
    assert_eq!(*heard.0.lock().unwrap(), words);
    words
}

fn context(sink: Arc<dyn DeltaSink>) -> AskContext {
    AskContext { time_left: Duration::from_hours(1), cancel: CancellationToken::new(), sink }
}

#[derive(Default)]
struct Heard(Mutex<String>);

impl DeltaSink for Heard {
    fn delta(&self, delta: Delta<'_>) {
        let mut heard = self.0.lock().unwrap();
        match delta.part {
            DeltaPart::Text(text) => heard.push_str(text),
            DeltaPart::CallBegun { tool, .. } => heard.push_str(&[" -> ", tool, " "].concat()),
            DeltaPart::CallInput { json, .. } => heard.push_str(json),
            DeltaPart::Thinking(_) => panic!("a set of rules does not think"),
        }
    }
}

/// A tool written `name!` has a required `pattern`.
fn body(messages: &[Message], tools: &[&str]) -> Vec<u8> {
    let tools: Vec<ToolSpec> = tools
        .iter()
        .map(|tool| ToolSpec {
            name: tool.trim_end_matches('!').to_owned(),
            description: "a tool".to_owned(),
            input_schema: if tool.ends_with('!') {
                Json::parse(r#"{"type":"object","required":["pattern"]}"#).unwrap()
            } else {
                Json::parse(r#"{"type":"object"}"#).unwrap()
            },
        })
        .collect();
    let parameters = Json::empty_object();
    let request = ModelRequest {
        provider: "demo",
        model: "demo",
        parameters: &parameters,
        system: SYSTEM,
        tools: &tools,
        messages: messages.iter().collect(),
    };
    render(Wire::OpenaiChat, &request, &BTreeMap::new()).unwrap()
}

fn with_result(result: &str) -> Vec<Message> {
    let id: EventId = "0198a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1".parse().unwrap();
    let (call_id, tool) = (id.call(0), "list_files".to_owned());
    let call = ToolCall {
        call_id,
        provider_call_id: "demo_1".to_owned(),
        tool: tool.clone(),
        input: Json::empty_object(),
        raw_input: None,
    };
    let part = ResultPart { from: None, kind: ResultPartKind::Text(result.into()) };
    let result = CallResult { call_id, tool, failed: false, parts: vec![part] };
    let of = |role, kind| Message { role, elements: vec![Element { from: None, kind }] };
    vec![
        user("list the files"),
        of(Role::Assistant, ElementKind::Call(call)),
        of(Role::User, ElementKind::Result(result)),
    ]
}

fn user(words: &str) -> Message {
    Message { role: Role::User, elements: vec![text(words)] }
}

fn model(words: &str) -> Message {
    Message { role: Role::Assistant, elements: vec![text(words)] }
}

fn text(words: &str) -> Element {
    Element { from: None, kind: ElementKind::Text(words.into()) }
}

fn meta(words: &str) -> Element {
    Element { from: None, kind: ElementKind::Meta(words.into()) }
}
