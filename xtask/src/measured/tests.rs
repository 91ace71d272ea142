use super::*;

#[test]
fn a_day_is_written_as_year_month_and_day() {
    for (secs, day) in [
        (0, "1970-01-01"),
        (951_782_400, "2000-02-29"),
        (951_868_800, "2000-03-01"),
        (1_794_744_000, "2026-11-15"),
        (4_107_542_399, "2100-02-28"),
        (4_107_542_400, "2100-03-01"),
    ] {
        assert_eq!(date(secs), day);
    }
}

#[test]
fn a_new_table_replaces_the_old_one_and_leaves_the_others() {
    let first = document("", &[("bench", "| a |".to_owned()), ("torture-log", "| b |".to_owned())]);
    let second = document(&first, &[("bench", "| c |".to_owned())]);
    assert_eq!(between_marks(&second, "bench"), Some("| c |"));
    assert_eq!(between_marks(&second, "torture-log"), Some("| b |"));
    assert_eq!(between_marks(&second, "torture-orders"), Some("Not measured yet."));
    assert_eq!(document(&second, &[]), second);
}

#[test]
fn the_program_is_found_in_what_cargo_says() {
    let messages = r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"bench"},"executable":null}
{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"kith"},"executable":"/t/fast/kith"}
{"reason":"compiler-artifact","target":{"kind":["bench"],"name":"bench"},"executable":"/t/fast/deps/bench-1"}"#;
    assert_eq!(executable(messages, "bench", "bench"), Some("/t/fast/deps/bench-1".into()));
    assert_eq!(executable(messages, "bin", "kith"), Some("/t/fast/kith".into()));
    assert_eq!(executable(messages, "bench", "torture"), None);
}

#[test]
fn wrong_flags_are_refused_before_anything_is_built() {
    let flags = [Flag::alone("--turn"), Flag::number("--seed"), Flag::word("--only")];
    let check = |line: &str| {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        check_flags("torture", &args, &flags).err().map(|it| it.0)
    };
    let help = "; see `cargo xtask torture --help`";
    assert_eq!(check("--turn --seed 7 --only x"), None);
    assert_eq!(check("--all"), Some(format!("`cargo xtask torture` knows no `--all`{help}")));
    assert_eq!(check("--seed"), Some(format!("`--seed` needs a value{help}")));
    assert_eq!(check("--seed x"), Some(format!("`--seed` needs a number, but got `x`{help}")));
}
