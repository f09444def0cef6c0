//! Search for a capacity: the work knob is turned until the service saturates at what was asked for.
//!
//! On one core the time a request takes is a constant part plus a part for each extra database operation, so one over the
//! throughput is a straight line over the operations: two points give a guess, and each further point corrects it. The load is
//! the experiment's own mix from closed users without pauses, so that the service is never idle.

use super::busy::Busy;
use std::time::Duration;

use analysis::summary::{Capacity, CapacityStep};
use controllers::random::seed_for;
use experiment::{
    Experiment,
    plan::{AppPlan, ArashiPlan, Model},
};
use measure::Window;

use traces::Think;
use workloads::plan::{Account, LoadPlan, MailUsers, Users};

use crate::run::RunFailure;

/// Users that keep the service busy.
pub(super) const USERS: u32 = 24;
/// Users in virtual time, where mailboxes differ: as many as make an average of them.
const USERS_OF_ALL_KINDS: u32 = 256;
/// Requests that a user makes until its walk has forgotten that it began with a login.
const FORGOTTEN_AFTER: f64 = 20.0;
/// Requests by which throughput is measured in virtual time: what they cost varies by more than their mean.
const COUNTED: f64 = 3000.0;
/// Close enough to go on, if the search ends there.
const LAST_RESORT: f64 = 0.15;
const MOST_STEPS: usize = 12;
/// The cost of one operation, seconds, before anything is known of this machine.
const FIRST_GUESS: f64 = 100e-6;

/// The length of a measurement of throughput, and the error that it may have.
#[derive(Debug, Clone, Copy)]
pub struct ThroughputWatch {
    users: u32,
    /// Left out at the beginning.
    settle: Duration,
    /// Counted: whole seconds, as throughput is read from windows of one second.
    measure: Duration,
    /// The largest part by which throughput may differ from the wanted one.
    tolerance: f64,
}

impl ThroughputWatch {
    /// Live, a few seconds: the first answers of fresh connections and caches are left out.
    #[cfg(feature = "live")]
    pub(super) const LIVE: Self =
        Self { users: USERS, settle: Duration::from_secs(1), measure: Duration::from_secs(4), tolerance: 0.05 };

    /// Watches in virtual time as long as it takes until the mix of requests is that of a long run. At 16 requests a
    /// second the first five seconds are logins and lists, which cost less.
    pub fn in_virtual_time(wanted: f64, work: &ArashiPlan) -> Self {
        let users = if work.work_spread > 0.0 { USERS_OF_ALL_KINDS } else { USERS };
        let seconds = |requests: f64| Duration::from_secs((requests / wanted).ceil().max(4.0) as u64);
        Self { users, settle: seconds(FORGOTTEN_AFTER * f64::from(users)), measure: seconds(COUNTED), tolerance: 0.01 }
    }

    /// The load under which throughput is measured.
    pub fn plan(&self, mail: &MailUsers, target: workloads::plan::Target, seed: u64) -> LoadPlan {
        Busy { users: Users::Mail(mail.clone()), at_once: self.users, lasts: self.settle + self.measure, seed }
            .plan(target)
    }

    /// Takes in a second.
    pub fn count(&self, served: &mut u64, window: &Window) {
        if (self.settle.as_secs()..(self.settle + self.measure).as_secs()).contains(&window.second) {
            *served += window.served + window.late;
        }
    }

    /// Throughput.
    pub fn per_second(&self, served: u64) -> f64 {
        served as f64 / self.measure.as_secs_f64()
    }
}

/// Seed of the search.
pub fn seed(experiment: &Experiment) -> u64 {
    seed_for(experiment.seed, "capacity")
}

/// Users that keep the service busy: the experiment's own mail users, who never pause and keep their connections.
pub fn users(experiment: &Experiment, accounts: &[Account]) -> Result<MailUsers, RunFailure> {
    let Model::Mail { model, previous_page, .. } = &experiment.users.model else {
        return Err(RunFailure::Capacity(
            "a capacity is solved for on the mail users' mix: set users.model: arashi".to_owned(),
        ));
    };
    let model = model.with_think(&Think::Constant(Duration::ZERO));
    let behaviour = experiment.users.behaviour.clone();
    Ok(MailUsers { previous_page: *previous_page, behaviour, ..MailUsers::new(model, accounts.to_vec()) })
}

/// Solves for the experiment's service, and for each arm whose work has weights or a spread of its own.
pub fn of_all_arms(
    experiment: &Experiment,
    mut solve: impl FnMut(&ArashiPlan) -> Result<Capacity, RunFailure>,
) -> Result<Capacity, RunFailure> {
    let AppPlan::Arashi(own) = &experiment.target.app else { return Ok(Capacity::default()) };
    let mut capacity = solve(own)?;
    let mut solved = vec![(own, capacity.operations)];
    for arm in &experiment.arms {
        let AppPlan::Arashi(work) = &arm.target(experiment).app else { continue };
        if work.has_work_of(own) {
            continue;
        }
        let operations = match solved.iter().find(|(other, _)| work.has_work_of(other)) {
            Some((_, operations)) => *operations,
            None => solve(work)?.operations,
        };
        solved.push((work, operations));
        capacity.own_operations.insert(arm.label.clone(), operations);
    }
    Ok(capacity)
}

/// Solves for the capacity, given what measures throughput at a number of extra operations.
pub fn solve(
    wanted: f64,
    watch: &ThroughputWatch,
    mut measure: impl FnMut(f64) -> Result<f64, RunFailure>,
) -> Result<Capacity, RunFailure> {
    let tolerance = watch.tolerance;
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut operations = 0.0;
    for _ in 0..MOST_STEPS {
        let measured = measure(operations)?;
        if measured <= 0.0 {
            return Err(RunFailure::Capacity(format!(
                "the target answered nothing with {operations:.1} extra operations a request: see its log in the results folder"
            )));
        }
        points.push((operations, measured));
        // Without extra work there is nothing to turn: another moment, or another machine, would have another capacity.
        if points.len() == 1 && measured <= wanted * (1.0 + tolerance) {
            return Err(RunFailure::TooSlow { wanted, measured, suggested: (measured * 0.8).floor().max(1.0) });
        }
        if (measured / wanted - 1.0).abs() <= tolerance {
            return Ok(found(wanted, &points));
        }
        operations = next(&points, wanted);
    }
    points.retain(|(operations, _)| *operations > 0.0);
    let best = points.iter().map(|(_, measured)| (measured / wanted - 1.0).abs()).fold(f64::INFINITY, f64::min);
    if best > LAST_RESORT {
        return Err(RunFailure::Capacity(format!(
            "no setting of the work knob gives {wanted:.0} requests/s (best {:.0} % off after {MOST_STEPS} steps): is \
             something else using the target's processor?",
            best * 100.0
        )));
    }
    points.sort_by(|a, b| (b.1 / wanted - 1.0).abs().total_cmp(&(a.1 / wanted - 1.0).abs()));
    Ok(found(wanted, &points))
}

/// Measurements that count: one that a busy moment spoiled is forgotten, and the machine may be at another speed by now.
const REMEMBERED: usize = 2;

/// The next guess. Each measurement with operations says how many would have given the wanted rate, had every one cost as much;
/// the mean of the last ones is tried.
fn next(points: &[(f64, f64)], wanted: f64) -> f64 {
    // What a request costs without any.
    let alone = points.iter().find(|(operations, _)| *operations <= 0.0).map_or(0.0, |(_, measured)| 1.0 / measured);
    let room = 1.0 / wanted - alone;
    let implied = |&(operations, measured): &(f64, f64)| {
        let each = (1.0 / measured - alone) / operations;
        (operations > 0.0 && each > 0.0).then(|| room / each)
    };
    let found: Vec<f64> = points.iter().rev().filter_map(implied).take(REMEMBERED).collect();
    let guess = if found.is_empty() { room / FIRST_GUESS } else { found.iter().sum::<f64>() / found.len() as f64 };
    guess.max(0.0)
}

fn found(wanted: f64, points: &[(f64, f64)]) -> Capacity {
    let (operations, measured) = points.last().copied().unwrap_or_default();
    let steps =
        points.iter().map(|&(operations, measured_per_s)| CapacityStep { operations, measured_per_s }).collect();
    Capacity { wanted_per_s: wanted, measured_per_s: measured, operations, steps, ..Capacity::default() }
}

#[cfg(test)]
mod tests {
    use controllers::{Random as _, Seeded};

    use super::*;

    /// A service whose requests take 1 ms and 0.2 ms for each extra operation.
    fn service(operations: f64) -> f64 {
        1.0 / (1e-3 + 0.2e-3 * operations)
    }

    #[test]
    fn a_straight_line_is_solved_in_three_steps() {
        // 100/s means 10 ms a request: (10 - 1) / 0.2 = 45 operations. The first guess takes 0.1 ms an operation, and gives
        // (10 - 1) / 0.1 = 90.
        let mut points = vec![(0.0, service(0.0))];
        let second = next(&points, 100.0);
        assert!((second - 90.0).abs() < 1e-9, "{second}");
        points.push((second, service(second)));
        let third = next(&points, 100.0);
        assert!((third - 45.0).abs() < 1e-6, "{third}");
    }

    #[test]
    fn noise_that_turns_the_line_over_does_not_send_the_search_away() {
        // More operations and yet more throughput: each says for itself what it would have taken, 84 and 87.
        let guess = next(&[(80.0, 105.0), (81.0, 108.0)], 100.0);
        assert!((80.0..=90.0).contains(&guess), "{guess}");
    }

    #[test]
    fn two_measurements_that_a_busy_moment_spoiled_do_not_end_the_search() {
        // As seen: with 98 and 55 operations something else had the processor. The line through these two asks for fewer
        // than none.
        let mut spoiled = [4969.0, 56.8, 69.5].into_iter();
        let truth = |operations: f64| 1.0 / (0.2e-3 + 0.1e-3 * operations);
        let found =
            solve(100.0, &ThroughputWatch::LIVE, |operations| Ok(spoiled.next().unwrap_or_else(|| truth(operations))));
        let found = found.expect("the truth is found once the moment is over");
        assert!((found.operations - 98.0).abs() < 3.0, "{found:?}");
        assert!(found.steps.len() <= MOST_STEPS, "{found:?}");
    }

    #[test]
    fn a_machine_whose_speed_swings_by_an_eighth_hardly_ever_ends_the_search() {
        // Speeds of measurements are independent, which is the worst case. With secants through the nearest of the last three points,
        // and eight steps, about one search in a hundred found nothing.
        let search = |seed: u64| {
            let mut random = Seeded::new(seed);
            solve(100.0, &ThroughputWatch::LIVE, |operations| {
                Ok(libm::exp(0.12 * random.normal()) / (0.2e-3 + 0.17e-3 * operations))
            })
        };
        let failed = (0..2000).filter(|seed| search(*seed).is_err()).count();
        assert!(failed <= 2, "{failed} of 2000");
    }
}
