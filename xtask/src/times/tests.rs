use super::*;

#[test]
fn times_are_a_table_with_a_total() {
    let rows = vec![
        (String::from("clippy"), Duration::from_millis(21_119)),
        (String::from("doc tests"), Duration::from_millis(302)),
    ];
    let times = Times { heading: "step", rows };
    assert_eq!(
        times.to_string(),
        "step        seconds\n\
         clippy         21.1\n\
         doc tests       0.3\n\
         total          21.4"
    );
}
