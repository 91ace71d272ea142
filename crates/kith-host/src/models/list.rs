//! The models there are, for people who choose one.

use kith_providers::local_servers::LocalServer;
use kith_providers::render::wire_name;
use toml_edit::Value;

use super::catalogue::TABLE_DATE;
use super::source::ModelSource;
use super::{configured_source, named_source};
use crate::calls::models::{FoundServer, ModelList, ModelOrigin, ModelRow};
use crate::error::CallError;
use crate::settings::Settings;
use crate::settings::address::ServerAddress;

/// Every model that can be named here, and which one is used if none is.
pub fn list_models(settings: &Settings) -> Result<ModelList, CallError> {
    let mut models = Vec::new();
    for name in settings.models.named.keys() {
        models.push(row(&named_source(name, settings)?, ModelOrigin::Settings));
    }
    let of_environment = ModelSource::all_of_environment()?;
    for source in &of_environment {
        models.push(row(source, ModelOrigin::Environment));
    }
    if !settings.models.named.contains_key("demo") {
        models.push(row(&ModelSource::demo("demo"), ModelOrigin::Builtin));
    }
    let (used, reason) = used_model(settings, &of_environment);
    // A table of the settings stands before a vendor's model of the same name.
    if let Some(row) = used.and_then(|name| models.iter_mut().find(|row| row.name == name)) {
        row.used = true;
    }
    Ok(ModelList { models, reason, table_date: TABLE_DATE.to_owned(), found: Vec::new() })
}

/// The servers that no model of the settings uses yet, with what to add for them.
pub fn found_servers(settings: &Settings, found: Vec<LocalServer>) -> Vec<FoundServer> {
    let urls = settings.models.named.values().filter_map(|model| model.base_url.as_ref());
    let local = urls.filter(|it| it.0.is_local()).map(|it| it.0.port);
    let ports: Vec<u16> = local.collect();
    let is_new = |server: &LocalServer| {
        ServerAddress::parse(&server.base_url).is_some_and(|it| !ports.contains(&it.port))
    };
    let found = found.into_iter().filter(is_new);
    let offer = |server: LocalServer| FoundServer {
        settings: settings_for(&server),
        name: server.name.to_owned(),
        base_url: server.base_url,
        models: server.models,
    };
    found.map(offer).collect()
}

/// The table of `kith.toml` with which a server that was found could be used.
pub fn settings_for(server: &LocalServer) -> String {
    let LocalServer { name, base_url, models } = server;
    // The name comes from the server: what TOML would read otherwise is left to the person.
    let is_plain = |it: &&String| !it.contains(['"', '\\']);
    let model = models.iter().find(is_plain).map_or("NAME", String::as_str);
    format!(
        "[models.{name}]\nwire = \"openai_chat\"\nbaseUrl = \"{base_url}\"\nmodel = \"{model}\""
    )
}

/// The table of `kith.toml` that describes a model of a vendor whose key is in the environment.
pub fn settings_of_environment(name: &str) -> Result<Option<String>, CallError> {
    let Some(source) = ModelSource::from_environment(Some(name))? else { return Ok(None) };
    let (Some(server), Some(key)) = (&source.server, source.key_variable()) else {
        return Ok(None);
    };
    let is_bare = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_');
    let text = |text: &str| Value::from(text).to_string();
    let table = if name.chars().all(is_bare) { name.to_owned() } else { text(name) };
    let (wire, url) = (text(wire_name(source.model_ref.wire)), text(&server.to_string()));
    let (model, key) = (text(name), text(&format!("${{{key}}}")));
    Ok(Some(format!(
        "[models.{table}]\nwire = {wire}\nbaseUrl = {url}\nmodel = {model}\napiKey = {key}\n"
    )))
}

fn used_model(settings: &Settings, of_environment: &[ModelSource]) -> (Option<String>, String) {
    if let Some(name) = &settings.models.chosen {
        return match configured_source(name, settings) {
            Ok(_) => (Some(name.clone()), format!("`[models] use` of the settings is `{name}`")),
            Err(error) => (None, error.message()),
        };
    }
    match of_environment.first() {
        Some(source) => {
            let key = source.key_variable().unwrap_or_default();
            (Some(source.model_ref.name.clone()), format!("`{key}` is set"))
        }
        None => {
            (Some("demo".to_owned()), "no model is chosen and no vendor's key is set".to_owned())
        }
    }
}

fn row(source: &ModelSource, origin: ModelOrigin) -> ModelRow {
    let server = source.server.as_ref();
    ModelRow {
        name: source.model_ref.name.clone(),
        used: false,
        source: origin,
        model: source.model_ref.model.clone(),
        wire: server.map(|_| wire_name(source.model_ref.wire).to_owned()),
        server: server.map(ToString::to_string),
        key_variable: source.key_variable().map(str::to_owned),
        has_key: source.has_key(),
        context_window: server.map(|_| source.context_window),
        context_window_from: source.window_from,
        price: source.price,
        price_from: source.price_from,
    }
}
