//! The names of what is protected, each list once: for the zones that tools are judged by and for the
//! walls of the sandbox.

/// All that makes up an agent's self, in its home. None must be there but a constitution.
pub const HOME_FILES: [&str; 13] = [
    "Agent.md",
    "AGENTS.md",
    "SOUL.md",
    "USER.md",
    "IDENTITY.md",
    "TOOLS.md",
    "MEMORY.md",
    "HEARTBEAT.md",
    "BOOTSTRAP.md",
    "BOOT.md",
    "memory",
    "skills",
    "heartbeat-state.json",
];

/// The prompt files, in the home and in the folders of a project.
pub const PROMPT_FILES: &[&str] = HOME_FILES.split_at(10).0;

/// The settings of a house.
pub const HOUSE_SETTINGS: &str = "kith.toml";

/// What belongs to the agents of a house together.
pub const HOUSE_SELF: [&str; 3] = [HOUSE_SETTINGS, ".minds", ".dialogs"];

/// Kith's own folder. What lies in it is never shown to a tool.
pub const KITH_FOLDER: &str = ".kith";

/// What makes git run programs, below `.git`: its settings, and the steps of a rebase that goes on. A
/// `.git` file leads to another folder of this kind.
pub const GIT_SELF: [&str; 8] = [
    "config",
    "config.worktree",
    "hooks",
    "commondir",
    "gitdir",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];

/// Folders in `.git` that hold further folders of its kind.
pub const GIT_NESTED: [&str; 2] = ["modules", "worktrees"];

/// What the user's programs run by themselves, beneath `~`.
pub const HOME_STARTUP: [&str; 41] = [
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".config/autostart",
    ".config/environment.d",
    ".config/fish/conf.d",
    ".config/fish/config.fish",
    ".config/fish/functions",
    ".config/git",
    ".config/nvim/init.lua",
    ".config/nvim/init.vim",
    ".config/nvim/lua",
    ".config/nvim/plugin",
    ".config/systemd",
    ".config/tmux/tmux.conf",
    ".config/vim/vimrc",
    ".emacs",
    ".emacs.d/early-init.el",
    ".emacs.d/init.el",
    ".exrc",
    ".gdbinit",
    ".gitconfig",
    ".inputrc",
    ".lldbinit",
    ".local/bin",
    ".pam_environment",
    ".profile",
    ".tmux.conf",
    ".vim/vimrc",
    ".vimrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// Keys and records of the user, beneath `~`.
pub const USER_SECRETS: [&str; 42] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".config/op",
    ".config/sops",
    ".config/rclone",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".mozilla",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".terraform.d",
    ".vault-token",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    "Library/Keychains",
];

/// Keys and passwords of the system.
pub const SYSTEM_SECRETS: [&str; 10] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/run/secrets",
];
