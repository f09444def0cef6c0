//! The operation model over compositions.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::{
    entry::CompositionRole,
    testing::model::{Transcript, check},
};

fn players(roles: &[CompositionRole], place: Place) -> Vec<&'static str> {
    let plays = |entry: &&'static crate::Entry| {
        entry.roles.iter().any(|role| roles.contains(role)) && entry.places.contains(&place)
    };
    Catalogue::built_in().entries().filter(plays).map(|entry| entry.name).collect()
}

/// Every composition that a place allows; `None`: no such part.
fn compositions(place: Place) -> Vec<Settings> {
    use CompositionRole::{Inflow, Limit, Queue, Select};
    let or_none = |names: Vec<&'static str>| names.into_iter().map(Some).chain([None]).collect::<Vec<_>>();
    let (limits, inflows) = (players(&[Limit], place), players(&[Inflow], place));
    let mut all = Vec::new();
    for limit in or_none(limits.iter().chain(&inflows).copied().collect()) {
        for select in or_none(players(&[Select], place)) {
            for queue in or_none(players(&[Queue], place)) {
                if queue.is_some() && limit.is_some_and(|limit| inflows.contains(&limit)) {
                    continue;
                }
                let named = [("limit", limit), ("select", select), ("queue", queue)];
                let parts = named.into_iter().filter_map(|(key, name)| Some((key, Setting::from(name?))));
                all.push(settings(parts));
            }
        }
    }
    all
}

fn run(composition: &Settings, place: Place, codes: &[u64]) -> Transcript {
    let entry = Catalogue::built_in().find("compose").expect("it is there");
    check(entry, composition, &site(place, TARGET), codes)
}

const PLACES: [Place; 4] = [Place::Stage, Place::Single, Place::Client, Place::Proxy];

#[test]
fn no_two_parts_of_a_composition_have_a_gauge_of_one_name() {
    let catalogue = Catalogue::built_in();
    let entry = catalogue.find("compose").unwrap();
    for place in PLACES {
        let all = compositions(place);
        assert!(all.len() > 10, "{place:?}: {}", all.len());
        for composition in all {
            // What cannot go together for another reason is not looked at.
            let Ok(factory) = catalogue.check(entry, Some(place), &composition) else { continue };
            let mut names = BTreeSet::new();
            factory.policy(&site(place, TARGET)).unwrap().gauges(&mut |gauge, _| {
                assert!(names.insert(gauge), "{composition:?} has two gauges {gauge:?}");
            });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_in_any_composition(
        place in prop::sample::select(PLACES.to_vec()),
        which in any::<prop::sample::Index>(),
        codes in prop::collection::vec(any::<u64>(), 0..400),
    ) {
        let all = compositions(place);
        let composition = which.get(&all);
        let entry = Catalogue::built_in().find("compose").unwrap();
        if Catalogue::built_in().check(entry, Some(place), composition).is_ok() {
            let first = run(composition, place, &codes);
            prop_assert_eq!(first, run(composition, place, &codes), "the same twice");
        }
    }

    #[test]
    fn a_small_limit_before_a_queue_holds(
        max in 1..4_u32,
        place in prop::sample::select(vec![Place::Stage, Place::Single, Place::Proxy]),
        queue in prop::sample::select(vec![
            "codel", "folly", "lifo", "fail-at-scale", "deadline", "fair-queue", "cheapest-first", "class-queues",
        ]),
        codes in prop::collection::vec(any::<u64>(), 0..400),
    ) {
        let composition =
            composition(&[("limit", part("concurrency", [("max", max.into())])), ("queue", queue.into())]);
        run(&composition, place, &codes);
    }

    #[test]
    fn a_limit_with_shares_holds_up_to_those_shares(
        limit in prop::sample::select(vec!["concurrency", "aimd", "vegas", "gradient2"]),
        place in prop::sample::select(PLACES.to_vec()),
        by in prop::sample::select(vec!["class", "customer", "kind", "user"]),
        share in 0.0..=0.5_f64,
        codes in prop::collection::vec(any::<u64>(), 0..400),
    ) {
        let max = if limit == "concurrency" { "max" } else { "limit_max" };
        let mut small = vec![(max, 6_u32.into())];
        if limit != "concurrency" {
            small.push(("limit_initial", 2_u32.into()));
        }
        if matches!(limit, "aimd" | "gradient2") {
            small.push(("limit_min", 1_u32.into()));
        }
        let shares = Setting::Map(settings([("1", share.into()), ("2", share.into())]));
        let parts = [("limit", part(limit, small)), ("shares", shares), ("share_by", by.into())];
        let (first, second) = (run(&composition(&parts), place, &codes), run(&composition(&parts), place, &codes));
        prop_assert_eq!(first, second);
    }

    #[test]
    fn a_composition_of_one_decides_as_its_part_alone(
        name in prop::sample::select(vec![
            "aimd", "vegas", "gradient2", "concurrency", "fixed-rate", "queue-length", "dagor", "utilization", "lifo", "codel",
        ]),
        codes in prop::collection::vec(any::<u64>(), 0..400),
    ) {
        let alone = Catalogue::built_in().find(name).unwrap();
        let codes: Vec<u64> = codes.into_iter().filter(|code| code % 100 != 88).collect(); // grants of a switch differ
        let parted = run(&composition(&[(alone.roles[0].key(), name.into())]), Place::Stage, &codes);
        let by_itself = check(alone, &Settings::new(), &site(Place::Stage, TARGET), &codes);
        // Cookies are the part's own business.
        let plain = |lines: Transcript| -> Vec<String> {
            lines.iter().map(|line| line.split("cookie").next().unwrap_or_default().to_owned()).collect()
        };
        prop_assert_eq!(plain(parted), plain(by_itself));
    }
}
