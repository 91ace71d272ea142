//! Desks to which the same is done at random look the same after each step.

use kith_vocab::header::Audience;
use kith_vocab::ids::SessionId;
use kith_vocab::ingress::IngressEvent;

use super::{head, on_each, thread, wakeup};
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
async fn whatever_is_done_both_desks_look_the_same() {
    for seed in 0..20 {
        on_each(async |it| {
            let mut random = Random(seed);
            let mut seen = Vec::new();
            for step in 0..60 {
                let refused = random_change(&*it.desk, &mut random, NOW + step).await;
                seen.push((refused, view(&*it.desk).await));
            }
            seen
        })
        .await;
    }
}

/// Gives why the change was refused, if it was.
async fn random_change(desk: &dyn Desk, random: &mut Random, now: u64) -> Option<StorageErrorKind> {
    let key = format!("m-{}", random.below(N_KEYS));
    let session = session_id(random.below(N_SESSIONS));
    let agent_id = ["ada", "bob"][usize::from(random.below(4) == 0)].to_owned();
    let changed = match random.below(9) {
        0..3 => {
            let text = ["hi", "hi", "hello"][usize::try_from(random.below(3)).unwrap()];
            let event = IngressEvent { agent_id, ..said(&key, text) };
            let target = match random.below(3) {
                0 => RowTarget::Current,
                1 => RowTarget::New,
                _ => RowTarget::Session(session),
            };
            desk.accept(&event, target, session, now).await.map(drop)
        }
        3 | 4 => {
            let kind = RowOutcome::ALL[usize::try_from(random.below(6)).unwrap()];
            desk.close(vec![(key, kind)], session, head(random.below(9)), now).await
        }
        5 => {
            let sessions = (session, session_id(random.below(N_SESSIONS)));
            desk.replace_session(&agent_id, &thread(), sessions, vec![key], now).await
        }
        6 => {
            let row = ThreadRow {
                agent_id,
                thread_id: thread(),
                session_id: session,
                audience: Audience::Owner,
                updated_at: now,
            };
            desk.place_session(row, Some(head(random.below(9)))).await
        }
        7 => desk.forget_session(session).await.map(drop),
        _ => match random.below(3) {
            0 => desk.remove_wakeup(&key).await,
            1 => desk.prune(now.saturating_sub(20)).await,
            _ => desk.set_wakeup(wakeup(&key, Some(random.below(3)), random.below(9))).await,
        },
    };
    changed.err().map(|error| error.kind)
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
