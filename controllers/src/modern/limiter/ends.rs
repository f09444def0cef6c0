//! The classification of ends: a sample, a drop, or ignored.

use crate::{
    Outcome, Place,
    entry::{Choice, ParamDeclaration, choice, params},
};

/// How an end counts (Limiter.Listener of Netflix's concurrency-limits): what [`Ends::count`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// A sample.
    Success,
    /// A sample of a job that failed because of load.
    Dropped,
    /// No sample: the end carries no information about load.
    Ignored,
}

use Counted::{Dropped, Ignored, Success};

/// How each outcome counts: the rules of an adapter, with exceptions that settings name. Held by a policy that learns from ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    failures: Counted,
    timeouts: Counted,
    refusals: Counted,
    abandoned: Counted,
    unavailable: Counted,
}

/// ConcurrencyLimitServerInterceptor: DEADLINE_EXCEEDED and a cancelled call are dropped, every other status is a
/// success.
const GRPC_SERVER: Ends =
    Ends { failures: Success, timeouts: Dropped, refusals: Success, abandoned: Dropped, unavailable: Success };

/// ConcurrencyLimitClientInterceptor: UNAVAILABLE is dropped, every other status that is not OK, and a cancelled call,
/// ignored.
const GRPC_CLIENT: Ends =
    Ends { failures: Ignored, timeouts: Ignored, refusals: Dropped, abandoned: Ignored, unavailable: Dropped };

/// ConcurrencyLimitServletFilter: an exception is ignored, any answer is a success.
const SERVLET: Ends =
    Ends { failures: Ignored, timeouts: Ignored, refusals: Success, abandoned: Ignored, unavailable: Ignored };

impl Ends {
    /// The classes of the adapter for this place, with the parameters' exceptions.
    pub fn new(params: &EndsParams, place: Place) -> Self {
        let adapter = match (params.adapter, place) {
            (Adapter::Servlet, _) => SERVLET,
            (Adapter::Grpc, Place::Client | Place::Proxy) => GRPC_CLIENT,
            (Adapter::Grpc, _) => GRPC_SERVER,
        };
        Self {
            failures: params.failures.unwrap_or(adapter.failures),
            timeouts: params.timeouts.unwrap_or(adapter.timeouts),
            refusals: params.refusals.unwrap_or(adapter.refusals),
            abandoned: params.abandoned.unwrap_or(adapter.abandoned),
            unavailable: params.unavailable.unwrap_or(adapter.unavailable),
        }
    }

    /// How this outcome counts. [`Outcome::Served`] is a [`Counted::Success`] and [`Outcome::Ignored`] is [`Counted::Ignored`]
    /// whatever the settings say.
    #[inline]
    pub fn count(&self, outcome: Outcome) -> Counted {
        if outcome == Outcome::Served {
            return Success; // most ends: a branch that the processor predicts, in place of a jump table
        }
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

/// The source of the classes.
#[derive(Debug, Clone, Copy)]
pub enum Adapter {
    /// The gRPC adapter, server or client by place.
    Grpc,
    /// The servlet filter.
    Servlet,
}

const ADAPTERS: &str = "ConcurrencyLimitServerInterceptor.java at a server, ConcurrencyLimitClientInterceptor.java at a client; ConcurrencyLimitServletFilter.java";

/// The class of one outcome; `None`: the adapter's. `source` lists the adapters' classes.
const fn end(about: &'static str, source: &'static str) -> ParamDeclaration<Choice<Option<Counted>>> {
    let words = &[("success", Some(Success)), ("ignored", Some(Ignored)), ("dropped", Some(Dropped))];
    ParamDeclaration { kind: choice(("by-adapter", None), words), about, source }
}

params! {
    /// The parameters of [`Ends`], for a row `ends: EndsParams;` of a policy's own [`params!`](crate::params!): the adapter whose rules
    /// hold (`adapter`: `grpc` or `servlet`), and for each outcome but two an exception from it (`failures`, `timeouts`, `refusals`,
    /// `abandoned`, `unavailable`: `success`, `dropped`, `ignored`). Files write them beside the policy's others.
    ///
    /// | outcome | gRPC, server | gRPC, client and proxy | servlet |
    /// |---|---|---|---|
    /// | [`Outcome::Failed`] | success | ignored | ignored |
    /// | [`Outcome::TimedOut`] | dropped | ignored | ignored |
    /// | [`Outcome::Overloaded`] | success | dropped | success |
    /// | [`Outcome::Abandoned`] | dropped | ignored | ignored |
    /// | [`Outcome::Unavailable`] | success (does not occur) | dropped | ignored |
    pub struct EndsParams {
        adapter: Adapter = choice(("grpc", Adapter::Grpc), &[("servlet", Adapter::Servlet)]),
            "whose rules say how ends count: those of the gRPC adapters (server or client, by place) or of the servlet filter",
            ADAPTERS;
        failures: Option<Counted> = end(
            "how an answer with an error counts; quick ones as a success pass for a quick service",
            "gRPC server: success; client: ignored; servlet: ignored (an exception)",
        );
        timeouts: Option<Counted> = end(
            "how a job that took longer than allowed counts",
            "DEADLINE_EXCEEDED, gRPC server: dropped; client: ignored; servlet: ignored",
        );
        refusals: Option<Counted> = end(
            "how a job that was refused further down counts",
            "UNAVAILABLE, gRPC server: success; client: dropped; servlet: success (an answer)",
        );
        abandoned: Option<Counted> = end(
            "how a job whose sender went away counts",
            "a cancelled call, gRPC server: dropped; client: ignored; servlet: ignored",
        );
        unavailable: Option<Counted> = end(
            "how a request without a connection, or whose connection broke, counts",
            "UNAVAILABLE, gRPC client: dropped; at a server it does not occur",
        );
    }
}
