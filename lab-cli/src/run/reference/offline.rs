//! Bounds of a plan: when requests arrive, what each costs, and how many can be in time at most, by who knows that and
//! by who does not.
//!
//! Of several services each gives a bound, as if all others worked in no time, and the lowest of them holds.

use std::time::Duration;

use analysis::summary::{Measured, PhaseSummary};
use controllers::Timestamp;
use plant::{Cluster, Foreseen, Plant, Servers};
use spec::fault::luck;
use workloads::{
    StopFlag,
    persona::Call,
    plan::LoadPlan,
    sim::{self, ConnId, Cx, LinkSpec, Response, SimClient, SimRequest, SimServer, SynResult},
};

use super::{
    blind::{self, BlindBound},
    phase_load::{Arrival, PhaseLoad, Service},
    supply::Supply,
};
use crate::run::RunFailure;

/// A target that knows beforehand what requests cost: a list with a place for each service.
pub trait Foretells {
    /// Work for a request, by service.
    fn foresee(&mut self, call: &Call, user: u64, key: u64) -> Vec<Foreseen>;
    /// Servers: the tasks of each service.
    fn servers(&self) -> Vec<Vec<Servers>>;
}

impl Foretells for Plant {
    fn foresee(&mut self, call: &Call, user: u64, key: u64) -> Vec<Foreseen> {
        vec![Self::foresee(self, call, user, key)]
    }

    fn servers(&self) -> Vec<Vec<Servers>> {
        vec![vec![Self::servers(self)]]
    }
}

impl Foretells for Cluster {
    fn foresee(&mut self, call: &Call, user: u64, key: u64) -> Vec<Foreseen> {
        Self::foresee(self, call, user, key)
    }

    /// Nothing is read or refused at a price: a balancer may refuse what no task has read.
    fn servers(&self) -> Vec<Vec<Servers>> {
        let free = |of: Servers| Servers { read: Duration::ZERO, refuse: Duration::ZERO, ..of };
        Self::servers(self).into_iter().map(|tasks| tasks.into_iter().map(free).collect()).collect()
    }
}

/// Knowledge of requests before they are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knowledge {
    /// The cost of each request.
    Costs,
    /// The mean cost of requests of a class.
    Means,
}

/// A service that answers everything at once, over a link that takes no time: what it hears is what users mean to do. It
/// asks a plant what that would cost, and the plant does nothing.
struct Listener<F> {
    plant: F,
    /// True if users may repeat a request: another attempt may be luckier.
    tries_again: bool,
    heard: Vec<Arrival>,
}

impl<F: Foretells> SimServer for Listener<F> {
    type Event = ();

    fn begin(&mut self, _: &mut Cx<'_, ()>) {}

    fn connect(&mut self, _: ConnId, _: SimClient, _: &mut Cx<'_, ()>) -> SynResult {
        SynResult::Taken
    }

    fn ask(&mut self, asked: Box<SimRequest>, cx: &mut Cx<'_, ()>) {
        let work = self.plant.foresee(&asked.call, asked.user, asked.key);
        let luck = if self.tries_again { 1.0 } else { luck(asked.key, asked.call.attempt) };
        self.heard.push(Arrival { at: cx.now(), class: asked.call.class, luck, work });
        cx.reply(asked.conn, Response { status: 200, ..Response::default() });
    }

    fn hang_up(&mut self, _: ConnId, _: &mut Cx<'_, ()>) {}

    fn happen(&mut self, (): (), _: &mut Cx<'_, ()>) {}
}

/// The bound of each phase, as if there were no other: what one phase leaves undone burdens the next, so that each is a bound
/// for the phase in any run, and their sum one for the run. `supply`: what the tasks of a service can do, by its number.
pub fn bounds<S: Fn(usize, &[Servers]) -> Supply>(
    plan: &LoadPlan,
    plant: impl Foretells,
    link: LinkSpec,
    knowledge: Knowledge,
    supply: S,
) -> Result<Vec<PhaseSummary>, RunFailure> {
    let tries_again = plan.users.behaviour().tries_again();
    let mut listener = Listener { plant, tries_again, heard: Vec::new() };
    let still = LinkSpec { delay: Duration::ZERO, jitter: Duration::ZERO, ..LinkSpec::default() };
    sim::run(plan, still, &mut listener, |_, _, _| {}, &StopFlag::new())?;
    let tasks = listener.plant.servers();
    let services: Vec<Service> = (tasks.iter().enumerate())
        .map(|(number, tasks)| Service { supply: supply(number, tasks), tasks: tasks.clone() })
        .collect();
    let mut begins = Timestamp::ZERO;
    let mut phases = Vec::new();
    for phase in &plan.phases {
        let ends = begins + phase.duration;
        let here: Vec<&Arrival> = listener.heard.iter().filter(|of| begins <= of.at && of.at < ends).collect();
        let load = PhaseLoad::of(&here, |class| plan.objective_of(class), link, &services);
        let found = match knowledge {
            Knowledge::Costs => BlindBound { in_time: load.by_costs(&services) as f64, by_chance: None },
            Knowledge::Means => blind::bound(&load, &services),
        };
        phases.push(shown(&phase.name, phase.duration, here.len() as u64, &found));
        begins = ends;
    }
    Ok(phases)
}

fn shown(name: &str, lasts: Duration, planned: u64, found: &BlindBound) -> PhaseSummary {
    let seconds = lasts.as_secs_f64();
    let in_time = (found.in_time.round() as u64).min(planned);
    let rejected = planned - in_time;
    let measured = Measured {
        planned,
        sent: planned,
        served: in_time,
        rejected,
        offered_per_s: planned as f64 / seconds,
        goodput_per_s: in_time as f64 / seconds,
        reject_fraction: if planned == 0 { 0.0 } else { rejected as f64 / planned as f64 },
        ..Measured::default()
    };
    let by_chance_per_s = found.by_chance.map(|more| more / seconds);
    PhaseSummary { name: name.to_owned(), seconds, measured, by_chance_per_s, ..PhaseSummary::default() }
}
