//! `kith model`: lists, chooses and tests models.

use kith_host::calls::models::{
    FactOrigin, ListModels, ModelList, ModelOrigin, ModelRow, UseModel, UsedModel,
};
use kith_host::models::catalogue::TABLE_DATE;
use kith_host::price::Price;
use unicode_width::UnicodeWidthStr as _;

use super::{CommandResult, call, model_test, print_answer};
use crate::program::args::model::ModelCommand;
use crate::program::args::{GlobalArgs, ModelArg};
use crate::program::ui;

pub(crate) async fn run(
    shared: &GlobalArgs,
    model: ModelArg,
    command: ModelCommand,
) -> CommandResult {
    match command {
        ModelCommand::Ls => list(shared).await,
        ModelCommand::Use { name } => choose(shared, name).await,
        ModelCommand::Test { name } => model_test::run(shared, name.or(model.model)).await,
    }
}

async fn list(shared: &GlobalArgs) -> CommandResult {
    let told = call(shared, ListModels {}).await?;
    Ok(print_answer(shared, &told, |list: &ModelList| {
        ui::lines(lines(list));
    }))
}

/// The models, which one is used, and servers that were found on this machine.
pub(crate) fn lines(list: &ModelList) -> Vec<String> {
    let width = list.models.iter().map(|row| row.name.width()).max().unwrap_or_default();
    let mut lines: Vec<String> = list.models.iter().map(|row| line_of(row, width)).collect();
    lines.push(match list.models.iter().find(|row| row.used) {
        Some(row) => format!("Uses {}: {}.", row.name, list.reason),
        None => format!("No model can be used: {}.", list.reason),
    });
    for server in &list.found {
        let models = match server.models.as_slice() {
            [] => "no models".to_owned(),
            models => models.join(", "),
        };
        lines.push(format!(
            "\nFound a model server at {} ({models}). To use it, add to kith.toml:\n{}\nthen \
             `kith model use {}`",
            server.base_url, server.settings, server.name
        ));
    }
    lines
}

async fn choose(shared: &GlobalArgs, name: String) -> CommandResult {
    let told = call(shared, UseModel { name }).await?;
    Ok(print_answer(shared, &told, |UsedModel { name, before, file, added }| {
        let instead = before.as_ref().filter(|before| *before != name);
        let instead = instead.map(|before| format!(" instead of `{before}`")).unwrap_or_default();
        ui::line(&format!("wrote `use = \"{name}\"`{instead} under `[models]` of `{file}`"));
        if let Some(table) = added {
            ui::line(&format!("and how to reach it:\n{}", table.trim_end()));
        }
    }))
}

fn line_of(row: &ModelRow, width: usize) -> String {
    let mark = if row.used { '*' } else { ' ' };
    let pad = " ".repeat(width - row.name.width().min(width));
    let mut parts = Vec::new();
    match (&row.wire, &row.server) {
        (Some(wire), Some(server)) => parts.extend([wire.clone(), server.clone()]),
        _ => parts.push("built in, no key needed".to_owned()),
    }
    if row.model != row.name {
        parts.insert(0, row.model.clone());
    }
    if let Some(tokens) = row.context_window {
        parts.push(window_in_words(tokens, row.context_window_from));
    }
    match row.price {
        Some(price) => parts.push(price_in_words(&price, row.price_from)),
        None if row.server.is_some() => parts.push("price unknown".to_owned()),
        None => (),
    }
    match &row.key_variable {
        Some(variable) if !row.has_key => parts.push(format!("{variable} is not set")),
        Some(variable) if row.source == ModelOrigin::Environment => {
            parts.push(format!("key from {variable}"));
        }
        _ => (),
    }
    format!("{mark} {}{pad}  {}", row.name, parts.join(" · "))
}

pub(super) fn window_in_words(tokens: u64, from: FactOrigin) -> String {
    match from {
        FactOrigin::Settings => format!("{tokens} tokens"),
        FactOrigin::Table => format!("{tokens} tokens (as of {TABLE_DATE})"),
        FactOrigin::Unknown => format!("{tokens} tokens assumed"),
    }
}

fn price_in_words(price: &Price, from: FactOrigin) -> String {
    let date = match from {
        FactOrigin::Table => format!(" (as of {TABLE_DATE})"),
        FactOrigin::Settings | FactOrigin::Unknown => String::new(),
    };
    let [input, output] = [price.input, price.output].map(usd);
    format!("{input} in, {output} out USD per million tokens{date}")
}

/// A price with at least two decimals, and more if they are not zero.
fn usd(micros: u64) -> String {
    let digits = format!("{:06}", micros % 1_000_000);
    let (cents, rest) = digits.split_at(2);
    format!("{}.{cents}{}", micros / 1_000_000, rest.trim_end_matches('0'))
}
