//! Runs a service from its spec as a process, and ends it in order.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use crate::{
    control::{self, Token, wire::Ready},
    edge::{self, Edge},
    running::{self, Running},
    spec::TargetSpec,
    tree::TaskSpec,
};

mod build;
pub(crate) use build::Built;
#[cfg(test)]
pub(crate) use build::assemble;
mod error;
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
    let listener = edge::listen(spec.listen, running::backlog(&chosen, backlog))
        .map_err(|source| ServeError::Listen { address: spec.listen, source })?;
    let controls =
        control::listen(spec.control).map_err(|source| ServeError::Listen { address: spec.control, source })?;
    let service = url(listener.local_addr())?;
    let control = url(controls.local_addr())?;
    let built = build::build(task, chosen).await?;
    let edge = Edge::new(Arc::clone(&built.app), listener, backlog)
        .map_err(|source| ServeError::System { what: "cannot watch the listening socket", source })?;
    let running = Running::start(built, Arc::clone(&edge), backlog);
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
    on_ready(Ready { pid: std::process::id(), url: service, control, token: drawn, metrics: None, open: None });

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

pub(crate) fn url(address: io::Result<SocketAddr>) -> Result<String, ServeError> {
    let address = address.map_err(|source| ServeError::System { what: "cannot tell the listening address", source })?;
    Ok(format!("http://{address}"))
}
