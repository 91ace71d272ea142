//! `kith doctor`: checks a house for problems.

use std::process::ExitCode;

use kith_host::calls::house::{CheckHouse, Health};
use kith_host::doctor::without_house;
use kith_host::error::CallError;
use serde_json::json;

use super::{call, house_of};
use crate::program::args::GlobalArgs;
use crate::program::ui::{self, EXIT_REQUEST};

pub(crate) async fn run(shared: &GlobalArgs) -> Result<ExitCode, CallError> {
    let report = match house_of(shared) {
        Ok(house) => {
            let (agent_id, cwd) = (shared.agent_id(), house.cwd.display().to_string());
            call(shared, CheckHouse { agent_id, cwd }).await?.data
        }
        Err(error) => without_house(&error),
    };
    let checks = report.checks;
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
