//! Files for houses with ordinary and with odd names.

use super::*;

fn service(system: ServiceSystem, house: &str) -> Service {
    Service {
        system,
        program: PathBuf::from("/opt/my tools/kith"),
        args: vec!["--port".into(), "0".into()],
        house: PathBuf::from(house),
        user_home: PathBuf::from("/home/me"),
        config_home: None,
    }
}

/// Reads a command as systemd does: words in double quotes, with escapes, specifiers and variables.
fn words_of(unit: &str) -> Vec<String> {
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let (mut words, mut chars) = (Vec::new(), line.chars().peekable());
    while let Some(ch) = chars.next() {
        if ch == ' ' {
            continue;
        }
        assert_eq!(ch, '"', "{line}");
        let mut word = String::new();
        loop {
            match chars.next().unwrap() {
                '"' => break,
                '\\' => word.push(chars.next().unwrap()),
                ch @ ('%' | '$') => {
                    assert_eq!(chars.next(), Some(ch), "{line}");
                    word.push(ch);
                }
                ch => word.push(ch),
            }
        }
        words.push(word);
    }
    words
}

#[test]
fn systemd_reads_the_words_that_were_meant() {
    for house in [
        "/home/me/my agent",
        "/home/me/100%",
        "/home/me/$HOME",
        "/home/me/a\"b",
        "/home/me/back\\slash",
        "/home/me/'; rm -rf ~; '",
        "/home/me/智能体 🤖",
        "/home/me/%h%%$$",
        "/home/me/#x; [Service]",
    ] {
        let text = service(ServiceSystem::Systemd, house).text().unwrap();
        let expected = ["/opt/my tools/kith", "up", "--home", house, "--port", "0"];
        assert_eq!(words_of(&text), expected, "{text}");
        assert_eq!(text.matches("[Service]\n").count(), 1);
    }
}

#[test]
fn launchd_reads_the_words_that_were_meant() {
    let text = service(ServiceSystem::Launchd, "/Users/me/<a> & 'b' \"c\"").text().unwrap();
    let line = "    <string>/Users/me/&lt;a&gt; &amp; &apos;b&apos; &quot;c&quot;</string>\n";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("<string>kith.abc-"), "{text}");
}

#[test]
fn what_no_file_can_hold_is_refused() {
    for system in [ServiceSystem::Systemd, ServiceSystem::Launchd] {
        for house in ["/home/me/a\nExecStartPre=evil", "/home/me/\u{1b}[2J"] {
            let refused = service(system, house).text().unwrap_err();
            assert!(refused.to_string().contains("control characters"), "{refused}");
        }
    }
}

#[test]
fn two_houses_have_two_names_whatever_they_are_called() {
    let name = |house| service(ServiceSystem::Systemd, house).name();
    assert_ne!(name("/a/agent"), name("/b/agent"));
    for house in ["/", "/a/../..", "/智能体", "/a b;c$(d)"] {
        let name = name(house);
        let is_plain = |ch: char| ch.is_ascii_alphanumeric() || "-.".contains(ch);
        assert!(name.chars().all(is_plain) && name.starts_with("kith-"), "{name}");
    }
}

#[test]
fn a_file_of_somebody_else_stays() {
    let dir = tempfile::tempdir().unwrap();
    let mut service = service(ServiceSystem::Systemd, "/home/me/agent");
    service.user_home = dir.path().to_owned();
    let path = service.install().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), service.text().unwrap());
    service.install().unwrap();
    assert!(service.uninstall().unwrap());
    assert!(!service.uninstall().unwrap());
    fs::write(&path, "[Service]\nExecStart=/bin/true\n").unwrap();
    assert!(service.install().unwrap_err().to_string().contains("not written by kith"));
    assert!(service.uninstall().is_err());
    assert!(path.exists());
}

#[test]
fn only_a_service_that_reads_the_environment_file_is_said_to() {
    for system in [ServiceSystem::Systemd, ServiceSystem::Launchd] {
        let names_it = service(system, "/home/me/a").text().unwrap().contains(".kith/environment");
        assert_eq!(names_it, system.reads_environment_file(), "{system:?}");
    }
}
