//! `kith session export`: a session as text that leaves the house.
//!
//! It goes out while it is read, so a session of any length fits into memory.

use std::process::ExitCode;

use serde_json::json;

use super::super::{print_notes, reader};
use crate::args::{ExportFormat, SessionExport, Shared};
use crate::reading::{Read, tail_in_words};
use crate::report::Report;
use crate::transcript::{hidden_in_words, is_shown, markdown};
use crate::ui;

pub(super) async fn run(shared: &Shared, args: SessionExport) -> Result<ExitCode, Report> {
    let reader = reader(shared).await?;
    let id = reader.resolve(&super::meant(shared, args.session).await?).await?;
    let Read { reading, state } = reader.read(id).await?;
    let header = reading.header;
    let title = state.title.map(|(title, _)| title).or_else(|| header.meta.title.clone());
    let mut text = String::new();
    let mut put = |part: &str| {
        if shared.json {
            text.push_str(part);
        } else {
            ui::part(part);
        }
    };
    // The control characters of JSON are escaped already, and Markdown's are made visible.
    let tail = match args.format {
        ExportFormat::Markdown => {
            put(&markdown::heading(&header, title.as_deref()));
            let mut n_hidden = 0;
            let each = &mut |event| {
                if is_shown(&header, &event) {
                    put(&markdown::entry(&event).unwrap_or_default());
                } else {
                    n_hidden += 1;
                }
            };
            let tail = reader.each(id, each).await?.tail;
            print_notes(&hidden_in_words(n_hidden).into_iter().collect::<Vec<_>>());
            tail
        }
        ExportFormat::Uimessages => {
            put(&ui::json_line(&reader.session_messages(id)?)?);
            reading.tail
        }
        ExportFormat::Jsonl => {
            put(&ui::json_line(&header)?);
            let mut failed = None;
            let each = &mut |event| match ui::json_line(&event) {
                Ok(line) => put(&line),
                Err(report) => failed = Some(report),
            };
            let tail = reader.each(id, each).await?.tail;
            if let Some(report) = failed {
                return Err(report);
            }
            tail
        }
    };
    if shared.json {
        ui::json(&json!({ "ok": true, "sessionId": id, "text": text }));
    }
    print_notes(&tail_in_words(&tail));
    Ok(ExitCode::SUCCESS)
}
