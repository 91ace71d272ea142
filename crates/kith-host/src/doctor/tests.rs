//! What is said about machines and disks that are not at hand.

use super::disk::kind_of;
use super::*;

#[test]
fn each_platform_is_told_what_it_can_expect() {
    assert_eq!(platform("linux").state, Health::Ok);
    let mac = platform("macos");
    assert_eq!((mac.state, mac.detail.contains("not tested")), (Health::Warn, true));
    let other = platform("freebsd");
    assert_eq!(other.detail, "freebsd is not supported");
}

#[test]
fn disks_of_other_machines_are_known_by_their_number() {
    for (magic, kind) in [(0x6969, "nfs"), (0xff53_4d42, "smb"), (0x6573_5546, "fuse")] {
        assert_eq!(kind_of(magic), Some(kind));
    }
    for (magic, name) in [(0xef53, "ext4"), (0x0102_1994, "tmpfs"), (0x794c_7630, "overlay")] {
        assert_eq!(kind_of(magic), None, "{name}");
    }
}

#[test]
fn the_doctor_says_what_the_sandbox_keeps_from_happening() {
    let probe = |name, holds, detail: &str| SandboxProbe { name, holds, detail: detail.to_owned() };
    let told = |probes: &[SandboxProbe]| {
        let check = sandbox(probes);
        (check.state, check.detail, check.facts.join(", "))
    };
    let good = probe("namespaces", true, "");
    assert_eq!(
        told(&[good.clone(), probe("no network", true, "")]),
        (Health::Ok, "works (2 protections tried)".to_owned(), "namespaces, no network".to_owned())
    );
    assert_eq!(
        told(&[good, probe("no network", false, "")]),
        (Health::Fail, "does not hold: no network".to_owned(), "namespaces".to_owned())
    );
    let (state, detail, _) = told(&[probe("namespaces", false, "not permitted")]);
    assert_eq!(state, Health::Warn);
    assert_eq!(detail, "commands cannot be sandboxed: not permitted");
}
