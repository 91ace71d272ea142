//! The description of every call for programs: OpenAPI 3.1, made from the calls' own types.

mod other_paths;

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema as _, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::error::CallError;
use crate::router::CallSchema;
use crate::routes;
use other_paths::other_paths;

/// The whole document.
pub fn document() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(make);
    &DOCUMENT
}

fn make() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|it| it.definitions_path = "/components/schemas".into());
    let mut generator = SchemaGenerator::new(settings);
    let mut calls = routes::reads().schemas(&mut generator);
    calls.extend(routes::writes().schemas(&mut generator));
    let error = CallError::json_schema(&mut generator);
    calls.sort_by_key(|call| call.name);
    let mut paths: Map<String, Value> =
        calls.iter().map(|call| (format!("/api/{}", call.name), path_of(call, &error))).collect();
    let others = other_paths(&mut generator, &error);
    paths.extend(others.into_iter().map(|(path, item)| (path.to_owned(), item)));
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "kith",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The calls of a running house, each a POST with a JSON body, and chats as \
                            streams of the AI SDK.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
            },
        },
        "security": [{ "token": [] }],
    })
}

fn path_of(call: &CallSchema, error: &Schema) -> Value {
    let answer = json!({
        "type": "object",
        "properties": {
            "ok": { "const": true },
            "data": call.answer,
            "notes": { "type": "array", "items": { "type": "string" } },
        },
        "required": ["ok", "data", "notes"],
    });
    let mut content = json!({ "application/json": { "schema": answer } });
    if call.item.is_some() {
        content["text/event-stream"] = json!({ "schema": { "type": "string" } });
    }
    let refused = refused(error);
    let description = call.body.get("description").cloned().unwrap_or_default();
    json!({ "post": {
        "operationId": call.name,
        "description": description,
        "requestBody": {
            "required": call.body.get("required").is_some(),
            "content": { "application/json": { "schema": call.body } },
        },
        "responses": {
            "200": { "description": "The answer.", "content": content },
            "default": refused,
        },
    } })
}

/// What every address answers when it refuses.
fn refused(error: &Schema) -> Value {
    json!({
        "description": "The request was refused, or failed.",
        "content": { "application/json": { "schema": {
            "type": "object",
            "properties": { "ok": { "const": false }, "error": error },
            "required": ["ok", "error"],
        } } },
    })
}
