//! The loop that does nothing else: the HTTP calls and synced appends of a turn.
//!
//! It syncs exactly what Kith syncs: the desk once per turn, when the message is accepted, and the
//! log four times; a new session is made with its first batch. It has the same runtime and waits for the
//! disk in the same way. Its HTTP client is `reqwest`, where Kith drives a connection of its own: the
//! loop stands for what a simple program would cost. Each thread has a file of its own, also for what Kith puts on its one
//! desk: nothing here waits for anything but the disk and the server.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{JoinSet, block_in_place};

use super::step::{RawFile, TURNS_PER_SESSION};

/// What a turn sends and leaves behind, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) request: usize,
    pub(crate) batch: usize,
    pub(crate) desk_row: usize,
    /// Of a session when it is made.
    pub(crate) first: usize,
}

pub(crate) async fn turns(
    dir: &Path,
    address: &str,
    n_threads: usize,
    n_sessions: usize,
    sizes: Sizes,
) -> Duration {
    std::fs::create_dir_all(dir).expect("a folder can be made");
    let client = client();
    let url: Arc<str> = format!("{address}/chat/completions").into();
    let mut threads = JoinSet::new();
    let began = Instant::now();
    for n in 0..n_threads {
        let (dir, client, url) = (dir.to_owned(), client.clone(), Arc::clone(&url));
        threads.spawn(async move {
            for session in 0..n_sessions {
                session_of(&dir, n * n_sessions + session, &client, &url, sizes).await;
            }
        });
    }
    while let Some(ended) = threads.join_next().await {
        ended.expect("the bare loop does not fail");
    }
    began.elapsed()
}

async fn session_of(dir: &Path, n: usize, client: &reqwest::Client, url: &str, sizes: Sizes) {
    let Sizes { request, batch, desk_row, first } = sizes;
    let mut desk = RawFile::new(&dir.join(format!("{n}.desk")));
    let mut log = None;
    for _ in 0..TURNS_PER_SESSION {
        block_in_place(|| desk.append(desk_row));
        let log = match &mut log {
            None => log.insert(block_in_place(|| new_log(dir, n, first + batch))),
            Some(log) => {
                block_in_place(|| log.append(batch));
                log
            }
        };
        post(client, url, body("user", request)).await;
        block_in_place(|| log.append(batch));
        block_in_place(|| log.append(batch));
        post(client, url, body("tool", request)).await;
        block_in_place(|| log.append(batch));
    }
}

/// Makes a file that exists whole or not at all.
fn new_log(dir: &Path, n: usize, n_bytes: usize) -> RawFile {
    let (beside, path) = (dir.join(format!("{n}.tmp")), dir.join(format!("{n}.jsonl")));
    let mut file = RawFile::new(&beside);
    file.append(n_bytes);
    std::fs::rename(&beside, &path).expect("a file can be renamed");
    let folder = std::fs::File::open(dir).expect("a folder can be opened");
    folder.sync_all().expect("a folder can be synced");
    file
}

fn body(last_role: &str, n_bytes: usize) -> String {
    let filler = "x".repeat(n_bytes);
    format!("{{\"content\":\"{filler}\",\"role\":\"{last_role}\"}}")
}

pub(crate) fn client() -> reqwest::Client {
    // It fails if a provider is installed already, which is as good.
    rustls::crypto::ring::default_provider().install_default().unwrap_or_default();
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build();
    client.expect("a client can be made")
}

pub(crate) async fn post(client: &reqwest::Client, url: &str, body: String) {
    let sent = client.post(url).header("content-type", "application/json").body(body).send();
    let response = sent.await.expect("the server answers");
    response.bytes().await.expect("the answer comes to its end");
}
