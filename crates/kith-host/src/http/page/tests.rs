//! The page inside the program is the one of these sources, and its headers let nothing else in.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::*;

#[test]
fn the_built_page_is_that_of_its_sources() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let mut paths: Vec<PathBuf> =
        ["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"]
            .iter()
            .map(|name| web.join(name))
            .collect();
    for folder in ["public", "src"] {
        files_beneath(&web.join(folder), &mut paths);
    }
    let mut named: Vec<(String, PathBuf)> = paths
        .into_iter()
        .map(|path| (path.strip_prefix(&web).unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    named.sort();
    let mut hash = Sha256::new();
    for (name, path) in named {
        let content = fs::read(path).unwrap();
        hash.update(format!("{name}\0{}\0", content.len()));
        hash.update(content);
    }
    let recorded = FILES.iter().find(|(name, _)| *name == "/source-hash").unwrap().1;
    let hash = kith_vocab::digest::hex(&hash.finalize());
    assert_eq!(
        str::from_utf8(recorded).unwrap().trim(),
        hash,
        "web/dist is not built from these sources: run `npm ci && npm run build` in web/"
    );
}

fn files_beneath(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_beneath(&path, paths);
        } else {
            paths.push(path);
        }
    }
}

#[test]
fn places_of_the_page_are_the_page_and_files_are_what_they_are_named() {
    let none = HeaderMap::new();
    for path in ["/", "/index.html", "/c/some-conversation"] {
        let response = file(path, &none).unwrap();
        assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8", "{path}");
        let policy = response.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    }
    let is_script = |name: &str| Path::new(name).extension().is_some_and(|it| it == "js");
    let (script, _) = FILES.iter().find(|(name, _)| is_script(name)).unwrap();
    let response = file(script, &none).unwrap();
    assert_eq!(response.headers()["content-type"], "text/javascript; charset=utf-8");
    assert!(response.headers()["cache-control"].to_str().unwrap().contains("immutable"));
    for path in ["/missing.js", "/../Cargo.toml", "/assets/../index.html"] {
        assert!(file(path, &none).is_err(), "{path}");
    }
}

#[test]
fn a_file_that_the_browser_has_is_not_sent_again() {
    let first = file("/", &HeaderMap::new()).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("if-none-match", first.headers()["etag"].clone());
    assert_eq!(file("/", &headers).unwrap().status(), StatusCode::NOT_MODIFIED);
}
