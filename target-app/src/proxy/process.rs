//! Runs a proxy from its spec as a process, and ends it in order.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use service_core::{
    class::Classification,
    events::Events,
    policies::{Resolved, Seating},
    request::Intake,
};
use spec::{
    graph::Graph,
    proxy::{LogLevel, ProxySpec},
    token::Token,
    wire::Ready,
};
use tokio::{runtime::Builder, task::JoinHandle};

use super::{
    admission::Admission,
    cautions::cautions,
    error::ProxyError,
    listener::Listener,
    log::Log,
    metrics,
    observe::Observers,
    otlp::Export,
    reach::{self, Unreachable},
    reload::{Reloads, Reread},
    running::RunningProxy,
    state::{Proxy, Settings},
    waiting_room::{self, Room},
};
use crate::{
    clock::ServiceClock,
    control, edge,
    serve::{
        ControlPort, Ends, METRICS, ServeError, beyond_loopback, die_with, listen_for_metrics, metrics_url, pin,
        runtime, url,
    },
    signals::ThisProcess,
    stage::{AdmissionGate, keep_time, spawn},
};

/// Serves until SIGTERM, SIGHUP or SIGINT, or an order on the control port. With `reread` SIGHUP reads the settings again.
/// Calls `on_ready` once requests are accepted. Pins the calling process to the processors of the spec.
///
/// # Errors
/// The error that kept it from serving. Once it serves, it ends without an error.
pub fn proxy_blocking(spec: ProxySpec, reread: Option<Reread>, on_ready: impl FnOnce(Ready)) -> Result<(), ProxyError> {
    if let Some(parent) = spec.die_with {
        die_with(parent)?;
    }
    pin(&spec.cpus)?;
    let runtime = runtime()?;
    let served = runtime.block_on(serve(spec, reread, on_ready));
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

/// Checks settings, and starts nothing. Returns what may be wrong although the proxy would start.
///
/// # Errors
/// All that is wrong.
pub fn check(spec: &ProxySpec) -> Result<Vec<String>, ProxyError> {
    let system = |source| ServeError::System { what: "cannot start the runtime", source };
    // Of one thread: what the settings would start in the background does not come to run.
    let runtime = Builder::new_current_thread().enable_all().build().map_err(system)?;
    let checked = runtime.block_on(async {
        Settings::new(spec.clone(), ServiceClock::start(), None).map_err(ProxyError::Settings)?;
        let unreachable = reach::unreachable(spec).await;
        Ok(cautions(spec).into_iter().chain(unreachable.iter().map(Unreachable::warning)).collect())
    });
    runtime.shutdown_background(); // a name that is still looked for
    checked
}

async fn serve(spec: ProxySpec, reread: Option<Reread>, on_ready: impl FnOnce(Ready)) -> Result<(), ProxyError> {
    let mut ends = if reread.is_some() { Ends::but_hang_up()? } else { Ends::listen()? };
    let system = |what| move |source| ServeError::System { what, source };
    let reloads = reread.map(Reloads::listen).transpose().map_err(system("cannot listen for signals"))?;
    let clock = ServiceClock::start();
    let settings = Settings::new(spec, clock, None).map_err(ProxyError::Settings)?;
    let spec = &settings.spec;
    let chosen = Resolved::at_proxy(&spec.policy).map_err(ServeError::from)?;
    let backlog = chosen.backlog(spec.limits.backlog);
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
    let (proxy, seating) = build(Arc::clone(&settings), &chosen, clock)?;
    let listener =
        Listener::new(Arc::clone(&proxy), listener, backlog).map_err(system("cannot watch the listening socket"))?;
    for gate in [&proxy.admission.gate, &proxy.accept] {
        spawn(keep_time(Arc::downgrade(gate)));
    }
    if let Some(room) = &proxy.room {
        let proxy = Arc::downgrade(&proxy);
        let log =
            move |event: &str, says: &Value| proxy.upgrade().into_iter().for_each(|proxy| proxy.changed(event, says));
        spawn(waiting_room::keep_time(Arc::downgrade(room), log));
    }
    let running = RunningProxy::new(Arc::clone(&proxy), Arc::clone(&listener), seating);
    if let Some(socket) = scraped {
        metrics::serve(socket, &running).map_err(system(METRICS))?;
    }
    let export = spec.otlp.as_ref().map(|otlp| Export::start(&running, otlp)).transpose()?;
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
    let warnings = warnings(&proxy).await;
    on_ready(Ready { pid: std::process::id(), url, control, token: drawn, metrics: scraped_at, open, warnings });
    let reloading = reloads.map(|reloads| tokio::spawn(reloads.carry_out(Arc::clone(&running))));
    tokio::select! {
        () = running.stopped() => {}
        () = ends.told() => {}
    }
    [Some(accepting), reloading].iter().flatten().for_each(JoinHandle::abort);
    end(&proxy, &listener, &mut ends).await;
    deadlines.abort();
    if let Some(export) = export {
        export.end().await;
    }
    drop(port);
    proxy.observers.flush();
    Ok(())
}

/// Logs which backends cannot be reached. Returns what people are told of them, and of settings that do nothing.
async fn warnings(proxy: &Proxy) -> Vec<String> {
    let settings = proxy.settings();
    if settings.spec.experiment {
        return Vec::new(); // whose service counts each connection
    }
    let found = reach::unreachable(&settings.spec).await;
    found.iter().for_each(|backend| proxy.changed("backend_unreachable", backend));
    cautions(&settings.spec).into_iter().chain(found.iter().map(Unreachable::warning)).collect()
}

/// Ends what is inside; a second order ends it at once.
async fn end(proxy: &Proxy, listener: &Arc<Listener>, ends: &mut Ends) {
    let inside = proxy.begin_drain();
    tokio::select! {
        () = listener.drain() => {}
        () = ends.told() => {}
    }
    proxy.drained(inside);
    listener.door.registry.close_all();
}

/// The proxy of these settings with this policy, and the seats of its policies.
fn build(settings: Arc<Settings>, chosen: &Resolved, clock: ServiceClock) -> Result<(Arc<Proxy>, Seating), ProxyError> {
    let spec = &settings.spec;
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
    let observers = Observers::new(clock, log);
    Ok((Proxy::new(clock, gates, observers, Intake::new(classification), settings, room), seating))
}
