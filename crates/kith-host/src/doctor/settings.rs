//! Checks the agents, the settings files, the model they select, and what is trusted.

use std::sync::Arc;

use kith_home::house::is_home;
use kith_sessions::desk::Desk;

use super::{Check, and_more, fail, failed, ok, warn};
use crate::client::ModelName;
use crate::error::quoted;
use crate::house::House;
use crate::models::ModelRegistry;
use crate::settings::Settings;
use crate::settings::watch::SettingsWatch;
use crate::trust::{HouseClaim, TrustView};

/// Maximum number of keys named; the rest are counted.
const KEYS_NAMED_MAX: usize = 100;

/// Who lives here, if there are several.
pub(super) fn agents(house: &House, settings: &Settings) -> Option<Check> {
    let name = "agents";
    let members: Vec<_> = settings.team.members().collect();
    if let [only] = members.as_slice()
        && only.home == house.dir
        && settings.team.absent().next().is_none()
    {
        return None;
    }
    let mut told = Vec::new();
    let mut homeless = Vec::new();
    for member in members {
        let home = member.home.strip_prefix(&house.dir).unwrap_or(&member.home);
        let home = if home.as_os_str().is_empty() { ".".into() } else { home.to_string_lossy() };
        told.push(format!("{} in `{home}`", member.id));
        if !is_home(&member.home) {
            homeless.push(format!("`{home}` of agent `{}`", member.id));
        }
    }
    if let Some((_, why)) = settings.team.absent().next() {
        return Some(failed(name, why));
    }
    if homeless.is_empty() {
        return Some(ok(name, told.join(", ")));
    }
    let detail = format!("no Agent.md in {}", homeless.join(", "));
    Some(warn(name, detail, "create an `Agent.md` there; every agent needs one"))
}

/// The files, and the keys in force.
pub(super) fn settings(settings: &Settings) -> Check {
    let files: Vec<_> = settings.files.iter().map(|it| format!("`{}`", it.display())).collect();
    let keys: Vec<&str> = settings.keys.iter().map(String::as_str).collect();
    let (named, rest) = keys.split_at(keys.len().min(KEYS_NAMED_MAX));
    let files = files.join(" and ");
    let detail = match (files.as_str(), named) {
        ("", _) => "no settings files; the defaults apply".to_owned(),
        (files, []) => format!("read {files}: no settings"),
        (files, named) => {
            format!("read {files}: {}{}", named.join(", "), and_more(rest.len()))
        }
    };
    ok("settings", detail)
}

/// The model that the settings lead to. Nothing is asked over the network.
pub(super) fn model(watch: Arc<SettingsWatch>) -> Vec<Check> {
    let name = "model";
    let settings = watch.last_good();
    let chosen = match ModelRegistry::new(watch).choose(None, &settings) {
        Ok(chosen) => chosen,
        Err(report) => return vec![failed(name, &report)],
    };
    let mut checks = Vec::new();
    if chosen.by_default {
        let detail = "the built-in demo model is in use".to_owned();
        let fix = "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name a model in kith.toml";
        checks.push(warn(name, detail, fix));
    } else {
        let ModelName { provider, model, .. } = &chosen.name;
        let detail = format!("`{model}` of {provider} (connection not tested)");
        checks.push(ok(name, detail));
    }
    for note in chosen.passed_over {
        checks.push(warn(name, note.in_english(), "set its key, or remove it from `[models]`"));
    }
    if settings.limits.cost_micros.is_some() && !chosen.has_price {
        let detail = "`limits.cost` has no effect because the model has no price";
        checks.push(warn("setting", detail.to_owned(), "add `price` to the model"));
    }
    checks
}

/// Whether the house and the current repository are trusted.
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
