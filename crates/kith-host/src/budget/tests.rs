use super::*;

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
