//! How one model is reached, from the settings or the environment.

use std::env::{self, VarError};
use std::sync::Arc;

use kith_providers::demo::demo;
use kith_providers::endpoint::without_request_path;
use kith_providers::http_provider::HttpProvider;
use kith_providers::render::wire_name;
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::models::{ModelRef, Wire};
use kith_vocab::json::Json;
use kith_vocab::provider::{ModelChoice, Provider};
use kith_vocab::secret::Secret;

use super::catalogue::{KnownModel, find_known};
use crate::calls::models::FactOrigin;
use crate::error::CallError;
use crate::price::{Price, Priced};
use crate::settings::address::ServerAddress;
use crate::settings::forms::{ModelWire, SecretName};
use crate::settings::{self, ModelSettings, Settings};

/// Where the settings do not say how much a model can read.
const CONTEXT_WINDOW: u64 = 128_000;
const COMPLETION_TOKENS: &str = "max_completion_tokens";
const ENDPOINT_DIGITS: usize = 16;

/// A vendor whose key is taken from the environment.
#[derive(Clone, Copy, Debug)]
struct Vendor {
    name: &'static str,
    wire: Wire,
    url: &'static str,
    /// The model to use if none is named.
    model: &'static str,
    /// How names of its models begin, if they do alike.
    prefix: Option<&'static str>,
    context_window: u64,
    key_variable: &'static str,
    url_variable: &'static str,
    model_variable: &'static str,
}

/// In the order in which their keys are looked for.
static VENDORS: [Vendor; 2] = [
    Vendor {
        name: "anthropic",
        wire: Wire::Anthropic,
        url: "https://api.anthropic.com",
        model: "claude-sonnet-5-5",
        prefix: Some("claude"),
        context_window: 200_000,
        key_variable: "ANTHROPIC_API_KEY",
        url_variable: "ANTHROPIC_BASE_URL",
        model_variable: "ANTHROPIC_MODEL",
    },
    Vendor {
        name: "openai",
        wire: Wire::OpenaiChat,
        url: OPENAI_URL,
        model: "gpt-5-mini",
        prefix: None,
        context_window: CONTEXT_WINDOW,
        key_variable: "OPENAI_API_KEY",
        url_variable: "OPENAI_BASE_URL",
        model_variable: "OPENAI_MODEL",
    },
];
const OPENAI_URL: &str = "https://api.openai.com/v1";

/// The address that a wire's own vendor has.
fn usual_url(wire: ModelWire) -> Option<&'static str> {
    match wire {
        // Settings without an address are refused for Chat Completions: too many servers speak it.
        ModelWire::OpenaiChat | ModelWire::OpenaiResponses => Some(OPENAI_URL),
        ModelWire::Anthropic => Some(VENDORS[0].url),
        ModelWire::Demo => None,
    }
}

/// Whether this is the address of a vendor whose key is taken from the environment.
pub fn is_vendors_own(address: &ServerAddress) -> bool {
    vendor_at(address).is_some()
}

fn vendor_at(address: &ServerAddress) -> Option<&'static Vendor> {
    let is_at =
        |url| ServerAddress::parse(url).is_some_and(|it| parts_of(&it) == parts_of(address));
    VENDORS.iter().find(|vendor| is_at(vendor.url))
}

/// What the table of common models says of the model at this address.
fn known_at(address: &ServerAddress, model: &str) -> Option<&'static KnownModel> {
    find_known(vendor_at(address)?.name, model)
}

/// The parts of the address that a model's words and key go to.
pub fn endpoint_of(model: &ModelSettings) -> Option<String> {
    let usual = || usual_url(model.wire).and_then(ServerAddress::parse);
    let address = model.base_url.as_ref().map(|it| it.0.clone()).or_else(usual);
    address.as_ref().map(parts_of)
}

fn parts_of(address: &ServerAddress) -> String {
    let ServerAddress { scheme, host, port, path, .. } = address;
    format!("{scheme}\n{host}\n{port}\n{path}")
}

pub(super) struct ModelSource {
    pub(super) model_ref: ModelRef,
    /// `None`: the built-in demo.
    pub(super) server: Option<ServerAddress>,
    key: KeySource,
    parameters: Json,
    pub(super) context_window: u64,
    pub(super) window_from: FactOrigin,
    pub(super) price: Option<Price>,
    pub(super) price_from: FactOrigin,
}

/// A fact of the settings, else of the table.
fn fact<T>(settings: Option<T>, table: Option<T>) -> (Option<T>, FactOrigin) {
    match (settings, table) {
        (Some(fact), _) => (Some(fact), FactOrigin::Settings),
        (None, Some(fact)) => (Some(fact), FactOrigin::Table),
        (None, None) => (None, FactOrigin::Unknown),
    }
}

enum KeySource {
    None,
    Setting(SecretName),
    /// The variable of a vendor, which is used where the settings name no model.
    Environment(&'static str),
}

impl KeySource {
    /// The variable that holds the key, for those who are told to check it.
    fn variable(&self) -> Option<&str> {
        match self {
            KeySource::None => None,
            KeySource::Setting(name) => Some(name.0.as_str()),
            KeySource::Environment(name) => Some(name),
        }
    }
}

/// The model of this name, if there is one here.
pub(super) fn find_source(
    name: &str,
    settings: &Settings,
) -> Result<Option<ModelSource>, CallError> {
    match settings.models.named.get(name) {
        _ if name == "demo" => Ok(Some(ModelSource::demo(name))),
        Some(model) => ModelSource::from_settings(name, model).map(Some),
        None => ModelSource::from_environment(Some(name)),
    }
}

impl ModelSource {
    pub(super) fn demo(name: &str) -> ModelSource {
        let model_ref = model_ref(name, "demo", "demo", Wire::OpenaiChat, None);
        ModelSource {
            model_ref,
            server: None,
            key: KeySource::None,
            parameters: Json::empty_object(),
            context_window: 0,
            window_from: FactOrigin::Unknown,
            price: None,
            price_from: FactOrigin::Unknown,
        }
    }

    fn from_settings(name: &str, model: &ModelSettings) -> Result<ModelSource, CallError> {
        let set_price = model.price.map(Price::from);
        if model.wire == ModelWire::Demo {
            let (price, price_from) = fact(set_price, None);
            return Ok(ModelSource { price, price_from, ..ModelSource::demo(name) });
        }
        let server = match &model.base_url {
            Some(url) => url.0.clone(),
            None => address(usual_url(model.wire).unwrap_or_default(), "the usual address", "")?,
        };
        let wire = match model.wire {
            ModelWire::Anthropic => Wire::Anthropic,
            ModelWire::OpenaiResponses => Wire::OpenaiResponses,
            ModelWire::OpenaiChat | ModelWire::Demo => Wire::OpenaiChat,
        };
        let vendor_name = model.model.as_ref().map_or(name, |it| it.0.as_str());
        let mut parameters = model.parameters.0.clone();
        if let Some(max) = model.max_tokens {
            // OpenAI refuses the old name, and most compatible servers know no other.
            let wants_new_name =
                is_vendors_own(&server) || parameters.contains_key(COMPLETION_TOKENS);
            let name = match wire {
                Wire::OpenaiResponses => "max_output_tokens",
                Wire::OpenaiChat if wants_new_name => COMPLETION_TOKENS,
                Wire::OpenaiChat | Wire::Anthropic => "max_tokens",
            };
            parameters.insert(name.to_owned(), max.0.into());
        }
        let known = known_at(&server, vendor_name);
        let set_window = model.context_window.map(|it| u64::from(it.0));
        let (window, window_from) = fact(set_window, known.and_then(|it| it.context_window));
        let (price, price_from) = fact(set_price, known.map(|it| it.price));
        Ok(ModelSource {
            model_ref: model_ref(name, name, vendor_name, wire, Some(&server)),
            server: Some(server),
            key: model.api_key.clone().map_or(KeySource::None, KeySource::Setting),
            parameters: Json::of(&parameters),
            context_window: window.unwrap_or(CONTEXT_WINDOW),
            window_from,
            price,
            price_from,
        })
    }

    /// A model of a vendor whose key is set, by the vendor's name for it.
    pub(super) fn from_environment(named: Option<&str>) -> Result<Option<ModelSource>, CallError> {
        vendor_for(named)?.map(|vendor| ModelSource::of_vendor(vendor, named)).transpose()
    }

    /// For each vendor whose key is set the model that is used if none is named.
    pub(super) fn all_of_environment() -> Result<Vec<ModelSource>, CallError> {
        vendors_with_key()?.into_iter().map(|it| ModelSource::of_vendor(it, None)).collect()
    }

    fn of_vendor(vendor: &Vendor, named: Option<&str>) -> Result<ModelSource, CallError> {
        let url = variable(vendor.url_variable)?;
        let server =
            address(url.as_deref().unwrap_or(vendor.url), vendor.url_variable, vendor.url)?;
        let name = match named {
            Some(name) => name.to_owned(),
            None => variable(vendor.model_variable)?.unwrap_or_else(|| vendor.model.to_owned()),
        };
        let known = known_at(&server, &name);
        let (window, window_from) = fact(None, known.and_then(|it| it.context_window));
        let (price, price_from) = fact(None, known.map(|it| it.price));
        Ok(ModelSource {
            model_ref: model_ref(&name, vendor.name, &name, vendor.wire, Some(&server)),
            server: Some(server),
            key: KeySource::Environment(vendor.key_variable),
            parameters: Json::empty_object(),
            context_window: window.unwrap_or(vendor.context_window),
            window_from,
            price,
            price_from,
        })
    }

    /// The variable that holds the key, if it needs one.
    pub(super) fn key_variable(&self) -> Option<&str> {
        self.key.variable()
    }

    /// Whether that variable is set. What needs none has it.
    pub(super) fn has_key(&self) -> bool {
        self.key().is_ok_and(|key| key.is_some() || self.key_variable().is_none())
    }

    /// Looks the key up.
    pub(super) fn key(&self) -> Result<Option<String>, CallError> {
        match &self.key {
            KeySource::None => Ok(None),
            KeySource::Setting(name) => settings::secret(name).map(Some),
            KeySource::Environment(name) => variable(name),
        }
    }

    /// Two sources with one digest are asked in the same way.
    pub(super) fn digest(&self, key: Option<&str>) -> String {
        let ModelRef { name, provider, wire, model, .. } = &self.model_ref;
        let server = self.server.as_ref().map(ServerAddress::as_str);
        let rest = (self.parameters.as_str(), self.context_window, self.price);
        // What `Debug` writes keeps its parts apart, and only its hash is kept.
        sha256_hex(format!("{:?}", (name, provider, wire, model, server, key, rest)).as_bytes())
    }

    pub(super) fn provider(&self, key: Option<String>) -> Result<Arc<dyn Provider>, CallError> {
        let provider: Arc<dyn Provider> = match &self.server {
            None => Arc::new(demo()),
            Some(server) => {
                let choice = ModelChoice {
                    provider: self.model_ref.provider.clone(),
                    wire: self.model_ref.wire,
                    model: self.model_ref.model.clone(),
                    parameters: self.parameters.clone(),
                    context_window: self.context_window,
                };
                let provider = HttpProvider::new(choice, server.as_str(), key.map(Secret::new));
                let provider = provider.map_err(CallError::invalid)?;
                match self.key_variable() {
                    Some(variable) => Arc::new(provider.with_key_source(variable)),
                    None => Arc::new(provider),
                }
            }
        };
        Ok(match self.price {
            Some(price) => Arc::new(Priced { provider, price }),
            None => provider,
        })
    }
}

/// The first vendor whose key is set; for a model that is named, the one whose name it has.
fn vendor_for(named: Option<&str>) -> Result<Option<&'static Vendor>, CallError> {
    let with_key = vendors_with_key()?;
    let is_its = |vendor: &&&Vendor| match (named, vendor.prefix) {
        (Some(name), Some(prefix)) => name.starts_with(prefix),
        _ => true,
    };
    Ok(with_key.iter().find(is_its).or(with_key.first()).copied())
}

fn vendors_with_key() -> Result<Vec<&'static Vendor>, CallError> {
    let mut with_key = Vec::new();
    for vendor in &VENDORS {
        if variable(vendor.key_variable)?.is_some() {
            with_key.push(vendor);
        }
    }
    Ok(with_key)
}

fn model_ref(
    name: &str,
    provider: &str,
    model: &str,
    wire: Wire,
    server: Option<&ServerAddress>,
) -> ModelRef {
    let place = server.map_or_else(|| "demo\n\n\n".to_owned(), parts_of);
    let digest = sha256_hex(format!("{}\n{place}", wire_name(wire)).as_bytes());
    ModelRef {
        name: name.to_owned(),
        provider: provider.to_owned(),
        wire,
        model: model.to_owned(),
        endpoint: digest[..ENDPOINT_DIGITS].to_owned(),
    }
}

/// The address is repeated only where it is known to hold no password.
fn address(text: &str, what: &str, usual: &str) -> Result<ServerAddress, CallError> {
    let address = ServerAddress::parse(text.trim()).ok_or_else(|| {
        CallError::invalid(format!("{what} is not valid; expected an address such as `{usual}`"))
    })?;
    match without_request_path(text) {
        Some(instead) => {
            let message = format!("{what} contains the path of a request; set it to `{instead}`");
            Err(CallError::invalid(message))
        }
        None => Ok(address),
    }
}

/// The value of an environment variable; an empty one counts as not set.
pub(super) fn variable(name: &str) -> Result<Option<String>, CallError> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        // Answering with the demo instead would look as if there were no key.
        Err(VarError::NotUnicode(_)) => {
            let message =
                format!("the environment variable `{name}` is not valid UTF-8; set it again");
            Err(CallError::invalid(message))
        }
    }
}
