use kith_sessions::damage::DamageCode;

use super::*;

#[test]
fn every_code_is_written_in_json_as_it_is_shown() {
    for &code in ErrorCode::ALL {
        assert_eq!(serde_json::to_string(&code).unwrap(), format!("\"{code}\""));
        let read: ErrorCode = serde_json::from_str(&format!("\"{code}\"")).unwrap();
        assert_eq!(read, code);
    }
}

#[test]
fn a_code_of_a_newer_host_is_unknown_and_not_a_failure() {
    let read: ErrorCode = serde_json::from_str("\"invented_tomorrow\"").unwrap();
    assert_eq!(read, ErrorCode::Unknown);
}

#[test]
fn every_damage_has_its_code() {
    for &damage in DamageCode::ALL {
        assert_eq!(ErrorCode::from(damage).as_str(), damage.as_str());
    }
}
