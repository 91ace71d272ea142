//! `list_files`: what a folder holds, or which paths beneath it match a pattern.
//!
//! A listing says what it leaves out (ignored, unreadable, too many), because a model takes what
//! is not listed for what does not exist.

use std::sync::Arc;

use kith_vocab::json::Json;
use kith_vocab::tool::{CallPlan, Refusal, TOOL_OUTPUT_BYTES_MAX};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::call::{self, FileReader};
use crate::display;
use crate::folder::EntryKind;
use crate::glob::Glob;
use crate::roots::{OpenedFolder, Roots};
use crate::trust::{QuotedText, TrustOf, own_refusal};
use crate::walk::{WALK_DEPTH_MAX, Walk, WalkEntry};

const NAME: &str = "list_files";

pub(crate) const LIST_ENTRIES_MAX: usize = 500;
/// Header and footer without path and pattern.
const REMARKS_BYTES_MAX: usize = 384;

pub(crate) struct ListFiles {
    pub(crate) roots: Arc<Roots>,
    pub(crate) trust_of: TrustOf,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListFilesInput {
    #[serde(default = "call::cwd")]
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
}

pub(crate) struct ListTarget {
    input: ListFilesInput,
    pattern: Option<Glob>,
    folder: OpenedFolder,
}

impl FileReader for ListFiles {
    const NAME: &'static str = NAME;
    const DESCRIPTION: &'static str = "List a folder, or the paths beneath it that match \
        `pattern`; not ignored files.";
    const INPUT_SCHEMA: &'static str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "pattern": {"type": "string", "description": "glob, e.g. **/*.rs"}
    }
}"#;

    type Target = ListTarget;

    fn open(&self, json: &Json) -> Result<(ListTarget, CallPlan), Refusal> {
        let input: ListFilesInput = call::read_input(NAME, json).map_err(own_refusal)?;
        let pattern = input.pattern.as_deref().map(|text| Glob::parse("pattern", text));
        let pattern = pattern.transpose().map_err(own_refusal)?;
        let folder = self.roots.open_folder(&input.path).map_err(own_refusal)?;
        let path = display::name(&input.path);
        let summary = match &input.pattern {
            None => format!("{NAME} {path}"),
            Some(pattern) => format!("{NAME} {path}, pattern {}", display::name(pattern)),
        };
        let call = (json, &input);
        let prepared = call::prepared_read(NAME, &self.roots, call, &folder.real, summary);
        Ok((ListTarget { input, pattern, folder }, prepared))
    }

    fn read(&self, target: ListTarget, stop: &CancellationToken) -> Result<QuotedText, Refusal> {
        let ListTarget { input, pattern, folder } = target;
        let pattern = pattern.as_ref();
        let path = display::name(&input.path);
        let of_pattern =
            input.pattern.as_deref().map(|text| format!(" of `{}`", display::name(text)));
        let of_pattern = of_pattern.unwrap_or_default();
        let body_bytes_max =
            TOOL_OUTPUT_BYTES_MAX - REMARKS_BYTES_MAX - path.len() - of_pattern.len();

        let depth_max = pattern.map_or(1, |pattern| pattern.depth_max);
        let mut walk = Walk::new(folder, depth_max, stop, &self.trust_of);
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
            return Err(own_refusal(call::cancelled(NAME)));
        }
        let at_least = if walk.is_cut { "at least " } else { "" };
        let n_found = match pattern {
            None => display::count(n_all, "entry", "entries"),
            Some(_) => display::count(n_all, "match", "matches") + &of_pattern,
        };
        let n_more = n_all - n_shown;
        let footer = match pattern {
            Some(pattern) if n_all == 0 && pattern.depth_max < WALK_DEPTH_MAX => {
                "put `**/` in front to look in all folders beneath".to_owned()
            }
            _ if n_more == 0 => String::new(),
            Some(_) => format!("… {at_least}{} more; narrow the pattern", display::number(n_more)),
            None => format!("… {at_least}{} more; use a pattern", display::number(n_more)),
        };
        let text = format!("{path}: {at_least}{n_found}{}\n{body}{footer}", walk.left_out());
        Ok(QuotedText { text, trust: walk.trust() })
    }
}

fn line(found: &WalkEntry, bytes: Option<u64>) -> String {
    // Not cut: half a path names something else.
    let path = display::words(&found.path.to_string_lossy(), usize::MAX);
    match (found.kind, bytes) {
        (EntryKind::File, Some(bytes)) => format!("{path}\t{bytes}\n"),
        (EntryKind::File, None) => format!("{path}\n"),
        (EntryKind::Folder, _) => format!("{path}/\n"),
        (EntryKind::Link, _) => format!("{path} (link)\n"),
        (EntryKind::Other, _) => format!("{path} (not a file)\n"),
    }
}

#[cfg(test)]
mod tests;
