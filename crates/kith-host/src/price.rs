//! The cost of answers, for models that have a price.
//!
//! The price is looked up when the answer comes and written down with it, so that a later change of
//! prices does not change what was spent.

use std::sync::Arc;

use kith_vocab::clock::BoxFuture;
use kith_vocab::event::messages::Usage;
use kith_vocab::provider::{Answer, AnswerFailure, AskContext, ModelChoice, Provider};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::PriceTable;

/// Micro-USD per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl From<PriceTable> for Price {
    fn from(table: PriceTable) -> Price {
        let input = table.input.0;
        Price {
            input,
            output: table.output.0,
            cache_read: table.cache_read.map_or(input, |it| it.0),
            cache_write: table.cache_write.map_or(input, |it| it.0),
        }
    }
}

const TOKENS_PRICED: u128 = 1_000_000;

impl Price {
    /// Micro-USD, rounded up: a limit on money is not to be passed by small sums.
    pub fn of(&self, usage: &Usage) -> u64 {
        let parts = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ];
        let products = parts.map(|(tokens, price)| u128::from(tokens) * u128::from(price));
        let total = products.into_iter().fold(0_u128, u128::saturating_add);
        u64::try_from(total.div_ceil(TOKENS_PRICED)).unwrap_or(u64::MAX)
    }
}

/// A model whose answers say what they cost.
pub struct Priced {
    pub provider: Arc<dyn Provider>,
    pub price: Price,
}

impl Provider for Priced {
    fn choice(&self) -> &ModelChoice {
        self.provider.choice()
    }

    fn cost_micros(&self, usage: &Usage) -> Option<u64> {
        Some(self.price.of(usage))
    }

    fn ask(&self, body: Vec<u8>, ctx: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>> {
        Box::pin(async move {
            let mut outcome = self.provider.ask(body, ctx).await;
            let usage = match &mut outcome {
                Ok(answer) => &mut answer.usage,
                Err(unfinished) => &mut unfinished.usage,
            };
            if let Some(usage) = usage {
                usage.cost_micros = Some(self.price.of(usage));
            }
            outcome
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_costs_what_its_tokens_do_rounded_up() {
        let price = Price { input: 150_000, output: 600_000, cache_read: 75_000, cache_write: 0 };
        let usage = |input, output, cache_read| Usage {
            input,
            output,
            cache_read,
            cache_write: 9,
            ..Usage::default()
        };
        assert_eq!(price.of(&usage(1000, 100, 0)), 150 + 60);
        assert_eq!(price.of(&usage(0, 0, 1_000_000)), 75_000);
        assert_eq!(price.of(&usage(1, 0, 0)), 1);
        assert_eq!(price.of(&usage(0, 0, 0)), 0);
        let dear = Price { input: u64::MAX, ..price };
        assert_eq!(dear.of(&usage(u64::MAX, u64::MAX, u64::MAX)), u64::MAX);
    }
}
