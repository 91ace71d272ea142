//! Whose files may speak in this house.

use kith_home::trust::{reaches, repository_of};
use kith_sessions::desk::Desk;

use super::{Check, fail, failed, ok, warn};
use crate::house::House;
use crate::report::quoted;
use crate::trust::{Standing, folders_of};

pub(super) async fn trust(house: &House, desk: Option<&Desk>) -> Check {
    let name = "trust";
    let trusted = match folders_of(house, desk).await {
        Ok(trusted) => trusted,
        Err(report) => return failed(name, &report),
    };
    let about_the_house = match Standing::of(house) {
        Standing::Named => "the house is yours: you named it".to_owned(),
        Standing::Remembered(said) => {
            format!("the house is yours: you made or trusted `{}`", said.folder.display())
        }
        Standing::Alone => "the house is taken as yours: it is in no repository".to_owned(),
        Standing::Stranger(root) => {
            let detail = format!("the house belongs to `{}`, which is not trusted", root.display());
            return fail(name, detail, format!("`kith trust {}` if it is yours", quoted(&root)));
        }
    };
    let Some(root) = repository_of(&house.cwd, house.real_user_home().as_deref()) else {
        return ok(name, about_the_house);
    };
    let shown = root.display();
    if reaches(&trusted, &house.cwd, &root) {
        return ok(name, format!("{about_the_house}; this folder is of a trusted repository"));
    }
    let detail = format!("{about_the_house}; the repository `{shown}` is not trusted");
    warn(name, detail, format!("`kith trust {}` lets its `AGENTS.md` be read", quoted(&root)))
}
