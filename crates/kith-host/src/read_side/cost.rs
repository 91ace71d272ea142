//! What models have used, summed from the logs.

use std::collections::BTreeMap;
use std::sync::Arc;

use kith_engine::spending::SpendingReader;
use kith_sessions::disk::DiskFiles;
use kith_sessions::store::{RemovedSpending, SessionStore};
use kith_vocab::blocking::blocking;
use kith_vocab::event::Event;
use kith_vocab::event::messages::Usage;
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
    let (sessions, removed) = if let Some(session) = &call.session {
        (vec![side.resolve(session).await?], None)
    } else {
        let sessions = side.journal.list().await?;
        let removed = removed_sum(&side, &sessions);
        (sessions, removed)
    };
    if let Some(removed) = &removed {
        total.merge(removed);
    }
    for id in sessions {
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
    Ok(Response::new(CostTable { rows, removed, total }).with_notes(note_unread(&unread)))
}

/// What removed sessions used, as far as it is kept: while it counts in the budget.
fn removed_sum(side: &ReadSide, sessions: &[SessionId]) -> Option<CostSum> {
    let store = SessionStore::new(Arc::new(DiskFiles), &side.house.kith_dir());
    // Like a log that cannot be read, it counts as nothing.
    let kept = blocking(|| store.removed_spending()).unwrap_or_default();
    // One that is still there was not removed in the end.
    let removed = kept.into_iter().filter(|it| !sessions.contains(&it.session_id));
    removed.fold(None, |sum, removed| {
        let mut sum = sum.unwrap_or_else(CostSum::default);
        let RemovedSpending { tokens, cost_micros, n_requests, n_estimated, usage, .. } = removed;
        let cost_micros = (cost_micros > 0).then_some(cost_micros);
        let whole = Usage { input: tokens, cost_micros, ..Usage::default() };
        let usage = usage.unwrap_or(whole);
        sum.merge(&CostSum { n_requests, usage, n_unpriced: 0, n_estimated });
        Some(sum)
    })
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
