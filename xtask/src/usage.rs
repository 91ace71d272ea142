//! What a verb says when it is called the wrong way.
//!
//! A type of its own because the exit code differs: 2 for wrong usage, 1 for everything else, as
//! in `kith` itself.

/// The message is one sentence and what to type instead.
#[derive(Debug)]
pub(crate) struct WrongUsage(pub(crate) String);

impl std::fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

/// For verbs that take nothing.
pub(crate) fn no_arguments(verb: &str, args: &[String]) -> Result<(), WrongUsage> {
    match args.first() {
        None => Ok(()),
        Some(arg) => Err(WrongUsage(format!(
            "`cargo xtask {verb}` takes no arguments, but got `{arg}`; \
             see `cargo xtask {verb} --help`"
        ))),
    }
}
