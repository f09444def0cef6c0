use std::{io, net::IpAddr, path::PathBuf};

use health::clock::Start;
use workloads::{
    UserCommands,
    crowd::CrowdError,
    plan::{HttpVersion, TlsOptions},
};

/// The options of a run that are not in its plan.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The host that sends.
    pub host: HostChoice,
    /// The largest number of requests in flight; `None`: as many as the process has descriptors and maps for.
    pub in_flight_limit: Option<u32>,
    /// The addresses of this machine that connections come from, taken in turn; empty: the kernel chooses. More than one
    /// give more connections to one address than there are local ports.
    pub source_addresses: Vec<IpAddr>,
    /// The Unix socket to connect to in place of the target's address.
    pub unix_socket: Option<PathBuf>,
    /// Certificates, for targets with TLS. Only the async host supports TLS.
    pub tls: TlsOptions,
    /// The version of HTTP.
    pub version: HttpVersion,
    /// The run ends when this many requests (retries count, redirects do not) have begun; `None`: with the plan.
    pub requests_limit: Option<u64>,
    /// Each request carries its number (`X-Request-Number`), which our own services write down: so requests that they
    /// never read can be identified. Only the fiber host supports it.
    pub numbered: bool,
    /// The moment at which the run begins; `None`, or one that has passed: once all is set up. Requests that a late start delays are late.
    pub begins: Option<Start>,
    /// Windows have all times of their second, as buckets of a histogram: for writers of figures by second.
    pub second_times: bool,
    /// The queue of an operator's commands during the run.
    pub commands: UserCommands,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            host: HostChoice::Auto,
            in_flight_limit: None,
            source_addresses: Vec::new(),
            unix_socket: None,
            tls: TlsOptions::default(),
            version: HttpVersion::default(),
            requests_limit: None,
            numbered: false,
            begins: None,
            second_times: false,
            commands: UserCommands::default(),
        }
    }
}

/// The host that sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HostChoice {
    /// The fiber host for `http`, the async host for everything else.
    #[default]
    Auto,
    /// Fibers: plain HTTP/1.1, many users with little memory.
    Fiber,
    /// Tasks: TLS and HTTP/2 as well.
    Async,
}

/// Why a plan could not be run. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Users of this plan cannot be made.
    #[error(transparent)]
    Crowd(#[from] CrowdError),
    /// The chosen host does not support this target.
    #[error(
        "the fiber host speaks plain HTTP/1.1 only, and {url} is something else: leave the choice of the host open"
    )]
    NotPlain {
        /// The target's URL.
        url: String,
    },
    /// The async host supports one address.
    #[error(
        "users of several services are sent by the fiber host alone, by plain HTTP/1.1: leave the choice of the host open"
    )]
    Entries,
    /// Users would keep more connections than there are descriptors.
    #[error(
        "{wanted} connections would be kept open at once, and {} of them {}: the limit is {limit} files and sockets, {open} are open \
         and {reserved} are set aside for the program itself; raise it (`ulimit -n {}`; above the hard limit an administrator has \
         to), use fewer users or connections, or have users share some (`connections: {{shared: 4000}}`) or open new ones (`{{keep: 0.1}}`)",
        match limit.saturating_sub(open + reserved) { 0 => "none".to_owned(), free => free.to_string() },
        if limit.saturating_sub(open + reserved) < 2 { "fits" } else { "fit" },
        wanted + open + reserved
    )]
    TooFewDescriptors {
        /// Connections kept at once by the plan.
        wanted: u64,
        /// Descriptors that the process may have.
        limit: u64,
        /// Descriptors in use.
        open: u64,
        /// Descriptors set aside for the program itself.
        reserved: u64,
    },
    /// Users would keep more connections than there are local ports.
    #[error(
        "up to {wanted} connections would be kept open at once, and {sources} source address(es) have {} local ports for one \
         target: {} source addresses are needed (`sources` in a file, `--source-address` of `lab load`), or connections that users \
         share (`connections: {{shared: 4000}}`)",
        sources * ports,
        wanted.div_ceil((*ports).max(1))
    )]
    TooFewPorts {
        /// Connections kept at once by the plan.
        wanted: u64,
        /// Source addresses.
        sources: u64,
        /// Ports of one.
        ports: u64,
    },
    /// A part of the host could not be set up.
    #[error("{what} could not be set up: {cause}")]
    Setup {
        /// The part that failed.
        what: &'static str,
        /// The cause.
        cause: io::Error,
    },
    /// A certificate, or a key, cannot be used.
    #[error("{what} cannot be used: {cause}")]
    Certificate {
        /// Which one.
        what: &'static str,
        /// Why.
        cause: String,
    },
    /// The async host could not be built.
    #[error("the HTTP client could not be set up: {0}")]
    Client(String),
}
