//! The search for a setting: CMA-ES over the ranges of parameters, from where an arm has them.

use controllers::{
    Seeded,
    search::{Bounds, CmaEs},
};

use super::{BenchError, Knob};

/// The first deviation of the search, as a part of a range (Hansen's tutorial: 0.3 covers it).
const STEP: f64 = 0.3;

/// A search under way.
#[derive(Debug, Clone, Copy)]
pub struct KnobSearch<'a> {
    pub knobs: &'a [Knob],
    /// Settings that are tried.
    pub evaluations: u32,
    pub seed: u64,
}

impl KnobSearch<'_> {
    /// The setting of least cost; `None`: none has a finite one. `costs`: of a generation of settings, as files have their values.
    ///
    /// # Errors
    /// What keeps a generation from its costs ends the search.
    pub fn run(
        &self,
        mut costs: impl FnMut(&[Vec<String>]) -> Result<Vec<f64>, BenchError>,
    ) -> Result<Option<Vec<String>>, BenchError> {
        let start: Vec<f64> =
            self.knobs.iter().map(|knob| knob.value.map_or(0.5, |value| knob.spread.share(value))).collect();
        let mut failed = None;
        let mut of_points = |points: &[Vec<f64>]| {
            // After a stop, nothing more is run, and the search ends soon.
            if failed.is_some() {
                return vec![f64::INFINITY; points.len()];
            }
            let written: Vec<Vec<String>> = points.iter().map(|point| self.written(point)).collect();
            costs(&written).unwrap_or_else(|error| {
                failed = Some(error);
                vec![f64::INFINITY; points.len()]
            })
        };
        let search = CmaEs { step: STEP, evaluations: self.evaluations };
        let bounds = Bounds { least: 0.0, most: 1.0 };
        let found = search.minimise_side_by_side(&mut of_points, &start, bounds, &mut Seeded::new(self.seed));
        match failed {
            Some(error) => Err(error),
            None => Ok(found.value.is_finite().then(|| self.written(&found.at))),
        }
    }

    fn written(&self, point: &[f64]) -> Vec<String> {
        self.knobs.iter().zip(point).map(|(knob, share)| knob.spread.written(knob.spread.at(*share))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Spread;

    #[test]
    fn the_setting_of_least_cost_is_found_and_what_cannot_run_is_none() {
        let knob = Knob { name: "max".to_owned(), spread: Spread::of_numbers(1.0, 64.0, true), value: Some(60.0) };
        let search = KnobSearch { knobs: &[knob], evaluations: 60, seed: 1 };
        let off = |setting: &Vec<String>| (setting[0].parse::<f64>().expect("a number") - 7.0).abs();
        let found = search.run(|settings| Ok(settings.iter().map(off).collect())).expect("nothing fails");
        assert_eq!(found, Some(vec!["7".to_owned()]));
        let none = search.run(|settings| Ok(vec![f64::INFINITY; settings.len()])).expect("nothing fails");
        assert_eq!(none, None);
        search.run(|_| Err(BenchError::Stopped)).expect_err("it was stopped");
    }
}
