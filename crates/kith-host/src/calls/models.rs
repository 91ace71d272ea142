//! Calls about the models there are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::message::ModelName;
use crate::call::call;
use crate::price::Price;

/// Lists the models of the settings and of the environment, and model servers found on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListModels {}

call!(Read "list_models", ListModels => ModelList);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelList {
    pub models: Vec<ModelRow>,
    /// Why the model that is used is used, or why none can be.
    pub reason: String,
    /// The date of the built-in prices and context sizes.
    pub table_date: String,
    /// Model servers that answer on this machine and are not in the settings.
    pub found: Vec<FoundServer>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelRow {
    /// As `--model` takes it.
    pub name: String,
    /// Whether a message that names no model uses it.
    pub used: bool,
    pub source: ModelOrigin,
    /// The vendor's name for it.
    pub model: String,
    /// `null`: it is built in.
    pub wire: Option<String>,
    pub server: Option<String>,
    /// The variable that holds its key.
    pub key_variable: Option<String>,
    /// Whether that variable is set.
    pub has_key: bool,
    /// In tokens; `null`: it reads whatever there is.
    pub context_window: Option<u64>,
    pub context_window_from: FactOrigin,
    /// In micro-USD per million tokens.
    pub price: Option<Price>,
    pub price_from: FactOrigin,
}

/// Where a model is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ModelOrigin {
    Settings,
    /// A vendor's key is set.
    Environment,
    Builtin,
}

/// Where a price or a context size comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FactOrigin {
    Settings,
    /// The built-in table of common models.
    Table,
    /// Nobody says; a context size is then assumed.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundServer {
    /// What usually has its port.
    pub name: String,
    pub base_url: String,
    pub models: Vec<String>,
    /// What to add to `kith.toml` to use it.
    pub settings: String,
}

/// Says which model a message would get from the host that answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NameModel {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

call!(Write "name_model", NameModel => NamedModel);

/// The model that the host would ask: its keys and settings decide, not those of its client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedModel {
    pub name: ModelName,
    /// In tokens; 0: unknown.
    pub context_window: u64,
}

/// Chooses the model that messages use if they name none: writes `[models] use` of `kith.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UseModel {
    pub name: String,
}

call!(Write "use_model", UseModel => UsedModel);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsedModel {
    pub name: String,
    /// What was used before, if the file said so.
    pub before: Option<String>,
    pub file: String,
    /// The table that was added for it: it was known from the environment only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<String>,
}
