//! Tools whose results are not the owner's words: they read where anyone may have written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_vocab::clock::BoxFuture;
use kith_vocab::event::messages::Trust;
use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{Prepared, Tool, ToolOutput};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

/// The tools, with results `untrusted` where they may hold something from beneath `root` that is
/// not in one of the `own` folders in it.
pub(super) fn all(tools: Vec<Arc<dyn Tool>>, root: &Path, own: &[PathBuf]) -> Vec<Arc<dyn Tool>> {
    // Tools tell of real paths; a folder that cannot be resolved cannot be read either.
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    // A folder that holds the repository says nothing of it: anyone may clone into their own.
    let own: Vec<PathBuf> = own.iter().filter(|it| it.starts_with(&root)).cloned().collect();
    let distrusted =
        |tool| Arc::new(Distrusted { tool, root: root.clone(), own: own.clone() }) as Arc<dyn Tool>;
    tools.into_iter().map(distrusted).collect()
}

struct Distrusted {
    tool: Arc<dyn Tool>,
    root: PathBuf,
    own: Vec<PathBuf>,
}

impl Tool for Distrusted {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn prepare<'a>(&'a self, input: &'a Json) -> BoxFuture<'a, Result<Prepared, String>> {
        self.tool.prepare(input)
    }

    fn run<'a>(
        &'a self,
        prepared: Prepared,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolOutput> {
        let may_hold_others_words = self.reaches(&prepared.facts);
        Box::pin(async move {
            let output = self.tool.run(prepared, cancel).await;
            let trust = if may_hold_others_words { Trust::Untrusted } else { output.trust };
            ToolOutput { trust, ..output }
        })
    }
}

impl Distrusted {
    /// Whether the call reads in the folder, or in one that holds it. One that does not say where
    /// it reads may read anywhere.
    fn reaches(&self, facts: &Json) -> bool {
        #[derive(Deserialize)]
        struct Place {
            path: PathBuf,
        }

        facts.read::<Place>().map_or(true, |place| {
            let is_own = self.own.iter().any(|own| place.path.starts_with(own));
            let is_within = place.path.starts_with(&self.root) && !is_own;
            is_within || self.root.starts_with(&place.path)
        })
    }
}

#[cfg(test)]
mod tests;
