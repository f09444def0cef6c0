//! What an entry can do in a composition.

/// A role in a composition of policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompositionRole {
    /// Owns the number of jobs inside. Its answer to an offer depends on the number of jobs in flight alone, is yes
    /// while none are, and is remembered only once a job starts or ends: a composition asks it whether there is room. Its gauge
    /// `limit` is the number up to which it admits: shares are parts of that.
    Limit,
    /// Bounds what comes in, by a rate or by the number of jobs that wait: takes the place of a limit, but not before a
    /// queue.
    Inflow,
    /// Selects who is refused, by the attributes of the job. Decides at once.
    Select,
    /// Selects who is next: a queue discipline.
    Queue,
}

impl CompositionRole {
    /// The key of a composition that takes an entry with this role.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Limit | Self::Inflow => "limit",
            Self::Select => "select",
            Self::Queue => "queue",
        }
    }

    /// The role in words.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Limit => "owns the number of jobs inside",
            Self::Inflow => "bounds what comes in: a limit, but not before a queue",
            Self::Select => "selects who is refused",
            Self::Queue => "selects who is next",
        }
    }
}
