//! What the sessions of the simulated agent start from.

use std::path::Path;
use std::sync::Arc;

use kith_engine::engine::{AgentSetup, SetupError};
use kith_engine::state::knowledge::ModelKnowledge;
use kith_engine::turn::TurnSetup;
use kith_engine::turn::approvals::ApprovalSetup;
use kith_host::error::CallError;
use kith_host::opening::HouseSetup;
use kith_host::team::Member;
use kith_sessions::desk::Repository;
use kith_testkit::first_events::first_events;
use kith_vocab::event::Body;
use kith_vocab::event::calls::Sandbox;
use kith_vocab::event::control::Limits;
use kith_vocab::event::messages::{HarnessItem, HarnessItemEvent, HarnessKind, Origin, Trust};
use kith_vocab::header::{Audience, SessionHeader};
use kith_vocab::tool::Tool;

use super::tool::SimPolicy;
use super::world::World;

pub(crate) struct SimSetup {
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) world: Arc<World>,
}

impl SimSetup {
    fn fault(&self) -> Result<(), SetupError> {
        let mut world = self.world.lock();
        let rate = world.plan.own_faults;
        if world.chance.per_mille(rate) {
            return Err(SetupError("the simulation lets the setup fail".into()));
        }
        Ok(())
    }
}

impl HouseSetup for SimSetup {
    fn check(&self, _: &Member, _: &Path, _: Audience, _: u64) -> Result<(), CallError> {
        Ok(self.fault()?)
    }

    fn take_problems(&self) -> Vec<String> {
        Vec::new()
    }

    fn set_repositories(&self, _: Vec<Repository>) {}
}

impl AgentSetup for SimSetup {
    fn first_events(&self, _: &SessionHeader) -> Result<Vec<Body>, SetupError> {
        self.fault()?;
        Ok(first_events("Be kind.", &self.tools))
    }

    fn turn(&self, _: &SessionHeader) -> Result<TurnSetup, SetupError> {
        self.fault()?;
        let limits = self.world.draw(|chance| {
            let steps = u32::try_from(chance.between(2, 20)).unwrap_or(2);
            Limits { steps, wall_ms: 60_000 << chance.below(7), ..Limits::default() }
        });
        Ok(TurnSetup {
            approvals: ApprovalSetup::default(),
            budget: Arc::new(kith_vocab::budget::NoBudget),
            tools: self.tools.clone(),
            policy: Arc::new(SimPolicy),
            limits,
            language: None,
            sandbox: || Sandbox::None,
            secrets: Arc::default(),
        })
    }

    fn news(&self, _: &SessionHeader, _: &ModelKnowledge<'_>, _: u64) -> Vec<Body> {
        if !self.world.draw(|chance| chance.percent(20)) {
            return Vec::new();
        }
        let kind = HarnessKind::RuntimeNotice;
        vec![Body::HarnessItem(HarnessItemEvent {
            item: HarnessItem {
                kind,
                origin: Origin::System,
                content: "Something changed.".into(),
                visibility: kind.usual_visibility(),
                data: None,
            },
            trust: Trust::Owner,
            author: None,
            queue_item_id: None,
            merged_into: None,
            primed: None,
        })]
    }
}
