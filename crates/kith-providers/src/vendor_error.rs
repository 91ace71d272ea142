//! Errors as vendors report them, in the body of a status or in the middle of a stream.
//!
//! All wires share this: servers that speak several of them report errors in one form, and proxies
//! in forms of their own.

use kith_vocab::event::models::FailureKind;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::fault::{Fault, is_about_length};
use crate::status::{NO_QUOTA_LEFT, is_about_quota};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VendorError {
    pub(crate) message: String,
    /// Its code and type, in whatever form it has them.
    pub(crate) code: String,
}

impl VendorError {
    /// Reads the body of an error status. Servers disagree about its form.
    pub(crate) fn of_body(body: &str) -> Option<VendorError> {
        let body: Value = serde_json::from_str(body).ok()?;
        let body = body.as_array().and_then(|list| list.first()).unwrap_or(&body);
        let error = ["error", "detail"].iter().find_map(|key| body.get(key)).unwrap_or(body);
        let error = VendorError::of(error);
        (!error.message.is_empty()).then_some(error)
    }

    pub(crate) fn of(error: &Value) -> VendorError {
        if let Some(message) = error.as_str() {
            return VendorError { message: message.to_owned(), code: String::new() };
        }
        let word = |key: &str| match error.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let code = format!("{} {}", word("code"), word("type")).trim().to_owned();
        VendorError { message: word("message"), code }
    }

    /// Reads an error that stands in an event of a stream.
    pub(crate) fn of_event(json: &str) -> VendorError {
        serde_json::from_str(json).map(|error| VendorError::of(&error)).unwrap_or_default()
    }

    /// The same, of a member that an event may lack.
    pub(crate) fn of_member(error: Option<&RawValue>) -> Option<VendorError> {
        error.map(|it| VendorError::of_event(it.get()))
    }

    /// The fault of an error that came after the status was sent.
    pub(crate) fn into_fault(self) -> Fault {
        let VendorError { message, code } = self;
        if is_about_length(&message) || is_about_length(&code) {
            let what = "rejected the conversation as too long";
            return Fault::new(FailureKind::ContextLength, what).said(&message);
        }
        if is_about_quota(&code) || is_about_quota(&message) {
            let what = format!("has {NO_QUOTA_LEFT}: check its plan and billing");
            return Fault::new(FailureKind::Status, what).said(&message);
        }
        let what = "reported an error instead of an answer";
        let fault = Fault::new(FailureKind::Status, what).said(&message);
        let code = code.to_lowercase();
        if PASSING.iter().any(|word| code.contains(word)) { fault.retryable() } else { fault }
    }
}

/// Parts of codes for what passes by itself.
const PASSING: [&str; 11] = [
    "429",
    "500",
    "502",
    "503",
    "504",
    "529",
    "rate_limit",
    "overloaded",
    "server_error",
    "api_error",
    "timeout",
];
