//! Doubts about a plant file on this machine.

use analysis::{judge::gates, summary::Validity};
use experiment::plan::Simulation;
use spec::plant::PlantOrigin;

/// Doubts about using a plant file here. That which comes with the program is known, and judged in docs/fidelity.md.
pub fn doubts(simulation: &Simulation) -> gates::PlantDoubts {
    if !simulation.from_file {
        return gates::PlantDoubts::default();
    }
    let Some(origin) = &simulation.costs.measured_by else {
        return gates::PlantDoubts { unknown_origin: true, ..gates::PlantDoubts::default() };
    };
    let here = here();
    gates::PlantDoubts {
        unknown_origin: false,
        other_machine: (here.cores, &here.cpu) != (origin.cores, &origin.cpu),
        other_version: here.lab != origin.lab,
        not_valid: origin.verdict != here.verdict,
    }
}

/// This program on this machine.
pub(super) fn here() -> PlantOrigin {
    let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let values = |key: &'static str| {
        facts.lines().filter_map(move |line| line.split_once(':').filter(|(name, _)| name.trim() == key))
    };
    PlantOrigin {
        lab: env!("CARGO_PKG_VERSION").to_owned(),
        cores: values("processor").count() as u64,
        cpu: values("model name").next().map(|(_, value)| value.trim().to_owned()).unwrap_or_default(),
        verdict: Validity::Valid.word().to_owned(),
        reasons: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plant_of_this_machine_and_version_has_no_doubts() {
        let with = |measured_by| {
            let mut simulation = Simulation::default();
            (simulation.from_file, simulation.costs.measured_by) = (true, measured_by);
            simulation
        };
        let of = |change: fn(&mut PlantOrigin)| {
            let mut origin = here();
            change(&mut origin);
            doubts(&with(Some(origin)))
        };
        let none = gates::PlantDoubts::default();
        assert_eq!((of(|_| {}), doubts(&Simulation::default())), (none, none));
        assert!(of(|origin| origin.cpu = "another".to_owned()).other_machine);
        assert!(of(|origin| origin.lab = "0.0.1".to_owned()).other_version);
        assert!(of(|origin| origin.verdict = "WARN".to_owned()).not_valid);
        assert!(doubts(&with(None)).unknown_origin);
    }
}
