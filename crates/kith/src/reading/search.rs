//! What was said, found by its words.
//!
//! The index knows most of it; what it does not know yet is looked at in the log itself, so an
//! answer is never older than the files. Texts are always taken from the log.

use std::collections::{HashMap, HashSet};

use kith_engine::passage::passage;
use kith_sessions::index::{Index, Searched};
use kith_sessions::read::Tail;
use kith_sessions::words::Query;
use kith_vocab::event::Event;
use kith_vocab::ids::{EventId, SessionId};

use super::{Reader, rfc3339, short};
use crate::client::{Found, Hit, Told};
use crate::report::{Blame, Report, damage_in_words};

/// What the index can say about a query.
#[derive(Default)]
struct Known {
    searched: HashMap<SessionId, Searched>,
    found: HashMap<SessionId, HashSet<EventId>>,
}

impl Reader {
    pub(super) async fn search(&self, query: &str, limit: u32) -> Result<Told<Found>, Report> {
        let Some(query) = Query::parse(query) else {
            return Err(Report::new(
                Blame::Request,
                "invalid_request",
                "there is no word in the query to look for",
            )
            .hint("`kith session search garden plan` finds what holds both words"));
        };
        let known = self.known(&query).await;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut hits = Vec::new();
        let mut notes = Vec::new();
        for id in self.store.list()? {
            let searched = known.searched.get(&id).copied().unwrap_or_default();
            let is_known = self.store.stat(id).is_ok_and(|it| it.bytes == searched.file_bytes);
            let found = known.found.get(&id);
            if is_known && found.is_none() {
                continue;
            }
            let each = &mut |event: Event| {
                let is_candidate = event.seq > searched.seq
                    || found.is_some_and(|found| found.contains(&event.id));
                let said = if is_candidate { passage(&event) } else { None };
                if let Some(text) = said.and_then(|it| query.excerpt(&it.text)) {
                    hits.push((event.ts, id, event.id, text));
                }
            };
            match self.each(id, each).await {
                Ok(reading) => {
                    if let Tail::Damaged(damage) = &reading.tail {
                        notes.push(format!("session {} {}", short(id), damage_in_words(damage)));
                    }
                }
                Err(report) => notes.push(format!("session {}: {}", short(id), report.message())),
            }
            newest(&mut hits, limit);
        }
        newest(&mut hits, limit);
        let hits = hits.into_iter().map(|(ts, session_id, event_id, text)| Hit {
            session_id,
            event_id,
            text,
            ts: rfc3339(ts),
        });
        Ok(Told { form: Found { hits: hits.collect() }, notes })
    }

    /// Without an index, or with one that fails, nothing is known and everything is read.
    async fn known(&self, query: &Query) -> Known {
        let Some(index) = Index::open_read_only(&self.house.kith_dir().join("index.db")).await
        else {
            return Known::default();
        };
        let (Ok(searched), Ok(hits)) = (index.searched().await, index.find(query).await) else {
            return Known::default();
        };
        let mut found: HashMap<SessionId, HashSet<EventId>> = HashMap::new();
        for (session, event) in hits {
            found.entry(session).or_default().insert(event);
        }
        Known { searched, found }
    }
}

/// Keeps the newest; ids rise with time and settle ties.
fn newest(hits: &mut Vec<(u64, SessionId, EventId, String)>, limit: usize) {
    hits.sort_by_key(|(ts, session, event, _)| std::cmp::Reverse((*ts, *session, *event)));
    hits.truncate(limit);
}
