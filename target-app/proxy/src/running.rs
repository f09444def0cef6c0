//! A running proxy, as the control port reads and changes it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, atomic::Ordering},
};

use controllers::{PeerReport, Seen, catalogue::PolicySpec};
use installed::catalogue;
use live_service::{
    clock::ServiceClock,
    control::{ConfigForm, Controlled},
    reports::Reports,
    stage::lock,
};
use serde_json::Value;
use service_core::{
    events::Events,
    policies::{Resolved, Seating},
};
use spec::{
    WorkSpec,
    proxy::{LogLevel, ProxySpec},
    waiting_room::WaitingRoomSpec,
    wire::{Gauges, Halted, InjectFault, Policies, ReadRequests, SetCallees, SetMachines, SetPolicy, StageGauges},
};
use tokio::sync::Notify;

use super::{
    checks, file,
    listener::Listener,
    state::{Proxy, Settings},
};

/// A running proxy.
#[derive(Debug)]
pub(super) struct RunningProxy {
    pub(super) proxy: Arc<Proxy>,
    listener: Arc<Listener>,
    seating: Seating,
    runtime: tokio::runtime::Handle,
    /// Held while settings or policy change.
    changes: Mutex<()>,
    stop: Notify,
}

impl RunningProxy {
    /// Needs a runtime.
    pub(super) fn new(proxy: Arc<Proxy>, listener: Arc<Listener>, seating: Seating) -> Arc<Self> {
        let runtime = tokio::runtime::Handle::current();
        Arc::new(Self { proxy, listener, seating, runtime, changes: Mutex::default(), stop: Notify::new() })
    }

    /// Waits for the order to stop.
    pub(super) async fn stopped(&self) {
        self.stop.notified().await;
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
                ("failures", backend.counts.failures.load(Ordering::Relaxed)),
                ("connections", backend.open().into()),
                ("ejected", u64::from(backend.is_ejected(self.proxy.clock))),
            ]
            .map(|(name, count)| (name.to_owned(), count))
            .into();
            StageGauges {
                name: format!("backend {}", number + 1),
                idle: u32::try_from(backend.idle()).unwrap_or(u32::MAX),
                completed: backend.counts.requests.load(Ordering::Relaxed),
                counts,
                ..StageGauges::default()
            }
        };
        settings.backends.iter().enumerate().map(row).collect()
    }
}

impl RunningProxy {
    /// Puts other settings in force: all that were changed, or none if anything is wrong.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub(super) fn put(
        &self,
        settings: impl FnOnce(&ProxySpec) -> Result<ProxySpec, Vec<String>>,
    ) -> Result<(), Vec<String>> {
        let _one_at_a_time = lock(&self.changes);
        let before = self.proxy.settings();
        let ProxySpec { die_with, experiment, .. } = before.spec;
        let spec = ProxySpec { die_with, experiment, ..settings(&before.spec)? };
        let mut found = fixed(&before.spec, &spec);
        let policy = (spec.policy != before.spec.policy).then(|| spec.policy.clone());
        if spec.dry_run && policy.is_none() && self.proxy.accept.is_watched() {
            found.push(checks::DRY_AT_ACCEPT.to_owned());
        }
        let on_the_runtime = self.runtime.enter();
        let settings = Settings::new(spec, self.proxy.clock, Some(&before));
        drop(on_the_runtime);
        let settings = match settings {
            Ok(settings) if found.is_empty() => settings,
            Ok(_) => return Err(found),
            Err(mut others) => {
                others.retain(|other| !found.contains(other));
                return Err([found, others].concat());
            }
        };
        if let Some(policy) = &policy {
            self.seat(policy, settings.spec.limits.backlog)?;
        }
        let capacity = settings.spec.waiting_room.as_ref().and_then(|room| room.capacity);
        if let (Some(room), Some(capacity)) = (&self.proxy.room, capacity) {
            room.give(capacity);
        }
        self.proxy.room.iter().for_each(|room| room.read_page_again());
        self.proxy.set(Arc::clone(&settings));
        self.proxy.changed("config", &settings.spec);
        Ok(())
    }

    /// Seats a policy at its usual place. `backlog`: the length of the kernel's queue, unless the policy says one.
    fn seat(&self, policy: &PolicySpec, usual: u32) -> Result<(), Vec<String>> {
        let chosen = resolved(policy)?;
        let graph = self.seating.graph();
        let _on_the_runtime = self.runtime.enter();
        for (site, gate) in [(graph.dispatch(), &self.proxy.admission.gate), (graph.accept(), &self.proxy.accept)] {
            gate.replace(self.seating.policy(&chosen, site));
        }
        self.listener.acceptor.set_backlog(chosen.backlog(usual)).map_err(|error| vec![error.to_string()])
    }
}

fn resolved(policy: &PolicySpec) -> Result<Resolved, Vec<String>> {
    Resolved::at_proxy(policy).map_err(|unfit| vec![unfit.to_string()])
}

impl Controlled for RunningProxy {
    fn clock(&self) -> ServiceClock {
        self.proxy.clock
    }

    fn is_in_experiment(&self) -> bool {
        self.proxy.settings().spec.experiment
    }

    fn gauges(&self) -> Gauges {
        let Proxy { ledgers, intake, .. } = &*self.proxy;
        let room = self.proxy.room.iter().map(|room| room.gauges());
        let within = room.chain([self.gate()]).chain(self.backends());
        let gauges = self.listener.acceptor.gauges((ledgers, intake), within, [self.proxy.accept.gauges()]);
        let policy = self.proxy.settings().spec.policy.name.clone();
        Gauges { policy, events_dropped: self.events().dropped(), ..gauges }
    }

    fn requests(&self) -> ReadRequests {
        self.proxy.ledgers.users.requests()
    }

    fn policies(&self) -> Policies {
        let gates = [&self.proxy.admission.gate, &self.proxy.accept].map(|gate| gate.gauges());
        let sites = gates.map(|gauges| (gauges.name, gauges.policy_name)).into();
        Policies {
            sites,
            machines: BTreeMap::new(),
            names: catalogue().names().into_iter().map(str::to_owned).collect(),
        }
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
        let _one_at_a_time = lock(&self.changes);
        let before = self.proxy.settings();
        let after = before.with_policy(&change.policy);
        let found = checks::of_policy(&after.spec);
        if !found.is_empty() {
            return Err(found);
        }
        match only {
            None => {
                self.seat(&change.policy, before.spec.limits.backlog)?;
                self.proxy.set(after);
            }
            Some(stage) => {
                let chosen = resolved(&change.policy)?;
                let _on_the_runtime = self.runtime.enter();
                let (site, gate) = if graph.site_name(sites[0].0) == stage { sites[0] } else { sites[1] };
                gate.replace(self.seating.forced(&chosen, site));
            }
        }
        self.proxy.changed("policy", &change.policy);
        Ok(())
    }

    fn set_machines(&self, _: &SetMachines) -> Result<(), Vec<String>> {
        Err(vec!["a proxy has no stages whose pools and batches machines could change".to_owned()])
    }

    fn config(&self, form: ConfigForm) -> Result<String, Vec<String>> {
        file::shown(&self.proxy.settings().spec, form).map_err(|error| vec![error])
    }

    fn configure(&self, settings: &Value) -> Result<(), Vec<String>> {
        self.put(|_| file::of(settings)).map_err(|mut problems| {
            if problems.iter().any(|problem| problem.contains(FIXED)) {
                problems.push(PUT_REPLACES.to_owned());
            }
            problems
        })
    }

    fn amend(&self, part: &Value) -> Result<(), Vec<String>> {
        self.put(|now| file::amended(now, part))
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
        let _ = self.proxy.begin_drain();
    }

    fn stop(&self) {
        self.stop.notify_one(); // kept for who waits later
    }
}

/// The keys that would change and cannot while the proxy runs, each with the way out.
fn fixed(old: &ProxySpec, new: &ProxySpec) -> Vec<String> {
    let started_with = "is fixed while the proxy runs: start it anew";
    let keys = [
        ("listen", old.listen != new.listen, started_with),
        ("control", old.control != new.control, started_with),
        ("objective", old.objective != new.objective, started_with),
        ("concurrency", old.concurrency != new.concurrency, started_with),
        ("class", old.class != new.class, started_with),
        ("criticality", old.criticality != new.criticality, started_with),
        ("waiting_room", !same_room(old.waiting_room.as_ref(), new.waiting_room.as_ref()), BUT_CAPACITY),
        ("tls", old.tls.is_some() != new.tls.is_some(), started_with),
        ("otlp", old.otlp != new.otlp, started_with),
        ("metrics", old.metrics != new.metrics, started_with),
        ("log", (old.log == LogLevel::Off) != (new.log == LogLevel::Off), started_with),
        ("seed", old.seed != new.seed, started_with),
        ("cpus", old.cpus != new.cpus, started_with),
        ("limits.connections", old.limits.connections != new.limits.connections, started_with),
        ("limits.slow_clients", old.limits.slow_clients != new.limits.slow_clients, started_with),
        ("limits.backlog", old.limits.backlog != new.limits.backlog, started_with),
    ];
    keys.into_iter().filter(|(_, differs, _)| *differs).map(|(key, _, why)| format!("{key}: {why}")).collect()
}

/// The message about every key that cannot change.
const FIXED: &str = "is fixed while the proxy runs";

const PUT_REPLACES: &str = "PUT /config replaces all settings, and a key that it leaves out has its default: PATCH /config changes only the keys that it names, and GET /config shows what is in force";

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
