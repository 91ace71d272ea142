//! Calls about what models have used.

use kith_vocab::event::messages::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

/// Sums what the models of a house have used, from its logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SumCosts {
    pub by: CostGroup,
    /// Only this session; without it all of the house, removed ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

call!(Read "sum_costs", SumCosts => CostTable);

/// What costs are summed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CostGroup {
    /// By the clock of this machine, newest first.
    Day,
    Model,
    Thread,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CostTable {
    pub rows: Vec<CostRow>,
    /// What sessions used that were removed and still count in the budget; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<CostSum>,
    pub total: CostSum,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CostRow {
    /// The day, the model or the thread.
    pub name: String,
    pub sum: CostSum,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CostSum {
    pub n_requests: u64,
    /// Tokens, and money as far as prices are known.
    pub usage: Usage,
    /// Requests of models without a price.
    pub n_unpriced: u64,
    /// Requests of which the vendor never said what they used; an estimate of it counts, or else what
    /// was reserved for them.
    pub n_estimated: u64,
}

impl CostSum {
    pub fn add(&mut self, usage: &Usage, has_price: bool, is_estimate: bool) {
        let (n_unpriced, n_estimated) = (u64::from(!has_price), u64::from(is_estimate));
        self.merge(&CostSum { n_requests: 1, usage: *usage, n_unpriced, n_estimated });
    }

    pub fn merge(&mut self, more: &CostSum) {
        let (sum, usage) = (&mut self.usage, &more.usage);
        for (sum, more) in [
            (&mut sum.input, usage.input),
            (&mut sum.output, usage.output),
            (&mut sum.cache_read, usage.cache_read),
            (&mut sum.cache_write, usage.cache_write),
        ] {
            *sum = sum.saturating_add(more);
        }
        if let Some(cost) = usage.cost_micros {
            let known = sum.cost_micros.get_or_insert(0);
            *known = known.saturating_add(cost);
        }
        self.n_requests = self.n_requests.saturating_add(more.n_requests);
        self.n_unpriced = self.n_unpriced.saturating_add(more.n_unpriced);
        self.n_estimated = self.n_estimated.saturating_add(more.n_estimated);
    }
}
