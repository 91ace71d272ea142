//! The names of programs, by what they are for.

/// They read files or their input and print; with any arguments they change nothing but what a
/// redirection names.
#[rustfmt::skip]
const READERS: &[&str] = &[
    "arch", "b2sum", "base32", "base64", "basename", "bat", "cal", "cat", "cksum", "cloc", "cmp",
    "column", "comm", "cut", "date", "df", "diff", "dirname", "du", "echo", "egrep", "expand",
    "expr", "factor", "false", "fgrep", "file", "fmt", "fold", "free", "grep", "groups", "head",
    "hexdump", "hostname", "id", "join", "jq", "ls", "lscpu", "md5sum", "nl", "nproc", "numfmt",
    "od", "paste", "printenv", "printf", "ps", "pwd", "readlink", "realpath", "rev", "rg", "seq",
    "sha1sum", "sha256sum", "sha512sum", "sleep", "stat", "strings", "sum", "tac", "tail", "test",
    "tr", "tree", "true", "uname", "unexpand", "uniq", "uptime", "wc", "which", "whoami",
];

/// Readers with an option or operand that writes, or runs a program.
#[rustfmt::skip]
const READERS_WITH_MORE: &[&str] = &[
    "bat", "date", "file", "hostname", "jq", "rg", "tree", "uniq",
];

/// Whether a program only reads and prints, whatever its arguments are.
pub(super) fn takes_any_words(name: &str) -> bool {
    READERS.contains(&name) && !READERS_WITH_MORE.contains(&name)
}

/// They change the files that they name, and start nothing.
#[rustfmt::skip]
pub(super) const FILE_PROGRAMS: &[&str] = &[
    "chmod", "cp", "ln", "mkdir", "mv", "rm", "rmdir", "shred", "sort", "tee", "touch", "truncate",
    "uniq", "unlink",
];

/// They run the command that they are given, in ways that are not looked through.
#[rustfmt::skip]
pub(super) const RUNNERS: &[&str] = &[
    "aa-exec", "asdf", "bwrap", "cargo-watch", "catchsegv", "choom", "chronic", "chrt",
    "concurrently", "conda", "cpulimit", "cross-env", "cross-env-shell", "daemonize", "dbus-launch",
    "dbus-run-session", "direnv", "distcc", "dotenv", "dumb-init", "entr", "expect", "fakeroot",
    "faketime", "firejail", "flock", "foreman", "gdb", "gtester", "honcho", "hyperfine", "ionice",
    "linux32", "linux64", "lldb", "logsave", "ltrace", "mamba", "mise", "multitime", "nix",
    "nix-shell", "nodemon", "npm-run-all", "numactl", "openvt", "parallel", "perf", "pexec", "pipx",
    "prlimit", "proot", "proxychains", "pyenv", "rbenv", "reflex", "rlwrap", "run-parts", "rustup",
    "script", "sem", "setarch", "setlock", "softlimit", "sshpass", "start-stop-daemon", "strace",
    "systemd-inhibit", "taskset", "tini", "torify", "torsocks", "toybox", "ts-node-dev", "tsocks",
    "unbuffer", "uvx", "valgrind", "volta", "watch", "watchexec", "wine", "xvfb-run", "zsh-defer",
];

/// They change files of the workspace, or run what the project says, inside the sandbox.
#[rustfmt::skip]
const TOOLS: &[&str] = &[
    ":", "actionlint", "addr2line", "ant", "ar", "as", "autoconf", "automake", "autoreconf",
    "bazel", "biome", "black", "buck2", "bunzip2", "bzip2", "c++", "c++filt", "cabal", "cbindgen",
    "cc", "cd", "clang", "clang++", "clang-format", "clang-tidy", "cmake", "coverage", "cp", "cpp",
    "csplit", "ctest", "cypress", "dart", "delta", "esbuild", "eslint", "exit", "flake8", "flutter",
    "g++", "gcc", "gcov", "gfortran", "ghc", "gmake", "gofmt", "goimports", "golangci-lint",
    "gradle", "gunzip", "gzip", "hatch", "hlint", "install", "isort", "jar", "java", "javac",
    "javadoc", "jest", "just", "karma", "kotlinc", "ld", "lein", "link", "ln", "lz4", "make",
    "markdownlint", "mdbook", "meson", "mkdir", "mktemp", "mocha", "mv", "mvn", "mypy", "ng",
    "ninja", "nm", "nox", "nyc", "objcopy", "objdump", "oxlint", "patch", "phpunit", "popd",
    "pre-commit", "prettier", "protoc", "pushd", "pylint", "pyright", "pytest", "qmake", "rake",
    "ranlib", "readelf", "rmdir", "rollup", "rspec", "rubocop", "ruff", "rustc", "rustdoc",
    "rustfmt", "sbt", "scala", "scc", "shellcheck", "shfmt", "size", "sort", "split", "standard",
    "strip", "stylelint", "swc", "swift", "swiftc", "taplo", "tar", "tee", "tokei", "touch", "tox",
    "tsc", "turbo", "type", "typos", "unxz", "unzip", "vite", "vitest", "wasm-pack", "webpack",
    "xz", "yamllint", "yes", "zcat", "zig", "zip", "zstd",
];

/// They reach other machines.
#[rustfmt::skip]
pub(super) const NETWORK: &[&str] = &[
    "aria2c", "aws", "axel", "az", "curl", "dig", "doctl", "finger", "flyctl", "ftp", "gcloud",
    "gh", "glab", "heroku", "host", "http", "https", "ipfs", "kubectl", "lftp", "lwp-request",
    "lynx", "mosh", "nc", "ncat", "netcat", "netlify", "nmap", "nslookup", "openssl", "ping",
    "ping6", "psql", "rclone", "redis-cli", "rsync", "scp", "sftp", "socat", "ssh", "telnet",
    "tftp", "traceroute", "vercel", "wget", "whois", "wrangler", "xh",
];

/// They reach processes, services or users of the machine.
#[rustfmt::skip]
pub(super) const MACHINE: &[&str] = &[
    "apt-get", "at", "batch", "chgrp", "chown", "chroot", "crontab", "dbus-send", "dnf", "docker",
    "docker-compose", "dpkg", "fdisk", "firewall-cmd", "halt", "insmod", "ip", "iptables",
    "journalctl", "kill", "killall", "launchctl", "ldconfig", "loginctl", "losetup", "mkfs",
    "modprobe", "mount", "nft", "nsenter", "pacman", "parted", "pkill", "podman", "poweroff",
    "reboot", "rmmod", "rpm", "screen", "service", "shutdown", "snap", "sysctl", "systemctl",
    "systemd-run", "tmux", "umount", "unshare", "wall", "yum",
];

#[rustfmt::skip]
pub(super) const PRIVILEGE: &[&str] = &[
    "capsh", "doas", "gosu", "newgrp", "passwd", "pkexec", "runuser", "setpriv", "su", "sudo",
    "sudoedit", "visudo",
];

/// They change which commands the shell runs, or read them from somewhere.
#[rustfmt::skip]
pub(super) const SHELL_STATE: &[&str] = &[
    ".", "alias", "bind", "builtin", "compgen", "complete", "coproc", "declare", "enable", "eval",
    "exec", "export", "fc", "hash", "history", "let", "mapfile", "read", "readarray", "set",
    "shopt", "source", "trap", "unset",
];

#[rustfmt::skip]
const INTERPRETERS: &[&str] = &[
    "ash", "bash", "busybox", "csh", "dash", "elixir", "erl", "fish", "groovy", "guile", "irb",
    "jjs", "jrunscript", "julia", "ksh", "lua", "luajit", "node", "nodejs", "octave", "perl", "php",
    "python", "python2", "python3", "r", "racket", "rscript", "ruby", "sh", "tclsh", "ts-node",
    "tsx", "zsh",
];

/// Whether a program is one of those that are known.
pub(super) fn is_known(name: &str) -> bool {
    READERS.contains(&name) || TOOLS.contains(&name)
}

/// Also with a version: `python3.12`, `lua5.4`.
pub(super) fn is_interpreter(name: &str) -> bool {
    let plain = name.trim_end_matches(|ch: char| ch.is_ascii_digit() || ch == '.');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&plain)
}
