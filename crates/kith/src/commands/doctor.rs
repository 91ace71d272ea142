//! `kith doctor`: whether all is well.

use std::process::ExitCode;

use serde_json::json;

use crate::args::Shared;
use crate::doctor::{Health, examine};
use crate::report::{EXIT_REQUEST, Report};
use crate::ui;

pub(crate) async fn run(shared: &Shared) -> Result<ExitCode, Report> {
    let checks = examine(shared).await;
    let is_well = checks.iter().all(|check| check.state != Health::Fail);
    if shared.json {
        ui::json(&json!({ "ok": is_well, "checks": checks }));
    } else {
        for check in &checks {
            let state = match check.state {
                Health::Ok => "ok",
                Health::Warn => "warn",
                Health::Fail => "fail",
            };
            ui::line(&format!("{state:4}  {:12}  {}", check.name, check.detail));
            if let Some(fix) = &check.fix {
                ui::line(&format!("      {:12}  -> {fix}", ""));
            }
        }
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(EXIT_REQUEST) })
}
