//! The settings of a proxy: what `--config FILE` has, and what the flags of `lab proxy` fill in.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use controllers::{Class, ClassRule, Criticality, Objective, catalogue::PolicySpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workloads::balance::Balancer;

use crate::{ConnectionSpec, EdgeSpec, choice, span, token::Token, waiting_room::WaitingRoomSpec};

mod retry;
mod types;

pub use retry::{RetryCause, RetrySpec};
pub use types::RequestTypes;

/// A whole proxy. Every key but `to` has a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProxySpec {
    /// The address of the proxy; port 0 takes a free one, which is printed at the start.
    #[schemars(example = &"0.0.0.0:8000")]
    pub listen: SocketAddr,
    /// The address of the control port: loopback only. Port 0 takes a free one, which is printed at the start.
    #[schemars(example = &"127.0.0.1:9001")]
    pub control: SocketAddr,
    /// The backends: `http://host:port`, `h2c://host:port` for HTTP/2 without TLS, `https://host:port`.
    #[schemars(example = ["http://127.0.0.1:8080", "http://127.0.0.1:8081"])]
    pub to: Vec<String>,
    /// The backend of each request. `utilization`: by what backends report of their load (`Endpoint-Load-Metrics`).
    #[schemars(schema_with = "choice::balancers", example = &"least-loaded")]
    pub balancer: Balancer,
    /// The policy of admission: its name, or its name with settings.
    #[serde(with = "choice")]
    #[schemars(schema_with = "choice::schema", example = serde_json::json!({"gradient2": {"limit_max": 500}}))]
    pub policy: PolicySpec,
    /// The policy decides and is told everything, but nothing is refused or held.
    #[schemars(example = true)]
    pub dry_run: bool,
    /// Requests that one backend works on side by side, for policies that keep a queue: they hold what comes beyond.
    #[schemars(example = 64, extend("unit" = "requests"))]
    pub concurrency: u32,
    /// The service-level objective that policies are told; absent: the 99th percentile within a second, which is too little for `headway`.
    #[serde(with = "choice::objective", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "choice::objective::Written", example = serde_json::json!({"percentile": 99, "response_time": "200ms"}))]
    pub objective: Option<Objective>,
    /// The rule for the class of a request; a higher class is more important. By the number in a header or a cookie, by a header with names, by the first prefix of the address, or of the path, that matches.
    #[schemars(schema_with = "choice::classes", example = serde_json::json!({"header": "X-Class"}))]
    pub class: ClassRule,
    /// What tells types of requests apart, for policies that learn by type (`sentry`). `path`: each path without its arguments is a type (a number of 16 bits).
    #[schemars(example = &"path")]
    pub types: RequestTypes,
    /// The criticality of requests without one of their own, by class.
    #[schemars(with = "BTreeMap<String, String>", example = serde_json::json!({"0": "SHEDDABLE", "2": "CRITICAL_PLUS"}))]
    pub criticality: BTreeMap<Class, Criticality>,
    /// The path of clients' checks: GET and HEAD without a query or an upgrade pass without asking waiting room and policy, at most
    /// `limits.checks` at once (429 beyond), and are counted apart from requests; empty: none. Everybody can ask for it: give one that costs next to nothing.
    #[schemars(example = &"/health")]
    pub health_path: String,
    /// A waiting room before the policy; absent: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({"capacity": "100/s"}))]
    pub waiting_room: Option<WaitingRoomSpec>,
    /// The answer to refused requests.
    #[schemars(example = serde_json::json!({"page": "busy.html", "retry_after": "3s"}))]
    pub refusal: RefusalSpec,
    /// Time-outs.
    #[schemars(example = serde_json::json!({"response": "10s"}))]
    pub timeouts: TimeoutSpec,
    /// Limits of connections and requests.
    #[schemars(example = serde_json::json!({"held": 256}))]
    pub limits: LimitSpec,
    /// Requests that go out once more; absent: none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({"policy": "retry-budget", "attempts": 3}))]
    pub retries: Option<RetrySpec>,
    /// Headers that are added, kept and replaced.
    #[schemars(example = serde_json::json!({"trust_forwarded": true}))]
    pub headers: HeaderSpec,
    /// Which backends get requests.
    #[schemars(example = serde_json::json!({"path": "/health", "every": "2s"}))]
    pub health: HealthSpec,
    /// The certificate of the listener; absent: without TLS. SIGHUP reads its files again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({"certificate": "chain.pem", "key": "key.pem"}))]
    pub tls: Option<TlsSpec>,
    /// A PEM file with the certificates of authorities that `https` backends show one of; absent: those of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"authority.pem")]
    pub backend_ca: Option<PathBuf>,
    /// Backends may show any certificate.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(example = true)]
    pub backend_insecure: bool,
    /// The address of the metrics for Prometheus; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"127.0.0.1:9464")]
    pub metrics: Option<SocketAddr>,
    /// The collector of OpenTelemetry that metrics are exported to; absent: none. Needs a build with the feature `otel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({"to": "http://127.0.0.1:4318"}))]
    pub otlp: Option<OtlpSpec>,
    /// Log lines on standard error, JSON, one value a line.
    #[schemars(example = &"requests")]
    pub log: LogLevel,
    /// The root of the proxy's own draws (random drops, a random balancer).
    #[schemars(example = 7)]
    pub seed: u64,
    /// The numbers of the processors to run on; none: any.
    #[schemars(example = [0, 1])]
    pub cpus: Vec<usize>,
    /// The token of the control port; `None`: drawn at the start, and printed in the ready line.
    #[serde(skip)]
    pub control_token: Option<Token>,
    /// The process id of the parent, if this process is to be killed with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub die_with: Option<u32>,
    /// `lab run` has started it: its control port has the paths that only an experiment uses.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
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
            objective: None,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RefusalSpec {
    /// A file with the page (`.html`, `.txt`, `.json`, at most 1 MiB); absent: a short one of the proxy's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"busy.html")]
    pub page: Option<PathBuf>,
    /// `Retry-After` where the policy does not say, in whole seconds, rounded up; `null`: no advice.
    #[serde(with = "span::optional")]
    #[schemars(with = "Option<String>", example = &"3s", extend("unit" = "time"))]
    pub retry_after: Option<Duration>,
    /// A node that refused GET and HEAD requests are redirected to (307), path and query included; absent: 503.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"https://busy.example")]
    pub redirect: Option<String>,
    /// A node that requests which the policy sends back are redirected to; absent: 503 with `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"https://queue.example")]
    pub come_back: Option<String>,
}

impl Default for RefusalSpec {
    fn default() -> Self {
        Self { page: None, retry_after: Some(Duration::from_secs(1)), redirect: None, come_back: None }
    }
}

/// Time-outs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimeoutSpec {
    /// Connecting to a backend.
    #[serde(with = "span")]
    #[schemars(with = "String", example = &"500ms", extend("unit" = "time"))]
    pub connect: Duration,
    /// A client's request head, from its first byte.
    #[serde(with = "span")]
    #[schemars(with = "String", example = &"5s", extend("unit" = "time"))]
    pub head: Duration,
    /// A pause within a client's request body.
    #[serde(with = "span")]
    #[schemars(with = "String", example = &"10s", extend("unit" = "time"))]
    pub body: Duration,
    /// From the end of the decision until the head of the backend's answer, all attempts together; then 504.
    #[serde(with = "span")]
    #[schemars(with = "String", example = &"30s", extend("unit" = "time"))]
    pub response: Duration,
    /// A pause within the body of a backend's answer; then the client's connection breaks off.
    #[serde(with = "span")]
    #[schemars(with = "String", example = &"30s", extend("unit" = "time"))]
    pub stall: Duration,
    /// The time in which a client must take a part of its answer.
    #[serde(with = "span")]
    #[schemars(with = "String", example = &"15s", extend("unit" = "time"))]
    pub write: Duration,
    /// A kept connection of a client between requests.
    #[serde(with = "span")]
    #[schemars(with = "String", example = &"60s", extend("unit" = "time"))]
    pub idle: Duration,
    /// A kept connection to a backend between requests: less than the backend's own limit.
    #[serde(with = "span")]
    #[schemars(with = "String", example = &"4s", extend("unit" = "time"))]
    pub backend_idle: Duration,
    /// A tunnel (WebSocket) without a byte in either direction.
    #[serde(with = "span")]
    #[schemars(with = "String", example = &"2h", extend("unit" = "time"))]
    pub tunnel: Duration,
    /// Requests inside after the order to stop; then they are cut.
    #[serde(with = "span")]
    #[schemars(with = "String", example = &"25s", extend("unit" = "time"))]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSpec {
    /// Connections of clients, of which one over HTTP/2 counts as two, and four of its requests as one more, as their memory does (beyond, requests of HTTP/2 are refused as `connections`); 0: two fifths of the descriptor limit, at most 2048, since a request needs two.
    #[schemars(example = 2000, extend("unit" = "connections"))]
    pub connections: u32,
    /// Connections of one address (in IPv6 of one network of 64 bits); 0: no limit.
    #[schemars(example = 100, extend("unit" = "connections"))]
    pub connections_per_source: u32,
    /// Requests of one such source inside at once, held by the policy or at a backend (a tunnel is one until it ends); one beyond is
    /// refused as `quota`. 0: no limit.
    #[schemars(example = 50, extend("unit" = "requests"))]
    pub requests_per_source: u32,
    /// Clients, and requests of theirs, that may be waited for at once, to take more of an answer or to send more of a request; beyond it
    /// the slowest go. 0: a third of the connections.
    #[schemars(example = 500, extend("unit" = "clients"))]
    pub slow_clients: u32,
    /// The length of the listen queue.
    #[schemars(example = 4096, extend("unit" = "connections"))]
    pub backlog: u32,
    /// Requests of one connection, which closes with the last one's answer; 0: no limit.
    #[schemars(example = 1000, extend("unit" = "requests"))]
    pub connection_requests: u32,
    /// Connections to one backend; a request beyond is refused as `concurrency`.
    #[schemars(example = 200, extend("unit" = "connections"))]
    pub backend_connections: u32,
    /// Requests of `health_path` that may be inside at once: a balancer's and a monitor's, and some to spare. Whoever finds the path gets
    /// no more of the service by it.
    #[schemars(example = 8, extend("unit" = "requests"))]
    pub checks: u16,
    /// Bytes of each answer that are taken in ahead of a client that does not take them, so that it holds no backend; 0: none.
    #[schemars(example = 65536, extend("unit" = "bytes"))]
    pub answer_buffer: u32,
    /// Requests that the policy may hold at once; one beyond is refused as `queue-full`.
    #[schemars(example = 256, extend("unit" = "requests"))]
    pub held: u32,
    /// The largest request head, bytes, at least 8192.
    #[schemars(example = 16384, extend("unit" = "bytes"))]
    pub head_bytes: u32,
    /// Header lines of a request.
    #[schemars(example = 64, extend("unit" = "lines"))]
    pub headers: u32,
    /// The largest request body, bytes; 0: no limit.
    #[schemars(example = 1048576, extend("unit" = "bytes"))]
    pub body_bytes: u32,
    /// The smallest rate of a request body after the first five seconds of waiting for it, bytes a second; 0: any.
    #[schemars(example = 1000, extend("unit" = "bytes a second"))]
    pub body_rate: u32,
    /// The smallest rate at which a client takes an answer, bytes a second; 0: any byte is progress.
    #[schemars(example = 1000, extend("unit" = "bytes a second"))]
    pub write_rate: u32,
    /// Streams of one HTTP/2 connection.
    #[schemars(example = 100, extend("unit" = "streams"))]
    pub streams: u32,
}

impl Default for LimitSpec {
    fn default() -> Self {
        Self {
            connections: 0,
            connections_per_source: 0,
            requests_per_source: 0,
            slow_clients: 0,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HeaderSpec {
    /// The `Host` that a backend sees: the client's, or the backend's own.
    #[schemars(example = &"backend")]
    pub host: HostHeader,
    /// Keep what the client says in `X-Forwarded-*`, `Forwarded`, `X-Real-IP` and the like, and add to it: only behind another proxy.
    #[schemars(example = true)]
    pub trust_forwarded: bool,
    /// Keep the client's `X-Criticality`, and let it count for the policy, as `X-User`, `X-Customer`, `X-Attempt`, `X-Timeout-Ms` and
    /// `X-Note` do then: only where all clients are your own.
    #[schemars(example = true)]
    pub trust_criticality: bool,
    /// Let names with underscores pass. Gateways of some backends take them for hyphens, so they are refused.
    #[schemars(example = true)]
    pub underscores: bool,
    /// Protocols of `Upgrade` that are passed on.
    #[schemars(example = ["websocket"])]
    pub upgrades: Vec<String>,
    /// Take a client that ends its sending side for one that still waits. Otherwise it has left.
    #[schemars(example = true)]
    pub half_close: bool,
    /// A header of the backend's answers with the CPU time of the request, milliseconds, for policies; empty: none.
    #[schemars(example = &"X-Cpu-Ms")]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostHeader {
    /// The one that the client sent.
    #[default]
    Client,
    /// The backend's own address or name.
    Backend,
}

/// Which backends get requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HealthSpec {
    /// The path of active checks; empty: none.
    #[schemars(example = &"/health")]
    pub path: String,
    /// The time between two checks.
    #[serde(with = "span")]
    #[schemars(with = "String", example = &"2s", extend("unit" = "time"))]
    pub every: Duration,
    /// The time-out of a check.
    #[serde(with = "span")]
    #[schemars(with = "String", example = &"1s", extend("unit" = "time"))]
    pub timeout: Duration,
    /// Failures in a row, of checks or of connecting and answering, before a backend is left out; 0: never.
    #[schemars(example = 5, extend("unit" = "failures"))]
    pub failures: u32,
    /// The time for which it is left out before it is tried again, or checked.
    #[serde(with = "span")]
    #[schemars(with = "String", example = &"5s", extend("unit" = "time"))]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    /// A PEM file with the certificate and those between it and the root.
    #[schemars(example = &"/etc/lab/chain.pem")]
    pub certificate: PathBuf,
    /// A PEM file with the private key.
    #[schemars(example = &"/etc/lab/key.pem")]
    pub key: PathBuf,
}

/// Where metrics are exported to, by OTLP over HTTP with protobuf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OtlpSpec {
    /// The collector: `http://127.0.0.1:4318`; without a path, metrics go to `/v1/metrics`.
    #[schemars(example = &"http://127.0.0.1:4318")]
    pub to: String,
    /// The time between two exports, at least a second.
    #[serde(with = "span")]
    #[schemars(with = "String", example = &"10s", extend("unit" = "time"))]
    pub every: Duration,
}

impl Default for OtlpSpec {
    fn default() -> Self {
        Self { to: "http://127.0.0.1:4318".to_owned(), every: Duration::from_secs(10) }
    }
}

/// Log lines on standard error: JSON, one value a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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
    /// The objective that policies are told.
    #[must_use]
    pub fn told_objective(&self) -> Objective {
        self.objective.unwrap_or(Objective { percentile: 99.0, response_time: Duration::from_secs(1) })
    }

    /// The settings of a file in this folder: the names of files in it are taken from there.
    #[must_use]
    pub fn of_file_in(mut self, folder: &Path) -> Self {
        let certificates = self.tls.iter_mut().flat_map(|tls| [&mut tls.certificate, &mut tls.key]);
        let of_room = self.waiting_room.iter_mut().flat_map(|room| [&mut room.page, &mut room.keys]);
        let others = self.backend_ca.iter_mut().chain(&mut self.refusal.page).chain(of_room.flatten());
        certificates.chain(others).for_each(|name| *name = folder.join(&*name));
        self
    }

    /// The limits of the connections of clients, as the edge has them.
    #[must_use]
    pub fn edge(&self) -> EdgeSpec {
        let (limits, timeouts) = (&self.limits, &self.timeouts);
        EdgeSpec {
            connections: limits.connections,
            connections_per_source: limits.connections_per_source,
            slow_clients: limits.slow_clients,
            backlog: limits.backlog,
            head_timeout: timeouts.head,
            body_timeout: timeouts.body,
            body_rate: limits.body_rate,
            write_timeout: timeouts.write,
            write_rate: limits.write_rate,
            kept: ConnectionSpec {
                idle_timeout: timeouts.idle,
                connection_requests: limits.connection_requests,
                ..ConnectionSpec::default()
            },
            head_bytes: limits.head_bytes,
            headers: limits.headers,
            body_bytes: limits.body_bytes,
            drain: timeouts.drain,
            ..EdgeSpec::default()
        }
    }
}
