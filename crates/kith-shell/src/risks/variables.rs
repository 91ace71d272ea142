//! Variables that a command may set for itself without a question.
//!
//! The list is one of those that only change what is printed, measured or tried. So many programs
//! load code by the name in a variable that no list of the dangerous ones is ever complete.

#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "APP_ENV", "CARGO_INCREMENTAL", "CARGO_NET_OFFLINE", "CARGO_TERM_COLOR", "CARGO_TERM_VERBOSE",
    "CGO_ENABLED", "CI", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "DEBUG",
    "DOTNET_CLI_TELEMETRY_OPTOUT", "FORCE_COLOR", "GOARCH", "GOMAXPROCS", "GOOS", "INSTA_UPDATE",
    "LANG", "LANGUAGE", "LINES", "LOG_LEVEL", "NODE_ENV", "NO_COLOR", "OMP_NUM_THREADS",
    "PROPTEST_CASES", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONIOENCODING",
    "PYTHONUNBUFFERED", "PYTHONUTF8", "RACK_ENV", "RAILS_ENV", "RAYON_NUM_THREADS",
    "RUST_BACKTRACE", "RUST_LIB_BACKTRACE", "RUST_LOG", "RUST_LOG_STYLE", "RUST_MIN_STACK",
    "RUST_TEST_NOCAPTURE", "RUST_TEST_THREADS", "SOURCE_DATE_EPOCH", "TERM", "TEST_ENV", "TZ", "V",
    "VERBOSE",
];

/// Where programs of the project look for its own modules.
#[rustfmt::skip]
const MODULE_PATHS: &[&str] = &[
    "PYTHONPATH", "NODE_PATH",
];

pub(super) fn is_harmless(name: &str, value: &str) -> bool {
    if MODULE_PATHS.contains(&name) {
        let is_inside =
            |part: &str| !part.starts_with('/') && !part.split('/').any(|it| it == "..");
        return value.split(':').all(is_inside);
    }
    // A value with a slash may be a file that is read: `TZ=/x`, `LANG=../x`, `TERM=./x`.
    (HARMLESS.contains(&name) || name.starts_with("LC_"))
        && !value.contains("..")
        && !value.starts_with(['/', ':', '.'])
}
