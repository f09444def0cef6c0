//! From a plan to its offline bound: when requests arrive, what each costs, and how many can be in time at most.
//!
//! Of several services each gives a bound, as if all others worked in no time, and the lowest of them holds.

use std::time::Duration;

use analysis::summary::{Measured, PhaseSummary};
use controllers::Timestamp;
use target_app::plant::{Cluster, Foreseen, Plant, Servers};
use workloads::{
    StopFlag,
    persona::Call,
    plan::LoadPlan,
    sim::{self, ConnId, Cx, LinkSpec, Response, SimClient, SimRequest, SimServer, SynResult},
};

use super::bound::{OfflineJob, most_in_time};
use crate::run::RunFailure;

/// What knows beforehand what requests cost: a list with a place for each service.
pub trait Foretells {
    /// What has to be done for a request, by service.
    fn foresee(&mut self, call: &Call, user: u64, key: u64) -> Vec<Foreseen>;
    /// Who does it.
    fn servers(&self) -> Vec<Servers>;
}

impl Foretells for Plant {
    fn foresee(&mut self, call: &Call, user: u64, key: u64) -> Vec<Foreseen> {
        vec![Foreseen::one(Self::foresee(self, call, user, key))]
    }

    fn servers(&self) -> Vec<Servers> {
        vec![Self::servers(self)]
    }
}

impl Foretells for Cluster {
    fn foresee(&mut self, call: &Call, user: u64, key: u64) -> Vec<Foreseen> {
        Self::foresee(self, call, user, key)
    }

    fn servers(&self) -> Vec<Servers> {
        Self::servers(self)
    }
}

/// A request.
#[derive(Debug, Clone)]
struct Arrival {
    at: Timestamp,
    work: Vec<Foreseen>,
}

/// A service that answers everything at once, over a link that takes no time: what it hears is what users mean to do. It
/// asks a plant what that would cost, and the plant does nothing.
struct Listener<F> {
    plant: F,
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
        self.heard.push(Arrival { at: cx.now(), work });
        cx.reply(asked.conn, Response { status: 200, ..Response::default() });
    }

    fn hang_up(&mut self, _: ConnId, _: &mut Cx<'_, ()>) {}

    fn happen(&mut self, (): (), _: &mut Cx<'_, ()>) {}
}

/// The bound of each phase, as if there were no other: what one phase leaves undone burdens the next, so that each is a bound
/// for the phase in any run, and their sum one for the run. `faults`: the highest speed that faults give the
/// servers of each service.
pub fn bounds(
    plan: &LoadPlan,
    plant: impl Foretells,
    link: LinkSpec,
    faults: &[f64],
) -> Result<Vec<PhaseSummary>, RunFailure> {
    let mut listener = Listener { plant, heard: Vec::new() };
    let still = LinkSpec { delay: Duration::ZERO, jitter: Duration::ZERO, ..LinkSpec::default() };
    sim::run(plan, still, &mut listener, |_, _, _| {}, &StopFlag::new()).map_err(workloads::RunError::from)?;
    let at_best = |(of, by): (Servers, &f64)| Servers { speed: of.speed * by, fastest: of.fastest * by };
    let servers: Vec<Servers> = listener.plant.servers().into_iter().zip(faults).map(at_best).collect();
    let mut begins = Timestamp::ZERO;
    let mut phases = Vec::new();
    for phase in &plan.phases {
        let ends = begins + phase.duration;
        let here = |arrival: &&Arrival| begins <= arrival.at && arrival.at < ends;
        let planned = listener.heard.iter().filter(here).count();
        let windows = listener.heard.iter().filter(here).filter_map(|arrival| {
            let window = Window::of(arrival.at, plan.objective, link)?;
            window.fits(&arrival.work, &servers).then_some((window, &arrival.work))
        });
        let possible: Vec<(Window, &Vec<Foreseen>)> = windows.collect();
        let by_service = servers.iter().enumerate().map(|(service, servers)| {
            let concerned: Vec<OfflineJob> = (possible.iter())
                .filter(|(_, work)| !work[service].total.is_zero())
                .map(|(window, work)| window.job(work[service].total, servers.speed))
                .collect();
            possible.len() - concerned.len() + most_in_time(&concerned)
        });
        let in_time = by_service.min().unwrap_or(planned);
        phases.push(shown(&phase.name, phase.duration, planned as u64, in_time as u64));
        begins = ends;
    }
    Ok(phases)
}

/// When a request is there, and when its answer must be ready.
#[derive(Debug, Clone, Copy)]
struct Window {
    ready: Timestamp,
    due: Timestamp,
}

impl Window {
    /// Three ways lie before its arrival (SYN, its answer, the request), one after its end; `None` if these alone take too long.
    fn of(at: Timestamp, objective: Duration, link: LinkSpec) -> Option<Self> {
        Some(Self { ready: at + link.delay * 3, due: at + objective.checked_sub(link.delay)? })
    }

    /// False if it would be late even alone.
    fn fits(&self, work: &[Foreseen], servers: &[Servers]) -> bool {
        let there = self.due.since(self.ready).as_nanos() as f64;
        self.due >= self.ready
            && work.iter().zip(servers).all(|(work, of)| work.longest.as_nanos() as f64 / of.fastest <= there)
    }

    /// In units of work of one fast server, rounded to where the bound gets higher.
    fn job(&self, work: Duration, speed: f64) -> OfflineJob {
        let by = |at: Timestamp| at.as_nanos() as f64 * speed;
        let work = i64::try_from(work.as_nanos()).unwrap_or(i64::MAX / 4);
        OfflineJob { ready: by(self.ready).floor() as i64, due: by(self.due).ceil() as i64, work }
    }
}

fn shown(name: &str, lasts: Duration, planned: u64, in_time: u64) -> PhaseSummary {
    let seconds = lasts.as_secs_f64();
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
    PhaseSummary { name: name.to_owned(), seconds, measured, ..PhaseSummary::default() }
}
