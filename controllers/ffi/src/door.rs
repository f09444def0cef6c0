//! One policy before a service, for hosts that name jobs by numbers: what such hosts share, without a clock, threads or I/O.

use std::{collections::BTreeMap, time::Duration};

use controllers::{
    Catalogue, JobId, Objective, Offer, Outcome, Place, Seat, Settings, Site, SiteId, Timestamp, UnixSeconds,
    catalogue::SampleKind,
    site::{Action, Entered, Gate, LoadReading, Permit, PolicySite, TurnedAway},
};
use serde::Deserialize;

/// What a host says of its policy, as JSON: `{"policy": "gradient2", "settings": {"limit_max": 50}, "objective_ms": 500}`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdmissionConfig {
    /// The policy's name, or that of a preset.
    pub policy: String,
    #[serde(default)]
    pub settings: Settings,
    /// The bound of response times, milliseconds.
    #[serde(default)]
    pub objective_ms: Option<f64>,
    /// The percentile that the bound is about.
    #[serde(default = "usual_percentile")]
    pub percentile: f64,
    /// Jobs that the service works on at once: queue disciplines hold further ones.
    #[serde(default)]
    pub capacity: Option<u32>,
    /// Root of random choices.
    #[serde(default)]
    pub seed: u64,
}

fn usual_percentile() -> f64 {
    99.0
}

/// The objective without one, for policies that do not go by it.
const NO_OBJECTIVE: Duration = Duration::from_secs(1);

/// A policy with its held jobs, and the jobs inside.
#[derive(Debug)]
pub struct AdmissionDoor {
    gate: Gate<JobId>,
    inside: BTreeMap<JobId, Inside>,
}

/// A job that was admitted; `None`: by no policy.
type Inside = Option<Permit>;

/// The answer to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionDecision {
    /// Admitted: its end follows.
    In,
    Refused(TurnedAway),
    /// Held: [`AdmissionStep::Admit`] or [`AdmissionStep::Refuse`] follows, unless it leaves.
    Held,
}

/// What a host does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionStep {
    /// Admit this held job, and ask again.
    Admit(JobId),
    /// Refuse this held job, and ask again.
    Refuse(JobId, TurnedAway),
    /// Ask again at this time or later.
    WakeAt(Timestamp),
    /// Nothing to do.
    Idle,
}

impl AdmissionDoor {
    /// Makes the policy. Its clock begins at [`Timestamp::ZERO`].
    ///
    /// # Errors
    /// Every problem of the settings, in words; a policy that needs what such a host does not know.
    pub fn new(config: &AdmissionConfig) -> Result<Self, String> {
        let catalogue = Catalogue::built_in();
        let (entry, settings) =
            catalogue.resolve(&config.policy, &config.settings).map_err(|problem| problem.to_string())?;
        let place = [Place::Proxy, Place::Single].into_iter().find(|place| entry.places.contains(place));
        let place = place.ok_or_else(|| format!("{} does not sit before a whole service", entry.name))?;
        let factory = catalogue.check(entry, Some(place), &settings).map_err(|problems| {
            problems.iter().map(|problem| format!("{}: {problem}", entry.name)).collect::<Vec<_>>().join("; ")
        })?;
        let needs = entry.samples.iter().find(|of| matches!(of.what, SampleKind::Cpu | SampleKind::Memory));
        if needs.is_some() {
            return Err(format!("{} goes by CPU or memory of the service, which are not known here", entry.name));
        }
        if factory.counts_workers(place) && config.capacity.is_none() {
            return Err(format!("{} holds jobs until a worker is free: say how many there are (capacity)", entry.name));
        }
        let response_time = match config.objective_ms {
            Some(ms) if ms > 0.0 && ms <= 3.6e6 => Duration::from_secs_f64(ms / 1e3),
            Some(ms) => return Err(format!("objective_ms is {ms}: over 0, an hour at most")),
            None if entry.name == "headway" => return Err("headway needs the objective (objective_ms)".to_owned()),
            None => NO_OBJECTIVE,
        };
        let objective = Objective { percentile: config.percentile, response_time };
        let site = Site { id: SiteId(0), name: "server".to_owned(), place, objective };
        let policy = factory.policy(&site).ok_or_else(|| format!("{} decides nothing", entry.name))?;
        let seat = Seat::new(site.id, policy, config.seed, Box::new(()));
        let capacity = config.capacity.unwrap_or(u32::MAX);
        let gate = Gate::new(&site.name, PolicySite::new(seat, entry, Vec::new()), capacity);
        Ok(Self { gate, inside: BTreeMap::new() })
    }

    /// Decides on a job. One with the number of another that has not ended is refused by the caller's own fault: see
    /// [`AdmissionDoor::knows`].
    pub fn offer(&mut self, now: Timestamp, offer: Offer) -> AdmissionDecision {
        match self.gate.offer(now, offer, || offer.id) {
            Entered::In(permit) => {
                self.inside.insert(offer.id, permit);
                AdmissionDecision::In
            }
            Entered::Refused(refusal) => AdmissionDecision::Refused(refusal),
            Entered::Held => AdmissionDecision::Held,
        }
    }

    /// True if a job of this number is inside, or held.
    #[must_use]
    pub fn knows(&self, id: JobId) -> bool {
        self.inside.contains_key(&id) || self.gate.holds(id)
    }

    /// Work on a job begins. False: it is not inside.
    pub fn started(&mut self, now: Timestamp, id: JobId) -> bool {
        let Some(inside) = self.inside.get_mut(&id) else { return false };
        inside.iter_mut().for_each(|permit| self.gate.started(now, permit));
        true
    }

    /// A job has ended. False: it is not inside.
    pub fn ended(&mut self, now: Timestamp, id: JobId, outcome: Outcome) -> bool {
        let Some(inside) = self.inside.remove(&id) else { return false };
        if let Some(permit) = inside {
            let _note = self.gate.ended(now, permit, outcome, None, None);
        }
        true
    }

    /// A job's sender has left: a held job is forgotten, one inside has ended. False: it is neither.
    pub fn left(&mut self, now: Timestamp, id: JobId) -> bool {
        self.gate.leave(now, id).is_some() || self.ended(now, id, Outcome::Abandoned)
    }

    /// The next thing to do, after every other call and when it is time, until it is to wait or nothing.
    pub fn poll(&mut self, now: Timestamp) -> AdmissionStep {
        loop {
            match self.gate.poll(now, &LoadReading::default()) {
                Action::Admit(id, permit) => {
                    self.inside.insert(id, Some(permit));
                    return AdmissionStep::Admit(id);
                }
                Action::Refuse(id, refusal) => return AdmissionStep::Refuse(id, refusal),
                Action::WakeAt(at) => return AdmissionStep::WakeAt(at),
                Action::Idle => return AdmissionStep::Idle,
                // There are no workers, and no other sites.
                Action::Start(_) | Action::Hire(_) | Action::Dismiss(_) | Action::Shed(..) | Action::Tell(_) => {}
            }
        }
    }

    /// The wall clock, for policies that divide quotas by hours.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.gate.set_wall(wall);
    }

    /// Jobs inside.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.inside.len()
    }

    /// Counts and gauges by name.
    pub fn gauges(&self, mut visit: impl FnMut(&str, f64)) {
        let gauges = self.gate.gauges();
        visit("in_flight", self.inside.len() as f64);
        visit("held", gauges.queue.into());
        visit("offered", gauges.offered as f64);
        visit("admitted", gauges.admitted as f64);
        visit("refused", gauges.refused as f64);
        visit("completed", gauges.completed as f64);
        gauges.policy.iter().filter(|(name, _)| *name != "held").for_each(|(name, value)| visit(name, *value));
    }
}
