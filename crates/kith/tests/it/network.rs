//! The connections that the program makes, counted in a network namespace of its own.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::process::Command;

use kith_testkit::server::ServerReply;
use kith_testkit::skipped;

use crate::house::{House, Vendor};

/// Says to the second run of the test that it is in the namespace.
const INSIDE: &str = "KITH_TEST_NAMESPACE";
const TEST: &str = "network::nothing_is_contacted_but_the_chosen_server";

/// What the kernel has counted in this namespace, such as `Tcp.ActiveOpens`.
fn counters() -> BTreeMap<String, u64> {
    let text = fs::read_to_string("/proc/self/net/snmp").unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut counters = BTreeMap::new();
    for pair in lines.chunks(2) {
        let (group, names) = pair[0].split_once(": ").unwrap();
        let (_, values) = pair[1].split_once(": ").unwrap();
        for (name, value) in names.split(' ').zip(values.split(' ')) {
            counters.insert(format!("{group}.{name}"), value.parse().unwrap_or_default());
        }
    }
    counters
}

#[test]
fn nothing_is_contacted_but_the_chosen_server() {
    if env::var_os(INSIDE).is_none() {
        let test = env::current_exe().unwrap();
        let script = "ip link set lo up && exec \"$@\"";
        let can_run =
            Command::new("unshare").args(["-rn", "ip", "link", "set", "lo", "up"]).output();
        if !can_run.is_ok_and(|it| it.status.success()) {
            let why = "this system lends no network namespace (`unshare -rn ip link set lo up`)";
            return skipped::note("nothing_is_contacted_but_the_chosen_server", why);
        }
        let output = Command::new("unshare")
            .args(["-rn", "sh", "-c", script, "sh"])
            .arg(test)
            .args([TEST, "--exact", "--nocapture"])
            .env(INSIDE, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{said}{complaint}");
        return;
    }
    let vendor = Vendor::new([ServerReply::text("one"), ServerReply::text("two")]);
    let house = House::asking(&vendor);
    house.kith(&["ask", "hi"]).succeeded();
    house.kith_with_input(&[], "hello\n").succeeded();
    assert_eq!(vendor.requests().len(), 2);
    let asked = counters();
    assert_eq!(asked["Tcp.ActiveOpens"], 2, "one connection for each command that asks");
    for args in [
        &["ask", "say hi", "--model", "demo"] as &[&str],
        &["session", "ls"],
        &["session", "verify", "latest"],
        &["session", "search", "hi"],
        &["doctor"],
        &["prompt"],
        &["skill", "ls"],
        &["thread", "ls"],
        &["--version"],
        &["--help"],
    ] {
        house.kith(args).succeeded();
    }
    let after = counters();
    assert_eq!(after["Tcp.ActiveOpens"], 2, "other commands connect to nothing");
    for counter in ["Udp.OutDatagrams", "Ip.OutNoRoutes", "Icmp.OutMsgs"] {
        assert_eq!(after[counter], 0, "{counter}");
    }
}
