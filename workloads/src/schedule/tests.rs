use std::time::Duration;

use super::*;
use crate::{plan::ArrivalLaw, testing::url_plan};

fn plan(phases: Vec<(u64, Vec<Load>)>) -> LoadPlan {
    let phase = |(n, (seconds, loads)): (usize, (u64, Vec<Load>))| Phase {
        name: format!("phase {n}"),
        duration: Duration::from_secs(seconds),
        loads,
    };
    LoadPlan { phases: phases.into_iter().enumerate().map(phase).collect(), ..url_plan(&[]) }
}

fn users(from: u32, to: u32, class: u8) -> Load {
    Load::Users { from, to, class: Class(class) }
}

/// Each event as a short line: second, what, user, account.
fn lines(plan: &LoadPlan) -> Vec<String> {
    Schedule::new(plan)
        .map(|event| {
            let at = event.at.as_secs_f64();
            match event.what {
                ScheduleChange::Phase(index) => format!("{at} phase {index}"),
                ScheduleChange::Arrive(a) => format!("{at} +{} account {} class {}", a.user, a.slot, a.class.0),
                ScheduleChange::Depart(user) => format!("{at} -{user}"),
                ScheduleChange::End => format!("{at} end"),
                ScheduleChange::Broken(why) => format!("{at} {why}"),
            }
        })
        .collect()
}

#[test]
fn a_spike_comes_in_a_moment_and_goes_at_once() {
    let plan = plan(vec![(10, vec![users(1, 1, 0)]), (5, vec![users(3, 3, 0)]), (5, vec![users(1, 1, 0)])]);
    assert_eq!(
        lines(&plan),
        [
            "0 phase 0",
            "0 +0 account 0 class 0",
            "10 phase 1",
            "10 +1 account 1 class 0",
            "10.0001 +2 account 2 class 0",
            "15 phase 2",
            "15 -2",
            "15 -1",
            "20 end"
        ]
    );
}

#[test]
fn a_later_user_takes_a_free_account() {
    let plan = plan(vec![(4, vec![users(2, 0, 0)]), (4, vec![users(0, 1, 1)])]);
    assert_eq!(
        lines(&plan),
        [
            "0 phase 0",
            "0 +0 account 0 class 0",
            "0.0001 +1 account 1 class 0",
            "1 -1",
            "3 -0",
            "4 phase 1",
            "6 +2 account 0 class 1",
            "8 end"
        ]
    );
}

#[test]
fn a_class_more_shifts_no_others_draws() {
    let keys = |loads: Vec<Load>, class: u8| -> Vec<(Timestamp, u64)> {
        Schedule::new(&plan(vec![(10, loads)]))
            .filter_map(|event| match event.what {
                ScheduleChange::Arrive(a) if a.class == Class(class) => Some((event.at, a.key)),
                _ => None,
            })
            .collect()
    };
    let open = Load::Requests { from_per_s: 5.0, to_per_s: 50.0, law: ArrivalLaw::Poisson, class: Class(1) };
    let alone = keys(vec![open.clone()], 1);
    assert!(alone.len() > 200, "{}", alone.len());
    assert_eq!(alone, keys(vec![open.clone(), users(0, 30, 0)], 1));
    assert_eq!(keys(vec![users(0, 30, 0)], 0), keys(vec![users(0, 30, 0), open], 0));
    let mut unique: Vec<u64> = alone.iter().map(|&(_, key)| key).collect();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), alone.len());
}

#[test]
fn events_come_in_order_and_the_digest_tells_plans_apart() {
    let loads = vec![
        users(5, 20, 0),
        Load::Sessions { from_per_s: 10.0, to_per_s: 0.0, law: ArrivalLaw::Constant, class: Class(2) },
    ];
    let mut plan = plan(vec![(10, loads.clone()), (3, loads)]);
    let events: Vec<ScheduledEvent> = Schedule::new(&plan).collect();
    assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at));
    assert_eq!(events, Schedule::new(&plan).collect::<Vec<_>>());

    let first = digest(&plan).expect("it is JSON");
    assert_eq!(first.len(), 64);
    assert_eq!(first, digest(&plan).expect("it is JSON"));
    plan.seed += 1;
    assert_ne!(first, digest(&plan).expect("it is JSON"));
}
