//! How the end of a job counts: as a sample of the service, as a drop, or not at all.

use crate::{
    Outcome, Place,
    catalogue::{Param, ParamKind, Values},
};

/// What the law is told of an end (Limiter.Listener).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// A sample.
    Success,
    /// A sample whose job was lost to load.
    Dropped,
    /// Nothing: neither its time nor its end says anything of load.
    Ignored,
}

use Counted::{Dropped, Ignored, Success};

/// How each kind of end counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ends {
    failures: Counted,
    timeouts: Counted,
    refusals: Counted,
    abandoned: Counted,
    unavailable: Counted,
}

/// ConcurrencyLimitServerInterceptor: DEADLINE_EXCEEDED and a cancelled call are dropped, every other status is a success.
const GRPC_SERVER: Ends =
    Ends { failures: Success, timeouts: Dropped, refusals: Success, abandoned: Dropped, unavailable: Success };

/// ConcurrencyLimitClientInterceptor: UNAVAILABLE is dropped, every other status that is not OK, and a cancelled call, ignored.
const GRPC_CLIENT: Ends =
    Ends { failures: Ignored, timeouts: Ignored, refusals: Dropped, abandoned: Ignored, unavailable: Dropped };

/// ConcurrencyLimitServletFilter: an exception is ignored, any answer is a success.
const SERVLET: Ends =
    Ends { failures: Ignored, timeouts: Ignored, refusals: Success, abandoned: Ignored, unavailable: Ignored };

impl Ends {
    /// As the adapter for this place has it, but for what is set.
    pub(super) fn new(values: &Values, place: Place) -> Self {
        let adapter = match (values.word("adapter"), place) {
            ("servlet", _) => SERVLET,
            (_, Place::Client | Place::Proxy) => GRPC_CLIENT,
            _ => GRPC_SERVER,
        };
        let counted = |name, by_adapter| match values.word(name) {
            "success" => Success,
            "ignored" => Ignored,
            "dropped" => Dropped,
            _ => by_adapter,
        };
        Self {
            failures: counted("failures", adapter.failures),
            timeouts: counted("timeouts", adapter.timeouts),
            refusals: counted("refusals", adapter.refusals),
            abandoned: counted("abandoned", adapter.abandoned),
            unavailable: counted("unavailable", adapter.unavailable),
        }
    }

    /// How this end counts.
    pub(super) fn count(&self, outcome: Outcome) -> Counted {
        match outcome {
            Outcome::Served => Success,
            Outcome::Failed => self.failures,
            Outcome::TimedOut => self.timeouts,
            Outcome::Overloaded { .. } => self.refusals,
            Outcome::Abandoned => self.abandoned,
            Outcome::Unavailable => self.unavailable,
            Outcome::Ignored => Ignored,
        }
    }
}

const ADAPTERS: &str = "ConcurrencyLimitServerInterceptor.java at a server, ConcurrencyLimitClientInterceptor.java at a client; ConcurrencyLimitServletFilter.java";

/// An end of one kind; the table of the adapters is in `source`.
const fn of(name: &'static str, about: &'static str, source: &'static str) -> Param {
    let kind = ParamKind::Choice { words: &["by-adapter", "success", "ignored", "dropped"] };
    Param { name, about, kind, source }
}

/// The adapter, and what departs from it.
pub(super) const PARAMS: [Param; 6] = [
    Param {
        name: "adapter",
        about: "whose rules say how ends count: those of the gRPC adapters (server or client, by place) or of the servlet filter",
        kind: ParamKind::Choice { words: &["grpc", "servlet"] },
        source: ADAPTERS,
    },
    of(
        "failures",
        "how an answer with an error counts; quick ones as a success pass for a quick service",
        "gRPC server: success; client: ignored; servlet: ignored (an exception)",
    ),
    of(
        "timeouts",
        "how a job that took longer than allowed counts",
        "DEADLINE_EXCEEDED, gRPC server: dropped; client: ignored; servlet: ignored",
    ),
    of(
        "refusals",
        "how a job that was refused further down counts",
        "UNAVAILABLE, gRPC server: success; client: dropped; servlet: success (an answer)",
    ),
    of(
        "abandoned",
        "how a job whose sender went away counts",
        "a cancelled call, gRPC server: dropped; client: ignored; servlet: ignored",
    ),
    of(
        "unavailable",
        "how a request without a connection, or whose connection broke, counts",
        "UNAVAILABLE, gRPC client: dropped; at a server it does not occur",
    ),
];
