//! What a turn costs between an answer and the next request, beside its two synced appends.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use kith_sessions::desk::RowTarget;

use super::Ground;
use super::bare::{self, Sizes};
use super::bench_house::{BenchHouse, chat};
use super::figure::{Figure, median, ms, ratio};
use super::server::{Exchange, ServerProcess};

const TURNS: usize = 300;
/// A new session so often: the request must not grow into the figure.
pub(crate) const TURNS_PER_SESSION: usize = 20;
/// Of a step's two batches: an answer with a verdict, a result with the next request.
const BATCH_BYTES: [usize; 2] = [1300, 1100];

pub(crate) fn measure(ground: &Ground) -> Vec<Figure> {
    let dir = ground.dir.join("step");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    // On a worker, as a host's connections are: the thread that blocks on a runtime is woken late.
    let times = runtime.spawn(async move { times(&dir).await });
    figures(&runtime.block_on(times).expect("a turn does not fail"))
}

async fn times(dir: &Path) -> Times {
    let server = ServerProcess::start();
    let house = BenchHouse::open(dir, chat(&server.url())).await;
    let mut raw = RawFile::new(&dir.join("raw"));
    let (mut gaps, mut appends, mut turns) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..TURNS {
        let target = if n % TURNS_PER_SESSION == 0 { RowTarget::New } else { RowTarget::Current };
        let began = Instant::now();
        house.turn("cli:room:a", &format!("m{n}"), target).await;
        turns.push(began.elapsed());
        gaps.extend(gap(&server.take_log()));
        appends.push(BATCH_BYTES.map(|n_bytes| raw.append(n_bytes)).into_iter().sum());
    }
    house.end().await;
    let bare = bare_gaps(&dir.join("bare"), &server).await;
    Times { gaps, appends, turns, bare }
}

struct Times {
    gaps: Vec<Duration>,
    appends: Vec<Duration>,
    turns: Vec<Duration>,
    bare: Vec<Duration>,
}

fn figures(times: &Times) -> Vec<Figure> {
    let [gap, appends, turn, bare] =
        [&times.gaps, &times.appends, &times.turns, &times.bare].map(|it| median(it.clone()));
    let name = "a step: last byte of an answer to first byte of the next request, `read_file`";
    let (of_appends, of_bare) = (ratio(gap, appends), ratio(gap, bare));
    vec![
        Figure::new(name, ms(gap))
            .against(format!("{} two synced appends", ms(appends)), of_appends)
            .goal("at most 1.5x", of_appends <= 1.5),
        Figure::new("the same beside the bare loop, which has the network in it too", ms(gap))
            .against(format!("{} bare loop", ms(bare)), of_bare),
        Figure::new("a whole turn of two requests, one thread, accepted to ended", ms(turn)),
    ]
}

/// What the same two appends cost when the next request has to be sent as well.
async fn bare_gaps(dir: &Path, server: &ServerProcess) -> Vec<Duration> {
    let [_, batch] = BATCH_BYTES;
    let sizes = Sizes { request: 10_000, batch, desk_row: 1000, first: 8000 };
    bare::turns(dir, &server.url(), 1, TURNS / TURNS_PER_SESSION, sizes).await;
    server.take_log().chunks(2).filter_map(gap).collect()
}

fn gap(exchanges: &[Exchange]) -> Option<Duration> {
    match exchanges {
        [call, words] if !call.is_last && words.is_last => {
            Some(Duration::from_micros(words.first_byte_us.saturating_sub(call.answered_us)))
        }
        _ => None,
    }
}

/// A file that is appended to and synced, and nothing else.
pub(crate) struct RawFile(File);

impl RawFile {
    pub(crate) fn new(path: &Path) -> RawFile {
        let file = OpenOptions::new().create(true).append(true).open(path);
        RawFile(file.expect("a file can be made"))
    }

    pub(crate) fn append(&mut self, n_bytes: usize) -> Duration {
        let bytes = vec![b'x'; n_bytes];
        let began = Instant::now();
        self.0.write_all(&bytes).expect("a file can be written");
        self.0.sync_data().expect("a file can be synced");
        began.elapsed()
    }
}
