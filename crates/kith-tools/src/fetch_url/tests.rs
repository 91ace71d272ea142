use super::*;
use crate::fixture::World;

#[test]
fn a_call_is_about_a_host_and_private_ones_are_refused() {
    let world = World::new("");
    let input = r#"{"name":"fetch_url","input":{"url":"https://Example.org:8443/a?b"}}"#;
    let plan = world.prepare("use_tool", input).unwrap();
    assert_eq!(plan.effects, [Effect::Network]);
    let facts: NetworkFacts = plan.facts.read().unwrap();
    assert_eq!(
        (facts.host.as_str(), facts.url.as_str()),
        ("example.org", "https://example.org:8443/a?b")
    );
    let told = world.call("use_tool", r#"{"name":"fetch_url","input":{"url":"http://127.1/"}}"#);
    assert_eq!(told, "error: `127.0.0.1` is not on the public internet");
}

#[test]
fn pages_are_shown_as_text_and_other_things_are_not() {
    let page = |content_type: &str, body: &[u8]| FetchedPage {
        url: "https://example.org/".to_owned(),
        status: 200,
        content_type: content_type.to_owned(),
        body: body.to_vec(),
        is_cut: false,
    };
    let shown_html = shown(&page("text/html", b"<title>t</title><p>Hello <b>you</b></p>")).unwrap();
    assert_eq!(shown_html, "https://example.org/ (status 200, text/html)\n\nt\n\nHello you\n");
    assert!(shown(&page("application/json", b"{}")).unwrap().ends_with("{}"));
    assert!(
        shown(&page("image/png", b"x")).unwrap_err().contains("is not text: image/png, 1 byte")
    );
    assert!(shown(&page("text/plain", b"a\0b")).unwrap_err().contains("is not text"));
}
