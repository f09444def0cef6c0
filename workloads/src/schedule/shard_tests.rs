//! The parts of a plan are the whole: event by event, and count by count.

use std::time::Duration;

use controllers::random::mix;
use measure::{Health, Report, ReportRecord};
use proptest::prelude::*;

use super::*;
use crate::{
    persona::Call,
    plan::{Account, ArrivalLaw, Behaviour, FailureRule, MailUsers, PlanItem, PlanStep, ScriptUsers, TestPlan, Users},
    replay::{Object, Pace, ReplaySession, ReplaySessions, ReplayStep, Texts},
    testing::{self, Mailboxes, Reaction, Response, url_plan},
};

fn shards(of: u32) -> impl Iterator<Item = Shard> {
    (1..=of).map(move |number| format!("{number}/{of}").parse().expect("a part"))
}

fn part(plan: &LoadPlan, shard: Shard) -> LoadPlan {
    LoadPlan { shard: Some(shard), ..plan.clone() }
}

/// Twelve recorded sessions of five users, of one step each.
fn recording() -> ReplaySessions {
    let step = ReplayStep {
        kind: controllers::Kind(0),
        at: Duration::ZERO,
        pause: Duration::from_millis(80),
        object: Object { folder: None, message: 1 },
        texts: Texts::default(),
    };
    let session = |n: u32| ReplaySession {
        at: Duration::from_millis(430) * n,
        user: n % 5,
        name: "joe".into(),
        class: Class(0),
        steps: [step.clone()].into(),
    };
    ReplaySessions::listed("twelve", (0..12).map(session).collect())
}

fn law() -> impl Strategy<Value = ArrivalLaw> {
    let burst = ArrivalLaw::Burst { peak: 1.5, on: Duration::from_millis(300), off: Duration::from_millis(300) };
    prop_oneof![Just(ArrivalLaw::Poisson), Just(ArrivalLaw::Constant), Just(burst)]
}

fn load() -> impl Strategy<Value = Load> {
    let class = || (0..3_u8).prop_map(Class);
    let role = prop_oneof![
        Just(BackgroundRole::Idle),
        Just(BackgroundRole::Checker { every: Duration::from_millis(700), anew: true })
    ];
    prop_oneof![
        (0..40_u32, 0..40_u32, class()).prop_map(|(from, to, class)| Load::Users { from, to, class }),
        (1..20_u32, 1..20_u32, law(), class()).prop_map(|(from, to, law, class)| Load::Sessions {
            from_per_s: from.into(),
            to_per_s: to.into(),
            law,
            class
        }),
        (1..30_u32, 1..30_u32, law(), class()).prop_map(|(from, to, law, class)| Load::Requests {
            from_per_s: from.into(),
            to_per_s: to.into(),
            law,
            class
        }),
        (10..30_u32, law(), class()).prop_map(|(mean, law, class)| Load::Wave {
            mean_per_s: mean.into(),
            amplitude_per_s: 8.0,
            period: Duration::from_secs(3),
            law,
            class
        }),
        (0..9_u32, 0..9_u32, role, class()).prop_map(|(from, to, role, class)| Load::Present { from, to, role, class }),
        (1..9_u32, law(), class()).prop_map(|(rate, law, class)| Load::Churn {
            from_per_s: rate.into(),
            to_per_s: rate.into(),
            law,
            ask: true,
            class
        }),
    ]
}

fn plan(with_replay: bool) -> impl Strategy<Value = LoadPlan> {
    let replay = || Load::Replay { sessions: recording(), pace: Pace::Clock, classes: vec![Class(0)] };
    let phases = prop::collection::vec((1..4_u64, prop::collection::vec(load(), 1..3)), 1..4);
    (any::<u64>(), phases).prop_map(move |(seed, phases)| {
        let phase = |(n, (seconds, mut loads)): (usize, (u64, Vec<Load>))| {
            loads.extend(with_replay.then(replay));
            Phase { name: format!("phase {n}"), duration: Duration::from_secs(seconds), loads }
        };
        LoadPlan { seed, phases: phases.into_iter().enumerate().map(phase).collect(), ..url_plan(&[]) }
    })
}

/// What a run has measured, without the state of its generator, and without the split between the last line of a second and the rest:
/// parts end each with their own last answer.
fn measured(report: &Report) -> ReportRecord {
    ReportRecord { health: Health::default(), last_second: None, ..report.record(|name| name == "phase 0") }
}

/// Merged records of the parts of a plan, against that of the whole.
fn check_records(plan: &LoadPlan, of: u32, mut run: impl FnMut(&LoadPlan) -> Report) {
    let whole = run(plan);
    let parts: Vec<ReportRecord> = shards(of).map(|shard| measured(&run(&part(plan, shard)))).collect();
    let merged = ReportRecord::merged(&parts).expect("all parts of one plan");
    assert_eq!(ReportRecord { health: Health::default(), ..merged.clone() }, measured(&whole), "{of} parts");
    let again = merged.report().expect("sound");
    assert_eq!((&again.phases, &again.little), (&whole.phases, &whole.little));
}

/// Answers that depend on the request alone: some refused, some failed, some never.
fn alone(user: u64, call: &Call, now: Timestamp) -> Reaction {
    let draw = mix(user ^ mix(now.as_nanos() ^ u64::from(call.kind.0)));
    let status = match draw % 10 {
        0 => return Reaction::Silence,
        1 => 503,
        2 => 500,
        _ => 200,
    };
    Reaction::Answer(Duration::from_micros(draw % 900_000), Response { status, ..Response::default() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_event_of_a_plan_is_in_one_part(plan in plan(true)) {
        for of in [1, 2, 3, 7, 64] {
            let mut parts: Vec<_> = shards(of).map(|shard| Schedule::new(&part(&plan, shard)).peekable()).collect();
            for event in Schedule::new(&plan) {
                let mut holders = 0;
                for part in &mut parts {
                    holders += u32::from(part.next_if_eq(&event).is_some());
                }
                prop_assert_eq!(holders, if event.user().is_some() { 1 } else { of }, "{:?}", event);
            }
            prop_assert!(parts.iter_mut().all(|part| part.next().is_none()), "nothing more in {} parts", of);
            for shard in shards(of) {
                prop_assert_eq!(digest(&part(&plan, shard)).expect("JSON"), digest(&plan).expect("JSON"));
            }
        }
    }

    #[test]
    fn merged_records_are_those_of_one_process(plan in plan(false), of in prop::sample::select(vec![1_u32, 2, 3, 7, 64])) {
        let on_reject = FailureRule::RetryNow { attempts: 2 };
        let behaviour = Behaviour { on_reject, ..Behaviour::default() };
        let mut plan = LoadPlan { timeout: Duration::from_secs(1), ..plan };
        if let Users::Url(users) = &mut plan.users {
            users.behaviour = behaviour;
        }
        check_records(&plan, of, |plan| testing::run(plan, |_| {}, alone).expect("it runs"));
    }
}

#[test]
fn users_of_mail_and_of_test_plans_are_the_same_in_parts() {
    let account = |n: usize| Account { user: format!("u{n}"), password: "p".into() };
    let mail = MailUsers::new(crate::mail::arashi(), (0..30).map(account).collect());
    let mail = LoadPlan { users: Users::Mail(mail), ..url_plan(&[("phase 0", 20, 30)]) };
    let steps = [("home", "/"), ("list", "/a"), ("item", "/b")];
    let steps = steps.map(|(name, path)| PlanItem::Step(Box::new(PlanStep::get(name, path))));
    let script = Users::Script(ScriptUsers::new(TestPlan::new(steps.into())));
    let script = LoadPlan { users: script, ..url_plan(&[("phase 0", 5, 11), ("b", 5, 4)]) };
    for of in [2, 7] {
        check_records(&mail, of, |plan| {
            let mut boxes = Mailboxes::new(2_000);
            let answer = |_, call: &Call, _| Reaction::Answer(Duration::from_millis(5), boxes.answer(call));
            testing::run(plan, |_| {}, answer).expect("it runs")
        });
        check_records(&script, of, |plan| testing::run(plan, |_| {}, alone).expect("it runs"));
    }
}

#[test]
fn parts_that_are_not_of_one_plan_are_no_whole() {
    let plan = url_plan(&[("phase 0", 2, 9)]);
    let run = |plan: &LoadPlan| measured(&testing::run(plan, |_| {}, alone).expect("it runs"));
    let parts: Vec<ReportRecord> = shards(3).map(|shard| run(&part(&plan, shard))).collect();
    let [a, b, c] = &parts[..] else { panic!("three") };
    let merged = |parts: &[&ReportRecord]| ReportRecord::merged(&parts.iter().copied().cloned().collect::<Vec<_>>());
    assert_eq!(merged(&[c, a, b]), merged(&[a, b, c]), "in any order");
    let other = run(&part(&url_plan(&[("phase 0", 3, 9)]), shards(3).last().expect("the third")));
    let whole = run(&plan);
    for wrong in [&[a, b][..], &[a, b, b], &[a, b, c, c], &[a, b, &other], &[&whole, b, c], &[]] {
        assert!(merged(wrong).is_err());
    }
    assert!(merged(&[a, b, c]).is_ok());
}
