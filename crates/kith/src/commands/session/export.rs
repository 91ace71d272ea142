//! `kith session export`: prints a session for use elsewhere.
//!
//! Events are printed while they are read, so a session of any length fits into memory.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use kith_host::calls::session::{ExportItem, ExportSession};
use kith_host::calls::thread::{ListMessages, MessageSource};
use kith_host::error::CallError;
use kith_vocab::header::SessionHeader;

use super::super::forms::ExportForm;
use super::super::session_name::named_session;
use super::super::{CommandResult, call, follow, print_form, print_notes};
use crate::program::args::GlobalArgs;
use crate::program::args::session::ExportFormat;
use crate::program::transcript::{hidden_in_words, is_shown, markdown};
use crate::program::ui;

/// Turns a session into text, part by part.
struct Exporter {
    format: ExportFormat,
    /// With `--json` the text is one value, which is printed at the end.
    text: Option<String>,
    header: Option<SessionHeader>,
    n_hidden: usize,
    failure: Option<CallError>,
}

pub(super) async fn run(
    shared: &GlobalArgs,
    session: Option<String>,
    format: ExportFormat,
) -> CommandResult {
    let session = named_session(shared, session).await?;
    let exporter = Arc::new(Mutex::new(Exporter {
        format,
        text: shared.json.then(String::new),
        header: None,
        n_hidden: 0,
        failure: None,
    }));
    let taking = Arc::clone(&exporter);
    let take = move |item| taking.lock().unwrap_or_else(PoisonError::into_inner).take(item);
    let told = follow(shared, ExportSession { session }, take).await?;
    let messages = if format == ExportFormat::Uimessages {
        let of = MessageSource::Session(told.data.session_id.to_string());
        let listed = call(shared, ListMessages { agent_id: None, of }).await?;
        ui::json_line(&listed.data.messages)?
    } else {
        String::new()
    };
    let mut exporter = exporter.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(failure) = exporter.failure.take() {
        return Err(failure);
    }
    exporter.put(&messages);
    print_notes(&hidden_in_words(exporter.n_hidden));
    if let Some(text) = &exporter.text {
        let form = ExportForm { session_id: told.data.session_id, text: text.clone() };
        print_form(true, &form);
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

impl Exporter {
    fn take(&mut self, item: ExportItem) {
        match self.part(item) {
            Ok(part) => self.put(&part),
            Err(error) => self.failure = Some(error),
        }
    }

    // JSON has its control characters escaped already; those of Markdown are made visible.
    fn part(&mut self, item: ExportItem) -> Result<String, CallError> {
        match (self.format, item) {
            (ExportFormat::Markdown, ExportItem::Header { header, title }) => {
                let heading = markdown::heading(&header, title.as_deref());
                self.header = Some(header);
                Ok(heading)
            }
            (ExportFormat::Markdown, ExportItem::Event(event)) => {
                if self.header.as_ref().is_none_or(|header| is_shown(header, &event)) {
                    return Ok(markdown::entry(&event).unwrap_or_default());
                }
                self.n_hidden += 1;
                Ok(String::new())
            }
            (ExportFormat::Jsonl, ExportItem::Header { header, .. }) => ui::json_line(&header),
            (ExportFormat::Jsonl, ExportItem::Event(event)) => ui::json_line(&event),
            (ExportFormat::Uimessages, _) => Ok(String::new()),
        }
    }

    fn put(&mut self, part: &str) {
        match &mut self.text {
            Some(text) => text.push_str(part),
            None => ui::part(part),
        }
    }
}
