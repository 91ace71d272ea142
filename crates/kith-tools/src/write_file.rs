//! `write_file`: a file made, or replaced whole.

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

const NAME: &str = "write_file";
const DESCRIPTION: &str = "Write a whole text file; read an existing one first.";

pub(crate) struct WriteFile {
    spec: ToolSpec,
    changer: FileChanger,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteFileInput {
    path: String,
    content: String,
}

impl WriteFile {
    pub(crate) fn new(changer: FileChanger) -> WriteFile {
        WriteFile { spec: schema::spec::<WriteFileInput>(NAME, DESCRIPTION), changer }
    }

    fn look(&self, json: &Json) -> Result<(WriteFileInput, ChangeTarget, CallPlan), Refusal> {
        let input: WriteFileInput = call::read_input(NAME, json).map_err(own_refusal)?;
        if input.content.len() as u64 > CHANGED_FILE_BYTES_MAX {
            let bytes = display::number(CHANGED_FILE_BYTES_MAX);
            return Err(own_refusal(format!("the content is longer than {bytes} bytes")));
        }
        let target = self.changer.look(&input.path)?;
        let plan = FileChanger::plan(NAME, (json, &input), &target, &input.content);
        Ok((input, target, plan))
    }

    /// A call that was judged passed this before, maybe in a program that has ended since; that the
    /// file is still the same, its digest says.
    fn check_read(&self, target: &ChangeTarget, ctx: &CallContext) -> Result<(), Refusal> {
        let exists = target.stamp.is_some();
        if !exists || ctx.was_judged || self.changer.reads.knows(ctx.session_id, target) {
            return Ok(());
        }
        let name = &target.name;
        Err(own_refusal(format!(
            "`{name}` exists, and you have not read it since it last changed: read_file first, or \
             edit_file"
        )))
    }

    fn write(&self, judged: &CallPlan, ctx: &RunContext) -> Result<ToolOutput, Refusal> {
        let (input, target, now) = self.look(&judged.input)?;
        call::check_unchanged(judged, &now)?;
        let stamp = self.changer.replace(&target, &input.content)?;
        self.changer.reads.note(ctx.call.session_id, &target.real, stamp);
        let (name, bytes) = (&target.name, input.content.len() as u64);
        let lines = display::count(input.content.lines().count() as u64, "line", "lines");
        let size = format!("{lines}, {}", display::count(bytes, "byte", "bytes"));
        let text = if target.stamp.is_none() {
            format!("made {name}: {size}")
        } else {
            let diff = diff(&target.old, &input.content, RESULT_DIFF_BYTES_MAX);
            format!("replaced {name}: {size}\n{diff}")
        };
        // The diff quotes what was there before.
        Ok(ToolOutput::text(ToolOutcome::Done, target.trust, text))
    }
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        Box::pin(async move {
            blocking(|| {
                let (_, target, plan) = self.look(input)?;
                self.check_read(&target, ctx)?;
                Ok(plan)
            })
        })
    }

    fn run(&self, prepared: CallPlan, ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            if let Some(stopped) = call::stopped_before_it_began(NAME, &ctx) {
                return stopped;
            }
            match self.changer.claim(&prepared, &ctx).await {
                Ok(_claim) => blocking(|| self.write(&prepared, &ctx)),
                Err(refusal) => Err(refusal),
            }
            .unwrap_or_else(call::failed)
        })
    }
}

/// For those who hold tools as such.
pub(crate) fn tool(changer: FileChanger) -> Arc<dyn Tool> {
    Arc::new(WriteFile::new(changer))
}

#[cfg(test)]
mod tests;
