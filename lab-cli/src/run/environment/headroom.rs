//! The generator's headroom: how much more it could do. Measured against a service that does nothing, on the target's
//! processor, before the first arm: what it cannot send there, it cannot send to any service.
//!
//! Users here ask for one URL and keep or close their connections as those of the experiment do. Web-mail users cost the
//! generator more a request, since they read pages: what that takes is held against the gate on its CPU time.

use std::{net::SocketAddr, thread, time::Duration};

use analysis::summary::Headroom;
use senders::{RunOptions, null::Null};
use workloads::{
    StopFlag,
    plan::{Behaviour, ConnectionHabit, FailureRule, Load, LoadPlan, Phase, Target, UrlUsers, Users},
};

use super::cpus::pin_this_thread;
use crate::run::{Cpus, RunFailure};

/// Users that ask again as soon as they have an answer: enough to fill the generator's processor.
const USERS: u32 = 32;
/// The length of each of the two measurements.
const LASTS: Duration = Duration::from_millis(700);
/// The first part is left out: connections are being made.
const AFTER: f64 = 0.3;
/// Users that response times are measured with.
const PROBERS: u32 = 128;
/// The share of the ceiling at which response times are measured.
const PROBE: f64 = 0.5;

/// Measures it. Takes about a second and a half.
pub fn measure(cpus: &Cpus, connections: ConnectionHabit, stop: &StopFlag) -> Result<Headroom, RunFailure> {
    let service = Service::start(cpus)?;
    let address = service.null.address();
    let at_once = traces::Think::Constant(Duration::ZERO);
    let ceiling_per_s = run(address, USERS, at_once, connections, stop)?.0;
    let probed_per_s = (ceiling_per_s * PROBE).floor();
    // Users who think, so that they keep their connections as the ceiling's do: so many requests a second, at random.
    let mean = Duration::from_secs_f64(f64::from(PROBERS) / probed_per_s.max(1.0));
    let response_p99_ms = run(address, PROBERS, traces::Think::Exponential { mean }, connections, stop)?.1;
    service.end()?;
    Ok(Headroom { ceiling_per_s, probed_per_s, response_p99_ms })
}

/// Answers a second, and the 99th percentile of response times, once all is going.
fn run(
    address: SocketAddr,
    users: u32,
    think: traces::Think,
    connections: ConnectionHabit,
    stop: &StopFlag,
) -> Result<(f64, Option<f64>), RunFailure> {
    let plan = plan(address, users, think, connections);
    let report = senders::run(&plan, &RunOptions::default(), |_| {}, stop)?;
    let found = report.part("null", AFTER..1.0);
    let answered = |measure::PhaseReport { measured, seconds, .. }| {
        (measured.served as f64 / seconds, measured.response_time_ms.p99)
    };
    Ok(found.map_or((0.0, None), answered))
}

fn plan(address: SocketAddr, users: u32, think: traces::Think, connections: ConnectionHabit) -> LoadPlan {
    let longest = Duration::from_secs(2);
    let behaviour = Behaviour::on_any_failure(FailureRule::Login { wait: Duration::ZERO });
    let who = Users::Url(UrlUsers { think, behaviour, connections, ..UrlUsers::new("/") });
    let phases = vec![Phase { name: "null".to_owned(), duration: LASTS, loads: vec![Load::users(users)] }];
    LoadPlan {
        timeout: longest,
        connect_timeout: longest,
        objective: longest,
        drain: longest,
        ..LoadPlan::new(Target::at(address), who, phases)
    }
}

/// A service that does nothing, on a thread of its own. Stopped when dropped.
struct Service {
    null: Null,
    thread: Option<thread::JoinHandle<std::io::Result<()>>>,
}

impl Service {
    fn start(cpus: &Cpus) -> Result<Self, RunFailure> {
        let null = Null::bind().map_err(RunFailure::machine("a service to measure the generator against"))?;
        let (serving, cpu) = (null.clone(), cpus.target);
        let serve = move || {
            // A machine that forbids it has them share one, as its target does.
            let _ = cpu.map(pin_this_thread);
            serving.serve()
        };
        let thread = thread::Builder::new().name("null".to_owned()).spawn(serve);
        let thread = thread.map_err(RunFailure::machine("the thread of a service to measure the generator against"))?;
        Ok(Self { null, thread: Some(thread) })
    }

    /// Figures do not count if the host has failed while they were measured.
    fn end(mut self) -> Result<(), RunFailure> {
        self.null.stop();
        let ended = self.thread.take().map(thread::JoinHandle::join);
        let failed = || std::io::Error::other("it panicked");
        let ended = ended.map_or(Ok(()), |ended| ended.unwrap_or_else(|_| Err(failed())));
        ended.map_err(RunFailure::machine("the service that the generator was measured against"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.null.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_does_nothing_is_asked_much_and_answers_soon() {
        let cpus = Cpus::anywhere();
        let found = measure(&cpus, ConnectionHabit::PerUser, &StopFlag::new()).expect("it can be measured");
        // No claim on speed: any machine can do a hundred.
        assert!(found.ceiling_per_s > 100.0 && found.probed_per_s > 40.0, "{found:?}");
        assert!(found.probed_per_s <= found.ceiling_per_s / 2.0, "{found:?}");
    }

    #[test]
    fn a_run_that_is_stopped_is_not_kept_waiting() {
        let stop = StopFlag::new();
        stop.stop();
        let began = std::time::Instant::now();
        let found = measure(&Cpus::anywhere(), ConnectionHabit::PerUser, &stop);
        assert!(found.is_ok_and(|found| found.ceiling_per_s < 100.0));
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}
