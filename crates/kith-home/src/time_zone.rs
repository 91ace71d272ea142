//! Time zones by name, and the one of this machine, without the list of all zones.
//!
//! The library reads the names of some 600 files in 20 folders before it finds one of them, in every
//! process. Here the one file is opened. What it cannot find in this way is left to the library: names
//! in another case, `TZ`, `TZDIR`, and systems that keep their zones elsewhere or not at all.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use jiff::tz::TimeZone;

/// Where the library looks first.
const ZONES: &str = "/usr/share/zoneinfo";
/// Leads to the file of this machine's time zone.
const LOCAL_LINK: &str = "/etc/localtime";
/// The largest file of a zone has 4 KB.
const ZONE_BYTES_MAX: u64 = 256 * 1024;

/// The time zone of this name, if it is known.
pub fn named(name: &str) -> Option<TimeZone> {
    // Not known is all a caller can use; the library has no other failure worth telling.
    of_file(name).or_else(|| TimeZone::get(name).ok())
}

/// The time zone of this machine.
pub fn local() -> TimeZone {
    of_link(Path::new(LOCAL_LINK)).unwrap_or_else(TimeZone::system)
}

fn of_link(link: &Path) -> Option<TimeZone> {
    if std::env::var_os("TZ").is_some() {
        return None;
    }
    let target = fs::read_link(link).ok()?;
    let (_, name) = target.to_str()?.rsplit_once("zoneinfo/")?;
    of_file(name)
}

/// The zone that has a file of exactly this name.
fn of_file(name: &str) -> Option<TimeZone> {
    if name.eq_ignore_ascii_case("utc") {
        return Some(TimeZone::UTC);
    }
    // Another system may find a file by its name in another case, which is not the zone's name.
    if !cfg!(target_os = "linux") || std::env::var_os("TZDIR").is_some() || !is_plain(name) {
        return None;
    }
    zone_in(Path::new(ZONES), name)
}

/// Whether the name leads to nothing but a file of the library's list.
fn is_plain(name: &str) -> bool {
    let is_plain = |part: &str| {
        let is_known =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+');
        !part.is_empty() && part.bytes().all(is_known)
    };
    let mut parts = name.split('/');
    // The library takes neither zones with leap seconds nor their counterparts.
    let is_listed = !matches!(parts.next(), Some("posix" | "right"));
    // It gives this name a zone of its own.
    is_listed && name.split('/').all(is_plain) && !name.eq_ignore_ascii_case("etc/unknown")
}

/// The zone that was asked for last. A host asks for the same one in every turn.
struct LastZone {
    name: String,
    modified: SystemTime,
    zone: TimeZone,
}

fn zone_in(folder: &Path, name: &str) -> Option<TimeZone> {
    static LAST: Mutex<Option<LastZone>> = Mutex::new(None);
    let file = File::open(folder.join(name)).ok()?;
    let about = file.metadata().ok().filter(fs::Metadata::is_file)?;
    let modified = about.modified().ok()?;
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(last) = &*last
        && (last.name.as_str(), last.modified) == (name, modified)
    {
        return Some(last.zone.clone());
    }
    let zone = TimeZone::tzif(name, &read(file).ok()?).ok()?;
    *last = Some(LastZone { name: name.to_owned(), modified, zone: zone.clone() });
    Some(zone)
}

fn read(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(ZONE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
