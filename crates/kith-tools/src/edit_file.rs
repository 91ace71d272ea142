//! `edit_file`: a piece of a file replaced, found by its exact text.
//!
//! An exact text proves that the model knows what it changes, so no read is asked for. A text that
//! stands in several places is refused: which one is meant would be a guess.

use std::sync::Arc;

use kith_vocab::blocking::blocking;
use kith_vocab::clock::BoxFuture;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{CallContext, CallPlan, Refusal, RunContext, Tool, ToolOutcome, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call;
use crate::change_file::{
    CHANGED_FILE_BYTES_MAX, ChangeTarget, FileChanger, RESULT_DIFF_BYTES_MAX, diff,
};
use crate::display;
use crate::schema;
use crate::trust::own_refusal;

const NAME: &str = "edit_file";
const DESCRIPTION: &str = "Replace `old`, an exact and unique piece of a file, by `new`.";

pub(crate) struct EditFile {
    spec: ToolSpec,
    changer: FileChanger,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditFileInput {
    path: String,
    old: String,
    new: String,
    /// every occurrence
    #[serde(default, skip_serializing_if = "Option::is_none")]
    all: Option<bool>,
}

impl EditFile {
    fn look(&self, json: &Json) -> Result<(ChangeTarget, String, CallPlan), Refusal> {
        let input: EditFileInput = call::read_input(NAME, json).map_err(own_refusal)?;
        let target = self.changer.look(&input.path)?;
        // What it says of the file is that something does not stand in it.
        let new = edited(&input, &target).map_err(|text| Refusal { text, trust: target.trust })?;
        let plan = FileChanger::plan(NAME, (json, &input), &target, &new);
        Ok((target, new, plan))
    }

    fn edit(&self, judged: &CallPlan, ctx: &RunContext) -> Result<ToolOutput, Refusal> {
        let (target, new, now) = self.look(&judged.input)?;
        call::check_unchanged(judged, &now)?;
        let known = self.changer.reads.knows(ctx.call.session_id, &target);
        let stamp = self.changer.replace(&target, &new)?;
        // A file that was known stays known; a piece of one tells nothing of the rest.
        if known {
            self.changer.reads.note(ctx.call.session_id, &target.real, stamp);
        }
        let diff = diff(&target.old, &new, RESULT_DIFF_BYTES_MAX);
        let text = format!("edited {}\n{diff}", target.name);
        Ok(ToolOutput::text(ToolOutcome::Done, target.trust, text))
    }
}

fn edited(input: &EditFileInput, target: &ChangeTarget) -> Result<String, String> {
    let name = &target.name;
    if target.stamp.is_none() {
        return Err(format!("`{name}` does not exist; write_file makes it"));
    }
    if input.old.is_empty() {
        return Err("`old` is empty; give the exact text to replace".to_owned());
    }
    if input.old == input.new {
        return Err("`old` and `new` are the same; there is nothing to change".to_owned());
    }
    let n_places = target.old.matches(&input.old).count() as u64;
    match n_places {
        0 => return Err(not_found(input, target)),
        1 => (),
        _ if input.all == Some(true) => (),
        _ => {
            let places = display::count(n_places, "place", "places");
            return Err(format!(
                "`old` stands in {places} of `{name}`; add lines around it, or set `all`"
            ));
        }
    }
    // Before it is made: a short text in many places, replaced by a long one, would not fit into memory.
    let kept = (target.old.len() as u64).saturating_sub(n_places * input.old.len() as u64);
    let n_bytes = n_places.saturating_mul(input.new.len() as u64).saturating_add(kept);
    if n_bytes > CHANGED_FILE_BYTES_MAX {
        return Err(format!("`{name}` would become too long"));
    }
    Ok(target.old.replace(&input.old, &input.new))
}

/// Says what probably differs: the ends of lines, spaces, or the numbers that read_file shows.
fn not_found(input: &EditFileInput, target: &ChangeTarget) -> String {
    let name = &target.name;
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let hint =
        if target.old.contains("\r\n") && !input.old.contains('\r') && input.old.contains('\n') {
            "; its lines end in CRLF"
        } else if squeezed(&target.old).contains(&squeezed(&input.old)) {
            "; it stands there with other spaces or line breaks"
        } else {
            "; read it again and copy the text without the line numbers"
        };
    format!("`old` is not in `{name}`{hint}")
}

impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        _ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        Box::pin(async move { blocking(|| self.look(input).map(|(_, _, plan)| plan)) })
    }

    fn run(&self, prepared: CallPlan, ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            if let Some(stopped) = call::stopped_before_it_began(NAME, &ctx) {
                return stopped;
            }
            match self.changer.claim(&prepared, &ctx).await {
                Ok(_claim) => blocking(|| self.edit(&prepared, &ctx)),
                Err(refusal) => Err(refusal),
            }
            .unwrap_or_else(call::failed)
        })
    }
}

pub(crate) fn tool(changer: FileChanger) -> Arc<dyn Tool> {
    Arc::new(EditFile { spec: schema::spec::<EditFileInput>(NAME, DESCRIPTION), changer })
}

#[cfg(test)]
mod tests;
