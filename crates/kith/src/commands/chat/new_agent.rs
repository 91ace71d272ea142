//! Offers to create an agent to whoever opens a chat and has none.

use std::env::current_dir;
use std::path::PathBuf;

use kith_host::error::{CallError, ErrorCode};
use kith_host::house::{House, user_home};
use kith_host::init::init;

use super::super::house_of;
use crate::program::args::GlobalArgs;
use crate::program::terminal::words::{ScreenLanguage, ScreenText};
use crate::program::ui;

/// The folder of the first agent, in the user's own.
const FOLDER: &str = "my-agent";

/// Asks whether to create an agent where none was found; a no gives the error back.
pub(super) fn offer(shared: &GlobalArgs, error: CallError) -> Result<House, CallError> {
    let is_missing = error.code == ErrorCode::HomeNotFound && shared.home.is_none();
    let Some(folder) = folder().filter(|_| is_missing) else { return Err(error) };
    let language = ScreenLanguage::of_locale();
    let here = current_dir().map_err(CallError::filesystem)?;
    ui::error_line(&language.of_folder(ScreenText::NoAgent, &here.display().to_string()));
    let question = language.of_folder(ScreenText::CreateAgent, &folder.display().to_string());
    if !ui::confirm(&question)? {
        return Err(error);
    }
    let made = init(&folder)?;
    for note in &made.notes {
        ui::note(note);
    }
    ui::error_line(&format!("{}\n", language.say(ScreenText::AgentMade)));
    // The first agent is the default one, and works in the folder where this was asked.
    house_of(shared).or_else(|_| House::find(Some(&folder)))
}

/// Where there is nothing yet.
fn folder() -> Option<PathBuf> {
    let folder = user_home()?.join(FOLDER);
    (!folder.exists()).then_some(folder)
}
