//! What a follower sees: every event once and in order, and what is said now as far as it goes.

use kith_sessions::journal::{FilesJournal, Journal};
use kith_testkit::clock::FakeClock;
use kith_testkit::files::MemoryFiles;
use kith_vocab::block::Block;
use kith_vocab::event::Body;
use kith_vocab::event::control::{Level, Notice};
use kith_vocab::event::messages::{AnswerContent, AssistantMessage, StopReason};
use kith_vocab::provider::DeltaPart;

use super::*;
use crate::fixture::{header, store_on, within};
use crate::session::{EventSource, Session, SessionParts};

const EPOCH: &str = "this life";

/// A session whose events a test writes one by one, and its feed.
struct CallStage {
    feed: Feed,
    journal: Arc<dyn Journal>,
    session: Session,
    id: SessionId,
}

impl CallStage {
    fn new() -> CallStage {
        let clock = Arc::new(FakeClock::new());
        let journal = Arc::new(FilesJournal::new(store_on(MemoryFiles::new())));
        let feed = Feed::new(EPOCH.to_owned());
        let id = SessionId::from_uuid(kith_vocab::clock::Clock::new_id(&*clock));
        let parts = SessionParts { journal: journal.clone(), feed: feed.session(id), clock };
        CallStage { feed, journal, session: Session::new(parts, header(id)), id }
    }

    /// Writes so many batches of one event.
    async fn notices(&mut self, n: usize, text: &str) {
        for _ in 0..n {
            let notice = Notice { text: text.into(), level: Level::Info, about: None };
            self.session.stage(Body::Notice(notice));
            self.session.commit().await.unwrap();
        }
    }

    fn say(&self, request_id: EventId, text: &str) {
        self.feed
            .session(self.id)
            .delta(request_id, Delta { block: 0, part: DeltaPart::Text(text) });
    }

    /// Writes the answer of which deltas were said.
    async fn answer(&mut self, request_id: EventId, text: &str) {
        let source = EventSource { id: Some(request_id), ..EventSource::RUNTIME };
        let answer = AssistantMessage {
            request_id: Some(request_id),
            message: AnswerContent { content: vec![Block::text(text)] },
            provider: None,
            model: None,
            usage: None,
            stop_reason: StopReason::EndTurn,
            primed: None,
        };
        self.session.stage_from(source, Body::AssistantMessage(answer));
        self.session.commit().await.unwrap();
    }

    fn follow(&self, after: u64) -> Subscription {
        self.feed.follow(&self.journal, self.id, after)
    }

    async fn resume(&self, point: &ResumePoint) -> (ResumeMode, Subscription) {
        self.feed.resume(&self.journal, self.id, point).await.unwrap()
    }
}

fn point(persistent_last_seq: u64, epoch: &str, stream_last_seq: u64) -> ResumePoint {
    let (epoch, stream_last_seq) = (Some(epoch.to_owned()), Some(stream_last_seq));
    ResumePoint { session_id: None, persistent_last_seq, epoch, stream_last_seq }
}

/// Everything that is there now: events by their number, deltas by their text.
async fn pull(subscription: &mut Subscription) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let next = tokio::time::timeout(std::time::Duration::ZERO, subscription.next());
        let Ok(item) = next.await else { return seen };
        seen.push(match item.unwrap() {
            FeedItem::Event(event) => event.seq.to_string(),
            FeedItem::Delta(delta) => format!("+{}", delta.text),
            FeedItem::Running(running) => {
                let texts: Vec<&str> = running.parts.iter().map(|it| it.text.as_str()).collect();
                format!("={}", texts.join("|"))
            }
            FeedItem::Failed(failure) => format!("failed: {failure}"),
            FeedItem::Moved { to } => format!("moved to {to}"),
            FeedItem::Removed => "removed".to_owned(),
        });
    }
}

fn numbers(seqs: impl IntoIterator<Item = usize>) -> Vec<String> {
    seqs.into_iter().map(|seq| seq.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_falls_behind_the_ring_reads_the_log() {
    let mut stage = CallStage::new();
    let mut slow = stage.follow(0);
    let mut quick = stage.follow(0);
    let mut seen = Vec::new();
    for _ in 0..FEED_BATCHES_MAX * 2 {
        stage.notices(1, "x").await;
        seen.extend(pull(&mut quick).await);
    }
    assert_eq!(stage.feed.session(stage.id).ring().batches.len(), FEED_BATCHES_MAX);
    assert_eq!(seen, numbers(1..=FEED_BATCHES_MAX * 2));
    assert_eq!(pull(&mut slow).await, seen);
    // Once there, it keeps up from the ring.
    stage.notices(3, "x").await;
    let behind = FEED_BATCHES_MAX * 2;
    assert_eq!(pull(&mut slow).await, numbers(behind + 1..=behind + 3));
}

#[tokio::test(start_paused = true)]
async fn a_ring_is_no_heavier_than_it_may_be_and_keeps_the_newest_batch() {
    let mut stage = CallStage::new();
    let mut slow = stage.follow(0);
    let request = |stage: &CallStage| stage.session.new_event_id();
    for _ in 0..10 {
        let id = request(&stage);
        stage.answer(id, &"x".repeat(1024 * 1024)).await;
    }
    let n_kept = stage.feed.session(stage.id).ring().batches.len();
    assert!((1..=4).contains(&n_kept), "{n_kept}");
    assert_eq!(pull(&mut slow).await, numbers(1..=10));
    let id = request(&stage);
    stage.answer(id, &"x".repeat(FEED_BYTES_MAX + 1)).await;
    assert_eq!(stage.feed.session(stage.id).ring().batches.len(), 1);
    assert_eq!(pull(&mut slow).await, numbers([11]));
}

#[tokio::test(start_paused = true)]
async fn in_the_same_life_a_stream_goes_on_where_it_was_left() {
    let mut stage = CallStage::new();
    let mut followed = stage.follow(0);
    stage.notices(2, "x").await;
    let request = stage.session.new_event_id();
    for text in ["a", "b"] {
        stage.say(request, text);
    }
    assert_eq!(pull(&mut followed).await, ["1", "2", "+a", "+b"]);
    let left = followed.resume_point(EPOCH);
    drop(followed);
    stage.say(request, "c");
    stage.notices(1, "x").await;
    let (mode, mut resumed) = stage.resume(&left).await;
    assert_eq!(mode, ResumeMode::StreamResume);
    assert_eq!(pull(&mut resumed).await, ["+c", "3"]);
}

#[tokio::test(start_paused = true)]
async fn from_another_life_events_come_from_the_log_and_then_the_text_so_far() {
    let mut stage = CallStage::new();
    stage.notices(5, "x").await;
    let request = stage.session.new_event_id();
    for text in ["a", "b"] {
        stage.say(request, text);
    }
    let (mode, mut resumed) = stage.resume(&point(2, "an earlier life", 900)).await;
    assert_eq!(mode, ResumeMode::PersistentFallback);
    assert_eq!(pull(&mut resumed).await, ["3", "4", "5", "=ab"]);
    stage.say(request, "c");
    assert_eq!(pull(&mut resumed).await, ["+c"]);
    stage.say(request, "d");
    // The event holds all of it, so what was not taken by then is not sent any more.
    stage.answer(request, "abcd").await;
    assert_eq!(pull(&mut resumed).await, ["6"]);

    // The same if the ring of this life no longer has what was missed.
    let left = point(2, EPOCH, 0);
    stage.notices(FEED_BATCHES_MAX, "x").await;
    let (mode, mut resumed) = stage.resume(&left).await;
    assert_eq!(mode, ResumeMode::PersistentFallback);
    assert_eq!(pull(&mut resumed).await, numbers(3..=6 + FEED_BATCHES_MAX));
}

#[tokio::test(start_paused = true)]
async fn who_is_too_far_away_loads_the_session_anew() {
    let mut stage = CallStage::new();
    stage.notices(3, "x").await;
    // It has seen more than there is: the session was repaired.
    let (mode, mut anew) = stage.resume(&point(9, EPOCH, 0)).await;
    assert_eq!((mode, pull(&mut anew).await.len()), (ResumeMode::FullReload, 0));
    stage.notices(1, "x").await;
    assert_eq!(pull(&mut anew).await, ["4"]);

    // It is gone.
    let nobody = session_id(7);
    let (mode, _) =
        stage.feed.resume(&stage.journal, nobody, &ResumePoint::default()).await.unwrap();
    assert_eq!(mode, ResumeMode::FullReload);

    // It has missed too much.
    for _ in 0..EVENTS_BEHIND_MAX {
        stage.session.stage(Body::Notice(Notice {
            text: String::new().into(),
            level: Level::Info,
            about: None,
        }));
    }
    stage.session.commit().await.unwrap();
    let (mode, _) = stage.resume(&point(4, EPOCH, 0)).await;
    assert_eq!(mode, ResumeMode::StreamResume);
    let (mode, mut anew) = stage.resume(&point(3, EPOCH, 0)).await;
    assert_eq!((mode, pull(&mut anew).await.len()), (ResumeMode::FullReload, 0));
}

fn session_id(number: u64) -> SessionId {
    SessionId::from_uuid(kith_testkit::clock::numbered_id(kith_testkit::clock::START, number))
}

#[tokio::test(start_paused = true)]
async fn a_log_of_any_length_is_followed_from_its_beginning() {
    let mut stage = CallStage::new();
    let n_events = usize::try_from(EVENTS_BEHIND_MAX).unwrap() + 10;
    for _ in 0..n_events {
        let notice = Notice { text: String::new().into(), level: Level::Info, about: None };
        stage.session.stage(Body::Notice(notice));
    }
    stage.session.commit().await.unwrap();
    // In another life of the host, before any driver has opened it.
    let later = Feed::new("later".to_owned());
    let mut followed = later.follow(&stage.journal, stage.id, 0);
    assert!(pull(&mut followed).await == numbers(1..=n_events), "not every event once");
}

#[tokio::test(start_paused = true)]
async fn deltas_that_were_lost_come_again_as_the_text_so_far() {
    let mut stage = CallStage::new();
    let mut slow = stage.follow(0);
    stage.notices(1, "x").await;
    let request = stage.session.new_event_id();
    for _ in 0..FEED_DELTAS_MAX + 5 {
        stage.say(request, "a");
    }
    let whole = format!("={}", "a".repeat(FEED_DELTAS_MAX + 5));
    assert_eq!(pull(&mut slow).await, ["1", whole.as_str()]);
    stage.say(request, "b");
    assert_eq!(pull(&mut slow).await, ["+b"]);
    stage.answer(request, "…").await;
    assert_eq!(pull(&mut slow).await, ["2"]);
}

#[tokio::test(start_paused = true)]
async fn who_leaves_before_it_took_the_text_so_far_gets_it_when_it_comes_back() {
    let mut stage = CallStage::new();
    stage.notices(1, "x").await;
    let request = stage.session.new_event_id();
    stage.say(request, "a");
    let (mode, late) = stage.resume(&point(1, "an earlier life", 0)).await;
    assert_eq!(mode, ResumeMode::PersistentFallback);
    let left = late.resume_point(EPOCH);
    drop(late);
    stage.say(request, "b");
    let (_, mut back) = stage.resume(&left).await;
    let seen = pull(&mut back).await.concat();
    assert_eq!(seen.replace(['+', '='], ""), "ab");
}

#[tokio::test(start_paused = true)]
async fn of_a_long_answer_only_so_much_is_kept_for_those_who_come_late() {
    let stage = CallStage::new();
    let request = stage.session.new_event_id();
    for _ in 0..RUNNING_ANSWER_BYTES_MAX / 1000 + 2 {
        stage.say(request, &"x".repeat(1000));
    }
    let feed = stage.feed.session(stage.id);
    let running = feed.ring().running.clone().unwrap();
    let n_bytes: usize = running.parts.iter().map(|part| part.text.len()).sum();
    assert!(running.is_cut && n_bytes <= RUNNING_ANSWER_BYTES_MAX, "{n_bytes}");
    assert_eq!(feed.ring().deltas.back().unwrap().stream_seq, running.stream_seq);
}

#[tokio::test(start_paused = true)]
async fn a_house_names_each_session_that_changed_once_in_the_order_of_its_last_change() {
    let stage = CallStage::new();
    let mut house = stage.feed.follow_house();
    let thread = |name: &str| ThreadKey {
        agent_id: "main".to_owned(),
        thread_id: format!("cli:room:{name}").parse().unwrap(),
    };
    for (name, session) in [("b", 1), ("a", 2), ("b", 3), ("a", 4), ("a", 2)] {
        stage.feed.thread_changed(thread(name), session_id(session));
    }
    let changes: Vec<_> = within(house.next()).await;
    let changes: Vec<_> = changes.into_iter().map(|it| (it.thread, it.session_id)).collect();
    let expected = [("b", 1), ("b", 3), ("a", 4), ("a", 2)];
    assert_eq!(changes, expected.map(|(name, session)| (thread(name), session_id(session))));
    assert_eq!(house.take_missed(), 0);
    for n in 0..2_000 {
        stage.feed.thread_changed(thread(&(n % 5).to_string()), session_id(n % 5));
    }
    let changes = within(house.next()).await;
    assert_eq!(changes.len(), 5);
    assert_eq!((house.take_missed(), house.take_missed()), (976, 0));
}

/// Pulls from a follower whose log has less than was published. It must not spin: a task that never
/// waits could not be timed out, so it runs on a thread of its own.
fn ends_by_itself<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        sender.send(runtime.block_on(work))
    });
    receiver.recv_timeout(std::time::Duration::from_secs(20)).expect("the follower spins")
}

/// The rest of a session that has so many events, for a follower of which the ring has nothing.
async fn rest_of(n_in_log: usize, n_published: u64, end: impl FnOnce(&SessionFeed)) -> Vec<String> {
    let mut stage = CallStage::new();
    stage.notices(n_in_log, "x").await;
    let later = Feed::new("later".to_owned());
    let feed = later.session(stage.id);
    feed.begin_at(n_published + 1);
    end(&feed);
    let mut behind = later.follow(&stage.journal, stage.id, 0);
    let mut seen = Vec::new();
    loop {
        match behind.next().await {
            Ok(FeedItem::Event(event)) => seen.push(event.seq.to_string()),
            Ok(other) => return [seen, vec![format!("{other:?}")]].concat(),
            Err(error) => return [seen, vec![error.to_string()]].concat(),
        }
    }
}

#[test]
fn a_follower_of_a_log_that_lost_events_is_told_so() {
    let seen = ends_by_itself(rest_of(2, 5, |_| ()));
    assert_eq!(seen[..2], ["1", "2"]);
    let why = "can be read only up to event 2 of 5: its log is shorter than it was";
    assert!(seen[2].ends_with(why), "{seen:?}");
}

#[test]
fn a_follower_that_is_behind_is_told_that_the_session_moved_or_was_removed() {
    let seen = ends_by_itself(rest_of(1, 5, SessionFeed::removed));
    assert_eq!(seen, ["1", "Removed"]);
    let seen = ends_by_itself(rest_of(1, 5, |feed| feed.moved(session_id(7))));
    assert!(seen.len() == 2 && seen[1].starts_with("Moved"), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_of_the_name_of_a_removed_one_is_followed_anew() {
    let mut stage = CallStage::new();
    let mut old = stage.follow(0);
    stage.notices(1, "x").await;
    assert_eq!(pull(&mut old).await, ["1"]);
    stage.journal.close(stage.id);
    stage.journal.remove(stage.id).await.unwrap();
    stage.feed.removed(stage.id);
    let mut new = stage.follow(0);
    let (journal, feed) = (Arc::clone(&stage.journal), stage.feed.session(stage.id));
    let parts = SessionParts { journal, feed, clock: Arc::new(FakeClock::new()) };
    stage.session = Session::new(parts, header(stage.id));
    stage.notices(2, "y").await;
    assert!(matches!(old.next().await, Ok(FeedItem::Removed)));
    assert_eq!(pull(&mut new).await, ["1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn a_ring_never_has_a_gap() {
    let mut stage = CallStage::new();
    let mut slow = stage.follow(0);
    stage.notices(2, "x").await;
    assert_eq!(pull(&mut slow).await, ["1", "2"]);
    // Written, and not published here.
    let feed = stage.feed.session(stage.id);
    stage.notices(3, "x").await;
    let thread = ThreadKey::of(&header(stage.id));
    let mut events = Vec::new();
    stage.journal.read(stage.id, None, 0, &mut |event| events.push(event)).await.unwrap();
    feed.begin_at(1);
    feed.publish(thread.clone(), events[..2].to_vec());
    feed.publish(thread, events[4..].to_vec());
    assert_eq!(feed.ring().first_seq(), Some(5));
    assert_eq!(pull(&mut slow).await, ["3", "4", "5"]);
}

#[tokio::test(start_paused = true)]
async fn deltas_are_bounded_in_bytes() {
    let stage = CallStage::new();
    let mut slow = stage.follow(0).up_to_date();
    let request = stage.session.new_event_id();
    let n_kept = 4;
    for _ in 0..n_kept * 2 {
        stage.say(request, &"x".repeat(FEED_DELTA_BYTES_MAX / n_kept));
    }
    let feed = stage.feed.session(stage.id);
    let n_bytes: usize = feed.ring().deltas.iter().map(|delta| delta.text.len()).sum();
    assert_eq!((feed.ring().deltas.len(), n_bytes), (n_kept, FEED_DELTA_BYTES_MAX));
    // One that is longer than all may be together is lost as well.
    stage.say(request, &"y".repeat(FEED_DELTA_BYTES_MAX + 1));
    assert!(feed.ring().deltas.is_empty());
    let seen = pull(&mut slow).await;
    assert!(seen.len() == 1 && seen[0].starts_with("=x"), "{}", seen.len());
    stage.say(request, "z");
    assert_eq!(pull(&mut slow).await, ["+z"]);
}

#[tokio::test(start_paused = true)]
async fn a_session_without_a_driver_goes_on_from_its_log() {
    let mut stage = CallStage::new();
    stage.notices(5, "x").await;
    for (after, mode, expected) in [
        (2, ResumeMode::PersistentFallback, numbers(3..=5)),
        (5, ResumeMode::PersistentFallback, Vec::new()),
        (9, ResumeMode::FullReload, Vec::new()),
    ] {
        let later = Feed::new("later".to_owned());
        let point = point(after, EPOCH, 0);
        let resumed = later.resume(&stage.journal, stage.id, &point).await.unwrap();
        let (resumed, mut subscription) = resumed;
        assert_eq!((resumed, pull(&mut subscription).await), (mode, expected), "{after}");
    }
}

#[tokio::test(start_paused = true)]
async fn in_another_session_nothing_was_seen() {
    let mut stage = CallStage::new();
    stage.notices(3, "x").await;
    let seen = ResumePoint { session_id: Some(session_id(7)), ..point(2, EPOCH, 0) };
    let (mode, mut followed) = stage.resume(&seen).await;
    assert_eq!(mode, ResumeMode::PersistentFallback);
    assert_eq!(pull(&mut followed).await, ["1", "2", "3"]);
    let seen = ResumePoint { session_id: Some(stage.id), ..seen };
    assert_eq!(pull(&mut stage.resume(&seen).await.1).await, ["3"]);
}

/// Writes down what it is told.
#[derive(Default)]
struct NotingObserver(Mutex<Vec<String>>);

impl SessionObserver for NotingObserver {
    fn observe(&self, _: SessionId, what: Observation<'_>) {
        let told = match what {
            Observation::Published { events, .. } => format!("published {}", events.len()),
            Observation::Opened { n_events, .. } => format!("opened {n_events}"),
            Observation::Failed(failure) => format!("failed: {failure}"),
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(told);
    }
}

#[tokio::test]
async fn an_observer_is_told_what_is_durable_and_what_becomes_of_a_session() {
    let mut stage = CallStage::new();
    let observer = Arc::new(NotingObserver::default());
    stage.feed.set_observer(Arc::clone(&observer) as Arc<dyn SessionObserver>);
    stage.feed.set_observer(Arc::new(NotingObserver::default()));
    stage.notices(2, "text").await;
    let head = stage.session.head();
    let parts = SessionParts {
        journal: Arc::clone(&stage.journal),
        feed: stage.feed.session(stage.id),
        clock: Arc::new(FakeClock::new()),
    };
    stage.journal.close(stage.id);
    Session::open(parts, stage.id, head, None).await.unwrap();
    stage.feed.session(stage.id).fail(SessionFailure::Panicked);
    stage.feed.removed(stage.id);
    let told = observer.0.lock().unwrap().clone();
    let failed = format!("failed: {}", SessionFailure::Panicked);
    assert_eq!(told, ["published 1", "published 1", "opened 2", &failed, "Removed"]);
}
