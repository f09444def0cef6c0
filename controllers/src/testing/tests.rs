//! The operation model, run over the whole catalogue.

use std::time::Duration;

use proptest::prelude::*;

use super::{
    model::{check, every_build},
    settings, site,
};
use crate::Catalogue;

const TARGET: Duration = Duration::from_millis(50);

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_for_every_policy_and_the_same_operations_give_the_same_decisions(
        codes in prop::collection::vec(any::<u64>(), 0..600)
    ) {
        for (entry, settings, place) in every_build() {
            let site = site(place, TARGET);
            let first = check(entry, &settings, &site, &codes);
            prop_assert_eq!(first, check(entry, &settings, &site, &codes), "{} is not deterministic", entry.name);
        }
    }

    #[test]
    fn invariants_hold_with_classes_quick_decisions_and_signals(
        codes in prop::collection::vec(any::<u64>(), 0..600),
        preset in prop::sample::select(vec!["usits03", "usits03-as-coded", "ew02", "direct"]),
        samples in 1..20_u32,
        classes in 1..5_u32,
        empty_on_cut: bool,
    ) {
        let settings = settings([
            ("preset", preset.into()),
            ("samples", samples.into()),
            ("classes", classes.into()),
            ("empty_on_cut", empty_on_cut.into()),
            ("signal_upstream", true.into()),
            ("timeout", "5ms".into()),
        ]);
        let entry = Catalogue::find("seda").unwrap();
        check(entry, &settings, &site(entry.places[0], TARGET), &codes);
    }

    #[test]
    fn limits_are_kept(max in 1..6_u32, codes in prop::collection::vec(any::<u64>(), 0..300)) {
        for (name, key) in [("concurrency", "max"), ("connections", "max"), ("queue-length", "max")] {
            let entry = Catalogue::find(name).unwrap();
            check(entry, &settings([(key, max.into())]), &site(entry.places[0], TARGET), &codes);
        }
    }
}
