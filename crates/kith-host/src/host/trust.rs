//! Records which repositories other than the house's own the owner trusts.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use kith_home::trust::folder_fingerprint;
use kith_sessions::desk::Repository;

use super::Host;
use crate::call::{Reply, Response};
use crate::caller::Caller;
use crate::calls::trust::{DistrustRepository, TrustRepository, TrustedFolder};
use crate::error::CallError;

pub async fn trust_repository(
    host: Arc<Host>,
    caller: Caller,
    call: TrustRepository,
) -> Reply<TrustedFolder> {
    caller.require_owner()?;
    let path = call.path;
    let mark = folder_fingerprint(Path::new(&path)).map_err(|source| {
        let message = format!("cannot open `{path}`: {source}");
        match source.kind() {
            ErrorKind::NotFound | ErrorKind::InvalidInput => CallError::invalid(message),
            _ => CallError::filesystem(message),
        }
    })?;
    let trusted_at = host.clock.now();
    host.desk.trust(Repository { path: path.clone(), mark, trusted_at }).await?;
    host.setup.set_repositories(host.desk.repositories().await?);
    Ok(Response::new(TrustedFolder { path }))
}

pub async fn distrust_repository(
    host: Arc<Host>,
    caller: Caller,
    call: DistrustRepository,
) -> Reply<TrustedFolder> {
    caller.require_owner()?;
    // Taken back twice is taken back: a request may be repeated because its host was lost.
    let was_trusted = host.desk.distrust(&call.path).await?;
    host.setup.set_repositories(host.desk.repositories().await?);
    let note = "it was not trusted; `kith trust ls` lists what is trusted".to_owned();
    let folder = TrustedFolder { path: call.path };
    Ok(Response::new(folder).with_notes((!was_trusted).then_some(note)))
}
