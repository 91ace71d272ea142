//! `fetch_url`: a page of the web as text.
//!
//! What a page says is nobody's word: the result is untrusted, always. Which addresses can be reached at
//! all is decided in `kith_providers::guarded_fetch`, whether this one may be is the policy's to say.

mod html;

use std::sync::Arc;
use std::time::Duration;

use kith_providers::guarded_fetch::{FetchedPage, fetch, parse};
use kith_vocab::clock::BoxFuture;
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::calls::Effect;
use kith_vocab::event::messages::Trust;
use kith_vocab::facts::NetworkFacts;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{CallContext, CallPlan, Refusal, RunContext, Tool, ToolOutcome, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::trust::own_refusal;
use crate::{call, display, schema};

const NAME: &str = "fetch_url";
const DESCRIPTION: &str = "Fetch a public http or https address; HTML comes as text.";

/// Seconds for a page.
const FETCH_SECS_MAX: u64 = 60;

struct FetchUrl {
    spec: ToolSpec,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FetchUrlInput {
    url: String,
}

fn look(json: &Json) -> Result<CallPlan, Refusal> {
    let input: FetchUrlInput = call::read_input(NAME, json).map_err(own_refusal)?;
    let url = parse(&input.url).map_err(|error| own_refusal(error.to_string()))?;
    let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
    let facts = NetworkFacts { url: url.to_string(), host };
    Ok(CallPlan {
        input: json.clone(),
        effects: vec![Effect::Network],
        digest: sha256_hex(format!("{NAME}\0{url}").as_bytes()),
        summary: format!("{NAME} {}", display::name(url.as_str())),
        facts: Json::of(&facts),
    })
}

async fn run(judged: CallPlan, ctx: &RunContext) -> Result<ToolOutput, Refusal> {
    call::check_unchanged(&judged, &look(&judged.input)?)?;
    let input: FetchUrlInput = call::read_input(NAME, &judged.input).map_err(own_refusal)?;
    // What a server or a name says is in these sentences too.
    let refusal = |text: String| Refusal { text, trust: Trust::Untrusted };
    let url = parse(&input.url).map_err(|error| refusal(error.to_string()))?;
    let time = Duration::from_secs(FETCH_SECS_MAX).min(ctx.time_left);
    let fetched = tokio::select! {
        biased;
        () = ctx.call.cancel.cancelled() => return Err(own_refusal(call::cancelled(NAME))),
        fetched = fetch(url, time) => fetched.map_err(|error| refusal(error.to_string()))?,
    };
    let text = shown(&fetched).map_err(refusal)?;
    // A long page is cut by the engine, which keeps the whole.
    Ok(ToolOutput::text(ToolOutcome::Done, Trust::Untrusted, text))
}

/// The page as text, under a line that says what it is.
fn shown(page: &FetchedPage) -> Result<String, String> {
    let FetchedPage { url, status, content_type, body, is_cut } = page;
    let kind = if content_type.is_empty() { "no type given" } else { content_type };
    let is_html = matches!(content_type.as_str(), "text/html" | "application/xhtml+xml");
    let is_text = content_type.is_empty()
        || content_type.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml"].iter().any(|it| content_type.contains(it));
    if !is_text && !is_html || body.contains(&0) {
        let bytes = display::count(body.len() as u64, "byte", "bytes");
        return Err(format!("`{}` is not text: {kind}, {bytes}", display::name(url)));
    }
    let text = String::from_utf8_lossy(body);
    let text = if is_html { html::to_text(&text) } else { text.into_owned() };
    let cut = if *is_cut { ", cut" } else { "" };
    Ok(format!("{} (status {status}, {}{cut})\n\n{text}", display::name(url), display::name(kind)))
}

impl Tool for FetchUrl {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        _ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        Box::pin(async move { look(input) })
    }

    fn run(&self, prepared: CallPlan, ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            if let Some(stopped) = call::stopped_before_it_began(NAME, &ctx) {
                return stopped;
            }
            run(prepared, &ctx).await.unwrap_or_else(call::failed)
        })
    }
}

pub(crate) fn tool() -> Arc<dyn Tool> {
    Arc::new(FetchUrl { spec: schema::spec::<FetchUrlInput>(NAME, DESCRIPTION) })
}

#[cfg(test)]
mod tests;
