//! Bounds of somebody else's program: added to the catalogue as policies are, read from an experiment file, and told what requests cost.

use std::{collections::BTreeMap, time::Duration};

use controllers::{
    Ctx, Entry, Foresight, Gauge, JobId, Machine, Offer, Place, Policy, Reason, Refusal, Seen, Verdict,
    catalogue::{Bound, CostBound, EntryKind, Source, ValueSearch},
    params::{ms, params, s, time},
};
use experiment::{
    Changes, Experiment,
    plan::{ArmPlan, Hindsight},
    plan_digest::nowhere,
    read, resolve,
};
use plant::{Plant, PlantPlan};
use workloads::{StopFlag, sim};

params! {
    struct ShortParams {
        longest: Duration = time(ms(1)..=s(60), ms(100)), "the longest service time that is let in", "this test";
    }
}

/// Lets in short jobs alone.
#[derive(Debug)]
struct Short {
    longest: Duration,
    foreseen: BTreeMap<JobId, Duration>,
}

impl Machine for Short {
    fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
        if let Seen::Foreseen(Foresight::Work { id, time }) = seen {
            self.foreseen.insert(*id, *time);
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("foreseen"), self.foreseen.len() as f64);
    }
}

impl Policy for Short {
    fn offer(&mut self, job: &Offer, _: &mut Ctx<'_>) -> Verdict {
        match self.foreseen.remove(&job.id) {
            Some(work) if work > self.longest => Verdict::Refuse(Refusal::new(Reason::own("too-long"))),
            _ => Verdict::Admit(controllers::Grant::default()),
        }
    }
}

const fn bound(name: &'static str, bound: Bound) -> Entry {
    Entry {
        name,
        about: "a bound of this test",
        caution: "",
        source: Source { title: "this test", place: "" },
        deviations: &[],
        places: &[Place::Single],
        presets: &[],
        samples: &[],
        roles: &[],
        kind: EntryKind::Bound(bound),
    }
}

static MINE: [Entry; 2] = [
    bound(
        "short-first",
        Bound::Costs(CostBound {
            make: |reader| {
                reader.make(|params: &ShortParams, _| {
                    Box::new(Short { longest: params.longest, foreseen: BTreeMap::new() })
                })
            },
            knows_arrivals: false,
        }),
    ),
    bound("best-depth", Bound::BestValue(ValueSearch { of: "queue-length", parameter: "max", most: 64 })),
];

const FILE: &str = "
name: mine
about: bounds of one's own
target: {app: emulated, service: {exponential: 20ms}, servers: 1, workers: 1, queue: 1000}
objective: {percentile: 90, response_time: 500ms}
users: {model: url, timeout: 5s, on_reject: {then: leave}, on_failure: {then: leave}, phases: [{name: all, requests: 30/s, for: 20s}]}
";

fn experiment(arms: &str) -> Result<Experiment, String> {
    read(&format!("{FILE}arms: {arms}\n"), &Changes::default()).map_err(|problems| format!("{problems:?}"))
}

/// Requests served and refused in virtual time.
fn ran(experiment: &Experiment, arm: &ArmPlan) -> (u64, u64) {
    let spec = resolve::target_spec(experiment, arm, None, 0.0, 1, None);
    let foresight = arm.hindsight.as_ref().and_then(Hindsight::seated);
    let mut plant = Plant::new(&spec, &PlantPlan { foresight, ..PlantPlan::default() }).expect("it can be");
    let plan = resolve::load_plan(experiment, arm, &[], nowhere(), 1, None);
    let link = experiment.simulation.link();
    let ended = sim::run(&plan, link, &mut plant, |_, _, _| {}, &StopFlag::new()).expect("it runs");
    let ledger = &ended.report.total.measured;
    (ledger.served, ledger.rejected)
}

#[test]
fn they_are_arms_like_those_of_the_lab() {
    installed::install(installed::of_the_lab().and(&MINE).expect("they fit")).expect("nobody has asked yet");
    let found = experiment("[none, short-first, {short-first: {as: shorter, longest: 20ms}}, best-depth, oracle]");
    let found = found.expect("a good file");
    let names: Vec<&str> = found.arms.iter().map(ArmPlan::policy_name).collect();
    assert_eq!(names, ["none", "short-first", "short-first", "queue-length", "oracle", "blind"]);
    let depth = found.arms[3].hindsight.as_ref().and_then(Hindsight::searched).expect("a search");
    assert_eq!((depth.most, depth.parameter.as_str()), (64, "max"));
    // Exponential with a mean of 20 ms: one in 148 is longer than 100 ms, 37 in 100 are longer than 20 ms.
    let [none, long, short] = [0, 1, 2].map(|arm| ran(&found, &found.arms[arm]));
    assert_eq!(none.1, 0);
    let refused = |(served, refused): (u64, u64)| refused as f64 / (served + refused) as f64;
    assert!(refused(long) < 0.03 && (0.25..0.5).contains(&refused(short)), "{long:?}, {short:?}");
    // What manifests have is read back.
    let written = serde_json::to_string(&found.arms).expect("data");
    assert_eq!(serde_json::from_str::<Vec<ArmPlan>>(&written).expect("the same"), found.arms);
    for (arm, told) in [
        ("{short-first: {longest: soon}}", "not a time"),
        ("{short-first: {shortest: 1s}}", "there is no such key"),
        ("{best-depth: {max: 3}}", "is what is looked for"),
        ("{best-depth: {of: gradient2}}", "no limit to look for"),
    ] {
        let problems = experiment(&format!("[{arm}]")).expect_err("a slip");
        assert!(problems.contains(told), "{arm}: {problems}");
    }
}
