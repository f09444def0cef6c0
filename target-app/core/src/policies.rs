//! Makes the policies of sites from a policy's name and settings.

use std::sync::Arc;

use controllers::{
    Entry, Objective, Place, Seat, Settings, Site, SiteId, Timestamp,
    catalogue::{Bound, Factory, PolicySpec, Problem, SampleKind, Sampling, Setting},
    seed_for,
    site::{InstalledPolicy, PolicySite, SiteMachine},
};
use installed::catalogue;
use spec::graph::{Graph, Node, Role};

use crate::events::Events;

/// A policy or machine that was checked against the catalogue.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// Its entry.
    pub entry: &'static Entry,
    /// The checked settings, and the constructor that uses them.
    pub factory: Factory,
    /// The place of its sites.
    pub place: Place,
}

/// The parameter of policies that can report usage.
const REPORTS: &str = "report_usage";

/// The parameter of policies that can ask sites upstream for less.
const SIGNALS: &str = "signal_upstream";

/// The problems of a choice of policies or machines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {}", without_name(.name, .problems))]
pub struct Unfit {
    /// The policy's name as it was written.
    pub name: String,
    /// All problems at once.
    pub problems: Vec<Problem>,
}

/// A name that is no machine, or a machine that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// Wrong name or settings.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// It decides on arrivals.
    #[error("{0} is a policy: name it as the policy, not under machines")]
    NotAMachine(String),
    /// A platform that cannot be.
    #[error("platform: {0}")]
    Platform(String),
}

/// The machines of a target: monitors of the whole process, and those in addition to each dynamic stage's policy. `reports`:
/// somebody carries reports between this target and others.
///
/// # Errors
/// A name that is no machine, or a machine that does not fit.
pub fn machines(specs: &[PolicySpec], reports: bool) -> Result<(Vec<Resolved>, Vec<Resolved>), MachineError> {
    let mut all = Vec::new();
    for machine in specs {
        let resolved = if reports { Resolved::new(machine) } else { Resolved::live(machine) }?;
        if resolved.entry.is_policy() {
            return Err(MachineError::NotAMachine(machine.name.clone()));
        }
        all.push(resolved);
    }
    let of_stage = |sample: &Sampling| matches!(sample.what, SampleKind::Stage | SampleKind::Ready);
    let of_process = |machine: &Resolved| machine.entry.samples.iter().any(|sample| !of_stage(sample));
    Ok(all.into_iter().partition(of_process))
}

/// The problems; the name of the policy itself, where that is the key of one, is not repeated.
impl Unfit {
    fn of(spec: &PolicySpec, problems: Vec<Problem>) -> Self {
        Self { name: spec.name.clone(), problems }
    }

    fn for_one(spec: &PolicySpec, key: &str, message: impl Into<String>) -> Self {
        Self::of(spec, vec![Problem { key: key.to_owned(), message: message.into() }])
    }
}

fn without_name(name: &str, problems: &[Problem]) -> String {
    let one = |problem: &Problem| if problem.key == name { problem.message.clone() } else { problem.to_string() };
    problems.iter().map(one).collect::<Vec<_>>().join("; ")
}

pub fn listed(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Resolved {
    /// The listener's backlog: the policy's value if it sets one, else `otherwise`.
    #[must_use]
    pub fn backlog(&self, otherwise: u32) -> u32 {
        self.factory.setting("backlog").and_then(Setting::number).map_or(otherwise, |backlog| backlog as u32)
    }

    /// Checks a choice.
    ///
    /// # Errors
    /// An unknown name, wrong settings, or a place where the policy cannot be installed or which the target does not
    /// have.
    pub fn new(spec: &PolicySpec) -> Result<Self, Unfit> {
        let resolve = catalogue().resolve(&spec.name, &spec.settings);
        let (entry, settings) = resolve.map_err(|problem| Unfit::of(spec, vec![problem]))?;
        let check = catalogue().check(entry, spec.place, &settings);
        let factory = check.map_err(|problems| Unfit::of(spec, problems))?;
        let place = spec.place.unwrap_or(entry.places[0]);
        if matches!(place, Place::Client | Place::Proxy) {
            return Err(Unfit::for_one(spec, "scope", format!("{} is not a place in the target", place.scope())));
        }
        Ok(Self { entry, factory, place })
    }

    /// Checks a choice for a proxy, which seats it before the service: as at the place `proxy`, or as before dispatch
    /// where the policy does not offer that, or at the listener where it offers nothing else or `scope` says so.
    ///
    /// # Errors
    /// An unknown name, wrong settings, a machine, or a place that a proxy does not have.
    pub fn at_proxy(spec: &PolicySpec) -> Result<Self, Unfit> {
        let resolve = catalogue().resolve(&spec.name, &spec.settings);
        let (entry, settings) = resolve.map_err(|problem| Unfit::of(spec, vec![problem]))?;
        if !entry.is_policy() {
            return Err(Unfit::for_one(spec, "policy", "it decides about no requests: it is no policy but a machine"));
        }
        let offered = [Place::Proxy, Place::Single].into_iter().find(|place| entry.places.contains(place));
        let place = match (spec.place, offered) {
            // It sits there as at dispatch.
            (Some(Place::Proxy) | None, Some(offered)) => offered,
            (Some(place), _) => place,
            (None, None) => entry.places[0],
        };
        let check = catalogue().check(entry, Some(place), &settings);
        let factory = check.map_err(|problems| Unfit::of(spec, problems))?;
        if !matches!(place, Place::Proxy | Place::Single | Place::Accept) {
            let message = format!("{:?} is not a place in a proxy, which has: proxy, single, accept", place.scope());
            return Err(Unfit::for_one(spec, "scope", message));
        }
        if factory.setting(REPORTS) == Some(&Setting::Flag(true)) {
            let nobody = "only services of a tree report what they use, to a quota-server: leave it off";
            return Err(Unfit::for_one(spec, REPORTS, nobody));
        }
        Ok(Self { entry, factory, place })
    }

    /// Checks a choice for a target by itself, live or in virtual time, without carriers of usage reports and quotas: a
    /// machine or policy that waits for them would silently do nothing.
    ///
    /// # Errors
    /// As [`Resolved::new`], and a choice that needs such reports.
    pub fn live(spec: &PolicySpec) -> Result<Self, Unfit> {
        let resolved = Self::new(spec)?;
        let (name, is_set) = (resolved.entry.name, |flag| resolved.factory.setting(flag) == Some(&Setting::Flag(true)));
        let (key, nobody) = if name == "quota-server" {
            let nobody = "only services of a tree report to it: leave it out, or use it in app: tree, beside quota or sre with report_usage";
            ("reports", nobody)
        } else if is_set(REPORTS) {
            let nobody = "only services of a tree report what they use, to a quota-server: leave it off, or use app: tree with machines: [quota-server]";
            (REPORTS, nobody)
        } else if is_set("reports") || name == "nucleus" {
            (
                "reports",
                "only a platform hears reports of sentries and nuclei: leave it off, or use app: tree with a platform",
            )
        } else {
            return Ok(resolved);
        };
        Err(Unfit::for_one(spec, key, nobody))
    }

    /// True if a choice names the senders' side: nothing of a target, but what users, or its own calls, ask before they send.
    #[must_use]
    pub fn is_for_senders(spec: &PolicySpec) -> bool {
        let Ok((entry, _)) = catalogue().resolve(&spec.name, &spec.settings) else { return false };
        entry.place(spec.place) == Ok(Place::Client)
    }

    /// Checks a bound that is told what requests will cost, for a plant, which alone knows that.
    ///
    /// # Errors
    /// A name that is no such bound, or wrong settings.
    pub fn bound(spec: &PolicySpec) -> Result<Self, Unfit> {
        let Some(entry) = catalogue().find(&spec.name).filter(|entry| matches!(entry.bound(), Some(Bound::Costs(_))))
        else {
            return Err(Unfit::for_one(spec, &spec.name, "this is no bound that is told what requests will cost"));
        };
        let check = catalogue().check(entry, None, &spec.settings);
        let factory = check.map_err(|problems| Unfit::of(spec, problems))?;
        Ok(Self { entry, factory, place: Place::Single })
    }

    /// The problem of a queue discipline before several stages, which keeps no queue there: it is told the free workers
    /// of all of them together, admits jobs that then wait behind it for the busiest stage, and does not see that wait.
    #[must_use]
    pub fn before_several(&self, graph: &Graph) -> Option<Problem> {
        let stages = graph.branches().count();
        (self.factory.counts_workers(self.place) && stages > 1).then(|| {
            let name = self.entry.name;
            let message = format!(
                "{name} keeps the queue of one stage. Before all {stages} of this service it would see the room of all together, and not the queue of the busiest: use scope: per-stage"
            );
            Problem { key: "scope".to_owned(), message }
        })
    }

    /// The sites where the policy sits: those of its place and, if those are stages that ask for less upstream
    /// (`signal_upstream`), dispatch: without a policy there nobody would hear them (USITS'03, section 6).
    pub fn seats(&self, graph: &Graph) -> impl Iterator<Item = SiteId> {
        let signals = self.place == Place::Stage && self.factory.setting(SIGNALS) == Some(&Setting::Flag(true));
        graph.seats(self.place).chain(signals.then(|| graph.dispatch()))
    }

    /// The problem of settings for stages without the policy, which would silently have no effect, and of a place where
    /// it has no effect.
    #[must_use]
    pub fn misplaced(&self, graph: &Graph) -> Vec<Problem> {
        let seats: Vec<&str> = self.seats(graph).map(|site| graph.site_name(site)).collect();
        let elsewhere = self.factory.stages().filter(|(_, stage)| !seats.contains(stage));
        let problem = |(param, stage): (&str, &str)| Problem {
            key: format!("{param}.{stage}"),
            message: format!("{} does not sit there, but at: {}", self.entry.name, seats.join(", ")),
        };
        let wide = if self.place == Place::Single { self.before_several(graph) } else { None };
        elsewhere.map(problem).chain(wide).collect()
    }

    /// The same entry without settings: a policy in addition to others.
    #[must_use]
    pub fn none() -> Self {
        Self::new(&PolicySpec { name: "none".to_owned(), place: None, settings: Settings::new() })
            .unwrap_or_else(|problem| unreachable!("the catalogue has the policy none: {problem}"))
    }
}

/// Makes policies and machines for the sites of a graph.
#[derive(Debug, Clone)]
pub struct Seating {
    graph: Arc<Graph>,
    objective: Objective,
    seed: u64,
    events: Events,
    /// Wraps each policy that is made.
    #[cfg(any(test, feature = "testing"))]
    wrap: Option<Wrap>,
}

/// A wrapper of policies: a test records what each is told.
#[cfg(any(test, feature = "testing"))]
pub type Wrap = fn(SiteId, Box<dyn controllers::Policy>) -> Box<dyn controllers::Policy>;

impl Seating {
    /// The seats of this graph's sites.
    #[must_use]
    pub fn new(graph: Arc<Graph>, objective: Objective, seed: u64, events: Events) -> Self {
        Self {
            graph,
            objective,
            seed,
            events,
            #[cfg(any(test, feature = "testing"))]
            wrap: None,
        }
    }

    /// The same, with this wrapper of each policy.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn wrapped(self, wrap: Option<Wrap>) -> Self {
        Self { wrap, ..self }
    }

    /// The graph of the sites.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The objective that policies are given.
    pub fn objective(&self) -> Objective {
        self.objective
    }

    /// The receiver of policies' events.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// The policy for a site: the chosen one if it sits there, else `none`.
    #[must_use]
    pub fn policy(&self, chosen: &Resolved, site: SiteId) -> InstalledPolicy {
        if chosen.seats(&self.graph).any(|seat| seat == site) {
            return self.forced(chosen, site);
        }
        self.forced(&Resolved::none(), site)
    }

    /// The chosen policy for a site, whatever its place.
    #[must_use]
    pub fn forced(&self, chosen: &Resolved, site: SiteId) -> InstalledPolicy {
        let site = self.site(site, chosen.place);
        match chosen.factory.policy(&site) {
            Some(policy) => {
                #[cfg(any(test, feature = "testing"))]
                let policy = match self.wrap {
                    Some(wrap) => wrap(site.id, policy),
                    None => policy,
                };
                InstalledPolicy { entry: chosen.entry, policy }
            }
            None => self.forced(&Resolved::none(), site.id),
        }
    }

    /// A site with this policy and a machine of each entry.
    #[must_use]
    pub fn policy_site<J>(&self, chosen: &Resolved, machines: &[Resolved], site: SiteId) -> PolicySite<J> {
        let InstalledPolicy { entry, policy } = self.policy(chosen, site);
        let name = self.graph.site_name(site);
        let seat = Seat::new(site, policy, seed_for(self.seed, name), self.events.observer(&self.graph));
        PolicySite::new(seat, entry, self.machines(machines, site, Timestamp::ZERO))
    }

    /// What `make` makes of each stage, from its name and its site; the machines sit at dynamic stages.
    ///
    /// # Errors
    /// The policy is given settings for stages that it does not sit at.
    pub fn stages<J, S>(
        &self,
        chosen: &Resolved,
        machines: &[Resolved],
        make: impl Fn(&str, PolicySite<J>) -> S,
    ) -> Result<Vec<S>, Unfit> {
        let problems = chosen.misplaced(&self.graph);
        if !problems.is_empty() {
            return Err(Unfit { name: chosen.entry.name.to_owned(), problems });
        }
        let stage = |(site, node): (SiteId, &Node)| {
            let beside = if node.role == Role::Dynamic { machines } else { &[] };
            make(&node.name, self.policy_site(chosen, beside, site))
        };
        Ok(self.graph.branches().map(stage).collect())
    }

    /// Machines for a site, from `now` on.
    #[must_use]
    pub fn machines(&self, machines: &[Resolved], site: SiteId, now: Timestamp) -> Vec<SiteMachine> {
        machines.iter().filter_map(|machine| self.machine(machine, site, now)).collect()
    }

    /// A machine for a site, from `now` on.
    #[must_use]
    pub fn machine(&self, machine: &Resolved, site: SiteId, now: Timestamp) -> Option<SiteMachine> {
        let built = machine.factory.machine(&self.site(site, Place::Stage))?;
        let name = format!("{}/{}", self.graph.site_name(site), machine.entry.name);
        let observer = self.events.observer(&self.graph);
        let seat = controllers::MachineSeat::new(site, built, seed_for(self.seed, &name), observer);
        Some(SiteMachine::new(seat, machine.entry, now))
    }

    fn site(&self, id: SiteId, place: Place) -> Site {
        Site { id, name: self.graph.site_name(id).to_owned(), place, objective: self.objective }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::graph::Role;

    fn misplaced(name: &str, place: Place, stages: &[(&str, Role)]) -> Vec<String> {
        let spec = PolicySpec { name: name.to_owned(), place: Some(place), settings: Settings::new() };
        let chosen = Resolved::new(&spec).unwrap();
        chosen.misplaced(&Graph::new(&["page"], stages)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn stages_that_ask_for_less_upstream_are_heard_at_dispatch() {
        let graph = Graph::new(&["page"], &[("read mail", Role::Dynamic), ("search", Role::Dynamic)]);
        let seats = |place, signals: bool| -> Vec<String> {
            let settings = Settings::from([(SIGNALS.to_owned(), signals.into())]);
            let chosen = Resolved::new(&PolicySpec { name: "seda".to_owned(), place: Some(place), settings }).unwrap();
            chosen.seats(&graph).map(|site| graph.site_name(site).to_owned()).collect()
        };
        assert_eq!(seats(Place::Stage, false), ["read mail", "search"]);
        assert_eq!(seats(Place::Stage, true), ["read mail", "search", "dispatch"]);
        assert_eq!(seats(Place::Single, true), ["dispatch"], "it has no site upstream, and is there already");
    }

    #[test]
    fn an_unknown_name_is_said_once() {
        let spec = |name: &str| PolicySpec { name: name.to_owned(), place: None, settings: Settings::new() };
        let said = Resolved::at_proxy(&spec("gradeint2")).unwrap_err().to_string();
        assert_eq!(said, "gradeint2: there is no such policy; did you mean gradient2?");
    }

    #[test]
    fn a_policy_that_offers_dispatch_may_be_said_to_sit_in_the_proxy() {
        let at_proxy = |name: &str, scope: &str| {
            let settings = Settings::from([("scope".to_owned(), scope.into())]);
            Resolved::at_proxy(&PolicySpec::written(name, settings))
        };
        assert_eq!(at_proxy("saturation", "proxy").expect("as at dispatch").place, Place::Single);
        assert_eq!(at_proxy("gradient2", "proxy").expect("its own place").place, Place::Proxy);
        at_proxy("codel", "client").expect_err("no place of a proxy");
        at_proxy("connections", "proxy").expect_err("at the listener alone");
    }

    #[test]
    fn a_queue_discipline_does_not_sit_before_several_stages() {
        let (one, two) = ([("work", Role::Dynamic)], [("read", Role::Dynamic), ("write", Role::Dynamic)]);
        for name in ["codel", "folly", "lifo", "cheapest-first", "class-queues"] {
            assert_eq!(misplaced(name, Place::Single, &one), [""; 0]);
            assert_eq!(misplaced(name, Place::Stage, &two), [""; 0]);
            let [problem] = misplaced(name, Place::Single, &two).try_into().unwrap();
            assert!(problem.starts_with("scope: ") && problem.ends_with("use scope: per-stage"), "{problem}");
        }
        assert_eq!(misplaced("seda", Place::Single, &two), [""; 0]);
    }
}
