//! A running proxy, as the control port reads and changes it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use controllers::{PeerReport, Place, Seen};
use installed::catalogue;
use tokio::sync::Notify;

use super::{
    listener::Listener,
    spec::{LogLevel, ProxySpec},
    state::{Proxy, Settings},
};
use crate::{
    clock::ServiceClock,
    control::{
        Controlled,
        events::Events,
        reports::Reports,
        wire::{CallBooks, Gauges, Halted, InjectFault, Policies, ReadRequests, SetCallees, SetPolicy, StageGauges},
    },
    ledger::Ledgers,
    policies::{Resolved, Seating},
    running::backlog,
    signals,
    spec::WorkSpec,
    stage::lock,
    waiting_room::WaitingRoomSpec,
};

/// A policy at accept has no dry run: it decides whether the next connection is taken from the kernel's queue at all.
pub(super) const DRY_AT_ACCEPT: &str = "a policy at accept decides about connections, of which none can be let pass on trial: leave dry_run off, or use a policy that decides about requests";

/// What a waiting room promises, it has to keep: there is no trial of it.
pub(super) const DRY_WAITING_ROOM: &str =
    "a waiting room promises turns, which it cannot do on trial: leave dry_run off, or waiting_room";

/// A running proxy.
#[derive(Debug)]
pub(super) struct RunningProxy {
    pub(super) proxy: Arc<Proxy>,
    listener: Arc<Listener>,
    seating: Seating,
    runtime: tokio::runtime::Handle,
    /// The name of the policy.
    policy: Mutex<String>,
    stopping: AtomicBool,
    stop: Notify,
}

impl RunningProxy {
    /// Needs a runtime.
    pub(super) fn new(proxy: Arc<Proxy>, listener: Arc<Listener>, seating: Seating) -> Arc<Self> {
        let policy = Mutex::new(proxy.settings().spec.policy.name.clone());
        let runtime = tokio::runtime::Handle::current();
        Arc::new(Self {
            proxy,
            listener,
            seating,
            runtime,
            policy,
            stopping: AtomicBool::new(false),
            stop: Notify::new(),
        })
    }

    /// Waits for the order to stop.
    pub(super) async fn stopped(&self) {
        let told = self.stop.notified();
        if !self.stopping.load(Ordering::Acquire) {
            told.await;
        }
    }

    /// The gauges of the gate, with what a dry run would have done and the requests that are held.
    fn gate(&self) -> StageGauges {
        let admission = &self.proxy.admission;
        let mut gauges = admission.gate.gauges();
        gauges.counts.insert("held".to_owned(), admission.held().into());
        let settings = self.proxy.settings();
        if settings.spec.dry_run {
            gauges.counts.extend(admission.dry.rows());
        }
        if settings.retries.is_some() {
            let rows = self.proxy.retry_counts.rows();
            gauges.counts.extend(rows.map(|(end, count)| (format!("retries_{end}"), count)));
        }
        gauges
    }

    /// A row for each backend.
    fn backends(&self) -> Vec<StageGauges> {
        let settings = self.proxy.settings();
        let row = |(number, backend): (usize, &Arc<super::backend::Backend>)| {
            let counts: BTreeMap<String, u64> = [
                ("failures", backend.failures.load(Ordering::Relaxed)),
                ("connections", backend.open().into()),
                ("ejected", u64::from(backend.is_ejected(self.proxy.clock))),
            ]
            .map(|(name, count)| (name.to_owned(), count))
            .into();
            StageGauges {
                name: format!("backend {}", number + 1),
                idle: u32::try_from(backend.idle()).unwrap_or(u32::MAX),
                completed: backend.requests.load(Ordering::Relaxed),
                counts,
                ..StageGauges::default()
            }
        };
        settings.backends.iter().enumerate().map(row).collect()
    }
}

impl Controlled for RunningProxy {
    fn clock(&self) -> ServiceClock {
        self.proxy.clock
    }

    fn gauges(&self) -> Gauges {
        let Proxy { ledgers, intake, clock, .. } = &*self.proxy;
        let books = ledgers.read();
        let [read, send] = Ledgers::rows(&books, intake);
        let [ledger, calls] = books;
        let read = StageGauges { queue: count(self.listener.reading()), ..read };
        let send = StageGauges { queue: count(self.listener.writing()), ..send };
        let accept = self.proxy.accept.gauges();
        let room = self.proxy.room.iter().map(|room| room.gauges());
        let stages =
            [read].into_iter().chain(room).chain([self.gate()]).chain(self.backends()).chain([send, accept]).collect();
        Gauges {
            at_ms: clock.now().as_secs_f64() * 1e3,
            policy: lock(&self.policy).clone(),
            ledger,
            stages,
            cpu_s: signals::cpu_time().as_secs_f64(),
            rss_bytes: signals::resident_bytes(),
            open_files: signals::open_files(),
            panics: 0,
            events_dropped: self.events().dropped(),
            calls: CallBooks { read: calls, made: Vec::new() },
        }
    }

    fn requests(&self) -> ReadRequests {
        self.proxy.ledgers.users.requests()
    }

    fn policies(&self) -> Policies {
        let gates = [&self.proxy.admission.gate, &self.proxy.accept].map(|gate| gate.gauges());
        let sites = gates.map(|gauges| (gauges.name, gauges.policy_name)).into();
        Policies { sites, names: catalogue().names().into_iter().map(str::to_owned).collect() }
    }

    fn events(&self) -> &Events {
        self.seating.events()
    }

    fn reports(&self) -> Option<&Reports> {
        None
    }

    fn halt(&self) -> Result<Halted, Vec<String>> {
        Err(vec!["a proxy does not stand still: end its process".to_owned()])
    }

    fn hear(&self, report: PeerReport) {
        if matches!(report, PeerReport::Quota { .. }) {
            self.proxy.admission.gate.hear(&Seen::Peer(report));
        }
    }

    fn set_policy(&self, change: &SetPolicy) -> Result<(), Vec<String>> {
        let graph = self.seating.graph();
        let sites = [(graph.dispatch(), &self.proxy.admission.gate), (graph.accept(), &self.proxy.accept)];
        let only = change.stage.as_deref();
        if let Some(stage) = only.filter(|stage| sites.iter().all(|(site, _)| graph.site_name(*site) != *stage)) {
            let known = sites.map(|(site, _)| graph.site_name(site)).join(", ");
            return Err(vec![format!("stage: no policy can sit at {stage:?}; it can at: {known}")]);
        }
        let chosen = Resolved::at_proxy(&change.policy).map_err(|unfit| {
            unfit.problems.iter().map(|problem| format!("{}: {problem}", unfit.name)).collect::<Vec<_>>()
        })?;
        if self.proxy.settings().spec.dry_run && chosen.place == Place::Accept {
            return Err(vec![format!("dry_run: {DRY_AT_ACCEPT}")]);
        }
        let _on_the_runtime = self.runtime.enter();
        for (site, gate) in sites {
            match only {
                Some(stage) if stage == graph.site_name(site) => gate.replace(self.seating.forced(&chosen, site)),
                Some(_) => {}
                None => gate.replace(self.seating.policy(&chosen, site)),
            }
        }
        if only.is_none() {
            change.policy.name.clone_into(&mut lock(&self.policy));
            let usual = self.proxy.settings().spec.limits.backlog;
            self.listener.set_backlog(backlog(&chosen, usual)).map_err(|error| vec![error.to_string()])?;
        }
        self.proxy.changed("policy", &change.policy);
        Ok(())
    }

    fn configure(&self, settings: &[u8]) -> Result<(), Vec<String>> {
        let spec: ProxySpec = serde_json::from_slice(settings).map_err(|error| vec![error.to_string()])?;
        let before = self.proxy.settings();
        let fixed = fixed(&before.spec, &spec);
        if !fixed.is_empty() {
            return Err(fixed);
        }
        if spec.dry_run && self.proxy.accept.is_watched() {
            return Err(vec![format!("dry_run: {DRY_AT_ACCEPT}")]);
        }
        if spec.dry_run && spec.waiting_room.is_some() {
            return Err(vec![format!("dry_run: {DRY_WAITING_ROOM}")]);
        }
        let _on_the_runtime = self.runtime.enter();
        let settings = Settings::new(spec, self.proxy.clock, &self.proxy.takers, Some(&before))
            .map_err(|error| vec![error.to_string()])?;
        let capacity = settings.spec.waiting_room.as_ref().and_then(|room| room.capacity);
        if let (Some(room), Some(capacity)) = (&self.proxy.room, capacity) {
            room.give(capacity);
        }
        self.proxy.set(Arc::clone(&settings));
        self.proxy.changed("config", &settings.spec);
        Ok(())
    }

    fn renew_callers(&self) {}

    fn set_callees(&self, _: &SetCallees) -> Result<(), Vec<String>> {
        Err(vec!["a proxy makes no calls: PUT /config changes the services behind it".to_owned()])
    }

    fn set_work(&self, _: &WorkSpec) -> Result<(), Vec<String>> {
        Err(vec!["a proxy does no work of its own".to_owned()])
    }

    fn hinder(&self, _: &InjectFault) -> Result<(), Vec<String>> {
        Err(vec!["a proxy has no capacity to take away: the service behind it has".to_owned()])
    }

    fn drain(&self) {
        self.proxy.begin_drain();
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.stop.notify_waiters();
    }
}

/// The keys that would change and cannot while the proxy runs, each with the way out.
fn fixed(old: &ProxySpec, new: &ProxySpec) -> Vec<String> {
    let started_with = "is fixed while the proxy runs: start it anew";
    let keys = [
        ("listen", old.listen != new.listen, started_with),
        ("control", old.control != new.control, started_with),
        ("policy", old.policy != new.policy, "is changed by PUT /policy"),
        ("objective", old.objective != new.objective, started_with),
        ("concurrency", old.concurrency != new.concurrency, started_with),
        ("class", old.class != new.class, started_with),
        ("criticality", old.criticality != new.criticality, started_with),
        ("waiting_room", !same_room(old.waiting_room.as_ref(), new.waiting_room.as_ref()), BUT_CAPACITY),
        ("tls", old.tls != new.tls, started_with),
        ("otlp", old.otlp != new.otlp, started_with),
        ("metrics", old.metrics != new.metrics, started_with),
        ("log", (old.log == LogLevel::Off) != (new.log == LogLevel::Off), started_with),
        ("seed", old.seed != new.seed, started_with),
        ("cpus", old.cpus != new.cpus, started_with),
        ("limits.connections", old.limits.connections != new.limits.connections, started_with),
        ("limits.backlog", old.limits.backlog != new.limits.backlog, started_with),
    ];
    keys.into_iter().filter(|(_, differs, _)| *differs).map(|(key, _, why)| format!("{key}: {why}")).collect()
}

const BUT_CAPACITY: &str = "is fixed while the proxy runs, but for a capacity that was given: start it anew";

/// True if two waiting rooms differ by a given capacity at most.
fn same_room(old: Option<&WaitingRoomSpec>, new: Option<&WaitingRoomSpec>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => {
            old.capacity.is_some() == new.capacity.is_some()
                && WaitingRoomSpec { capacity: old.capacity, ..new.clone() } == *old
        }
        (old, new) => old == new,
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
