//! Every table and key that settings may have. Each is obeyed by something.
//!
//! The comments on fields are the page in docs/configuration.md, which a test compares.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use kith_home::identity::IdentityFields;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use toml::Spanned;

use super::forms::{
    AgentId, ApprovalTime, CollectorUrl, Count, HostPattern, LineText, ModelAlias, ModelWire,
    PolicyMode, RequestParameters, RuleEntry, SecretName, ServerUrl, TurnTime, UiLanguage,
    UnattendedCalls, UsdMicros,
};

/// One file of settings.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct SettingsTables {
    /// The agent of the house, if its id is not `main` or it lives in another folder
    #[schemars(with = "AgentTable")]
    pub(super) agent: Option<Spanned<AgentTable>>,
    /// A team: several agents in one house
    #[schemars(with = "BTreeMap<String, AgentTable>")]
    pub(super) agents: BTreeMap<AgentId, Spanned<AgentTable>>,
    /// Which house is used where there is none; only in `~/.kith/config.toml`
    pub(super) house: HouseTable,
    /// How all agents of this user present themselves
    #[schemars(with = "IdentityTable")]
    pub(super) identity: Option<Spanned<IdentityTable>>,
    /// The models there are, and which one to use
    pub(super) models: ModelsTable,
    /// What one turn may use
    pub(super) limits: LimitsTable,
    /// What all turns of a day may use together
    pub(super) budget: BudgetTable,
    /// What calls may do
    pub(super) policy: PolicyTable,
    /// How people are asked about calls
    pub(super) approvals: ApprovalsTable,
    /// Folders in which one works with the agents of this house
    pub(super) projects: ProjectsTable,
    /// Where to look for skills
    pub(super) skills: SkillsTable,
    /// How Kith speaks to people
    pub(super) ui: UiTable,
    /// Spans for OpenTelemetry, of turns, requests and calls; never what was said. Nothing is sent unless
    /// this or `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector
    pub(super) telemetry: TelemetryTable,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, remote = "Self")]
pub(super) struct HouseTable {
    /// House to use in folders that are in none (the first `kith init` writes it)
    #[schemars(with = "LineText")]
    pub(super) default: Option<Spanned<LineText>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, remote = "Self")]
pub(super) struct AgentTable {
    /// The agent's id in the log and for `--agent` (default: `main`; in a team, the table's name)
    #[schemars(with = "AgentId")]
    pub(super) id: Option<Spanned<AgentId>>,
    /// The folder of its files, a path within the house
    #[schemars(with = "LineText")]
    pub(super) home: Option<Spanned<LineText>>,
    /// The skills it may use (default: all)
    pub(super) skills: Option<Vec<LineText>>,
    /// How it presents itself
    pub(super) identity: IdentityTable,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, remote = "Self")]
pub(super) struct IdentityTable {
    /// Name
    name: Option<LineText>,
    /// Role, such as "research assistant"
    role: Option<LineText>,
    /// What it works towards
    goal: Option<LineText>,
    /// Tone of voice
    voice: Option<LineText>,
    /// Emoji shown beside the name
    emoji: Option<LineText>,
    /// What it is, such as "AI assistant" or "cat"
    #[serde(rename = "type")]
    kind: Option<LineText>,
    /// Manner of speaking
    style: Option<LineText>,
    /// Path or address of a picture
    avatar: Option<LineText>,
}

/// `use` and `fallbacks`, and a table for each model beside them.
#[derive(Debug, Default, JsonSchema)]
pub(super) struct ModelsTable {
    /// The model to use: the name of a table below, or `demo`
    #[schemars(rename = "use")]
    pub(super) chosen: Option<LineText>,
    /// The models to try, in this order, when that one fails
    pub(super) fallbacks: Option<Vec<LineText>>,
    #[schemars(skip)]
    pub(super) named: BTreeMap<ModelAlias, ModelSettings>,
}

/// What a text or number beside `use` is refused with.
pub(super) const NOT_A_MODEL: &str = "a table with the settings of a model";
pub(super) const MODELS_KEYS: [&str; 2] = ["use", "fallbacks"];

/// A model and how to reach it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, remote = "Self")]
pub struct ModelSettings {
    /// The protocol its server speaks
    pub wire: ModelWire,
    /// The server's address, without the path of a request (default: the vendor's own; `openai_chat`
    /// needs one)
    pub base_url: Option<ServerUrl>,
    /// The key for the server
    pub api_key: Option<SecretName>,
    /// The vendor's name for the model (default: the name of the table)
    pub model: Option<LineText>,
    /// How many tokens the model can read (default: as `kith model ls` shows for common models, else
    /// assumed)
    pub context_window: Option<Count<1, 100_000_000>>,
    /// How many tokens an answer may have (sent as `max_tokens`; to OpenAI's own address, and where
    /// `parameters` has it, as `max_completion_tokens`; with `openai_responses` as
    /// `max_output_tokens`)
    pub max_tokens: Option<Count<1, 100_000_000>>,
    /// Further members of the request, sent as they are (`stream_options = false` leaves that one
    /// out, and so does `include = false` with `openai_responses`, for models that do not reason)
    #[serde(default)]
    pub parameters: RequestParameters,
    /// Its price, in USD per million tokens
    pub price: Option<PriceTable>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, remote = "Self")]
pub struct PriceTable {
    /// Price of what the model reads (default: as `kith model ls` shows for common models at their
    /// vendor's own address, else unknown)
    pub input: UsdMicros,
    /// Price of what it answers
    pub output: UsdMicros,
    /// Price of what it reads from its cache (default: as `input`)
    pub cache_read: Option<UsdMicros>,
    /// Price of what it writes to its cache (default: as `input`)
    pub cache_write: Option<UsdMicros>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, remote = "Self")]
pub(super) struct LimitsTable {
    /// Requests to the model
    pub(super) steps: Option<Count<1, 1000>>,
    /// Identical calls in a row
    pub(super) repeats: Option<Count<1, 100>>,
    /// Time, not counting waits for a person
    pub(super) wall: Option<TurnTime>,
    /// Tokens, read and answered
    pub(super) tokens: Option<Count<1, 1_000_000_000>>,
    /// Cost in USD, for models that have a price
    pub(super) cost: Option<UsdMicros>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, remote = "Self")]
pub(super) struct BudgetTable {
    /// Cost in USD, for models that have a price
    pub(super) cost_per_day: Option<UsdMicros>,
    /// The same for each conversation
    pub(super) cost_per_thread: Option<UsdMicros>,
    /// Tokens, read and answered
    pub(super) tokens_per_day: Option<Count<1, 1_000_000_000>>,
    /// The same for each conversation
    pub(super) tokens_per_thread: Option<Count<1, 1_000_000_000>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, remote = "Self")]
pub(super) struct PolicyTable {
    /// `ask` (the default) asks before what can do harm, `readonly` denies everything but reading,
    /// `trusted` asks only about what leaves the sandbox or changes the agent, `deny` allows nothing
    pub(super) mode: Option<PolicyMode>,
    /// Calls that need no approval. A rule is a tool, or a tool with a pattern: the beginning of a
    /// command for `exec_shell`, a path for file tools, a host for `fetch_url`. Of all rules that
    /// match, the strictest counts, and no rule allows code that Kith cannot see, keys or changes of
    /// the agent
    pub(super) allow: Option<Vec<RuleEntry>>,
    /// Calls that need an approval each time
    pub(super) ask: Option<Vec<RuleEntry>>,
    /// Calls that are denied. Here and in `ask`, a rule about paths of `write_file` holds for
    /// `edit_file` and for commands that write to such a path, one of `read_file` for `list_files`,
    /// `search_files` and all commands that name such a path: `deny = ["read_file(secret/**)",
    /// "write_file(secret/**)"]`
    pub(super) deny: Option<Vec<RuleEntry>>,
    /// Hosts that may be reached without asking
    pub(super) hosts: Option<Vec<HostPattern>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, remote = "Self")]
pub(super) struct ApprovalsTable {
    /// How long a question waits for an answer; after that the call is denied (default: `1d`)
    pub(super) expires: Option<ApprovalTime>,
    /// User ids of those who may answer (default: the owner, about the owner's own messages)
    pub(super) approvers: Option<Vec<LineText>>,
    /// Turns that nobody attends (`--unattended`): `deny` (the default) what needs an approval, or `ask`, so
    /// that the question waits in `kith approvals`
    pub(super) unattended: Option<UnattendedCalls>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, remote = "Self")]
pub(super) struct ProjectsTable {
    /// The folders (`kith project add` writes it); a session belongs to the innermost one that holds its
    /// folder
    pub(super) folders: Option<Vec<LineText>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, remote = "Self")]
pub(super) struct SkillsTable {
    /// Further folders with skills, which tools may also read. Outside the house they count only
    /// if the house is yours
    pub(super) extra: Option<Vec<LineText>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, remote = "Self")]
pub(super) struct UiTable {
    /// The language of turns, notices and the terminal (default: `auto`, the one that USER.md
    /// names, else that of the locale, else English)
    pub(super) language: Option<UiLanguage>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, remote = "Self")]
pub(super) struct TelemetryTable {
    /// The collector's address, such as `http://127.0.0.1:4318`; read when the host starts. In a house it
    /// counts only if the house is yours
    pub(super) endpoint: Option<CollectorUrl>,
}

/// A table of settings, read from a TOML table only. What serde derives would also take a list for
/// it, by the order of fields; so each is derived for `Self` and read through [`TableVisitor`].
trait SettingsTable: Sized {
    /// What is told when it is something else.
    const EXPECTED: &str = "a table";

    fn read<'de, D: Deserializer<'de>>(table: D) -> Result<Self, D::Error>;
}

struct TableVisitor<T>(PhantomData<T>);

impl<'de, T: SettingsTable> Visitor<'de> for TableVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::read(MapAccessDeserializer::new(map))
    }
}

macro_rules! tables {
    ($($table:ident $(or $expected:expr)?),+ $(,)?) => {$(
        impl SettingsTable for $table {
            $(const EXPECTED: &str = $expected;)?

            fn read<'de, D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
                // The derived function, not that of the trait.
                $table::deserialize(table)
            }
        }

        impl<'de> Deserialize<'de> for $table {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map(TableVisitor(PhantomData))
            }
        }
    )+};
}

tables!(
    AgentTable,
    ApprovalsTable,
    BudgetTable,
    HouseTable,
    IdentityTable,
    LimitsTable,
    PolicyTable,
    PriceTable,
    ProjectsTable,
    SkillsTable,
    UiTable,
    TelemetryTable,
);

impl SettingsTable for ModelSettings {
    const EXPECTED: &str = NOT_A_MODEL;

    fn read<'de, D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        // The derived function, not that of the trait.
        let model = ModelSettings::deserialize(table)?;
        if model.wire == ModelWire::OpenaiChat && model.base_url.is_none() {
            return Err(D::Error::custom(NO_BASE_URL));
        }
        Ok(model)
    }
}

impl<'de> Deserialize<'de> for ModelSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TableVisitor(PhantomData))
    }
}

/// A guess would send words and key to a server that was not meant.
const NO_BASE_URL: &str = "needs `baseUrl`: many servers speak `openai_chat`\nwrite \
     `baseUrl = \"http://localhost:11434/v1\"` for a server on this machine, or \
     `baseUrl = \"https://api.openai.com/v1\"` for OpenAI";

/// By hand, because `serde(flatten)` would lose the lines and accept unknown keys.
impl<'de> Deserialize<'de> for ModelsTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ModelsTable, D::Error> {
        struct ModelsVisitor;

        impl<'de> Visitor<'de> for ModelsVisitor {
            type Value = ModelsTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ModelsTable, A::Error> {
                let mut models = ModelsTable::default();
                while let Some(name) = map.next_key::<ModelAlias>()? {
                    match name.0.as_str() {
                        "use" => models.chosen = Some(map.next_value()?),
                        "fallbacks" => models.fallbacks = Some(map.next_value()?),
                        _ => {
                            let model = map.next_value()?;
                            models.named.insert(name, model);
                        }
                    }
                }
                Ok(models)
            }
        }

        deserializer.deserialize_map(ModelsVisitor)
    }
}

/// The nearer file wins: a model is taken whole, everything else key by key. `[agent]`, `[agents]`
/// and `[identity]` stand in one of the two files only.
impl SettingsTables {
    pub(super) fn over(self, far: SettingsTables) -> SettingsTables {
        let mut named = far.models.named;
        named.extend(self.models.named);
        SettingsTables {
            agent: self.agent,
            agents: self.agents,
            house: far.house,
            identity: far.identity,
            models: ModelsTable {
                chosen: self.models.chosen.or(far.models.chosen),
                fallbacks: self.models.fallbacks.or(far.models.fallbacks),
                named,
            },
            limits: LimitsTable {
                steps: self.limits.steps.or(far.limits.steps),
                repeats: self.limits.repeats.or(far.limits.repeats),
                wall: self.limits.wall.or(far.limits.wall),
                tokens: self.limits.tokens.or(far.limits.tokens),
                cost: self.limits.cost.or(far.limits.cost),
            },
            budget: BudgetTable {
                cost_per_day: self.budget.cost_per_day.or(far.budget.cost_per_day),
                cost_per_thread: self.budget.cost_per_thread.or(far.budget.cost_per_thread),
                tokens_per_day: self.budget.tokens_per_day.or(far.budget.tokens_per_day),
                tokens_per_thread: self.budget.tokens_per_thread.or(far.budget.tokens_per_thread),
            },
            policy: PolicyTable {
                mode: self.policy.mode.or(far.policy.mode),
                allow: self.policy.allow.or(far.policy.allow),
                ask: self.policy.ask.or(far.policy.ask),
                deny: self.policy.deny.or(far.policy.deny),
                hosts: self.policy.hosts.or(far.policy.hosts),
            },
            projects: ProjectsTable { folders: self.projects.folders.or(far.projects.folders) },
            approvals: ApprovalsTable {
                expires: self.approvals.expires.or(far.approvals.expires),
                approvers: self.approvals.approvers.or(far.approvals.approvers),
                unattended: self.approvals.unattended.or(far.approvals.unattended),
            },
            skills: SkillsTable { extra: self.skills.extra.or(far.skills.extra) },
            ui: UiTable { language: self.ui.language.or(far.ui.language) },
            telemetry: TelemetryTable {
                endpoint: self.telemetry.endpoint.or(far.telemetry.endpoint),
            },
        }
    }
}

impl IdentityTable {
    pub(super) fn fields(&self) -> IdentityFields {
        let text = |it: &Option<LineText>| it.as_ref().map(|it| it.0.clone());
        IdentityFields {
            name: text(&self.name),
            role: text(&self.role),
            goal: text(&self.goal),
            voice: text(&self.voice),
            emoji: text(&self.emoji),
            kind: text(&self.kind),
            style: text(&self.style),
            avatar: text(&self.avatar),
        }
    }
}
