//! Runs a proxy from its spec as a process, and ends it in order.

use std::{sync::Arc, time::Duration};

use controllers::Place;

use super::{
    admission::Admission,
    error::ProxyError,
    listener::{Listener, most_connections},
    log::Log,
    metrics,
    observe::Observers,
    otlp::Export,
    running::{DRY_AT_ACCEPT, DRY_WAITING_ROOM, RunningProxy},
    spec::{LogLevel, ProxySpec},
    state::{Proxy, Settings},
    takers::Takers,
    tls,
    waiting_room::{self, Room},
};
use crate::{
    class::Classification,
    clock::ServiceClock,
    control::{self, Token, events::Events, wire::Ready},
    edge,
    graph::Graph,
    policies::{Resolved, Seating},
    request::Intake,
    running,
    serve::{
        ControlPort, Ends, METRICS, ServeError, beyond_loopback, die_with, listen_for_metrics, metrics_url, pin,
        runtime, url,
    },
    signals::ThisProcess,
    stage::{AdmissionGate, keep_time, spawn},
};

/// Serves until SIGTERM, SIGHUP or SIGINT, or an order on the control port. Calls `on_ready` once requests are
/// accepted. Pins the calling process to the processors of the spec.
///
/// # Errors
/// The error that kept it from serving. Once it serves, it ends without an error.
pub fn proxy_blocking(spec: ProxySpec, on_ready: impl FnOnce(Ready)) -> Result<(), ProxyError> {
    if let Some(parent) = spec.die_with {
        die_with(parent)?;
    }
    pin(&spec.cpus)?;
    let runtime = runtime()?;
    let served = runtime.block_on(serve(spec, on_ready));
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

async fn serve(spec: ProxySpec, on_ready: impl FnOnce(Ready)) -> Result<(), ProxyError> {
    let mut ends = Ends::listen()?;
    let chosen = Resolved::at_proxy(&spec.policy).map_err(ServeError::from)?;
    if spec.dry_run && chosen.place == Place::Accept {
        return Err(ProxyError::setting("dry_run", DRY_AT_ACCEPT));
    }
    if spec.dry_run && spec.waiting_room.is_some() {
        return Err(ProxyError::setting("dry_run", DRY_WAITING_ROOM));
    }
    let backlog = running::backlog(&chosen, spec.limits.backlog);
    let listener =
        edge::listen(spec.listen, backlog).map_err(|source| ServeError::Listen { address: spec.listen, source })?;
    let controls =
        control::listen(spec.control).map_err(|source| ServeError::Listen { address: spec.control, source })?;
    let scraped = spec.metrics.map(listen_for_metrics).transpose()?;
    let scraped_at = scraped.as_ref().map(metrics_url).transpose()?;
    let mut ready_at = (url(listener.local_addr())?, url(controls.local_addr())?);
    if spec.tls.is_some() {
        ready_at.0 = ready_at.0.replacen("http", "https", 1);
    }
    let given = spec.control_token.clone();
    let open = beyond_loopback([(Some(spec.listen), "this proxy"), (spec.metrics, "its metrics")]);
    let tls = spec.tls.as_ref().map(|tls| tls::acceptor(tls, spec.limits.streams > 0)).transpose()?;
    let (proxy, seating) = build(spec, &chosen)?;
    let system = |what| move |source| ServeError::System { what, source };
    let listener = Listener::new(Arc::clone(&proxy), listener, backlog, tls)
        .map_err(system("cannot watch the listening socket"))?;
    for gate in [&proxy.admission.gate, &proxy.accept] {
        spawn(keep_time(Arc::downgrade(gate)));
    }
    if proxy.room.is_some() {
        spawn(waiting_room::keep_time(Arc::downgrade(&proxy)));
    }
    let running = RunningProxy::new(Arc::clone(&proxy), Arc::clone(&listener), seating);
    if let Some(socket) = scraped {
        metrics::serve(socket, &running).map_err(system(METRICS))?;
    }
    let otlp = running.proxy.settings().spec.otlp.clone();
    let export = otlp.map(|otlp| Export::start(&running, &otlp)).transpose()?;
    let (token, drawn) = match given {
        Some(token) => (token, None),
        None => {
            let drawn = Token::draw().map_err(system("cannot draw a token"))?;
            (drawn.clone(), Some(drawn))
        }
    };
    let port = ControlPort::open(controls, Arc::<RunningProxy>::clone(&running), token)?;
    let accepting = tokio::spawn({
        let listener = Arc::clone(&listener);
        async move { listener.accept().await }
    });
    let deadlines = tokio::spawn({
        let listener = Arc::clone(&listener);
        async move { listener.keep_deadlines().await }
    });
    let (url, control) = ready_at;
    on_ready(Ready { pid: std::process::id(), url, control, token: drawn, metrics: scraped_at, open });
    tokio::select! {
        () = running.stopped() => {}
        () = ends.told() => {}
    }
    accepting.abort();
    let _ = accepting.await; // it ends as cancelled, as ordered
    tokio::select! {
        () = listener.drain() => {}
        () = ends.told() => {} // the second order ends it at once
    }
    deadlines.abort();
    if let Some(export) = export {
        export.end().await;
    }
    drop(port);
    proxy.observers.flush();
    Ok(())
}

/// The proxy of a spec with this policy, and the seats of its policies.
fn build(spec: ProxySpec, chosen: &Resolved) -> Result<(Arc<Proxy>, Seating), ProxyError> {
    if spec.limits.head_bytes < edge::LEAST_HEAD_BYTES {
        return Err(ServeError::Head(spec.limits.head_bytes).into());
    }
    let clock = ServiceClock::start();
    let classification = Classification::by(&spec.class, spec.criticality.clone()).map_err(ServeError::Class)?;
    let graph = Arc::new(Graph::proxy(&["request"]));
    let seating = Seating::new(Arc::clone(&graph), spec.objective, spec.seed, Events::default());
    let gate = |site, capacity| {
        let policy = seating.policy_site(chosen, &[], site);
        AdmissionGate::new(graph.site_name(site), policy, capacity, Arc::new(ThisProcess), None, clock)
    };
    let capacity = spec.concurrency.saturating_mul(u32::try_from(spec.to.len()).unwrap_or(u32::MAX));
    let gates = (Admission::new(gate(graph.dispatch(), capacity)), gate(graph.accept(), 0));
    let log = (spec.log != LogLevel::Off).then(Log::start).transpose();
    let log = log.map_err(|source| ServeError::System { what: "cannot start the thread of the log", source })?;
    let room = spec.waiting_room.as_ref().map(|room| Room::new(room, clock, spec.seed)).transpose()?;
    let takers = Takers::new(clock, most_connections(&spec.edge()));
    let settings = Settings::new(spec, clock, &takers, None)?;
    let observers = Observers::new(clock, log);
    Ok((Proxy::new(clock, gates, observers, Intake::new(classification), settings, room), seating))
}
