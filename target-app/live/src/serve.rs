//! Runs a service from its spec as a process, and ends it in order.

use std::{
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use spec::{TargetSpec, services::TaskSpec, token::Token, wire::Ready};

use crate::{
    clock::ServiceClock,
    control,
    edge::{self, Edge},
    running::Running,
};

mod build;
mod error;
mod metrics;
mod process;

pub use build::Opened;
#[cfg(test)]
pub(crate) use build::assemble;
pub use error::{ServeError, system};
pub use process::{ControlPort, RUNTIME, SIGNALS, TerminationSignals, run};

/// The longest time for the service to close.
const CLOSING: Duration = Duration::from_secs(5);

/// Serves what `open` opens, until SIGTERM, SIGHUP or SIGINT, or an order on the control port. Calls `on_ready` once
/// requests are accepted. Pins the calling process to the processors of the spec, and runs on threads of its own.
///
/// # Errors
/// The error that kept it from serving. Once it serves, it ends without an error.
pub fn serve_blocking(
    task: TaskSpec,
    open: impl AsyncFnOnce(&TaskSpec, ServiceClock) -> Opened,
    on_ready: impl FnOnce(Ready),
) -> Result<(), ServeError> {
    let TargetSpec { die_with, cpus, .. } = task.target.clone();
    run(die_with, &cpus, serve(task, open, on_ready))
}

async fn serve(
    task: TaskSpec,
    open: impl AsyncFnOnce(&TaskSpec, ServiceClock) -> Opened,
    on_ready: impl FnOnce(Ready),
) -> Result<(), ServeError> {
    let mut ends = TerminationSignals::listen()?;
    let spec = &task.target;
    let backlog = spec.edge.backlog;
    let chosen = build::policy(&task)?;
    let mut sockets = Sockets::open(&Addresses {
        listen: spec.listen,
        backlog: chosen.backlog(backlog),
        control: spec.control,
        token: spec.control_token.clone(),
        metrics: spec.metrics,
        program: "this service",
    })?;
    let built = build::build(task, chosen, open).await?;
    let edge = Edge::new(Arc::clone(&built.app), sockets.listener, backlog).map_err(system(LISTENING))?;
    let running = Running::start(built, Arc::clone(&edge), backlog);
    if let Some(socket) = sockets.metrics.take() {
        metrics::serve(socket, &running).map_err(system(METRICS))?;
    }
    let port = ControlPort::open(sockets.controls, Arc::<Running>::clone(&running), sockets.token)?;
    let accepting = tokio::spawn(Arc::clone(&edge).accept());
    let deadlines = tokio::spawn(Arc::clone(&edge).keep_deadlines());
    on_ready(sockets.ready);

    tokio::select! {
        () = running.stopped() => {}
        () = ends.told() => {}
    }
    accepting.abort();
    let _ = accepting.await; // it ends as cancelled, as ordered
    tokio::select! {
        _ = edge.drain() => {}
        () = ends.told() => {} // the second order ends it at once
    }
    deadlines.abort();
    // A service that cannot close must not keep the process: acknowledged changes are safe without.
    let _ = tokio::time::timeout(CLOSING, running.app().service.close()).await;
    drop(port);
    Ok(())
}

/// The failed step of an error about the listening socket.
pub const LISTENING: &str = "cannot watch the listening socket";
/// The failed step of an error about the socket of the metrics.
pub const METRICS: &str = "cannot watch the socket of the metrics";

/// The addresses of a process.
#[derive(Debug)]
pub struct Addresses {
    /// For requests.
    pub listen: SocketAddr,
    /// The length of the kernel's queue of connections.
    pub backlog: u32,
    /// The control port's.
    pub control: SocketAddr,
    /// The token of the control port. From a file it is known to its readers, and not printed again; `None`: one is drawn.
    pub token: Option<Token>,
    /// The metrics', if there are any.
    pub metrics: Option<SocketAddr>,
    /// The name of the process in messages.
    pub program: &'static str,
}

/// The open sockets of a process.
#[derive(Debug)]
pub struct Sockets {
    /// For requests.
    pub listener: TcpListener,
    /// The control port's.
    pub controls: TcpListener,
    /// The metrics', if there are any.
    pub metrics: Option<TcpListener>,
    /// The token of the control port.
    pub token: Token,
    /// What is said once requests are accepted.
    pub ready: Ready,
}

impl Sockets {
    /// Opens them.
    ///
    /// # Errors
    /// An address that cannot be bound.
    pub fn open(at: &Addresses) -> Result<Self, ServeError> {
        let unbound = |address| move |source| ServeError::Listen { address, source };
        let listener = edge::listen(at.listen, at.backlog).map_err(unbound(at.listen))?;
        let controls = control::listen(at.control).map_err(unbound(at.control))?;
        let metrics = at.metrics.map(|address| edge::listen(address, 16).map_err(unbound(address))).transpose()?;
        let token = at.token.clone().map_or_else(Token::draw, Ok).map_err(system("cannot draw a token"))?;
        let ready = Ready {
            pid: std::process::id(),
            url: url(&listener)?,
            control: url(&controls)?,
            token: at.token.is_none().then(|| token.clone()),
            metrics: metrics.as_ref().map(|socket| Ok::<_, ServeError>(url(socket)? + "/metrics")).transpose()?,
            open: beyond_loopback([(Some(at.listen), at.program), (at.metrics, "its metrics")]),
            warnings: Vec::new(),
        };
        Ok(Self { listener, controls, metrics, token, ready })
    }
}

/// A line for each address that other machines can reach, if there are any.
fn beyond_loopback<const N: usize>(addresses: [(Option<SocketAddr>, &str); N]) -> Option<String> {
    let addresses = addresses.into_iter().filter_map(|(address, what)| Some((address?.ip(), what)));
    let open = addresses.filter(|(address, _)| !address.is_loopback());
    let lines =
        open.map(|(address, what)| format!("{address} is no loopback address: other machines can reach {what}"));
    lines.reduce(|all, line| all + "\n" + &line)
}

fn url(socket: &TcpListener) -> Result<String, ServeError> {
    Ok(format!("http://{}", socket.local_addr().map_err(system("cannot tell the listening address"))?))
}
