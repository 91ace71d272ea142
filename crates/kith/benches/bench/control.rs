//! How soon a steer and a cancel reach a running turn, beside a round trip over loopback.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kith_engine::command::{CommandAction, DriverCommand};
use kith_engine::feed::FeedItem;
use kith_sessions::desk::RowTarget;
use kith_vocab::clock::{BoxFuture, Clock as _};
use kith_vocab::event::Body;
use kith_vocab::event::models::Wire;
use kith_vocab::ids::EventId;
use kith_vocab::ingress::{IngressEvent, RunningBehavior};
use kith_vocab::json::Json;
use kith_vocab::provider::{
    Answer, AnswerFailure, AskContext, FailureCause, ModelChoice, Provider,
};
use tokio::runtime::Runtime;

use super::Ground;
use super::bench_house::BenchHouse;
use super::figure::{Figure, median, ms, ratio};
use super::house::{WallClock, message};

const RUNS: usize = 50;
const REACHED_MAX: Duration = Duration::from_millis(50);

pub(crate) fn measure(ground: &Ground) -> Vec<Figure> {
    let runtime = Runtime::new().expect("a runtime can be made");
    let (steers, cancels) = runtime.block_on(reach(ground));
    let round_trip = median(round_trips());
    let row = |name: &str, times: Vec<Duration>| {
        let most = times.iter().copied().max().unwrap_or_default();
        let time = median(times);
        Figure::new(name, format!("{}, {} at most", ms(time), ms(most)))
            .against(format!("{} over loopback", ms(round_trip)), ratio(time, round_trip))
            .goal("at most 50 ms", most <= REACHED_MAX)
    };
    vec![
        row("a steer: from its acceptance to the log of the running turn", steers),
        row("a cancel: from its sending to the model that answers", cancels),
    ]
}

/// Speaks only when it is told to stop.
struct Waiting {
    choice: ModelChoice,
    stopped: Mutex<Option<Instant>>,
    asked: tokio::sync::Notify,
}

impl Provider for Waiting {
    fn choice(&self) -> &ModelChoice {
        &self.choice
    }

    fn ask(&self, _: Vec<u8>, ctx: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>> {
        Box::pin(async move {
            self.asked.notify_one();
            ctx.cancel.cancelled().await;
            *self.stopped.lock().expect("nobody panics with it") = Some(Instant::now());
            let (cause, partial_text) = (FailureCause::Cancelled, String::new());
            Err(AnswerFailure { cause, partial_text, usage: None })
        })
    }
}

async fn reach(ground: &Ground) -> (Vec<Duration>, Vec<Duration>) {
    let model = Arc::new(Waiting {
        choice: ModelChoice {
            provider: "fake".to_owned(),
            wire: Wire::OpenaiChat,
            model: "fake".to_owned(),
            parameters: Json::empty_object(),
            context_window: 128_000,
        },
        stopped: Mutex::default(),
        asked: tokio::sync::Notify::new(),
    });
    let house = BenchHouse::open(&ground.dir.join("control"), model.clone()).await;
    let (mut steers, mut cancels) = (Vec::new(), Vec::new());
    for n in 0..RUNS {
        let room = format!("cli:room:c{n}");
        let first = message(&format!("m{n}"), &room, "go");
        let row = house.engine.send(&first, RowTarget::New).await.expect("it is accepted");
        model.asked.notified().await;
        let id = row.session_id();
        let mut events = house.engine.follow(id, 0);
        let steer = IngressEvent {
            running_behavior: RunningBehavior::Steer,
            ..message(&format!("s{n}"), &room, "left")
        };
        house.engine.send(&steer, RowTarget::Current).await.expect("it is accepted");
        let accepted = Instant::now();
        loop {
            let item = events.next().await.expect("the session goes on");
            if let FeedItem::Event(event) = item
                && matches!(event.body, Body::QueueUpdate(_))
            {
                break;
            }
        }
        steers.push(accepted.elapsed());
        let sent = Instant::now();
        let command = DriverCommand {
            id: EventId::from_uuid(WallClock.new_id()),
            client_id: "cli".to_owned(),
            user_id: "owner".to_owned(),
            action: CommandAction::Cancel { key: None },
        };
        house.engine.command(id, command).await.expect("a turn runs");
        row.end().await.expect("it comes to its end");
        let stopped = model.stopped.lock().expect("nobody panics with it").take();
        cancels.push(stopped.map_or(Duration::MAX, |stopped| stopped.duration_since(sent)));
    }
    house.end().await;
    (steers, cancels)
}

/// A byte there and back.
fn round_trips() -> Vec<Duration> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    let echo = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody connects");
        let mut byte = [0];
        while stream.read_exact(&mut byte).is_ok() {
            stream.write_all(&byte).expect("it is still there");
        }
    });
    let mut stream = TcpStream::connect(address).expect("the listener is there");
    stream.set_nodelay(true).expect("a socket has options");
    let times = (0..RUNS).map(|_| {
        let began = Instant::now();
        stream.write_all(&[1]).expect("it is still there");
        stream.read_exact(&mut [0]).expect("it answers");
        began.elapsed()
    });
    let times = times.collect();
    drop(stream);
    echo.join().expect("the echo ends");
    times
}
