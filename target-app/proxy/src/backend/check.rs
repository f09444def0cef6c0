//! Active checks: each backend is asked for a path, by itself and on a connection of its own.

use std::sync::{Arc, Weak};

use http::{Request, header};
use spec::proxy::HealthSpec;

use super::{Backend, Backends};
use crate::upload::Upload;

/// Checks the backends from now on, until they are dropped, if the settings name a path. Needs a runtime.
pub(crate) fn start(backends: &Arc<Backends>, spec: &HealthSpec) {
    if spec.path.is_empty() {
        return;
    }
    for backend in backends.iter() {
        let (all, backend, spec) = (Arc::downgrade(backends), Arc::downgrade(backend), spec.clone());
        tokio::spawn(async move { keep_checking(&all, &backend, &spec).await });
    }
}

async fn keep_checking(all: &Weak<Backends>, backend: &Weak<Backend>, spec: &HealthSpec) {
    while let (Some(all), Some(backend)) = (all.upgrade(), backend.upgrade()) {
        let passed = tokio::time::timeout(spec.timeout, passes(&all, &backend, &spec.path)).await;
        backend.health.checked(passed.unwrap_or(false));
        drop((all, backend)); // other backends may be put in force meanwhile
        tokio::time::sleep(spec.every).await;
    }
}

/// True if the backend answers a check with a status below 400.
async fn passes(all: &Backends, backend: &Backend, path: &str) -> bool {
    // Beside the limit of connections: a backend that is busy is not down.
    let Ok(mut sender) = all.connector.connect(&backend.address, backend.pool.extra_place()).await else {
        return false;
    };
    let request = Request::get(path).header(header::HOST, &backend.address.host_header).body(Upload::none());
    let Ok(request) = request else { return false };
    let (head, body) = request.into_parts();
    let answer = sender.send(Box::new(head), body).await;
    answer.is_ok_and(|answer| answer.status().as_u16() < 400)
}
