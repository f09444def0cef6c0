//! The running policy of a layer: its gauges, shadow mode, and its replacement.

use std::{
    cell::Cell,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use controllers::{
    PeerReport, Seat, Seen, SiteId, seed_for,
    site::{ClientScope, Clients, Gate, InstalledPolicy, PolicySite},
};

use crate::{
    AdmissionGauges, BuildError, PolicyChoice, ReplaceError, RequestTags,
    admitted::{AdmittedRequest, Host},
    machine::{Machine, Successor},
    plan::{Checked, Side, SitePlan},
    site::{Entry, LiveGate},
};

/// The running policy of a layer: shows its gauges, switches shadow mode, replaces the policy. Clones control the same
/// policy.
#[derive(Debug, Clone)]
pub struct Admission(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    plan: SitePlan,
    /// The side of the policy: a server's layer takes a client's policy too.
    side: Side,
    policy: Mutex<&'static str>,
    gates: Box<[Arc<LiveGate>]>,
    shadow: AtomicBool,
    #[cfg(feature = "metrics")]
    published: AtomicBool,
}

impl Admission {
    pub(crate) fn new(plan: SitePlan, checked: &Checked) -> Result<Self, BuildError> {
        let gates = (0..plan.shards).map(|shard| plan.gate(checked, shard)).collect::<Result<_, _>>()?;
        let shadow = AtomicBool::new(plan.shadow);
        Ok(Self(Arc::new(Shared {
            policy: Mutex::new(checked.entry.name),
            side: checked.side,
            plan,
            gates,
            shadow,
            #[cfg(feature = "metrics")]
            published: AtomicBool::new(false),
        })))
    }

    /// Counts since the layer began, and the policy's gauges as they are now. With shards: sums of the counts, and means of
    /// the policy's gauges.
    #[must_use]
    pub fn gauges(&self) -> AdmissionGauges {
        let mut all = AdmissionGauges { policy: self.policy().to_owned(), ..AdmissionGauges::default() };
        for gate in &self.0.gates {
            let one = gate.peek(of_machine);
            all.offered += one.offered;
            all.admitted += one.admitted;
            all.refused += one.refused;
            all.would_refuse += gate.passed();
            all.left += one.left;
            all.in_flight += one.in_flight;
            all.held += one.held;
            all.contradictions += one.contradictions;
            for (name, value) in one.gauges {
                *all.gauges.entry(name).or_default() += value / self.0.gates.len() as f64;
            }
        }
        all
    }

    /// The name of the policy.
    #[must_use]
    pub fn policy(&self) -> &'static str {
        *self.0.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of the layer.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.plan.name
    }

    /// True in shadow mode: the policy decides and is told everything, and nothing is refused.
    #[must_use]
    pub fn is_shadow(&self) -> bool {
        self.0.shadow.load(Ordering::Relaxed)
    }

    /// Switches shadow mode on or off, for requests that come from then on.
    pub fn set_shadow(&self, shadow: bool) {
        self.0.shadow.store(shadow, Ordering::Relaxed);
    }

    /// Replaces the policy. Requests that run stay admitted; held ones are offered to the new policy, in the order in which
    /// they came. The new policy is not told the ends of requests that the old one admitted.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use tower_admission::{AdmissionLayer, ReplaceError, policies};
    ///
    /// let admission = AdmissionLayer::client("throttle").admission().expect("a policy for clients");
    /// admission.replace(policies::SreClient::default()).expect("another policy for clients");
    /// assert_eq!(admission.policy(), "sre-client");
    /// assert!(matches!(admission.replace("codel"), Err(ReplaceError::Build(_))));
    /// # }
    /// ```
    ///
    /// # Errors
    /// What [`crate::AdmissionLayer::build`] would say of that policy; a client's policy in the place of a server's, or
    /// the other way round. The policy that runs stays.
    pub fn replace(&self, policy: impl Into<PolicyChoice>) -> Result<(), ReplaceError> {
        let Shared { plan, side, gates, .. } = &*self.0;
        let checked = plan.check(&policy.into())?;
        let at_client = |side: Side| side == Side::Client;
        if at_client(checked.side) != at_client(*side) {
            return Err(ReplaceError::other_side(checked.entry.name, checked.side.place(), side.place()));
        }
        let mut name = self.0.policy.lock().unwrap_or_else(PoisonError::into_inner);
        let successors =
            (0..plan.shards).map(|shard| plan.successor(&checked, shard)).collect::<Result<Vec<_>, _>>()?;
        gates.iter().zip(successors).for_each(|(gate, successor)| gate.replace(successor));
        *name = checked.entry.name;
        Ok(())
    }

    /// Gives the policy the report of another site, such as a customer's new limit. A report that the policy has no use for,
    /// and any report to a client's policy, has no effect.
    pub fn tell(&self, report: PeerReport) {
        self.0.gates.iter().for_each(|gate| gate.hear(&Seen::Peer(report)));
    }

    pub(crate) fn enter(&self, request: RequestTags) -> Entry {
        #[cfg(feature = "metrics")]
        if !self.0.published.load(Ordering::Relaxed) && !self.0.published.swap(true, Ordering::Relaxed) {
            let shared = Arc::downgrade(&self.0);
            let publish = move || shared.upgrade().map(|shared| Self(shared).publish());
            self.0.published.store(crate::metrics::start(publish), Ordering::Relaxed);
        }
        let gates = &self.0.gates;
        let gate = if gates.len() == 1 { &gates[0] } else { &gates[of_this_thread() % gates.len()] };
        let shadow = self.is_shadow();
        match gate.enter(request, shadow) {
            Entry::Refused(_) if shadow => {
                gate.pass();
                Entry::Go(AdmittedRequest::unwatched())
            }
            Entry::Held(held) if shadow => Entry::Go(AdmittedRequest::shadow(held)),
            Entry::Go(admitted) if shadow => Entry::Go(admitted.unnoted()),
            entry => entry,
        }
    }
}

#[cfg(feature = "metrics")]
impl Admission {
    /// Publishes counters and gauges now. It happens once a second by itself; before a scrape it makes them fresh.
    ///
    /// All have the labels `layer` and `policy`: `admission_offered_total`, `admission_admitted_total`,
    /// `admission_refused_total`,
    /// `admission_would_refuse_total` (shadow mode), `admission_left_total`, `admission_in_flight`, `admission_held`,
    /// `admission_shadow` (0 or 1), and
    /// `admission_policy`, the policy's own gauges, each with its name as the label `gauge`.
    pub fn publish(&self) {
        crate::metrics::publish(self.name(), self.is_shadow(), self.gauges());
    }
}

fn of_machine<J>(machine: &Machine<J>, ended: u64) -> AdmissionGauges {
    match machine {
        Machine::Server(gate) => {
            let seen = gate.gauges();
            let held = u64::from(seen.queue);
            AdmissionGauges {
                offered: seen.offered,
                admitted: seen.admitted,
                refused: seen.refused,
                left: seen.offered - seen.admitted - seen.refused - held,
                in_flight: seen.admitted.saturating_sub(seen.completed),
                held,
                contradictions: seen.counts.values().sum(),
                gauges: seen.policy,
                ..AdmissionGauges::default()
            }
        }
        Machine::Client(clients, _) => {
            let seen = clients.gauges();
            AdmissionGauges {
                offered: seen.offered,
                admitted: seen.let_go,
                refused: seen.refused,
                left: seen.offered - seen.let_go - seen.refused - seen.held,
                in_flight: seen.let_go.saturating_sub(ended),
                held: seen.held,
                contradictions: seen.contradictions,
                gauges: seen.policy,
                ..AdmissionGauges::default()
            }
        }
    }
}

/// The number of this thread, in the order in which threads first asked: consecutive numbers spread threads evenly over
/// shards.
fn of_this_thread() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: Cell<usize> = Cell::new(THREADS.fetch_add(1, Ordering::Relaxed));
    }
    NUMBER.get()
}

impl SitePlan {
    fn gate(&self, checked: &Checked, shard: u32) -> Result<Arc<LiveGate>, BuildError> {
        let machine = match checked.side {
            Side::Server(_) => {
                let policy = self.policy(checked, shard)?;
                let site = self.site(checked, shard);
                let seat = Seat::new(site.id, policy, seed_for(self.seed, &site.name), Box::new(()));
                let capacity = self.capacity.map_or(u32::MAX, |capacity| capacity.div_ceil(self.shards));
                Machine::Server(Box::new(Gate::new(
                    &site.name,
                    PolicySite::new(seat, checked.entry, Vec::new()),
                    capacity,
                )))
            }
            Side::Client => {
                let factory = checked.factory.clone();
                let mut clients =
                    Clients::new(checked.entry, factory, ClientScope::All, self.told_objective(), self.seed);
                let member = clients.join(0);
                Machine::Client(Box::new(clients), member)
            }
        };
        Ok(LiveGate::new(machine, self))
    }

    fn successor(&self, checked: &Checked, shard: u32) -> Result<Successor, BuildError> {
        Ok(match checked.side {
            Side::Server(_) => {
                Successor::Server(InstalledPolicy { entry: checked.entry, policy: self.policy(checked, shard)? })
            }
            Side::Client => Successor::Client(checked.entry, checked.factory.clone()),
        })
    }

    fn policy(&self, checked: &Checked, shard: u32) -> Result<Box<dyn controllers::Policy>, BuildError> {
        let no_policy =
            || BuildError::one(checked.entry.name, "it decides about no request: it sizes pools, or signals");
        checked.factory.policy(&self.site(checked, shard)).ok_or_else(no_policy)
    }

    fn site(&self, checked: &Checked, shard: u32) -> controllers::Site {
        let name = if shard == 0 { self.name.clone() } else { format!("{} {shard}", self.name) };
        let id = SiteId(u16::try_from(shard).map_or(u16::MAX, |shard| self.site.0.saturating_add(shard)));
        controllers::Site { id, name, place: checked.side.place(), objective: self.told_objective() }
    }
}
