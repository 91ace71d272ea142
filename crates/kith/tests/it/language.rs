//! The language in which a person is told things: the settings', the owner's, the locale's.

use std::fs;

use kith_testkit::server::ServerReply;
use serde_json::json;

use crate::house::{House, Vendor, of_type};

const CHINESE: &str = "zh_CN.UTF-8";
/// A turn ends at this limit with a notice.
const ONE_STEP: &str = "[limits]\nsteps = 1\n";

fn stopped_at_a_limit(house: &House) -> String {
    let ran = house.kith(&["ask", "--new", "work"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    ran.stderr
}

fn house(vendor: &Vendor) -> House {
    let house = House::asking(vendor).with("LANG", CHINESE);
    house.write("kith.toml", ONE_STEP);
    house
}

fn read() -> ServerReply {
    ServerReply::calls("", &[("read_file", json!({ "path": "Agent.md" }))])
}

#[test]
fn notices_are_in_the_language_of_the_locale_unless_someone_chose_another() {
    let vendor = Vendor::new([read(), read(), read()]);
    let house = house(&vendor);
    let told = stopped_at_a_limit(&house);
    assert!(told.contains("这个回合到达上限（1 次模型请求）"), "{told}");
    assert_eq!(of_type(&house.log(), "turn_started")[0]["language"], "zh-CN");
    // The owner's own file comes before the locale, and the settings before both.
    house.write("USER.md", "- Preferred language: English\n");
    let told = stopped_at_a_limit(&house);
    assert!(told.contains("The turn stopped at its limit of 1 model request."), "{told}");
    house.write("kith.toml", format!("{ONE_STEP}[ui]\nlanguage = \"zh\"\n"));
    let told = stopped_at_a_limit(&house);
    assert!(told.contains("这个回合到达上限"), "{told}");
}

#[test]
fn a_locale_that_names_no_language_means_english() {
    for locale in ["C", "C.UTF-8", "POSIX"] {
        let vendor = Vendor::new([read()]);
        let house = house(&vendor).with("LC_ALL", locale);
        let told = stopped_at_a_limit(&house);
        assert!(told.contains("The turn stopped at its limit"), "{locale}: {told}");
        assert_eq!(of_type(&house.log(), "turn_started")[0]["language"], "en");
    }
}

#[test]
fn notes_of_the_host_are_in_the_language_of_the_locale() {
    let vendor = Vendor::new([ServerReply::text("一"), ServerReply::text("二")]);
    let house = House::asking(&vendor).with("LANG", CHINESE);
    house.kith(&["ask", "你好"]).succeeded();
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        fs::remove_file(house.path(".kith").join(file)).ok();
    }
    let ran = house.kith(&["ask", "还在吗"]).succeeded();
    assert!(ran.stderr.contains("已根据日志重建"), "{}", ran.stderr);
}
