//! The configuration of a filter.

use admission_ffi::AdmissionConfig;
use serde::Deserialize;

/// `filter_config`: a `google.protobuf.Struct`, or a string of JSON.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleConfig {
    /// The policy, its settings, the objective: as the C ABI takes them.
    pub admission: AdmissionConfig,
    /// Decides and counts, and refuses nobody.
    #[serde(default)]
    pub dry_run: bool,
    /// Paths that the policy does not see: health checks.
    #[serde(default)]
    pub exempt: Vec<String>,
    /// Headers of requests that are believed. Without a name nothing is.
    #[serde(default)]
    pub trust: TrustedHeaders,
}

/// Names of headers, in lower case.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrustedHeaders {
    /// `CRITICAL_PLUS`, `CRITICAL`, `SHEDDABLE_PLUS`, `SHEDDABLE`.
    pub criticality: Option<String>,
    /// A class, 0 to 255.
    pub class: Option<String>,
    /// The number of a customer.
    pub customer: Option<String>,
    /// The number of the retry; 0 is the first attempt.
    pub attempt: Option<String>,
    /// Milliseconds that the sender still waits.
    pub timeout_ms: Option<String>,
}

impl ModuleConfig {
    /// Reads it.
    ///
    /// # Errors
    /// In words.
    pub fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("filter_config: {error}"))
    }
}
