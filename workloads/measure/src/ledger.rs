//! The ledger: every planned request is accounted for once.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::Measured;

/// How a request ended, as its host knows it (the user judges answers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Answered as requested. The recorder decides whether its response time is over the objective.
    Served,
    /// Refused by the service.
    Rejected,
    /// No answer within the time-out.
    TimedOut,
    /// Answered wrongly.
    Failed,
    /// Failed: the connection broke before the answer was whole.
    Broken,
    /// Failed: redirected to another host, where users do not go.
    Elsewhere,
    /// The user gave up, or left with the request open.
    Abandoned,
    /// Still open when the run ended.
    InFlight,
    /// No connection within the connect time-out.
    ConnectTimedOut,
    /// The connection was refused or reset, or no descriptor or port was left for it.
    ConnectFailed,
    /// A client-side policy refused it, or held it until its user gave up.
    RefusedLocally,
    /// Never begun: the generator could not keep up, or the run ended first.
    Unsent,
}

impl Fate {
    /// True if a request with this fate has been written to the service.
    #[must_use]
    pub fn implies_sent(self) -> bool {
        matches!(self, Self::Served | Self::Rejected | Self::Failed | Self::Broken | Self::Elsewhere)
    }
}

/// Counts of requests by how they ended. Each attempt is an entry; a redirect or refresh that is followed is not (see
/// [`hops`](Self::hops)).
///
/// ```text
/// planned = unsent + refused_locally + connect_failed + sent
/// sent    = served + served_late + rejected + timed_out + failed + abandoned + in_flight
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Requests whose intended start has come.
    pub planned: u64,
    /// Never begun.
    pub unsent: u64,
    /// Refused by a client-side policy, or held by it until the user had given up or the run was over.
    pub refused_locally: u64,
    /// Without a connection.
    pub connect_failed: u64,
    /// Written to the service.
    pub sent: u64,
    /// Answered as requested within the objective, counted from the intended start of the first attempt: the numerator of
    /// goodput.
    pub served: u64,
    /// Answered as requested, but later than that.
    pub served_late: u64,
    /// Refused by the service.
    pub rejected: u64,
    /// Without an answer within the time-out.
    pub timed_out: u64,
    /// Answered wrongly, or the connection broke.
    pub failed: u64,
    /// Given up by the user.
    pub abandoned: u64,
    /// Still open at the end.
    pub in_flight: u64,

    /// Of `planned`: second and later attempts.
    pub retries: u64,
    /// Of `connect_failed`: those that timed out.
    pub connect_timed_out: u64,
    /// Of `failed`: redirected to another host, where users do not go.
    pub elsewhere: u64,
    /// Requests whose kept connection was found closed before anything was written to it, and that went out on a new
    /// one: in no other count, since nothing was written twice.
    #[serde(default)]
    pub resent: u64,
    /// Redirects and refreshes that were followed: requests written in addition to `sent`. The service reads `sent +
    /// hops`.
    pub hops: u64,
}

impl Ledger {
    /// Sent requests that have ended.
    fn ended(&self) -> u64 {
        self.served + self.served_late + self.rejected + self.timed_out + self.failed + self.abandoned
    }

    /// Counts requests that have begun and not ended as unsent or in flight: for a balance at any moment, and at the
    /// end.
    #[must_use]
    pub fn closed(mut self) -> Self {
        self.in_flight = self.sent - self.ended();
        self.unsent = self.planned - self.refused_locally - self.connect_failed - self.sent;
        self
    }
}

macro_rules! counts {
    ($($count:ident)*) => {
        impl AddAssign for Ledger {
            fn add_assign(&mut self, other: Self) {
                $(self.$count += other.$count;)*
            }
        }

        /// The counts of a ledger, without rates and times.
        impl From<Ledger> for Measured {
            fn from(ledger: Ledger) -> Self {
                Self { $($count: ledger.$count,)* ..Self::default() }
            }
        }

        impl Ledger {
            /// All its counts.
            pub(super) fn counts(&self) -> impl Iterator<Item = u64> {
                [$(self.$count),*].into_iter()
            }
        }
    };
}

counts! {
    planned unsent refused_locally connect_failed sent served served_late rejected timed_out failed abandoned in_flight
    retries connect_timed_out elsewhere resent hops
}
