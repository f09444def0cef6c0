//! What the list promises, and what a person is told who writes something wrong.

use std::{collections::BTreeSet, time::Duration};

use super::*;
use crate::{
    Class, JobId, Offer, Place, Seat, SiteId, Tags, Timestamp, Verdict,
    entry::{CLASS_TIMES, OF_EVERY_ENTRY, ParamType, number},
    testing::{self, settings, site},
};

fn problems(name: &str, pairs: impl IntoIterator<Item = (&'static str, Setting)>) -> Vec<String> {
    let entry = Catalogue::built_in().find(name).unwrap();
    let problems = entry.check(&settings(pairs)).expect_err("this is wrong");
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn every_entry_has_a_name_of_its_own_and_says_what_it_is() {
    let mut names = BTreeSet::new();
    for entry in Catalogue::built_in().entries() {
        assert!(names.insert(entry.name), "{} is there twice", entry.name);
        for text in [entry.about, entry.caution, entry.source.title, entry.source.place] {
            assert!(!text.is_empty(), "{} says too little", entry.name);
        }
        assert!(!entry.places.is_empty(), "{} may sit nowhere", entry.name);
        let params = entry.params();
        let keys: BTreeSet<_> = params.iter().map(|param| param.name).collect();
        assert_eq!(keys.len(), params.len(), "{} has a parameter twice", entry.name);
        for param in params {
            assert!(!param.about.is_empty() && !param.source.is_empty(), "{}.{}", entry.name, param.name);
            assert!(!OF_EVERY_ENTRY.contains(&param.name), "{}.{} hides a common key", entry.name, param.name);
        }
        for deviation in entry.deviations {
            assert!(deviation.ends_with('.'), "{}: {deviation:?} is no sentence", entry.name);
        }
    }
}

#[test]
fn every_entry_is_built_from_its_defaults_and_presets_wherever_it_may_sit() {
    for (entry, settings, place) in crate::testing::model::every_build() {
        let factory = entry.check(&settings).unwrap_or_else(|problems| panic!("{}: {problems:?}", entry.name));
        let site = site(place, Duration::from_secs(1));
        assert_eq!(factory.policy(&site).is_some(), entry.is_policy());
        assert_eq!(factory.machine(&site).is_some(), !entry.is_policy());
    }
}

#[test]
fn defaults_lie_within_their_ranges() {
    // Written out, every default must pass the check that a person's values pass.
    for entry in Catalogue::built_in().entries() {
        for preset in entry.presets.iter().map(Some).chain([None]) {
            let written: Settings = entry
                .rows(preset)
                .into_iter()
                .filter(|row| !["the objective's", "none", "{}"].contains(&row.default.as_str()))
                .map(|row| (row.name.to_owned(), setting(&row.default)))
                .collect();
            entry.check(&written).unwrap_or_else(|problems| panic!("{}: {problems:?}", entry.name));
        }
    }
}

/// As a file would be read.
fn setting(text: &str) -> Setting {
    match (text.parse::<f64>(), text) {
        (Ok(number), _) => number.into(),
        (_, "true") => true.into(),
        (_, "false") => false.into(),
        _ => text.into(),
    }
}

#[test]
fn the_names_that_experiments_use_are_known() {
    for name in [
        "none",
        "seda",
        "usits03",
        "usits03-as-coded",
        "ew02",
        "direct",
        "pid",
        "mm1",
        "queue-threshold",
        "cheapest-first",
        "class-queues",
        "degrade",
        "fixed-rate",
        "concurrency",
        "queue-length",
        "red",
        "sessions",
        "connections",
        "throttle",
        "retry-budget",
        "sre-client",
        "utilization",
        "dont-retry",
        "quota",
        "sre",
        "aimd",
        "vegas",
        "gradient2",
        "codel",
        "folly",
        "lifo",
        "fail-at-scale",
        "dagor",
        "sentry",
        "thread-pool",
        "batching",
        "monitor",
        "quota-server",
    ] {
        assert!(Catalogue::built_in().resolve(name, &Settings::new()).is_ok(), "{name}");
        assert!(Catalogue::built_in().names().contains(&name), "{name}");
    }
}

#[test]
fn a_presets_name_alone_means_its_entry() {
    let (entry, resolved) = Catalogue::built_in().resolve("ew02", &settings([("depth", 3_u32.into())])).unwrap();
    assert_eq!((entry.name, &resolved["preset"], &resolved["depth"]), ("seda", &"ew02".into(), &3_u32.into()));
}

#[test]
fn names_that_mean_nothing_or_too_much_are_explained() {
    let said = |name| Catalogue::built_in().resolve(name, &Settings::new()).unwrap_err().to_string();
    assert_eq!(said("sedda"), "sedda: there is no such policy; did you mean seda?");
    let unknown = said("my-gradients");
    let known = Catalogue::built_in().names().len();
    // 4 edits of 12 characters: no slip, but near.
    let near = format!(
        "my-gradients: there is no such policy; near it are gradient, gradient2, envoy-gradient; lab policies lists all {known}"
    );
    assert_eq!(unknown, near);
    assert_eq!(said("zzzzzzzz"), format!("zzzzzzzz: there is no such policy; lab policies lists all {known}"));
    assert_eq!(
        said("as-coded"),
        "as-coded: more than one policy has this preset: write thread-pool: {preset: as-coded}"
    );
}

#[test]
fn a_preset_sets_defaults_that_other_keys_override() {
    let entry = Catalogue::built_in().find("seda").unwrap();
    let factory = entry.check(&settings([("preset", "direct".into()), ("depth", 4_u32.into())])).unwrap();
    assert_eq!(factory.setting("rate_initial"), Some(&10.0.into()), "from the preset");
    assert_eq!(factory.setting("depth"), Some(&4_u32.into()), "written");
    assert_eq!(factory.setting("samples"), Some(&100_u32.into()), "declared");
    assert_eq!(factory.setting("target"), None, "the run's objective");
    assert_eq!(factory.setting("sample"), None, "no parameter");
}

#[test]
fn a_number_may_carry_its_unit() {
    let rate = number(0.001..=10_000.0, 2.0).in_unit("/s");
    for (written, read) in [(12.5.into(), 12.5), ("12.5/s".into(), 12.5), ("40 /s".into(), 40.0)] {
        assert_eq!(rate.read(&written), Ok(read), "{written}");
    }
    assert_eq!(
        problems("seda", [("increase_by", "12.5ms".into())]),
        ["increase_by: expected a number, got \"12.5ms\""]
    );
    assert_eq!(
        problems("seda", [("increase_by", "-3/s".into())]),
        ["increase_by: -3 is out of range: 0.001 to 10000 /s"]
    );
}

#[test]
fn times_by_class_have_the_class_as_their_key() {
    let written = Setting::Map(settings([("01", "2s".into()), ("9", "1s".into())]));
    let (two, one) = (Duration::from_secs(2), Duration::from_secs(1));
    assert_eq!(CLASS_TIMES.read(&written), Ok([(Class(1), two), (Class(9), one)].into()));
}

#[test]
fn a_queue_discipline_holds_what_all_others_decide_at_once() {
    for entry in Catalogue::built_in().entries().filter(|entry| entry.is_policy()) {
        let policy = testing::policy(entry.name, &Settings::new(), Duration::from_secs(1));
        let mut seat = Seat::new(SiteId(1), policy, 1, Box::new(()));
        let offer = Offer { id: JobId(1), tags: Tags::default(), entered: Timestamp::ZERO, note: None };
        let held = seat.offer(Timestamp::ZERO, &offer) == Verdict::Hold;
        assert_eq!(held, entry.keeps_queue(), "{}", entry.name);
    }
}

#[test]
fn a_scope_chooses_the_place() {
    let entry = Catalogue::built_in().find("seda").unwrap();
    assert_eq!(entry.place(None), Ok(Place::Stage));
    let written = |scope: &str| PolicySpec::written("seda", settings([("scope", scope.into())]));
    assert_eq!(
        written("single"),
        PolicySpec { place: Some(Place::Single), ..PolicySpec::written("seda", Settings::new()) }
    );
    assert_eq!(entry.place(written("single").place), Ok(Place::Single));
    assert!(Catalogue::built_in().find("connections").unwrap().place(written("single").place).is_err());
    assert_eq!(written("elsewhere").place, None);
    assert_eq!(
        problems("connections", [("scope", "per-stage".into())]),
        ["scope: \"per-stage\" cannot be the scope of connections; it may be: accept"]
    );
}

#[test]
fn every_mistake_is_named_at_once() {
    let stages: Settings = settings([("search", "5".into()), ("login", "2h".into())]);
    assert_eq!(
        problems(
            "seda",
            [
                ("smooting", 0.5.into()),
                ("depth", 2.5.into()),
                ("rate_max", 1e9.into()),
                ("timeout", 5_u32.into()),
                ("decide", "often".into()),
                ("empty_on_cut", "no".into()),
                ("targets", Setting::Map(stages)),
                ("class_targets", Setting::Map(settings([("gold", "1s".into())]))),
                ("preset", "usits04".into()),
            ]
        ),
        [
            "preset: \"usits04\" is not a preset of seda; there are: usits03, usits03-as-coded, ew02, direct",
            "smooting: there is no such parameter; did you mean smoothing?",
            "targets.login: 2h is out of range: 1ms to 1h",
            "targets.search: \"5\" is not a time: write 20ms, 5s or 15m",
            "class_targets.gold: expected a user class, 0 to 9",
            "timeout: expected a duration with its unit (20ms, 5s, 15m), got 5",
            "rate_max: 1000000000 is out of range: 0.001 to 1000000 /s",
            "depth: 2.5 is not a whole number from 1 to 1000000",
            "empty_on_cut: expected true or false, got \"no\"",
            "decide: \"often\" is not one of: timer, after-batch",
        ]
    );
}

#[test]
fn values_that_contradict_each_other_are_named() {
    assert_eq!(
        problems("seda", [("rate_min", 10.0.into()), ("rate_max", 5.0.into())]),
        ["rate_initial: must lie between rate_min (10) and rate_max (5), not at 100"]
    );
    assert_eq!(
        problems("seda", [("increase_below", 0.0.into())]),
        ["increase_below: must be below decrease_above, or the rate would have to rise and fall at once"]
    );
    assert_eq!(problems("thread-pool", [("min", 30_u32.into())]), ["min: 30 is more than max (20)"]);
    assert_eq!(problems("none", [("max", 1_u32.into())]), ["max: this policy has no parameters"]);
}

#[test]
fn not_a_number_is_no_number() {
    assert_eq!(problems("seda", [("smoothing", f64::NAN.into())]), ["smoothing: NaN is out of range: 0 to 0.999"]);
    assert_eq!(
        problems("seda", [("depth", f64::INFINITY.into())]),
        ["depth: inf is not a whole number from 1 to 1000000"]
    );
}

#[test]
fn stages_that_targets_name_are_told_to_the_host() {
    let entry = Catalogue::built_in().find("seda").unwrap();
    let targets = Setting::Map(settings([("search", "5s".into())]));
    let factory = entry.check(&settings([("targets", targets)])).unwrap();
    assert_eq!(factory.stages().collect::<Vec<_>>(), [("targets", "search")]);
}

#[test]
fn times_are_read_as_they_are_written() {
    let written = [("20ms", 20), ("5s", 5000), ("1.5s", 1500), ("15m", 900_000), ("1h", 3_600_000)];
    for (text, ms) in written {
        assert_eq!(parse_time(text), Some(Duration::from_millis(ms)), "{text}");
    }
    for text in ["", "5", "s", "-1s", "1e3s", "5 weeks", "..s"] {
        assert_eq!(parse_time(text), None, "{text}");
    }
}

#[test]
fn the_parameter_table_shows_a_presets_defaults() {
    let entry = Catalogue::built_in().find("seda").unwrap();
    let preset = entry.presets.iter().find(|preset| preset.name == "usits03-as-coded");
    let row = |name: &str, preset| entry.rows(preset).into_iter().find(|row| row.name == name).unwrap();
    assert_eq!(row("depth", None).default, "10");
    assert_eq!(row("depth", preset).default, "1");
    assert_eq!((row("rate_min", None).unit, row("rate_min", None).range.as_str()), ("/s", "0.001 to 1000000"));
    assert_eq!(row("target", None).default, "the objective's");
}
