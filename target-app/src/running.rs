//! A service that runs: what the control port reads and changes.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use controllers::{Catalogue, PeerReport, Seen, SiteId, catalogue::Setting};
use tokio::sync::Notify;

use crate::{
    app::App,
    calls::Callers,
    control::{
        Policies,
        events::Events,
        reports::Reports,
        wire::{CallBooks, Gauges, Hinder, ReadRequests, ServerLedger, SetPolicy, StageGauges},
    },
    edge::Edge,
    monitor::Monitors,
    policies::{Resolved, Seating},
    signals,
    spec::WorkSpec,
};

/// A running service.
#[derive(Debug)]
pub struct Running {
    pub(crate) app: Arc<App>,
    pub(crate) edge: Arc<Edge>,
    pub(crate) seating: Seating,
    pub(crate) monitors: Arc<Monitors>,
    pub(crate) events: Events,
    reports: Option<Reports>,
    pub(crate) runtime: tokio::runtime::Handle,
    policy: Mutex<String>,
    stopping: AtomicBool,
    stop: Notify,
    backlog: u32,
}

/// Parts of a [`Running`].
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) app: Arc<App>,
    pub(crate) edge: Arc<Edge>,
    pub(crate) seating: Seating,
    pub(crate) monitors: Arc<Monitors>,
    pub(crate) events: Events,
    pub(crate) reports: Option<Reports>,
    pub(crate) policy: String,
    pub(crate) backlog: u32,
}

impl Running {
    /// Puts the parts together. Needs a runtime.
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let Parts { app, edge, seating, monitors, events, reports, policy, backlog } = parts;
        Arc::new(Self {
            app,
            edge,
            seating,
            monitors,
            events,
            reports,
            runtime: tokio::runtime::Handle::current(),
            policy: Mutex::new(policy),
            stopping: AtomicBool::new(false),
            stop: Notify::new(),
            backlog,
        })
    }

    /// The event stream.
    #[must_use]
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Where its reports go, if anybody carries them.
    #[must_use]
    pub fn reports(&self) -> Option<&Reports> {
        self.reports.as_ref()
    }

    /// A report has come for one of its sites.
    pub fn hear(&self, report: PeerReport) {
        let PeerReport::Quota { to, .. } = report else { return };
        let (graph, seen) = (&self.app.graph, Seen::Peer(report));
        if to == graph.dispatch() {
            self.app.dispatch.hear(&seen);
        } else if to == graph.accept() {
            self.app.accept.hear(&seen);
        } else if let Some(stage) = self.app.stages.iter().find(|stage| Some(to) == graph.site(stage.name())) {
            stage.hear(&seen);
        }
    }

    /// Everything that can be read now.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        let (ledger, calls) = (self.app.ledger.read(), self.app.calls_ledger.read());
        let sent = |books: &ServerLedger| books.served + books.errors + books.refused.values().sum::<u64>();
        let attempts = self.app.attempts().into_iter().enumerate();
        let mut stages = vec![
            StageGauges {
                name: "read".to_owned(),
                queue: count(self.edge.reading()),
                completed: ledger.requests_read + calls.requests_read,
                counts: attempts
                    .map(|(attempt, count)| (format!("attempt_{attempt}"), count))
                    .chain([("checks".to_owned(), ledger.checks)])
                    .collect(),
                ..StageGauges::default()
            },
            StageGauges {
                queue: self.app.dispatchers.waiting(),
                idle: self.app.dispatchers.idle(),
                ..self.app.dispatch.gauges()
            },
        ];
        stages.extend(self.app.stages.iter().map(|stage| stage.gauges()));
        stages.push(StageGauges {
            name: "send".to_owned(),
            queue: count(self.edge.writing()),
            completed: sent(&ledger) + sent(&calls),
            counts: [("degraded".to_owned(), ledger.degraded)].into(),
            ..StageGauges::default()
        });
        stages.push(self.app.accept.gauges());
        stages.push(self.monitors.gauges());
        Gauges {
            at_ms: self.app.clock.now().as_secs_f64() * 1e3,
            policy: self.policy.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            ledger,
            stages,
            cpu_s: signals::cpu_time().as_secs_f64(),
            rss_bytes: signals::resident_bytes(),
            open_files: signals::open_files(),
            panics: self.app.stages.iter().map(|stage| stage.panics()).sum(),
            events_dropped: self.events.dropped(),
            calls: CallBooks { read: calls, made: self.app.callers.as_ref().map(Callers::counts).unwrap_or_default() },
        }
    }

    /// Which requests were read, by number.
    #[must_use]
    pub fn requests(&self) -> ReadRequests {
        self.app.ledger.requests()
    }

    /// Which policy sits where, and which there are.
    #[must_use]
    pub fn policies(&self) -> Policies {
        let mut sites = BTreeMap::new();
        let mut note = |gauges: StageGauges| sites.insert(gauges.name, gauges.policy_name);
        note(self.app.accept.gauges());
        note(self.app.dispatch.gauges());
        for stage in &self.app.stages {
            note(stage.gauges());
        }
        Policies { sites, names: Catalogue::names().into_iter().map(str::to_owned).collect() }
    }

    /// Switches the policy, at one site or wherever it sits. Requests go on meanwhile: what was admitted stays admitted,
    /// what is held is offered to the new policy.
    ///
    /// # Errors
    /// Everything that is wrong with the name, the settings or the site; then nothing has changed.
    pub fn set_policy(self: &Arc<Self>, change: &SetPolicy) -> Result<(), Vec<String>> {
        let resolve = if self.reports.is_some() { Resolved::new } else { Resolved::live };
        let chosen = resolve(&change.policy).map_err(|unfit| {
            unfit.problems.iter().map(|problem| format!("{}: {problem}", unfit.name)).collect::<Vec<_>>()
        })?;
        if !chosen.entry.is_policy() {
            return Err(vec![format!(
                "{}: decides about no requests: it is no policy but a machine",
                change.policy.name
            )]);
        }
        let graph = &self.app.graph;
        let only = match &change.stage {
            None => {
                let misplaced = chosen.misplaced(graph);
                if !misplaced.is_empty() {
                    return Err(misplaced.iter().map(|bad| format!("{}: {bad}", change.policy.name)).collect());
                }
                None
            }
            Some(name) => Some(self.seat_named(name).ok_or_else(|| {
                let known: Vec<_> = self.seats().map(|site| graph.site_name(site)).collect();
                vec![format!("stage: no policy can sit at {name:?}; it can at: {}", known.join(", "))]
            })?),
        };
        if only == Some(graph.dispatch())
            && let Some(wide) = chosen.before_several(graph)
        {
            return Err(vec![format!("{}: {wide}", change.policy.name)]);
        }
        let _on_the_runtime = self.runtime.enter(); // a new policy may hire workers
        for site in self.seats() {
            let policy = match only {
                Some(only) if only == site => self.seating.forced(&chosen, site),
                Some(_) => continue,
                None => self.seating.policy(&chosen, site),
            };
            if site == graph.accept() {
                self.app.accept.replace(policy);
            } else if site == graph.dispatch() {
                self.app.dispatch.replace(policy);
            } else if let Some(stage) = self.app.stages.iter().find(|stage| Some(site) == graph.site(stage.name())) {
                stage.replace(policy);
            }
        }
        if only.is_none() {
            change.policy.name.clone_into(&mut self.policy.lock().unwrap_or_else(PoisonError::into_inner));
            self.edge.set_backlog(backlog(&chosen, self.backlog)).map_err(|error| vec![error.to_string()])?;
        }
        Ok(())
    }

    /// The policies before this service's own calls begin anew.
    pub fn renew_callers(&self) {
        self.app.callers.iter().for_each(Callers::renew);
    }

    /// Turns the work knob.
    ///
    /// # Errors
    /// The service has none, or the values make no sense.
    pub fn set_work(&self, work: &WorkSpec) -> Result<(), Vec<String>> {
        self.app.service.set_work(work).map_err(|error| vec![error.to_string()])
    }

    /// Puts something in the way of its requests for a while.
    ///
    /// # Errors
    /// A value out of its range; then nothing has changed.
    pub fn hinder(&self, hinder: &Hinder) -> Result<(), Vec<String>> {
        self.app.hindrance.put(hinder)
    }

    /// Refuses new requests from now on; what was admitted is finished.
    pub fn drain(&self) {
        self.app.draining.store(true, Ordering::Relaxed);
    }

    /// Stops the service, in order.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.stop.notify_waiters();
    }

    /// Waits for [`Running::stop`].
    pub(crate) async fn stopped(&self) {
        let told = self.stop.notified();
        if !self.stopping.load(Ordering::Acquire) {
            told.await;
        }
    }

    fn seats(&self) -> impl Iterator<Item = SiteId> + '_ {
        let graph = &self.app.graph;
        [graph.accept(), graph.dispatch()].into_iter().chain(graph.branches().map(|(site, _)| site))
    }

    fn seat_named(&self, name: &str) -> Option<SiteId> {
        self.seats().find(|&site| self.app.graph.site_name(site) == name)
    }
}

/// The listen queue: the policy's wish if it has one, else what the edge was told.
pub(crate) fn backlog(chosen: &Resolved, otherwise: u32) -> u32 {
    chosen.factory.setting("backlog").and_then(Setting::number).map_or(otherwise, |backlog| backlog as u32)
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
