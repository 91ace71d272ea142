//! Trusted repositories, and those that are ignored because they are not.

use std::path::Path;
use std::sync::Arc;

use kith_home::error::Problem;
use kith_vocab::clock::Clock;
use kith_vocab::header::Audience;

use super::ReadSide;
use crate::call::{Reply, Response};
use crate::calls::trust::{
    FindUntrusted, ListRepositories, RepositoryList, RepositoryRow, UntrustedRepository,
    UntrustedView,
};
use crate::clock::SystemClock;
use crate::error::CallError;
use crate::opening::{self, Voices};
use crate::trust::{HouseClaim, TrustView};
use crate::words::rfc3339;

pub async fn list_repositories(side: Arc<ReadSide>, _: ListRepositories) -> Reply<RepositoryList> {
    let mut repositories = Vec::new();
    if let HouseClaim::Recorded(own) = HouseClaim::of(&side.house) {
        let path = own.folder.to_string_lossy().into_owned();
        repositories.push(RepositoryRow { path, trusted_at: rfc3339(own.since_ms) });
    }
    if let Some(desk) = side.require_desk()? {
        for row in desk.repositories().await? {
            let trusted_at = rfc3339(row.trusted_at);
            repositories.push(RepositoryRow { path: row.path, trusted_at });
        }
    }
    Ok(Response::new(RepositoryList { repositories }))
}

pub async fn find_untrusted(side: Arc<ReadSide>, call: FindUntrusted) -> Reply<UntrustedView> {
    let (house, cwd) = (&side.house, Path::new(&call.cwd));
    if !cwd.is_dir() {
        return Err(CallError::invalid(format!("`{}` is not a folder", call.cwd.escape_debug())));
    }
    let trust = TrustView::read(house, side.require_desk()?).await?;
    if trust.speaks_as_owner(cwd) {
        return Ok(Response::new(UntrustedView { repository: None }));
    }
    let settings = side.settings()?;
    let whose = (house, settings.team.choose(call.agent_id.as_deref())?);
    let now = SystemClock.now();
    let voices = Voices { folders: trust.folders(), periods: &[] };
    let assembled = opening::assemble(whose, cwd, Audience::Owner, now, voices)?;
    let problems = assembled.reports.iter().flat_map(|report| &report.problems);
    let roots = problems.filter_map(|problem| match problem {
        Problem::RepositoryNotTrusted { root } => Some(root),
        _ => None,
    });
    let files = roots.clone().count();
    // A path that is not text cannot be noted; what lies there is left out and told.
    let path = roots.clone().next().and_then(|root| root.to_str());
    let repository = path.map(|path| UntrustedRepository { path: path.to_owned(), files });
    Ok(Response::new(UntrustedView { repository }))
}
