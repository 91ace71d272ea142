//! The budget of a house: what its models may use in a day.
//!
//! The sums are those of the logs. They are read once, when a cap is set and the first request of a
//! day is made; from then on reservations and answers are added to them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use kith_engine::spending::SpendingReader;
use kith_sessions::store::SessionStore;
use kith_vocab::blocking::blocking;
use kith_vocab::budget::{Budget, CapAmount, CapPeriod, CapReached, SpendRequest};
use kith_vocab::event::messages::Usage;
use kith_vocab::ids::{EventId, ThreadId};

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
    /// `None` until a cap is looked at.
    today: Mutex<Option<DaySums>>,
}

/// What was used on one day, reservations included.
#[derive(Debug)]
struct DaySums {
    day: Date,
    all: Amount,
    threads: BTreeMap<ThreadId, Amount>,
    /// Requests that are under way.
    open: BTreeMap<EventId, (ThreadId, Amount)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    tokens: u64,
    cost_micros: u64,
}

impl HouseBudget {
    pub fn new(settings: Arc<SettingsWatch>, store: SessionStore) -> HouseBudget {
        HouseBudget { settings, store, today: Mutex::default() }
    }

    /// Reads what the logs say of a day. A log that cannot be read counts with what could be.
    fn read_day(&self, day: Date) -> DaySums {
        let mut sums = DaySums {
            day,
            all: Amount::default(),
            threads: BTreeMap::new(),
            open: BTreeMap::new(),
        };
        let began_ns =
            day.to_zoned(TimeZone::system()).map_or(0, |it| it.timestamp().as_nanosecond());
        for id in self.store.list().unwrap_or_default() {
            let is_older = self.store.stat(id).is_ok_and(|stamp| {
                stamp.modified_ns > 0 && i128::from(stamp.modified_ns) < began_ns
            });
            if is_older {
                continue;
            }
            let Ok(header) = self.store.header(id) else { continue };
            let mut reader = SpendingReader::default();
            self.store.read(id, None, &mut |event| reader.read(&event)).ok();
            for spent in reader.finish().iter().filter(|spent| day_of(spent.at) == day) {
                sums.add(&header.thread_id, Amount::of(&spent.usage));
            }
        }
        sums
    }
}

impl Budget for HouseBudget {
    fn reserve(&self, request: &SpendRequest<'_>) -> Result<(), CapReached> {
        let caps = self.settings.recent().budget;
        if caps == BudgetCaps::default() {
            return Ok(());
        }
        let day = day_of(request.at);
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        let sums = match &mut *today {
            Some(sums) if sums.day == day => sums,
            // What is under way was reserved on the day before, and counts there.
            other => other.insert(blocking(|| self.read_day(day))),
        };
        let most = Amount {
            tokens: request.most.tokens,
            cost_micros: request.most.cost_micros.unwrap_or_default(),
        };
        sums.check(&caps, request.thread_id, most)?;
        sums.add(request.thread_id, most);
        sums.open.insert(request.request_id, (request.thread_id.clone(), most));
        Ok(())
    }

    fn settle(&self, request_id: EventId, used: &Usage) {
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sums) = &mut *today
            && let Some((thread_id, most)) = sums.open.remove(&request_id)
        {
            sums.replace(&thread_id, most, Amount::of(used));
        }
    }
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
                return Err(CapReached { period, cap });
            }
        }
        Ok(())
    }

    fn add(&mut self, thread: &ThreadId, amount: Amount) {
        self.replace(thread, Amount::default(), amount);
    }

    fn replace(&mut self, thread: &ThreadId, before: Amount, after: Amount) {
        for sum in [&mut self.all, self.threads.entry(thread.clone()).or_default()] {
            sum.tokens = sum.tokens.saturating_sub(before.tokens).saturating_add(after.tokens);
            let rest = sum.cost_micros.saturating_sub(before.cost_micros);
            sum.cost_micros = rest.saturating_add(after.cost_micros);
        }
    }
}

impl Amount {
    fn of(usage: &Usage) -> Amount {
        let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        let tokens = parts.into_iter().fold(0, u64::saturating_add);
        Amount { tokens, cost_micros: usage.cost_micros.unwrap_or_default() }
    }
}

/// The day of a moment by the clock of this machine.
pub fn day_of(ms: u64) -> Date {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    let moment = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
    moment.to_zoned(TimeZone::system()).date()
}

#[cfg(test)]
mod tests;
