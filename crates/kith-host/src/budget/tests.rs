use kith_sessions::disk::DiskFiles;
use kith_vocab::event::models::Reserved;
use uuid::Uuid;

use super::*;
use crate::house::House;

fn thread(name: &str) -> ThreadId {
    name.parse().unwrap()
}

fn amount(tokens: u64, cost_micros: u64) -> Amount {
    Amount { tokens, cost_micros }
}

fn empty_day() -> DaySums {
    let day = day_of(1_700_000_000_000);
    DaySums { day, all: Amount::default(), threads: BTreeMap::new(), open: BTreeMap::new() }
}

#[test]
fn a_request_that_could_pass_a_cap_is_refused() {
    let caps = BudgetCaps {
        cost_per_day: Some(100),
        tokens_per_thread: Some(50),
        ..BudgetCaps::default()
    };
    let (a, b) = (thread("cli:room:a"), thread("cli:room:b"));
    let mut sums = empty_day();
    sums.check(&caps, &a, amount(50, 100)).unwrap();
    sums.add(&a, amount(30, 60));
    let reached = CapReached { period: CapPeriod::ThreadDay, cap: CapAmount::Tokens(50) };
    assert_eq!(sums.check(&caps, &a, amount(21, 0)), Err(reached));
    // Another conversation has its own tokens; the money is one purse.
    sums.check(&caps, &b, amount(50, 40)).unwrap();
    let reached = CapReached { period: CapPeriod::Day, cap: CapAmount::CostMicros(100) };
    assert_eq!(sums.check(&caps, &b, amount(1, 41)), Err(reached));
    // What was used in the end counts instead of what was reserved.
    sums.replace(&a, amount(30, 60), amount(3, 6));
    sums.check(&caps, &b, amount(1, 94)).unwrap();
}

/// A house on disk whose settings are these.
fn house_with(settings: &str) -> (tempfile::TempDir, HouseBudget) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("house")).unwrap();
    std::fs::create_dir_all(root.join("user")).unwrap();
    std::fs::write(root.join("house/kith.toml"), settings).unwrap();
    let cwd = root.join("house");
    let house = House { dir: cwd.clone(), cwd, user_home: Some(root.join("user")) };
    let store = SessionStore::new(Arc::new(DiskFiles), &house.kith_dir());
    let settings = SettingsWatch::open(&house).unwrap();
    (dir, HouseBudget::new(settings, store))
}

#[test]
fn requests_of_many_sessions_at_once_stay_below_the_cap() {
    let (_dir, budget) = house_with("[budget]\ntokensPerDay = 10000\n");
    let accepted = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for n in 0..8_u64 {
            let (budget, accepted) = (&budget, &accepted);
            scope.spawn(move || {
                let thread_id = thread(&format!("cli:room:{n}"));
                for request in 0..50 {
                    let id = Uuid::from_u128(u128::from(n * 1000 + request + 1));
                    let most = Reserved { tokens: 100, cost_micros: None };
                    let reservation = SpendRequest {
                        request_id: EventId::from_uuid(id),
                        thread_id: &thread_id,
                        at: 1_700_000_000_000,
                        most,
                    };
                    if budget.reserve(&reservation).is_ok() {
                        accepted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(accepted.into_inner(), 100);
}

#[test]
fn without_caps_nothing_is_read_and_nothing_refused() {
    let (_dir, budget) = house_with("");
    let thread_id = thread("cli:room:a");
    let most = Reserved { tokens: u64::MAX, cost_micros: Some(u64::MAX) };
    let request_id = EventId::from_uuid(Uuid::from_u128(1));
    let reservation = SpendRequest { request_id, thread_id: &thread_id, at: 0, most };
    budget.reserve(&reservation).unwrap();
    assert!(budget.today.lock().unwrap().is_none());
}
