//! Runs a proxy from its spec as a process, and ends it in order.

use std::sync::Arc;

use live_service::{
    clock::ServiceClock,
    serve::{
        Addresses, ControlPort, LISTENING, METRICS, RUNTIME, SIGNALS, ServeError, Sockets, TerminationSignals, run,
        system,
    },
    signals::ThisProcess,
    stage::{AdmissionGate, keep_time, spawn},
};
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
    reach::{self, Unreachable},
    reload::{Reloads, Reread},
    running::RunningProxy,
    state::{Proxy, Settings},
    waiting_room::{self, Room},
};

/// Serves until SIGTERM, SIGHUP or SIGINT, or an order on the control port. With `reread` SIGHUP reads the settings again.
/// Calls `on_ready` once requests are accepted. Pins the calling process to the processors of the spec.
///
/// # Errors
/// The error that kept it from serving. Once it serves, it ends without an error.
pub fn proxy_blocking(spec: ProxySpec, reread: Option<Reread>, on_ready: impl FnOnce(Ready)) -> Result<(), ProxyError> {
    run(spec.die_with, &spec.cpus.clone(), serve(spec, reread, on_ready))
}

/// Checks settings, and starts nothing. Returns what may be wrong although the proxy would start.
///
/// # Errors
/// All that is wrong.
pub fn check(spec: &ProxySpec) -> Result<Vec<String>, ProxyError> {
    // Of one thread: what the settings would start in the background does not come to run.
    let runtime = Builder::new_current_thread().enable_all().build().map_err(system(RUNTIME))?;
    let checked = runtime.block_on(async {
        Settings::new(spec.clone(), ServiceClock::start(), None).map_err(ProxyError::Settings)?;
        let unreachable = reach::unreachable(spec).await;
        Ok(cautions(spec).into_iter().chain(unreachable.iter().map(Unreachable::warning)).collect())
    });
    runtime.shutdown_background(); // a name that is still looked for
    checked
}

async fn serve(spec: ProxySpec, reread: Option<Reread>, on_ready: impl FnOnce(Ready)) -> Result<(), ProxyError> {
    let mut ends = if reread.is_some() { TerminationSignals::but_hang_up()? } else { TerminationSignals::listen()? };
    let reloads = reread.map(Reloads::listen).transpose().map_err(system(SIGNALS))?;
    let clock = ServiceClock::start();
    let settings = Settings::new(spec, clock, None).map_err(ProxyError::Settings)?;
    let spec = &settings.spec;
    let chosen = Resolved::at_proxy(&spec.policy).map_err(ServeError::from)?;
    let backlog = chosen.backlog(spec.limits.backlog);
    let mut sockets = Sockets::open(&Addresses {
        listen: spec.listen,
        backlog,
        control: spec.control,
        token: spec.control_token.clone(),
        metrics: spec.metrics,
        program: "this proxy",
    })?;
    if spec.tls.is_some() {
        sockets.ready.url = sockets.ready.url.replacen("http", "https", 1);
    }
    let (proxy, seating) = build(Arc::clone(&settings), &chosen, clock)?;
    let listener = Listener::new(Arc::clone(&proxy), sockets.listener, backlog).map_err(system(LISTENING))?;
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
    if let Some(socket) = sockets.metrics.take() {
        metrics::serve(socket, &running).map_err(system(METRICS))?;
    }
    #[cfg(feature = "otel")]
    let export = spec.otlp.as_ref().map(|otlp| super::otlp::export(&running, otlp)).transpose()?;
    let port = ControlPort::open(sockets.controls, Arc::<RunningProxy>::clone(&running), sockets.token)?;
    let accepting = tokio::spawn(Arc::clone(&listener).accept());
    let deadlines = tokio::spawn(Arc::clone(&listener).keep_deadlines());
    sockets.ready.warnings = warnings(&proxy).await;
    on_ready(sockets.ready);
    let reloading = reloads.map(|reloads| tokio::spawn(reloads.carry_out(Arc::clone(&running))));
    tokio::select! {
        () = running.stopped() => {}
        () = ends.told() => {}
    }
    [Some(accepting), reloading].iter().flatten().for_each(JoinHandle::abort);
    end(&proxy, &listener, &mut ends).await;
    deadlines.abort();
    #[cfg(feature = "otel")]
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
async fn end(proxy: &Proxy, listener: &Arc<Listener>, ends: &mut TerminationSignals) {
    let inside = proxy.begin_drain();
    tokio::select! {
        () = listener.drain() => {}
        () = ends.told() => {}
    }
    proxy.drained(inside);
    listener.acceptor.registry.close_all();
}

/// The proxy of these settings with this policy, and the seats of its policies.
fn build(settings: Arc<Settings>, chosen: &Resolved, clock: ServiceClock) -> Result<(Arc<Proxy>, Seating), ProxyError> {
    let spec = &settings.spec;
    let classification = Classification::by(&spec.class, spec.criticality.clone()).map_err(ServeError::Class)?;
    let graph = Arc::new(Graph::proxy(&["request"]));
    let seating = Seating::new(Arc::clone(&graph), spec.told_objective(), spec.seed, Events::default());
    let gate = |site, capacity| {
        let policy = seating.policy_site(chosen, &[], site);
        AdmissionGate::new(graph.site_name(site), policy, capacity, Arc::new(ThisProcess::default()), None, clock)
    };
    let capacity = spec.concurrency.saturating_mul(u32::try_from(spec.to.len()).unwrap_or(u32::MAX));
    let gates = (Admission::new(gate(graph.dispatch(), capacity)), gate(graph.accept(), 0));
    let log = (spec.log != LogLevel::Off).then(Log::start).transpose();
    let log = log.map_err(system("cannot start the thread of the log"))?;
    let room = spec.waiting_room.as_ref().map(|room| Room::new(room, clock, spec.seed)).transpose()?;
    let observers = Observers::new(clock, log);
    Ok((Proxy::new(clock, gates, observers, Intake::new(classification), settings, room), seating))
}
