//! Programs that are started for the owner and not for a model: the owner's browser, and this program
//! itself as a daemon.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Opens an address in the owner's browser. Whether anything is shown nobody can tell.
pub fn open_in_browser(url: &str) -> io::Result<()> {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.process_group(0).spawn()?;
    // It hands the address over and ends; its end is waited for so that it is not left as a zombie.
    std::thread::Builder::new().spawn(move || child.wait()).map(drop)
}

/// Starts this program in a process group of its own, so that it outlives the terminal. Its output
/// goes to the file.
pub fn start_in_background(args: &[OsString], folder: &Path, output: File) -> io::Result<Child> {
    let program = std::env::current_exe()?;
    let errors = output.try_clone()?;
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).stdin(Stdio::null());
    command.stdout(output).stderr(errors).process_group(0).spawn()
}
