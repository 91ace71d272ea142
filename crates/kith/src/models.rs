//! Which model is asked, and how to reach it.
//!
//! In this order: `--model`, `kith.toml`, a key in the environment, else the built-in demo. Nothing
//! is probed and nothing is guessed: the owner's files go only where the owner said.

use std::env::{self, VarError};
use std::sync::Arc;

use kith_providers::demo::demo;
use kith_providers::openai_chat::OpenAiChat;
use kith_providers::secret::Secret;
use kith_vocab::event::models::Wire;
use kith_vocab::json::Json;
use kith_vocab::provider::{ModelChoice, Provider};
use serde_json::{Map, Value};

use crate::client::ModelName;
use crate::config::{self, Config, Model};
use crate::price::Priced;
use crate::report::{Blame, Report};

pub(crate) const OPENAI_URL: &str = "https://api.openai.com/v1";
const OPENAI_MODEL: &str = "gpt-5-mini";
const CONTEXT_WINDOW: u64 = 128_000;

pub(crate) struct Chosen {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) name: ModelName,
    /// Nobody chose: the demo answers because there is nothing else.
    pub(crate) by_default: bool,
    /// Whether its answers say what they cost.
    pub(crate) has_price: bool,
}

pub(crate) const DEMO_LABEL: &str =
    "the built-in demo model answers; set OPENAI_API_KEY for a real one";

impl Chosen {
    fn new(provider: Arc<dyn Provider>, server: Option<&str>) -> Chosen {
        let choice = provider.choice();
        let name = ModelName {
            provider: choice.provider.clone(),
            model: choice.model.clone(),
            server: server.map(str::to_owned),
        };
        Chosen { provider, name, by_default: false, has_price: false }
    }

    fn demo() -> Chosen {
        Chosen::new(Arc::new(demo()), None)
    }
}

pub(crate) fn choose(named: Option<&str>, config: &Config) -> Result<Chosen, Report> {
    let name = named.or(config.models.chosen.as_deref());
    match name {
        Some("demo") => return Ok(Chosen::demo()),
        Some(name) => match config.models.named.get(name) {
            Some(model) => return configured(name, model),
            None if named.is_none() => return Err(not_configured(name)),
            None => (),
        },
        None => (),
    }
    if variable("ANTHROPIC_API_KEY")?.is_some() {
        return Err(not_built("anthropic", "ANTHROPIC_API_KEY is set"));
    }
    if let Some(key) = variable("OPENAI_API_KEY")? {
        let url = variable("OPENAI_BASE_URL")?.unwrap_or_else(|| OPENAI_URL.to_owned());
        let model = match name {
            Some(name) => Some(name.to_owned()),
            None => variable("OPENAI_MODEL")?,
        };
        let model = model.unwrap_or_else(|| OPENAI_MODEL.to_owned());
        let window = CONTEXT_WINDOW;
        return open_ai_chat("openai", model, &url, Some(key), Json::empty_object(), window);
    }
    match name {
        None => Ok(Chosen { by_default: true, ..Chosen::demo() }),
        Some(name) => Err(refused(format!(
            "there is no model `{name}`: kith.toml does not name it and no key is set"
        ))
        .hint(
            "`--model demo` needs no key; OPENAI_API_KEY in the environment brings a vendor's \
             models",
        )),
    }
}

fn configured(name: &str, model: &Model) -> Result<Chosen, Report> {
    let chosen = by_wire(name, model)?;
    let Some(price) = model.price else { return Ok(chosen) };
    let provider = Arc::new(Priced { provider: chosen.provider, price });
    Ok(Chosen { provider, has_price: true, ..chosen })
}

fn by_wire(name: &str, model: &Model) -> Result<Chosen, Report> {
    match model.wire.as_str() {
        "demo" => Ok(Chosen::demo()),
        "openai_chat" => {
            let key = model.api_key.as_deref().map(config::secret).transpose()?;
            let url = model.base_url.as_deref().unwrap_or(OPENAI_URL);
            let vendor_name = model.model.clone().unwrap_or_else(|| name.to_owned());
            let mut parameters: Map<String, Value> = model.parameters.clone();
            if let Some(max) = model.max_tokens {
                parameters.insert("max_tokens".to_owned(), max.into());
            }
            let window = model.context_window.unwrap_or(CONTEXT_WINDOW);
            open_ai_chat(name, vendor_name, url, key, Json::of(&parameters), window)
        }
        // There are no others: the settings were checked.
        wire => Err(not_built(wire, &format!("`[models.{name}]` asks for it"))),
    }
}

fn open_ai_chat(
    provider: &str,
    model: String,
    url: &str,
    key: Option<String>,
    parameters: Json,
    context_window: u64,
) -> Result<Chosen, Report> {
    let choice = ModelChoice {
        provider: provider.to_owned(),
        wire: Wire::OpenaiChat,
        model,
        parameters,
        context_window,
    };
    let provider = OpenAiChat::new(choice, url, key.map(Secret::new))
        .map_err(|error| Report::new(Blame::Request, "invalid_request", error))?;
    Ok(Chosen::new(Arc::new(provider), Some(url)))
}

/// The variable's value; an empty one counts as not set.
fn variable(name: &str) -> Result<Option<String>, Report> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        // Answering with the demo instead would look as if there were no key.
        Err(VarError::NotUnicode(_)) => {
            Err(refused(format!("the environment variable `{name}` is not text; set it again")))
        }
    }
}

fn refused(message: String) -> Report {
    Report::new(Blame::Request, "invalid_request", message)
}

fn not_configured(name: &str) -> Report {
    refused(format!("kith.toml chooses the model `{name}`, but has no `[models.{name}]`"))
        .hint(format!("add `[models.{name}]`, or use `demo`"))
}

fn not_built(wire: &str, because: &str) -> Report {
    let message = format!("the wire `{wire}` is not built yet ({because})");
    Report::new(Blame::Environment, "model_failed", message).hint(
        "`--model demo` needs no key; OPENAI_API_KEY with OPENAI_BASE_URL reaches any compatible \
         server",
    )
}
