//! Made runs: a spike between two calms, in one block and in eight.

use super::*;
use crate::summary::{
    ArmVerdictWord, Collapse, Comparison, ComparisonVerdict, GateFinding, LatencyObjective, Measured, Measures,
    PlannedLoad, Recovery, Times, Validity,
};

fn phase(name: &str, role: PhaseRole, load: f64, goodput: f64, p90: Option<f64>) -> PhaseSummary {
    let response_time_ms = Times {
        p90,
        p90_at_least: p90.is_none().then_some(500.0),
        p99: p90.map(|p90| 2.0 * p90),
        p99_at_least: p90.is_none().then_some(500.0),
        ..Times::default()
    };
    PhaseSummary {
        name: name.to_owned(),
        seconds: 30.0,
        measures: Measures { role: Some(role), load: Some(PlannedLoad::RequestsPerS(load)), ..Measures::default() },
        measured: Measured {
            planned: 100,
            sent: 100,
            offered_per_s: load,
            goodput_per_s: goodput,
            response_time_ms,
            ..Measured::default()
        },
        ..PhaseSummary::default()
    }
}

/// Without control the spike is the end; with it goodput stays, and calm costs a tenth.
fn block(block: u32) -> [Arm; 2] {
    let noise = f64::from(block) / 10.0;
    let mut none = [
        phase("before", PhaseRole::Calm, 70.0, 70.0, Some(20.0)),
        phase("spike", PhaseRole::Overload, 200.0, 2.0 + noise, None),
        phase("later", PhaseRole::After, 70.0, 1.0, None),
    ];
    none[1].measures.collapse = Some(Collapse { after_s: 5.0, goodput_per_s: 0.25, peak_per_s: 98.0 });
    let metastable = Recovery {
        from: "spike".to_owned(),
        after_s_at_least: Some(81.0),
        verdict: "metastable".to_owned(),
        ..Recovery::default()
    };
    none[2].measures.recovery = Some(metastable);
    let mut kept = [
        phase("before", PhaseRole::Calm, 70.0, 63.0, Some(20.0)),
        phase("spike", PhaseRole::Overload, 200.0, 95.0 + noise, Some(54.0)),
        phase("later", PhaseRole::After, 70.0, 69.0, Some(20.0)),
    ];
    kept[1].measured.reject_fraction = 0.5;
    kept[1].of_oracle = Some(0.9);
    let recovered = Recovery { after_s: Some(4.0), verdict: "recovered".to_owned(), ..Recovery::default() };
    kept[2].measures.recovery = Some(recovered);
    let arm = |policy: &str, phases: [PhaseSummary; 3]| Arm {
        policy: policy.to_owned(),
        block,
        valid: true,
        phases: phases.to_vec(),
        ..Arm::default()
    };
    [arm("none", none), arm("gradient2", kept)]
}

fn run(blocks: u32) -> RunSummary {
    let comparison = Comparison {
        metric: "goodput_per_s".to_owned(),
        phase: "spike".to_owned(),
        baseline: "none".to_owned(),
        policy: "gradient2".to_owned(),
        verdict: ComparisonVerdict::Better,
        primary: true,
        ratio: Some(40.0),
        interval: Some([35.0, 45.0]),
        blocks,
        ..Comparison::default()
    };
    RunSummary {
        valid: true,
        objective: LatencyObjective { percentile: 90.0, response_time_ms: 500.0 },
        arms: (1..=blocks).flat_map(block).collect(),
        comparisons: vec![comparison],
        ..RunSummary::default()
    }
}

fn answered(summary: &RunSummary) -> RunAnswer {
    answer(summary, &["none", "gradient2"].map(str::to_owned), &[], None)
}

#[test]
fn each_arm_has_a_sentence_that_can_be_repeated() {
    let said: Vec<_> = answered(&run(8)).arms.into_iter().filter_map(|arm| arm.sentence).collect();
    assert_eq!(
        said,
        [
            "Without control: goodput collapses under overload after 5 s, from 98/s to 0.2/s; does not recover within 81.0 s (metastable).",
            "gradient2: keeps 96/s at p90 54 ms under overload, 50 % rejected; recovers in 4.00 s; 10 % less in calm.",
        ]
    );
}

#[test]
fn rejects_in_calm_are_a_cost_also_where_goodput_is_the_same() {
    let calm = |goodput, rejected| {
        let mut summary = run(1);
        let before = &mut summary.arms[1].phases[0].measured;
        (before.goodput_per_s, before.reject_fraction) = (goodput, rejected);
        answered(&summary).arms.remove(1).sentence.expect("a sentence")
    };
    assert!(calm(70.0, 0.0).ends_with("; costs nothing in calm."), "{}", calm(70.0, 0.0));
    assert!(calm(70.0, 0.13).ends_with("; as much in calm, 13 % rejected."), "{}", calm(70.0, 0.13));
    assert!(calm(63.0, 0.13).ends_with("; 10 % less in calm, 13 % rejected."), "{}", calm(63.0, 0.13));
}

#[test]
fn figures_are_medians_over_blocks_with_their_intervals() {
    let summary = run(8);
    let found = answered(&summary);
    assert_eq!(found.baseline, "none");
    let titles: Vec<_> = found.columns.iter().map(|column| (column.title(), column.phase.as_str())).collect();
    assert_eq!(titles, [("calm", "before"), ("overload", "spike"), ("after", "later")]);
    let [none, kept] = &found.arms[..] else { panic!("two arms") };
    let spike = kept.columns[1].as_ref().expect("figures").goodput_per_s;
    assert_eq!((spike.median, spike.interval, spike.blocks), (95.5, Some([95.1, 95.8]), 8));
    let hidden = none.columns[1].as_ref().and_then(|figures| figures.p99_ms).expect("a bound");
    assert!(hidden.at_least && hidden.open && hidden.median == 500.0, "{hidden:?}");
    assert_eq!((none.verdict.word, kept.verdict.word), (ArmVerdictWord::Baseline, ArmVerdictWord::Better));
    let recovery = none.recovery.as_ref().expect("it was watched");
    assert_eq!((recovery.metastable, recovery.recovered, recovery.after_s.at_least), (8, 0, true));
    insta::assert_snapshot!(table::table(&found).to_text() + &(table::caption(&found, &summary).join("\n") + "\n"));
}

#[test]
fn a_block_that_is_invalid_or_was_touched_is_no_part_of_it() {
    let mut summary = run(3);
    summary.arms[3].verdict = Validity::Invalid;
    summary.arms[3].phases[1].measured.goodput_per_s = 1.0;
    let found = answered(&summary);
    let spike = found.arms[1].columns[1].as_ref().expect("figures").goodput_per_s;
    assert_eq!((spike.blocks, spike.interval), (2, Some([95.1, 95.3])));
}

#[test]
fn an_invalid_run_has_figures_and_no_sentence() {
    let mut summary = run(1);
    summary.valid = false;
    summary.arms.iter_mut().for_each(|arm| arm.verdict = Validity::Invalid);
    let found = answered(&summary);
    assert!(found.arms.iter().all(|arm| arm.sentence.is_none() && arm.verdict.word == ArmVerdictWord::NotCompared));
    assert!(found.arms[0].columns[0].is_some());
}

#[test]
fn a_run_without_overload_has_a_column_a_phase_and_one_of_many_phases_the_one_compared() {
    let mut summary = run(1);
    let strip = |arm: &mut Arm| arm.phases.iter_mut().for_each(|phase| phase.measures.role = None);
    summary.arms.iter_mut().for_each(strip);
    let found = answered(&summary);
    assert_eq!(found.columns.iter().map(AnswerColumn::title).collect::<Vec<_>>(), ["before", "spike", "later"]);
    let kept = found.arms[1].sentence.as_deref();
    assert_eq!(kept, Some("gradient2: 95/s of 200/s offered in spike at p90 54 ms, 50 % rejected."));
    let more = |arm: &mut Arm| {
        let more = (0..2).map(|n| phase(&n.to_string(), PhaseRole::Calm, 1.0, 1.0, None));
        arm.phases.extend(more);
        strip(arm);
    };
    summary.arms.iter_mut().for_each(more);
    assert_eq!(answered(&summary).columns.iter().map(AnswerColumn::title).collect::<Vec<_>>(), ["spike"]);
}

#[test]
fn of_a_sweep_overload_is_its_highest_load_unless_another_is_compared() {
    let loads = [50.0, 80.0, 150.0, 300.0];
    let role = |load: f64| if load > 100.0 { PhaseRole::Overload } else { PhaseRole::Calm };
    let phases = loads.map(|load| phase(&format!("at-{load}"), role(load), load, load.min(90.0), Some(20.0)));
    let arm = Arm { policy: "none".to_owned(), block: 1, phases: phases.to_vec(), ..Arm::default() };
    let mut summary = RunSummary { valid: true, arms: vec![arm], ..RunSummary::default() };
    let order = ["none".to_owned()];
    let of = |summary: &RunSummary| -> Vec<String> {
        answer(summary, &order, &[], None).columns.into_iter().map(|column| column.phase).collect()
    };
    assert_eq!(of(&summary), ["at-80", "at-300"]);
    summary.comparisons = vec![Comparison { phase: "at-150".to_owned(), ..Comparison::default() }];
    assert_eq!(of(&summary), ["at-80", "at-150"]);
}

#[test]
fn classes_have_rows_of_their_own() {
    let mut summary = run(1);
    for arm in &mut summary.arms {
        for phase in &mut arm.phases {
            let of = |goodput_per_s| Measured { goodput_per_s, ..phase.measured.clone() };
            phase.by_class = [("0".to_owned(), of(7.0)), ("1".to_owned(), of(3.0))].into();
        }
    }
    let found = answered(&summary);
    let rows = table::table(&found).rows;
    let of: Vec<_> = rows.iter().filter(|row| row[0].contains("class")).map(|row| row[..3].to_vec()).collect();
    assert_eq!(of[..2], [["  class 0", "overload", "7.0"], ["  class 1", "overload", "3.0"]]);
    assert_eq!(rows.len(), 2 * (3 + 2));
}

#[test]
fn the_order_of_arms_says_where_blocks_do_not_tell_them_apart() {
    let named = |mut summary: RunSummary| {
        // A third arm: less than the best in the middle, and more in one block.
        let mut third: Vec<Arm> = summary.arms.iter().filter(|arm| arm.policy == "gradient2").cloned().collect();
        for arm in &mut third {
            arm.policy = "codel".to_owned();
            arm.phases[1].measured.goodput_per_s += if arm.block == 2 { 5.0 } else { -30.0 };
        }
        summary.arms.extend(third);
        answer(&summary, &["none", "codel", "gradient2"].map(str::to_owned), &[], None).order
    };
    let (one, eight) = (named(run(1)), named(run(8)));
    assert_eq!(
        one.as_deref(),
        Some(
            "Goodput under overload, most first: gradient2 95/s, codel 65/s, none 2.1/s; one block: chance may have ordered them."
        )
    );
    assert_eq!(
        eight.as_deref(),
        Some(
            "Goodput under overload, most first: gradient2 96/s, codel 66/s (~), none 2.5/s; ~: as much as gradient2, or more, in \
             some blocks."
        )
    );
    let two = answer(&run(8), &["none", "gradient2"].map(str::to_owned), &[], None);
    assert_eq!(
        two.order.as_deref(),
        Some("Goodput under overload, most first: gradient2 96/s, none 2.5/s; in every block.")
    );
    let hindsight = answer(&run(8), &["none", "gradient2"].map(str::to_owned), &["gradient2".to_owned()], None);
    assert_eq!(hindsight.order, None, "nothing to choose from");
    let mut invalid = run(8);
    invalid.valid = false;
    assert_eq!(answer(&invalid, &["none", "gradient2"].map(str::to_owned), &[], None).order, None);
}

#[test]
fn too_few_samples_for_p99_leave_the_highest_percentile_that_has_enough() {
    let mut summary = run(8);
    for arm in &mut summary.arms {
        for phase in &mut arm.phases {
            let times = &mut phase.measured.response_time_ms;
            (times.p99, times.p99_at_least) = (None, None);
        }
    }
    let found = answer(&summary, &["none", "gradient2"].map(str::to_owned), &[], None);
    let text = table::table(&found).to_text();
    assert!(text.contains("p90 20 ms [20 ms, 20 ms]") && text.contains("p90 >= 500 ms"), "{text}");
}

#[test]
fn the_headline_is_about_the_phase_that_the_file_names_or_the_longest_of_equal_loads_and_no_warm_up() {
    let phase = |name: &str, seconds: f64, offered_per_s: f64| PhaseSummary {
        name: name.to_owned(),
        seconds,
        measures: Measures { load: Some(PlannedLoad::RequestsPerS(80.0)), ..Measures::default() },
        measured: Measured { planned: 900, sent: 900, offered_per_s, goodput_per_s: 71.0, ..Measured::default() },
        ..PhaseSummary::default()
    };
    // By chance more came in the warm-up.
    let phases = vec![phase("warm", 20.0, 81.0), phase("load", 50.0, 79.0), phase("tail", 10.0, 80.0)];
    let summary = RunSummary {
        valid: true,
        arms: vec![Arm { policy: "none".to_owned(), block: 1, valid: true, phases, ..Arm::default() }],
        ..RunSummary::default()
    };
    let said = |phase| answer(&summary, &["none".to_owned()], &[], phase).arms.remove(0).sentence.expect("a sentence");
    assert!(said(None).contains("of 79/s offered in load"), "{}", said(None));
    assert!(said(Some("tail")).contains("of 80/s offered in tail"), "{}", said(Some("tail")));
}

#[test]
fn the_words_of_the_table_stand_below_it() {
    let mut summary = run(1);
    for arm in summary.arms.iter_mut().filter(|arm| arm.policy == "gradient2") {
        arm.name = "limited".to_owned();
    }
    summary.arms[0].phases[1].measured.reject_fraction = 0.2;
    summary.comparisons[0].policy = "limited".to_owned();
    summary.comparisons[0].more_blocks = Some(5);
    let found = answer(&summary, &["none", "limited"].map(str::to_owned), &[], None);
    let lines = table::caption(&found, &summary);
    let words = "arm: a setting under test; goodput: requests that were answered within 500 ms; limited: policy gradient2; what none \
                 rejects, the service rejects by itself, with a full queue for example";
    assert_eq!(lines[0], words);
    assert!(lines[2].starts_with(
        "block: one run of every arm, with the same users; this is one, which chance may have decided, and 6"
    ));
    let text = table::table(&found).to_text();
    assert!(text.contains("goodput in spike against none") && !text.contains("needed to decide"), "{text}");
    summary.reasons = vec![invalid("NOISE"), invalid("LAG")];
    assert!(no_conclusion(&summary).contains("this machine was too busy"));
    summary.reasons.push(invalid("LEDGER"));
    assert_eq!(no_conclusion(&summary), NO_CONCLUSION);
}

fn invalid(code: &str) -> GateFinding {
    let [arm, value, threshold, message, remedy] = [const { String::new() }; 5];
    GateFinding { code: code.to_owned(), verdict: Validity::Invalid, arm, value, threshold, message, remedy }
}
