//! Chooses the model that messages use if they name none.

use std::sync::Arc;

use kith_providers::local_servers::{USUAL_PORTS, find_local_servers};
use kith_vocab::blocking::blocking;

use super::Host;
use crate::call::{Reply, Response};
use crate::caller::Caller;
use crate::calls::models::{NameModel, NamedModel, UseModel, UsedModel};
use crate::error::CallError;
use crate::models::{settings_for, settings_of_environment};
use crate::settings::edit::set_used_model;
use crate::settings::{Settings, nearest};

pub async fn use_model(host: Arc<Host>, caller: Caller, call: UseModel) -> Reply<UsedModel> {
    caller.require_owner()?;
    let settings = host.settings.current()?;
    let UseModel { name } = call;
    let added = match name.as_str() {
        "demo" => None,
        name if settings.models.named.contains_key(name) => None,
        name => match environment_settings(name, &settings)? {
            Some(table) => Some(table),
            None => return Err(unknown_model(name, &settings).await),
        },
    };
    let before = blocking(|| set_used_model(&host.house, &name, added.as_deref()))?;
    host.settings.current()?;
    let file = host.house.dir.join("kith.toml").display().to_string();
    Ok(Response::new(UsedModel { name, before, file, added }))
}

/// Says which model a message would get here.
pub async fn name_model(host: Arc<Host>, _: Caller, call: NameModel) -> Reply<NamedModel> {
    let settings = host.settings.current()?;
    let chosen = host.models.choose(call.model.as_deref(), &settings)?;
    let context_window = chosen.provider.choice().context_window;
    Ok(Response::new(NamedModel { name: chosen.name, context_window }))
}

/// The table that describes a model of the environment. A name that is nearly one of the settings is a
/// slip: a vendor's key lets every name through.
fn environment_settings(name: &str, settings: &Settings) -> Result<Option<String>, CallError> {
    let known = settings.models.named.keys().map(String::as_str).chain(["demo"]);
    if nearest(name, known).is_some() { Ok(None) } else { settings_of_environment(name) }
}

async fn unknown_model(name: &str, settings: &Settings) -> CallError {
    let known = settings.models.named.keys().map(String::as_str).chain(["demo"]);
    let message = format!("unknown model `{name}`: the settings have no `[models.{name}]`");
    let error = CallError::invalid(message);
    if let Some(known) = nearest(name, known) {
        return error.hint(format!("did you mean `{known}`?"));
    }
    let found = find_local_servers(&USUAL_PORTS).await;
    match found.iter().find(|it| it.name == name) {
        Some(server) => error.hint(format!(
            "a model server answers at {}; add to kith.toml: {}",
            server.base_url,
            settings_for(server).replace('\n', "; ")
        )),
        None => error.hint(
            "`kith model ls` lists the models; another one needs a table in kith.toml, see \
             docs/configuration.md",
        ),
    }
}
