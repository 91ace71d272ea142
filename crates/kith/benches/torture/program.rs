//! Which tortures there are, and what is asked for. Read in this order:
//!
//! - [`turn`]: a turn with the plug pulled at every write, in this process.
//! - [`desk`]: the real program, its desk failing at every system call.
//! - [`kills`]: the real program, killed at random times.
//! - [`effects`]: the same while its tools change the world.
//! - [`crowd`]: fifty of it at once on one house.
//! - [`stability`]: a thousand turns, every request a continuation of the one before.
//! - [`log`], [`blobs`], [`specimen`], [`tally`]: a session file and its blobs, cut, flipped, zeroed.
//! - [`orders`]: events in any order.
//! - [`obedient`], [`hasty_clock`], [`house`], [`life`], [`server`], [`chance`], [`table`]: what it is done with.

mod blobs;
mod crowd;
mod desk;
mod effects;
mod hasty_clock;
mod kills;
mod log;
mod obedient;
mod orders;
mod specimen;
mod stability;
mod tally;
mod turn;

#[path = "../shared/chance.rs"]
mod chance;
#[path = "../shared/house.rs"]
mod house;
#[path = "../shared/life.rs"]
mod life;
#[path = "../shared/server.rs"]
mod server;
#[path = "../shared/table.rs"]
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use table::Table;

const USAGE: &str = "torture [--turn] [--stability] [--log] [--orders N [--first N]] [--seed S] [--kills N] \
                     --kith PATH --out DIR";
const SEED: u64 = 20_261_115;
const ORDERS: u64 = 1_000_000;
const KILLS: u64 = 1000;

/// What to do; without a choice, everything.
struct Plan {
    turn: bool,
    stability: bool,
    log: bool,
    orders: Option<u64>,
    first: u64,
    seed: u64,
    kills: u64,
    kith: PathBuf,
    out: PathBuf,
}

pub(crate) fn run() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    if args.peek().is_some_and(|arg| arg == server::FLAG) {
        return server::main();
    }
    // `cargo test --all-targets` starts it so; a torture must be asked for.
    if args.peek().is_none() {
        println!("start it by `cargo xtask torture`");
        return ExitCode::SUCCESS;
    }
    let plan = match parse(args) {
        Ok(plan) => plan,
        Err(complaint) => {
            println!("{complaint}\nusage: {USAGE}");
            return ExitCode::from(2);
        }
    };
    if perform(&plan) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn perform(plan: &Plan) -> bool {
    std::fs::create_dir_all(&plan.out).expect("the report folder can be made");
    let scratch = tempfile::tempdir_in(&plan.out).expect("a scratch folder can be made");
    let dir: &Path = scratch.path();
    let mut is_good = true;
    let mut note = |work: &dyn Fn() -> (Table, bool)| {
        let began = Instant::now();
        let (mut table, held) = work();
        table.note(format!("{:.0} s in all", began.elapsed().as_secs_f64()));
        table.print();
        table.write(&plan.out);
        is_good &= held;
    };
    if plan.turn {
        note(&|| runtime().block_on(turn::run(dir, plan.seed)));
        note(&|| runtime().block_on(desk::run(&plan.kith, dir)));
        note(&|| runtime().block_on(kills::run(&plan.kith, dir, plan.kills, plan.seed)));
        note(&|| effects::run(&plan.kith, dir, plan.kills, plan.seed));
        note(&|| runtime().block_on(crowd::run(&plan.kith, dir, plan.seed)));
    }
    if plan.stability {
        note(&|| runtime().block_on(stability::run(dir)));
    }
    // From here on panics are counted, and what they say is kept by those who count.
    std::panic::set_hook(Box::new(|_| ()));
    if plan.log {
        note(&|| log::run(plan.seed));
    }
    if let Some(n_logs) = plan.orders {
        note(&|| orders::run(n_logs, plan.first, plan.seed));
    }
    println!("\n{}", if is_good { "everything held" } else { "NOT EVERYTHING HELD" });
    is_good
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().expect("a runtime can be made")
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Plan, String> {
    let (mut kith, mut out) = (None, None);
    let mut plan = Plan {
        turn: false,
        stability: false,
        log: false,
        orders: None,
        first: 0,
        seed: SEED,
        kills: KILLS,
        kith: PathBuf::new(),
        out: PathBuf::new(),
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("`{arg}` needs a value"));
        match arg.as_str() {
            "--turn" => plan.turn = true,
            "--stability" => plan.stability = true,
            "--log" => plan.log = true,
            "--orders" => plan.orders = Some(number(&value()?)?),
            "--first" => plan.first = number(&value()?)?,
            "--seed" => plan.seed = number(&value()?)?,
            "--kills" => plan.kills = number(&value()?)?,
            "--kith" => kith = Some(PathBuf::from(value()?)),
            "--out" => out = Some(PathBuf::from(value()?)),
            _ => return Err(format!("`{arg}` is not known")),
        }
    }
    if !plan.turn && !plan.stability && !plan.log && plan.orders.is_none() {
        (plan.turn, plan.stability, plan.log, plan.orders) = (true, true, true, Some(ORDERS));
    }
    plan.kith = kith.ok_or("`--kith` is missing")?;
    plan.out = out.ok_or("`--out` is missing")?;
    Ok(plan)
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}
