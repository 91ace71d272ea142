//! A desk to which anything is done looks after each step as a simple model of it does.

use std::collections::BTreeMap;

use kith_vocab::header::Audience;
use kith_vocab::ids::SessionId;
use kith_vocab::ingress::IngressEvent;

use super::{OUTCOMES, head, on_each, thread, wakeup};
use crate::conformance::random::Random;
use crate::desk::{Desk, InboxRow, RowOutcome, RowStatus, RowTarget, ThreadRow, Wakeup};
use crate::line::LogHead;
use crate::samples::{NOW, said, session_id};
use crate::storage::StorageErrorKind;

/// Everything that can be seen on a desk with these keys and sessions.
#[derive(Debug, PartialEq)]
struct View {
    rows: Vec<Option<RowStatus>>,
    open: Vec<Vec<InboxRow>>,
    waiting: Vec<SessionId>,
    threads: Vec<ThreadRow>,
    heads: Vec<(SessionId, LogHead)>,
    wakeups: (Option<Wakeup>, Vec<Wakeup>),
    generation: u64,
}

const N_KEYS: u64 = 6;
const N_SESSIONS: u64 = 3;

#[tokio::test]
async fn whatever_is_done_a_desk_looks_as_it_should() {
    for seed in 0..20 {
        on_each(async |it| {
            let mut random = Random(seed);
            let mut model = ModelDesk::default();
            for step in 0..60 {
                let change = random_change(&mut random);
                let refused = change.apply(&*it.desk, NOW + step).await;
                assert_eq!(refused, model.apply(&change, NOW + step), "{} {change:?}", it.name);
                assert_eq!(view(&*it.desk).await, model.view(), "{} {change:?}", it.name);
            }
        })
        .await;
    }
}

#[derive(Debug)]
enum Change {
    Accept { event: Box<IngressEvent>, target: RowTarget, fresh: SessionId },
    Close { key: String, outcome: RowOutcome, session: SessionId, head: LogHead },
    Replace { agent_id: String, old: SessionId, new: SessionId, held: String },
    Place { agent_id: String, session: SessionId, head: LogHead },
    Forget(SessionId),
    RemoveWakeup(String),
    Prune,
    SetWakeup(Wakeup),
}

const KEPT_MS: u64 = 20;

fn random_change(random: &mut Random) -> Change {
    let key = format!("m-{}", random.below(N_KEYS));
    let session = session_id(random.below(N_SESSIONS));
    let agent_id = ["ada", "bob"][usize::from(random.below(4) == 0)].to_owned();
    match random.below(9) {
        0..3 => {
            let text = ["hi", "hi", "hello"][usize::try_from(random.below(3)).unwrap()];
            let event = Box::new(IngressEvent { agent_id, ..said(&key, text) });
            let target = match random.below(3) {
                0 => RowTarget::Current,
                1 => RowTarget::New,
                _ => RowTarget::Session(session),
            };
            Change::Accept { event, target, fresh: session }
        }
        3 | 4 => {
            let outcome = OUTCOMES[usize::try_from(random.below(6)).unwrap()];
            Change::Close { key, outcome, session, head: head(random.below(9)) }
        }
        5 => {
            let new = session_id(random.below(N_SESSIONS));
            Change::Replace { agent_id, old: session, new, held: key }
        }
        6 => Change::Place { agent_id, session, head: head(random.below(9)) },
        7 => Change::Forget(session),
        _ => match random.below(3) {
            0 => Change::RemoveWakeup(key),
            1 => Change::Prune,
            _ => Change::SetWakeup(wakeup(&key, Some(random.below(3)), random.below(9))),
        },
    }
}

fn thread_row(agent_id: &str, session_id: SessionId, updated_at: u64) -> ThreadRow {
    let (agent_id, audience) = (agent_id.to_owned(), Audience::Owner);
    ThreadRow { agent_id, thread_id: thread(), session_id, audience, updated_at }
}

impl Change {
    /// Gives why the change was refused, if it was.
    async fn apply(&self, desk: &dyn Desk, now: u64) -> Option<StorageErrorKind> {
        let changed = match self {
            Change::Accept { event, target, fresh } => {
                desk.accept(event, *target, *fresh, now).await.map(drop)
            }
            Change::Close { key, outcome, session, head } => {
                desk.close(vec![(key.clone(), *outcome)], *session, *head, now).await
            }
            Change::Replace { agent_id, old, new, held } => {
                let held = vec![held.clone()];
                desk.replace_session(agent_id, &thread(), (*old, *new), held, now).await
            }
            Change::Place { agent_id, session, head } => {
                desk.place_session(thread_row(agent_id, *session, now), Some(*head)).await
            }
            Change::Forget(session) => desk.forget_session(*session).await.map(drop),
            Change::RemoveWakeup(key) => desk.remove_wakeup(key).await,
            Change::Prune => desk.prune(now - KEPT_MS).await,
            Change::SetWakeup(wakeup) => desk.set_wakeup(wakeup.clone()).await,
        };
        changed.err().map(|error| error.kind)
    }
}

/// What a desk must know after these changes.
#[derive(Default)]
struct ModelDesk {
    /// In the order of their acceptance.
    rows: Vec<ModelRow>,
    threads: BTreeMap<String, ThreadRow>,
    heads: BTreeMap<SessionId, LogHead>,
    wakeups: BTreeMap<String, Wakeup>,
    generation: u64,
}

struct ModelRow {
    key: String,
    session_id: SessionId,
    event: Option<IngressEvent>,
    accepted_at: u64,
    closed: Option<(RowOutcome, u64)>,
}

impl ModelDesk {
    fn apply(&mut self, change: &Change, now: u64) -> Option<StorageErrorKind> {
        match change {
            Change::Accept { event, target, fresh } => {
                if let Some(row) = self.rows.iter().find(|row| row.key == event.key) {
                    let said = |it: &IngressEvent| (it.agent_id.clone(), it.content.clone());
                    let is_other = row.event.as_ref().is_some_and(|it| said(it) != said(event));
                    return is_other.then_some(StorageErrorKind::Conflict);
                }
                let current = self.threads.get(&event.agent_id).map(|it| it.session_id);
                let session_id = match target {
                    RowTarget::Current => current.unwrap_or(*fresh),
                    RowTarget::New => *fresh,
                    RowTarget::Session(session_id) => *session_id,
                };
                self.set_current(&event.agent_id, session_id, event.audience, now);
                let (key, event) = (event.key.clone(), Some(IngressEvent::clone(event)));
                self.rows.push(ModelRow { key, session_id, event, accepted_at: now, closed: None });
                self.generation = 1;
            }
            Change::Close { key, outcome, session, head } => {
                self.close(key, *outcome, *session, now);
                self.set_head(*session, *head);
                for thread in self.threads.values_mut().filter(|it| it.session_id == *session) {
                    thread.updated_at = thread.updated_at.max(now);
                }
            }
            Change::Replace { agent_id, old, new, held } => {
                self.close(held, RowOutcome::Failed, *old, now);
                for thread in self.threads.values_mut() {
                    if thread.agent_id == *agent_id && thread.session_id == *old {
                        thread.session_id = *new;
                    }
                }
                for row in self.rows.iter_mut().filter(|row| row.closed.is_none()) {
                    let is_of_agent = row.event.as_ref().is_some_and(|it| it.agent_id == *agent_id);
                    if is_of_agent && row.session_id == *old {
                        row.session_id = *new;
                    }
                }
                self.wakeups.retain(|_, wakeup| wakeup.session_id != Some(*old));
            }
            Change::Place { agent_id, session, head } => {
                self.set_current(agent_id, *session, Audience::Owner, now);
                self.set_head(*session, *head);
            }
            Change::Forget(session) => {
                if self.open(*session).is_empty() {
                    self.threads.retain(|_, thread| thread.session_id != *session);
                    self.heads.remove(session);
                    self.wakeups.retain(|_, wakeup| wakeup.session_id != Some(*session));
                }
            }
            Change::RemoveWakeup(key) => _ = self.wakeups.remove(key),
            Change::Prune => {
                self.rows.retain(|row| row.closed.is_none_or(|(_, at)| at >= now - KEPT_MS));
            }
            Change::SetWakeup(it) => _ = self.wakeups.insert(it.key.clone(), it.clone()),
        }
        None
    }

    fn set_current(&mut self, agent_id: &str, session: SessionId, audience: Audience, now: u64) {
        let before = self.threads.get(agent_id).map(|it| it.audience);
        let audience = before.map_or(audience, |before| before.narrowed_by(audience));
        let row = ThreadRow { audience, ..thread_row(agent_id, session, now) };
        self.threads.insert(agent_id.to_owned(), row);
    }

    fn set_head(&mut self, session: SessionId, head: LogHead) {
        let known = self.heads.entry(session).or_insert(head);
        if head.seq > known.seq {
            *known = head;
        }
    }

    /// A key that is not known is entered; one that is closed keeps its outcome.
    fn close(&mut self, key: &str, outcome: RowOutcome, session_id: SessionId, now: u64) {
        let closed = Some((outcome, now));
        if let Some(row) = self.rows.iter_mut().find(|row| row.key == key) {
            row.closed = row.closed.or(closed);
        } else {
            let (key, event) = (key.to_owned(), None);
            self.rows.push(ModelRow { key, session_id, event, accepted_at: now, closed });
        }
    }

    fn open(&self, session_id: SessionId) -> Vec<InboxRow> {
        let open = self.rows.iter().filter(|row| row.closed.is_none());
        let of_session = open.filter(|row| row.session_id == session_id);
        let row = |row: &ModelRow| {
            let (key, event) = (row.key.clone(), row.event.clone()?);
            Some(InboxRow { key, session_id, event, accepted_at: row.accepted_at })
        };
        of_session.filter_map(row).collect()
    }

    fn view(&self) -> View {
        let status = |key: String| {
            let row = self.rows.iter().find(|row| row.key == key)?;
            let session_id = row.session_id;
            Some(match row.closed {
                Some((outcome, _)) => RowStatus::Closed { session_id, outcome },
                None => RowStatus::Open { session_id },
            })
        };
        let mut waiting = Vec::new();
        for row in self.rows.iter().filter(|row| row.closed.is_none()) {
            if !waiting.contains(&row.session_id) {
                waiting.push(row.session_id);
            }
        }
        let mut threads: Vec<ThreadRow> = self.threads.values().cloned().collect();
        threads.sort_by_key(|thread| std::cmp::Reverse(thread.updated_at));
        let mut wakeups: Vec<Wakeup> = self.wakeups.values().cloned().collect();
        wakeups.sort_by_key(|wakeup| wakeup.at);
        View {
            rows: (0..N_KEYS).map(|n| status(format!("m-{n}"))).collect(),
            open: (0..N_SESSIONS).map(|n| self.open(session_id(n))).collect(),
            waiting,
            threads,
            heads: self.heads.iter().map(|(id, head)| (*id, *head)).collect(),
            wakeups: (wakeups.first().cloned(), wakeups),
            generation: self.generation,
        }
    }
}

async fn view(desk: &dyn Desk) -> View {
    let mut rows = Vec::new();
    for n in 0..N_KEYS {
        rows.push(desk.row(&format!("m-{n}")).await.unwrap());
    }
    let mut open = Vec::new();
    for n in 0..N_SESSIONS {
        open.push(desk.open_rows(session_id(n)).await.unwrap());
    }
    View {
        rows,
        open,
        waiting: desk.sessions_with_open_rows().await.unwrap(),
        threads: desk.threads().await.unwrap(),
        heads: desk.heads().await.unwrap(),
        wakeups: (desk.next_wakeup().await.unwrap(), desk.wakeups().await.unwrap()),
        generation: desk.generation().await.unwrap(),
    }
}
