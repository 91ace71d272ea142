//! Arguments of `kith up`, `kith down` and `kith status`.

use clap::Args;

/// Start the daemon: the house's host, with its page
///
/// It stays until Ctrl-C or `kith down`. Chats and commands attach to it.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith up --open\n  kith up --detach\n  kith down")]
pub(crate) struct Up {
    /// Open the page in the browser, logged in
    #[arg(long)]
    pub(crate) open: bool,
    /// Run in the background
    #[arg(short, long)]
    pub(crate) detach: bool,
    /// Take over from a daemon that runs already, for instance after an upgrade
    #[arg(long)]
    pub(crate) replace: bool,
    /// Port of the page on this machine; 0 takes any. Without it, 5484 or any
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
}
