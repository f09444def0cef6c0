//! Roles of phases: calm, overload, a fault, or what comes after. By the plan alone, so that it is the same for all arms.

use super::plan::{MeasuresPlan, PlannedPhase};
use crate::summary::{PhaseRole, PlannedLoad};

/// Share of a known capacity up to which a load is calm: from there to the capacity queues grow long by chance alone.
const CALM: f64 = 0.9;
/// Multiple of the smallest load of the plan from which on a load is overload, where the capacity is not known.
const TIMES: f64 = 2.0;

/// Load of a phase, compared with what the service can do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Under,
    Over,
}

impl MeasuresPlan {
    /// The role of each phase; none has one where nothing is asked for too much and nothing fails.
    pub(super) fn roles(&self) -> Vec<Option<PhaseRole>> {
        let mut stressed = false;
        let mut begins = 0.0;
        let mut roles = Vec::new();
        for phase in &self.phases {
            let ends = begins + phase.seconds;
            let fault = self.faults.iter().any(|(at, _)| (begins..ends).contains(at));
            let role = match self.level(phase) {
                Some(Level::Over) => Some(PhaseRole::Overload),
                _ if fault => Some(PhaseRole::Fault),
                Some(Level::Under) if stressed => Some(PhaseRole::After),
                Some(Level::Under) => Some(PhaseRole::Calm),
                None => None,
            };
            stressed |= role.is_some_and(PhaseRole::is_stress);
            roles.push(role);
            begins = ends;
        }
        if stressed { roles } else { vec![None; roles.len()] }
    }

    /// `None`: near the capacity, or not to be compared.
    fn level(&self, phase: &PlannedPhase) -> Option<Level> {
        let load = most_of(phase)?;
        match (load, self.capacity_per_s) {
            (PlannedLoad::RequestsPerS(rate), Some(capacity)) if rate > capacity => Some(Level::Over),
            (PlannedLoad::RequestsPerS(rate), Some(capacity)) => (rate <= CALM * capacity).then_some(Level::Under),
            _ => {
                let alike = self.phases.iter().filter_map(most_of).filter(|other| other.unit() == load.unit());
                let least = alike.map(PlannedLoad::amount).filter(|amount| *amount > 0.0).fold(f64::INFINITY, f64::min);
                Some(if load.amount() >= TIMES * least { Level::Over } else { Level::Under })
            }
        }
    }
}

/// The highest load of a phase. Records of earlier versions have no peak.
fn most_of(phase: &PlannedPhase) -> Option<PlannedLoad> {
    phase.peak.or(phase.load)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::LatencyObjective;

    fn roles(loads: &[PlannedLoad], capacity_per_s: Option<f64>, faults: &[(f64, f64)]) -> Vec<Option<PhaseRole>> {
        let phase = |load: &PlannedLoad| PlannedPhase {
            name: format!("{load:?}"),
            seconds: 60.0,
            load: None,
            peak: Some(*load),
            steady: None,
        };
        let objective = LatencyObjective { percentile: 90.0, response_time_ms: 1000.0 };
        let phases = loads.iter().map(phase).collect();
        MeasuresPlan { objective, phases, faults: faults.to_vec(), capacity_per_s }.roles()
    }

    use PhaseRole::{After, Calm, Fault, Overload};

    #[test]
    fn a_rate_is_compared_with_the_capacity_where_that_is_known() {
        let of = |rates: &[f64], capacity| {
            roles(&rates.iter().map(|rate| PlannedLoad::RequestsPerS(*rate)).collect::<Vec<_>>(), capacity, &[])
        };
        assert_eq!(of(&[70.0, 200.0, 70.0], Some(100.0)), [Some(Calm), Some(Overload), Some(After)]);
        assert_eq!(of(&[20.0, 80.0, 95.0], Some(100.0)), [None; 3], "nothing is too much");
        assert_eq!(of(&[80.0, 95.0, 101.0], Some(100.0)), [Some(Calm), None, Some(Overload)], "95 is near it");
        // Of an unknown capacity, twice the least.
        assert_eq!(of(&[70.0, 139.0, 140.0, 70.0], None), [Some(Calm), Some(Calm), Some(Overload), Some(After)]);
        assert_eq!(of(&[70.0], None), [None]);
    }

    #[test]
    fn users_are_compared_with_each_other() {
        let users = [3, 1000, 3].map(PlannedLoad::Users);
        assert_eq!(roles(&users, Some(100.0), &[]), [Some(Calm), Some(Overload), Some(After)]);
        assert_eq!(roles(&[3, 4].map(PlannedLoad::Users), Some(100.0), &[]), [None; 2]);
    }

    #[test]
    fn a_fault_makes_its_phase_one_of_stress() {
        let rates = [70.0, 70.0, 70.0].map(PlannedLoad::RequestsPerS);
        assert_eq!(roles(&rates, Some(100.0), &[(70.0, 90.0)]), [Some(Calm), Some(Fault), Some(After)]);
        // It ends as the last phase begins.
        assert_eq!(roles(&rates, None, &[(60.0, 120.0)]), [Some(Calm), Some(Fault), Some(After)]);
    }
}
