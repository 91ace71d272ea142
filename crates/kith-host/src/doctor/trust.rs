//! Whose files may speak in this house.

use kith_sessions::desk::Desk;

use super::{Check, fail, failed, ok, warn};
use crate::error::quoted;
use crate::house::House;
use crate::trust::{HouseClaim, TrustView};

pub(super) async fn trust(house: &House, desk: Option<&dyn Desk>) -> Check {
    let name = "trust";
    let view = match TrustView::read(house, desk).await {
        Ok(view) => view,
        Err(report) => return failed(name, &report),
    };
    let about_the_house = match view.claim() {
        HouseClaim::Recorded(record) => {
            format!("the house is yours: you made or trusted `{}`", record.folder.display())
        }
        HouseClaim::Unclaimed => "the house is taken as yours: it is in no repository".to_owned(),
        HouseClaim::ForeignRepository(root) => {
            let detail = format!("the house belongs to `{}`, which is not trusted", root.display());
            return fail(name, detail, format!("`kith trust {}` if it is yours", quoted(root)));
        }
    };
    let Some(root) = view.repository_of(&house.cwd) else { return ok(name, about_the_house) };
    if view.speaks_as_owner(&house.cwd) {
        return ok(name, format!("{about_the_house}; this folder is in a trusted repository"));
    }
    let detail = format!("{about_the_house}; the repository `{}` is not trusted", root.display());
    warn(name, detail, format!("`kith trust {}` lets its `AGENTS.md` be read", quoted(&root)))
}
