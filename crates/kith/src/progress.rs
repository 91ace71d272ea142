//! The line that says how far long work has come, for a person who looks at a terminal.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kith_host::calls::session::ReadProgress;
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::program::ui;

/// How often the line changes. Work that is done before the second change shows none.
const TICK: Duration = Duration::from_millis(250);
const TICKS_PER_SECOND: u64 = 4;

/// Shows a line until it is dropped.
pub(crate) struct ProgressLine {
    detail: Arc<Mutex<String>>,
    task: Option<JoinHandle<()>>,
}

impl ProgressLine {
    /// Begins a line such as `Copying the house`, if somebody looks.
    pub(crate) fn begin(what: &'static str) -> ProgressLine {
        let detail = Arc::<Mutex<String>>::default();
        let task = ui::shows_progress().then(|| {
            let detail = Arc::clone(&detail);
            tokio::spawn(async move {
                let mut ticks = interval(TICK);
                ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
                run(what, &detail, ticks, ui::progress).await;
            })
        });
        ProgressLine { detail, task }
    }

    /// Takes reports of how far the work has come, such as `12000 events`.
    pub(crate) fn reporter(&self) -> impl Fn(String) + Send + Sync + 'static {
        let detail = Arc::clone(&self.detail);
        move |report| *detail.lock().unwrap_or_else(PoisonError::into_inner) = report
    }

    /// Takes reports of how many sessions were read, while there is no index that knows them.
    pub(crate) fn sessions_read(&self) -> impl Fn(ReadProgress) + Send + Sync + 'static {
        let report = self.reporter();
        move |so_far| report(format!("{} of {} sessions", so_far.sessions, so_far.total))
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            ui::progress("");
        }
    }
}

async fn run(what: &str, detail: &Mutex<String>, mut ticks: Interval, show: impl Fn(&str)) {
    let mut n_ticks = 0;
    ticks.tick().await;
    loop {
        ticks.tick().await;
        n_ticks += 1;
        let detail = detail.lock().unwrap_or_else(PoisonError::into_inner).clone();
        show(&line(what, &detail, n_ticks / TICKS_PER_SECOND));
    }
}

fn line(what: &str, detail: &str, seconds: u64) -> String {
    let mut line = format!("{what} …");
    if !detail.is_empty() {
        line = format!("{line} {detail}");
    }
    if seconds > 0 {
        line = format!("{line} ({seconds} s)");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_line_says_what_how_far_and_how_long_and_quick_work_has_none() {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let detail = Arc::new(Mutex::new(String::new()));
        let (to, of) = (Arc::clone(&shown), Arc::clone(&detail));
        let task = tokio::spawn(async move {
            let show = |line: &str| to.lock().unwrap().push(line.to_owned());
            run("Verifying", &of, interval(TICK), show).await;
        });
        let lines = || shown.lock().unwrap().clone();
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(lines(), Vec::<String>::new());
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(lines(), ["Verifying …"]);
        "20000 events".clone_into(&mut detail.lock().unwrap());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(lines().last().unwrap(), "Verifying … 20000 events (2 s)");
        task.abort();
    }
}
