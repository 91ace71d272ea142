//! `kith init`: make an agent.

use std::path::Path;
use std::process::ExitCode;

use kith_home::house::is_house;
use kith_home::trust::{remember, remembered, repository_of};
use kith_vocab::clock::Clock;
use serde_json::json;

use crate::args::{Init, Shared};
use crate::clock::SystemClock;
use crate::house::{AGENT_ID, user_home};
use crate::report::{Report, quoted};
use crate::ui;

pub(crate) fn run(shared: &Shared, args: Init) -> Result<ExitCode, Report> {
    let named = args.dir.or_else(|| shared.home.clone());
    let Some(dir) = named.filter(|dir| !dir.as_os_str().is_empty()) else {
        return Err(Report::usage("which folder is the agent to live in?")
            .hint("`kith init my-agent` makes it, `kith init .` uses this one"));
    };
    let was_house = is_house(&dir);
    let files = kith_home::init::init(&dir, AGENT_ID)?;
    let house = dir.canonicalize().unwrap_or_else(|_| dir.clone());
    note_whose(&house, was_house);
    if shared.json {
        let files: Vec<_> = files.iter().filter_map(|path| path.file_name()).collect();
        let files: Vec<_> = files.iter().map(|name| house.join(name)).collect();
        let files: Vec<_> = files.iter().map(|path| path.to_string_lossy()).collect();
        let house = house.to_string_lossy();
        ui::json(&json!({ "ok": true, "house": house, "agentId": AGENT_ID, "files": files }));
        return Ok(ExitCode::SUCCESS);
    }
    if files.is_empty() {
        ui::line(&format!("`{}` has all its files already; nothing was changed", dir.display()));
    } else {
        ui::line(&format!("Made in `{}`:", dir.display()));
        for file in &files {
            let name = file.file_name().unwrap_or(file.as_os_str());
            ui::line(&format!("  {}", name.to_string_lossy()));
        }
    }
    let talk = if dir == Path::new(".") {
        "kith".to_owned()
    } else {
        format!("cd {} && kith", quoted(&dir))
    };
    ui::line(&format!("\nTalk to it:\n  {talk}"));
    Ok(ExitCode::SUCCESS)
}

/// Notes that this house is the owner's own. But one that came with a repository is not made by
/// completing it: its settings may say where keys go.
fn note_whose(house: &Path, was_house: bool) {
    let Some(user_home) = user_home().and_then(|it| it.canonicalize().ok()) else { return };
    let repository = repository_of(house, Some(&user_home));
    let within = repository.as_deref().unwrap_or(house);
    if remembered(&user_home, house).iter().any(|it| it.folder.starts_with(within)) {
        return;
    }
    let here = quoted(house);
    if was_house && repository.is_some() {
        ui::note(&format!(
            "it was a house already and is of a repository: `kith trust {here}` if it is yours"
        ));
        return;
    }
    if let Err(error) = remember(&user_home, house, SystemClock.now()) {
        let why = Report::from(error).message();
        ui::note(&format!("that it is yours could not be noted ({why}); `kith trust {here}` may"));
    }
}
