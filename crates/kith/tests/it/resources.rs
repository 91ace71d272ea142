//! Too few threads or descriptors, or too little memory: one sentence, and the lock is released.

use kith_testkit::another_user::unprivileged;

use crate::house::{House, KITH, Ran};

#[test]
fn without_a_descriptor_the_program_ends_with_a_sentence_and_leaves_the_house() {
    let house = House::new();
    let n_answered = (6..=40).filter(|n| is_answered(&house, &format!("--nofile={n}:{n}"))).count();
    assert!(n_answered > 5, "{n_answered} were answered");
}

#[test]
fn without_memory_for_a_thread_the_program_ends_with_a_sentence_and_leaves_the_house() {
    let house = House::new();
    let n_answered = (4..=96)
        .filter(|n| n % 8 == 0)
        .filter(|n| is_answered(&house, &format!("--data={}", n << 20)))
        .count();
    assert!(n_answered > 1, "{n_answered} were answered");
}

#[test]
fn without_a_thread_the_program_ends_with_a_sentence_and_leaves_the_house() {
    let test = "resources::without_a_thread_the_program_ends_with_a_sentence_and_leaves_the_house";
    // The limit on processes does not hold for the superuser.
    unprivileged(test, Some(KITH), || {
        let house = House::new();
        // As many threads of this user as run already, the test's own among them, and a few more.
        let n_refused =
            (1..=24).filter(|n| !is_answered(&house, &format!("--nproc={n}:{n}"))).count();
        assert!(n_refused > 1, "{n_refused} were refused");
    });
}

#[test]
fn a_thread_that_cannot_be_had_later_ends_the_program_with_a_sentence_too() {
    let house = House::new();
    for n in 1..=14 {
        let id = format!("n{n}");
        let ask = ["ask", "--model", "demo", "--message-id", &id, "say one"];
        let fault = format!("inject=clone3:error=EAGAIN:when={n}+");
        let Some(ran) = house.refused(&["-e", "trace=clone3", "-e", &fault], &ask) else { return };
        check_ended(&ran, &id);
        assert_eq!(house.kith(&ask).succeeded().stdout, "one\n");
    }
}

/// Asks something under a limit. It is answered, or refused in words; afterwards, without the limit,
/// it always is.
#[track_caller]
fn is_answered(house: &House, limit: &str) -> bool {
    let id = limit.trim_start_matches('-');
    let ask = ["ask", "--model", "demo", "--message-id", id, "say one"];
    let ran = house.behind(&["prlimit", limit], &ask).unwrap();
    check_ended(&ran, limit);
    let again = house.kith(&ask).succeeded();
    assert_eq!(again.stdout, "one\n", "{limit}");
    ran.code == 0
}

/// It was answered, or it ended with a sentence and what to do.
#[track_caller]
fn check_ended(ran: &Ran, why: &str) {
    match ran.code {
        0 => assert_eq!(ran.stdout, "one\n", "{why}: {}", ran.shown()),
        3 => {
            assert!(ran.stderr.starts_with("error: "), "{why}: {}", ran.shown());
            assert!(ran.stderr.contains("\nhint: "), "{why}: {}", ran.shown());
        }
        // Where memory ends later, the program can only abort; the message is answered next time.
        -1 => assert!(ran.stderr.contains("memory allocation"), "{why}: {}", ran.shown()),
        _ => panic!("{why}: {}", ran.shown()),
    }
    assert!(!ran.stderr.contains("panicked"), "{why}: {}", ran.shown());
}
