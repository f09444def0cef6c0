//! From a plan to its offline bound: who comes when, what each request costs, and how many can be in time at most.

use std::time::Duration;

use controllers::Timestamp;
use target_app::plant::Plant;
use workloads::{
    StopFlag,
    plan::LoadPlan,
    sim::{self, Asked, ConnId, Cx, Knock, LinkSpec, Response, Visitor, World},
};

use super::{
    RunFailure,
    bound::{Job, most_in_time},
};
use crate::summary::{Measured, Phase};

/// A request.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    at: Timestamp,
    work: Duration,
}

/// A service that answers everything at once, over a link that takes no time: what it hears is what users mean to do. It
/// asks a plant what that would cost, and the plant does nothing.
struct Listener {
    plant: Plant,
    heard: Vec<Arrival>,
}

impl World for Listener {
    type Event = ();

    fn begin(&mut self, _: &mut Cx<'_, ()>) {}

    fn knock(&mut self, _: ConnId, _: Visitor, _: &mut Cx<'_, ()>) -> Knock {
        Knock::Taken
    }

    fn ask(&mut self, asked: Asked, cx: &mut Cx<'_, ()>) {
        let work = self.plant.foresee(&asked.call, asked.key);
        self.heard.push(Arrival { at: cx.now(), work });
        cx.reply(asked.conn, Response { status: 200, ..Response::default() });
    }

    fn hang_up(&mut self, _: ConnId, _: &mut Cx<'_, ()>) {}

    fn happen(&mut self, (): (), _: &mut Cx<'_, ()>) {}
}

/// The bound of each phase, as if there were no other: what one phase leaves undone burdens the next, so that each is a bound
/// for the phase in any run, and their sum one for the run. `fastest`: the highest speed that a fault gives the service.
pub fn bounds(plan: &LoadPlan, plant: Plant, link: LinkSpec, fastest: f64) -> Result<Vec<Phase>, RunFailure> {
    let mut listener = Listener { plant, heard: Vec::new() };
    let still = LinkSpec { delay: Duration::ZERO, jitter: Duration::ZERO, loss: 0.0 };
    sim::run(plan, still, &mut listener, |_, _, _| {}, &StopFlag::new()).map_err(workloads::RunError::from)?;
    let speed = f64::from(listener.plant.servers()) * fastest;
    let mut begins = Timestamp::ZERO;
    let mut phases = Vec::new();
    for phase in &plan.phases {
        let ends = begins + phase.duration;
        let arrivals: Vec<Arrival> =
            listener.heard.iter().filter(|arrival| begins <= arrival.at && arrival.at < ends).copied().collect();
        let jobs: Vec<Job> =
            arrivals.iter().filter_map(|arrival| job(arrival, plan.objective, link, speed, fastest)).collect();
        phases.push(shown(&phase.name, phase.duration, arrivals.len() as u64, most_in_time(&jobs) as u64));
        begins = ends;
    }
    Ok(phases)
}

/// `None` if it would be late even alone. Three ways lie before its arrival (SYN, its answer, the request), one after its end.
fn job(arrival: &Arrival, objective: Duration, link: LinkSpec, speed: f64, fastest: f64) -> Option<Job> {
    let ready = arrival.at + link.delay * 3;
    let due = arrival.at + objective.checked_sub(link.delay)?;
    let work = i64::try_from(arrival.work.as_nanos()).ok()?;
    if work as f64 / fastest > due.since(ready).as_nanos() as f64 {
        return None;
    }
    // Rounded to where the bound gets higher.
    let by = |at: Timestamp| at.as_nanos() as f64 * speed;
    Some(Job { ready: by(ready).floor() as i64, due: by(due).ceil() as i64, work })
}

fn shown(name: &str, lasts: Duration, planned: u64, in_time: u64) -> Phase {
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
    Phase { name: name.to_owned(), seconds, measured, ..Phase::default() }
}
