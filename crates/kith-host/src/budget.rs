//! The budget of a house: what its models may use in a day.
//!
//! The sums are those of the logs, and of sessions that were removed. They are read once, when a cap is
//! set and the first request of a day is made; from then on reservations and answers are added to them.
//! Around midnight, and when a clock jumps, requests of several days are under way at once, so the sums
//! of a day and its neighbours are held, and every reservation until it is settled.
//!
//! A server may count more than was reserved, and only its answer tells. So a request waits while those
//! under way could use up the rest if their models read and wrote as much as they can: at most one
//! request passes a cap. Where nobody knows how much a model reads, and until its server has answered
//! once, its requests are made one at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use jiff::civil::Date;
use kith_engine::spending::{SpendingReader, Spent};
use kith_home::time_zone;
use kith_sessions::store::{RemovedSpending, SessionStore};
use kith_vocab::blocking::blocking;
use kith_vocab::budget::{
    Budget, CapAmount, CapPeriod, CapReached, Settlement, SpendRefusal, SpendRequest,
};
use kith_vocab::event::messages::Usage;
use kith_vocab::event::models::Reserved;
use kith_vocab::ids::{EventId, SessionId, ThreadId};
use tokio::sync::Notify;

use crate::calls::cost::CostSum;
use crate::settings::watch::SettingsWatch;

/// What may be used in a day. Absent: any amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetCaps {
    pub cost_per_day: Option<u64>,
    pub cost_per_thread: Option<u64>,
    pub tokens_per_day: Option<u64>,
    pub tokens_per_thread: Option<u64>,
}

pub struct HouseBudget {
    settings: Arc<SettingsWatch>,
    store: SessionStore,
    spending: Mutex<HouseSpending>,
    /// Notified when a reservation is settled.
    settled: Arc<Notify>,
}

/// What is known of a day and its neighbours, and of the requests that are under way.
#[derive(Debug, Default)]
struct HouseSpending {
    /// Empty until a cap is looked at.
    days: BTreeMap<Date, DaySums>,
    open: BTreeMap<EventId, OpenReservation>,
    /// A server has counted more than its model can use, so nobody knows how much any request uses.
    has_been_exceeded: bool,
    /// The models whose servers have answered, so that it is known how they count.
    answered: BTreeSet<ModelKey>,
}

/// Provider and model.
type ModelKey = (String, String);

#[derive(Clone, Debug)]
struct OpenReservation {
    model: ModelKey,
    day: Date,
    thread_id: ThreadId,
    most: Amount,
    /// What its model can use, as far as that is known.
    claimed: Option<Amount>,
    /// What it is reckoned with while it is under way.
    worst: Amount,
}

/// What was used on one day, reservations included.
#[derive(Clone, Debug, Default)]
struct DaySums {
    all: Amount,
    threads: BTreeMap<ThreadId, Amount>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    tokens: u64,
    cost_micros: u64,
}

impl HouseBudget {
    pub fn new(settings: Arc<SettingsWatch>, store: SessionStore) -> HouseBudget {
        HouseBudget { settings, store, spending: Mutex::default(), settled: Arc::default() }
    }

    /// Reads what the logs say of a day. A log that cannot be read counts with what could be. Requests
    /// that are under way count with their reservations.
    fn read_day(&self, day: Date, open: &BTreeMap<EventId, OpenReservation>) -> DaySums {
        let mut sums = DaySums::default();
        let began_ns =
            day.to_zoned(time_zone::local()).map_or(0, |it| it.timestamp().as_nanosecond());
        let sessions: BTreeSet<SessionId> =
            self.store.list().unwrap_or_default().into_iter().collect();
        for id in &sessions {
            let is_older = self.store.stat(*id).is_ok_and(|stamp| {
                stamp.modified_ns > 0 && i128::from(stamp.modified_ns) < began_ns
            });
            if is_older {
                continue;
            }
            let Ok(header) = self.store.header(*id) else { continue };
            for spent in spent_in(&self.store, *id) {
                if day_of(spent.at) == day && !open.contains_key(&spent.request_id) {
                    sums.add(&header.thread_id, Amount::of(&spent.usage));
                }
            }
        }
        // What cannot be read counts as nothing, like a log that cannot.
        for removed in self.store.removed_spending().unwrap_or_default() {
            // One that is still there was not removed in the end.
            if removed.day == day.to_string() && !sessions.contains(&removed.session_id) {
                let RemovedSpending { thread_id, tokens, cost_micros, .. } = removed;
                sums.add(&thread_id, Amount { tokens, cost_micros });
            }
        }
        for reserved in open.values().filter(|it| it.day == day) {
            sums.add(&reserved.thread_id, reserved.most);
        }
        sums
    }

    fn spending(&self) -> MutexGuard<'_, HouseSpending> {
        self.spending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Budget for HouseBudget {
    fn reserve(&self, request: &SpendRequest<'_>) -> Result<(), SpendRefusal> {
        let caps = self.settings.recent().budget;
        let mut spending = self.spending();
        if caps == BudgetCaps::default() {
            // This request is not added, so the sums are read again when a cap is set.
            spending.days.clear();
            return Ok(());
        }
        let day = day_of(request.at);
        let HouseSpending { days, open, has_been_exceeded, answered } = &mut *spending;
        let sums = days.entry(day).or_insert_with(|| blocking(|| self.read_day(day, open)));
        let most = Amount::reserved(request.most);
        sums.check(&caps, request.thread_id, most).map_err(SpendRefusal::CapReached)?;
        let more = |it: &OpenReservation| (it.thread_id.clone(), it.worst.minus(it.most));
        let under_way: Vec<_> = open.values().filter(|it| it.day == day).map(more).collect();
        if sums.with(&under_way).check(&caps, request.thread_id, most).is_err() {
            // Made under the lock, so that no settlement falls between.
            return Err(SpendRefusal::Wait(Box::pin(Arc::clone(&self.settled).notified_owned())));
        }
        sums.add(request.thread_id, most);
        let model = (request.provider.to_owned(), request.model.to_owned());
        let is_believed = !*has_been_exceeded && answered.contains(&model);
        let claimed = request.worst.map(Amount::reserved);
        // What has no price costs nothing, however much it is.
        let cost_micros = request.most.cost_micros.map_or(0, |_| u64::MAX);
        let worst =
            claimed.filter(|_| is_believed).unwrap_or(Amount { tokens: u64::MAX, cost_micros });
        let thread_id = request.thread_id.clone();
        let reservation = OpenReservation { model, day, thread_id, most, claimed, worst };
        open.insert(request.request_id, reservation);
        // Other days are read again when a clock comes back to them.
        days.retain(|it, _| is_near(*it, day));
        Ok(())
    }

    fn settle(&self, request_id: EventId, settlement: Settlement) {
        let mut spending = self.spending();
        let Some(reserved) = spending.open.remove(&request_id) else { return };
        let OpenReservation { model, day, thread_id, most, claimed, .. } = reserved;
        let has_answered = match settlement {
            // A request that was refused, or stopped, says nothing of how its server counts.
            Settlement::Used(usage) => !usage.is_estimate && usage != Usage::default(),
            Settlement::Uncounted => true,
            Settlement::Unknown => false,
        };
        if has_answered {
            spending.answered.insert(model);
        }
        if let Settlement::Used(usage) = settlement {
            let used = Amount::of(&usage);
            let is_more = |claimed: Amount| used.minus(claimed) != Amount::default();
            spending.has_been_exceeded |= claimed.is_some_and(is_more);
            if let Some(sums) = spending.days.get_mut(&day) {
                sums.replace(&thread_id, most, used);
            }
        }
        self.settled.notify_waiters();
    }
}

/// Keeps what a session has used lately, before it is removed.
pub fn keep_spending_of(store: &SessionStore, id: SessionId, now: u64) -> io::Result<()> {
    let today = day_of(now);
    let Ok(header) = store.header(id) else { return Ok(()) };
    let mut days = BTreeMap::<Date, CostSum>::new();
    for spent in spent_in(store, id) {
        let sum = days.entry(day_of(spent.at)).or_default();
        sum.add(&spent.usage, true, spent.is_estimate);
    }
    let has_used = |sum: &CostSum| Amount::of(&sum.usage) != Amount::default();
    let recent = days.into_iter().filter(|(day, sum)| is_near(*day, today) && has_used(sum));
    let recent: Vec<RemovedSpending> = recent
        .map(|(day, sum)| {
            let Amount { tokens, cost_micros } = Amount::of(&sum.usage);
            RemovedSpending {
                session_id: id,
                day: day.to_string(),
                thread_id: header.thread_id.clone(),
                tokens,
                cost_micros,
                n_requests: sum.n_requests,
                n_estimated: sum.n_estimated,
                usage: Some(sum.usage),
            }
        })
        .collect();
    if recent.is_empty() {
        return Ok(());
    }
    store.update_removed_spending(|all| {
        all.retain(|it| {
            it.session_id != id && it.day.parse().is_ok_and(|day: Date| is_near(day, today))
        });
        all.extend(recent);
    })
}

/// What the requests of a session used, as far as its log can be read.
fn spent_in(store: &SessionStore, id: SessionId) -> Vec<Spent> {
    let mut reader = SpendingReader::default();
    store.read(id, None, &mut |event| reader.read(&event)).ok();
    reader.finish()
}

/// Whether the days are the same or neighbours.
fn is_near(one: Date, other: Date) -> bool {
    (other - one).get_days().abs() <= 1
}

impl DaySums {
    fn check(&self, caps: &BudgetCaps, thread: &ThreadId, most: Amount) -> Result<(), CapReached> {
        let of_thread = self.threads.get(thread).copied().unwrap_or_default();
        let cases = [
            (CapPeriod::Day, caps.cost_per_day, self.all.cost_micros, most.cost_micros, true),
            (
                CapPeriod::ThreadDay,
                caps.cost_per_thread,
                of_thread.cost_micros,
                most.cost_micros,
                true,
            ),
            (CapPeriod::Day, caps.tokens_per_day, self.all.tokens, most.tokens, false),
            (CapPeriod::ThreadDay, caps.tokens_per_thread, of_thread.tokens, most.tokens, false),
        ];
        for (period, cap, used, more, is_money) in cases {
            if let Some(cap) = cap.filter(|cap| used.saturating_add(more) > *cap) {
                let cap =
                    if is_money { CapAmount::CostMicros(cap) } else { CapAmount::Tokens(cap) };
                return Err(CapReached { period, cap, used, most: more });
            }
        }
        Ok(())
    }

    /// The sums if so much more were used.
    fn with(&self, more: &[(ThreadId, Amount)]) -> DaySums {
        let mut sums = self.clone();
        for (thread, amount) in more {
            sums.add(thread, *amount);
        }
        sums
    }

    fn add(&mut self, thread: &ThreadId, amount: Amount) {
        self.replace(thread, Amount::default(), amount);
    }

    fn replace(&mut self, thread: &ThreadId, before: Amount, after: Amount) {
        for sum in [&mut self.all, self.threads.entry(thread.clone()).or_default()] {
            *sum = sum.minus(before).plus(after);
        }
    }
}

impl Amount {
    fn of(usage: &Usage) -> Amount {
        let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        let tokens = parts.into_iter().fold(0, u64::saturating_add);
        Amount { tokens, cost_micros: usage.cost_micros.unwrap_or_default() }
    }

    fn reserved(most: Reserved) -> Amount {
        let Reserved { tokens, cost_micros } = most;
        Amount { tokens, cost_micros: cost_micros.unwrap_or_default() }
    }

    fn minus(self, less: Amount) -> Amount {
        Amount {
            tokens: self.tokens.saturating_sub(less.tokens),
            cost_micros: self.cost_micros.saturating_sub(less.cost_micros),
        }
    }

    fn plus(self, more: Amount) -> Amount {
        Amount {
            tokens: self.tokens.saturating_add(more.tokens),
            cost_micros: self.cost_micros.saturating_add(more.cost_micros),
        }
    }
}

/// The day of a moment by the clock of this machine.
pub fn day_of(ms: u64) -> Date {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    let moment = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
    moment.to_zoned(time_zone::local()).date()
}

#[cfg(test)]
mod tests;
