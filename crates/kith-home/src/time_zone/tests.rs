//! Tests of time zones found by their one file.

use std::os::unix::fs::symlink;

use super::*;

fn names() -> Vec<String> {
    jiff::tz::db().available().map(|it| it.as_str().to_owned()).collect()
}

#[test]
fn every_zone_is_the_one_that_the_library_has_under_this_name() {
    for name in names() {
        let library = TimeZone::get(&name).unwrap();
        let ours = named(&name).unwrap();
        assert_eq!((ours.iana_name(), &ours), (library.iana_name(), &library), "{name}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_zone_with_a_file_is_found_without_the_list() {
    // A machine without zones has the list that was compiled in, and no file to find.
    if std::env::var_os("TZDIR").is_some() || !Path::new(ZONES).join("Europe/Berlin").exists() {
        return;
    }
    assert_eq!(of_file("Europe/Berlin").unwrap().iana_name(), Some("Europe/Berlin"));
    assert_eq!(of_file("Asia/Shanghai").unwrap().iana_name(), Some("Asia/Shanghai"));
    assert_eq!(of_file("Europe/Berlin").unwrap(), TimeZone::get("Europe/Berlin").unwrap());
}

#[test]
fn a_name_that_leads_elsewhere_is_left_to_the_library() {
    for name in [
        "",
        "/etc/localtime",
        "..",
        "../zoneinfo/Europe/Berlin",
        "Europe/../Europe/Berlin",
        "Europe//Berlin",
        "./Europe/Berlin",
        "Europe/Berlin/",
        "right/Europe/Berlin",
        "posix/Europe/Berlin",
        "Etc/Unknown",
        "zone.tab",
        "Europe/Berlin\0",
        "欧洲/柏林",
    ] {
        assert_eq!(of_file(name), None, "{name:?}");
        assert_eq!(named(name), TimeZone::get(name).ok(), "{name:?}");
    }
}

#[test]
fn a_name_in_another_case_is_spelled_as_the_library_spells_it() {
    for name in ["europe/berlin", "ASIA/SHANGHAI", "utc", "uTc"] {
        let library = TimeZone::get(name).unwrap();
        assert_eq!(named(name).unwrap().iana_name(), library.iana_name(), "{name}");
    }
}

#[test]
fn what_is_no_zone_is_none() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("Notes"), "not a zone").unwrap();
    fs::create_dir(folder.path().join("Europe")).unwrap();
    assert_eq!(zone_in(folder.path(), "Notes"), None);
    assert_eq!(zone_in(folder.path(), "Europe"), None);
    assert_eq!(zone_in(folder.path(), "Missing"), None);
}

#[test]
fn a_zone_whose_file_was_replaced_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("Home");
    let put = |zone: &str, second: u64| {
        fs::copy(Path::new(ZONES).join(zone), &file).unwrap();
        let modified = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(second);
        File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
        zone_in(folder.path(), "Home").unwrap()
    };
    if !Path::new(ZONES).join("Europe/Berlin").exists() {
        return;
    }
    assert_ne!(put("Europe/Berlin", 1), put("Asia/Shanghai", 2));
}

#[test]
fn the_zone_of_this_machine_is_the_one_its_link_leads_to() {
    assert_eq!(local().iana_name(), TimeZone::system().iana_name());
    if std::env::var_os("TZ").is_some() || of_file("Europe/Berlin").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let link = |target: &str| {
        let path = folder.path().join("localtime");
        fs::remove_file(&path).ok();
        symlink(target, &path).unwrap();
        of_link(&path).and_then(|it| it.iana_name().map(str::to_owned))
    };
    assert_eq!(link("/usr/share/zoneinfo/Europe/Berlin").as_deref(), Some("Europe/Berlin"));
    assert_eq!(link("../usr/share/zoneinfo/Asia/Shanghai").as_deref(), Some("Asia/Shanghai"));
    assert_eq!(link("/elsewhere/Europe/Berlin"), None);
    assert_eq!(of_link(&folder.path().join("none")), None);
}
