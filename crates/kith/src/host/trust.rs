//! What the owner says of repositories other than the house's own.

use std::path::Path;

use kith_home::trust::mark;
use kith_sessions::desk::Repository;

use super::Host;
use crate::client::{Told, TrustedView};
use crate::report::{Blame, Report};

impl Host {
    pub(super) async fn trust(&self, path: String) -> Result<Told<TrustedView>, Report> {
        let mark = mark(Path::new(&path)).map_err(|source| {
            let message = format!("cannot look at `{path}`: {source}");
            Report::new(Blame::Environment, "filesystem_error", message)
        })?;
        let trusted_at = self.clock.now();
        self.desk.trust(Repository { path: path.clone(), mark, trusted_at }).await?;
        self.opening.set_repositories(self.desk.repositories().await?);
        Ok(Told { form: TrustedView { path }, notes: Vec::new() })
    }

    pub(super) async fn distrust(&self, path: String) -> Result<Told<TrustedView>, Report> {
        // Taken back twice is taken back: a request may be repeated because its host was lost.
        let was_trusted = self.desk.distrust(&path).await?;
        self.opening.set_repositories(self.desk.repositories().await?);
        let note = "it was not trusted; `kith trust ls` lists what is".to_owned();
        let notes = if was_trusted { Vec::new() } else { vec![note] };
        Ok(Told { form: TrustedView { path }, notes })
    }
}
