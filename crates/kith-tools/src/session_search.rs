//! `session_search`: what was said in other conversations of the house.
//!
//! Only where the owner alone reads along: other conversations are nobody else's business. What is found
//! may be a stranger's words, so it is untrusted.

use std::fmt::Write as _;
use std::sync::Arc;

use kith_vocab::clock::BoxFuture;
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::calls::Effect;
use kith_vocab::event::messages::Trust;
use kith_vocab::header::Audience;
use kith_vocab::json::Json;
use kith_vocab::session_search::{FoundMessage, SessionSearch};
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{CallContext, CallPlan, Refusal, RunContext, Tool, ToolOutcome, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::trust::own_refusal;
use crate::{call, display, schema};

const NAME: &str = "session_search";
const DESCRIPTION: &str = "Search what was said in earlier conversations, newest first.";

/// Messages that are shown, and those if no number is given.
const FOUND_MAX: u32 = 50;
const FOUND_DEFAULT: u32 = 10;
/// Characters of a query.
const QUERY_CHARS_MAX: usize = 500;

struct SearchSessionsTool {
    spec: ToolSpec,
    sessions: Arc<dyn SessionSearch>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SessionSearchInput {
    /// words, all of which must be there
    query: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
}

fn look(json: &Json, ctx: &CallContext) -> Result<(SessionSearchInput, CallPlan), Refusal> {
    let input: SessionSearchInput = call::read_input(NAME, json).map_err(own_refusal)?;
    if ctx.audience != Audience::Owner {
        let text = "other people read along here, so other conversations are not searched";
        return Err(own_refusal(text.to_owned()));
    }
    if input.query.chars().count() > QUERY_CHARS_MAX {
        return Err(own_refusal(format!("a query has at most {QUERY_CHARS_MAX} characters")));
    }
    let text = format!("{NAME}\0{}", Json::of(&input).as_str());
    let plan = CallPlan {
        input: json.clone(),
        effects: vec![Effect::Read],
        facts: Json::empty_object(),
        digest: sha256_hex(text.as_bytes()),
        summary: format!("{NAME} {}", display::name(&input.query)),
    };
    Ok((input, plan))
}

fn shown(found: &[FoundMessage]) -> String {
    let mut text = display::count(found.len() as u64, "message", "messages");
    for FoundMessage { session_id, at, excerpt } in found {
        // Writing to a string cannot fail.
        write!(text, "\n{at} session {session_id}: {}", display::line(excerpt)).unwrap_or_default();
    }
    text
}

impl Tool for SearchSessionsTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        Box::pin(async move { look(input, ctx).map(|(_, plan)| plan) })
    }

    fn run(&self, prepared: CallPlan, ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            if let Some(stopped) = call::stopped_before_it_began(NAME, &ctx) {
                return stopped;
            }
            let input = match look(&prepared.input, &ctx.call) {
                Ok((input, _)) => input,
                Err(refusal) => return call::failed(refusal),
            };
            let limit = input.limit.unwrap_or(FOUND_DEFAULT).clamp(1, FOUND_MAX);
            tokio::select! {
                biased;
                () = ctx.call.cancel.cancelled() => {
                    call::failed(own_refusal(call::cancelled(NAME)))
                }
                () = tokio::time::sleep(ctx.time_left) => {
                    call::failed(own_refusal(call::out_of_time(NAME)))
                }
                found = self.sessions.search(&input.query, limit) => match found {
                    Ok(found) if found.is_empty() => {
                        ToolOutput::text(ToolOutcome::Done, Trust::Owner, "nothing was found")
                    }
                    Ok(found) => {
                        ToolOutput::text(ToolOutcome::Done, Trust::Untrusted, shown(&found))
                    }
                    Err(text) => call::failed(own_refusal(text)),
                },
            }
        })
    }
}

pub fn tool(sessions: Arc<dyn SessionSearch>) -> Arc<dyn Tool> {
    let spec = schema::spec::<SessionSearchInput>(NAME, DESCRIPTION);
    Arc::new(SearchSessionsTool { spec, sessions })
}

#[cfg(test)]
mod tests;
