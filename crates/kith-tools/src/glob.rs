//! A pattern for the paths beneath a folder.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::display;
use crate::folder::EntryKind;
use crate::walk::{WALK_DEPTH_MAX, WalkEntry};

pub(crate) const GLOB_BYTES_MAX: usize = 512;

pub(crate) struct Glob {
    matcher: GlobMatcher,
    folders_only: bool,
    /// Nothing deeper can match.
    pub(crate) depth_max: usize,
}

impl Glob {
    /// `field` is what the input calls the pattern. An error is a sentence for the model.
    pub(crate) fn parse(field: &str, text: &str) -> Result<Glob, String> {
        let name = display::name(text);
        if text.len() > GLOB_BYTES_MAX {
            return Err(format!("the {field} is longer than {GLOB_BYTES_MAX} bytes"));
        }
        let stays_beneath = Path::new(text).is_relative() && !text.split('/').any(|it| it == "..");
        if !stays_beneath {
            return Err(format!(
                "the {field} `{name}` leads out of the folder; name the folder in `path`"
            ));
        }
        let folders_only = text.ends_with('/');
        let glob = text.trim_start_matches("./").trim_end_matches('/');
        if glob.is_empty() {
            return Err(format!("the {field} is empty; leave it out"));
        }
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        let glob = built.map_err(|error| {
            format!("the {field} `{name}` is not a valid glob: {}", error.kind())
        })?;
        let depth_max =
            if text.contains("**") { WALK_DEPTH_MAX } else { 1 + text.matches('/').count() };
        Ok(Glob { matcher: glob.compile_matcher(), folders_only, depth_max })
    }

    pub(crate) fn matches(&self, found: &WalkEntry) -> bool {
        (!self.folders_only || found.kind == EntryKind::Folder)
            && self.matcher.is_match(&found.path)
    }
}
