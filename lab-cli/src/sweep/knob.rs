//! The parameters of a policy that have a declared range, and where in it they are set.

use controllers::catalogue::{Param, ParamKind, Setting, Settings};
use experiment::plan::ArmPlan;
use installed::catalogue;

use super::Spread;

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
