//! The settings of a life: which models there are, and which one is chosen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use kith_home::identity::IdentityFields;
use kith_host::calls::message::ModelName;
use kith_host::house::House;
use kith_host::settings::address::ServerAddress;
use kith_host::settings::forms::{LineText, ModelWire, RequestParameters, ServerUrl};
use kith_host::settings::{ConfiguredModels, ModelSettings, Settings};
use kith_host::team::{Member, Team};
use kith_vocab::event::control::Limits;
use kith_vocab::event::models::ModelRef;

use super::chance::Chance;

/// The names of the models that there are.
pub(crate) const MODEL_NAMES: [&str; 2] = ["a", "b"];
/// The agents of the house; the first is used when none is named.
pub(crate) const AGENT_IDS: [&str; 2] = ["main", "second"];
/// Nobody asks it: the simulation makes the models.
const SERVER: &str = "http://localhost:1/v1";

/// The models that a life of the host can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LifeModels {
    /// Each with the vendor's name for it.
    configured: BTreeMap<&'static str, String>,
    chosen: &'static str,
    fallbacks: Vec<&'static str>,
}

/// The house, whose folder is on no disk.
pub(crate) fn house() -> House {
    let dir = PathBuf::from("/simulated-house");
    House { cwd: dir.clone(), dir, user_home: None }
}

impl LifeModels {
    /// All models, the first by its usual name at its vendor's or by its other one.
    pub(crate) fn all(chance: &mut Chance, is_other: bool) -> LifeModels {
        let usual = |name: &&'static str| (*name, format!("model-{name}"));
        let mut configured: BTreeMap<_, _> = MODEL_NAMES.iter().map(usual).collect();
        if is_other {
            configured.insert("a", "other-model-a".to_owned());
        }
        LifeModels { configured, chosen: "a", fallbacks: Vec::new() }.chosen_anew(chance)
    }

    /// Only one of the models.
    pub(crate) fn one(mut self, chance: &mut Chance) -> LifeModels {
        let name = MODEL_NAMES[chance.index(MODEL_NAMES.len())];
        self.configured.retain(|it, _| *it == name);
        self.chosen_anew(chance)
    }

    /// The same models, and another choice among them.
    pub(crate) fn chosen_anew(mut self, chance: &mut Chance) -> LifeModels {
        let names: Vec<&'static str> = self.configured.keys().copied().collect();
        self.chosen = names[chance.index(names.len())];
        self.fallbacks = if chance.percent(50) {
            names.into_iter().filter(|it| *it != self.chosen).collect()
        } else {
            Vec::new()
        };
        self
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.configured.keys().copied().collect()
    }

    pub(crate) fn reaches(&self, models: &[ModelRef]) -> bool {
        models.iter().any(|it| self.configured.get(it.name.as_str()) == Some(&it.model))
    }

    /// Which model somebody thinks will be asked. Of one that is not there nobody knows.
    pub(crate) fn expected(&self, named: Option<&str>) -> ModelName {
        let name = named.unwrap_or(self.chosen);
        let model = self.configured.get(name).cloned().unwrap_or_default();
        let server = ServerAddress::parse(SERVER).map(|it| it.as_str().to_owned());
        ModelName { provider: name.to_owned(), model, server }
    }

    pub(crate) fn settings(&self) -> Settings {
        let named = self.configured.iter().map(|(name, model)| {
            let settings = ModelSettings {
                wire: ModelWire::OpenaiChat,
                base_url: ServerAddress::parse(SERVER).map(ServerUrl),
                api_key: None,
                model: Some(LineText(model.clone())),
                context_window: None,
                max_tokens: None,
                parameters: RequestParameters::default(),
                price: None,
            };
            ((*name).to_owned(), settings)
        });
        Settings {
            models: ConfiguredModels {
                chosen: Some(self.chosen.to_owned()),
                fallbacks: self.fallbacks.iter().map(|it| (*it).to_owned()).collect(),
                named: named.collect(),
            },
            budget: kith_host::budget::BudgetCaps::default(),
            limits: Limits::default(),
            language: None,
            policy: kith_engine::judge::rules::RuleSet::default(),
            approvals: kith_engine::turn::approvals::ApprovalSetup::default(),
            telemetry_endpoint: None,
            projects: Vec::new(),
            extra_skills: Vec::new(),
            team: Arc::new(team()),
            files: Vec::new(),
            keys: BTreeSet::new(),
        }
    }
}

fn team() -> Team {
    let house = house();
    let member = |id: &&str| {
        let main = Member::main(&house, IdentityFields::default());
        Member { id: (*id).to_owned(), home: house.dir.join(id), ..main }
    };
    Team::of_members(AGENT_IDS.iter().map(member).collect())
}
