//! `--remote`: commands for a house on another machine.
//!
//! The token comes from a variable, from a file, or from whoever sits at the terminal. It never stands on
//! the command line, where other users of the machine could read it.

use std::env;
use std::fs::File;
use std::io::{self, BufRead as _, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use kith_host::calls::message::ModelName;
use kith_host::calls::models::NameModel;
use kith_host::error::{CallError, ErrorCode};
use kith_host::models::ModelRegistry;
use kith_host::remote::{RemoteAddress, RemoteHost, RemoteHouse};
use kith_host::settings::watch::SettingsWatch;
use kith_vocab::event::models::Wire;
use kith_vocab::secret::Secret;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::{caller_of, client_of, house_of};
use crate::program::args::model::ModelCommand;
use crate::program::args::prime::Prime;
use crate::program::args::trust::TrustAction;
use crate::program::args::{Command, GlobalArgs};
use crate::program::ui;

const TOKEN_VARIABLE: &str = "KITH_REMOTE_TOKEN";
/// Bytes of a file with a token, or of a token that is typed.
const TOKEN_BYTES_MAX: u64 = 4096;

/// The address that was named; an empty one is a variable that somebody tried to take away.
pub(super) fn named(shared: &GlobalArgs) -> Option<String> {
    shared.remote.clone().filter(|address| !address.is_empty())
}

/// Whether the command concerns a house at all.
pub(super) fn is_asked(command: Option<&Command>) -> bool {
    !matches!(command, Some(Command::Completions(_) | Command::Man(_) | Command::Complete(_)))
}

/// Refuses what is done with files and processes of the machine where the house is.
pub(super) fn require_possible(command: Option<&Command>) -> Result<(), CallError> {
    let name = match command {
        Some(Command::Init(_)) => "init",
        Some(Command::Up(_)) => "up",
        Some(Command::Sandbox(_)) => "sandbox",
        Some(Command::Agent(_)) => "agent",
        Some(Command::Backup { .. }) => "backup",
        Some(Command::Trust(args)) if !matches!(args.action, Some(TrustAction::Ls)) => "trust",
        Some(Command::Prime(Prime::New { .. })) => "prime new",
        Some(Command::Model(ModelCommand::Test { .. })) => "model test",
        _ => return Ok(()),
    };
    let message = format!("`kith {name}` does not work with `--remote`");
    Err(CallError::usage(message).hint("run it on the machine where the house is"))
}

/// Reaches the host, and learns what its house is.
pub(super) async fn attach(
    shared: &GlobalArgs,
    address: &str,
) -> Result<Arc<RemoteHouse>, CallError> {
    let address = RemoteAddress::parse(address)?;
    let token = token(shared, &address)?;
    let host = RemoteHost::new(address, token);
    Ok(Arc::new(RemoteHouse::meet(host, caller_of(shared)).await?))
}

fn token(shared: &GlobalArgs, address: &RemoteAddress) -> Result<Secret, CallError> {
    let variable = env::var(TOKEN_VARIABLE).map(Secret::new);
    if let Ok(token) = variable
        && !token.is_empty()
    {
        return Ok(token);
    }
    if let Some(file) = shared.token_file.as_deref().filter(|it| !it.as_os_str().is_empty()) {
        return read_token(file).map_err(|error| {
            let message = format!("cannot use the token file `{}`: {error}", file.display());
            CallError::filesystem(message)
        });
    }
    if !shared.unattended && ui::is_interactive() {
        return typed_token(address).map_err(|error| {
            CallError::filesystem(format!("cannot read from the terminal: {error}"))
        });
    }
    let message = format!("the host at `{}` wants a token", address.authority());
    Err(CallError::request(ErrorCode::AuthFailed, message).hint(format!(
        "copy `.kith/http-token` from the host and name the copy with `--token-file`, or set \
         {TOKEN_VARIABLE}"
    )))
}

fn read_token(path: &Path) -> io::Result<Secret> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let file = File::open(path)?;
    if file.metadata()?.mode() & 0o077 != 0 {
        return Err(invalid("other users can read it; `chmod 600` it"));
    }
    let mut text = String::new();
    file.take(TOKEN_BYTES_MAX).read_to_string(&mut text)?;
    let token = Secret::new(text);
    if token.is_empty() { Err(invalid("it is empty")) } else { Ok(token) }
}

/// Asks for the token without showing what is typed.
fn typed_token(address: &RemoteAddress) -> io::Result<Secret> {
    ui::prompt(&format!("Token of the host at {}: ", ui::visible(address.authority())));
    let modes = tcgetattr(io::stdin())?;
    let mut hidden = modes.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
    let mut line = String::new();
    let read = io::stdin().lock().take(TOKEN_BYTES_MAX).read_line(&mut line);
    tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
    ui::error_line("");
    read.map(|_| Secret::new(line))
}

/// The model that a message will be answered by.
pub(super) struct ExpectedModel {
    pub(super) name: ModelName,
    /// Unknown of a model on another machine.
    pub(super) wire: Option<Wire>,
    /// Nobody chose it.
    pub(super) by_default: bool,
}

/// Chooses the model; on another machine, its host does.
pub(super) async fn expected_model(
    shared: &GlobalArgs,
    named: Option<&str>,
    settings: &Arc<SettingsWatch>,
) -> Result<ExpectedModel, CallError> {
    if shared.remote_house.is_some() {
        let client = client_of(shared, house_of(shared)?);
        let model = named.map(str::to_owned);
        let name = client.call(NameModel { model }).await?.data.name;
        return Ok(ExpectedModel { name, wire: None, by_default: false });
    }
    let models = ModelRegistry::new(Arc::clone(settings));
    let chosen = models.choose(named, &settings.last_good())?;
    let wire = chosen.refs.first().map(|it| it.wire);
    Ok(ExpectedModel { name: chosen.name, wire, by_default: chosen.by_default })
}
