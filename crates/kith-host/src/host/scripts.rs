//! Saves a session as a priming script.

use std::sync::Arc;

use kith_home::priming::slug::{MemberId, ScriptRef, Slug};
use kith_home::priming::store::{Existing, PrimingStore};

use super::Host;
use crate::call::{Reply, Response};
use crate::calls::priming::{SaveScript, SavedScript};

pub async fn save_script(host: Arc<Host>, call: SaveScript) -> Reply<SavedScript> {
    let slug: Slug = call.slug.parse()?;
    let script_ref = if call.shared {
        ScriptRef::TeamShared { slug }
    } else {
        let member: MemberId =
            host.settings.current()?.team.choose(call.agent_id.as_deref())?.id.parse()?;
        ScriptRef::Individual { member, slug }
    };
    let script = host.reads.script_of(&call.session).await?;
    let existing = if call.overwrite { Existing::Replace } else { Existing::Keep };
    let path = PrimingStore::new(&host.house.dir).save(&script_ref, &script.data, existing)?;
    let saved = SavedScript {
        script_ref: script_ref.to_string(),
        path: path.to_string_lossy().into_owned(),
        records: script.data.records.len(),
    };
    Ok(Response { data: saved, notes: script.notes })
}
