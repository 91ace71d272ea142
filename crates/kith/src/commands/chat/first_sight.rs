//! Asks whether a repository is trusted, when a chat starts in it for the first time.
//!
//! It asks only at the start of a conversation and only at a terminal; elsewhere the repository is left
//! out with a note. A no is not stored: the next conversation asks again.

use kith_host::calls::trust::{FindUntrusted, TrustRepository};
use kith_host::client::Client;
use kith_host::error::CallError;
use kith_host::house::House;
use kith_host::vouching;

use crate::program::ui;

/// Asks about a house that came with a repository. After a no, the house is refused.
pub(super) fn of_house(house: &House) -> Result<(), CallError> {
    let Some(root) = vouching::stranger(house) else { return Ok(()) };
    let question = format!(
        "The agent here came with the repository `{}`. If you trust it, its files count as \
         your\ninstructions, and its kith.toml decides where your messages and keys go. Trust \
         it? [y/N] ",
        root.display()
    );
    if ui::confirm(&question)? {
        vouching::vouch(house, &root)?;
    }
    Ok(())
}

/// Asks about the repository of the current folder, if it has instructions and is not trusted yet.
pub(super) async fn of_repository(
    client: &Client,
    agent_id: &str,
    cwd: &str,
) -> Result<(), CallError> {
    let find = FindUntrusted { agent_id: Some(agent_id.to_owned()), cwd: cwd.to_owned() };
    // A failure to read is reported by the call that needs the answer.
    let Ok(found) = client.call(find).await else { return Ok(()) };
    let Some(repository) = found.data.repository else { return Ok(()) };
    let question = format!(
        "The repository `{}` has {} AGENTS.md for this folder and is not trusted yet.\nTreat it \
         as your instructions? [y/N] ",
        repository.path, repository.files
    );
    if !ui::confirm(&question)? {
        ui::error_line("(ignored; run `kith trust .` to use it)");
        return Ok(());
    }
    client.call(TrustRepository { path: repository.path }).await.map(drop)
}
