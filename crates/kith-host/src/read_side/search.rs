//! Searches messages by their words.
//!
//! The index knows most of it; what it does not know yet is looked at in the log itself, so an
//! answer is never older than the files. Texts are always taken from the log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kith_engine::passage::passage;
use kith_sessions::catalog::SearchCoverage;
use kith_sessions::read::Tail;
use kith_sessions::words::Query;
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{EventId, SessionId};

use super::sessions::WITHOUT_DESK;
use super::{ReadProgress, ReadSide};
use crate::call::{Reply, Response};
use crate::calls::session::{HitKind, SearchHit, SearchHits, SearchSessions};
use crate::error::CallError;
use crate::words::{damaged_session, rfc3339, short};

/// What the index can say about a query.
#[derive(Default)]
struct IndexedHits {
    searched: BTreeMap<SessionId, SearchCoverage>,
    found: BTreeMap<SessionId, BTreeSet<EventId>>,
}

pub async fn search_sessions(side: Arc<ReadSide>, call: SearchSessions) -> Reply<SearchHits> {
    let Some(query) = Query::parse(&call.query) else {
        return Err(CallError::invalid("the query has no words to search for")
            .hint("`kith session search garden plan` finds messages with both words"));
    };
    let known = side.known(&query).await;
    let limit = usize::try_from(call.limit).unwrap_or(usize::MAX);
    let mut hits = Vec::new();
    let mut notes = Vec::new();
    let ids = side.journal.list().await?;
    let total = ids.len() as u64;
    for (sessions, id) in (0..).zip(ids) {
        let searched = known.searched.get(&id).copied().unwrap_or_default();
        let is_known = side.journal.size(id).await.is_ok_and(|bytes| bytes == searched.log_bytes);
        let found = known.found.get(&id);
        if is_known && found.is_none() {
            continue;
        }
        side.report(ReadProgress { sessions, total });
        let each = &mut |event: Event| {
            let is_candidate =
                event.seq > searched.seq || found.is_some_and(|found| found.contains(&event.id));
            let said = if is_candidate { passage(&event) } else { None };
            if let Some(text) = said.and_then(|it| query.excerpt(&it.text)) {
                hits.push((event.ts, id, event.id, (kind_of(&event.body), text)));
            }
        };
        match side.each(id, each).await {
            Ok(reading) => {
                if let Tail::Damaged(damage) = &reading.tail {
                    notes.push(damaged_session(id, damage));
                }
            }
            Err(report) => notes.push(format!("session {}: {}", short(id), report.message())),
        }
        newest(&mut hits, limit);
    }
    newest(&mut hits, limit);
    let hits = hits.into_iter().map(|(ts, session_id, event_id, (kind, text))| SearchHit {
        session_id,
        event_id,
        kind,
        text,
        ts: rfc3339(ts),
    });
    let found = SearchHits { hits: hits.collect() };
    Ok(Response { data: found, notes }.with_notes(side.desk_note(WITHOUT_DESK)))
}

impl ReadSide {
    /// Without an index, or with one that fails, nothing is known and everything is read.
    async fn known(&self, query: &Query) -> IndexedHits {
        let catalog = &self.catalog;
        let (Ok(searched), Ok(hits)) = (catalog.search_coverage().await, catalog.find(query).await)
        else {
            return IndexedHits::default();
        };
        let mut found: BTreeMap<SessionId, BTreeSet<EventId>> = BTreeMap::new();
        for (session, event) in hits {
            found.entry(session).or_default().insert(event);
        }
        IndexedHits { searched, found }
    }
}

fn kind_of(body: &Body) -> HitKind {
    match body {
        Body::AssistantMessage(_) => HitKind::Agent,
        Body::Compact(_) => HitKind::Summary,
        Body::SessionTitleUpdated(_) => HitKind::Title,
        _ => HitKind::User,
    }
}

/// Keeps the newest; ids rise with time and settle ties.
fn newest<T>(hits: &mut Vec<(u64, SessionId, EventId, T)>, limit: usize) {
    hits.sort_by_key(|(ts, session, event, _)| std::cmp::Reverse((*ts, *session, *event)));
    hits.truncate(limit);
}
