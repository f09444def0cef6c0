//! The parameters of a policy that have a declared range, where in it they are set, and the search for a setting (CMA-ES).

use controllers::{
    Seeded,
    catalogue::{Param, ParamKind, Setting, Settings},
    search::{Bounds, CmaEs},
};
use experiment::plan::ArmPlan;
use installed::catalogue;

use super::{BenchError, Spread};

/// A parameter that can be turned.
#[derive(Debug, Clone, PartialEq)]
pub struct Knob {
    pub name: String,
    pub spread: Spread,
    /// The value in the arm as it is: set, or by default; `None`: words stand in its place.
    pub value: Option<f64>,
}

/// All that the arm's policy has: numbers and times.
pub fn knobs(arm: &ArmPlan) -> Vec<Knob> {
    let Some(entry) = catalogue().find(&arm.policy.name) else { return Vec::new() };
    let preset = entry.preset(&arm.policy.settings).ok().flatten();
    let of_preset = preset.map(controllers::catalogue::Preset::settings).unwrap_or_default();
    let settings = &arm.policy.settings;
    let knob = |param: Param| {
        let spread = spread_of(&param)?;
        let value = set_to(&param, [settings, &of_preset]).and_then(|setting| number(&setting, &spread));
        Some(Knob { name: param.name.to_owned(), spread, value })
    };
    entry.params().into_iter().filter_map(knob).collect()
}

/// The declared range of a number or a time.
fn spread_of(param: &Param) -> Option<Spread> {
    let [from, to] = param.bounds?;
    match param.kind {
        ParamKind::Count => Some(Spread::of_numbers(from, to, true)),
        ParamKind::Number => Some(Spread::of_numbers(from, to, false)),
        ParamKind::Time => Some(Spread::of_times(from, to)),
        _ => None,
    }
    .filter(|spread| spread.from < spread.to)
}

fn set_to(param: &Param, settings: [&Settings; 2]) -> Option<Setting> {
    let set = settings.into_iter().find_map(|settings| settings.get(param.name));
    set.cloned().or_else(|| param.default.clone().ok())
}

fn number(setting: &Setting, spread: &Spread) -> Option<f64> {
    match setting {
        Setting::Number(number) => Some(*number),
        Setting::Text(text) => spread.read(text),
        _ => None,
    }
}

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

    #[test]
    fn numbers_and_times_have_their_declared_range_and_value() {
        let mut arm = ArmPlan::none();
        arm.policy.name = "gradient2".to_owned();
        arm.policy.settings.insert("limit_min".to_owned(), 7_u32.into());
        let found = knobs(&arm);
        let of =
            |name: &str| found.iter().find(|knob| knob.name == name).unwrap_or_else(|| panic!("{name}: {found:?}"));
        assert_eq!((of("limit_min").value, of("limit_min").spread.whole), (Some(7.0), true));
        assert_eq!((of("tolerance").value, of("tolerance").spread.to), (Some(1.5), 10.0));
        arm.policy.name = "codel".to_owned();
        arm.policy.settings.clear();
        let found = knobs(&arm);
        let target = found.iter().find(|knob| knob.name == "target").expect("it has one");
        assert!(target.value.is_some_and(|seconds| seconds > 0.0 && seconds < 1.0), "{target:?}");
        assert_eq!(target.spread.written(0.02), "20ms");
        arm.policy.name = "none".to_owned();
        assert_eq!(knobs(&arm), []);
    }
}

#[cfg(test)]
mod search_tests {
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
