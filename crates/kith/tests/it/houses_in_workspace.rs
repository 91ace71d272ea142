//! Other houses that lie in the folder that a command works in: it may not speak to their hosts, nor read or
//! change what they are.

use std::process::Command;

use kith_testkit::another_user::not_run;

use crate::house::House;

/// Says hello to the host and prints its first line.
const HELLO: &str = "use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => q(.kith/host.sock)) or die $!; \
                     print $s qq({\"type\":\"hello\",\"protocol\":3,\"clientId\":\"test\"}\\n); $s->flush; \
                     print scalar <$s>;";

fn first_line_for(house: &House, behind: &[&str]) -> String {
    let mut hello = Command::new("/usr/bin/env");
    hello.args(behind).args(["perl", "-e", HELLO]).current_dir(house.path(""));
    String::from_utf8(hello.output().unwrap().stdout).unwrap()
}

#[test]
fn a_host_refuses_whoever_is_in_a_namespace_like_that_of_a_sandbox() {
    let house = House::new();
    let mut daemon = house.start(&["up", "--port", "0"]);
    daemon.until("serves http");
    assert_eq!(first_line_for(&house, &[]), "{\"type\":\"hello\",\"protocol\":3}\n");
    let line = first_line_for(&house, &["unshare", "-U", "--map-current-user"]);
    if line.is_empty() {
        not_run("this machine allows no namespaces");
    } else {
        assert!(line.contains("a command in a sandbox may not use a house"), "{line}");
    }
    house.kith(&["down"]).succeeded();
    daemon.finish().succeeded();
}

#[test]
fn a_house_further_down_than_is_looked_is_protected_where_it_is_the_users_own() {
    let house = House::new();
    // More folders than are looked through.
    let many = house.path("a/many");
    std::fs::create_dir_all(&many).unwrap();
    for n in 0..20_000 {
        std::fs::create_dir(many.join(n.to_string())).unwrap();
    }
    house.write("z/z/z/z/other/Agent.md", "Be another.\n");
    house.write("z/z/z/z/other/.kith/http-token", "secret\n");
    let token = "z/z/z/z/other/.kith/http-token";
    let ran = house.kith(&["sandbox", "--", "cat", token]);
    if ran.stderr.contains("allows no namespaces") {
        return not_run("this machine allows no sandbox");
    }
    assert_eq!(ran.stdout, "secret\n", "it is found now; nothing is shown here");
    assert!(
        ran.stderr.contains("the workspace has more than the 20000 folders"),
        "{}",
        ran.shown()
    );
    house.kith_in("z/z/z/z/other", &["trust", "."]).succeeded();
    let ran = house.kith(&["sandbox", "--", "cat", token]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.shown());
}
