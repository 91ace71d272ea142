//! `kith cost`: tokens and money that models have used.

use kith_host::calls::cost::{CostGroup, CostRow, CostSum, CostTable, SumCosts};
use unicode_width::UnicodeWidthStr as _;

use super::session_name::named_session;
use super::{CommandResult, call, print_answer};
use crate::program::args::GlobalArgs;
use crate::program::args::cost::{Cost, CostBy};
use crate::program::ui;

pub(crate) async fn run(shared: &GlobalArgs, args: Cost) -> CommandResult {
    let session = match args.session {
        Some(name) => Some(named_session(shared, Some(name)).await?),
        None => None,
    };
    let by = match args.by {
        CostBy::Day => CostGroup::Day,
        CostBy::Model => CostGroup::Model,
        CostBy::Thread => CostGroup::Thread,
    };
    let told = call(shared, SumCosts { by, session }).await?;
    Ok(print_answer(shared, &told, |table| {
        ui::lines(lines(table));
        let CostSum { n_unpriced, n_estimated, .. } = table.total;
        if n_unpriced > 0 {
            ui::note(&format!(
                "{n_unpriced} of {} requests went to models without a price; `price` in \
                 `[models.<name>]` of kith.toml sets one",
                table.total.n_requests
            ));
        }
        if n_estimated > 0 {
            ui::note(&format!("{n_estimated} requests are estimated: the server never said"));
        }
    }))
}

/// A row per group and one for removed sessions, then their sum.
pub(crate) fn lines(table: &CostTable) -> Vec<String> {
    let total = CostRow { name: "total".to_owned(), sum: table.total };
    let removed = table.removed.map(|sum| CostRow { name: "removed sessions".to_owned(), sum });
    let rows: Vec<&CostRow> = table.rows.iter().chain(&removed).chain([&total]).collect();
    let width = rows.iter().map(|row| row.name.width()).max().unwrap_or_default();
    rows.into_iter().map(|row| line_of(row, width)).collect()
}

fn line_of(row: &CostRow, width: usize) -> String {
    let CostSum { n_requests, usage, .. } = &row.sum;
    let pad = " ".repeat(width - row.name.width().min(width));
    let cost = usage.cost_micros.map_or_else(|| "-".to_owned(), dollars);
    format!(
        "{}{pad}  {n_requests:>6} requests  {:>12} read  {:>10} cached  {:>10} written  {cost:>12}",
        row.name,
        usage.input.saturating_add(usage.cache_write),
        usage.cache_read,
        usage.output,
    )
}

fn dollars(micros: u64) -> String {
    format!("{}.{:04} USD", micros / 1_000_000, micros % 1_000_000 / 100)
}
