//! Priming scripts under the addresses that their design gives them: the same calls in other words.

use std::sync::Arc;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::HttpState;
use super::api::{BODY_MS_MAX, answer_typed, caller_of, read_body, read_form};
use super::query::query_of;
use super::reply::{self, HttpProblem, ReplyBody};
use crate::calls::priming::{ListScripts, SaveScript};
use crate::error::ErrorCode;
use crate::protocol::REQUEST_BYTES_MAX;

pub(super) const SCRIPTS: &str = "/api/priming/scripts";
pub(super) const SAVE: &str = "/api/priming/save-current-course";
/// Scripts that are listed when nothing is searched for.
const RECENT_SCRIPTS_MAX: usize = 20;
/// The session that is saved if none is named.
const LATEST: &str = "latest";

/// Keeps the conversation as a script of its agent.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SaveCourseForm {
    slug: String,
    /// Replaces a script of that name.
    #[serde(default)]
    overwrite: bool,
    /// The session; without it, the one that was used last.
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    agent_id: Option<String>,
}

/// The scripts that an agent used last, or those that hold the text that is searched for.
pub(super) async fn list(
    request: &Request<Incoming>,
    state: &Arc<HttpState>,
) -> Result<Response<ReplyBody>, HttpProblem> {
    let caller = caller_of(request.headers())?;
    let [agent_id, query] = query_of(request.uri(), ["agentId", "q"])?;
    let is_search = query.as_ref().is_some_and(|it| !it.trim().is_empty());
    let call = ListScripts { agent_id, query };
    let answer = answer_typed(&call, caller, state).await??;
    let mut scripts = answer.data.scripts;
    if !is_search {
        scripts.retain(|it| it.last_used_at.is_some());
        scripts.truncate(RECENT_SCRIPTS_MAX);
    }
    Ok(reply::json(&json!({ "ok": true, "scripts": scripts, "notes": answer.notes })))
}

pub(super) async fn save(
    request: Request<Incoming>,
    state: &Arc<HttpState>,
) -> Result<Response<ReplyBody>, HttpProblem> {
    let caller = caller_of(request.headers())?;
    let body = read_body(request, REQUEST_BYTES_MAX, BODY_MS_MAX).await?;
    let form: SaveCourseForm = read_form("save-current-course", &body)?;
    let call = SaveScript {
        session: form.session_id.unwrap_or_else(|| LATEST.to_owned()),
        slug: form.slug,
        agent_id: form.agent_id,
        title: None,
        shared: false,
        overwrite: form.overwrite,
    };
    match answer_typed(&call, caller, state).await? {
        Ok(saved) => {
            let (path, script_ref) = (&saved.data.path, &saved.data.script_ref);
            let answer = json!({ "ok": true, "scriptRef": script_ref, "path": path,
                "records": saved.data.records, "notes": saved.notes });
            Ok(reply::json(&answer))
        }
        // The code as the scripts' own design has it.
        Err(error) if error.code == ErrorCode::AlreadyExists => {
            let error = json!({ "code": "ALREADY_EXISTS", "message": error.message() });
            let answer = json!({ "ok": false, "error": error });
            Ok(reply::json_with(StatusCode::CONFLICT, &answer))
        }
        Err(error) => Err(error.into()),
    }
}
