//! What `--json` prints where it is not the answer to one call. docs/json.md is made from these and from
//! the answers.

use std::collections::BTreeMap;

use kith_host::agents::AgentRow;
use kith_vocab::ids::SessionId;
use serde::Serialize;

/// Implemented by deriving, so that the page can be made of it; the program itself needs no schemas.
macro_rules! forms {
    ($($(#[$doc:meta])* struct $name:ident { $($(#[$key_doc:meta])* $key:ident: $form:ty,)+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Serialize)]
            #[cfg_attr(test, derive(schemars::JsonSchema))]
            #[serde(rename_all = "camelCase")]
            pub(crate) struct $name {
                $($(#[$key_doc])* pub(crate) $key: $form,)+
            }
        )+
    };
}

forms! {
    /// `kith init`
    struct InitForm {
        house: String,
        agent_id: String,
        /// The files that were made.
        files: Vec<String>,
        /// Whether it became the house that is used where there is none.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        default: bool,
    }

    /// `kith agent ls`
    struct AgentListForm {
        agents: Vec<AgentRow>,
    }

    /// `kith agent new`
    struct NewAgentForm {
        agent_id: String,
        home: String,
        /// The files that were made.
        files: Vec<String>,
    }

    /// `kith agent rm`
    struct RemovedAgentForm {
        agent_id: String,
        /// Where its files stay.
        home: Option<String>,
    }

    /// `kith sandbox`
    struct SandboxForm {
        /// Of the command; 128 and more for one that a signal ended.
        exit_code: i32,
    }

    /// `kith logs`
    struct LogsForm {
        /// `host`, or the id of the session.
        log: String,
        /// Where it stands; it may not be there yet.
        file: String,
        /// The keys and values of each line.
        lines: Vec<BTreeMap<String, String>>,
    }

    /// `kith session export`
    struct ExportForm {
        session_id: SessionId,
        /// All that is printed without `--json`.
        text: String,
    }

    /// `kith prime save`
    struct SavedScriptForm {
        path: String,
        records: usize,
    }

    /// `kith prime new`
    struct NewScriptForm {
        script_ref: String,
        path: String,
    }

    /// `kith completions`
    struct CompletionsForm {
        shell: String,
        script: String,
    }

    /// `kith man --list`
    struct ManListForm {
        pages: Vec<String>,
    }

    /// `kith man`
    struct ManForm {
        name: String,
        /// The page, for `man -l -`.
        page: String,
    }
}
