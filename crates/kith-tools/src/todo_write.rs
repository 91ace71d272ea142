//! `todo_write`: the model's list of what is to be done.
//!
//! The list lives where everything else of a conversation does: the call and its result stand in the log,
//! and the newest one counts. Nothing else is changed by it.

use std::fmt::Write as _;
use std::sync::Arc;

use kith_vocab::clock::BoxFuture;
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::calls::Effect;
use kith_vocab::event::messages::Trust;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{CallContext, CallPlan, Refusal, RunContext, Tool, ToolOutcome, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::trust::own_refusal;
use crate::{call, display, schema};

const NAME: &str = "todo_write";
const DESCRIPTION: &str = "Replace the list of tasks of this conversation, with their states.";

/// Tasks in a list.
const TASKS_MAX: usize = 50;
/// Characters of a task.
const TASK_CHARS_MAX: usize = 500;

struct TodoWrite {
    spec: ToolSpec,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TodoWriteInput {
    tasks: Vec<TodoTask>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TodoTask {
    text: String,
    state: TaskState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum TaskState {
    Open,
    Doing,
    Done,
}

fn read(json: &Json) -> Result<TodoWriteInput, Refusal> {
    let input: TodoWriteInput = call::read_input(NAME, json).map_err(own_refusal)?;
    if input.tasks.len() > TASKS_MAX {
        return Err(own_refusal(format!("a list holds at most {TASKS_MAX} tasks")));
    }
    let is_long = |task: &TodoTask| task.text.chars().count() > TASK_CHARS_MAX;
    if input.tasks.iter().any(is_long) {
        return Err(own_refusal(format!("a task has at most {TASK_CHARS_MAX} characters")));
    }
    let n_doing = input.tasks.iter().filter(|it| it.state == TaskState::Doing).count();
    if n_doing > 1 {
        return Err(own_refusal("only one task can be `doing`".to_owned()));
    }
    Ok(input)
}

fn shown(tasks: &[TodoTask]) -> String {
    let n_done = tasks.iter().filter(|it| it.state == TaskState::Done).count();
    let mut text = format!("{n_done} of {} done", tasks.len());
    for task in tasks {
        let mark = match task.state {
            TaskState::Open => "[ ]",
            TaskState::Doing => "[>]",
            TaskState::Done => "[x]",
        };
        // Writing to a string cannot fail.
        write!(text, "\n{mark} {}", display::line(&task.text)).unwrap_or_default();
    }
    text
}

impl Tool for TodoWrite {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        _ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        Box::pin(async move {
            let read = read(input)?;
            let n_tasks = display::count(read.tasks.len() as u64, "task", "tasks");
            let text = format!("{NAME}\0{}", Json::of(&read).as_str());
            Ok(CallPlan {
                input: input.clone(),
                effects: vec![Effect::Read],
                facts: Json::of(&serde_json::Map::new()),
                digest: sha256_hex(text.as_bytes()),
                summary: format!("{NAME}: {n_tasks}"),
            })
        })
    }

    fn run(&self, prepared: CallPlan, _ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            match read(&prepared.input) {
                Ok(input) => ToolOutput::text(ToolOutcome::Done, Trust::Owner, shown(&input.tasks)),
                Err(refusal) => call::failed(refusal),
            }
        })
    }
}

pub(crate) fn tool() -> Arc<dyn Tool> {
    Arc::new(TodoWrite { spec: schema::spec::<TodoWriteInput>(NAME, DESCRIPTION) })
}

#[cfg(test)]
mod tests;
