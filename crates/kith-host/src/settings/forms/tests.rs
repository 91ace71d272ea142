//! Forms that are taken and forms that are not.

use super::*;

#[test]
fn a_duration_is_units_from_the_largest_down() {
    for (text, ms) in [
        ("90s", Some(90_000)),
        ("1h30m", Some(5_400_000)),
        ("2d1s", Some(172_801_000)),
        ("0s", Some(0)),
        ("30m1h", None),
        ("5", None),
        ("h", None),
        ("1.5h", None),
        ("-1s", None),
        ("1 h", None),
        ("1s1s", None),
        ("99999999999999999999d", None),
        ("18446744073709551615d", None),
    ] {
        assert_eq!(parsed_duration_ms(text), ms, "{text}");
    }
}

#[test]
fn an_amount_is_kept_to_the_micro() {
    for (usd, micros) in [
        (0.15, Some(150_000)),
        (0.000_000_4, Some(0)),
        (1_000_000.0, Some(1_000_000_000_000)),
        (1_000_000.1, None),
        (-0.1, None),
        (f64::NAN, None),
        (f64::INFINITY, None),
    ] {
        assert_eq!(UsdMicros::from_float(usd).map(|it| it.0), micros, "{usd}");
    }
    assert_eq!(UsdMicros::from_integer(2), Some(UsdMicros(2_000_000)));
    assert_eq!(UsdMicros::from_integer(-1), None);
}

#[test]
fn names_of_secrets_are_known_however_they_are_written() {
    for name in ["api_key", "X-Auth-Token", "clientSecret", "PASSWORD", "authorization"] {
        assert!(names_a_secret(name), "{name}");
    }
    for name in ["max_tokens", "user", "monkey", "tokenizer"] {
        assert!(!names_a_secret(name), "{name}");
    }
}
