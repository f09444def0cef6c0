//! The requests of a recording that are not of the service which it is about.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{OTHERS, count};

/// Requests of a recording that were left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LeftOut {
    /// Requests to other hosts than the recording's own, by host.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, u64>,
    /// Others, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<String, u64>,
}

impl LeftOut {
    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.reasons.is_empty()
    }

    /// Counts a request to another host.
    pub fn host(&mut self, host: &str) {
        count(&mut self.hosts, host);
    }

    /// Counts a request that is left out for another reason.
    pub fn because(&mut self, reason: &str) {
        count(&mut self.reasons, reason);
    }
}

/// The number of hosts that are named.
const NAMED: usize = 3;

/// `130 of 41 other hosts (cdn.example 70, ads.example 20, x.example 5 …), 2 data: URLs`.
impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hosts: Vec<(&String, &u64)> = self.hosts.iter().filter(|(host, _)| *host != OTHERS).collect();
        hosts.sort_by_key(|(host, count)| (std::cmp::Reverse(**count), (*host).clone()));
        let mut parts = Vec::new();
        if !hosts.is_empty() {
            let sum: u64 = self.hosts.values().sum();
            let over = if self.hosts.contains_key(OTHERS) { "over " } else { "" };
            let noun = if hosts.len() == 1 { "host" } else { "hosts" };
            let named: Vec<String> = hosts.iter().take(NAMED).map(|(host, count)| format!("{host} {count}")).collect();
            let more = if hosts.len() > NAMED { " …" } else { "" };
            parts.push(format!("{sum} of {over}{} other {noun} ({}{more})", hosts.len(), named.join(", ")));
        }
        parts.extend(self.reasons.iter().map(|(reason, count)| format!("{count} {reason}")));
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_reasons_are_counted_in_words() {
        let mut left = LeftOut::default();
        assert!(left.is_empty());
        left.host("cdn.example");
        assert_eq!(left.to_string(), "1 of 1 other host (cdn.example 1)");
        for host in ["cdn.example", "b", "c", "d"] {
            left.host(host);
        }
        left.because("data: URLs");
        assert_eq!(left.to_string(), "5 of 4 other hosts (cdn.example 2, b 1, c 1 …), 1 data: URLs");
        for host in 0..100 {
            left.host(&format!("{host}.example"));
        }
        assert!(left.to_string().starts_with("105 of over 64 other hosts (cdn.example 2, "), "{left}");
    }
}
