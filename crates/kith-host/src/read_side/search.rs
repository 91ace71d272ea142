//! Searches messages by their words.
//!
//! The index knows most of it; what it does not know yet is looked at in the log itself, so an
//! answer is never older than the files. Texts are always taken from the log.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use kith_engine::passage::passage;
use kith_sessions::catalog::SearchCoverage;
use kith_sessions::read::Tail;
use kith_sessions::words::Query;
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{EventId, SessionId};

use super::sessions::{WITHOUT_DESK, progress_of};
use super::{ReadReporter, ReadSide};
use crate::call::{Follower, Reply, Response};
use crate::caller::Caller;
use crate::calls::session::{HitKind, ReadProgress, SearchHit, SearchHits, SearchSessions};
use crate::error::CallError;
use crate::words::{damaged_session, rfc3339, short};

/// What the index can say about a query.
#[derive(Default)]
struct IndexedHits {
    searched: BTreeMap<SessionId, SearchCoverage>,
    found: BTreeMap<SessionId, BTreeSet<EventId>>,
}

pub async fn search_sessions(
    side: Arc<ReadSide>,
    _: Caller,
    call: SearchSessions,
    follower: Follower<ReadProgress>,
) -> Reply<SearchHits> {
    search(&side, call, &progress_of(follower)).await
}

pub(crate) async fn search(
    side: &ReadSide,
    call: SearchSessions,
    report: ReadReporter<'_>,
) -> Reply<SearchHits> {
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
        report(ReadProgress { sessions, total });
        let (mut path, mut in_session) = (ConversationPath::default(), Vec::new());
        let each = &mut |event: Event| {
            path.read(&event);
            let is_candidate =
                event.seq > searched.seq || found.is_some_and(|found| found.contains(&event.id));
            let said = if is_candidate { passage(&event) } else { None };
            if let Some(text) = said.and_then(|it| query.excerpt(&it.text)) {
                in_session.push((event, text));
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
        let left = path.left(in_session.iter().map(|(event, _)| event));
        hits.extend(in_session.into_iter().map(|(event, text)| {
            let hit = SearchHit {
                session_id: id,
                event_id: event.id,
                kind: kind_of(&event.body),
                text,
                ts: rfc3339(event.ts),
                is_abandoned: left.contains(&event.id),
            };
            (event.ts, hit)
        }));
        newest(&mut hits, limit);
    }
    let found = SearchHits { hits: hits.into_iter().map(|(_, hit)| hit).collect() };
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
fn newest(hits: &mut Vec<(u64, SearchHit)>, limit: usize) {
    hits.sort_by_key(|(ts, hit)| std::cmp::Reverse((*ts, hit.session_id, hit.event_id)));
    hits.truncate(limit);
}

/// Where the conversation of a log went. It holds ids only, so that a long log need not be kept.
#[derive(Default)]
struct ConversationPath {
    parents: HashMap<EventId, Option<EventId>>,
    leaf: Option<EventId>,
}

impl ConversationPath {
    fn read(&mut self, event: &Event) {
        match &event.body {
            Body::LeafMoved(moved) => self.leaf = moved.to,
            _ if event.is_tree() => {
                self.parents.insert(event.id, event.parent_id);
                self.leaf = Some(event.id);
            }
            _ => (),
        }
    }

    /// Those of the events that stand on branches which the conversation has left.
    fn left<'a>(&self, events: impl Iterator<Item = &'a Event>) -> HashSet<EventId> {
        let mut left: HashSet<EventId> =
            events.filter(|event| event.is_tree()).map(|event| event.id).collect();
        let mut at = self.leaf;
        // A parent stands before its child, so this ends; the count is for logs that break this rule.
        for _ in 0..self.parents.len() {
            let Some(id) = at.filter(|_| !left.is_empty()) else { break };
            left.remove(&id);
            at = self.parents.get(&id).copied().flatten();
        }
        left
    }
}
