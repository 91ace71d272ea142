//! Every name that settings may have: what it takes, whether it is obeyed, and what it is for.
//!
//! One table, because checking, the search for the nearest name, the doctor and the page in the
//! documentation must never disagree.

use super::kind::Kind;

/// The keys of a table.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) keys: &'static [Key],
    /// What stands under names that the owner chooses, if there may be such.
    pub(super) named: Option<Named>,
}

#[derive(Debug)]
pub(super) struct Named {
    /// What such a name is called: `<name>`, `<id>`.
    pub(super) shown: &'static str,
    pub(super) table: &'static Table,
    pub(super) is_name: fn(&str) -> bool,
    /// What a name must be, if it is not one.
    pub(super) must_be: &'static str,
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) stage: Stage,
    /// What it is for, in a few words that begin in lower case.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the page of the documentation"))]
    pub(super) says: &'static str,
}

/// Whether a setting does anything yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Obeyed,
    /// Obeyed as far as there is something to obey it; the rest in words.
    Partly(&'static str),
    /// It will be, together with this.
    Later(&'static str),
}

/// Tables that only the settings of a house may have: they name its folders.
pub(super) const HOUSE_ONLY: [&str; 2] = ["agent", "agents"];
/// And one that only the user's may have, since it is about all agents.
pub(super) const USER_ONLY: [&str; 1] = ["identity"];

const fn now(name: &'static str, kind: Kind, says: &'static str) -> Key {
    Key { name, kind, stage: Stage::Obeyed, says }
}

const fn partly(name: &'static str, kind: Kind, how: &'static str, says: &'static str) -> Key {
    Key { name, kind, stage: Stage::Partly(how), says }
}

const fn later(name: &'static str, kind: Kind, with: &'static str, says: &'static str) -> Key {
    Key { name, kind, stage: Stage::Later(with), says }
}

const fn keys(keys: &'static [Key]) -> Table {
    Table { keys, named: None }
}

/// A table within a table: whether it is obeyed is a matter of its keys.
const fn table(name: &'static str, table: &'static Table, says: &'static str) -> Key {
    Key { name, kind: Kind::Table(table), stage: Stage::Obeyed, says }
}

const TEXT: Kind = Kind::Text;
const TEXTS: Kind = Kind::List(&Kind::Text);
const PATHS: Kind = Kind::List(&Kind::Path);
const IDS: Kind = Kind::List(&Kind::Id);
const HTTP: Kind = Kind::Url(&["http", "https"]);
const LISTEN: Kind = Kind::Address;

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

pub(super) const TOP: Table = keys(&[
    table(
        "agent",
        &AGENT,
        "the agent of the house, where it is not called `main` or lives elsewhere",
    ),
    table("agents", &AGENTS, "a team: several agents in one house"),
    table("identity", &IDENTITY, "how every agent of this user presents itself"),
    table("models", &MODELS, "which models there are, and which is asked"),
    table("limits", &LIMITS, "what one turn may use"),
    table("budget", &BUDGET, "what may be spent"),
    table("policy", &POLICY, "what calls may do"),
    table("approvals", &APPROVALS, "who is asked, and for how long"),
    table("sandbox", &SANDBOX, "what commands may reach"),
    table("memory", &MEMORY, "what is remembered, and how it is found"),
    table("heartbeat", &HEARTBEAT, "what the agent does by itself"),
    table("skills", &SKILLS, "where skills are looked for"),
    table("channels", &CHANNELS, "the platforms it speaks on"),
    table("voice", &VOICE, "speech"),
    table("peers", &PEERS, "other agents"),
    table("daemon", &DAEMON, "the host that stays"),
    table("ui", &UI, "how it speaks to the person"),
    table("store", &STORE, "where sessions are kept"),
]);

const AGENT: Table = keys(&[
    now("id", Kind::AgentId, "its name in the log and for `--agent`; `main` without it"),
    now("home", Kind::Folder, "the folder of its files, beneath the house"),
    now("skills", TEXTS, "the skills it may use; without the list, all"),
    table("identity", &IDENTITY, "how it presents itself"),
]);

const AGENTS: Table = Table {
    keys: &[],
    named: Some(Named {
        shown: "<id>",
        table: &AGENT,
        is_name: kith_home::init::is_agent_id,
        must_be: "an agent id: 1 to 64 of `a` to `z`, `0` to `9`, `-` and `_`",
    }),
};

const IDENTITY: Table = keys(&[
    now("name", TEXT, "what it is called"),
    now("role", TEXT, "what it is there for"),
    now("goal", TEXT, "what it is after"),
    now("voice", TEXT, "how it sounds"),
    now("emoji", TEXT, "its sign"),
    now("type", TEXT, "what kind of being it is"),
    now("style", TEXT, "its manner"),
    now("avatar", TEXT, "its picture"),
]);

const MODELS: Table = Table {
    keys: &[
        now("use", TEXT, "the name of the model that is asked"),
        later("fallbacks", TEXTS, "the chain of fallbacks", "models to ask when that one fails"),
    ],
    named: Some(Named {
        shown: "<name>",
        table: &MODEL,
        is_name: super::kind::is_name,
        must_be: "a name of 1 to 64 letters, without spaces or control characters",
    }),
};

const MODEL: Table = keys(&[
    now(
        "wire",
        Kind::Word(&["openai_chat", "anthropic", "openai_responses", "demo"]),
        "how it is spoken to; `anthropic` and `openai_responses` are not built yet",
    ),
    now("baseUrl", HTTP, "where it is"),
    now("apiKey", Kind::Secret, "its key"),
    now("model", TEXT, "what the vendor calls it; without it, the name of the table"),
    now("contextWindow", Kind::Count(1, 100_000_000), "how many tokens it can read"),
    now("maxTokens", Kind::Count(1, 100_000_000), "how many tokens it may answer with"),
    now("parameters", Kind::Free, "what enters the request as it is"),
    table("price", &PRICE, "what it costs, in USD per million tokens"),
]);

const PRICE: Table = keys(&[
    now("input", Kind::Usd(1_000_000), "of what it is sent"),
    now("output", Kind::Usd(1_000_000), "of what it answers"),
    now("cacheRead", Kind::Usd(1_000_000), "of what it had kept; without it, as `input`"),
    now("cacheWrite", Kind::Usd(1_000_000), "of what it keeps; without it, as `input`"),
]);

const LIMITS: Table = keys(&[
    now("steps", Kind::Count(1, 1000), "requests to the model"),
    now("repeats", Kind::Count(1, 100), "identical calls in a row"),
    now("wall", Kind::Span(1000, DAY_MS), "time, without waiting for a person"),
    now("tokens", Kind::Count(1, 1_000_000_000), "tokens, sent and answered"),
    now("cost", Kind::Usd(1_000_000), "USD, for models that have a price"),
]);

const SPENDING: &str = "budgets";
const BUDGET: Table = keys(&[
    later("day", Kind::Usd(1_000_000), SPENDING, "USD a day"),
    later("thread", Kind::Usd(1_000_000), SPENDING, "USD for a thread"),
    later("task", Kind::Usd(1_000_000), SPENDING, "USD for one run of a task"),
    later("peer", Kind::Usd(1_000_000), SPENDING, "USD a day for one peer"),
    later("beat", Kind::Usd(1_000_000), SPENDING, "USD for one beat"),
]);

const READS_ONLY: &str = "so far every call that does more than read is refused; \
    a rule that begins with the name of a tool forbids all of it";
const ACTING: &str = "tools that do more than read";
const POLICY: Table = keys(&[
    partly(
        "mode",
        Kind::Word(&["ask", "readonly", "trusted", "deny"]),
        "so far every call that does more than read is refused, and with `deny` every call",
        "how calls are judged",
    ),
    later("allow", TEXTS, ACTING, "what needs no question"),
    partly("ask", TEXTS, READS_ONLY, "what needs one"),
    partly("deny", TEXTS, READS_ONLY, "what never happens"),
    later("hosts", Kind::List(&Kind::Host), ACTING, "hosts that may be reached"),
    later("roots", PATHS, ACTING, "further folders that tools may work in"),
    later(
        "examples",
        Kind::List(&Kind::Free),
        ACTING,
        "what the rules are to say about some calls",
    ),
]);

const ASKING: &str = "approvals";
const APPROVALS: Table = keys(&[
    later("expires", Kind::Span(MINUTE_MS, 30 * DAY_MS), ASKING, "how long a question stands"),
    later("approvers", IDS, ASKING, "who may answer"),
    later("target", Kind::Thread, ASKING, "the thread that is asked when nobody is there"),
]);

const BOXED: &str = "the sandbox";
const SANDBOX: Table = keys(&[
    later("caches", PATHS, BOXED, "folders of package managers that commands may write to"),
    later("readOnly", PATHS, BOXED, "folders that commands may read"),
    later("env", Kind::List(&Kind::Variable), BOXED, "variables that commands may see"),
]);

const REMEMBERING: &str = "memory tools";
const MEMORY: Table = keys(&[
    later("budgetTokens", Kind::Count(100, 1_000_000), REMEMBERING, "how long MEMORY.md may get"),
    later("distillEvery", Kind::Count(1, 100_000), REMEMBERING, "messages between distillations"),
    table("embedding", &EMBEDDING, "the model that finds what is alike"),
]);
const EMBEDDING: Table = keys(&[
    later("baseUrl", HTTP, REMEMBERING, "where it is"),
    later("model", TEXT, REMEMBERING, "what the vendor calls it"),
    later("apiKey", Kind::Secret, REMEMBERING, "its key"),
]);

const BEATING: &str = "the schedule";
const HEARTBEAT: Table = keys(&[
    later("every", Kind::Span(MINUTE_MS, 7 * DAY_MS), BEATING, "time between beats"),
    later("target", Kind::Thread, BEATING, "the thread that alerts go to"),
    later("enabled", Kind::Flag, BEATING, "whether it beats at all"),
]);

const SKILLS: Table = keys(&[now("extra", PATHS, "further folders with skills")]);

const CHANNELS: Table =
    keys(&[table("telegram", &TELEGRAM, "Telegram"), table("feishu", &FEISHU, "Feishu and Lark")]);
const SPEAKING: &str = "channels";
const TELEGRAM: Table = keys(&[
    later("token", Kind::Secret, SPEAKING, "the bot's token"),
    later("mode", Kind::Word(&["poll", "webhook"]), SPEAKING, "how messages come"),
    later("owners", IDS, SPEAKING, "who is the owner there"),
    later("allow", IDS, SPEAKING, "who else may speak"),
]);
const FEISHU: Table = keys(&[
    later("appId", TEXT, SPEAKING, "the app's id"),
    later("appSecret", Kind::Secret, SPEAKING, "the app's secret"),
    later("domain", Kind::Host, SPEAKING, "where it is"),
    later("encryptKey", Kind::Secret, SPEAKING, "the key of encrypted events"),
    later("verificationToken", Kind::Secret, SPEAKING, "the token of events"),
    later("mode", Kind::Word(&["webhook", "socket"]), SPEAKING, "how messages come"),
    later("owners", IDS, SPEAKING, "who is the owner there"),
    later("allow", IDS, SPEAKING, "who else may speak"),
]);

const VOICE: Table = keys(&[table("stt", &STT, "hearing"), table("tts", &TTS, "speaking")]);
const TALKING: &str = "voice";
const STT: Table = keys(&[
    later("baseUrl", HTTP, TALKING, "where the model is"),
    later("model", TEXT, TALKING, "what the vendor calls it"),
    later("apiKey", Kind::Secret, TALKING, "its key"),
    later("command", TEXTS, TALKING, "a program in its place"),
]);
const TTS: Table = keys(&[
    later("baseUrl", HTTP, TALKING, "where the model is"),
    later("model", TEXT, TALKING, "what the vendor calls it"),
    later("apiKey", Kind::Secret, TALKING, "its key"),
    later("voice", TEXT, TALKING, "which voice"),
    later("command", TEXTS, TALKING, "a program in its place"),
]);

const MEETING: &str = "peers";
const PEERS: Table = keys(&[
    later("aid", Kind::Aid, MEETING, "the agent's name among others"),
    later("local", Kind::Flag, MEETING, "whether agents on this machine may have local names"),
    later("listen", LISTEN, MEETING, "where others reach it"),
    table("host", &PEER_HOST, "who serves its card for it"),
]);
const PEER_HOST: Table = keys(&[
    later("url", Kind::Url(&["https"]), MEETING, "where the host is"),
    later("token", Kind::Secret, MEETING, "what it knows us by"),
]);

const DAEMON: Table = keys(&[
    later("listen", LISTEN, "the daemon", "where programs reach it"),
    table("tls", &TLS, "what it proves itself with"),
]);
const TLS: Table = keys(&[
    later("cert", Kind::Path, "the daemon", "the file with the certificate"),
    later("key", Kind::Path, "the daemon", "the file with its key"),
]);

const UI: Table = keys(&[partly(
    "language",
    Kind::Word(&["auto", "en", "zh"]),
    "it is written into every turn; notices are in English so far",
    "the language of notices; `auto` is that of USER.md, else English",
)]);

const STORE: Table = keys(&[later(
    "url",
    Kind::Database,
    "stores other than files",
    "a database in place of the files",
)]);
