//! Private text stays out of threads that others read: out of prompts, reminders and thread files.

use std::fs;

use jiff::{ToSpan, Zoned};
use kith_testkit::server::ServerReply;

use crate::house::{House, Vendor};

const TURNS_MAX: usize = 32;

/// Every private place says its canary, `n` tells one state of the files from the next.
fn write_all(house: &House, n: usize) {
    house.write("USER.md", format!("Timezone: Europe/Berlin\nSecret: CANARY-USER-{n}\n"));
    house.write("MEMORY.md", format!("CANARY-MEMORY-{n}\n"));
    house.write("TOOLS.md", format!("CANARY-TOOLS-{n}\n"));
    house.write(".kith/memory/users/somebody.md", format!("CANARY-SOMEBODY-{n}\n"));
    // Whatever day it is there.
    for days in [-1, 0, 1] {
        let date = (&Zoned::now() + days.days()).strftime("%Y-%m-%d").to_string();
        house.write(&format!("memory/{date}.md"), format!("CANARY-NOTES-{n}\n"));
    }
}

fn count(texts: &[String], canary: &str) -> usize {
    texts.iter().map(|text| text.matches(canary).count()).sum()
}

#[test]
fn no_private_line_reaches_a_thread_that_others_read() {
    let vendor = Vendor::new((0..TURNS_MAX).map(|_| ServerReply::text("fine")));
    let house = House::asking(&vendor);
    house.write("SOUL.md", "calm\n");
    write_all(&house, 1);
    let mut sent: Vec<(&str, Vec<String>)> = Vec::new();
    let threads =
        [("owner", "cli:room:a"), ("shared", "telegram:group:1"), ("peer", "peer:dm:l.b")];
    for (audience, thread) in threads {
        let before = vendor.bodies().len();
        write_all(&house, 1);
        let first = house.json(&["ask", "hello", "--thread", thread, "--json"]);
        write_all(&house, 2);
        house.kith(&["ask", "and now?", "--thread", thread]).succeeded();
        let session = first["sessionId"].as_str().unwrap();
        let header = &house.json(&["session", "show", session, "--json"])["header"];
        assert_eq!(header["audience"], audience, "{thread}");
        // A clone reads what its source read, and is told no more than that.
        let cloned = house.json(&["session", "clone", session, "--json"]);
        let cloned = cloned["sessionId"].as_str().unwrap();
        write_all(&house, 3);
        house.kith(&["ask", "in the clone", "--session", cloned]).succeeded();
        let header = &house.json(&["session", "show", cloned, "--json"])["header"];
        assert_eq!(header["audience"], audience, "the clone of {thread}");
        let bodies = vendor.bodies().into_iter().skip(before).map(|body| body.to_string());
        sent.push((audience, bodies.collect()));
    }
    for (audience, bodies) in &sent {
        let private = ["CANARY-USER", "CANARY-MEMORY", "CANARY-NOTES"];
        for canary in private {
            let n = count(bodies, canary);
            assert_eq!(n > 0, *audience == "owner", "{canary} in {audience}: {n} times");
        }
        assert_eq!(count(bodies, "CANARY-SOMEBODY"), 0, "{audience}");
        assert_eq!(count(bodies, "CANARY-TOOLS") > 0, *audience != "peer", "{audience}");
        // The second state was told, where it may be.
        assert_eq!(count(bodies, "CANARY-TOOLS-2") > 0, *audience != "peer", "{audience}");
        assert!(count(bodies, "calm") > 0, "{audience} is shown nothing at all");
    }
    let files = fs::read_dir(house.path(".kith/threads")).unwrap();
    let files: Vec<String> =
        files.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    assert_eq!((files.len(), count(&files, "hello") > 0), (6, true));
    let shared = files.iter().filter(|it| !it.contains("cli:room:a")).cloned().collect::<Vec<_>>();
    assert_eq!(count(&shared, "CANARY"), 0);
}
