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
