//! The answers of `/why` and `/cost`, in the language of the terminal.

use kith_host::calls::cost::{CostGroup, CostSum, CostTable, SumCosts};
use kith_host::calls::why::{CauseView, RequestExplanation, RequestProof, SourceView};
use kith_host::client::Client;
use kith_host::error::CallError;
use kith_vocab::event::messages::Usage;

use super::conversation::{in_bytes, in_thousands};
use super::styled::{Line, Style};
use super::words::{ScreenLanguage, ScreenText};

/// What the model was sent last: how much, proven how, and from where. `kith why` shows each byte.
pub(crate) fn why_lines(language: ScreenLanguage, found: &RequestExplanation) -> Vec<Line> {
    let proof = match found.proof {
        RequestProof::Same => ScreenText::ProofSame,
        RequestProof::Different => ScreenText::ProofDifferent,
        RequestProof::OtherRenderer => ScreenText::ProofOther,
        RequestProof::BlobLost => ScreenText::ProofLost,
    };
    let mut head = vec![
        format!("{}/{}", found.provider, found.model),
        in_bytes(found.body_bytes),
        language.say(proof).to_owned(),
    ];
    head.extend(found.usage.as_ref().map(tokens));
    let mut lines = vec![Line::plain(&format!("  {}", head.join(" · ")))];
    if let Some(change) = &found.change {
        let cause = match change.cause {
            CauseView::Continued => ScreenText::CauseContinued,
            CauseView::Branched => ScreenText::CauseBranched,
            CauseView::Compacted => ScreenText::Summarised,
            CauseView::OtherModel => ScreenText::CauseModel,
            CauseView::OtherPurpose => ScreenText::CausePurpose,
            CauseView::Unexplained => ScreenText::CauseUnknown,
        };
        let share = change.stable_bytes * 100 / found.body_bytes.max(1);
        let told = language.say(ScreenText::Unchanged);
        lines.push(Line::plain(&format!("  {share} % {told} · {}", language.say(cause))));
    }
    for (n_bytes, what) in by_source(language, found) {
        lines.push(Line::styled(&format!("  {:>8}  {what}", in_bytes(n_bytes)), Style::DIM));
    }
    lines.push(Line::styled(&format!("  {}", language.say(ScreenText::WhyMore)), Style::DIM));
    lines
}

/// Bytes by where they come from; the messages of the conversation are one source.
fn by_source(language: ScreenLanguage, found: &RequestExplanation) -> Vec<(u64, String)> {
    let mut sums: Vec<(u64, String)> = Vec::new();
    let mut add = |n_bytes: u64, what: String| match sums.iter_mut().find(|(_, it)| *it == what) {
        Some((sum, _)) => *sum += n_bytes,
        None => sums.push((n_bytes, what)),
    };
    let (mut at, mut n_form) = (0, 0);
    for span in &found.spans {
        n_form += span.start.saturating_sub(at);
        at = span.end;
        let what = match &span.source {
            SourceView::Section { name, files } if files.is_empty() => name.clone(),
            SourceView::Section { files, .. } => files.join(", "),
            SourceView::Tool { .. } => language.say(ScreenText::SourceTools).to_owned(),
            SourceView::Event { event_type, .. } => {
                language.labelled(ScreenText::SourceLog, event_type)
            }
            SourceView::Runtime => language.say(ScreenText::SourceRuntime).to_owned(),
        };
        add(span.end.saturating_sub(span.start), what);
    }
    n_form += found.body_bytes.saturating_sub(at);
    add(n_form, language.say(ScreenText::SourceForm).to_owned());
    sums
}

/// Asks what this session and all sessions of the house have used.
pub(crate) async fn cost_answer(
    client: &Client,
    language: ScreenLanguage,
    session: Option<String>,
) -> Result<Vec<Line>, CallError> {
    let here = match session {
        Some(session) => {
            let call = SumCosts { by: CostGroup::Model, session: Some(session) };
            Some(client.call(call).await?.data.total)
        }
        None => None,
    };
    let all = client.call(SumCosts { by: CostGroup::Model, session: None }).await?.data;
    Ok(cost_lines(language, here, &all))
}

/// This session, then all of the house and a row per model.
fn cost_lines(language: ScreenLanguage, here: Option<CostSum>, all: &CostTable) -> Vec<Line> {
    let row = |name: &str, sum: &CostSum| {
        let CostSum { n_requests, usage, n_unpriced, .. } = sum;
        let requests = if *n_requests == 1 { ScreenText::Request } else { ScreenText::Requests };
        let mut parts = vec![
            name.to_owned(),
            format!("{n_requests} {}", language.say(requests)),
            tokens(usage),
        ];
        if let Some(micros) = usage.cost_micros {
            parts.push(format!("${}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100));
        }
        if *n_unpriced > 0 {
            parts.push(format!("{n_unpriced} {}", language.say(ScreenText::Unpriced)));
        }
        parts.join(" · ")
    };
    let bold = |name, sum: &CostSum| {
        Line::styled(&format!("  {}", row(language.say(name), sum)), Style::BOLD)
    };
    let mut lines: Vec<Line> = here.iter().map(|sum| bold(ScreenText::ThisSession, sum)).collect();
    lines.push(bold(ScreenText::AllSessions, &all.total));
    let models = all.rows.iter().map(|it| Line::plain(&format!("    {}", row(&it.name, &it.sum))));
    lines.extend(models);
    lines
}

fn tokens(usage: &Usage) -> String {
    let input = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    format!("↑{} ↓{}", in_thousands(input), in_thousands(usage.output))
}
