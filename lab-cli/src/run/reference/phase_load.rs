//! The requests of a phase, with when each is there and when its answer must be out.

use std::time::Duration;

use controllers::{Class, Timestamp};
use plant::{Foreseen, Servers};
use workloads::sim::LinkSpec;

use super::{
    bound::{OfflineJob, most_in_time},
    supply::Supply,
};

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    pub(super) at: Timestamp,
    pub(super) class: Class,
    /// Draw of the share of errors up to which it is served.
    pub(super) luck: f64,
    pub(super) work: Vec<Foreseen>,
}

/// A service whose servers work.
pub(super) struct Service {
    pub(super) supply: Supply,
    pub(super) tasks: Vec<Servers>,
}

/// The requests of a phase that have time at all to be answered, with it, without those that fail whoever serves them.
#[derive(Default)]
pub(super) struct PhaseLoad<'a> {
    pub(super) all: Vec<(Window, &'a Arrival)>,
    /// True, in the order of `all`, of requests that would be in time if they were alone.
    pub(super) possible: Vec<bool>,
}

impl<'a> PhaseLoad<'a> {
    /// `objective`: of a class.
    pub(super) fn of(
        here: &[&'a Arrival],
        objective: impl Fn(Class) -> Duration,
        link: LinkSpec,
        services: &[Service],
    ) -> Self {
        let all = here.iter().filter_map(|of| Some((Window::of(of.at, objective(of.class), link)?, *of)));
        let all: Vec<(Window, &Arrival)> = all.filter(|(window, of)| window.may_succeed(of.luck, services)).collect();
        let possible = all.iter().map(|(window, of)| window.fits(&of.work, services)).collect();
        Self { all, possible }
    }

    /// Those of a kind, and the others.
    pub(super) fn parted(&self, is_one: impl Fn(&Arrival) -> bool) -> (Self, Self) {
        let (mut ones, mut others) = (Self::default(), Self::default());
        for (&(window, arrival), &possible) in self.all.iter().zip(&self.possible) {
            let of = if is_one(arrival) { &mut ones } else { &mut others };
            of.all.push((window, arrival));
            of.possible.push(possible);
        }
        (ones, others)
    }

    /// Most that can be in time for who knows what each costs.
    pub(super) fn by_costs(&self, services: &[Service]) -> usize {
        let possible: Vec<&(Window, &Arrival)> =
            self.all.iter().zip(&self.possible).filter_map(|(of, possible)| possible.then_some(of)).collect();
        let by_service = services.iter().enumerate().map(|(number, Service { supply, .. })| {
            let concerned = || possible.iter().filter(move |(_, of)| !of.work[number].total.is_zero());
            let most = |jobs: Vec<OfflineJob>| possible.len() - jobs.len() + most_in_time(&jobs);
            let at_servers = concerned().map(|(window, of)| window.at_servers(of.work[number].total, supply));
            let by_servers = most(at_servers.collect());
            if !supply.has_waits() {
                return by_servers;
            }
            let at_workers = concerned().map(|(window, of)| window.at_workers(of.work[number].total, supply));
            by_servers.min(most(at_workers.collect()))
        });
        by_service.min().unwrap_or(possible.len())
    }
}

/// The arrival of a request, and the time at which its answer must be out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) ready: Timestamp,
    pub(super) due: Timestamp,
}

impl Window {
    /// Three ways lie before its arrival (SYN, its answer, the request), one after its end; `None` if these alone take too long.
    fn of(at: Timestamp, objective: Duration, link: LinkSpec) -> Option<Self> {
        let (ready, due) = (at + link.delay * 3, at + objective.checked_sub(link.delay)?);
        (due >= ready).then_some(Self { ready, due })
    }

    /// False if it fails in any case. In a tree an error of one service need not be the end of the request.
    fn may_succeed(&self, luck: f64, services: &[Service]) -> bool {
        let [Service { supply, .. }] = services else { return true };
        luck >= supply.errors(self.ready, self.due)
    }

    /// False if it would be late even alone.
    fn fits(&self, work: &[Foreseen], services: &[Service]) -> bool {
        work.iter().zip(services).all(|(work, Service { supply, .. })| {
            work.longest.as_nanos() as f64 <= supply.alone(self.ready, supply.latest(self.due).max(self.ready))
        })
    }

    /// The job in units of work of all servers as one, rounded to where the bound gets higher.
    fn at_servers(&self, work: Duration, supply: &Supply) -> OfflineJob {
        OfflineJob {
            ready: supply.until(self.ready).floor() as i64,
            due: supply.until(supply.latest(self.due)).ceil() as i64,
            work: whole(work.as_nanos() as f64),
        }
    }

    /// The same of the workers, which a request holds until it is out.
    pub(super) fn at_workers(&self, work: Duration, supply: &Supply) -> OfflineJob {
        let by = |at: Timestamp| at.as_nanos() as f64 * supply.workers;
        let held = supply.held(work, self.ready, self.due);
        OfflineJob {
            ready: by(self.ready).floor() as i64,
            due: by(self.due).ceil() as i64,
            work: whole(held.as_nanos() as f64),
        }
    }
}

/// Never so much that sums of it are none.
pub(super) fn whole(work: f64) -> i64 {
    (work as i64).min(i64::MAX / 4)
}
