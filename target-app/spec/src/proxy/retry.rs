//! Which requests go out once more, and who decides it.

use controllers::catalogue::PolicySpec;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::choice;

/// Retries by the proxy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetrySpec {
    /// The policy of the sender's side that is asked before each attempt, the first one too.
    #[serde(with = "choice", default = "retry_budget")]
    #[schemars(schema_with = "choice::schema", example = serde_json::json!({"retry-budget": {"retry_share": 0.1}}))]
    pub policy: PolicySpec,
    /// Attempts of one request in all, 2 to 10.
    #[serde(default = "attempts")]
    #[schemars(example = 2, extend("unit" = "attempts"))]
    pub attempts: u8,
    /// The ends of an attempt that another one may follow: `connect`, `broken`, or a status from 400 to 599.
    #[serde(default = "causes")]
    #[schemars(with = "Vec<Written>", example = serde_json::json!(["connect", 503]))]
    pub on: Vec<RetryCause>,
    /// Repeat requests too that change something each time they are made (POST, PATCH), although a backend has got them.
    #[serde(default)]
    #[schemars(example = true)]
    pub non_idempotent: bool,
}

/// An end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryCause {
    /// There was no connection to the backend: the request was not sent.
    Connect,
    /// The connection broke before the head of an answer.
    Broken,
    /// The answer has this status.
    Status(u16),
}

fn retry_budget() -> PolicySpec {
    PolicySpec { name: "retry-budget".to_owned(), place: None, settings: Default::default() }
}

fn attempts() -> u8 {
    3
}

fn causes() -> Vec<RetryCause> {
    vec![RetryCause::Connect, RetryCause::Broken, RetryCause::Status(502), RetryCause::Status(503)]
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "RetryCause")]
enum Written {
    Status(u16),
    Name(String),
}

impl Serialize for RetryCause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = match self {
            Self::Connect => Written::Name("connect".to_owned()),
            Self::Broken => Written::Name("broken".to_owned()),
            Self::Status(status) => Written::Status(*status),
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RetryCause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = || D::Error::custom("retries.on: connect, broken, or the status of an error: [connect, 502, 503]");
        match Written::deserialize(deserializer).map_err(|_| wrong())? {
            Written::Status(status @ 400..600) => Ok(Self::Status(status)),
            Written::Name(name) if name == "connect" => Ok(Self::Connect),
            Written::Name(name) if name == "broken" => Ok(Self::Broken),
            Written::Status(_) | Written::Name(_) => Err(wrong()),
        }
    }
}
