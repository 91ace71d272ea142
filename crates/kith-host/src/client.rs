//! The client: makes calls to a house, wherever they are answered.
//!
//! A call that only reads is answered in this process from the files, without the lock and without
//! making anything. Every other one goes to the host, and so does every one if the program wants
//! the host's view.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use kith_vocab::clock::BoxFuture;
use tokio::sync::{Mutex, OnceCell, mpsc};
use tokio_util::sync::CancellationToken;

use crate::call::{Access, Call, Delivery, Follow, Follower, Payload, Reply};
use crate::caller::Caller;
use crate::calls::daemon::HostKind;
use crate::connection::HostHere;
use crate::error::CallError;
use crate::house::House;
use crate::read_side::ReadSide;
use crate::remote::{RemoteAddress, RemoteHost};
use crate::routes;
use crate::settings::watch::SettingsWatch;

pub use crate::calls::message::ModelName;

/// Who answers calls that only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadsFrom {
    /// This process, from the files.
    Files,
    Host,
}

/// A client of one house, wherever its host is.
pub struct Client {
    pub(crate) house: House,
    pub(crate) caller: Caller,
    reads_from: ReadsFrom,
    /// The host, if it is on another machine. Then nothing is read or written here.
    pub(crate) remote: Option<Arc<RemoteHost>>,
    /// Read when they are first needed.
    pub(crate) settings: OnceCell<Arc<SettingsWatch>>,
    /// Where a host in this process tells what became of turns that an earlier one left unfinished;
    /// without it, it does not resume them.
    pub(crate) resume_notes: Option<mpsc::Sender<String>>,
    /// What this process is if the host is in it.
    pub(crate) kind: HostKind,
    /// The host, if it is in this process.
    pub(crate) here: Arc<Mutex<Option<HostHere>>>,
    /// Until when, by the monotonic clock, this process does not try to be the host: it has given the
    /// house up to another one, which is about to be.
    pub(crate) released_until: Arc<AtomicU64>,
}

impl Client {
    pub fn new(house: House, caller: Caller, reads_from: ReadsFrom) -> Client {
        let (settings, here, released_until) = (OnceCell::new(), Arc::default(), Arc::default());
        let (resume_notes, kind) = (None, HostKind::Command);
        Client {
            house,
            caller,
            reads_from,
            remote: None,
            settings,
            resume_notes,
            kind,
            here,
            released_until,
        }
    }

    /// A client of a host on another machine. `house` is what that host says of itself.
    pub fn of_remote(house: House, caller: Caller, remote: Arc<RemoteHost>) -> Client {
        let client = Client::new(house, caller, ReadsFrom::Host);
        Client { remote: Some(remote), ..client }
    }

    /// Where the host is, if it is on another machine.
    pub fn remote_address(&self) -> Option<&RemoteAddress> {
        self.remote.as_ref().map(|remote| remote.address())
    }

    /// Whether the host is on another machine, which then chooses the model and whose files cannot be
    /// read here.
    pub fn is_remote(&self) -> bool {
        self.remote.is_some()
    }

    /// Says what this process is to those who ask its host. A conversation gives the house up to a
    /// daemon that asks for it, and attaches to that.
    #[must_use]
    pub fn known_as(mut self, kind: HostKind) -> Client {
        self.kind = kind;
        self
    }

    /// If the host is ever in this process, it resumes turns that an earlier one left unfinished, and
    /// says what became of each.
    #[must_use]
    pub fn resuming(mut self, notes: mpsc::Sender<String>) -> Client {
        self.resume_notes = Some(notes);
        self
    }

    pub async fn call<C: Call>(&self, call: C) -> Reply<C::Answer> {
        self.ask(call, Follower::<()>::none()).await
    }

    /// Gives every item to `take` before it returns the answer.
    pub async fn follow<C: Follow>(
        &self,
        call: C,
        take: impl Fn(C::Item) + Send + Sync + 'static,
        cancel: CancellationToken,
    ) -> Reply<C::Answer> {
        let follower = Follower::new(
            move |item, _: Delivery| {
                take(item);
                Ok(())
            },
            cancel,
        );
        self.ask(call, follower).await
    }

    /// The same for a client that takes its time: the next item waits until `take` is done with the one
    /// before.
    pub async fn follow_paced<C: Follow>(
        &self,
        call: C,
        take: impl Fn(C::Item) -> BoxFuture<'static, ()> + Send + Sync + 'static,
        cancel: CancellationToken,
    ) -> Reply<C::Answer> {
        let push = |_, delivery| match delivery {
            Delivery::IfRoom => Ok(()),
            Delivery::Certain | Delivery::Paced => {
                Err(CallError::bug("a paced client was given an item that it cannot wait for"))
            }
        };
        let send = move |item| -> BoxFuture<'static, _> {
            let taken = take(item);
            Box::pin(async move {
                taken.await;
                Ok(())
            })
        };
        let follower = Follower::new(push, cancel).with_room(send, CancellationToken::new());
        self.ask(call, follower).await
    }

    async fn ask<C: Call, I: Payload>(&self, call: C, follower: Follower<I>) -> Reply<C::Answer> {
        if C::ACCESS == Access::Write || self.reads_from == ReadsFrom::Host {
            return self.ask_host(call, follower).await;
        }
        let side = self.read_side().await;
        routes::reads().answer(&side, self.caller.clone(), call, follower).await
    }

    /// Boxed, so that it is not compiled again for each call.
    fn read_side(&self) -> BoxFuture<'_, Arc<ReadSide>> {
        Box::pin(async move {
            let here = self.here.lock().await;
            if let Some(here) = &*here {
                return Arc::clone(here.host.reads());
            }
            drop(here);
            Arc::new(ReadSide::open(self.house.clone()).await)
        })
    }
}
