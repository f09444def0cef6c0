//! Phases whose subject is a change: a spike, a fault, or what comes after either. Nobody reads them as a steady state, so their
//! first seconds are no warm-up.

use super::plan::{MeasuresPlan, PlannedPhase};

impl MeasuresPlan {
    /// True if the phase of this number is about a change of load or a fault, by the plan.
    pub(super) fn is_transient(&self, number: usize) -> bool {
        self.has_a_fault(number) || self.is_less_than_before(number) || self.is_a_spike(number)
    }

    /// A fault lies in it, or ends as it begins.
    fn has_a_fault(&self, number: usize) -> bool {
        let begins: f64 = self.phases[..number].iter().map(|phase| phase.seconds).sum();
        let ends = begins + self.phases[number].seconds;
        self.faults.iter().any(|&(at, until)| at < ends && until >= begins)
    }

    /// A recovery: the load before it was higher.
    fn is_less_than_before(&self, number: usize) -> bool {
        number > 0 && is_more(&self.phases[number - 1], &self.phases[number])
    }

    /// More load than before and after it. Each step of a sweep is no spike.
    fn is_a_spike(&self, number: usize) -> bool {
        let Some(next) = self.phases.get(number + 1) else { return false };
        let phase = &self.phases[number];
        number > 0 && is_more(phase, &self.phases[number - 1]) && is_more(phase, next)
    }
}

/// Both have one load of the same kind, and the first has more of it.
fn is_more(phase: &PlannedPhase, than: &PlannedPhase) -> bool {
    let loads = phase.load.zip(than.load);
    loads.is_some_and(|(load, than)| load.unit() == than.unit() && load.amount() > than.amount())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{LatencyObjective, PlannedLoad};

    fn plan(rates: &[f64], faults: &[(f64, f64)]) -> MeasuresPlan {
        let phase = |rate: &f64| PlannedPhase {
            name: rate.to_string(),
            seconds: 60.0,
            load: Some(PlannedLoad::RequestsPerS(*rate)),
            peak: None,
            steady: None,
        };
        let objective = LatencyObjective { percentile: 90.0, response_time_ms: 1000.0 };
        let phases = rates.iter().map(phase).collect();
        MeasuresPlan { objective, phases, faults: faults.to_vec(), capacity_per_s: None }
    }

    fn transient(rates: &[f64], faults: &[(f64, f64)]) -> Vec<bool> {
        let plan = plan(rates, faults);
        (0..rates.len()).map(|number| plan.is_transient(number)).collect()
    }

    #[test]
    fn a_spike_and_what_follows_it_are_about_the_change() {
        assert_eq!(transient(&[10.0, 90.0, 10.0, 10.0], &[]), [false, true, true, false]);
        assert_eq!(transient(&[10.0, 90.0], &[]), [false, false], "the last step of a sweep");
        assert_eq!(transient(&[10.0, 20.0, 30.0], &[]), [false, false, false]);
    }

    #[test]
    fn a_phase_with_a_fault_in_it_or_at_its_beginning_is_about_it() {
        assert_eq!(transient(&[10.0, 10.0, 10.0], &[(70.0, 80.0)]), [false, true, false]);
        // It ends at the border: the recovery is the next phase.
        assert_eq!(transient(&[10.0, 10.0, 10.0], &[(110.0, 120.0)]), [false, true, true]);
    }

    #[test]
    fn loads_of_two_kinds_or_that_change_are_not_compared() {
        let mut plan = plan(&[10.0, 90.0, 10.0], &[]);
        plan.phases[1].load = Some(PlannedLoad::Users(1000));
        assert!(!plan.is_transient(1) && !plan.is_transient(2));
        plan.phases[1].load = None;
        assert!(!plan.is_transient(2));
    }
}
