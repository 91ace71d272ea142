//! Which crate may write, start processes, open databases or read the clock.
//!
//! Clippy enforces it, by the calls that a crate's `clippy.toml` forbids. Such a file replaces that
//! of the workspace instead of adding to it, so all of them are made from the one table here.

use super::tree::Tree;
use super::{Generated, Violation, stale};

/// Something that only some crates do, and the calls it is done with.
struct Wall {
    methods: &'static [&'static str],
    types: &'static [&'static str],
    /// Folders' names, not packages': `kith` is the program.
    open_to: &'static [&'static str],
    /// What clippy says to those who run into it.
    reason: &'static str,
}

const WALLS: [Wall; 7] = [
    Wall {
        methods: &["kith_vocab::secret::Secret::reveal"],
        types: &[],
        open_to: &["kith-vocab", "kith-providers"],
        reason: "a secret is shown to the server it is for, and to the filter that keeps it in",
    },
    Wall {
        methods: &["tokio::task::block_in_place", "tokio::task::spawn_blocking"],
        types: &[],
        open_to: &["kith-vocab", "kith-tools", "kith-testkit", "xtask"],
        reason: "an async task waits for the disk in `kith_vocab::blocking` only; tools may be left behind",
    },
    Wall {
        methods: &[
            "std::time::SystemTime::now",
            "std::time::Instant::now",
            "uuid::Uuid::now_v7",
            "jiff::Timestamp::now",
            "jiff::Zoned::now",
        ],
        types: &[],
        open_to: &["xtask"],
        reason: "only `Clock` knows the time: take a `&dyn Clock`, so that tests and replay decide it",
    },
    Wall {
        methods: &[
            "hyper::client::conn::http1::handshake",
            "hyper::client::conn::http1::Builder::handshake",
            "reqwest::Client::new",
            "reqwest::Client::builder",
            "reqwest::ClientBuilder::new",
            "reqwest::get",
        ],
        types: &[],
        open_to: &[],
        reason: "one module makes HTTP clients: it knows proxies and certificates and follows no redirect",
    },
    Wall {
        methods: &["std::process::Command::new", "tokio::process::Command::new"],
        types: &[],
        open_to: &["kith-tools", "kith-testkit", "xtask"],
        reason: "only kith-tools starts processes, under its sandbox",
    },
    Wall {
        methods: &[
            "std::fs::write",
            "std::fs::copy",
            "std::fs::rename",
            "std::fs::hard_link",
            "std::fs::remove_file",
            "std::fs::remove_dir",
            "std::fs::remove_dir_all",
            "std::fs::create_dir",
            "std::fs::create_dir_all",
            "std::fs::set_permissions",
            "std::fs::File::create",
            "std::fs::File::create_new",
            "std::fs::OpenOptions::open",
            "tokio::fs::write",
            "tokio::fs::copy",
            "tokio::fs::rename",
            "tokio::fs::remove_file",
            "tokio::fs::create_dir_all",
            "tokio::fs::File::create",
            "tokio::fs::OpenOptions::open",
        ],
        types: &[],
        open_to: &[
            "kith-home",
            "kith-sessions",
            "kith-tools",
            "kith-peers",
            "kith-testkit",
            "xtask",
        ],
        reason: "only kith-home, kith-sessions, kith-tools and kith-peers write, each its own files",
    },
    Wall {
        methods: &[],
        types: &["rusqlite::Connection"],
        open_to: &["kith-sessions"],
        reason: "only kith-sessions opens databases",
    },
];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    stale(tree, generate(tree), "the table in xtask/src/tidy/clippy_tables.rs")
}

pub(crate) fn generate(tree: &Tree) -> Vec<Generated> {
    let file = |folder: &str| {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        Generated { path: format!("{folder}/clippy.toml"), text: clippy_toml(name) }
    };
    tree.packages().map(|(folder, _)| file(folder)).collect()
}

fn clippy_toml(crate_name: &str) -> String {
    let walls = || WALLS.iter().filter(|wall| !wall.open_to.contains(&crate_name));
    let methods = walls().flat_map(|wall| wall.methods.iter().map(|path| entry(path, wall.reason)));
    let types = walls().flat_map(|wall| wall.types.iter().map(|path| entry(path, wall.reason)));
    format!(
        "# Generated from xtask/src/tidy/clippy_tables.rs by `cargo xtask tidy --fix`. Edit that table.\n\
         allow-unwrap-in-tests = true\n\
         allow-expect-in-tests = true\n\
         too-many-lines-threshold = 70\n\
         disallowed-methods = [\n{}]\n\
         disallowed-types = [\n{}]\n",
        methods.collect::<String>(),
        types.collect::<String>(),
    )
}

fn entry(path: &str, reason: &str) -> String {
    // A crate that this one does not use, or uses with fewer features, has no such path, and clippy
    // would warn of it. For the standard library the warning stays: there it means a typing error.
    let invalid = if path.starts_with("std::") { "" } else { ", allow-invalid = true" };
    format!("    {{ path = \"{path}\", reason = \"{reason}\"{invalid} }},\n")
}
