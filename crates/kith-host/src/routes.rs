//! Which function answers which call: one line each.

use std::sync::{Arc, LazyLock};

use kith_vocab::clock::BoxFuture;
use kith_vocab::json::Json;

use crate::call::{Access, Call, Follower, Payload, Reply};
use crate::caller::Caller;
use crate::error::CallError;
use crate::host::{
    Host, approvals, compaction, daemon, dialog, message, models as model_choice,
    projects as project_folders, queue, scripts, subscription, threads as thread_files, tree,
    trust, upkeep,
};
use crate::read_side::{
    ReadSide, approvals as waiting_approvals, backup, blobs, cost, home, logs, models,
    policy as judgements, projects, queue as waiting, repositories, scripts as script_files,
    search, sessions, threads, tree as branches, why,
};
use crate::router::Router;

/// Calls that are answered from the files.
pub fn reads() -> &'static Router<ReadSide> {
    static READS: LazyLock<Router<ReadSide>> = LazyLock::new(|| {
        Router::default()
            .on_follow(sessions::list_sessions)
            .on(sessions::show_session)
            .on(sessions::read_events)
            .on(blobs::read_blob)
            .on(sessions::describe_session)
            .on_follow(sessions::verify_session)
            .on(sessions::replay_session)
            .on_follow(sessions::export_session)
            .on_follow(search::search_sessions)
            .on(branches::show_tree)
            .on(waiting::list_queue)
            .on(waiting_approvals::list_approvals)
            .on(waiting_approvals::list_grants)
            .on(cost::sum_costs)
            .on(models::list_models)
            .on(why::explain_request)
            .on(threads::list_threads)
            .on(threads::list_thread_sessions)
            .on(threads::list_messages)
            .on(threads::get_thread)
            .on(threads::find_current_session)
            .on(home::get_prompt)
            .on(home::explain_identity)
            .on(judgements::explain_command)
            .on(home::list_skills)
            .on(home::show_skill)
            .on(home::check_skills)
            .on(script_files::list_scripts)
            .on(script_files::show_script)
            .on(script_files::check_scripts)
            .on(script_files::export_script)
            .on(projects::list_projects)
            .on(projects::list_directories)
            .on(repositories::list_repositories)
            .on(repositories::find_untrusted)
            .on(logs::read_log)
            .on_follow(logs::follow_log)
            .on(crate::doctor::check_house)
            .on_follow(backup::back_up_house)
    });
    &READS
}

/// Calls that are answered by the writer of the house.
pub fn writes() -> &'static Router<Host> {
    static WRITES: LazyLock<Router<Host>> = LazyLock::new(|| {
        Router::default()
            .on_follow(message::send_message)
            .on_caller(message::cancel_turn)
            .on_follow(message::retry_turn)
            .on_follow(approvals::decide_approval)
            .on_caller(approvals::revoke_grant)
            .on_caller(queue::edit_queue)
            .on_caller(queue::take_next)
            .on_follow(subscription::subscribe)
            .on_follow(subscription::follow_house)
            .on(daemon::get_status)
            .on_caller(daemon::create_login)
            .on_caller(daemon::release_house)
            .on_caller(dialog::create_dialog)
            .on_caller(upkeep::rename_session)
            .on_caller(upkeep::remove_session)
            .on_follow(compaction::compact_session)
            .on_caller(model_choice::use_model)
            .on_caller(model_choice::name_model)
            .on(upkeep::repair_session)
            .on_caller(tree::branch_session)
            .on(tree::clone_session)
            .on(thread_files::rebuild_threads)
            .on(thread_files::compact_threads)
            .on(scripts::save_script)
            .on_caller(project_folders::register_project)
            .on_caller(project_folders::remove_project)
            .on_caller(trust::trust_repository)
            .on_caller(trust::distrust_repository)
    });
    &WRITES
}

/// Whether there is a call of this name.
pub fn has(name: &str) -> bool {
    writes().has(name) || reads().has(name)
}

/// Answers a call that came to the host as text.
pub fn dispatch(
    host: &Arc<Host>,
    caller: Caller,
    name: &str,
    body: &Json,
    follower: Follower<Json>,
) -> BoxFuture<'static, Reply<Json>> {
    let written = writes().dispatch(host, caller.clone(), name, body, follower.clone());
    let answer = written.or_else(|| reads().dispatch(host.reads(), caller, name, body, follower));
    answer.unwrap_or_else(|| {
        let message = format!("unknown call `{name}`");
        let error = CallError::invalid(message).hint("use the same version of kith in both places");
        Box::pin(std::future::ready(Err(error)))
    })
}

/// Answers a call of the host's own process. `I` is the item of a follow, else `()`.
pub fn answer<C: Call, I: Payload>(
    host: &Arc<Host>,
    caller: Caller,
    call: C,
    follower: Follower<I>,
) -> BoxFuture<'static, Reply<C::Answer>> {
    match C::ACCESS {
        Access::Read => reads().answer(host.reads(), caller, call, follower),
        Access::Write => writes().answer(host, caller, call, follower),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use schemars::SchemaGenerator;

    use super::*;

    #[test]
    fn every_call_has_a_description_and_a_name_of_its_own() {
        let mut generator = SchemaGenerator::default();
        let mut schemas = reads().schemas(&mut generator);
        schemas.extend(writes().schemas(&mut generator));
        let names: BTreeSet<&str> = schemas.iter().map(|schema| schema.name).collect();
        assert_eq!(names.len(), schemas.len());
        for schema in &schemas {
            let body = schema.body.as_value();
            assert_eq!(body["type"], "object", "{}", schema.name);
            assert_eq!(body["additionalProperties"], false, "{}", schema.name);
            assert_eq!(schema.answer.as_value()["type"], "object", "{}", schema.name);
        }
        let has_items = |name| schemas.iter().any(|it| it.name == name && it.item.is_some());
        assert!(has_items("send_message") && !has_items("list_threads"));
        assert!(generator.definitions().contains_key("SessionRow"));
    }
}
