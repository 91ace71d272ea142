//! `kith session search`: what was said, by its words.

use std::process::ExitCode;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::super::{print_form, print_notes, read, unexpected};
use crate::args::{SessionSearch, Shared};
use crate::client::{Answer, Hit, Request};
use crate::reading::short;
use crate::report::Report;
use crate::ui;

pub(super) async fn run(shared: &Shared, args: SessionSearch) -> Result<ExitCode, Report> {
    let request = Request::SearchSessions { query: args.query.join(" "), limit: args.limit };
    let Answer::Found(told) = read(shared, request).await? else { return Err(unexpected()) };
    let hits = &told.form.hits;
    if shared.json {
        print_form(true, &told.form);
    } else if hits.is_empty() {
        ui::note("nothing was said that holds all of these words");
    } else {
        let zone = TimeZone::system();
        let lines: Vec<String> = hits.iter().map(|hit| line(hit, &zone)).collect();
        ui::line(&lines.join("\n"));
        if u32::try_from(hits.len()).is_ok_and(|n| n == args.limit) {
            ui::note("there may be more; `--limit` shows them");
        }
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

fn line(hit: &Hit, zone: &TimeZone) -> String {
    let time = hit.ts.parse::<Timestamp>().map_or_else(
        |_| hit.ts.clone(),
        |time| time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
    );
    format!("{}  {time}  {}", short(hit.session_id), hit.text)
}
