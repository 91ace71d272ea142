//! The model of a conversation whose host is another process: its keys and settings decide.

use kith_host::calls::models::{NameModel, NamedModel};
use kith_host::client::Client;
use kith_host::error::{CallError, ErrorCode};
use kith_host::models::ChosenModel;

const HINT: &str = "quit the other kith, or start both with the same settings and keys";

/// The model that the host would use, if it is not the one that this process would use. A model that
/// was named must be the same in both; what a host on another machine calls by a name is its own matter.
pub(super) async fn other_than(
    client: &Client,
    named: Option<&str>,
    chosen: Option<&ChosenModel>,
) -> Result<Option<NamedModel>, CallError> {
    if client.is_host().await? {
        return Ok(None);
    }
    let call = NameModel { model: named.map(str::to_owned) };
    let Some(chosen) = chosen else { return Ok(Some(client.call(call).await?.data)) };
    let of_host = client.call(call).await.map_err(|error| error.hint(HINT))?.data;
    if of_host.name == chosen.name {
        return Ok(None);
    }
    if named.is_some() {
        let message = format!(
            "the kith running in this house has `{}` of {} by that name, not `{}` of {}",
            of_host.name.model, of_host.name.provider, chosen.name.model, chosen.name.provider
        );
        return Err(CallError::request(ErrorCode::Conflict, message).hint(HINT));
    }
    Ok(Some(of_host))
}
