//! Plan of an experiment for its measures, and arms against themselves: what differs there is the noise of the lab.

use std::time::Duration;

use analysis::{
    judge::measures::{MeasuresPlan, PlannedPhase},
    summary::{Entitled, PlannedLoad},
};

use super::{ArmPlan, Experiment, LoadStream, PhasePlan};

impl Experiment {
    /// Claims of classes.
    pub fn entitled(&self) -> Entitled {
        let marks = &self.users.marks;
        Entitled::of([&marks.criticality, &self.target.criticality], marks.customer.keys())
    }

    /// Plan for the measures, on a target of this capacity.
    pub fn measures_plan(&self, capacity: Option<f64>, virtual_time: bool) -> MeasuresPlan {
        let phase = |phase: &PhasePlan| PlannedPhase {
            name: phase.name.clone(),
            seconds: phase.duration.as_secs_f64(),
            load: load_of(&phase.loads, capacity),
            peak: peak_of(&phase.loads, capacity),
            steady: phase.steady,
        };
        let faults = self.faults(virtual_time);
        let seconds = |time: Duration| time.as_secs_f64();
        MeasuresPlan {
            objective: self.objective,
            phases: self.users.phases.iter().map(phase).collect(),
            faults: faults.iter().map(|fault| (seconds(fault.at), seconds(fault.at + fault.lasts))).collect(),
            capacity_per_s: capacity,
        }
    }
}

/// The sum of streams of one kind that stay the same.
fn load_of(loads: &[LoadStream], capacity: Option<f64>) -> Option<PlannedLoad> {
    let stays = |load: &LoadStream| match load {
        LoadStream::Users { from, to, .. } => from == to,
        LoadStream::Sessions { from, to, .. } | LoadStream::Requests { from, to, .. } => from == to,
        LoadStream::Wave { .. } => false,
        LoadStream::Present { .. } | LoadStream::Churn { .. } | LoadStream::Replay => true,
    };
    if loads.iter().all(stays) { peak_of(loads, capacity) } else { None }
}

/// The sum of streams of one kind, each at its highest; those that ask for nothing are none.
pub(super) fn peak_of(loads: &[LoadStream], capacity: Option<f64>) -> Option<PlannedLoad> {
    let mut sum = None;
    for load in loads {
        let [from, to] = load.span(capacity);
        let most = from.max(to);
        let one = match load {
            LoadStream::Users { from, to, .. } => PlannedLoad::Users(*from.max(to)),
            LoadStream::Sessions { .. } => PlannedLoad::SessionsPerS(most),
            LoadStream::Requests { .. } | LoadStream::Wave { .. } => PlannedLoad::RequestsPerS(most),
            LoadStream::Present { .. } | LoadStream::Churn { .. } => continue,
            // The load is the recorded one.
            LoadStream::Replay => return None,
        };
        sum = Some(match (sum, one) {
            (None, one) => one,
            (Some(PlannedLoad::Users(a)), PlannedLoad::Users(b)) => PlannedLoad::Users(a.saturating_add(b)),
            (Some(PlannedLoad::SessionsPerS(a)), PlannedLoad::SessionsPerS(b)) => PlannedLoad::SessionsPerS(a + b),
            (Some(PlannedLoad::RequestsPerS(a)), PlannedLoad::RequestsPerS(b)) => PlannedLoad::RequestsPerS(a + b),
            _ => return None,
        });
    }
    sum
}

impl Experiment {
    /// Pairs of arms that are the same but for their names, each with the first of its kind.
    pub fn twins(&self) -> Vec<[String; 2]> {
        let unnamed = |arm: &ArmPlan| ArmPlan { label: String::new(), ..arm.clone() };
        let twin = |(index, arm): (usize, &ArmPlan)| {
            let first = self.arms[..index].iter().find(|other| unnamed(other) == unnamed(arm))?;
            Some([first.label.clone(), arm.label.clone()])
        };
        self.arms.iter().enumerate().filter_map(twin).collect()
    }

    /// Says of twins that they say nothing in virtual time.
    pub(super) fn void_twins(&self) -> Option<String> {
        let [first, twin] = self.twins().into_iter().next()?;
        Some(format!(
            "in virtual time {twin} and {first} are the same bits: such an A/A is void, it says nothing about noise (live it does; \
             what chance does in virtual time show other seeds, --repeat)"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Changes, read};

    /// Users, ramps, sums of streams; faults in virtual time alone.
    const FILE: &str = "
name: loads
target: {app: emulated, service: 10ms, servers: 1}
objective: {percentile: 90, response_time: 1s}
users:
  model: url
  phases:
    - {name: users, users: 7, for: 10s, steady: true}
    - {name: ramp, users: {from: 3, to: 7}, for: 10s}
    - {name: half, requests: 0.5x, for: 10s, steady: false}
    - {name: two, for: 10s, loads: [{requests: 20/s, class: 1}, {requests: 30/s, class: 2}, {idle: 100}]}
    - {name: both, for: 10s, loads: [{requests: 20/s}, {users: 3}]}
    - {name: sine, requests: {sine: {mean: 0.5x, amplitude: 0.25x, period: 5s}}, for: 10s}
arms: [none, none: {as: again}, seda]
virtual: {faults: [{at: 5s, for: 2s, capacity: 0}]}
";

    #[test]
    fn what_was_planned_is_read_from_the_experiment() {
        let experiment = read(FILE, &Changes::default()).expect("it is sound");
        let plan = experiment.measures_plan(Some(100.0), true);
        let loads: Vec<_> = plan.phases.iter().map(|phase| phase.load).collect();
        let (users, per_s) = (PlannedLoad::Users, PlannedLoad::RequestsPerS);
        assert_eq!(loads, [Some(users(7)), None, Some(per_s(50.0)), Some(per_s(50.0)), None, None]);
        assert_eq!(
            plan.phases.iter().map(|phase| phase.steady).collect::<Vec<_>>()[..3],
            [Some(true), None, Some(false)]
        );
        let peaks: Vec<_> = plan.phases.iter().map(|phase| phase.peak).collect();
        assert_eq!(peaks[..3], [Some(users(7)), Some(users(7)), Some(per_s(50.0))], "of a ramp the most");
        assert_eq!(peaks[5], Some(per_s(75.0)), "of a sine its crest");
        assert_eq!(plan.faults, [(5.0, 7.0)]);
        assert_eq!(plan.capacity_per_s, Some(100.0));
        assert_eq!(experiment.measures_plan(None, false).faults, []);
        assert_eq!(experiment.twins(), [["none".to_owned(), "again".to_owned()]]);
    }
}
