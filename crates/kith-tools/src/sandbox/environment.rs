//! The variables that a command sees: an allow-list, because secrets have any name.

use std::path::{Path, PathBuf};

/// Variables that say where package caches lie.
#[rustfmt::skip]
const CACHES: &[&str] = &[
    "CARGO_HOME", "DENO_DIR", "GOCACHE", "GOMODCACHE", "GOPATH", "NPM_CONFIG_CACHE",
    "PIP_CACHE_DIR", "UV_CACHE_DIR", "YARN_CACHE_FOLDER", "npm_config_cache",
];

/// Variables that say where tool chains lie.
#[rustfmt::skip]
const TOOL_CHAINS: &[&str] = &[
    "CONDA_PREFIX", "GOROOT", "JAVA_HOME", "NVM_DIR", "PNPM_HOME", "PYENV_ROOT", "RUSTUP_HOME",
    "VIRTUAL_ENV",
];

/// Other variables that pass.
#[rustfmt::skip]
const ALLOWED: &[&str] = &[
    "CC", "CFLAGS", "CURL_CA_BUNDLE", "CXX", "CXXFLAGS", "HOME", "LANG", "LANGUAGE", "LDFLAGS",
    "LD_LIBRARY_PATH", "LOGNAME", "MAKEFLAGS", "NODE_EXTRA_CA_CERTS", "NODE_PATH", "PATH",
    "PIP_CERT", "PKG_CONFIG_PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONUNBUFFERED",
    "REQUESTS_CA_BUNDLE", "RUSTFLAGS", "RUSTUP_TOOLCHAIN", "SHELL", "SSL_CERT_DIR", "SSL_CERT_FILE",
    "TZ", "USER",
];

/// Set for every command: nobody is there to page through output or to type a password.
const FIXED: [(&str, &str); 6] = [
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("KITH_SANDBOX", "1"),
    ("PAGER", "cat"),
    ("TERM", "dumb"),
    ("TMPDIR", "/tmp"),
];

/// The environment of a command, from that of the host.
pub fn for_command(
    variables: impl IntoIterator<Item = (String, String)>,
    is_sandboxed: bool,
) -> Vec<(String, String)> {
    let named = [ALLOWED, CACHES, TOOL_CHAINS];
    let passes = |name: &str| named.iter().any(|it| it.contains(&name)) || name.starts_with("LC_");
    let mut kept: Vec<(String, String)> =
        variables.into_iter().filter(|(name, _)| passes(name)).collect();
    kept.sort();
    let fixed = FIXED.iter().filter(|(name, _)| is_sandboxed || *name != "KITH_SANDBOX");
    kept.extend(fixed.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    kept
}

/// The folders of package caches and of tool chains that variables name.
pub fn named_folders(variables: &[(String, String)]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let of = |names: &[&str]| {
        let values = variables.iter().filter(|(name, _)| names.contains(&name.as_str()));
        // `GOPATH` may be several.
        let folders = values.flat_map(|(_, value)| std::env::split_paths(value));
        let real = folders.filter(|it| it.is_absolute()).filter_map(|it| it.canonicalize().ok());
        real.collect()
    };
    (of(CACHES), of(TOOL_CHAINS))
}

/// The folders of the search path for programs, where they really lie.
pub fn program_folders(path: &str) -> Vec<PathBuf> {
    let folders = std::env::split_paths(path).filter(|it| it.is_absolute());
    let mut real: Vec<PathBuf> = folders.filter_map(|it| it.canonicalize().ok()).collect();
    real.retain(|it| it.is_dir() && it != Path::new("/"));
    real.dedup();
    real
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_of_any_name_stays_outside() {
        let host = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("ANTHROPIC_API_KEY", "k"),
            ("SSH_AUTH_SOCK", "/run/x"),
            ("MY_THING", "k"),
            ("LD_PRELOAD", "/x.so"),
            ("BASH_ENV", "/x"),
        ];
        let host = host.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let names: Vec<String> = for_command(host, true).into_iter().map(|it| it.0).collect();
        let expected = [
            "LC_ALL",
            "PATH",
            "GIT_PAGER",
            "GIT_TERMINAL_PROMPT",
            "KITH_SANDBOX",
            "PAGER",
            "TERM",
            "TMPDIR",
        ];
        assert_eq!(names, expected);
    }
}
