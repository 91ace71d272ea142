//! The file by which the system starts the daemon at login: a systemd user unit, or a launchd agent.
//!
//! Only the file is written. Starting is left to the owner, who is told what to type.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use kith_vocab::digest::sha256_hex;

/// Characters of a house's name in the name of its file.
const NAME_CHARS_MAX: usize = 40;
/// A file with this line is ours to replace and to remove.
const MARK: &str = "This file was written by kith";

/// What starts services at login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceSystem {
    Systemd,
    Launchd,
}

/// The service of one house.
#[derive(Clone, Debug)]
pub struct Service {
    pub system: ServiceSystem,
    /// This program.
    pub program: PathBuf,
    /// After `up`.
    pub args: Vec<OsString>,
    pub house: PathBuf,
    /// `~`, and `$XDG_CONFIG_HOME` if it is set.
    pub user_home: PathBuf,
    pub config_home: Option<PathBuf>,
}

impl ServiceSystem {
    pub fn of_this_system() -> ServiceSystem {
        if cfg!(target_os = "macos") { ServiceSystem::Launchd } else { ServiceSystem::Systemd }
    }

    /// Whether the service gets the variables of `~/.kith/environment`. Launchd reads no such file.
    pub fn reads_environment_file(self) -> bool {
        self == ServiceSystem::Systemd
    }
}

impl Service {
    /// The name by which the service manager knows it. Two houses never have the same.
    pub fn name(&self) -> String {
        let folder = self.house.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let is_plain = |ch: &char| ch.is_ascii_alphanumeric() || *ch == '-';
        let plain: String = folder.chars().filter(is_plain).take(NAME_CHARS_MAX).collect();
        let hash = sha256_hex(self.house.as_os_str().as_encoded_bytes());
        let dash = if plain.is_empty() { "" } else { "-" };
        match self.system {
            ServiceSystem::Systemd => format!("kith-{plain}{dash}{}.service", &hash[..8]),
            ServiceSystem::Launchd => format!("kith.{plain}{dash}{}", &hash[..8]),
        }
    }

    pub fn path(&self) -> PathBuf {
        let name = self.name();
        match self.system {
            ServiceSystem::Systemd => {
                let config = self.config_home.clone();
                let config = config.unwrap_or_else(|| self.user_home.join(".config"));
                config.join("systemd/user").join(name)
            }
            ServiceSystem::Launchd => {
                self.user_home.join("Library/LaunchAgents").join(format!("{name}.plist"))
            }
        }
    }

    /// What to type to start it now and at every login; and to end that.
    pub fn commands(&self) -> (Vec<String>, Vec<String>) {
        let (name, path) = (self.name(), quoted(&self.path()));
        match self.system {
            ServiceSystem::Systemd => (
                vec![
                    "systemctl --user daemon-reload".to_owned(),
                    format!("systemctl --user enable --now {name}"),
                ],
                vec![format!("systemctl --user disable --now {name}")],
            ),
            ServiceSystem::Launchd => {
                let load = format!("launchctl bootstrap gui/$(id -u) {path}");
                (vec![load], vec![format!("launchctl bootout gui/$(id -u)/{name}")])
            }
        }
    }

    /// Writes the file. One that somebody else wrote stays.
    pub fn install(&self) -> io::Result<PathBuf> {
        let (path, text) = (self.path(), self.text()?);
        Service::require_ours(&path)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let part = path.with_extension("part");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&part)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, &path)?;
        Ok(path)
    }

    /// Removes the file; whether there was one.
    pub fn uninstall(&self) -> io::Result<bool> {
        let path = self.path();
        Service::require_ours(&path)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            removed => removed.map(|()| true),
        }
    }

    fn require_ours(path: &Path) -> io::Result<()> {
        match fs::read_to_string(path) {
            Ok(text) if text.contains(MARK) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Ok(_) => Err(invalid(&format!(
                "`{}` was not written by kith; move it away first",
                path.display()
            ))),
            Err(error) => Err(error),
        }
    }

    fn words(&self) -> Vec<OsString> {
        let mut words = vec![self.program.clone().into_os_string(), "up".into(), "--home".into()];
        words.push(self.house.clone().into_os_string());
        words.extend(self.args.iter().cloned());
        words
    }

    /// The text of the file.
    pub fn text(&self) -> io::Result<String> {
        let words = self.words().into_iter().map(|word| {
            let word = word.into_string().map_err(|_| invalid("a path is not valid UTF-8"))?;
            // Neither form can hold them, and no path that is meant to be used has them.
            if word.contains(char::is_control) {
                return Err(invalid("a path has control characters in it"));
            }
            Ok(word)
        });
        let words = words.collect::<io::Result<Vec<String>>>()?;
        Ok(match self.system {
            ServiceSystem::Systemd => unit(&words),
            ServiceSystem::Launchd => plist(&self.name(), &words),
        })
    }
}

fn unit(words: &[String]) -> String {
    let command: Vec<String> = words.iter().map(|it| unit_word(it)).collect();
    format!(
        "# {MARK}: `kith up --install`. `kith up --uninstall` removes it.\n\
         [Unit]\nDescription=Kith daemon\n\n\
         [Service]\nExecStart={}\n\
         # Keys of models, one NAME=value per line.\n\
         EnvironmentFile=-%h/.kith/environment\n\
         Restart=on-failure\nRestartSec=5\n\
         # Running turns get time to end.\n\
         TimeoutStopSec=60\nKillMode=mixed\n\n\
         [Install]\nWantedBy=default.target\n",
        command.join(" ")
    )
}

/// A word of `ExecStart`, in quotes: systemd reads `%` as a specifier, `$` as a variable and `\` as an
/// escape inside them too.
fn unit_word(word: &str) -> String {
    let mut quoted = String::from("\"");
    for ch in word.chars() {
        match ch {
            '\\' | '"' => quoted.extend(['\\', ch]),
            '%' | '$' => quoted.extend([ch, ch]),
            ch => quoted.push(ch),
        }
    }
    quoted.push('"');
    quoted
}

fn plist(label: &str, words: &[String]) -> String {
    let words: Vec<String> =
        words.iter().map(|it| format!("    <string>{}</string>\n", xml(it))).collect();
    let words = words.concat();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!-- {MARK} -->\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  <string>{}</string>\n  \
         <key>ProgramArguments</key>\n  <array>\n{words}  </array>\n  \
         <key>RunAtLoad</key>\n  <true/>\n  \
         <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n  \
         <key>ExitTimeOut</key>\n  <integer>60</integer>\n</dict>\n</plist>\n",
        xml(label)
    )
}

fn xml(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&apos;")
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message.to_owned())
}

#[cfg(test)]
mod tests;
