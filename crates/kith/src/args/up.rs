//! Arguments of `kith up`, `kith down` and `kith status`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[command(after_help = "Example:\n  kith up --open\n  kith up --detach\n  \
                        kith up --listen 192.168.1.20:5484\n  kith down")]
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
    /// Let other machines in too, over TLS and with the token of `.kith/http-token`
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Write the file that starts it at every login (systemd or launchd), and say what to type
    #[arg(long, conflicts_with_all = ["open", "detach", "replace", "uninstall"])]
    pub(crate) install: bool,
    /// Remove that file
    #[arg(long, conflicts_with_all = ["open", "detach", "replace", "listen", "port"])]
    pub(crate) uninstall: bool,
    /// Certificate for `--listen`, as PEM, with whatever signed it. Without it, kith makes one
    #[arg(long, value_name = "FILE", requires = "listen", requires = "key")]
    pub(crate) certificate: Option<PathBuf>,
    /// Key of that certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) key: Option<PathBuf>,
}
