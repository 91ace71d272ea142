//! Asks whether a repository is trusted, when a chat starts in it for the first time.
//!
//! It asks only at the start of a conversation and only at a terminal; elsewhere the repository is left
//! out with a note. A no is not stored: the next conversation asks again.

use kith_host::calls::trust::{FindUntrusted, TrustRepository};
use kith_host::client::Client;
use kith_host::error::CallError;
use kith_host::house::House;
use kith_host::vouching;

use crate::program::terminal::words::{ScreenLanguage, ScreenText};
use crate::program::ui;

/// Asks about a house that came with a repository. After a no, the house is refused.
pub(super) fn of_house(house: &House) -> Result<(), CallError> {
    let Some(root) = vouching::stranger(house) else { return Ok(()) };
    // What language the house asks for does not count yet.
    let language = ScreenLanguage::of_locale();
    let question = language.of_folder(ScreenText::TrustHouse, &root.display().to_string());
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
    language: ScreenLanguage,
) -> Result<(), CallError> {
    let find = FindUntrusted { agent_id: Some(agent_id.to_owned()), cwd: cwd.to_owned() };
    // A failure to read is reported by the call that needs the answer.
    let Ok(found) = client.call(find).await else { return Ok(()) };
    let Some(repository) = found.data.repository else { return Ok(()) };
    let question = language.of_folder(ScreenText::TrustRepository, &repository.path);
    let question = question.replace("{n}", &repository.files.to_string());
    if !ui::confirm(&question)? {
        ui::error_line(&format!("({})", language.say(ScreenText::TrustIgnored)));
        return Ok(());
    }
    client.call(TrustRepository { path: repository.path }).await.map(drop)
}
