//! Saves a session as a priming script.

use std::sync::Arc;

use kith_home::priming::store::{Existing, PrimingStore};

use super::Host;
use crate::call::{Reply, Response};
use crate::calls::priming::{SaveScript, SavedScript};
use crate::priming::{named_ref, set_title, slug_of};

pub async fn save_script(host: Arc<Host>, call: SaveScript) -> Reply<SavedScript> {
    let slug = slug_of(&call.slug)?;
    let settings = host.settings.current()?;
    let member = settings.team.choose(call.agent_id.as_deref())?;
    let script_ref = named_ref(&member.id, slug, call.shared)?;
    let mut script = host.reads.script_of(&call.session).await?;
    if let Some(title) = &call.title {
        set_title(&mut script.data, title)?;
    }
    let existing = if call.overwrite { Existing::Replace } else { Existing::Keep };
    let path = PrimingStore::new(&host.house.dir).save(&script_ref, &script.data, existing)?;
    let saved = SavedScript {
        script_ref: script_ref.to_string(),
        path: path.to_string_lossy().into_owned(),
        records: script.data.records.len(),
    };
    Ok(Response { data: saved, notes: script.notes })
}
