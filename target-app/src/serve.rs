//! Runs a service from its spec as a process, and ends it in order.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use spec::{TargetSpec, services::TaskSpec, token::Token, wire::Ready};

use crate::{
    control,
    edge::{self, Edge},
    running::Running,
};

mod build;
#[cfg(test)]
pub(crate) use build::assemble;
mod error;
mod metrics;
mod process;

pub use error::ServeError;
pub(crate) use process::{ControlPort, Ends, die_with, pin, runtime};

/// The longest time for the service to close.
const CLOSING: Duration = Duration::from_secs(5);

/// Serves until SIGTERM, SIGHUP or SIGINT, or an order on the control port. Calls `on_ready` once requests are
/// accepted. Pins the calling process to the processors of the spec, and runs on threads of its own.
///
/// # Errors
/// The error that kept it from serving. Once it serves, it ends without an error.
pub fn serve_blocking(spec: TargetSpec, on_ready: impl FnOnce(Ready)) -> Result<(), ServeError> {
    serve_task(TaskSpec::alone(spec), on_ready)
}

/// The same as [`serve_blocking`], for a task of a service among several.
///
/// # Errors
/// As [`serve_blocking`].
pub fn serve_task(task: TaskSpec, on_ready: impl FnOnce(Ready)) -> Result<(), ServeError> {
    if let Some(parent) = task.target.die_with {
        die_with(parent)?;
    }
    pin(&task.target.cpus)?;
    let runtime = runtime()?;
    let served = runtime.block_on(serve(task, on_ready));
    // A handler that blocks for good must not keep the process from ending.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

async fn serve(task: TaskSpec, on_ready: impl FnOnce(Ready)) -> Result<(), ServeError> {
    let mut ends = Ends::listen()?;
    let spec = &task.target;
    let (backlog, given) = (spec.edge.backlog, spec.control_token.clone());
    let chosen = build::policy(&task)?;
    let listener = edge::listen(spec.listen, chosen.backlog(backlog))
        .map_err(|source| ServeError::Listen { address: spec.listen, source })?;
    let controls =
        control::listen(spec.control).map_err(|source| ServeError::Listen { address: spec.control, source })?;
    let scraped = spec.metrics.map(listen_for_metrics).transpose()?;
    let service = url(listener.local_addr())?;
    let control = url(controls.local_addr())?;
    let metrics = scraped.as_ref().map(metrics_url).transpose()?;
    let open = beyond_loopback([(Some(spec.listen), "this service"), (spec.metrics, "its metrics")]);
    let built = build::build(task, chosen).await?;
    let edge = Edge::new(Arc::clone(&built.app), listener, backlog)
        .map_err(|source| ServeError::System { what: "cannot watch the listening socket", source })?;
    let running = Running::start(built, Arc::clone(&edge), backlog);
    if let Some(socket) = scraped {
        metrics::serve(socket, &running).map_err(|source| ServeError::System { what: METRICS, source })?;
    }
    // A token from a file is known to its readers, and not printed again.
    let (token, drawn) = match given {
        Some(token) => (token, None),
        None => {
            let drawn = Token::draw().map_err(|source| ServeError::System { what: "cannot draw a token", source })?;
            (drawn.clone(), Some(drawn))
        }
    };
    let port = ControlPort::open(controls, Arc::<Running>::clone(&running), token)?;

    let accepting = tokio::spawn({
        let edge = Arc::clone(&edge);
        async move { edge.accept().await }
    });
    let deadlines = tokio::spawn({
        let edge = Arc::clone(&edge);
        async move { edge.keep_deadlines().await }
    });
    on_ready(Ready {
        pid: std::process::id(),
        url: service,
        control,
        token: drawn,
        metrics,
        open,
        warnings: Vec::new(),
    });

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

/// What cannot be done if the metrics cannot be served.
pub(crate) const METRICS: &str = "cannot watch the socket of the metrics";

/// Opens the socket of the metrics.
pub(crate) fn listen_for_metrics(address: SocketAddr) -> Result<TcpListener, ServeError> {
    edge::listen(address, 16).map_err(|source| ServeError::Listen { address, source })
}

/// Where the metrics are.
pub(crate) fn metrics_url(socket: &TcpListener) -> Result<String, ServeError> {
    Ok(format!("{}/metrics", url(socket.local_addr())?))
}

/// A line for each address that other machines can reach, if there are any.
pub(crate) fn beyond_loopback<const N: usize>(addresses: [(Option<SocketAddr>, &str); N]) -> Option<String> {
    let addresses = addresses.into_iter().filter_map(|(address, what)| Some((address?.ip(), what)));
    let open = addresses.filter(|(address, _)| !address.is_loopback());
    let lines =
        open.map(|(address, what)| format!("{address} is no loopback address: other machines can reach {what}"));
    lines.reduce(|all, line| all + "\n" + &line)
}

pub(crate) fn url(address: io::Result<SocketAddr>) -> Result<String, ServeError> {
    let address = address.map_err(|source| ServeError::System { what: "cannot tell the listening address", source })?;
    Ok(format!("http://{address}"))
}
