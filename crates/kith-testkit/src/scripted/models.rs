//! Scripted models behind the port that finds them.

use std::fmt;
use std::sync::{Arc, Mutex};

use kith_vocab::event::models::ModelRef;
use kith_vocab::provider::{ModelUnavailable, Models, Provider};

/// Finds one model by any name, or only the models it was given.
#[derive(Default)]
pub struct ScriptedModels {
    of_any_name: Option<Arc<dyn Provider>>,
    given: Vec<(ModelRef, Arc<dyn Provider>)>,
    unavailable: Mutex<Vec<String>>,
    found: Mutex<Vec<ModelRef>>,
}

impl ScriptedModels {
    /// Finds this model whatever a message names.
    pub fn one(model: Arc<dyn Provider>) -> ScriptedModels {
        ScriptedModels { of_any_name: Some(model), ..ScriptedModels::default() }
    }

    /// Finds no model but those that [`ScriptedModels::with`] gives it.
    pub fn none() -> ScriptedModels {
        ScriptedModels::default()
    }

    /// Finds this model exactly as it is recorded.
    #[must_use]
    pub fn with(mut self, name: ModelRef, model: Arc<dyn Provider>) -> ScriptedModels {
        self.given.push((name, model));
        self
    }

    /// From now on the model of this name in the settings cannot be asked.
    pub fn take_away(&self, name: &str) {
        self.unavailable.lock().unwrap().push(name.to_owned());
    }

    /// From now on it can be asked again.
    pub fn bring_back(&self, name: &str) {
        self.unavailable.lock().unwrap().retain(|gone| gone != name);
    }

    /// Every model that was looked for and found, in order.
    pub fn found(&self) -> Vec<ModelRef> {
        self.found.lock().unwrap().clone()
    }
}

impl Models for ScriptedModels {
    fn find(&self, model: &ModelRef) -> Result<Arc<dyn Provider>, ModelUnavailable> {
        let unavailable = |why: &str| ModelUnavailable {
            reason: format!("model `{}` cannot be asked: {why}", model.name),
        };
        if self.unavailable.lock().unwrap().contains(&model.name) {
            return Err(unavailable("the test took it away"));
        }
        let given = self.given.iter().find(|(name, _)| name == model);
        let provider = given.map(|(_, provider)| provider).or(self.of_any_name.as_ref());
        let provider = provider.ok_or_else(|| unavailable("the test does not have it"))?;
        self.found.lock().unwrap().push(model.clone());
        Ok(Arc::clone(provider))
    }
}

impl fmt::Debug for ScriptedModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given: Vec<&ModelRef> = self.given.iter().map(|(name, _)| name).collect();
        f.debug_struct("ScriptedModels")
            .field("given", &given)
            .field("unavailable", &self.unavailable)
            .finish_non_exhaustive()
    }
}
