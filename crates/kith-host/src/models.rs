//! The model registry: which models exist, which one a message uses, and their connections.
//!
//! A model is chosen in this order: `--model`, `[models] use`, `ANTHROPIC_API_KEY`, `OPENAI_API_KEY`,
//! else the built-in demo. Nothing is probed and nothing is guessed: what is said goes only where its author
//! chose. So a message records its models ([`ModelRef`]), and a model that is configured otherwise
//! by now is not asked in their place.

pub mod catalogue;
mod list;
mod source;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kith_vocab::event::models::ModelRef;
use kith_vocab::provider::{ModelUnavailable, Models, Provider};

use self::source::{ModelSource, find_source};
use crate::calls::models::FactOrigin;
use crate::client::ModelName;
use crate::error::CallError;
use crate::notes::HostNote;
use crate::settings::Settings;
use crate::settings::watch::SettingsWatch;

pub use self::list::{found_servers, list_models, settings_for, settings_of_environment};
pub use self::source::{endpoint_of, is_vendors_own};

pub const DEMO_LABEL: &str =
    "using the built-in demo model; set ANTHROPIC_API_KEY or OPENAI_API_KEY to use a real one";
/// Maximum number of cached providers; the cache is cleared when it is full.
const PROVIDERS_KEPT_MAX: usize = 64;

/// The model that a message is for, and those to ask when it fails.
pub struct ChosenModel {
    /// The chosen model, then its fallbacks.
    pub refs: Vec<ModelRef>,
    /// The models before them whose key is not set, as notes to the person.
    pub passed_over: Vec<HostNote>,
    /// Of the chosen model.
    pub provider: Arc<dyn Provider>,
    pub name: ModelName,
    /// Nobody chose: the demo answers because there is nothing else.
    pub by_default: bool,
    /// Whether its answers say what they cost.
    pub has_price: bool,
    /// Where its context size comes from.
    pub context_window_from: FactOrigin,
}

/// Makes providers in place of those that ask servers.
pub type ProviderMaker = Box<dyn Fn(&ModelRef) -> Arc<dyn Provider> + Send + Sync>;

/// Keeps providers, and so their connections, for as long as their settings stay the same.
pub struct ModelRegistry {
    settings: Arc<SettingsWatch>,
    /// `None`: servers are asked.
    maker: Option<ProviderMaker>,
    /// By a digest of all that decides how a model is asked.
    kept: Mutex<BTreeMap<String, Arc<dyn Provider>>>,
}

impl ModelRegistry {
    pub fn new(settings: Arc<SettingsWatch>) -> ModelRegistry {
        ModelRegistry { settings, maker: None, kept: Mutex::default() }
    }

    /// A registry that asks no server.
    #[must_use]
    pub fn with_maker(mut self, maker: ProviderMaker) -> ModelRegistry {
        self.maker = Some(maker);
        self
    }

    /// Chooses the model that is named, else that of the settings, with its fallbacks. A model that
    /// is named although the settings choose another has none: its author meant that one.
    pub fn choose(
        &self,
        named: Option<&str>,
        settings: &Settings,
    ) -> Result<ChosenModel, CallError> {
        let configured = settings.models.chosen.as_deref();
        let (source, by_default) = match (named, configured) {
            (Some(name), _) => (named_source(name, settings)?, false),
            (None, Some(name)) => (configured_source(name, settings)?, false),
            (None, None) => match ModelSource::from_environment(None)? {
                Some(source) => (source, false),
                None => (ModelSource::demo("demo"), true),
            },
        };
        let mut sources = vec![source];
        if !by_default && (named.is_none() || named == configured) {
            for name in &settings.models.fallbacks {
                let fallback = configured_source(name, settings)?;
                if sources.iter().all(|it| it.model_ref != fallback.model_ref) {
                    sources.push(fallback);
                }
            }
        }
        // Only the settings may mean the next one: a model that is named is asked or refused.
        let first = sources.iter().position(|it| it.key().is_ok()).filter(|_| named.is_none());
        let usable = sources.split_off(first.unwrap_or_default());
        let passed_over = sources.iter().map(|it| note_passed_over(it, &usable)).collect();
        let refs = usable.iter().map(|it| it.model_ref.clone()).collect();
        let Some(source) = usable.into_iter().next() else {
            return Err(CallError::bug("no model was chosen"));
        };
        let provider = self.provider(&source)?;
        let name = ModelName {
            provider: source.model_ref.provider,
            model: source.model_ref.model,
            server: source.server.map(|it| it.as_str().to_owned()),
        };
        let has_price = source.price.is_some();
        let context_window_from = source.window_from;
        Ok(ChosenModel {
            refs,
            passed_over,
            provider,
            name,
            by_default,
            has_price,
            context_window_from,
        })
    }

    fn provider(&self, source: &ModelSource) -> Result<Arc<dyn Provider>, CallError> {
        let key = source.key()?;
        let digest = source.digest(key.as_deref());
        // The map is never left half-changed, so a panic elsewhere does not spoil it.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = kept.get(&digest) {
            return Ok(Arc::clone(provider));
        }
        let provider = match &self.maker {
            Some(make) => make(&source.model_ref),
            None => source.provider(key)?,
        };
        if kept.len() == PROVIDERS_KEPT_MAX {
            kept.clear();
        }
        kept.insert(digest, Arc::clone(&provider));
        Ok(provider)
    }
}

impl Models for ModelRegistry {
    /// The model that a message was accepted for, if it is still set up here in the same way.
    fn find(&self, model: &ModelRef) -> Result<Arc<dyn Provider>, ModelUnavailable> {
        let settings = self.settings.recent();
        let ModelRef { name, provider, model: vendor_name, .. } = model;
        let unavailable = |why: String| ModelUnavailable {
            reason: format!(
                "the message was for model `{name}` (`{vendor_name}` of {provider}), {why}"
            ),
        };
        let source = match find_source(name, &settings) {
            Ok(Some(source)) => source,
            Ok(None) => {
                return Err(unavailable(
                    "which is not configured here: configure it again, or send the message again"
                        .to_owned(),
                ));
            }
            Err(report) => return Err(unavailable(format!("but {}", report.message()))),
        };
        if source.model_ref != *model {
            let here = &source.model_ref;
            let place = match &source.server {
                Some(server) => format!(" at `{server}`"),
                None => String::new(),
            };
            return Err(unavailable(format!(
                "but here `{name}` is `{}` of {}{place}: restore its settings, or send the message \
                 again",
                here.model, here.provider
            )));
        }
        self.provider(&source).map_err(|report| unavailable(format!("but {}", report.message())))
    }
}

/// Why a model is not asked, and which is asked instead.
fn note_passed_over(source: &ModelSource, usable: &[ModelSource]) -> HostNote {
    let model = source.model_ref.name.clone();
    let why = source.key().err().map(|error| error.message()).unwrap_or_default();
    let next = usable.first().map(|it| it.model_ref.name.clone()).unwrap_or_default();
    HostNote::ModelPassedOver { model, why, next }
}

/// The model of this name, which the caller gives.
fn named_source(name: &str, settings: &Settings) -> Result<ModelSource, CallError> {
    find_source(name, settings)?.ok_or_else(|| {
        let message =
            format!("unknown model `{name}`: it is not in the settings, and no API key is set");
        CallError::invalid(message).hint(
            "set ANTHROPIC_API_KEY or OPENAI_API_KEY to use a vendor's models by name, or use \
             `--model demo`, which needs no key",
        )
    })
}

/// The model of this name, which stands in the settings and so must be described there.
fn configured_source(name: &str, settings: &Settings) -> Result<ModelSource, CallError> {
    if name == "demo" || settings.models.named.contains_key(name) {
        return named_source(name, settings);
    }
    let message = format!("the settings name the model `{name}`, but have no `[models.{name}]`");
    Err(CallError::invalid(message).hint(format!("add `[models.{name}]`, or use `demo`")))
}

#[cfg(test)]
mod tests;
