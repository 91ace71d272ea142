//! What the settings say, which of them are in force, and whom they lead to.

use kith_home::house::is_home;

use super::{Check, failed, ok, warn};
use crate::client::ModelName;
use crate::config::{Config, Stage, Told};
use crate::house::House;
use crate::models;

/// So many settings in force are named; the rest is counted.
const SETTINGS_TOLD_MAX: usize = 100;

/// Who lives here, if there are several.
pub(super) fn agents(house: &House, config: &Config) -> Option<Check> {
    let name = "agents";
    let members: Vec<_> = config.team.members().collect();
    if let [only] = members.as_slice()
        && only.home == house.dir
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
    if homeless.is_empty() {
        return Some(ok(name, told.join(", ")));
    }
    let detail = format!("no Agent.md in {}", homeless.join(", "));
    Some(warn(name, detail, "`Agent.md` is the one file that an agent must have"))
}

/// The files, what of them is in force, and what is not.
pub(super) fn settings(config: &Config) -> Vec<Check> {
    let settings = config.settings();
    let files: Vec<_> = config.files.iter().map(|it| format!("`{}`", it.display())).collect();
    let (in_force, others): (Vec<_>, Vec<_>) =
        settings.iter().partition(|it| it.stage == Stage::Obeyed);
    let names: Vec<&str> = in_force.iter().map(|it| it.name.as_str()).collect();
    let (told, rest) = names.split_at(names.len().min(SETTINGS_TOLD_MAX));
    let detail = match (files.as_slice(), told) {
        ([], _) => "there are none; the defaults hold".to_owned(),
        (files, []) => format!("read {}; nothing is set that is in force", files.join(" and ")),
        (files, told) => {
            let (files, told) = (files.join(" and "), told.join(", "));
            format!("read {files}; in force: {told}{}", and_more(rest.len()))
        }
    };
    let mut checks = vec![ok("settings", detail)];
    // Of these there are no more than the table of names has.
    checks.extend(others.into_iter().filter_map(setting));
    checks
}

fn and_more(n: usize) -> String {
    if n == 0 { String::new() } else { format!(" and {n} more") }
}

fn setting(told: &Told<'_>) -> Option<Check> {
    let Told { name, place, stage } = told;
    let at = format!("`{name}` (`{}` line {})", place.file.display(), place.line);
    match stage {
        Stage::Obeyed => None,
        Stage::Partly(how) => Some(ok("setting", format!("{at}: {how}"))),
        Stage::Later(with) => {
            let detail = format!("{at} is set, and not obeyed yet: it comes with {with}");
            Some(warn("setting", detail, "do not rely on it"))
        }
    }
}

/// The model that the settings lead to. Nothing is asked over the network.
pub(super) fn model(config: &Config) -> Vec<Check> {
    let name = "model";
    let chosen = match models::choose(None, config) {
        Ok(chosen) => chosen,
        Err(report) => return vec![failed(name, &report)],
    };
    let mut checks = Vec::new();
    if chosen.by_default {
        let detail = "the built-in demo model would answer".to_owned();
        checks.push(warn(name, detail, "set OPENAI_API_KEY, or name a model in kith.toml"));
    } else {
        let ModelName { provider, model, .. } = &chosen.name;
        let detail =
            format!("`{model}` of {provider} would be asked; whether it answers was not tried");
        checks.push(ok(name, detail));
    }
    if config.limits.cost_micros.is_some() && !chosen.has_price {
        let detail = "`limits.cost` is set, and the model has no price: it is never reached";
        checks.push(warn("setting", detail.to_owned(), "add `price` to the model"));
    }
    checks
}
