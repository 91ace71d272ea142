//! `kith ask --attach`: images and PDFs with a message.

use std::fs;

use kith_testkit::gate::Gate;
use kith_testkit::server::ServerReply;

use crate::bad_servers::{WIRES, house_of, said};
use crate::check;
use crate::house::{House, Vendor};

/// One pixel; base64 `iVBORw0KGgo…`.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnot much of an image";
const PDF: &[u8] = b"%PDF-1.7 not much of a document";

/// A text on the wire of this name.
fn answer(wire: &str) -> ServerReply {
    said(wire, "seen")
}

fn house(vendor: &Vendor, wire: &str) -> House {
    let house = house_of(vendor, wire, "");
    house.write("plan.txt", PNG);
    house.write("paper", PDF);
    house
}

#[test]
fn an_image_reaches_the_vendor_on_every_wire_and_is_proven() {
    let data = "iVBORw0KGgpub3QgbXVjaCBvZiBhbiBpbWFnZQ==";
    for wire in WIRES {
        let vendor = Vendor::new([answer(wire), answer(wire)]);
        let house = house(&vendor, wire);
        // It is judged by its bytes, not by its name.
        let told = house.json(&["ask", "what is this?", "--attach", "plan.txt", "--json"]);
        assert_eq!(told["text"], "seen", "{wire}: {told}");
        house.kith(&["ask", "and now?"]).succeeded();
        for body in vendor.bodies() {
            let body = body.to_string();
            assert!(body.contains(data) && body.contains("what is this?"), "{wire}: {body}");
        }
        assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true, "{wire}");
        assert_eq!(house.json(&["session", "replay", "latest", "--json"])["ok"], true, "{wire}");
        assert_eq!(house.json(&["why", "latest", "--json"])["ok"], true, "{wire}");
        let blobs: Vec<String> = fs::read_dir(house.path(".kith/blobs"))
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(blobs.len(), 1, "{wire}: {blobs:?}");
        assert_eq!(fs::read(house.path(".kith/blobs").join(&blobs[0])).unwrap(), PNG);
        house.kith(&["session", "rm", "latest", "--yes"]).succeeded();
        assert_eq!(fs::read_dir(house.path(".kith/blobs")).unwrap().count(), 0, "{wire}");
    }
}

#[test]
fn a_message_with_attachments_is_one_message_however_often_it_is_sent() {
    let vendor = Vendor::new([answer("anthropic"), answer("anthropic")]);
    let house = house(&vendor, "anthropic");
    let ask =
        ["ask", "hi", "--attach", "plan.txt", "--attach", "paper", "--message-id", "m1", "--json"];
    let first = house.json(&ask);
    assert_eq!(house.json(&ask)["leaf"], first["leaf"]);
    assert_eq!(vendor.requests().len(), 1);
    // Other bytes are another message.
    let other = house.json(&["ask", "hi", "--attach", "plan.txt", "--message-id", "m1", "--json"]);
    assert_eq!(other["ok"], false, "{other}");
    let body = vendor.bodies()[0].to_string();
    assert!(body.contains("application/pdf") && body.contains("image/png"), "{body}");
}

#[test]
fn what_cannot_be_shown_is_refused_before_anything_is_sent() {
    let vendor = Vendor::new([]);
    let house = house(&vendor, "openai_chat");
    house.write("notes.png", "just words");
    let large = |mib: usize| [PNG, &vec![0; mib * 1024 * 1024]].concat();
    house.write("large.png", large(20));
    house.write("half.png", large(11));
    check!(house.kith(&["ask", "hi", "--attach", "missing.png"]), @"
    exit 1
    --- stderr
    error: cannot attach `missing.png`: No such file or directory (os error 2)
    hint: check the path, and that you may read the file
    ");
    check!(house.kith(&["ask", "hi", "--attach", "."]), @"
    exit 1
    --- stderr
    error: cannot attach `.`: it is not a file
    ");
    check!(house.kith(&["ask", "hi", "--attach", "notes.png"]), @"
    exit 1
    --- stderr
    error: cannot attach `notes.png`: it is not a PNG, JPEG, GIF or WebP image or a PDF
    hint: put a text file into the agent's folder and ask the agent to read it
    ");
    check!(house.kith(&["ask", "hi", "--attach", "paper"]), @"
    exit 1
    --- stderr
    error: cannot attach `paper`: it is a file that the model's wire cannot carry
    hint: make it smaller, or use a model on another wire (`kith model ls`)
    ");
    let too_large = "error: the attachments are larger than 20 MiB together\n\
                     hint: attach fewer or smaller files\n";
    let ran = house.kith(&["ask", "hi", "--attach", "large.png"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, too_large));
    let ran = house.kith(&["ask", "hi", "--attach", "half.png", "--attach", "half.png"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, too_large));
    assert_eq!(vendor.requests().len(), 0);
    assert!(!house.path(".kith").exists());
    // What this vendor takes no image of is said too.
    house.write("kith.toml", "[models]\nuse = \"c\"\n[models.c]\nwire = \"anthropic\"\n");
    let ran = house.kith(&["ask", "hi", "--attach", "half.png"]);
    assert!(ran.stderr.contains("it is larger than the model's vendor takes"), "{}", ran.stderr);
}

#[test]
fn an_attachment_reaches_a_host_in_another_process() {
    let gate = Gate::default();
    let vendor = Vendor::new([answer("openai_chat").behind(&gate), answer("openai_chat")]);
    let house = house(&vendor, "openai_chat");
    // More than a line from a host may have.
    house.write("big.png", [PNG, &vec![7; 15 * 1024 * 1024]].concat());
    let host = house.start(&["ask", "one", "--thread", "web:room:1", "--json"]);
    vendor.until_asked(1);
    let told = house.json(&["ask", "what is this?", "--attach", "big.png", "--json"]);
    assert_eq!(told["text"], "seen", "{told}");
    gate.open();
    host.finish().succeeded();
    assert_eq!(vendor.requests().len(), 2);
}
