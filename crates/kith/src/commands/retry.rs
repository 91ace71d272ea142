//! `kith retry`: continues a turn that failed or was interrupted.

use std::process::ExitCode;

use kith_host::calls::control::RetryTurn;
use kith_host::clock::SystemClock;
use kith_host::error::CallError;
use kith_vocab::clock::Clock as _;
use kith_vocab::ids::EventId;

use super::ask::{TurnDisplay, print, send};
use super::session::named_or_current;
use super::{client_of, house_of, leave};
use crate::program::args::{GlobalArgs, Retry};
use crate::program::signals::StopSignal;

pub(crate) async fn run(shared: &GlobalArgs, args: Retry) -> Result<ExitCode, CallError> {
    let session = named_or_current(shared, args.session).await?;
    let client = client_of(shared, house_of(shared)?);
    let retry_id = EventId::from_uuid(SystemClock.new_id());
    let shown = TurnDisplay::new(shared.json, args.stream_json);
    let mut stop = StopSignal::listen()?;
    let sent = send(&client, RetryTurn { session, retry_id }, shown.screen(), &mut stop).await;
    shown.end_line();
    let printed = sent.and_then(|told| print(&told, &shown, &stop));
    leave(client, &mut stop).await;
    printed
}
