use kith_sessions::disk::DiskFiles;
use kith_testkit::transcript::transcript;
use kith_vocab::clock::Clock as _;
use kith_vocab::event::Body;
use kith_vocab::event::models::Reserved;
use kith_vocab::header::{Audience, HeaderMeta, HeaderType, LOG_FORMAT_VERSION, SessionHeader};
use uuid::Uuid;

mod looping_model;

use super::*;
use crate::clock::SystemClock;
use crate::house::House;

fn thread(name: &str) -> ThreadId {
    name.parse().unwrap()
}

fn amount(tokens: u64, cost_micros: u64) -> Amount {
    Amount { tokens, cost_micros }
}

#[test]
fn a_request_that_could_pass_a_cap_is_refused() {
    let caps = BudgetCaps {
        cost_per_day: Some(100),
        tokens_per_thread: Some(50),
        ..BudgetCaps::default()
    };
    let (a, b) = (thread("cli:room:a"), thread("cli:room:b"));
    let mut sums = DaySums::default();
    sums.check(&caps, &a, amount(50, 100)).unwrap();
    sums.add(&a, amount(30, 60));
    let reached =
        CapReached { period: CapPeriod::ThreadDay, cap: CapAmount::Tokens(50), used: 30, most: 21 };
    assert_eq!(sums.check(&caps, &a, amount(21, 0)), Err(reached));
    // Another conversation has its own tokens; the money is one purse.
    sums.check(&caps, &b, amount(50, 40)).unwrap();
    let reached =
        CapReached { period: CapPeriod::Day, cap: CapAmount::CostMicros(100), used: 60, most: 41 };
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

/// The provider and the model of the requests here.
const MODEL: (&str, &str) = ("p", "m");

/// A house whose model has answered before.
fn used_house_with(settings: &str) -> (tempfile::TempDir, HouseBudget) {
    let (dir, budget) = house_with(settings);
    budget.spending().answered.insert((MODEL.0.to_owned(), MODEL.1.to_owned()));
    (dir, budget)
}

#[test]
fn requests_of_many_sessions_at_once_stay_below_the_cap() {
    let (_dir, budget) = used_house_with("[budget]\ntokensPerDay = 10000\n");
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
                        provider: MODEL.0,
                        model: MODEL.1,
                        at: 1_700_000_000_000,
                        most,
                        worst: Some(most),
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
    let ((provider, model), thread_id, worst) = (MODEL, &thread_id, None);
    let reservation = SpendRequest { request_id, thread_id, provider, model, at: 0, most, worst };
    budget.reserve(&reservation).unwrap();
    assert!(budget.spending.lock().unwrap().days.is_empty());
}

const NOON: u64 = 1_700_000_000_000;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Reserves so many tokens at a time. False if the cap is reached.
fn reserve(budget: &HouseBudget, n: u128, at: u64, tokens: u64) -> bool {
    let request_id = EventId::from_uuid(Uuid::from_u128(n));
    let (thread_id, most) = (thread("cli:room:a"), Reserved { tokens, cost_micros: None });
    let ((provider, model), thread_id, worst) = (MODEL, &thread_id, Some(most));
    let request = SpendRequest { request_id, thread_id, provider, model, at, most, worst };
    budget.reserve(&request).is_ok()
}

fn settle(budget: &HouseBudget, n: u128, tokens: Option<u64>) {
    let used = |input| Settlement::Used(Usage { input, ..Usage::default() });
    let settlement = tokens.map_or(Settlement::Unknown, used);
    budget.settle(EventId::from_uuid(Uuid::from_u128(n)), settlement);
}

#[test]
fn a_reservation_stays_when_the_day_changes_and_the_clock_comes_back() {
    let (_dir, budget) = used_house_with("[budget]\ntokensPerDay = 100\n");
    assert!(reserve(&budget, 1, NOON, 80));
    // The neighbours have their own sums, and so does a day far away.
    assert!(reserve(&budget, 2, NOON + DAY_MS, 80) && reserve(&budget, 3, NOON - DAY_MS, 80));
    assert!(!reserve(&budget, 4, NOON, 30));
    assert!(reserve(&budget, 5, NOON + 9 * DAY_MS, 80));
    assert!(budget.spending.lock().unwrap().days.len() <= 3);
    assert!(!reserve(&budget, 6, NOON, 30));
    // What was used counts on the day of the request, whatever day it is when that is known.
    settle(&budget, 1, Some(10));
    assert!(reserve(&budget, 7, NOON, 90) && !reserve(&budget, 8, NOON, 1));
    // What nobody knows stays spent, and nothing is settled twice.
    settle(&budget, 7, None);
    settle(&budget, 7, Some(0));
    assert!(!reserve(&budget, 9, NOON, 1));
}

/// Makes a session that used 70 tokens, and returns the time of its answer.
fn make_session(budget: &HouseBudget, session_id: SessionId) -> u64 {
    let log = transcript("snapshot x | user: hi | asked model | model: hello");
    let mut events = log.events;
    for event in &mut events {
        if let Body::AssistantMessage(it) = &mut event.body {
            it.usage = Some(Usage { input: 70, ..Usage::default() });
        }
    }
    let header = SessionHeader {
        v: LOG_FORMAT_VERSION,
        line_type: HeaderType::SessionHeader,
        session_id,
        agent_id: "main".to_owned(),
        device_id: "test".to_owned(),
        created_at: 1,
        thread_id: thread("cli:room:a"),
        audience: Audience::Owner,
        cwd: "/w".to_owned(),
        cloned_from: None,
        parent: None,
        meta: HeaderMeta::default(),
    };
    drop(budget.store.create(&header, &events).unwrap());
    events.last().unwrap().ts
}

#[test]
fn what_was_used_without_a_cap_counts_once_a_cap_is_set_again() {
    let (dir, budget) = used_house_with("[budget]\ntokensPerDay = 100\n");
    let write = |settings: &str| {
        std::fs::write(dir.path().join("house/kith.toml"), settings).unwrap();
        budget.settings.current().unwrap();
    };
    let id = SessionId::from_uuid(SystemClock.new_id());
    // The day is read before the session exists.
    let at = transcript("snapshot x | user: hi | asked model | model: hello").events[0].ts;
    assert!(reserve(&budget, 1, at, 10));
    write("");
    assert!(reserve(&budget, 2, at, 70));
    make_session(&budget, id);
    settle(&budget, 2, Some(70));
    write("[budget]\ntokensPerDay = 100 # again\n");
    assert!(!reserve(&budget, 3, at, 21) && reserve(&budget, 3, at, 20));
    // The reservation from before is still replaced by what was used.
    settle(&budget, 1, Some(0));
    assert!(reserve(&budget, 4, at, 10) && !reserve(&budget, 5, at, 1));
}

#[test]
fn what_a_removed_session_used_counts_on_its_day_also_after_a_restart() {
    let (_dir, budget) = house_with("[budget]\ntokensPerDay = 100\n");
    let ids = [(); 2].map(|()| SessionId::from_uuid(SystemClock.new_id()));
    let at = make_session(&budget, ids[0]);
    let again = || HouseBudget::new(Arc::clone(&budget.settings), budget.store.clone());
    assert!(!reserve(&again(), 1, at, 40) && reserve(&again(), 1, at, 30));
    // It counts once, whether or not the removal came to its end.
    keep_spending_of(&budget.store, ids[0], at).unwrap();
    keep_spending_of(&budget.store, ids[0], at).unwrap();
    assert!(!reserve(&again(), 1, at, 40) && reserve(&again(), 1, at, 30));
    budget.store.remove(ids[0]).unwrap();
    assert!(!reserve(&again(), 1, at, 40) && reserve(&again(), 1, at, 30));
    assert!(reserve(&again(), 1, at + DAY_MS, 100));
    // The next removal forgets what is days old.
    let date_back = |all: &mut Vec<RemovedSpending>| all[0].day = "2001-01-01".to_owned();
    budget.store.update_removed_spending(date_back).unwrap();
    make_session(&budget, ids[1]);
    keep_spending_of(&budget.store, ids[1], at).unwrap();
    let kept = budget.store.removed_spending().unwrap();
    assert_eq!(kept.iter().map(|it| it.session_id).collect::<Vec<_>>(), [ids[1]]);
}

#[test]
fn sessions_that_are_removed_at_once_are_all_kept() {
    let (_dir, budget) = house_with("");
    let ids = [(); 8].map(|()| SessionId::from_uuid(SystemClock.new_id()));
    let at = ids.map(|id| make_session(&budget, id))[0];
    std::thread::scope(|scope| {
        for id in ids {
            let store = budget.store.clone();
            scope.spawn(move || keep_spending_of(&store, id, at).unwrap());
        }
    });
    let kept = budget.store.removed_spending().unwrap();
    let kept: BTreeSet<SessionId> = kept.iter().map(|it| it.session_id).collect();
    assert_eq!(kept, BTreeSet::from(ids));
    // What does not fit is refused, and what was there stays.
    let add_many = |all: &mut Vec<RemovedSpending>| {
        let one = all[0].clone();
        all.extend(std::iter::repeat_n(one, 40_000));
    };
    budget.store.update_removed_spending(add_many).unwrap_err();
    assert_eq!(budget.store.removed_spending().unwrap().len(), ids.len());
}

/// A request of a conversation of its own, which may use so many tokens, and at worst so many.
fn try_reserve(
    budget: &HouseBudget,
    n: u128,
    tokens: u64,
    worst: Option<u64>,
) -> Result<(), SpendRefusal> {
    let request_id = EventId::from_uuid(Uuid::from_u128(n));
    let thread_id = thread(&format!("cli:room:{n}"));
    let [most, worst] =
        [Some(tokens), worst].map(|it| it.map(|tokens| Reserved { tokens, cost_micros: None }));
    let (most, (provider, model), thread_id) = (most.unwrap(), MODEL, &thread_id);
    budget.reserve(&SpendRequest { request_id, thread_id, provider, model, at: NOON, most, worst })
}

#[test]
fn a_request_waits_while_those_under_way_could_use_up_the_rest() {
    let (_dir, budget) = used_house_with("[budget]\ntokensPerDay = 100\n");
    try_reserve(&budget, 1, 10, Some(60)).unwrap();
    // 60 and 30 at worst, and 10 more.
    try_reserve(&budget, 2, 10, Some(30)).unwrap();
    try_reserve(&budget, 3, 10, Some(10)).unwrap();
    let Err(SpendRefusal::Wait(waiting)) = try_reserve(&budget, 4, 1, Some(1)) else { panic!() };
    // What it may use itself is not waited for.
    assert!(matches!(try_reserve(&budget, 4, 71, None), Err(SpendRefusal::CapReached(_))));
    let mut waiting = Box::pin(waiting);
    let mut poll = || {
        let waker = std::task::Waker::noop();
        waiting.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_ready()
    };
    assert!(!poll());
    settle(&budget, 1, Some(12));
    assert!(poll());
    try_reserve(&budget, 4, 1, Some(1)).unwrap();
}

#[test]
fn requests_of_a_model_whose_window_is_unknown_are_made_one_at_a_time() {
    let (_dir, budget) = house_with("[budget]\ntokensPerDay = 1000000\n");
    try_reserve(&budget, 1, 10, None).unwrap();
    assert!(matches!(try_reserve(&budget, 2, 10, None), Err(SpendRefusal::Wait(_))));
    settle(&budget, 1, Some(500));
    try_reserve(&budget, 2, 10, Some(20)).unwrap();
    // A server that counts more than its model can read is not believed again.
    settle(&budget, 2, Some(21));
    try_reserve(&budget, 3, 10, Some(20)).unwrap();
    assert!(matches!(try_reserve(&budget, 4, 10, Some(20)), Err(SpendRefusal::Wait(_))));
    // A cap on money does not hold up what has no price.
    let (_dir, budget) = house_with("[budget]\ncostPerDay = 1\n");
    try_reserve(&budget, 1, 10, None).unwrap();
    try_reserve(&budget, 2, 10, None).unwrap();
}

#[test]
fn requests_of_a_model_that_has_not_answered_yet_are_made_one_at_a_time() {
    let used = |usage| Settlement::Used(usage);
    let counted = Usage { input: 9, ..Usage::default() };
    for (settlement, has_answered) in [
        (used(counted), true),
        (Settlement::Uncounted, true),
        // Refused, stopped, or broken off: nothing was counted.
        (used(Usage::default()), false),
        (used(Usage { is_estimate: true, ..counted }), false),
        (Settlement::Unknown, false),
    ] {
        let (_dir, budget) = house_with("[budget]\ntokensPerDay = 1000000\n");
        try_reserve(&budget, 1, 10, Some(20)).unwrap();
        assert!(matches!(try_reserve(&budget, 2, 10, Some(20)), Err(SpendRefusal::Wait(_))));
        budget.settle(EventId::from_uuid(Uuid::from_u128(1)), settlement);
        try_reserve(&budget, 2, 10, Some(20)).unwrap();
        let third = try_reserve(&budget, 3, 10, Some(20));
        assert_eq!(third.is_ok(), has_answered, "{settlement:?}");
    }
    // The first answer already tells of a server that counts more than its model can use.
    let (_dir, budget) = house_with("[budget]\ntokensPerDay = 1000000\n");
    try_reserve(&budget, 1, 10, Some(20)).unwrap();
    settle(&budget, 1, Some(21));
    try_reserve(&budget, 2, 10, Some(20)).unwrap();
    assert!(matches!(try_reserve(&budget, 3, 10, Some(20)), Err(SpendRefusal::Wait(_))));
}
