//! `list_files`: what a folder holds, or which paths beneath it match a pattern.
//!
//! A listing says what it leaves out (ignored, unreadable, too many), because a model takes what
//! is not listed for what does not exist.

use std::sync::Arc;

use kith_vocab::clock::BoxFuture;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{Prepared, TOOL_OUTPUT_BYTES_MAX, Tool, ToolOutput};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::call;
use crate::folder::Kind;
use crate::glob::Glob;
use crate::roots::{OpenedFolder, Roots};
use crate::shown;
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
    pub fn new(roots: Arc<Roots>) -> ListFiles {
        ListFiles { spec: call::spec(NAME, DESCRIPTION, INPUT_SCHEMA), roots }
    }
}

impl Tool for ListFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, input: &'a Json) -> BoxFuture<'a, Result<Prepared, String>> {
        let (roots, input) = (Arc::clone(&self.roots), input.clone());
        Box::pin(async move { call::glance(|| open(&roots, &input).map(|opened| opened.prepared)) })
    }

    fn run<'a>(
        &'a self,
        prepared: Prepared,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolOutput> {
        let roots = Arc::clone(&self.roots);
        Box::pin(call::work(NAME, cancel, move |cancel| {
            let Opened { input, pattern, folder, prepared: again } = open(&roots, &prepared.input)?;
            call::check_unchanged(&prepared, &again)?;
            list(&input, pattern.as_ref(), folder, cancel)
        }))
    }
}

struct Opened {
    input: Input,
    pattern: Option<Glob>,
    folder: OpenedFolder,
    prepared: Prepared,
}

fn open(roots: &Roots, json: &Json) -> Result<Opened, String> {
    let input: Input = call::read_input(NAME, json)?;
    let pattern = input.pattern.as_deref().map(|text| Glob::parse("pattern", text)).transpose()?;
    let folder = roots.open_folder(&input.path)?;
    let path = shown::name(&input.path);
    let summary = match &input.pattern {
        None => format!("list `{path}`"),
        Some(pattern) => format!("list `{}` in `{path}`", shown::name(pattern)),
    };
    let prepared = call::prepared_read(NAME, roots, (json, &input), &folder.real, summary);
    Ok(Opened { input, pattern, folder, prepared })
}

fn list(
    input: &Input,
    pattern: Option<&Glob>,
    folder: OpenedFolder,
    cancel: &CancellationToken,
) -> Result<String, String> {
    let path = shown::name(&input.path);
    let of_pattern = input.pattern.as_deref().map(|text| format!(" of `{}`", shown::name(text)));
    let of_pattern = of_pattern.unwrap_or_default();
    let body_bytes_max = TOOL_OUTPUT_BYTES_MAX - REMARKS_BYTES_MAX - path.len() - of_pattern.len();

    let mut walk = Walk::new(folder, pattern.map_or(1, |pattern| pattern.depth_max), cancel);
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
    if cancel.is_cancelled() {
        return Err(call::cancelled(NAME));
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
    Ok(format!("{path}: {at_least}{n_found}{}\n{body}{footer}", walk.left_out()))
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
