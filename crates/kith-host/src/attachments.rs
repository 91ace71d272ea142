//! Files that are sent along with a message: what they are, and which are refused.
//!
//! A file is judged by its bytes, whatever its name says. What the model could not be shown is refused
//! before the message is accepted: told only in words it would look as if the model had seen it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kith_providers::media::{media_type_of, why_not_shown};
use kith_vocab::block::Media;
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::models::Wire;
use kith_vocab::ingress::{ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX, RunningBehavior};

use crate::calls::message::{SendMessage, SentFile};
use crate::error::CallError;

const NAME_CHARS_MAX: usize = 255;

/// A file as it enters the house.
pub struct AttachedFile {
    pub media: Media,
    pub bytes: Vec<u8>,
}

/// Reads files of this machine for a message. Their bytes are judged when it is sent, and here
/// already, so that what is refused does not become a call.
pub fn read_files<P: AsRef<Path>>(
    paths: &[P],
    wire: Option<Wire>,
) -> Result<Vec<SentFile>, CallError> {
    let (mut files, mut room) = (Vec::new(), ATTACHMENT_BYTES_MAX);
    for path in paths {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let failed = |source: io::Error| {
            CallError::invalid(format!("cannot attach `{shown}`: {source}"))
                .hint("check the path, and that you may read the file")
        };
        // A pipe would be waited for until somebody writes to it.
        if !path.metadata().map_err(failed)?.is_file() {
            return Err(CallError::invalid(format!("cannot attach `{shown}`: it is not a file")));
        }
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(failed)?;
        file.take(room + 1).read_to_end(&mut bytes).map_err(failed)?;
        room = room.checked_sub(bytes.len() as u64).ok_or_else(too_large)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        judge(&name, &bytes, wire)?;
        files.push(SentFile { name, data: STANDARD.encode(&bytes) });
    }
    Ok(files)
}

/// The attachments of a message, if all of them can be shown to a model on this wire.
pub(crate) fn attachments_of(
    message: &SendMessage,
    wire: Option<Wire>,
) -> Result<Vec<AttachedFile>, CallError> {
    let sent = &message.attachments;
    if sent.is_empty() {
        return Ok(Vec::new());
    }
    if message.running_behavior == RunningBehavior::Steer {
        let what = "a message that steers a running turn cannot have attachments";
        return Err(CallError::invalid(what).hint("send it with `kith ask --attach`"));
    }
    if sent.len() > ATTACHMENTS_MAX {
        let what =
            format!("{} files are attached, and the maximum is {ATTACHMENTS_MAX}", sent.len());
        return Err(CallError::invalid(what));
    }
    let (mut files, mut room) = (Vec::new(), ATTACHMENT_BYTES_MAX);
    for SentFile { name, data } in sent {
        let bytes = STANDARD
            .decode(data)
            .map_err(|_| CallError::invalid("the bytes of an attachment are not base64"))?;
        room = room.checked_sub(bytes.len() as u64).ok_or_else(too_large)?;
        files.push(AttachedFile { media: judge(name, &bytes, wire)?, bytes });
    }
    Ok(files)
}

fn judge(name: &str, bytes: &[u8], wire: Option<Wire>) -> Result<Media, CallError> {
    let name: String = name.chars().filter(|ch| !ch.is_control()).take(NAME_CHARS_MAX).collect();
    let Some(media_type) = media_type_of(bytes) else {
        let what =
            format!("cannot attach `{name}`: it is not a PNG, JPEG, GIF or WebP image or a PDF");
        return Err(CallError::invalid(what)
            .hint("put a text file into the agent's folder and ask the agent to read it"));
    };
    let media = Media {
        media_type: media_type.to_owned(),
        blob: sha256_hex(bytes),
        bytes: bytes.len() as u64,
        name: Some(name),
    };
    if let Some(why) = wire.and_then(|wire| why_not_shown(wire, &media)) {
        let name = media.name.unwrap_or_default();
        return Err(CallError::invalid(format!("cannot attach `{name}`: it {why}"))
            .hint("make it smaller, or use a model on another wire (`kith model ls`)"));
    }
    Ok(media)
}

fn too_large() -> CallError {
    let mib = ATTACHMENT_BYTES_MAX / (1024 * 1024);
    CallError::invalid(format!("the attachments are larger than {mib} MiB together"))
        .hint("attach fewer or smaller files")
}
