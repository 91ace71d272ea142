use kith_sessions::desk::{MemoryDesk, TaintRecords as _};
use kith_testkit::clock::FakeClock;
use kith_vocab::clock::Clock;

use super::*;
use crate::clock::SystemClock;

const HOUR: u64 = 3_600_000;

struct Bench {
    desk: MemoryDesk,
    clock: Arc<FakeClock>,
    folder: tempfile::TempDir,
}

impl Bench {
    /// The clock of commands is this much behind that of the disk.
    fn new(behind: u64) -> Bench {
        let clock = FakeClock::new();
        clock.jump_to(SystemClock.now() - behind);
        let folder = tempfile::tempdir().unwrap();
        Bench { desk: MemoryDesk::new("device"), clock: Arc::new(clock), folder }
    }

    async fn periods(&self) -> Arc<CommandPeriods> {
        let desk: Arc<dyn Desk> = Arc::new(self.desk.handle());
        let stored = desk.command_times().await.unwrap();
        Arc::new(CommandPeriods::new(desk, Arc::clone(&self.clock) as Arc<dyn Clock>, stored))
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn file(&self) -> PathBuf {
        let path = self.root().join("copy.txt");
        fs::write(&path, "x").unwrap();
        path
    }

    fn reach(&self, is_tainted: bool) -> CommandReach {
        CommandReach { folders: vec![self.root()], is_tainted }
    }
}

#[tokio::test]
async fn a_file_that_changes_while_a_tainted_command_runs_is_untrusted_also_after_a_restart() {
    let bench = Bench::new(0);
    let periods = bench.periods().await;
    let running = NotedCommands(Arc::clone(&periods)).begin(bench.reach(true)).await.unwrap();
    let file = bench.file();
    assert!(periods.cover(&file));
    // A host that dies meanwhile leaves an open period, which ends with the next host.
    assert!(bench.periods().await.cover(&file));
    drop(running);
    assert!(periods.cover(&file));
    assert!(!periods.cover(Path::new("/etc/passwd")));
}

#[tokio::test]
async fn what_the_owner_changes_at_another_time_speaks_for_the_owner() {
    let bench = Bench::new(HOUR);
    let periods = bench.periods().await;
    let noted = NotedCommands(Arc::clone(&periods));
    drop(noted.begin(bench.reach(true)).await.unwrap());
    let file = bench.file();
    assert!(!periods.cover(&file));
    // Nor is it drawn in by a command that comes later.
    bench.clock.advance(3 * HOUR);
    drop(noted.begin(bench.reach(true)).await.unwrap());
    assert!(!periods.cover(&file));
    assert_eq!(periods.list().len(), 2);
}

#[tokio::test]
async fn a_clean_command_is_noted_only_where_a_tainted_one_ran_before() {
    let bench = Bench::new(0);
    let periods = bench.periods().await;
    let noted = NotedCommands(Arc::clone(&periods));
    let running = noted.begin(bench.reach(false)).await.unwrap();
    let file = bench.file();
    assert!(!periods.cover(&file) && periods.list().is_empty());
    drop(running);
    bench.clock.jump_to(SystemClock.now() - 10 * HOUR);
    drop(noted.begin(bench.reach(true)).await.unwrap());
    bench.clock.jump_to(SystemClock.now());
    // It may copy what the tainted one left.
    let running = noted.begin(bench.reach(false)).await.unwrap();
    assert!(periods.cover(&bench.file()));
    drop(running);
    let elsewhere = CommandReach { folders: vec!["/elsewhere".into()], is_tainted: false };
    drop(noted.begin(elsewhere).await.unwrap());
    assert_eq!(periods.list().len(), 2);
}

#[tokio::test]
async fn a_command_whose_beginning_cannot_be_noted_does_not_start() {
    let bench = Bench::new(0);
    let periods = bench.periods().await;
    bench.desk.fail_change_at(0);
    assert!(NotedCommands(periods).begin(bench.reach(true)).await.is_err());
}

#[tokio::test]
async fn commands_one_after_another_make_one_period() {
    let bench = Bench::new(0);
    let periods = bench.periods().await;
    let noted = NotedCommands(Arc::clone(&periods));
    for _ in 0..3 {
        drop(noted.begin(bench.reach(true)).await.unwrap());
        bench.clock.advance(JOINED_MS);
    }
    let first = noted.begin(bench.reach(true)).await.unwrap();
    let second = noted.begin(bench.reach(true)).await.unwrap();
    drop(first);
    assert_eq!(periods.list().len(), 1);
    assert_eq!(periods.list()[0].ended, u64::MAX);
    drop(second);
    assert_eq!(periods.list()[0].ended, bench.clock.now());
}

#[tokio::test]
async fn a_command_whose_beginning_failed_leaves_the_next_one_to_be_noted() {
    let bench = Bench::new(0);
    let periods = bench.periods().await;
    let noted = NotedCommands(Arc::clone(&periods));
    bench.desk.fail_change_at(0);
    assert!(noted.begin(bench.reach(true)).await.is_err());
    let running = noted.begin(bench.reach(true)).await.unwrap();
    let stored = bench.desk.handle().command_times().await.unwrap();
    assert_eq!(stored.iter().map(|it| it.ended).collect::<Vec<_>>(), [None]);
    drop(running);
}

#[tokio::test]
async fn an_end_never_overtakes_the_beginning_of_the_next_command() {
    let bench = Bench::new(0);
    let periods = bench.periods().await;
    let noted = NotedCommands(Arc::clone(&periods));
    let first = noted.begin(bench.reach(true)).await.unwrap();
    // Its end is noted by a task that has not run yet.
    drop(first);
    let second = noted.begin(bench.reach(true)).await.unwrap();
    tokio::task::yield_now().await;
    let stored = async || bench.desk.handle().command_times().await.unwrap();
    assert_eq!(stored().await.iter().map(|it| it.ended).collect::<Vec<_>>(), [None]);
    drop(second);
    tokio::task::yield_now().await;
    let ended = stored().await.iter().map(|it| it.ended).collect::<Vec<_>>();
    assert_eq!(ended, [Some(bench.clock.now())]);
}
