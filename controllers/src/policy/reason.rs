//! Reasons of refusals: those of this crate, and the names that other policies give to theirs.

use serde::{Serialize, Serializer};

/// The reason of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Over the admission rate.
    Rate,
    /// Over the limit of jobs in the system.
    Concurrency,
    /// The queue is full.
    QueueFull,
    /// The job waited too long in the queue.
    Waited,
    /// Over the limit of connections.
    Connections,
    /// A downstream stage or a monitor reported pressure.
    Pressure,
    /// The job's class is pre-empted by a higher one.
    Class,
    /// The sender's throttle holds the request back, because the service refuses too many of its requests.
    Throttled,
    /// The sender holds the retry back: its retry budget is exhausted, or the service advised against a retry.
    RetryBudget,
    /// The customer's quota is exhausted.
    Quota,
    /// Load, CPU or memory exceed the threshold of the job's criticality.
    Utilization,
    /// A service that the job calls refused it.
    Callee,
    /// The service is shutting down.
    Draining,
    /// A reason of a policy that is not in this crate: see [`Reason::own`].
    Own(OwnReason),
}

/// The name of a reason that a policy outside of this crate has made: see [`Reason::own`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnReason(&'static str);

impl Reason {
    /// Every reason of this crate, in the order of declaration.
    pub const ALL: [Self; 13] = [
        Self::Rate,
        Self::Concurrency,
        Self::QueueFull,
        Self::Waited,
        Self::Connections,
        Self::Pressure,
        Self::Class,
        Self::Throttled,
        Self::RetryBudget,
        Self::Quota,
        Self::Utilization,
        Self::Callee,
        Self::Draining,
    ];

    /// A reason with a name of its own, for a policy outside of this crate:
    /// `const LATE: Reason = Reason::own("surely-late");`. Ledgers, headers, metrics and reports show the name.
    ///
    /// # Panics
    /// In a constant at compile time: if the name is not of 1 to 40 small letters, digits and hyphens with a letter
    /// first, or if it is the name of a reason in [`Reason::ALL`].
    #[must_use]
    pub const fn own(name: &'static str) -> Self {
        assert!(
            is_name(name.as_bytes()),
            "a reason is named by 1 to 40 small letters, digits and hyphens, a letter first"
        );
        let mut at = 0;
        while at < Self::ALL.len() {
            assert!(
                !equal(name.as_bytes(), Self::ALL[at].name().as_bytes()),
                "this is the name of a reason in Reason::ALL"
            );
            at += 1;
        }
        Self::Own(OwnReason(name))
    }

    /// The name used in headers, files and pages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Concurrency => "concurrency",
            Self::QueueFull => "queue-full",
            Self::Waited => "waited",
            Self::Connections => "connections",
            Self::Pressure => "pressure",
            Self::Class => "class",
            Self::Throttled => "throttled",
            Self::RetryBudget => "retry-budget",
            Self::Quota => "quota",
            Self::Utilization => "utilization",
            Self::Callee => "callee",
            Self::Draining => "draining",
            Self::Own(own) => own.0,
        }
    }
}

/// Written as its name.
impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

const LONGEST_NAME: usize = 40;

const fn is_name(name: &[u8]) -> bool {
    if name.is_empty() || name.len() > LONGEST_NAME || !name[0].is_ascii_lowercase() {
        return false;
    }
    let mut at = 0;
    while at < name.len() {
        if !(name[at].is_ascii_lowercase() || name[at].is_ascii_digit() || name[at] == b'-') {
            return false;
        }
        at += 1;
    }
    true
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: Reason = Reason::own("surely-late");

    #[test]
    fn a_reason_of_its_own_has_its_name_and_comes_last() {
        assert_eq!(LATE.name(), "surely-late");
        assert!(LATE > Reason::Draining, "ledgers list it after those of the crate");
        assert_ne!(LATE, Reason::own("late"));
    }

    #[test]
    fn what_cannot_be_a_header_or_is_taken_is_no_name() {
        for name in ["", "Late", "too late", "late\r\nx: y", "1st", "-late", "rate", "queue-full"] {
            std::panic::catch_unwind(|| Reason::own(name)).expect_err(name);
        }
        std::panic::catch_unwind(|| Reason::own("a-name-of-more-than-forty-characters-is-long")).expect_err("too long");
    }
}
