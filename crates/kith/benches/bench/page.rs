//! The web page in a real Chromium: how long it takes from its address to the first conversation.
//!
//! `web/test/page/load.mjs` starts a daemon with a conversation and loads the page again and again. It
//! needs node, Chromium and the packages of `web/`, which `cargo xtask test --page` installs.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Ground;
use super::figure::Figure;

const NAME: &str = "page: from its address to the first conversation, in Chromium";
const SCRIPT_KILOBYTES_MAX: f64 = 300.0;

pub(crate) fn measure(ground: &Ground) -> Vec<Figure> {
    match load(ground) {
        Ok(loaded) => figures(&loaded),
        Err(why) => vec![Figure::new(NAME, format!("not measured: {why}"))],
    }
}

fn load(ground: &Ground) -> Result<Value, String> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let output = Command::new("node")
        .arg("test/page/load.mjs")
        .current_dir(&web)
        .env("KITH", &ground.kith)
        .env("KITH_PAGE_EMBEDDED", "1")
        .output()
        .map_err(|error| format!("node cannot be started ({error})"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().find(|it| it.contains("Error")).unwrap_or("it said nothing");
        return Err(format!("`cargo xtask test --page` installs what it needs ({})", line.trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

fn figures(loaded: &Value) -> Vec<Figure> {
    let time = |name: &str| loaded["times"][name].as_f64().unwrap_or(f64::NAN);
    let shown = format!(
        "{:.0} ms; first paint {:.0}, list {:.0} ms (median of {})",
        time("conversation"),
        time("first paint"),
        time("list of conversations"),
        loaded["runs"]
    );
    let kilobytes = loaded["scripts"]["bytes"].as_f64().unwrap_or(f64::NAN) / 1024.0;
    let scripts = format!("{kilobytes:.0} KB gzip in {} files", loaded["scripts"]["files"]);
    vec![
        Figure::new(NAME, shown),
        Figure::new("page: JavaScript before the first conversation", scripts)
            .goal("at most 300 KB", kilobytes <= SCRIPT_KILOBYTES_MAX),
    ]
}
