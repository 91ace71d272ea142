//! `list_files`: what a folder holds, or which paths beneath it match a pattern.
//!
//! A listing says what it leaves out (ignored, unreadable, too many), because a model takes what
//! is not listed for what does not exist.

use std::sync::Arc;

use kith_vocab::blocking::blocking;
use kith_vocab::clock::BoxFuture;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{
    CallContext, Prepared, Refusal, RunContext, TOOL_OUTPUT_BYTES_MAX, Tool, ToolOutput,
};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::call;
use crate::folder::Kind;
use crate::glob::Glob;
use crate::roots::{OpenedFolder, Roots};
use crate::shown;
use crate::trust::{QuotedText, TrustOf, own_words};
use crate::walk::{Found, WALK_DEPTH_MAX, Walk};

const NAME: &str = "list_files";
const DESCRIPTION: &str = "List a folder with file sizes in bytes, or the paths beneath it that \
    match `pattern`. What .gitignore names is left out.";
const INPUT_SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "default ."},
        "pattern": {"type": "string", "description": "glob, e.g. **/*.rs"}
    },
    "additionalProperties": false
}"#;

pub const LIST_ENTRIES_MAX: usize = 500;
/// Header and footer without path and pattern.
const REMARKS_BYTES_MAX: usize = 384;

pub struct ListFiles {
    spec: ToolSpec,
    roots: Arc<Roots>,
    trust_of: TrustOf,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(default = "here")]
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
}

fn here() -> String {
    ".".to_owned()
}

impl ListFiles {
    pub fn new(roots: Arc<Roots>, trust_of: TrustOf) -> ListFiles {
        ListFiles { spec: call::spec(NAME, DESCRIPTION, INPUT_SCHEMA), roots, trust_of }
    }
}

impl Tool for ListFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        _ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Prepared, Refusal>> {
        Box::pin(async move { blocking(|| open(&self.roots, input).map(|opened| opened.prepared)) })
    }

    fn run(&self, prepared: Prepared, ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        let (roots, trust_of) = (Arc::clone(&self.roots), Arc::clone(&self.trust_of));
        Box::pin(async move {
            let work = move |stop: &CancellationToken| {
                let opened = open(&roots, &prepared.input)?;
                call::check_unchanged(&prepared, &opened.prepared)?;
                list(opened, &trust_of, stop)
            };
            call::work(NAME, &ctx, work).await
        })
    }
}

struct Opened {
    input: Input,
    pattern: Option<Glob>,
    folder: OpenedFolder,
    prepared: Prepared,
}

fn open(roots: &Roots, json: &Json) -> Result<Opened, Refusal> {
    let input: Input = call::read_input(NAME, json).map_err(own_words)?;
    let pattern = input.pattern.as_deref().map(|text| Glob::parse("pattern", text)).transpose();
    let pattern = pattern.map_err(own_words)?;
    let folder = roots.open_folder(&input.path).map_err(own_words)?;
    let path = shown::name(&input.path);
    let summary = match &input.pattern {
        None => format!("{NAME} {path}"),
        Some(pattern) => format!("{NAME} {path}, pattern {}", shown::name(pattern)),
    };
    let prepared = call::prepared_read(NAME, roots, (json, &input), &folder.real, summary);
    Ok(Opened { input, pattern, folder, prepared })
}

fn list(
    opened: Opened,
    trust_of: &TrustOf,
    stop: &CancellationToken,
) -> Result<QuotedText, Refusal> {
    let Opened { input, pattern, folder, .. } = opened;
    let pattern = pattern.as_ref();
    let path = shown::name(&input.path);
    let of_pattern = input.pattern.as_deref().map(|text| format!(" of `{}`", shown::name(text)));
    let of_pattern = of_pattern.unwrap_or_default();
    let body_bytes_max = TOOL_OUTPUT_BYTES_MAX - REMARKS_BYTES_MAX - path.len() - of_pattern.len();

    let mut walk =
        Walk::new(folder, pattern.map_or(1, |pattern| pattern.depth_max), stop, trust_of);
    let (mut body, mut n_shown, mut n_all) = (String::new(), 0, 0);
    while let Some(found) = walk.next() {
        if pattern.is_some_and(|pattern| !pattern.matches(&found)) {
            continue;
        }
        n_all += 1;
        // Once one did not fit, none is shown: a list with a hole in it looks whole.
        if n_shown + 1 == n_all && n_shown < LIST_ENTRIES_MAX as u64 {
            let bytes = if pattern.is_none() { walk.bytes_of(&found) } else { None };
            let line = line(&found, bytes);
            if body.len() + line.len() <= body_bytes_max {
                body.push_str(&line);
                n_shown += 1;
            }
        }
    }
    if stop.is_cancelled() {
        return Err(own_words(call::cancelled(NAME)));
    }
    let at_least = if walk.is_cut { "at least " } else { "" };
    let n_found = match pattern {
        None => shown::count(n_all, "entry", "entries"),
        Some(_) => shown::count(n_all, "match", "matches") + &of_pattern,
    };
    let n_more = n_all - n_shown;
    let footer = match pattern {
        Some(pattern) if n_all == 0 && pattern.depth_max < WALK_DEPTH_MAX => {
            "put `**/` in front to look in all folders beneath".to_owned()
        }
        _ if n_more == 0 => String::new(),
        Some(_) => format!("… {at_least}{} more; narrow the pattern", shown::number(n_more)),
        None => format!("… {at_least}{} more; use a pattern", shown::number(n_more)),
    };
    let text = format!("{path}: {at_least}{n_found}{}\n{body}{footer}", walk.left_out());
    Ok(QuotedText { text, trust: walk.trust() })
}

fn line(found: &Found, bytes: Option<u64>) -> String {
    // Not cut: half a path names something else.
    let path = shown::words(&found.path.to_string_lossy(), usize::MAX);
    match (found.kind, bytes) {
        (Kind::File, Some(bytes)) => format!("{path}\t{bytes}\n"),
        (Kind::File, None) => format!("{path}\n"),
        (Kind::Folder, _) => format!("{path}/\n"),
        (Kind::Link, _) => format!("{path} (link)\n"),
        (Kind::Other, _) => format!("{path} (not a file)\n"),
    }
}

#[cfg(test)]
mod tests;
