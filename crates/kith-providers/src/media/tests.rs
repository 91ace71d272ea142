//! Media on every wire: a test is a type and bytes, and what the body says of them.

use kith_vocab::conversation::{CallResult, Element, Message, ResultPart};
use kith_vocab::ids::EventId;
use kith_vocab::json::Json;

use base64::Engine as _;

use super::*;
use crate::render::render;

const WIRES: [Wire; 3] = [Wire::OpenaiChat, Wire::Anthropic, Wire::OpenaiResponses];
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n pixels";
const PDF: &[u8] = b"%PDF-1.7 pages";

#[test]
fn an_image_is_shown_on_every_wire() {
    let data = STANDARD.encode(PNG);
    let url = format!("data:image/png;base64,{data}");
    check(
        Wire::OpenaiChat,
        "image/png",
        PNG,
        &format!(r#"{{"type":"image_url","image_url":{{"url":"{url}"}}}}"#),
    );
    let source =
        format!(r#""source":{{"type":"base64","media_type":"image/png","data":"{data}"}}"#);
    check(Wire::Anthropic, "image/png", PNG, &format!(r#"{{"type":"image",{source}"#));
    check(
        Wire::OpenaiResponses,
        "image/png",
        PNG,
        &format!(r#"{{"type":"input_image","image_url":"{url}"}}"#),
    );
}

#[test]
fn a_pdf_is_shown_where_the_vendor_takes_it() {
    let data = STANDARD.encode(PDF);
    let source =
        format!(r#""source":{{"type":"base64","media_type":"application/pdf","data":"{data}"}}"#);
    check(Wire::Anthropic, "application/pdf", PDF, &format!(r#"{{"type":"document",{source}"#));
    let file = format!(
        r#"{{"type":"input_file","filename":"a.b","file_data":"data:application/pdf;base64,{data}"}}"#
    );
    check(Wire::OpenaiResponses, "application/pdf", PDF, &file);
    check(
        Wire::OpenaiChat,
        "application/pdf",
        PDF,
        "[file application/pdf, 14 bytes, not shown on this wire]",
    );
}

#[test]
fn what_a_wire_cannot_show_is_told_in_words() {
    for wire in WIRES {
        check(wire, "text/csv", b"a,b", "[file text/csv, 3 bytes, not shown on this wire]");
        check(wire, "audio/ogg", b"OggS", "[audio audio/ogg, 4 bytes, not shown on this wire]");
        // A vendor refuses the whole request for it.
        check(wire, "image/png", b"<html>", "[image image/png, 6 bytes, not valid, not shown]");
        check(
            wire,
            "image/svg+xml",
            b"<svg>",
            "[image image/svg+xml, 5 bytes, not shown on this wire]",
        );
    }
    let large = [PNG, &vec![0; 4 * 1024 * 1024]].concat();
    check(Wire::Anthropic, "image/png", &large, "too large for this wire, not shown]");
}

#[test]
fn images_of_results_stand_where_the_wire_takes_them() {
    let url = format!("data:image/png;base64,{}", STANDARD.encode(PNG));
    let image = media("image/png", PNG);
    let talk = [result(vec![ResultPartKind::Text("drawn".into()), ResultPartKind::Media(image)])];
    let chat = body(Wire::OpenaiChat, &talk, PNG).unwrap();
    assert!(
        chat.contains(r#""content":"drawn[image image/png, 15 bytes, shown below the results]"}"#),
        "{chat}"
    );
    assert!(
        chat.contains(&format!(
            r#"{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"{url}"}}}}]}}"#
        )),
        "{chat}"
    );
    let anthropic = body(Wire::Anthropic, &talk, PNG).unwrap();
    assert!(
        anthropic.contains(r#""content":[{"type":"text","text":"drawn"},{"type":"image","source""#),
        "{anthropic}"
    );
    let responses = body(Wire::OpenaiResponses, &talk, PNG).unwrap();
    assert!(responses.contains(&format!(r#""output":[{{"type":"input_text","text":"drawn"}},{{"type":"input_image","image_url":"{url}"}}]"#)), "{responses}");
}

#[test]
fn media_of_an_answer_is_told_in_words() {
    let talk = [
        message(Role::User, ElementKind::Text("draw".into())),
        message(Role::Assistant, ElementKind::Media(media("image/png", PNG))),
        message(Role::User, ElementKind::Text("thanks".into())),
    ];
    for wire in WIRES {
        let body = body(wire, &talk, PNG).unwrap();
        assert!(body.contains("[image image/png, 15 bytes, not shown on this wire]"), "{body}");
    }
}

#[test]
fn a_request_carries_at_most_twenty_mebibytes_of_media() {
    let mut image = media("image/png", PNG);
    image.bytes = MEDIA_BYTES_MAX / 8 + 1;
    let one = message(Role::User, ElementKind::Media(image));
    assert!(body(Wire::OpenaiChat, &vec![one.clone(); 7], PNG).is_ok());
    for wire in WIRES {
        let refused = body(wire, &vec![one.clone(); 8], PNG).unwrap_err();
        assert_eq!(
            refused,
            "the images and files of the conversation have 21 MiB together, and a request may \
             carry 20; go back with `kith session branch`, or start over with `kith ask --new`"
        );
    }
}

#[test]
fn an_image_whose_bytes_are_lost_is_told_in_words() {
    let talk = [message(Role::User, ElementKind::Media(media("image/png", b"others")))];
    for wire in WIRES {
        let body = body(wire, &talk, PNG).unwrap();
        assert!(body.contains("[image image/png, 6 bytes, lost, not shown]"), "{body}");
    }
}

#[track_caller]
fn check(wire: Wire, media_type: &str, bytes: &[u8], expected: &str) {
    let talk = [message(Role::User, ElementKind::Media(media(media_type, bytes)))];
    let body = body(wire, &talk, bytes).unwrap();
    assert!(body.contains(expected), "{expected}\n{body:.2000}");
}

fn body(wire: Wire, messages: &[Message], bytes: &[u8]) -> Result<String, String> {
    let parameters = Json::empty_object();
    let request = ModelRequest {
        provider: "p",
        model: "m",
        parameters: &parameters,
        system: "Be kind.",
        tools: &[],
        messages: messages.iter().collect(),
    };
    let media = MediaBytes::from([(blob_of(bytes), bytes.to_vec())]);
    let body = render(wire, &request, &media).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(body).unwrap())
}

fn media(media_type: &str, bytes: &[u8]) -> Media {
    let name = Some("a.b".to_owned());
    let media_type = media_type.to_owned();
    Media { media_type, blob: blob_of(bytes), bytes: bytes.len() as u64, name }
}

fn blob_of(bytes: &[u8]) -> String {
    kith_vocab::digest::sha256_hex(bytes)
}

fn message(role: Role, kind: ElementKind) -> Message {
    Message { role, elements: vec![Element { from: None, kind }] }
}

fn result(kinds: Vec<ResultPartKind>) -> Message {
    let parts = kinds.into_iter().map(|kind| ResultPart { from: None, kind }).collect();
    let id: EventId = "0198a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1".parse().unwrap();
    let result = CallResult { call_id: id.call(0), tool: "draw".to_owned(), failed: false, parts };
    message(Role::User, ElementKind::Result(result))
}
