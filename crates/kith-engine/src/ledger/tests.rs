use super::*;

fn of(texts: &[&str], summary: &str) -> Ledger {
    next_ledger(None, texts.iter().map(|it| LedgerText::Said(it)), summary, LEDGER_BYTES_MAX)
}

#[test]
fn names_of_things_are_identifiers_and_paths() {
    let text = "Order ORD-2024-8841 (see https://shop.test/o/8841?x=1), mail ann@shop.test, commit \
                9f3c1ab2, issue #12, AB-1, version 1.2.3-rc4, phone 5550123; files src/main.rs, \
                ~/notes and plan.md. Not: hello, and/or is a path, 12, i.e. e.g. U2.";
    let ledger = of(&[text], "");
    let wanted = [
        "ORD-2024-8841",
        "https://shop.test/o/8841?x=1",
        "ann@shop.test",
        "9f3c1ab2",
        "#12",
        "AB-1",
        "1.2.3-rc4",
        "5550123",
    ];
    assert_eq!(ledger.identifiers, wanted);
    assert_eq!(ledger.paths, ["src/main.rs", "~/notes", "plan.md", "and/or"]);
}

#[test]
fn names_stand_also_between_chinese_words() {
    let ledger = of(&["订单ORD-7731已发货，文件在notes/计划.md。"], "");
    assert_eq!(ledger.identifiers, ["ORD-7731"]);
    assert_eq!(ledger.paths, ["notes/"]);
}

#[test]
fn the_later_mark_of_a_task_counts() {
    let ledger =
        of(&["- [ ] call Ann\n- [ ] pay the bill", "* [x] Call Ann.", "- [x] a\n- [ ] a"], "");
    assert_eq!(ledger.open_tasks, ["pay the bill", "a"]);
    assert_eq!(ledger.done_tasks, ["Call Ann."]);
}

#[test]
fn a_summary_adds_tasks_and_does_not_open_finished_ones_again() {
    let before = Ledger {
        open_tasks: vec!["write the report".to_owned()],
        done_tasks: vec!["call Ann".to_owned()],
        ..Ledger::default()
    };
    let summary = "## Facts\n- the sky is blue\n\n## Open tasks\n- Call Ann\n- buy milk\n- None\n\n\
                   ## Done\n- Write the report.\n";
    let ledger = next_ledger(Some(&before), [].into_iter(), summary, LEDGER_BYTES_MAX);
    assert_eq!(ledger.open_tasks, ["buy milk"]);
    assert_eq!(ledger.done_tasks, ["call Ann", "Write the report."]);
}

#[test]
fn a_long_list_is_bounded_and_results_count_less() {
    let many = |name: &str| {
        let names: Vec<String> = (0..600).map(|n| format!("{name}-{n}")).collect();
        names.join(" ")
    };
    let (said, listing) = (many("said"), many("row"));
    let texts = [LedgerText::Result(&listing), LedgerText::Said(&said)];
    let ledger = next_ledger(None, texts.into_iter(), "", LEDGER_BYTES_MAX);
    assert_eq!(ledger.identifiers.len(), IDENTIFIERS_MAX);
    assert_eq!(ledger.identifiers.last().unwrap(), "said-599");
    let listed =
        next_ledger(None, [LedgerText::Result(&listing)].into_iter(), "", LEDGER_BYTES_MAX);
    assert_eq!(listed.identifiers.len(), RESULT_ENTRIES_MAX);
}
