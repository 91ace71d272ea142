//! What models have used, summed from the logs.

use std::collections::BTreeMap;
use std::sync::Arc;

use kith_engine::spending::SpendingReader;
use kith_vocab::event::Event;
use kith_vocab::ids::SessionId;

use super::ReadSide;
use crate::budget::day_of;
use crate::call::{Reply, Response};
use crate::calls::cost::{CostGroup, CostRow, CostSum, CostTable, SumCosts};
use crate::words::short;

/// The provider of the built-in model, which costs nothing.
const DEMO: &str = "demo";

pub async fn sum_costs(side: Arc<ReadSide>, call: SumCosts) -> Reply<CostTable> {
    let (mut sums, mut total) = (BTreeMap::<String, CostSum>::new(), CostSum::default());
    let mut unread = Vec::new();
    for id in side.journal.list().await? {
        let mut reader = SpendingReader::default();
        let each = &mut |event: Event| reader.read(&event);
        let Ok(reading) = side.journal.read(id, None, 0, each).await else {
            unread.push(id);
            continue;
        };
        for spent in reader.finish() {
            let has_price = spent.usage.cost_micros.is_some() || spent.provider == DEMO;
            let name = match call.by {
                CostGroup::Day => day_of(spent.at).to_string(),
                CostGroup::Model if spent.provider == spent.model => spent.model,
                CostGroup::Model => format!("{}/{}", spent.provider, spent.model),
                CostGroup::Thread => reading.header.thread_id.to_string(),
            };
            for sum in [sums.entry(name).or_default(), &mut total] {
                sum.add(&spent.usage, has_price, spent.is_estimate);
            }
        }
    }
    let mut rows: Vec<CostRow> =
        sums.into_iter().map(|(name, sum)| CostRow { name, sum }).collect();
    if call.by == CostGroup::Day {
        rows.reverse();
    }
    Ok(Response::new(CostTable { rows, total }).with_notes(note_unread(&unread)))
}

fn note_unread(unread: &[SessionId]) -> Option<String> {
    let of_which = "could not be read and is not counted; `kith doctor` says why";
    match unread {
        [] => None,
        [id] => Some(format!("session {} {of_which}", short(*id))),
        ids => Some(format!(
            "{} sessions could not be read and are not counted; `kith doctor` lists them",
            ids.len()
        )),
    }
}
