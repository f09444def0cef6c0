//! First and last line of a trace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Record, VERSION};
use crate::import::Tally;

/// The first line: what the trace is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// Version of the format: 1.
    pub trace: u32,
    /// Name.
    pub name: String,
    /// Where it comes from: which server, users of what kind, recorded or generated.
    pub source: String,
    /// When it began: UTC, RFC 3339. Missing in generated and anonymized traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// What stands for users, sessions and folders.
    pub names: Names,
}

/// What stands for users, sessions and folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Names {
    /// Keyed pseudonyms: who lacks the key cannot find a name from them, nor test a guess.
    Pseudonyms,
    /// As the source had them. Not to be handed on.
    Source,
    /// Made up: the trace was generated.
    Generated,
}

impl Header {
    /// A trace of this version.
    #[must_use]
    pub fn new(name: impl Into<String>, source: impl Into<String>, names: Names) -> Self {
        Self { trace: VERSION, name: name.into(), source: source.into(), began: None, names }
    }
}

/// The last line: that nothing is missing, and how the trace was made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Footer {
    /// Lines between the first and the last.
    pub records: u64,
    /// What was read, dropped, merged and not understood when the trace was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<Tally>,
}

/// The last line as written: the key tells it from records.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct LastLine {
    pub(super) end: Footer,
}

/// Any line of a trace, for its JSON Schema.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SomeLine {
    /// The first.
    First(Header),
    /// Those between.
    Between(Record<'static>),
    /// The last.
    Last {
        /// How it ended.
        end: Footer,
    },
}
