//! Secrets stand in the environment; settings only name them.

use std::env;

use super::form::is_variable;
use crate::report::{Blame, Report};

/// The name in `"${NAME}"`.
pub(super) fn variable_in(value: &str) -> Option<&str> {
    let name = value.strip_prefix("${")?.strip_suffix('}')?;
    is_variable(name).then_some(name)
}

/// `"${NAME}"` is the value of the environment variable. It is looked up only when it is used.
pub(crate) fn secret(value: &str) -> Result<String, Report> {
    let name = variable_in(value).unwrap_or_default();
    let is_set = env::var(name).ok().filter(|value| !value.is_empty());
    is_set.ok_or_else(|| {
        let message = format!("the environment variable `{name}`, named in kith.toml, is not set");
        Report::new(Blame::Request, "invalid_request", message)
            .hint(format!("`export {name}=…`, or use `--model demo`, which needs no key"))
    })
}
