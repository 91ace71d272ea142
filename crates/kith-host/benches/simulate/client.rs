//! How people reach the host: by typed calls through the router, in the host's process or as text.

use std::sync::Arc;

use kith_host::call::{Call, Follower, Payload, Response};
use kith_host::caller::Caller;
use kith_host::error::{Blame, CallError};
use kith_host::host::Host;
use kith_host::routes;
use kith_vocab::event::messages::{Author, Trust};
use kith_vocab::json::Json;

use super::chance::Chance;
use super::world::World;

#[derive(Clone)]
pub(crate) struct SimClient {
    pub(crate) host: Arc<Host>,
    pub(crate) world: Arc<World>,
    pub(crate) caller: Caller,
    /// Whether its calls come as text, as over the socket.
    pub(crate) writes_text: bool,
}

/// Somebody who uses the house: mostly its owner, sometimes a guest.
pub(crate) fn draw_caller(chance: &mut Chance) -> Caller {
    let owner = Caller::owner(format!("client-{}", chance.below(3)));
    if !chance.percent(15) {
        return owner;
    }
    Caller {
        platform: "web".to_owned(),
        account: "garden".to_owned(),
        user: Author { user_id: "ann".to_owned(), display_name: "Ann".to_owned() },
        trust: Trust::Paired,
        ..owner
    }
}

impl SimClient {
    pub(crate) async fn call<C: Call>(&self, call: C) -> Result<C::Answer, CallError> {
        self.ask::<C, ()>(call, Follower::none()).await
    }

    /// Asks the host. As in a host that listens, the work is a task of its own: it goes on when
    /// nobody waits for the answer any more.
    pub(crate) async fn ask<C: Call, I: Payload>(
        &self,
        call: C,
        follower: Follower<I>,
    ) -> Result<C::Answer, CallError> {
        let client = self.clone();
        let answer = self.world.spawn(async move { client.answer(call, follower).await });
        let Ok(answer) = answer.await else {
            self.world.violate(format!("the host panics in `{}`", C::NAME));
            return std::future::pending().await;
        };
        self.check(C::NAME, &answer);
        answer
    }

    async fn answer<C: Call, I: Payload>(
        &self,
        call: C,
        follower: Follower<I>,
    ) -> Result<C::Answer, CallError> {
        let (host, caller) = (&self.host, self.caller.clone());
        if !self.writes_text {
            return routes::answer(host, caller, call, follower).await.map(|it| it.data);
        }
        let (body, cancel) = (Json::of(&call), follower.cancel.clone());
        let items = Follower::new(
            move |item: Json, delivery| {
                follower.push(item.read().map_err(CallError::bug)?, delivery)
            },
            cancel,
        );
        let Response { data, .. } = routes::dispatch(host, caller, C::NAME, &body, items).await?;
        data.read().map_err(CallError::bug)
    }

    /// Whatever goes wrong outside, a call is never answered with a mistake of ours.
    fn check<T>(&self, name: &str, answer: &Result<T, CallError>) {
        let Err(error) = answer else { return };
        let may_be_ours = self.world.lock().plan.own_faults > 0;
        if error.blame == Blame::Program && !may_be_ours {
            self.world.violate(format!("`{name}` is answered: {}", error.message()));
        }
    }
}

/// An error in a few words.
pub(crate) fn words(error: &CallError) -> String {
    error.message().chars().take(90).collect()
}
