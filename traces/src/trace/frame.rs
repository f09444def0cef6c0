//! The first and the last line of a trace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Record, VERSION};
use crate::tally::Tally;

/// The first line: the description of the trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// Version of the format: 1.
    pub trace: u32,
    /// Name.
    pub name: String,
    /// The origin: server, kind of users, recorded or generated.
    pub source: String,
    /// The start: UTC, RFC 3339. Absent in generated and anonymized traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// The kind of names of users, sessions and folders.
    pub names: Names,
}

/// The kind of names of users, sessions and folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Names {
    /// Keyed pseudonyms: without the key a reader can neither find a name nor test a guess.
    Pseudonyms,
    /// The names of the source. Such a trace must not be passed on.
    Source,
    /// Invented names of a generated trace.
    Generated,
}

impl Header {
    /// A trace of this version.
    #[must_use]
    pub fn new(name: impl Into<String>, source: impl Into<String>, names: Names) -> Self {
        Self { trace: VERSION, name: name.into(), source: source.into(), began: None, names }
    }
}

/// The last line: confirms that the trace is complete, and describes how it was made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Footer {
    /// Lines between the first and the last.
    pub records: u64,
    /// The import's counts of lines that were read, dropped, merged and not understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<Tally>,
}

/// The last line as written: its key distinguishes it from records.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct LastLine {
    pub(super) end: Footer,
}

/// Any line of a trace, for its JSON Schema.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SomeLine {
    /// The first line.
    First(Header),
    /// A line between them.
    Between(Record<'static>),
    /// The last line.
    Last {
        /// Its content.
        end: Footer,
    },
}
