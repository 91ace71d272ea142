//! Houses, hosts and calls that tests of several modules share.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kith_vocab::clock::Clock as _;
use kith_vocab::ids::SessionId;

use crate::call::{Call, Follower};
use crate::caller::{CLI, Caller};
use crate::calls::session::CreateDialog;
use crate::clock::SystemClock;
use crate::error::CallError;
use crate::host::{Host, HostStart};
use crate::house::House;
use crate::routes;
use crate::settings::watch::SettingsWatch;

/// The house of a folder, with an agent in it.
pub(crate) fn house(dir: &Path) -> House {
    fs::write(dir.join("Agent.md"), "Be kind.\n").unwrap();
    let dir = dir.canonicalize().unwrap();
    House { cwd: dir.clone(), dir, user_home: None }
}

pub(crate) async fn host(dir: &Path) -> Arc<Host> {
    let house = house(dir);
    let settings = SettingsWatch::open(&house).unwrap();
    match Host::start(house, settings).await.unwrap() {
        HostStart::Here(host) => host,
        HostStart::Elsewhere { holder } => panic!("{holder} holds a new house"),
    }
}

/// What the host answers its owner.
pub(crate) async fn answer_to_owner<C: Call>(
    host: &Arc<Host>,
    call: C,
) -> Result<C::Answer, CallError> {
    let answer = routes::answer(host, Caller::owner(CLI), call, Follower::<()>::none());
    answer.await.map(|it| it.data)
}

pub(crate) fn new_dialog() -> CreateDialog {
    CreateDialog {
        session_id: Some(SessionId::from_uuid(SystemClock.new_id())),
        agent_id: None,
        thread_id: Some("web:room:a".parse().unwrap()),
        cwd: Some("/".to_owned()),
        priming: None,
    }
}
