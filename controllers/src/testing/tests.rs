//! The operation model, run over the whole catalogue.

use std::time::Duration;

use proptest::prelude::*;

use super::{
    model::{check, every_build},
    settings, site,
};
use crate::{Catalogue, catalogue::Setting};

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
        let entry = Catalogue::built_in().find("seda").unwrap();
        check(entry, &settings, &site(entry.places[0], TARGET), &codes);
    }

    #[test]
    fn invariants_hold_with_usage_reports(codes in prop::collection::vec(any::<u64>(), 0..600), customers in 0..4_u32) {
        let limits = Setting::Map((0..customers).map(|customer| (customer.to_string(), 0.01.into())).collect());
        for name in ["quota", "sre"] {
            let entry = Catalogue::built_in().find(name).unwrap();
            let settings = [("report_usage", true.into()), ("report_every", "10ms".into()), ("limits", limits.clone())];
            check(entry, &super::settings(settings), &site(entry.places[0], TARGET), &codes);
        }
    }

    #[test]
    fn limits_are_kept(max in 1..6_u32, codes in prop::collection::vec(any::<u64>(), 0..300)) {
        for name in ["concurrency", "connections", "queue-length", "codel", "folly", "lifo", "fail-at-scale", "cheapest-first", "class-queues"] {
            let (entry, settings) = Catalogue::built_in().resolve(name, &settings([("max", max.into())])).unwrap();
            check(entry, &settings, &site(entry.places[0], TARGET), &codes);
        }
    }

    #[test]
    fn limits_that_adapt_are_kept(
        max in 1..6_u32,
        probe_multiplier in 1..3_u32,
        window in prop::sample::select(vec!["0ms", "10ms"]),
        codes in prop::collection::vec(any::<u64>(), 0..300),
    ) {
        for name in ["aimd", "vegas", "gradient2"] {
            let mut settings = settings([("window", window.into()), ("window_samples", 1_u32.into())]);
            settings.insert("limit_max".to_owned(), max.into());
            settings.insert("limit_initial".to_owned(), 1_u32.into());
            match name {
                "vegas" => settings.insert("probe_multiplier".to_owned(), probe_multiplier.into()),
                _ => settings.insert("limit_min".to_owned(), 1_u32.into()),
            };
            let entry = Catalogue::built_in().find(name).unwrap();
            check(entry, &settings, &site(entry.places[0], TARGET), &codes);
        }
    }

    #[test]
    fn invariants_hold_with_priorities_in_short_windows(
        business in prop::sample::select(vec!["criticality", "class", "kind"]),
        user in prop::sample::select(vec!["customer", "job"]),
        user_levels in 1..4_u32,
        window_jobs in 1..10_u32,
        codes in prop::collection::vec(any::<u64>(), 0..600),
    ) {
        let settings = settings([
            ("business", business.into()),
            ("user", user.into()),
            ("user_levels", user_levels.into()),
            ("window_jobs", window_jobs.into()),
            ("alpha", 0.5.into()),
            ("beta", 0.2.into()),
        ]);
        let entry = Catalogue::built_in().find("dagor").unwrap();
        check(entry, &settings, &site(entry.places[0], TARGET), &codes);
    }
}
