//! The addresses that are not calls: chats, scripts, logins.

use schemars::{JsonSchema as _, Schema, SchemaGenerator};
use serde_json::{Value, json};

use super::refused;
use crate::calls::priming::ScriptRow;
use crate::http::METRICS;
use crate::http::chat::ChatForm;
use crate::http::priming::{SAVE, SCRIPTS, SaveCourseForm};

type DescribedPath = (&'static str, Value);

const CHAT: &str = "Answers the last message of a chat, or goes on after answers to questions.";
const CHAT_STREAM: &str = "Tells the running turn of a chat again, from its beginning.";
const CHUNKS: &str =
    "Chunks of the AI SDK's UI message stream, one per event; `[DONE]` is the last.";
const LIST: &str = "Lists the scripts that an agent used last, or those that match `q`.";
const KEEP: &str = "Keeps a conversation as a priming script. A script of that name is refused with 409 \
                    `ALREADY_EXISTS`, unless `overwrite` is set.";

pub(super) fn other_paths(generator: &mut SchemaGenerator, error: &Schema) -> Vec<DescribedPath> {
    let refused = refused(error);
    let mut paths = chat_paths(generator, &refused);
    paths.extend(script_paths(generator, &refused));
    paths.extend(login_paths(&refused));
    paths.push((METRICS, metrics_path(&refused)));
    paths
}

fn chat_paths(generator: &mut SchemaGenerator, refused: &Value) -> Vec<DescribedPath> {
    let content = json!({ "text/event-stream": { "schema": { "type": "string" } } });
    let chunks = json!({ "description": CHUNKS, "content": content });
    let nothing = json!({ "description": "Nothing runs." });
    let form = json!(ChatForm::json_schema(generator));
    let send = json!({ "post": {
        "operationId": "chat",
        "description": CHAT,
        "requestBody": body(&form),
        "responses": { "200": chunks, "default": refused },
    } });
    let resume = json!({ "get": {
        "operationId": "chat_stream",
        "description": CHAT_STREAM,
        "parameters": [parameter("id", "path"), parameter("agentId", "query")],
        "responses": { "200": chunks, "204": nothing, "default": refused },
    } });
    vec![("/api/chat", send), ("/api/chat/{id}/stream", resume)]
}

fn script_paths(generator: &mut SchemaGenerator, refused: &Value) -> Vec<DescribedPath> {
    let row = ScriptRow::json_schema(generator);
    let form = json!(SaveCourseForm::json_schema(generator));
    let rows = json!({ "type": "array", "items": row });
    let (text, count) = (json!({ "type": "string" }), json!({ "type": "integer" }));
    let notes = json!({ "type": "array", "items": text });
    let list = json!({ "get": {
        "operationId": "priming_scripts",
        "description": LIST,
        "parameters": [parameter("agentId", "query"), parameter("q", "query")],
        "responses": {
            "200": answer(&json!({ "ok": { "const": true }, "scripts": rows, "notes": notes })),
            "default": refused,
        },
    } });
    let saved = json!({ "ok": { "const": true }, "scriptRef": text, "path": text, "records": count,
        "notes": notes });
    let error = json!({ "type": "object", "required": ["ok", "error"] });
    let taken = json!({ "description": "There is a script of that name.",
        "content": { "application/json": { "schema": error } } });
    let save = json!({ "post": {
        "operationId": "save_current_course",
        "description": KEEP,
        "requestBody": body(&form),
        "responses": { "200": answer(&saved), "409": taken, "default": refused },
    } });
    vec![(SCRIPTS, list), (SAVE, save)]
}

fn metrics_path(refused: &Value) -> Value {
    let content = json!({ "text/plain": { "schema": { "type": "string" } } });
    json!({ "get": {
        "operationId": "metrics",
        "description": "Counts what happened, in the text format of Prometheus.",
        "responses": {
            "200": { "description": "Metrics.", "content": content },
            "default": refused,
        },
    } })
}

fn login_paths(refused: &Value) -> Vec<DescribedPath> {
    let text = json!({ "type": "string" });
    let ok = json!({ "ok": { "const": true } });
    let login = json!({ "type": "object", "properties": { "code": text }, "required": ["code"],
        "additionalProperties": false });
    let health = json!({ "get": {
        "operationId": "health",
        "description": "Says that the host is there.",
        "security": [],
        "responses": { "200": answer(&ok), "default": refused },
    } });
    let login = json!({ "post": {
        "operationId": "login",
        "description": "Exchanges a login code for the cookie and the key of the page.",
        "security": [],
        "requestBody": body(&login),
        "responses": {
            "200": answer(&json!({ "ok": { "const": true }, "pageKey": text })),
            "default": refused,
        },
    } });
    let logout = json!({ "post": {
        "operationId": "logout",
        "description": "Ends the login of the page that asks.",
        "responses": { "200": answer(&ok), "default": refused },
    } });
    vec![("/api/health", health), ("/api/login", login), ("/api/logout", logout)]
}

/// An answer that has all of these keys.
fn answer(properties: &Value) -> Value {
    let required: Vec<&String> =
        properties.as_object().into_iter().flat_map(|it| it.keys()).collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    json!({ "description": "The answer.", "content": { "application/json": { "schema": schema } } })
}

fn parameter(name: &str, place: &str) -> Value {
    let schema = json!({ "type": "string" });
    json!({ "name": name, "in": place, "required": place == "path", "schema": schema })
}

fn body(schema: &Value) -> Value {
    json!({ "required": true, "content": { "application/json": { "schema": schema } } })
}
