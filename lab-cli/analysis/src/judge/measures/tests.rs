//! Made arms, second by second.

use std::collections::BTreeMap;

use super::*;
use crate::{
    live::TargetSecond,
    summary::{Curve, LatencyObjective, Measured, PlannedLoad, Recovery, Server, Times, Validity},
};

const OBJECTIVE: LatencyObjective = LatencyObjective { percentile: 90.0, response_time_ms: 1000.0 };

pub(super) fn planned(name: &str, seconds: u32, per_s: f64) -> PlannedPhase {
    PlannedPhase {
        name: name.to_owned(),
        seconds: f64::from(seconds),
        load: Some(PlannedLoad::RequestsPerS(per_s)),
        peak: None,
        steady: None,
    }
}

/// 20 s of 50 requests a second, 10 s of 200, and so many of 50.
pub(super) fn plan(after: u32) -> MeasuresPlan {
    let phases = vec![planned("before", 20, 50.0), planned("spike", 10, 200.0), planned("after", after, 50.0)];
    MeasuresPlan { objective: OBJECTIVE, phases, faults: Vec::new(), capacity_per_s: None }
}

/// An arm of that plan: in each second so many are in time, and the others of those that come are late.
pub(super) fn run(plan: &MeasuresPlan, in_time: impl Fn(u32) -> u64) -> (Arm, Vec<TimelineSecond>) {
    let (mut seconds, mut phases) = (Vec::new(), Vec::new());
    for planned in &plan.phases {
        for _ in 0..planned.seconds as u32 {
            let second = seconds.len() as u32;
            let offered = planned.load.map_or(0.0, PlannedLoad::amount) as u64;
            let goodput = in_time(second);
            let (served, served_late) = (goodput, offered.saturating_sub(goodput));
            let phase = planned.name.clone();
            let target = TargetSecond { answered: served + served_late, ..TargetSecond::default() };
            seconds.push(TimelineSecond {
                second,
                phase,
                planned: offered,
                offered,
                sent: offered,
                goodput,
                served,
                served_late,
                target: Some(target),
                ..TimelineSecond::default()
            });
        }
        phases.push(PhaseSummary { name: planned.name.clone(), seconds: planned.seconds, ..PhaseSummary::default() });
    }
    (Arm { policy: "none".to_owned(), phases, ..Arm::default() }, seconds)
}

fn recovery(plan: &MeasuresPlan, in_time: impl Fn(u32) -> u64) -> Option<Recovery> {
    let (mut arm, seconds) = run(plan, in_time);
    fill_in(&mut arm, &seconds, plan);
    arm.phases.pop()?.measures.recovery
}

#[test]
fn a_service_that_is_well_at_once_recovers_in_no_time() {
    let found = recovery(&plan(60), |_| 50).expect("a spike");
    assert_eq!((found.from.as_str(), found.trigger_s, found.goodput_before_per_s), ("spike", 10.0, 50.0));
    assert_eq!((found.after_s, found.after_s_at_least, found.verdict.as_str()), (Some(0.0), None, "recovered"));
}

#[test]
fn the_first_second_from_which_it_stays_well_counts() {
    // Bad until second 35, well for three seconds, bad again until 42, then well.
    let found = recovery(&plan(60), |s| if s < 30 || (35..38).contains(&s) || s >= 42 { 50 } else { 5 });
    let found = found.expect("a spike");
    assert_eq!((found.after_s, found.verdict.as_str()), (Some(12.0), "recovered"));
    assert_eq!(found.watch_needed_s, 60.0);
}

#[test]
fn a_bad_state_that_stays_is_metastable_once_it_was_watched_for_long() {
    let bad = |s: u32| if s < 30 { 50 } else { 5 };
    let found = recovery(&plan(60), bad).expect("a spike");
    assert_eq!((found.after_s, found.after_s_at_least), (None, Some(51.0)));
    assert_eq!((found.verdict.as_str(), found.goodput_at_end_per_s, found.retries), ("metastable", 5.0, false));
    let short = recovery(&plan(59), bad).expect("a spike");
    assert_eq!(short.verdict, "undecided");
    // Long against the trigger as well: 6 * 20 s.
    let mut long = plan(100);
    long.phases[1].seconds = 20.0;
    let found = recovery(&long, |s| if s < 40 { 50 } else { 5 }).expect("a spike");
    assert_eq!((found.watch_needed_s, found.verdict.as_str()), (120.0, "undecided"));
}

#[test]
fn goodput_alone_is_not_well_while_the_objective_is_broken() {
    // 48 of 50 are within 95 % and within the 90th percentile; 47 are not the former.
    assert_eq!(recovery(&plan(60), |s| if s < 30 { 50 } else { 48 }).expect("a spike").after_s, Some(0.0));
    assert_eq!(recovery(&plan(60), |s| if s < 30 { 50 } else { 47 }).expect("a spike").after_s, None);
    let plan = plan(60);
    let (mut arm, mut seconds) = run(&plan, |_| 50);
    // As much goodput, and many more that time out.
    seconds.iter_mut().skip(30).for_each(|second| second.timed_out = 6);
    fill_in(&mut arm, &seconds, &plan);
    let found = arm.phases[2].measures.recovery.clone().expect("a spike");
    assert_eq!(
        (found.after_s, found.verdict.as_str()),
        (None, "undecided"),
        "goodput is there, and users wait in vain"
    );
}

#[test]
fn a_sweep_a_ramp_or_another_load_afterwards_is_no_spike() {
    let mut other = plan(60);
    other.phases[2].load = Some(PlannedLoad::RequestsPerS(60.0));
    assert_eq!(recovery(&other, |_| 50), None);
    other.phases[2].load = None;
    assert_eq!(recovery(&other, |_| 50), None);
    let mut lower = plan(60);
    lower.phases[1].load = Some(PlannedLoad::RequestsPerS(10.0));
    assert_eq!(recovery(&lower, |_| 50), None);
    let mut idle = plan(60);
    idle.phases[0].load = Some(PlannedLoad::RequestsPerS(0.0));
    idle.phases[2].load = idle.phases[0].load;
    assert_eq!(recovery(&idle, |_| 0), None, "nothing is normal");
}

#[test]
fn an_arm_that_serves_next_to_nothing_in_calm_recovers_from_nothing() {
    // 5 of 50 before, and again afterwards: refused, so that no objective is broken.
    let plan = plan(60);
    let (mut arm, mut seconds) = run(&plan, |_| 5);
    seconds.iter_mut().for_each(|second| second.rejected = std::mem::take(&mut second.served_late));
    fill_in(&mut arm, &seconds, &plan);
    let found = arm.phases[2].measures.recovery.clone().expect("a spike");
    assert_eq!((found.goodput_before_per_s, found.normal_per_s), (5.0, 45.0));
    assert_eq!((found.after_s, found.verdict.as_str()), (None, "metastable"));
    // What the objective lets be late is no loss: 46 of 50 in calm, and 45 afterwards.
    let within = recovery(&plan, |s| if s < 30 { 46 } else { 45 }).expect("a spike");
    assert_eq!((within.after_s, within.normal_per_s), (Some(0.0), 46.0));
}

/// The plan of arms with this load in calm, and each arm's goodput, of what its users ask for, in each second; held against the first arm.
fn held_against_the_first(
    load: PlannedLoad,
    offered: &dyn Fn(usize, u32) -> u64,
    in_time: [&dyn Fn(u32) -> u64; 2],
) -> [Recovery; 2] {
    let mut plan = plan(20);
    (plan.phases[0].load, plan.phases[2].load) = (Some(load), Some(load));
    plan.phases[1].load = Some(match load {
        PlannedLoad::Users(users) => PlannedLoad::Users(10 * users),
        other => PlannedLoad::RequestsPerS(4.0 * other.amount()),
    });
    let mut arms: Vec<Arm> = Vec::new();
    for (number, in_time) in in_time.into_iter().enumerate() {
        let (mut arm, mut seconds) = run(&plan, in_time);
        for second in &mut seconds {
            second.offered = offered(number, second.second);
            second.planned = second.offered;
            second.rejected = second.offered.saturating_sub(second.served);
            second.served_late = 0;
        }
        fill_in(&mut arm, &seconds, &plan);
        arm.name = ["none", "other"][number].to_owned();
        arms.push(arm);
    }
    hold_against(&mut arms, "none", OBJECTIVE);
    let found = arms.into_iter().filter_map(|mut arm| arm.phases.pop()?.measures.recovery);
    found.collect::<Vec<_>>().try_into().expect("two recoveries")
}

#[test]
fn an_arm_whose_users_asked_for_less_in_calm_is_held_against_the_baselines_calm() {
    // Three users who wait. The arm serves 41/s in its cold start, where the baseline serves 75/s, and 2, 0, 27, 42, 74/s after the spike.
    let users = PlannedLoad::Users(3);
    let climbs = |s: u32| match s {
        0..30 => 41,
        30..34 => [2, 0, 27, 42][s as usize - 30],
        _ => 74,
    };
    let calm = |_: u32| 75;
    let asked = move |arm: usize, s: u32| if arm == 0 { 75 } else { climbs(s) };
    let [_, found] = held_against_the_first(users, &asked, [&calm, &climbs]);
    assert_eq!((found.goodput_before_per_s, found.normal_per_s), (41.0, 75.0));
    assert_eq!((found.after_s, found.verdict.as_str()), (Some(4.0), "recovered"), "not in the second of 0/s");
}

#[test]
fn two_arms_that_serve_the_same_after_a_trigger_recover_alike() {
    // 53 to 73/s from the second second on: to the arm that served 75/s in calm, and to the one that served 41/s.
    let users = PlannedLoad::Users(3);
    let after = |s: u32, before: u64| if s < 30 { before } else { 53 + u64::from(s % 5) * 5 };
    let (quick, cold) = (move |s: u32| after(s, 75), move |s: u32| after(s, 41));
    let asked = move |arm: usize, s: u32| if arm == 0 { quick(s) } else { cold(s) };
    let [baseline, other] = held_against_the_first(users, &asked, [&quick, &cold]);
    assert_eq!((baseline.after_s, baseline.verdict.as_str()), (None, "undecided"));
    assert_eq!((other.after_s, other.verdict.as_str()), (None, "undecided"));
}

#[test]
fn an_arm_that_serves_11_of_120_in_calm_does_not_recover_by_doing_so_again() {
    let (all, few) = (|_: u32| 120, |_: u32| 11);
    let [baseline, pid] = held_against_the_first(PlannedLoad::RequestsPerS(120.0), &|_, _| 120, [&all, &few]);
    assert_eq!((baseline.after_s, baseline.normal_per_s), (Some(0.0), 120.0));
    assert_eq!((pid.after_s, pid.goodput_before_per_s, pid.normal_per_s), (None, 11.0, 120.0));
}

#[test]
fn well_for_a_while_is_not_recovered() {
    // Well for fifteen seconds, then bad until 70.
    let found = recovery(&plan(60), |s| if (45..70).contains(&s) { 20 } else { 50 }).expect("a spike");
    assert_eq!((found.after_s, found.verdict.as_str()), (Some(40.0), "recovered"));
}

#[test]
fn faults_within_one_load_are_triggers_too() {
    let mut plan = plan(60);
    plan.phases.truncate(1);
    plan.phases[0].seconds = 200.0;
    plan.faults = vec![(20.0, 25.0), (100.0, 110.0)];
    let bad = |s: u32| if (20..30).contains(&s) || s >= 100 { 5 } else { 50 };
    let found = recovery(&plan, bad).expect("two faults, the last of which counts");
    assert_eq!((found.from.as_str(), found.trigger_s, found.watched_s), ("fault", 10.0, 90.0));
    assert_eq!((found.goodput_before_per_s, found.verdict.as_str()), (50.0, "metastable"));
}

#[test]
fn a_fault_that_fills_a_phase_is_a_trigger_too() {
    // 20 s of 50/s, 10 s of fault, 60 s; bad until 34 s.
    let mut plan = plan(60);
    plan.phases[1].load = plan.phases[0].load;
    plan.faults = vec![(20.0, 30.0)];
    let found = recovery(&plan, |s| if (20..34).contains(&s) { 5 } else { 50 }).expect("a fault");
    assert_eq!((found.from.as_str(), found.trigger_s, found.goodput_before_per_s), ("fault", 10.0, 50.0));
    assert_eq!((found.after_s, found.verdict.as_str(), found.watched_s), (Some(4.0), "recovered", 60.0));
    // The next fault ends the watch, and counts for itself.
    plan.faults.push((60.0, 61.0));
    let found = recovery(&plan, |s| if (20..60).contains(&s) { 5 } else { 50 }).expect("two faults");
    assert_eq!((found.trigger_s, found.watched_s), (1.0, 29.0));
    plan.faults = vec![(20.0, 28.0)];
    assert_eq!(recovery(&plan, |_| 50), None, "nothing was before it in its phase");
}

#[test]
fn where_the_run_begins_with_the_fault_normal_is_what_the_objective_promises() {
    let mut plan = plan(60);
    plan.phases.remove(0);
    plan.phases[0].load = plan.phases[1].load;
    plan.faults = vec![(0.0, 10.0)];
    // Normal is 45 of 50, of which 95 % are enough: 43, but nine of ten that are waited for must be in time.
    let found = |well: u64| recovery(&plan, |s| if s < 17 { 5 } else { well }).expect("a fault");
    assert_eq!((found(45).after_s, found(45).normal_per_s, found(45).goodput_before_per_s), (Some(7.0), 45.0, 0.0));
    assert_eq!(found(44).after_s, None);
}

#[test]
fn retries_are_told_since_without_them_nothing_keeps_a_bad_state_alive() {
    let plan = plan(60);
    let (mut arm, mut seconds) = run(&plan, |_| 50);
    seconds[25].planned += 1;
    fill_in(&mut arm, &seconds, &plan);
    assert!(arm.phases[2].measures.recovery.as_ref().is_some_and(|found| found.retries));
}

#[test]
fn late_answers_and_those_to_nobody_are_wasted() {
    let plan = plan(20);
    let (mut arm, mut seconds) = run(&plan, |_| 40);
    // In the first phase 10 of 50 a second are late, and two more are done for nobody.
    seconds.iter_mut().take(20).filter_map(|second| second.target.as_mut()).for_each(|target| target.client_gone = 2);
    arm.phases[0].measured.served_late = 200;
    arm.server = Some(Server { served: 900, client_gone: 100, ..Server::default() });
    fill_in(&mut arm, &seconds, &plan);
    let found = arm.phases[0].measures.wasted.expect("the service told");
    assert!((found - 12.0 / 52.0).abs() < 1e-12, "{found}");
    assert_eq!(arm.wasted, Some(0.3));
    seconds.iter_mut().for_each(|second| second.target = None);
    fill_in(&mut arm, &seconds, &plan);
    assert_eq!(arm.phases[0].measures.wasted, None, "unknown is not nothing");
}

#[test]
fn classes_are_served_fairly_by_what_each_wanted() {
    let plan = plan(20);
    let class = |offered_per_s, goodput_per_s| Measured { offered_per_s, goodput_per_s, ..Measured::default() };
    let fairness = |classes: &[Measured]| {
        let (mut arm, seconds) = run(&plan, |_| 50);
        let named = classes.iter().enumerate().map(|(n, class)| (n.to_string(), class.clone()));
        arm.phases[0].by_class = named.collect::<BTreeMap<_, _>>();
        fill_in(&mut arm, &seconds, &plan);
        arm.phases[0].measures.class_fairness
    };
    assert_eq!(fairness(&[class(10.0, 5.0), class(90.0, 45.0)]), Some(1.0));
    assert_eq!(fairness(&[class(10.0, 10.0), class(90.0, 0.0)]), Some(0.5));
    assert_eq!(fairness(&[class(10.0, 10.0)]), None);
    assert_eq!(fairness(&[class(10.0, 0.0), class(10.0, 0.0)]), None);
}

#[test]
fn a_phase_of_one_load_says_whether_it_settled_and_a_ramp_does_not() {
    let mut plan = plan(60);
    plan.phases[2].steady = Some(true);
    plan.phases[1].load = None;
    let (mut arm, seconds) = run(&plan, |_| 50);
    fill_in(&mut arm, &seconds, &plan);
    let steady: Vec<_> = arm.phases.iter().map(|phase| phase.measures.steadiness.map(|found| found.declared)).collect();
    assert_eq!(steady, [Some(None), None, Some(Some(true))]);
    assert_eq!(arm.conditions.sent_per_s_max, 50.0);
}

/// Three loads, in this many blocks; goodput falls with the load, and with the block.
fn sweep(policy: &str, blocks: u32) -> Vec<Arm> {
    let point = |load: f64, block: u32| {
        let measured = Measured {
            offered_per_s: load,
            goodput_per_s: 100.0 - load / 10.0 - f64::from(block),
            reject_fraction: load / 1000.0,
            response_time_ms: Times { p99: Some(load + f64::from(block)), ..Times::default() },
            ..Measured::default()
        };
        let measures = Measures { load: Some(PlannedLoad::RequestsPerS(load)), ..Measures::default() };
        PhaseSummary { name: format!("at-{load}"), seconds: 10.0, measured, measures, ..PhaseSummary::default() }
    };
    let arm = |block| Arm {
        policy: policy.to_owned(),
        block,
        phases: [200.0, 50.0, 100.0].into_iter().map(|load| point(load, block)).collect(),
        ..Arm::default()
    };
    (1..=blocks).map(arm).collect()
}

#[test]
fn a_sweep_gives_a_curve_an_arm_in_order_of_the_load() {
    let found = curves(&[sweep("none", 3), sweep("seda", 3)].concat());
    assert_eq!(found.iter().map(|curve| curve.arm.as_str()).collect::<Vec<_>>(), ["none", "seda"]);
    let points: Vec<_> = found[0].points.iter().map(|point| (point.planned, point.goodput_per_s)).collect();
    assert_eq!(points, [(50.0, 93.0), (100.0, 88.0), (200.0, 78.0)], "the middle block");
    let last = &found[0].points[2];
    assert_eq!((last.blocks, last.goodput_range, last.p99_ms), (3, [77.0, 79.0], Some(202.0)));
    assert_eq!((last.phase.as_str(), last.reject_fraction), ("at-200", 0.2));
}

#[test]
fn what_time_outs_hide_stays_a_bound_in_the_median() {
    let hidden = |which: &[u32]| {
        let mut arms = sweep("none", 3);
        for arm in arms.iter_mut().filter(|arm| which.contains(&arm.block)) {
            let times = &mut arm.phases[0].measured.response_time_ms;
            *times = Times { p99_at_least: times.p99, ..Times::default() };
        }
        let last = curves(&arms)[0].points[2].clone();
        (last.p99_ms, last.p99_at_least_ms)
    };
    assert_eq!(hidden(&[3]), (Some(202.0), None), "longer than the middle, however long");
    assert_eq!(hidden(&[1]), (None, Some(202.0)), "it may be the longest");
    let mut unknown = sweep("none", 2);
    unknown[0].phases[0].measured.response_time_ms = Times::default();
    let last = &curves(&unknown)[0].points[2];
    assert_eq!((last.p99_ms, last.p99_at_least_ms), (None, None));
}

#[test]
fn invalid_blocks_are_left_out_and_two_loads_are_no_curve() {
    let mut arms = sweep("none", 3);
    arms[1].verdict = Validity::Invalid;
    assert_eq!(curves(&arms)[0].points[0].blocks, 2);
    let mut two = sweep("none", 1);
    two[0].phases.pop();
    assert_eq!(curves(&two), Vec::<Curve>::new());
    let mut mixed = sweep("none", 1);
    mixed[0].phases[0].measures.load = Some(PlannedLoad::Users(7));
    assert_eq!(curves(&mixed), Vec::<Curve>::new(), "users and requests a second have no common axis");
}
