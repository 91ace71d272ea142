//! `use_tool`: the tools that are not in every request.
//!
//! A tool list costs tokens in every request, so tools that are seldom needed are named in one line here
//! and described when they are asked for. A call through this tool is the call of the inner one: its
//! plan, and so its verdict, its question and its summary, is the inner tool's.

use std::sync::Arc;

use kith_vocab::clock::BoxFuture;
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::calls::Effect;
use kith_vocab::event::messages::Trust;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{CallContext, CallPlan, Refusal, RunContext, Tool, ToolOutcome, ToolOutput};
use serde::{Deserialize, Serialize};

use crate::trust::own_refusal;
use crate::{call, display};

const NAME: &str = kith_vocab::tool::USE_TOOL;

struct UseTool {
    spec: ToolSpec,
    tools: Vec<Arc<dyn Tool>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UseToolInput {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<Json>,
}

impl UseTool {
    fn inner(&self, json: &Json) -> Result<(UseToolInput, &Arc<dyn Tool>), Refusal> {
        let input: UseToolInput = call::read_input(NAME, json).map_err(own_refusal)?;
        let found = self.tools.iter().find(|it| it.spec().name == input.name);
        if let Some(tool) = found {
            return Ok((input, tool));
        }
        let (name, names) = (display::name(&input.name), names(&self.tools));
        Err(own_refusal(format!("there is no tool `{name}` here (there are: {names})")))
    }
}

fn names(tools: &[Arc<dyn Tool>]) -> String {
    tools.iter().map(|it| it.spec().name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The inner tool's plan, with the outer call's input, by which it is prepared again.
fn wrapped(plan: CallPlan, outer: &Json, tool: &str) -> CallPlan {
    let mut facts: serde_json::Map<String, serde_json::Value> =
        plan.facts.read().unwrap_or_default();
    facts.insert("tool".to_owned(), tool.into());
    CallPlan { input: outer.clone(), facts: Json::of(&facts), ..plan }
}

fn description_of(tool: &dyn Tool) -> String {
    let spec = tool.spec();
    format!("{}: {}\ninput: {}", spec.name, spec.description, spec.input_schema.as_str())
}

impl Tool for UseTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        Box::pin(async move {
            let (read, tool) = self.inner(input)?;
            let Some(inner) = &read.input else {
                let text = format!("{NAME}\0{}", read.name);
                return Ok(CallPlan {
                    input: input.clone(),
                    effects: vec![Effect::Read],
                    facts: Json::of(&serde_json::json!({ "describes": read.name })),
                    digest: sha256_hex(text.as_bytes()),
                    summary: format!("describe {}", read.name),
                });
            };
            tool.prepare(inner, ctx).await.map(|plan| wrapped(plan, input, &read.name))
        })
    }

    fn run(&self, prepared: CallPlan, ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            let (read, tool) = match self.inner(&prepared.input) {
                Ok(found) => found,
                Err(refusal) => return call::failed(refusal),
            };
            match read.input {
                // The texts are ours; those of other servers will state their own trust.
                None => ToolOutput::text(ToolOutcome::Done, Trust::Owner, description_of(&**tool)),
                Some(inner) => tool.run(CallPlan { input: inner, ..prepared }, ctx).await,
            }
        })
    }
}

pub(crate) fn tool(tools: Vec<Arc<dyn Tool>>) -> Arc<dyn Tool> {
    let description =
        format!("Use a further tool: {}. Without `input` it is described.", names(&tools));
    let schema = serde_json::json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "input": { "type": "object" } },
        "required": ["name"],
    });
    let input_schema = Json::of(&schema);
    Arc::new(UseTool { spec: ToolSpec { name: NAME.to_owned(), description, input_schema }, tools })
}

#[cfg(test)]
mod tests;
