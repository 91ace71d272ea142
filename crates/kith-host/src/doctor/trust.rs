//! Checks whether the house and the current repository are trusted.

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
            format!("the house is yours: you created or trusted `{}`", record.folder.display())
        }
        HouseClaim::Unclaimed => "the house is not part of a repository".to_owned(),
        HouseClaim::ForeignRepository(root) => {
            let detail = format!(
                "the house came with the repository `{}`, which is not trusted",
                root.display()
            );
            return fail(
                name,
                detail,
                format!("run `kith trust {}` if you trust it", quoted(root)),
            );
        }
    };
    let Some(root) = view.repository_of(&house.cwd) else { return ok(name, about_the_house) };
    if view.speaks_as_owner(&house.cwd) {
        return ok(name, format!("{about_the_house}; this folder is in a trusted repository"));
    }
    let detail = format!("{about_the_house}; the repository `{}` is not trusted", root.display());
    warn(name, detail, format!("run `kith trust {}` to use its `AGENTS.md`", quoted(&root)))
}
