//! `kith session search`: searches the messages of all sessions.

use std::process::ExitCode;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kith_host::calls::session::{SearchHit, SearchSessions};
use kith_host::error::CallError;
use kith_host::words::short;

use super::super::{call, print_form, print_notes};
use crate::program::args::{GlobalArgs, SessionSearch};
use crate::program::ui;

pub(super) async fn run(shared: &GlobalArgs, args: SessionSearch) -> Result<ExitCode, CallError> {
    let search = SearchSessions { query: args.query.join(" "), limit: args.limit };
    let told = call(shared, search).await?;
    let hits = &told.data.hits;
    if shared.json {
        print_form(true, &told.data);
    } else if hits.is_empty() {
        ui::note("no messages match all of these words");
    } else {
        let zone = TimeZone::system();
        let lines: Vec<String> = hits.iter().map(|hit| line(hit, &zone)).collect();
        ui::line(&lines.join("\n"));
        if u32::try_from(hits.len()).is_ok_and(|n| n == args.limit) {
            ui::note("there may be more; raise `--limit` to see them");
        }
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

fn line(hit: &SearchHit, zone: &TimeZone) -> String {
    let time = hit.ts.parse::<Timestamp>().map_or_else(
        |_| hit.ts.clone(),
        |time| time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
    );
    format!("{}  {time}  {}", short(hit.session_id), hit.text)
}
