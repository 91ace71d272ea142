use super::*;

fn digest(base_url: &str) -> String {
    endpoint_digest(Wire::OpenaiChat, base_url).unwrap()
}

#[test]
fn the_digest_of_an_address_is_the_known_one() {
    let lines = "openai_chat\nhttps\napi.openai.com\n443\n/v1";
    assert_eq!(digest("https://api.openai.com/v1"), sha256_hex(lines.as_bytes())[..16]);
    assert_eq!(digest("https://api.openai.com/v1"), "8d7513d80341fa4b");
}

#[test]
fn spellings_of_one_address_have_one_digest() {
    let first = digest("https://api.openai.com/v1");
    for same in [
        "https://api.openai.com/v1/",
        "https://api.openai.com:443/v1",
        " HTTPS://API.OpenAI.com/v1#x ",
        "https://api.openai.com/v1?key=secret",
    ] {
        assert_eq!(digest(same), first, "{same}");
    }
    assert_eq!(digest("http://h"), digest("http://h:80/"));
}

#[test]
fn whatever_leads_elsewhere_has_another_digest() {
    let mut digests: Vec<String> = [
        "https://api.openai.com/v1",
        "http://api.openai.com/v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com/v2",
        "https://api.openai.com",
        "https://api.openai.org/v1",
    ]
    .map(digest)
    .to_vec();
    digests.push(endpoint_digest(Wire::Anthropic, "https://api.openai.com/v1").unwrap());
    let n_digests = digests.len();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), n_digests);
}

#[test]
fn what_is_no_address_has_no_digest() {
    for text in ["", "api.openai.com/v1", "file:///etc/passwd", "http://me:pass@h/"] {
        let error = endpoint_digest(Wire::OpenaiChat, text).unwrap_err().to_string();
        assert!(!error.contains("pass@"), "{error}");
    }
}

#[test]
fn each_wire_has_its_own_path_of_requests() {
    let of = |wire, text: &str| request_address(wire, text).unwrap().to_string();
    let chat = |text: &str| of(Wire::OpenaiChat, text);
    assert_eq!(chat("https://api.openai.com/v1"), "https://api.openai.com/v1/chat/completions");
    assert_eq!(chat(" http://localhost:1/v1/ "), "http://localhost:1/v1/chat/completions");
    assert_eq!(chat("http://h?api-version=1#x"), "http://h/chat/completions?api-version=1");
    assert_eq!(of(Wire::OpenaiResponses, "http://h/v1"), "http://h/v1/responses");
    for base in ["https://api.anthropic.com", "https://api.anthropic.com/v1/"] {
        assert_eq!(of(Wire::Anthropic, base), "https://api.anthropic.com/v1/messages");
    }
    assert_eq!(of(Wire::Anthropic, "http://h/anthropic"), "http://h/anthropic/v1/messages");
    for text in ["", "api.openai.com/v1", "file:///etc/passwd", "localhost:11434", "http://"] {
        let error = request_address(Wire::OpenaiChat, text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("base URL `{text}` is not valid")), "{error}");
    }
}

#[test]
fn a_base_url_with_the_path_of_a_request_is_named_with_what_to_write() {
    for (wire, text, instead) in [
        (Wire::OpenaiChat, "http://localhost:1/v1/chat/completions", "http://localhost:1/v1"),
        (Wire::OpenaiChat, "https://h/v1/chat/completions/?key=k", "https://h/v1"),
        (Wire::OpenaiChat, "https://h/v1/completions", "https://h/v1"),
        (Wire::OpenaiResponses, "https://h/v1/responses", "https://h/v1"),
        (Wire::Anthropic, "https://h/v1/messages", "https://h"),
        (Wire::Anthropic, "https://h/messages", "https://h"),
    ] {
        let error = request_address(wire, text).unwrap_err().to_string();
        let shown = text.split('?').next().unwrap();
        assert_eq!(
            error,
            format!("base URL `{shown}` contains the path of a request; write `{instead}`")
        );
    }
    assert_eq!(without_request_path("https://h/v1"), None);
}
