//! The settings of a proxy: what `--config FILE` has, and what the flags of `lab proxy` fill in.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use controllers::{Class, ClassRule, Criticality, Objective, catalogue::PolicySpec};
use serde::{Deserialize, Serialize};
use workloads::balance::Balancer;

use super::{span, types::RequestTypes};
use crate::{control::Token, edge::cap, spec::EdgeSpec, waiting_room::WaitingRoomSpec};

pub(crate) mod choice;
mod retry;

pub use retry::{RetryCause, RetrySpec};

/// A whole proxy. Every key but `to` has a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProxySpec {
    /// The address of the proxy; port 0 takes a free one, which the ready line names.
    pub listen: SocketAddr,
    /// The address of the control port: loopback only.
    pub control: SocketAddr,
    /// The backends: `http://host:port`, `h2c://host:port` for HTTP/2 without TLS, `https://host:port`.
    pub to: Vec<String>,
    /// The backend of each request.
    pub balancer: Balancer,
    /// The policy of admission.
    #[serde(with = "choice")]
    pub policy: PolicySpec,
    /// The policy decides and is told everything, but nothing is refused or held.
    pub dry_run: bool,
    /// Requests that a backend works on side by side, as far as queue disciplines know: they hold what comes beyond.
    pub concurrency: u32,
    /// The service-level objective that policies are told.
    #[serde(with = "choice::objective")]
    pub objective: Objective,
    /// The rule for a request's class.
    pub class: ClassRule,
    /// The types of requests, for policies that learn by type.
    pub types: RequestTypes,
    /// The criticality of requests without one of their own, by class.
    pub criticality: BTreeMap<Class, Criticality>,
    /// The path whose GET and HEAD requests without a query pass without asking the policy, a few at once, and are counted apart from
    /// requests; empty: none.
    pub health_path: String,
    /// A waiting room before the policy; `None`: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_room: Option<WaitingRoomSpec>,
    /// The answer to refused requests.
    pub refusal: RefusalSpec,
    /// Time-outs.
    pub timeouts: TimeoutSpec,
    /// Limits of connections and requests.
    pub limits: LimitSpec,
    /// Requests that go out once more; `None`: none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<RetrySpec>,
    /// Headers that are added, kept and replaced.
    pub headers: HeaderSpec,
    /// Which backends get requests.
    pub health: HealthSpec,
    /// The certificate of the listener; `None`: without TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSpec>,
    /// A PEM file with the certificates of authorities that `https` backends show one of; `None`: the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend_ca: Option<PathBuf>,
    /// Backends may show any certificate.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub backend_insecure: bool,
    /// The address of the metrics for Prometheus; `None`: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<SocketAddr>,
    /// The collector of OpenTelemetry that metrics are exported to; `None`: none. Needs a build with the feature `otel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otlp: Option<OtlpSpec>,
    /// Log lines on standard error.
    pub log: LogLevel,
    /// The root of the proxy's own draws (random drops, a random balancer).
    pub seed: u64,
    /// Processors to run on; empty: any.
    pub cpus: Vec<usize>,
    /// The token of the control port; `None`: drawn at the start, and printed in the ready line.
    #[serde(skip)]
    pub control_token: Option<Token>,
    /// The process id of the parent, if this process is to be killed with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub die_with: Option<u32>,
    /// `lab run` has started it: its control port has the paths that only an experiment uses.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub experiment: bool,
}

impl Default for ProxySpec {
    fn default() -> Self {
        let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self {
            listen: loopback(8000),
            control: loopback(0),
            to: Vec::new(),
            balancer: Balancer::default(),
            policy: PolicySpec { name: "none".to_owned(), place: None, settings: BTreeMap::new() },
            dry_run: false,
            concurrency: 64,
            objective: Objective { percentile: 99.0, response_time: Duration::from_secs(1) },
            class: ClassRule::default(),
            types: RequestTypes::default(),
            criticality: BTreeMap::new(),
            health_path: String::new(),
            waiting_room: None,
            refusal: RefusalSpec::default(),
            timeouts: TimeoutSpec::default(),
            limits: LimitSpec::default(),
            retries: None,
            headers: HeaderSpec::default(),
            health: HealthSpec::default(),
            tls: None,
            backend_ca: None,
            backend_insecure: false,
            metrics: None,
            otlp: None,
            log: LogLevel::default(),
            seed: 1,
            cpus: Vec::new(),
            control_token: None,
            die_with: None,
            experiment: false,
        }
    }
}

/// The answer to a refused request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RefusalSpec {
    /// A file with the page; `None`: a short one of the proxy's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<PathBuf>,
    /// `Retry-After` where the policy does not say, whole seconds, rounded up: 1 s unless set, as in the tower layer. `None` (`null` in
    /// files): no advice.
    #[serde(with = "span::optional")]
    pub retry_after: Option<Duration>,
    /// A node that refused GET and HEAD requests are redirected to, path and query included; `None`: 503.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    /// A node that requests which the policy sends back are redirected to; `None`: 503 with `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub come_back: Option<String>,
}

impl Default for RefusalSpec {
    fn default() -> Self {
        Self { page: None, retry_after: Some(Duration::from_secs(1)), redirect: None, come_back: None }
    }
}

/// Time-outs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TimeoutSpec {
    /// Connecting to a backend.
    #[serde(with = "span")]
    pub connect: Duration,
    /// A client's request head, from its first byte.
    #[serde(with = "span")]
    pub head: Duration,
    /// A pause within a client's request body.
    #[serde(with = "span")]
    pub body: Duration,
    /// From the end of the decision until the head of the backend's answer.
    #[serde(with = "span")]
    pub response: Duration,
    /// A pause within the body of a backend's answer.
    #[serde(with = "span")]
    pub stall: Duration,
    /// The time in which a client must take a part of its answer.
    #[serde(with = "span")]
    pub write: Duration,
    /// A kept connection of a client between requests.
    #[serde(with = "span")]
    pub idle: Duration,
    /// A kept connection to a backend between requests: less than the backend's own limit.
    #[serde(with = "span")]
    pub backend_idle: Duration,
    /// A tunnel (WebSocket) without a byte in either direction.
    #[serde(with = "span")]
    pub tunnel: Duration,
    /// Admitted requests after the order to stop.
    #[serde(with = "span")]
    pub drain: Duration,
}

impl Default for TimeoutSpec {
    fn default() -> Self {
        let secs = Duration::from_secs;
        Self {
            connect: secs(2),
            head: secs(5),
            body: secs(10),
            response: secs(60),
            stall: secs(60),
            write: secs(15),
            idle: secs(15),
            backend_idle: secs(4),
            tunnel: secs(3600),
            drain: secs(10),
        }
    }
}

/// Limits of connections and requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSpec {
    /// Connections of clients; 0: two fifths of the descriptor limit, at most 4096, since a request needs two.
    pub connections: u32,
    /// Connections of one address (in IPv6 of one network of 64 bits); 0: no limit.
    pub connections_per_source: u32,
    /// The length of the listen queue.
    pub backlog: u32,
    /// Requests of one connection, which closes with the last one's answer; 0: no limit.
    pub connection_requests: u32,
    /// Connections to one backend; a request beyond is refused as `concurrency`.
    pub backend_connections: u32,
    /// Requests of `health_path` that may be inside at once: a balancer's and a monitor's, and some to spare. Whoever finds the path gets
    /// no more of the service by it.
    pub checks: u16,
    /// Bytes of each answer that are taken in ahead of a client that does not take them, so that it holds no backend; 0: none.
    pub answer_buffer: u32,
    /// Requests that the policy may hold at once; one beyond is refused as `queue-full`.
    pub held: u32,
    /// The largest request head, bytes, at least 8192.
    pub head_bytes: u32,
    /// Header lines of a request.
    pub headers: u32,
    /// The largest request body, bytes; 0: no limit.
    pub body_bytes: u32,
    /// The smallest rate of a request body after the first five seconds of waiting for it, bytes a second; 0: any.
    pub body_rate: u32,
    /// The smallest rate at which a client takes an answer, bytes a second; 0: any byte is progress.
    pub write_rate: u32,
    /// Streams of one HTTP/2 connection.
    pub streams: u32,
}

impl Default for LimitSpec {
    fn default() -> Self {
        Self {
            connections: 0,
            connections_per_source: 0,
            backlog: 1024,
            connection_requests: 1000,
            backend_connections: 1024,
            checks: 4,
            answer_buffer: 0,
            held: 1024,
            head_bytes: 32 * 1024,
            headers: 100,
            body_bytes: 256 * 1024 * 1024,
            body_rate: 1000,
            write_rate: 1000,
            streams: 100,
        }
    }
}

/// Headers that are added, kept and replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HeaderSpec {
    /// The `Host` that a backend sees: the client's, or the backend's own.
    pub host: HostHeader,
    /// Keep what the client says in `X-Forwarded-*`, `Forwarded`, `X-Real-IP` and the like, and add to it: only behind another proxy.
    pub trust_forwarded: bool,
    /// Keep the client's `X-Criticality`, and let it count for the policy: only where all clients are your own.
    pub trust_criticality: bool,
    /// Let names with underscores pass. Gateways of some backends take them for hyphens, so they are refused.
    pub underscores: bool,
    /// Protocols of `Upgrade` that are passed on.
    pub upgrades: Vec<String>,
    /// Take a client that ends its sending side for one that still waits. Otherwise it has left.
    pub half_close: bool,
    /// A header of the backend's answers with the CPU time of the request, milliseconds, for policies; empty: none.
    pub cost: String,
}

impl Default for HeaderSpec {
    fn default() -> Self {
        Self {
            host: HostHeader::default(),
            trust_forwarded: false,
            trust_criticality: false,
            underscores: false,
            upgrades: vec!["websocket".to_owned()],
            half_close: false,
            cost: String::new(),
        }
    }
}

/// The `Host` that a backend sees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostHeader {
    /// The one that the client sent.
    #[default]
    Client,
    /// The backend's own address or name.
    Backend,
}

/// Which backends get requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HealthSpec {
    /// The path of active checks; empty: none.
    pub path: String,
    /// The time between two checks.
    #[serde(with = "span")]
    pub every: Duration,
    /// The time-out of a check.
    #[serde(with = "span")]
    pub timeout: Duration,
    /// Failures in a row, of checks or of connecting and answering, before a backend is left out; 0: never.
    pub failures: u32,
    /// The time for which it is left out before it is tried again, or checked.
    #[serde(with = "span")]
    pub eject: Duration,
}

impl Default for HealthSpec {
    fn default() -> Self {
        Self {
            path: String::new(),
            every: Duration::from_secs(2),
            timeout: Duration::from_secs(1),
            failures: 5,
            eject: Duration::from_secs(5),
        }
    }
}

/// The certificate of the listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    /// A PEM file with the certificate and those between it and the root.
    pub certificate: PathBuf,
    /// A PEM file with the private key.
    pub key: PathBuf,
}

/// Where metrics are exported to, by OTLP over HTTP with protobuf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OtlpSpec {
    /// The collector: `http://127.0.0.1:4318`; without a path, metrics go to `/v1/metrics`.
    pub to: String,
    /// The time between two exports, at least a second.
    #[serde(with = "span")]
    pub every: Duration,
}

impl Default for OtlpSpec {
    fn default() -> Self {
        Self { to: "http://127.0.0.1:4318".to_owned(), every: Duration::from_secs(10) }
    }
}

/// Log lines on standard error: JSON, one value a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    /// None.
    Off,
    /// Changes of the proxy: policy, backends, drain.
    #[default]
    Changes,
    /// And every request.
    Requests,
}

impl ProxySpec {
    /// The largest number of connections of clients: a request needs two descriptors, its client's connection and its backend's.
    pub(super) fn most_connections(&self) -> usize {
        let edge = self.edge();
        if edge.connections > 0 { cap(&edge) } else { (cap(&edge) / 2).max(1) }
    }

    /// The limits of the connections of clients, as the edge has them.
    pub(super) fn edge(&self) -> EdgeSpec {
        let (limits, timeouts) = (&self.limits, &self.timeouts);
        EdgeSpec {
            connections: limits.connections,
            connections_per_source: limits.connections_per_source,
            backlog: limits.backlog,
            head_timeout: timeouts.head,
            body_timeout: timeouts.body,
            body_rate: limits.body_rate,
            write_timeout: timeouts.write,
            write_rate: limits.write_rate,
            idle_timeout: timeouts.idle,
            connection_requests: limits.connection_requests,
            head_bytes: limits.head_bytes,
            headers: limits.headers,
            body_bytes: limits.body_bytes,
            drain: timeouts.drain,
            ..EdgeSpec::default()
        }
    }
}
