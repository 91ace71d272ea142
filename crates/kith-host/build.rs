//! Puts the built page into the program: one line of Rust for each file of `web/dist`.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const PAGE: &str = "../../web/dist";

#[allow(clippy::disallowed_methods, reason = "a build script writes where Cargo says")]
fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join(PAGE);
    println!("cargo::rerun-if-changed={PAGE}");
    let mut paths = Vec::new();
    files_beneath(&root, &mut paths)?;
    paths.sort();
    let mut lines = String::from("&[\n");
    for path in paths {
        let name = path.strip_prefix(&root)?.to_str().ok_or("a name that is not UTF-8")?.to_owned();
        let path = path.to_str().ok_or("a path that is not UTF-8")?;
        writeln!(lines, "    ({:?}, include_bytes!({path:?})),", format!("/{name}"))?;
    }
    lines.push_str("]\n");
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("page_files.rs"), lines)?;
    Ok(())
}

/// A page that was not built has no files.
fn files_beneath(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files_beneath(&path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}
