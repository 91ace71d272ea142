//! The loop that does nothing else: the HTTP calls and synced appends of a turn.
//!
//! It uses the same HTTP client and runtime as Kith, so that what is compared is our own work and
//! not the choice of libraries. Each thread has a file of its own, also for what Kith puts on its
//! one desk: nothing here waits for anything but the disk and the server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

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
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build();
    let client = client.expect("a client can be made");
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
    let path = dir.join(format!("{n}.jsonl"));
    let (folder, beside) = (dir.to_owned(), dir.join(format!("{n}.tmp")));
    let mut desk = RawFile::new(&dir.join(format!("{n}.desk")));
    let mut log = blocking(move || {
        let mut file = RawFile::new(&beside);
        file.append(sizes.first);
        std::fs::rename(&beside, &path).expect("a file can be renamed");
        sync_folder(&folder);
        RawFile::new(&path)
    })
    .await;
    let Sizes { request, batch, desk_row, .. } = sizes;
    for _ in 0..TURNS_PER_SESSION {
        desk = append(desk, desk_row).await;
        log = append(log, batch).await;
        post(client, url, "user", request).await;
        log = append(log, batch).await;
        log = append(log, batch).await;
        post(client, url, "tool", request).await;
        log = append(log, batch).await;
        desk = append(desk, desk_row).await;
    }
}

fn sync_folder(folder: &PathBuf) {
    let folder = std::fs::File::open(folder).expect("a folder can be opened");
    folder.sync_all().expect("a folder can be synced");
}

async fn append(mut file: RawFile, n_bytes: usize) -> RawFile {
    blocking(move || {
        file.append(n_bytes);
        file
    })
    .await
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("the disk works")
}

async fn post(client: &reqwest::Client, url: &str, last_role: &str, n_bytes: usize) {
    let filler = "x".repeat(n_bytes);
    let body = format!("{{\"content\":\"{filler}\",\"role\":\"{last_role}\"}}");
    let sent = client.post(url).header("content-type", "application/json").body(body).send();
    let response = sent.await.expect("the server answers");
    response.bytes().await.expect("the answer comes to its end");
}
