//! Made runs of three phases.

use super::*;
use crate::summary::{Client, Entitled, GateFinding, LatencyObjective, Measured, Measures, PhaseSummary, Validity};

const PHASES: [(&str, PhaseRole, f64); 3] =
    [("before", PhaseRole::Calm, 70.0), ("spike", PhaseRole::Overload, 200.0), ("after", PhaseRole::After, 70.0)];

fn arm(policy: &str, block: u32, goodput: [f64; 3]) -> Arm {
    let phase = |((name, role, load), goodput): ((&str, PhaseRole, f64), f64)| PhaseSummary {
        name: name.to_owned(),
        seconds: 30.0,
        measures: Measures { role: Some(role), ..Measures::default() },
        measured: Measured { sent: 100, offered_per_s: load, goodput_per_s: goodput, ..Measured::default() },
        ..PhaseSummary::default()
    };
    let phases = PHASES.into_iter().zip(goodput).map(phase).collect();
    Arm { policy: policy.to_owned(), block, valid: true, phases, ..Arm::default() }
}

fn run(arms: Vec<Arm>) -> RunSummary {
    let objective = LatencyObjective { percentile: 90.0, response_time_ms: 200.0 };
    RunSummary { verdict: Validity::Valid, valid: true, objective, arms, ..RunSummary::default() }
}

fn three(block: u32) -> [Arm; 3] {
    let mut vegas = arm("vegas", block, [70.0, 90.0, 35.0]);
    vegas.parameters = [("scope".to_owned(), "single".into()), ("limit_max".to_owned(), 50.0.into())].into();
    [arm("none", block, [70.0, 10.0, 7.0]), arm("aimd", block, [63.0, 81.0, 70.0]), vegas]
}

fn has(lines: &[String], text: &str) {
    assert!(lines.iter().any(|line| line.contains(text)), "{text}: {lines:#?}");
}

#[test]
fn the_arm_whose_worst_phase_is_best_is_recommended_with_its_price() {
    let found = recommendation(&run(three(1).into())).expect("there is a choice");
    // aimd: .9, .9, 1; vegas: 1, 1, .5; none: 1, .11, .1.
    assert_eq!((found.worst.arm.as_str(), found.worst.share), ("aimd", 0.9));
    assert_eq!(found.next, PhaseShare { arm: "vegas".to_owned(), phase: "after".to_owned(), share: 0.5, class: None });
    assert!((found.price_in_calm.unwrap() - 0.1).abs() < 1e-9);
    assert_eq!((found.blocks, found.first_in), (1, 1));
    let behind: Vec<_> = found.behind.iter().map(|one| (one.phase.as_str(), one.arm.as_str())).collect();
    assert_eq!(behind, [("before", "none"), ("spike", "vegas")]);
    assert_eq!(found.deploy[0], "lab proxy --to URL --policy aimd --objective p90=200ms");
    assert!(
        found.lines()[0].starts_with("Deploy aimd: 90 % of the best in before, its worst phase."),
        "{:?}",
        found.lines()
    );
}

#[test]
fn blocks_in_which_another_arm_is_first_make_it_less_sure() {
    let mut arms: Vec<Arm> = (1..=5).flat_map(three).collect();
    arms[14] = arm("vegas", 5, [70.0, 90.0, 70.0]);
    let found = recommendation(&run(arms)).expect("there is a choice");
    assert_eq!((found.worst.arm.as_str(), found.blocks, found.first_in), ("aimd", 5, 4));
}

#[test]
fn settings_that_are_not_defaults_are_part_of_the_way() {
    let mut arms = three(1).to_vec();
    arms.remove(1);
    let found = recommendation(&run(arms)).expect("there is a choice");
    let proxy = "lab proxy --to URL --policy vegas --objective p90=200ms --set limit_max=50";
    let layer = "in a service, tower_admission::AdmissionLayer::new(\"vegas\").objective(90.0, Duration::from_millis(200)).set(\"limit_max\", 50)";
    let envoy = "in Envoy (docs/envoy.md), {admission: {policy: vegas, settings: {limit_max: 50}, objective_ms: 200, percentile: 90}}";
    assert_eq!(found.deploy, [proxy, layer, envoy]);
    // Somebody else's proxy is kept as it is.
    let mut arms = three(1).to_vec();
    arms[1].policy = "my-envoy".to_owned();
    arms[1].parameters = [("program".to_owned(), "envoy".into())].into();
    let found = recommendation(&run(arms.clone())).expect("there is a choice");
    assert_eq!(
        (found.worst.arm.as_str(), &found.deploy[..]),
        ("my-envoy", &["envoy, configured as in this arm".to_owned()][..])
    );
    arms[1].parameters.extend([("preset".to_owned(), "caddy".into()), ("count".to_owned(), "8".into())]);
    let found = recommendation(&run(arms)).expect("there is a choice");
    assert_eq!(found.deploy, ["envoy, configured as the preset caddy with count 8 (docs/peers.md)"]);
}

#[test]
fn where_no_arm_is_better_than_none_nothing_is_to_be_deployed() {
    let arms = vec![arm("none", 1, [70.0; 3]), arm("aimd", 1, [63.0; 3])];
    let found = recommendation(&run(arms)).expect("there is a choice");
    assert_eq!(found.deploy, [""; 0]);
    let arms = vec![arm("none", 1, [69.5; 3]), arm("aimd", 1, [70.0; 3])];
    assert_eq!(recommendation(&run(arms)).expect("there is a choice").worst.arm, "none", "within a percent point");
    assert!(found.lines()[0].starts_with("Deploy nothing (none): no arm serves more"), "{:?}", found.lines());
}

#[test]
fn who_serves_most_and_leaves_the_rest_waiting_is_passed_over() {
    let counted = |served, late, timed_out, refused| Measured {
        served,
        served_late: late,
        timed_out,
        rejected: refused,
        ..Measured::default()
    };
    let mut arms = three(1).to_vec();
    arms[2] = arm("connections", 1, [70.0, 100.0, 70.0]);
    // 720 of 1000 are in time, where nine of ten are promised: worth 80 of 100/s; refusals are no waiting.
    arms[2].phases[1].measured = Measured { goodput_per_s: 100.0, ..counted(720, 100, 180, 0) };
    arms[1].phases[1].measured = Measured { goodput_per_s: 90.0, ..counted(900, 100, 0, 1000) };
    let found = recommendation(&run(arms)).expect("there is a choice");
    assert_eq!((found.worst.arm.as_str(), found.worst.share), ("aimd", 0.9));
    let behind: Vec<_> = found.behind.iter().map(|one| (one.phase.as_str(), one.arm.as_str())).collect();
    assert_eq!(behind, [("before", "none")]);
    assert_eq!((found.next.arm.as_str(), (found.next.share * 90.0).round()), ("connections", 80.0));
    has(
        &found.lines(),
        "Not connections, which serves more: in spike 72 % of what it does not refuse is answered in time (the objective: 90 %), and the rest waits for that in vain.",
    );
}

#[test]
fn who_gives_the_important_less_than_their_due_is_passed_over() {
    let classes = |arm: &mut Arm, goodput: [f64; 2]| {
        let of = |offered_per_s, goodput_per_s| Measured { offered_per_s, goodput_per_s, ..Measured::default() };
        arm.phases[1].by_class =
            [("0".to_owned(), of(320.0, goodput[0])), ("1".to_owned(), of(80.0, goodput[1]))].into();
    };
    let mut arms = vec![arm("gradient2", 1, [70.0, 200.0, 70.0]), arm("headway", 1, [70.0, 190.0, 70.0])];
    classes(&mut arms[0], [160.0, 40.0]);
    // 80 of 190 are due to class 1, and 110 to class 0.
    classes(&mut arms[1], [114.0, 76.0]);
    let (important, rest) = (vec!["1".to_owned()], vec!["0".to_owned()]);
    let of_whom = RunSummary { entitled: Entitled { groups: vec![important, rest] }, ..run(arms.clone()) };
    let found = recommendation(&of_whom).expect("there is a choice");
    assert_eq!((found.worst.arm.as_str(), found.worst.share, found.worst.class.as_deref()), ("headway", 0.95, None));
    let lines = found.lines();
    assert_eq!(lines[0], "Deploy headway: 95 % of the best in spike, its worst phase.");
    has(&lines, "Not gradient2, which serves more: it has 50 % of what is due to class 1 in spike.");
    has(&lines, "Next best: gradient2, with 50 % of what is due to class 1 in spike.");
    assert!(found.deploy[0].starts_with("lab proxy --to URL --config FILE --policy headway"), "{:?}", found.deploy);
    // Nobody comes first where nothing says so.
    let found = recommendation(&run(arms)).expect("there is a choice");
    assert_eq!(found.worst.arm, "gradient2");
    assert!(found.deploy[0].starts_with("lab proxy --to URL --policy gradient2"), "{:?}", found.deploy);
}

#[test]
fn what_its_owner_must_know_of_the_arm_stands_beside_it() {
    let mut arms = vec![arm("none", 1, [70.0, 10.0, 7.0]), arm("codel", 1, [70.0, 90.0, 70.0])];
    arms[1].name = "published".to_owned();
    arms[1].parameters = [("scope".to_owned(), "per-stage".into())].into();
    // 840 of 1000.
    let late = Measured { served: 840, served_late: 160, goodput_per_s: 90.0, ..Measured::default() };
    arms[1].phases[1].measured = late;
    let [arm, value, threshold, message, remedy] = [(); 5].map(|()| String::new());
    let finding =
        GateFinding { code: "PLANT".to_owned(), verdict: Validity::Warn, arm, value, threshold, message, remedy };
    let mut summary = RunSummary { reasons: vec![finding], several_stages: true, ..run(arms) };
    summary.objective.percentile = 99.0;
    let lines = recommendation(&summary).expect("there is a choice").lines();
    let has = |text: &str| has(&lines, text);
    has("Deploy published (policy codel): no arm serves more");
    let places = ["Deploy ", HOW, WORKERS, "Price ", "Of its own ", "It ran in ", "How sure", "Next best"];
    let at = places.map(|begins| lines.iter().position(|line| line.starts_with(begins)));
    assert!(at.iter().all(Option::is_some) && at.is_sorted(), "in the order in which they are needed: {lines:#?}");
    has(
        "Of its own promise it keeps a part: in spike 84 % of what it does not refuse is answered in time (the objective: 99 %).",
    );
    has("lab proxy --to URL --policy codel --objective 200ms --concurrency WORKERS");
    has("WORKERS: the number of requests that the service works on at once.");
    has("It ran in each stage of this service");
    has("; the run has warnings (PLANT).");
    summary.several_stages = false;
    let lines = recommendation(&summary).expect("there is a choice").lines();
    assert!(!lines.iter().any(|line| line.contains("each stage")), "{lines:#?}");
}

#[test]
fn an_arm_with_a_name_of_its_own_says_its_policy_and_the_side_that_it_is_on() {
    let mut arms = vec![arm("none", 1, [70.0, 10.0, 7.0]), arm("none", 1, [70.0, 90.0, 70.0])];
    arms[1].name = "codel-like".to_owned();
    let told = |arms: &[Arm]| recommendation(&run(arms.to_vec())).expect("there is a choice").lines().swap_remove(0);
    arms[1].policy = "codel".to_owned();
    assert!(told(&arms).starts_with("Deploy codel-like (policy codel): "), "{}", told(&arms));
    arms[1].policy = "none".to_owned();
    let scope = "all".to_owned();
    arms[1].client = Some(Client { policy: "retry-budget".to_owned(), scope, ..Client::default() });
    assert!(
        told(&arms).starts_with("Deploy codel-like (policy retry-budget, on the users' side): "),
        "{}",
        told(&arms)
    );
}

#[test]
fn without_a_choice_or_a_conclusion_there_is_none() {
    let alone = run(vec![arm("none", 1, [70.0; 3])]);
    let invalid = RunSummary { valid: false, ..run(three(1).into()) };
    assert_eq!((recommendation(&alone), recommendation(&invalid)), (None, None));
}
