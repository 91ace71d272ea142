//! Chats as a client of the AI SDK has them.

use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use futures_util::FutureExt as _;
use serde_json::{Value, json};

use super::{ChatForm, begin};
use crate::caller::Caller;
use crate::http::tests::{PATIENCE, Served, status_of};
use crate::serve::transport::Arrival;

/// The status of a stream and its chunks; `null` stands for the mark at its end.
async fn chat(served: &Served, body: &Value) -> (u16, Vec<Value>) {
    let body = body.to_string();
    let request = format!(
        "POST /api/chat HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    chunks_of(&served.raw(&request).await)
}

async fn resume(served: &Served, id: &str) -> (u16, Vec<Value>) {
    let request = format!(
        "GET /api/chat/{id}/stream HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n\
         Connection: close\r\n\r\n"
    );
    chunks_of(&served.raw(&request).await)
}

fn chunks_of(response: &str) -> (u16, Vec<Value>) {
    let status = status_of(response);
    let events = response.lines().filter_map(|line| line.strip_prefix("data: "));
    let read = |event: &str| match event {
        "[DONE]" => Value::Null,
        event => serde_json::from_str(event).unwrap(),
    };
    if status == 200 {
        let head = response.to_ascii_lowercase();
        for header in [
            "content-type: text/event-stream",
            "cache-control: no-cache",
            "x-vercel-ai-ui-message-stream: v1",
            "x-accel-buffering: no",
        ] {
            assert!(head.contains(header), "{header} in {head}");
        }
    }
    (status, events.map(read).collect())
}

fn user(id: &str, text: &str) -> Value {
    json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] })
}

fn submit(chat: &str, messages: &[Value]) -> Value {
    json!({ "id": chat, "messages": messages, "trigger": "submit-message" })
}

fn kinds(chunks: &[Value]) -> Vec<&str> {
    chunks.iter().map(|it| it["type"].as_str().unwrap_or("[DONE]")).collect()
}

fn text_of(chunks: &[Value]) -> String {
    chunks.iter().filter_map(|it| it["delta"].as_str()).collect()
}

/// The approvals that a stream asked for: of each its id and its call.
fn asked(chunks: &[Value]) -> Vec<(String, String)> {
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let requests = chunks.iter().filter(|it| it["type"] == "tool-approval-request");
    requests.map(|it| (text(&it["approvalId"]), text(&it["toolCallId"]))).collect()
}

/// The message of a stream as a client sends it back, with its answers.
fn answered(chunks: &[Value], approved: bool) -> Value {
    let parts: Vec<Value> = asked(chunks)
        .into_iter()
        .map(|(id, call)| {
            json!({ "type": "dynamic-tool", "toolName": "write_file", "toolCallId": call,
                "state": "approval-responded", "input": {}, "approval": { "id": id, "approved": approved } })
        })
        .collect();
    json!({ "id": chunks[0]["messageId"], "role": "assistant", "parts": parts })
}

const WRITE: &str = "write `Be brief.` to SOUL.md";

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_answered_as_a_stream_and_the_history_is_our_own() {
    let served = Served::new().await;
    let (status, chunks) = chat(&served, &submit("a", &[user("1", "say hello there")])).await;
    assert_eq!(status, 200);
    assert_eq!(text_of(&chunks), "hello there");
    let kinds = kinds(&chunks);
    assert_eq!((kinds[0], *kinds.last().unwrap()), ("start", "[DONE]"));
    assert_eq!(chunks[chunks.len() - 2]["finishReason"], "stop");
    // What a client makes up of the past is not read.
    let made_up = json!({ "id": "x", "role": "assistant", "parts": [{ "type": "text", "text": "NONSENSE" }] });
    let second =
        submit("a", &[user("1", "say other words"), made_up, user("2", "what did I say first?")]);
    let (_, chunks) = chat(&served, &second).await;
    assert!(text_of(&chunks).contains("hello there"), "{}", text_of(&chunks));
    let (_, messages) =
        served.call("list_messages", &json!({ "of": { "thread": "web:room:a" } })).await;
    assert!(!messages.to_string().contains("NONSENSE"));
    assert_eq!(messages["data"]["messages"].as_array().unwrap().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_sent_again_is_told_again_and_not_said_twice() {
    let served = Served::new().await;
    let message = submit("a", &[user("1", "say hello")]);
    let (_, first) = chat(&served, &message).await;
    let (_, again) = chat(&served, &message).await;
    assert_eq!(
        (&first[0]["messageId"], text_of(&again)),
        (&again[0]["messageId"], "hello".to_owned())
    );
    // The ids of messages belong to their chat.
    let (_, other) = chat(&served, &submit("b", &[user("1", "say bye")])).await;
    assert_eq!(text_of(&other), "bye");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_makes_the_round_trip_in_one_message() {
    for (approved, end) in [(true, "tool-output-available"), (false, "tool-output-denied")] {
        let served = Served::new().await;
        let said = user("1", WRITE);
        let (_, first) = chat(&served, &submit("a", std::slice::from_ref(&said))).await;
        assert_eq!(asked(&first).len(), 1, "{first:?}");
        assert_eq!(first[first.len() - 2]["finishReason"], "tool-calls");
        // Nothing runs while a person is asked.
        assert_eq!(resume(&served, "a").await, (204, Vec::new()));
        let mut answer = submit("a", &[said, answered(&first, approved)]);
        answer["messageId"] = first[0]["messageId"].clone();
        let (status, rest) = chat(&served, &answer).await;
        assert_eq!((status, kinds(&rest)[0]), (200, "start"));
        assert_eq!(rest[0]["messageId"], first[0]["messageId"]);
        assert_eq!(rest.iter().filter(|it| it["type"] == end).count(), 1, "{rest:?}");
        assert!(!kinds(&rest).contains(&"tool-input-available"), "{rest:?}");
        assert_eq!(rest[rest.len() - 2]["finishReason"], "stop");
        // The first answer counts, and who comes late sees what came of it.
        let (status, late) = chat(&served, &answer).await;
        assert_eq!((status, text_of(&late)), (200, text_of(&rest)));
        assert!(kinds(&late).contains(&end), "{late:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_found_in_any_message_and_an_unknown_one_changes_nothing() {
    let served = Served::new().await;
    let said = user("1", WRITE);
    let (_, first) = chat(&served, &submit("a", std::slice::from_ref(&said))).await;
    let mut unknown = answered(&first, true);
    unknown["parts"][0]["approval"]["id"] = json!("appr-0");
    let (status, _) = chat(&served, &submit("a", &[said.clone(), unknown])).await;
    assert_eq!(status, 400);
    let later = submit("a", &[said, answered(&first, false), user("2", "say and now")]);
    let (_, chunks) = chat(&served, &later).await;
    assert!(text_of(&chunks).contains("and now"), "{chunks:?}");
    let (_, approvals) = served.call("list_approvals", &json!({})).await;
    assert_eq!(approvals["data"]["approvals"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn asking_again_and_editing_are_branches() {
    let served = Served::new().await;
    let (_, first) = chat(&served, &submit("a", &[user("1", "say one")])).await;
    let regenerate = json!({ "id": "a", "messages": [user("1", "say one")],
        "trigger": "regenerate-message", "messageId": first[0]["messageId"] });
    let (_, again) = chat(&served, &regenerate).await;
    assert_eq!(text_of(&again), "one");
    assert_ne!(again[0]["messageId"], first[0]["messageId"]);
    let mut edited = submit("a", &[user("1", "say two")]);
    edited["messageId"] = json!("1");
    let (_, chunks) = chat(&served, &edited).await;
    assert_eq!(text_of(&chunks), "two");
    let (_, messages) =
        served.call("list_messages", &json!({ "of": { "thread": "web:room:a" } })).await;
    let messages = messages["data"]["messages"].as_array().unwrap().clone();
    assert_eq!((messages.len(), &messages[0]["parts"][0]["text"]), (2, &json!("say two")));
    let nothing = json!({ "id": "new", "messages": [], "trigger": "regenerate-message" });
    assert_eq!(chat(&served, &nothing).await.0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_refused_leaves_the_conversation_as_it_was() {
    let served = Served::new().await;
    let (_, first) = chat(&served, &submit("a", &[user("1", "say one")])).await;
    let mut edit = submit("a", &[user("1", "say two")]);
    edit["messageId"] = json!("1");
    let mut again = json!({ "id": "a", "messages": [user("1", "say one")],
        "trigger": "regenerate-message", "messageId": first[0]["messageId"] });
    let private = served.dir.path().join(".kith");
    for (field, value) in
        [("model", json!("nothing")), ("cwd", json!("/nowhere")), ("cwd", json!(private))]
    {
        for request in [&mut edit, &mut again] {
            let mut request = request.clone();
            request[field] = value.clone();
            let (status, answer) = served.call("chat", &request).await;
            assert!((400..500).contains(&status), "{status} {request} {answer}");
        }
    }
    let (_, messages) =
        served.call("list_messages", &json!({ "of": { "thread": "web:room:a" } })).await;
    let messages = messages["data"]["messages"].as_array().unwrap().clone();
    assert_eq!((messages.len(), &messages[0]["parts"][0]["text"]), (2, &json!("say one")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_wrong_says_what_is_wrong() {
    let served = Served::new().await;
    let file = |url: &str| {
        let part = json!({ "type": "file", "mediaType": "image/png", "url": url });
        submit("a", &[json!({ "id": "1", "role": "user", "parts": [part] })])
    };
    for (body, status) in [
        (json!({}), 400),
        (json!([]), 400),
        (submit("a", &[]), 400),
        (submit("", &[user("1", "hi")]), 400),
        (submit("../x", &[user("1", "hi")]), 400),
        (submit("a", &[user("1", " ")]), 400),
        (submit("a", &[user("", "hi")]), 400),
        (submit("a", &[user(&"x".repeat(200), "hi")]), 400),
        (file("https://evil.example/x.png"), 400),
        (file("data:image/png;base64,AAAA"), 400),
        (json!({ "id": "a", "messages": [user("1", "hi")], "trigger": "x" }), 400),
        (json!({ "id": "a", "messages": [user("1", "hi")], "agentId": "nobody" }), 400),
        (json!({ "id": "a", "messages": [user("1", "hi")], "model": "nothing" }), 400),
        (json!({ "id": "a", "messages": [user("1", "hi")], "cwd": "/nowhere" }), 404),
        (json!({ "id": "a", "messages": [user("1", "hi")], "cwd": "" }), 404),
    ] {
        let text = served.call("chat", &body).await;
        assert_eq!(text.0, status, "{body} {}", text.1);
        assert!(!text.1["error"]["message"].as_str().unwrap().is_empty());
    }
    assert_eq!(resume(&served, "nothing-yet").await.0, 204);
    for wrong in ["%FF", "a%2Fb", "a?agent=x"] {
        let request = format!(
            "GET /api/chat/{} HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n\
             Connection: close\r\n\r\n",
            wrong.replacen('?', "/stream?", 1)
        );
        let request = if wrong.contains('?') {
            request
        } else {
            request.replacen(wrong, &format!("{wrong}/stream"), 1)
        };
        assert_eq!(status_of(&served.raw(&request).await), 400, "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_of_another_kind_can_be_gone_on_with() {
    let served = Served::new().await;
    let (_, chunks) = chat(&served, &submit("cli:room:abc", &[user("1", "say hi")])).await;
    assert_eq!(text_of(&chunks), "hi");
    assert_eq!(chunks[0]["messageMetadata"]["threadId"], "cli:room:abc");
}

/// The files of all sessions.
fn logs(served: &Served) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(served.dir.path().join(".kith/sessions")).unwrap();
    let paths = entries.map(|it| it.unwrap().path());
    paths.filter(|it| it.extension().is_some_and(|it| it == "jsonl")).collect()
}

/// The messages of a chat, once the condition holds.
async fn until_messages(served: &Served, is_so: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let looking = async {
        loop {
            let asked = json!({ "of": { "thread": "web:room:a" } });
            let (_, answer) = served.call("list_messages", &asked).await;
            let messages = answer["data"]["messages"].as_array().unwrap();
            if is_so(messages) {
                return messages.clone();
            }
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_client_leaves_at_once_is_done_as_a_whole() {
    let served = Served::new().await;
    chat(&served, &submit("a", &[user("1", "say one")])).await;
    let mut edited = submit("a", &[user("1", "say two")]);
    edited["messageId"] = json!("1");
    let request = serde_json::from_value::<ChatForm>(edited).unwrap().into_request().unwrap();
    let caller = Arrival::Http.mark(Caller::owner("test"));
    // Looked at once and dropped, as the server does when the connection ends.
    let begun = begin(served.state(), caller, request).now_or_never();
    assert!(begun.is_none());
    let messages = until_messages(&served, |it| {
        it.len() == 2 && it[0]["parts"][0]["text"] == json!("say two")
    });
    assert_eq!(messages.await[1]["role"], "assistant");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reason_that_is_too_long_is_refused_and_nothing_is_answered() {
    let served = Served::new().await;
    let said = user("1", WRITE);
    let (_, first) = chat(&served, &submit("a", std::slice::from_ref(&said))).await;
    let mut answer = answered(&first, false);
    answer["parts"][0]["approval"]["reason"] = json!("x".repeat(4 * 1024 + 1));
    let (status, refused) = served.call("chat", &submit("a", &[said, answer])).await;
    assert_eq!(status, 400, "{refused}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("reason") && message.contains("4096"), "{message}");
    let (_, approvals) = served.call("list_approvals", &json!({})).await;
    let asked = &approvals["data"]["approvals"][0];
    let decide = json!({ "approval": asked["approvalId"], "decision": "deny",
        "decideId": uuid::Uuid::now_v7().to_string(), "reason": "x".repeat(4 * 1024 + 1) });
    let (status, refused) = served.call("decide_approval", &decide).await;
    assert_eq!(status, 400, "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_long_ago_do_not_make_every_message_read_the_log() {
    let served = Served::new().await;
    let said = user("1", WRITE);
    let (_, first) = chat(&served, &submit("a", std::slice::from_ref(&said))).await;
    let answer = answered(&first, false);
    chat(&served, &submit("a", &[said.clone(), answer.clone()])).await;
    // Whoever reads the log from its beginning notices this.
    let logs = logs(&served);
    let [log] = logs.as_slice() else { panic!("{logs:?}") };
    let bytes = std::fs::read(log).unwrap();
    let second_line = bytes.iter().position(|&it| it == b'\n').unwrap() + 1;
    let file = std::fs::OpenOptions::new().write(true).open(log).unwrap();
    file.write_at(b"!", second_line as u64).unwrap();
    let later = submit("a", &[said, answer, user("2", "say and now")]);
    let (status, chunks) = chat(&served, &later).await;
    assert_eq!(status, 200, "{chunks:?}");
    assert!(text_of(&chunks).contains("and now"), "{chunks:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_begins_in_the_real_folder_that_its_path_leads_to() {
    let served = Served::new().await;
    let real = served.dir.path().canonicalize().unwrap().join("real");
    std::fs::create_dir(&real).unwrap();
    let link = served.dir.path().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut said = submit("a", &[user("1", "say hi")]);
    said["cwd"] = json!(link);
    assert_eq!(chat(&served, &said).await.0, 200);
    let dialog = json!({ "cwd": link.join("../link/.") });
    let (status, made) = served.call("create_dialog", &dialog).await;
    assert_eq!(status, 200, "{made}");
    let logs = logs(&served);
    assert_eq!(logs.len(), 2);
    for log in logs {
        let text = std::fs::read_to_string(log).unwrap();
        let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(header["cwd"], json!(real), "{header}");
    }
    let nowhere = json!({ "cwd": served.dir.path().join(".kith") });
    assert_eq!(served.call("create_dialog", &nowhere).await.0, 404);
}
