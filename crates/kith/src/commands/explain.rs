//! `kith explain`: why something is as it is. It only looks.

use std::process::ExitCode;

use kith_home::identity::{Identity, IdentityFields};
use serde::Serialize;

use super::print_form;
use crate::args::{Explain, Shared};
use crate::config::Config;
use crate::house::House;
use crate::report::Report;
use crate::ui;

#[derive(Serialize)]
struct IdentityForm<'a> {
    name: &'a str,
    role: Option<&'a str>,
    emoji: Option<&'a str>,
    #[serde(rename = "type")]
    kind: Option<&'a str>,
    style: Option<&'a str>,
    avatar: Option<&'a str>,
    source: &'a str,
}

pub(crate) fn run(shared: &Shared, args: &Explain) -> Result<ExitCode, Report> {
    match args {
        Explain::Identity(_) => identity(shared),
    }
}

fn identity(shared: &Shared) -> Result<ExitCode, Report> {
    let house = House::find(shared.home.as_deref())?;
    let config = Config::load(&house)?;
    let member = config.team.choose(shared.agent())?;
    let identity = Identity::read(&member.identity, &member.home)?;
    let IdentityFields { role, goal, voice, emoji, kind, style, avatar, .. } = &identity.fields;
    let (name, source) = (identity.display_name(), identity.source.as_str());
    if shared.json {
        print_form(
            true,
            &IdentityForm {
                name,
                role: role.as_deref(),
                emoji: emoji.as_deref(),
                kind: kind.as_deref(),
                style: style.as_deref(),
                avatar: avatar.as_deref(),
                source,
            },
        );
        return Ok(ExitCode::SUCCESS);
    }
    ui::line(&format!("name: {name}"));
    let fields = [
        ("role", role),
        ("goal", goal),
        ("voice", voice),
        ("emoji", emoji),
        ("type", kind),
        ("style", style),
        ("avatar", avatar),
    ];
    for (label, value) in fields {
        if let Some(value) = value {
            ui::line(&format!("{label}: {value}"));
        }
    }
    ui::line(&format!("The name comes from: {source}"));
    Ok(ExitCode::SUCCESS)
}
