//! Quotas in CPU seconds, at one task and divided between several.

use super::*;
use crate::{Effect, LoadSample, PeerReport, RetryHint, testing::MachineBench};

const MS: Duration = Duration::from_millis(1);

/// The most critical request of a customer: nothing is kept from it.
fn of_customer(customer: u32) -> Tags {
    Tags { customer, ..of(Criticality::CriticalPlus) }
}

/// `{1: 0.4}`
fn limits<const N: usize>(of: [(u32, f64); N]) -> Setting {
    Setting::Map(of.into_iter().map(|(customer, limit)| (customer.to_string(), limit.into())).collect())
}

impl Bench {
    /// A request with this measured cost; true if it was admitted.
    fn costs(&mut self, tags: Tags, cost: Duration) -> bool {
        let Ok(admitted) = self.offer(tags) else { return false };
        self.end_after(admitted, tags, Outcome::Served, Duration::ZERO, Some(cost));
        true
    }

    /// What is to be told to others, after so long.
    fn told(&mut self, after: Duration) -> Vec<PeerReport> {
        self.pass(after);
        let mut all = Vec::new();
        while let Some(effect) = self.seat.poll(self.now).effect() {
            let Effect::Tell(report) = effect else { panic!("{effect:?}") };
            all.push(report);
        }
        all
    }

    fn hear(&mut self, report: PeerReport) {
        self.seat.observe(self.now, &Seen::Peer(report));
    }
}

#[test]
fn measured_cost_is_charged_and_paid_back_at_the_limit() {
    let mut bench = Bench::new("quota", [("limits", limits([(1, 0.4)]))]);
    let tags = of_customer(1);
    // 5 s of 0.4 CPU s/s: 2 CPU seconds. The first request is admitted, and costs 2.5: 0.5 in debt, paid after 1.25 s.
    assert!(bench.costs(tags, 2500 * MS));
    assert_eq!(bench.offer(tags), Err(Reason::Quota));
    bench.pass(1250 * MS);
    assert_eq!(bench.offer(tags), Err(Reason::Quota), "nothing is left");
    bench.pass(10 * MS);
    // 0.004 is left. The next is charged what the one before cost, so there is no room for another meanwhile.
    let admitted = bench.offer(tags).unwrap();
    assert_eq!(bench.offer(tags), Err(Reason::Quota));
    // It cost 0.1: 0.004 − 0.1 = −0.096, paid after 0.24 s.
    bench.end_after(admitted, tags, Outcome::Served, Duration::ZERO, Some(100 * MS));
    bench.pass(239 * MS);
    assert_eq!(bench.offer(tags), Err(Reason::Quota));
    bench.pass(2 * MS);
    assert!(bench.offer(tags).is_ok());
}

#[test]
fn without_a_measurement_the_time_that_work_took_is_the_cost() {
    let mut bench = Bench::new("quota", [("limits", limits([(1, 0.4)]))]);
    let tags = of_customer(1);
    let admitted = bench.offer(tags).unwrap();
    // 2 + 2.5 × 0.4 would be 3, but the account holds 2; less 2.5: 0.5 in debt.
    bench.end_after(admitted, tags, Outcome::Failed, 2500 * MS, None);
    bench.pass(1249 * MS);
    assert_eq!(bench.offer(tags), Err(Reason::Quota));
    bench.pass(2 * MS);
    assert!(bench.offer(tags).is_ok());
}

#[test]
fn who_left_before_work_began_is_paid_back_and_makes_nothing_cheaper() {
    let mut bench = Bench::new("quota", [("limits", limits([(1, 0.4)]))]);
    let tags = of_customer(1);
    assert!(bench.costs(tags, 100 * MS));
    let admitted = bench.offer(tags).unwrap();
    bench.end(admitted, tags, Outcome::Abandoned);
    assert!(near(bench.gauge("mean_cost_ms"), 100.0));
    // 1.9 of 2 are left, and the next cost 1.9 in all: with the charge of 0.1 kept, the last would find nothing.
    assert!(bench.costs(tags, 1850 * MS) && bench.costs(tags, 50 * MS));
    assert_eq!(bench.offer(tags), Err(Reason::Quota));
}

#[test]
fn higher_criticalities_keep_a_reserve() {
    // A limit of 1 for 5 s: 5 CPU seconds, of which 1.5, 1, 0.5 and 0 are kept from the four levels, lowest first.
    for (spent_ms, lets_in) in [
        (3499, [true; 4]),
        (3501, [false, true, true, true]),
        (4001, [false, false, true, true]),
        (4501, [false, false, false, true]),
        (5001, [false; 4]),
    ] {
        let mut bench = Bench::new("quota", []);
        assert!(bench.costs(Tags::default(), spent_ms * MS));
        assert_eq!(bench.lets_in(), lets_in, "{spent_ms}");
    }
}

#[test]
fn with_a_limit_each_a_level_uses_its_own_and_what_lower_ones_leave() {
    // A limit of 1 for 5 s: 5 CPU seconds, half of them for CRITICAL and a sixth for each other level, 0.8 s.
    let given = || {
        let share = |name: &str, value: f64| (name.to_owned(), value.into());
        [
            ("per_criticality".to_owned(), true.into()),
            share("share_sheddable", 0.16),
            share("share_sheddable_plus", 0.16),
            share("share_critical", 0.5),
            share("share_critical_plus", 0.16),
        ]
    };
    let mut bench =
        Bench::new("quota", given().each_ref().map(|(name, value): &(String, Setting)| (&**name, value.clone())));
    let spend = |bench: &mut Bench, criticality, cost_ms| bench.costs(of(criticality), cost_ms * MS);
    // SHEDDABLE has 0.8, and no more: the others keep all of theirs.
    assert!(spend(&mut bench, Criticality::Sheddable, 900));
    assert_eq!(bench.lets_in(), [false, true, true, true]);
    // CRITICAL has 2.5 of its own, and the 0.8 that SHEDDABLE_PLUS leaves; CRITICAL_PLUS then has its own 0.8.
    assert!(spend(&mut bench, Criticality::Critical, 2600));
    assert_eq!(bench.lets_in(), [false, true, true, true]);
    assert!(spend(&mut bench, Criticality::Critical, 850));
    assert_eq!(bench.lets_in(), [false, false, false, true]);
    assert!(spend(&mut bench, Criticality::CriticalPlus, 900));
    assert_eq!(bench.lets_in(), [false; 4]);
    // CRITICAL, 0.1 in debt at 0.5 a second, is out of it after 0.2 s. The others have 0.16 a second: 0.05 takes 0.31 s, 0.1 takes
    // 0.63 s.
    bench.pass(210 * MS);
    assert_eq!(bench.lets_in(), [false, false, true, true]);
}

#[test]
fn shares_of_levels_are_at_most_the_whole_limit() {
    let given = [("per_criticality", true.into()), ("share_critical", 0.5.into())];
    for entry in ["quota", "sre"] {
        let problems = Catalogue::built_in().find(entry).unwrap().check(&settings(given.clone())).unwrap_err();
        let expected = "share_critical_plus: the four shares add up to 1.25: at most 1, the customer's whole limit";
        assert_eq!(problems.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    }
}

#[test]
fn only_the_customer_at_ten_times_its_quota_sees_errors() {
    // The chapter's example, scaled from 10 000 processors to one: 0.4 + 0.4 + 0.3 + 0.2 + 0.05 is more than 1.
    let quotas = [(1, 0.4), (2, 0.4), (3, 0.3), (4, 0.2), (5, 0.05)];
    let [named @ .., (_, other)] = quotas;
    let mut bench = Bench::new("quota", [("limits", limits(named)), ("default_limit", other.into())]);
    // Customer 1 asks for ten times its quota, in requests of 10 ms; the others for half of theirs, of 2 ms.
    let mut let_in = [0_u32; 6];
    let mut refused = [0_u32; 6];
    let per_ms: Vec<_> = quotas
        .iter()
        .map(
            |&(customer, quota)| {
                if customer == 1 { (customer, 10.0 * quota / 10.0, 10) } else { (customer, 0.5 * quota / 2.0, 2) }
            },
        )
        .collect();
    let lasts_s = 60;
    for _ in 0..lasts_s * 1000 {
        bench.pass(MS);
        for &(customer, probability, cost_ms) in &per_ms {
            if bench.draws.uniform() < probability {
                let tags = Tags { customer, ..Tags::default() };
                let counts = if bench.costs(tags, cost_ms * MS) { &mut let_in } else { &mut refused };
                counts[customer as usize] += 1;
            }
        }
    }
    for customer in 2..=5 {
        assert_eq!(refused[customer], 0, "customer {customer}, {} let in", let_in[customer]);
    }
    // 0.4 × 60 s = 24 CPU seconds, and the account's 2 at the start, of which a tenth is kept: 25.8, of 10 ms each.
    assert!((2570..=2590).contains(&let_in[1]), "{}", let_in[1]);
    assert!(refused[1] > 20_000, "{}", refused[1]);
}

#[test]
fn customers_without_an_account_of_their_own_share_one() {
    let mut bench = Bench::new("quota", []);
    for customer in 0..3000 {
        bench.costs(of_customer(customer), MS);
    }
    assert!(near(bench.gauge("customers"), 1024.0));
    // The last 1976 have one account of 5 CPU seconds; used up by one of them, it is used up for all.
    assert!(bench.costs(of_customer(2999), 10_000 * MS));
    assert_eq!(bench.offer(of_customer(2998)), Err(Reason::Quota));
    assert!(bench.offer(of_customer(7)).is_ok(), "has its own");
    // Idle ones are full again a moment later, and give way to new ones.
    bench.pass(1100 * MS);
    assert!(bench.offer(of_customer(2998)).is_ok());
    assert!(bench.gauge("customers") < 10.0);
}

#[test]
fn usage_is_reported_with_what_was_refused() {
    let given = [("report_usage", true.into()), ("limits", limits([(1, 0.1)])), ("burst", "1s".into())];
    let mut bench = Bench::new("quota", given);
    // An account of 0.1; one request of 0.5, then three that are refused and would have cost as much.
    assert!(bench.costs(of_customer(1), 500 * MS));
    for _ in 0..3 {
        assert!(bench.offer(of_customer(1)).is_err());
    }
    let usage = |used, wanted| PeerReport::Usage { from: SiteId(1), customer: 1, used, wanted };
    assert_eq!(bench.told(999 * MS), []);
    assert_eq!(bench.told(MS), [usage(0.5, 2.0)]);
    // Nothing more: that is said once, half a second late, and then no more.
    assert_eq!(bench.told(1500 * MS), [usage(0.0, 0.0)]);
    assert_eq!(bench.told(5000 * MS), []);
}

#[test]
fn a_limit_that_was_sent_holds_for_its_lease() {
    let mut bench = Bench::new("quota", []);
    let quota = |to, limit| PeerReport::Quota { to: SiteId(to), customer: 1, limit };
    for nonsense in [quota(2, 0.0), quota(1, -1.0), quota(1, f64::NAN), quota(1, f64::INFINITY)] {
        bench.hear(nonsense);
        assert!(bench.request(of_customer(1), Outcome::Served), "{nonsense:?}");
    }
    bench.hear(quota(1, 0.0));
    assert_eq!(bench.offer(of_customer(1)), Err(Reason::Quota));
    assert!(bench.request(of_customer(2), Outcome::Served), "it was about customer 1");
    bench.pass(29_999 * MS);
    assert_eq!(bench.offer(of_customer(1)), Err(Reason::Quota));
    // The lease of 30 s is over: the limit of 1 set here fills the account from then on.
    bench.pass(MS);
    assert_eq!(bench.offer(of_customer(1)), Err(Reason::Quota), "empty as yet");
    bench.pass(MS);
    assert!(bench.offer(of_customer(1)).is_ok());
}

/// Limits that were pushed, by task.
fn pushed(effects: &[Effect]) -> Vec<(u16, u32, f64)> {
    let one = |effect: &Effect| match effect {
        Effect::Tell(PeerReport::Quota { to, customer, limit }) => (to.0, *customer, *limit),
        other => panic!("{other:?}"),
    };
    effects.iter().map(one).collect()
}

fn usage(from: u16, customer: u32, wanted: f64) -> Seen {
    Seen::Peer(PeerReport::Usage { from: SiteId(from), customer, used: 0.0, wanted })
}

#[track_caller]
fn assert_pushed(effects: &[Effect], expected: &[(u16, u32, f64)]) {
    let pushed = pushed(effects);
    assert_eq!(pushed.len(), expected.len(), "{pushed:?}");
    for (a, b) in pushed.iter().zip(expected) {
        assert!((a.0, a.1) == (b.0, b.1) && near(a.2, b.2), "{pushed:?}, not {expected:?}");
    }
}

#[test]
fn a_global_limit_is_divided_by_what_is_wanted() {
    let mut bench =
        MachineBench::new("quota-server", &settings([("limits", limits([(1, 0.5)])), ("smooth_over", "10ms".into())]));
    bench.see(0, &usage(1, 1, 0.28));
    bench.see(10, &usage(2, 1, 0.2));
    // Another customer has the default limit of 1, though both together are more than the processor.
    bench.see(20, &usage(2, 7, 0.3));
    assert_eq!(bench.poll(999), []);
    // 0.48 of 0.5 is wanted: the 0.02 that are left are divided equally, 0.29 and 0.21; but half of the limit is 0.25.
    assert_pushed(&bench.poll(1000), &[(1, 1, 0.29), (2, 1, 0.25), (2, 7, 1.0)]);
    // 2.0 is wanted: 0.5 × (1.5 + 0.005) / 2.01 and 0.5 × (0.5 + 0.005) / 2.01, together 0.5.
    bench.see(1500, &usage(1, 1, 1.5));
    bench.see(1500, &usage(2, 1, 0.5));
    assert_pushed(&bench.poll(2000), &[(1, 1, 0.5 * 1.505 / 2.01), (2, 1, 0.5 * 0.505 / 2.01), (2, 7, 1.0)]);
    // Nonsense is not heard. After 10 s without a word from task 2 all of it is task 1's.
    bench.see(2000, &usage(1, 1, f64::NAN));
    bench.see(11_000, &usage(1, 1, 1.5));
    assert_eq!(pushed(&bench.poll(11_501)), []);
    assert_pushed(&bench.poll(12_000), &[(1, 1, 0.5)]);
    // Nobody is left to be told anything, and no wake-up is asked for.
    assert_eq!(pushed(&bench.poll(21_000)), []);
    assert_eq!(bench.wakes_at(21_000), None);
}

#[test]
fn the_division_follows_an_average_of_what_is_wanted() {
    let given = [("limits", limits([(1, 1.0)])), ("forget", "60s".into())];
    let mut bench = MachineBench::new("quota-server", &settings(given));
    bench.see(0, &usage(1, 1, 0.1));
    bench.see(0, &usage(2, 1, 0.6));
    assert_pushed(&bench.poll(1000), &[(1, 1, 0.5), (2, 1, 0.75)]);
    // One second of 2.1 at task 1, then nothing: 2.1 − 2 e^(−0.1) = 0.290325 a second later, and 0.290325 e^(−0.1) = 0.262697
    // after another. A division of 2.1 and 0.6 would have left task 2 a quarter.
    bench.see(1000, &usage(1, 1, 2.1));
    assert_pushed(&bench.poll(2000), &[(1, 1, 0.5), (2, 1, 0.6 + (1.0 - 0.890_325_164) / 2.0)]);
    bench.see(2000, &usage(1, 1, 0.0));
    assert_pushed(&bench.poll(3000), &[(1, 1, 0.5), (2, 1, 0.6 + (1.0 - 0.862_697_072) / 2.0)]);
    // Ten seconds of silence after a report of nothing: 0.290325 e^(−1.1) = 0.096641.
    assert_pushed(&bench.poll(13_000), &[(1, 1, 0.5), (2, 1, 0.6 + (1.0 - 0.696_640_852) / 2.0)]);
}

#[test]
fn a_lower_limit_takes_nothing_of_what_was_saved() {
    let mut bench = Bench::new("quota", [("burst", "1s".into())]);
    let quota = |limit| PeerReport::Quota { to: SiteId(1), customer: 1, limit };
    // A limit of 1 for 1 s has filled an account of 1; a limit of 0.1 would fill one of 0.1, but takes nothing away.
    bench.hear(quota(1.0));
    bench.pass(1000 * MS);
    bench.hear(quota(0.1));
    bench.pass(1000 * MS);
    let tags = of_customer(1);
    assert!(bench.costs(tags, 950 * MS));
    // 0.05 is left, and 0.1 a second comes in up to 0.1, after half a second and no further.
    bench.pass(10_000 * MS);
    assert!(bench.costs(tags, 200 * MS));
    // 0.1 in debt, paid after 1 s.
    bench.pass(999 * MS);
    assert_eq!(bench.offer(tags), Err(Reason::Quota));
    bench.pass(2 * MS);
    assert!(bench.offer(tags).is_ok());
}

#[test]
fn the_first_limit_that_is_sent_takes_what_an_account_holds_beyond_it() {
    let mut bench = Bench::new("quota", [("burst", "1s".into())]);
    bench.hear(PeerReport::Quota { to: SiteId(1), customer: 1, limit: 0.1 });
    // An account of 1 by the limit set here, of 0.1 by the one that was sent: 0.1 in debt after a request of 0.2.
    assert!(bench.costs(of_customer(1), 200 * MS));
    bench.pass(999 * MS);
    assert_eq!(bench.offer(of_customer(1)), Err(Reason::Quota));
    bench.pass(2 * MS);
    assert!(bench.offer(of_customer(1)).is_ok());
}

#[test]
fn two_tasks_keep_a_global_limit_together() {
    let given = || [("report_usage", true.into()), ("limits", limits([(1, 0.4)]))];
    let mut tasks: Vec<_> = (1..=2)
        .map(|site| {
            let policy = testing::policy("quota", &settings(given()), Duration::from_secs(1));
            let seat = Seat::new(SiteId(site), policy, 1, Box::new(()));
            Bench { seat, now: Timestamp::ZERO, next_id: 0, draws: Seeded::new(site.into()) }
        })
        .collect();
    let mut server = MachineBench::new("quota-server", &settings([("limits", limits([(1, 0.4)]))]));
    // Requests of 10 ms: 3 and 1 CPU seconds a second are asked for, ten times what is allowed.
    let asks_per_ms = [0.3, 0.1];
    let mut used_ms = [0_u32; 2];
    for at_ms in 0..60_000 {
        let mut reports = Vec::new();
        for ((task, probability), used) in tasks.iter_mut().zip(asks_per_ms).zip(&mut used_ms) {
            reports.extend(task.told(MS));
            let wanted = task.draws.uniform() < probability;
            if wanted && task.costs(of_customer(1), 10 * MS) && at_ms >= 20_000 {
                *used += 10;
            }
        }
        let mut effects = server.poll(at_ms);
        effects.extend(reports.into_iter().flat_map(|report| server.see(at_ms, &Seen::Peer(report))));
        for effect in effects {
            if let Effect::Tell(report) = effect {
                tasks.iter_mut().for_each(|task| task.hear(report));
            }
        }
    }
    let [first, second] = used_ms.map(|ms| f64::from(ms) / 40_000.0);
    assert!((0.38..=0.42).contains(&(first + second)), "{first} + {second}");
    assert!((2.5..=3.5).contains(&(first / second)), "in proportion to what is wanted: {first} and {second}");
}

#[test]
fn all_of_it_asks_quotas_first_and_advises_on_every_refusal() {
    let load = |bench: &mut Bench| bench.ready(100, Duration::from_secs(5));
    let over_quota = |bench: &mut Bench| assert!(bench.costs(of_customer(1), 10_000 * MS));
    let mut bench = Bench::new("sre", []);
    load(&mut bench);
    assert_eq!(bench.offer(of_customer(1)), Err(Reason::Utilization));
    bench.ready(0, Duration::from_secs(20));
    over_quota(&mut bench);
    assert_eq!(bench.offer(of_customer(1)), Err(Reason::Quota));
    load(&mut bench);
    assert_eq!(bench.offer(of_customer(2)), Err(Reason::Utilization));

    let mut bench = Bench::new("sre", [("retry_samples", 1.0.into())]);
    over_quota(&mut bench);
    assert_eq!(bench.refused(Tags { attempt: 1, ..of_customer(1) }), RetryHint::Never, "1 retry of 2 requests");
    let mut bench = Bench::new("sre", [("retry_samples", 1.0.into()), ("dont_retry", false.into())]);
    over_quota(&mut bench);
    assert_eq!(bench.refused(Tags { attempt: 1, ..of_customer(1) }), RetryHint::Unsaid, "switched off");

    let mut bench = Bench::new("sre", [("quota", false.into()), ("utilization", false.into()), ("load", false.into())]);
    over_quota(&mut bench);
    bench.load(LoadSample::Ready(1000));
    assert_eq!(bench.lets_in(), [true; 4], "all is switched off");
    assert!(bench.offer(of_customer(1)).is_ok());
}

#[test]
fn limits_by_customer_are_checked() {
    let given = [("limits", Setting::Map(settings([("gold", 1.0.into()), ("1", "2ms".into()), ("2", (-1.0).into())])))];
    let problems = Catalogue::built_in().find("quota").unwrap().check(&settings(given)).unwrap_err();
    assert_eq!(
        problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "limits.1: expected a number, got \"2ms\"",
            "limits.2: -1 is out of range: 0 to 1000000 CPU s/s",
            "limits.gold: a customer is a whole number from 0 to 4294967295",
        ]
    );
}
