//! The control plane's decisions by hand, with figure 7's two applications.

use std::time::Duration;

use super::{at, nodes};
use crate::{
    Moments, Timestamp,
    cataclysm::{
        AppId, HostedApplication, Invocation, NodeId, ProvisionAction, ProvisionFact, ProvisionPlan, Provisioner, Sla,
        WorkloadReport,
    },
};

const FIRST: AppId = AppId(0);
const SECOND: AppId = AppId(1);

/// One class, at least 3 servers, table 1.
fn hosted() -> HostedApplication {
    HostedApplication { sla: Sla::table_1(), revenue: vec![1.0], min_servers: 3 }
}

/// A minute of Poisson arrivals at a rate, of requests of which a server serves 60 per second, with an exponential
/// distribution: a second moment of twice the squared mean.
fn minute(rate_per_s: u64, refused: u64) -> WorkloadReport {
    let exponential = |mean: f64| Moments { count: 100, sum: 100.0 * mean, squares: 200.0 * mean * mean };
    WorkloadReport {
        arrivals: vec![rate_per_s * 60],
        refused,
        service: exponential(1.0 / 60.0),
        interarrival: exponential(1.0 / rate_per_s as f64),
    }
}

/// The control plane with applications that have what 60 requests per second and server leave.
struct Platform {
    control: Provisioner,
    log: Vec<String>,
}

impl Platform {
    fn new(plan: ProvisionPlan, count: u32) -> Self {
        let control = Provisioner::new(Timestamp::ZERO, plan, &nodes(count)).expect("a plan in range");
        let mut this = Self { control, log: Vec::new() };
        assert_eq!(this.poll(0), at(60_000));
        this
    }

    /// Writes down invocations, targets and servers that come and go, and returns the next wake-up.
    fn poll(&mut self, secs: u64) -> Timestamp {
        loop {
            match self.control.poll(Timestamp::from_secs(secs)) {
                ProvisionAction::Invoked(why) => self.log.push(format!("{secs} {why:?}")),
                ProvisionAction::Target(app, target) => {
                    self.log.push(format!("{secs} app {} target {} s", app.0, target.as_secs()));
                }
                ProvisionAction::AddServer(app, _) => self.log.push(format!("{secs} app {} +1", app.0)),
                ProvisionAction::DrainServer(app, _) => self.log.push(format!("{secs} app {} -1", app.0)),
                ProvisionAction::AddSentry(app, _) => self.log.push(format!("{secs} app {} + sentry", app.0)),
                ProvisionAction::RemoveSentry(app, _) => self.log.push(format!("{secs} app {} - sentry", app.0)),
                ProvisionAction::Split(..) => {}
                ProvisionAction::WakeAt(wake) => return wake,
            }
        }
    }

    /// A minute that ends at `secs`, with these rates.
    fn minute(&mut self, secs: u64, rates: [u64; 2]) {
        for (app, rate) in rates.into_iter().enumerate().take(self.applications()) {
            let served = u64::from(self.control.servers_and_sentries(AppId(app)).0) * 60;
            let report = minute(rate, rate.saturating_sub(served) * 60);
            self.control.observe(Timestamp::from_secs(secs - 1), ProvisionFact::Workload(AppId(app), &report));
        }
        self.poll(secs);
    }

    fn applications(&self) -> usize {
        (0..2).filter(|app| self.control.target(AppId(*app)).is_some()).count()
    }

    fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }
}

#[test]
fn every_application_starts_with_its_minimum_and_a_sentry() {
    let mut platform = Platform::new(ProvisionPlan::of(vec![hosted(), hosted()]), 13);
    let app = |n| [&format!("0 app {n} target 1 s"), &format!("0 app {n} + sentry")].map(Clone::clone).to_vec();
    let servers = |n| vec![format!("0 app {n} +1"); 3];
    assert_eq!(platform.take_log(), [app(0), servers(0), app(1), servers(1)].concat());
    assert_eq!(platform.control.free(), 5);
}

#[test]
fn figure_7() {
    // 11 servers and 2 sentries. The first application doubles every 5 min from 100 to 1600 requests per second, the second
    // stays at 100. Three servers serve 180.
    let mut platform = Platform::new(ProvisionPlan::of(vec![hosted(), hosted()]), 13);
    platform.take_log();
    for minute in 1..=30 {
        let rate = 100 << ((minute - 1) / 5).min(4);
        platform.minute(minute * 60, [rate, 100]);
    }
    assert_eq!(
        platform.take_log(),
        [
            // 600 to 900 s: 400 per second, of which 220, 55 %, are refused (200 per second before: 10 %).
            "900 Drops",
            "900 app 0 +1",
            // 900 to 1200 s: 800 per second, of which four servers serve 240.
            "1200 Drops",
            "1200 app 0 +1",
            // 1200 to 1500 s: 1600 per second, which the agreement answers within 2 s.
            "1500 Drops",
            "1500 app 0 target 2 s",
            "1500 app 0 +1",
            // The predictive invocation: all that is free, as the paper says of t = 1800 s.
            "1800 Period",
            "1800 app 0 +1",
            "1800 app 0 +1",
        ]
    );
    assert_eq!(platform.control.servers_and_sentries(FIRST), (8, 1));
    assert_eq!(platform.control.servers_and_sentries(SECOND), (3, 1));
    assert_eq!(platform.control.target(FIRST), Some(Duration::from_secs(2)));
    // The overload moves to the second application: the first one's spare servers are taken one by one.
    for minute in 31..=60 {
        platform.minute(minute * 60, [100, 500]);
    }
    assert_eq!(
        platform.take_log(),
        [
            // 1680 to 1980 s: 100, 100, 500, 500 and 500 per second, of which 3 × 320 are refused: 56 %. The first
            // application had 1600, 1600, 100, 100 and 100 in that time, 700 on average: it has nothing to spare.
            "1980 Drops",
            "2280 Drops", // 320 of 500: 64 %
            "2280 app 0 -1",
            "2280 app 1 +1",
            "2580 Drops", // 260: 52 %
            "2580 app 0 -1",
            "2580 app 1 +1",
            // 200 of 500 are no more than half. The period: 100 at the first, at least 250 to come at the second.
            "3600 Period",
            "3600 app 0 target 1 s",
            "3600 app 0 -1",
            "3600 app 0 -1",
            "3600 app 0 -1",
            "3600 app 1 +1",
            "3600 app 1 +1",
            "3600 app 1 +1",
        ]
    );
    assert_eq!(platform.control.servers_and_sentries(SECOND), (8, 1));
}

#[test]
fn steps_are_at_most_delta_and_what_is_needed() {
    // Δ = 4. 500 per second on 3 servers refuse 64 %; they need ⌈500 / x⌉ servers of
    // x = (1 + √(1 − 4 q c)) / (2 q), q = S + σ²/(2D) = 1/60 + (1/3600)/1.966667 = 0.01680791, c = 1/1.966667 = 0.508475:
    // √(1 − 0.03418558) = 0.982759, x = 58.983. ⌈8.477⌉ = 9, so 6 are missing.
    let plan = ProvisionPlan { step: 4, ..ProvisionPlan::of(vec![hosted()]) };
    let mut platform = Platform::new(plan, 20);
    platform.take_log();
    for minute in 1..=5 {
        platform.minute(minute * 60, [500, 0]);
    }
    assert_eq!(platform.take_log(), ["300 Drops", "300 app 0 +1", "300 app 0 +1", "300 app 0 +1", "300 app 0 +1"]);
    // 1300 per second on 7 refuse 68 %. Within 2 s they need more than the 11 that they get.
    for minute in 6..=10 {
        platform.minute(minute * 60, [1300, 0]);
    }
    let log = platform.take_log();
    assert_eq!(log[..2], ["600 Drops", "600 app 0 target 2 s"]);
    assert_eq!(log[2..], vec!["600 app 0 +1"; 4]);
    // 1580 per second on 11 refuse 58 %: half of them, and 8 are left.
    for minute in 11..=15 {
        platform.minute(minute * 60, [1580, 0]);
    }
    assert_eq!(platform.take_log()[1..], vec!["900 app 0 +1"; 4]);
    assert_eq!(platform.control.free(), 4);
}

#[test]
fn a_late_host_does_the_work_once() {
    let mut platform = Platform::new(ProvisionPlan::of(vec![hosted()]), 6);
    platform.take_log();
    assert_eq!(platform.poll(7000), Timestamp::from_secs(7060));
    assert_eq!(platform.take_log(), ["7000 Period"]);
}

/// A sentry's servers, by the last split.
fn split(control: &mut Provisioner, secs: u64) -> Vec<(NodeId, usize)> {
    let mut last = Vec::new();
    loop {
        match control.poll(Timestamp::from_secs(secs)) {
            ProvisionAction::Split(_, split) => last = split.iter().map(|(s, servers)| (*s, servers.len())).collect(),
            ProvisionAction::WakeAt(_) => return last,
            _ => {}
        }
    }
}

#[test]
fn sentries_are_added_and_released_as_in_figure_6() {
    let plan = ProvisionPlan::of(vec![HostedApplication { min_servers: 5, ..hosted() }]);
    let mut control = Provisioner::new(Timestamp::ZERO, plan, &nodes(8)).expect("in range");
    let first = split(&mut control, 0)[0];
    assert_eq!(first, (NodeId(0), 5));
    let mut observe = |secs: u64, sentry: u32, cpu: f64| {
        control.observe(Timestamp::from_secs(secs), ProvisionFact::SentryCpu(NodeId(sentry), cpu));
        (control.servers_and_sentries(FIRST).1, split(&mut control, secs))
    };
    assert_eq!(observe(180, 0, 0.85).0, 1);
    assert_eq!(observe(209, 0, 0.85).0, 1);
    // Over 80 % for 30 s: node 6 (1 to 5 are servers), and the servers in equal parts.
    assert_eq!(observe(210, 0, 0.85), (2, vec![(NodeId(0), 3), (NodeId(6), 2)]));
    // Half of the load is left; the time begins anew.
    assert_eq!(observe(211, 0, 0.85).0, 2);
    assert_eq!(observe(240, 6, 0.9).0, 2);
    assert_eq!(observe(270, 6, 0.9), (3, vec![(NodeId(0), 2), (NodeId(6), 2), (NodeId(7), 1)]));
    // There is no free node; a sentry that is none is nobody's.
    assert_eq!(observe(300, 7, 0.9).0, 3);
    assert_eq!(observe(330, 7, 0.9).0, 3);
    assert_eq!(observe(330, 5, 0.9).0, 3);
    // Under 20 % for 5 min they are released, except for the last one.
    for sentry in [0, 6, 7] {
        assert_eq!(observe(400, sentry, 0.1).0, 3);
    }
    assert_eq!(observe(700, 6, 0.1), (2, vec![(NodeId(0), 3), (NodeId(7), 2)]));
    assert_eq!(observe(701, 0, 0.1).0, 2, "its share has changed");
    assert_eq!(observe(1001, 0, 0.1), (1, vec![(NodeId(7), 5)]));
    assert_eq!(observe(1002, 7, 0.1).0, 1);
    assert_eq!(observe(2000, 7, 0.1).0, 1);
}

#[test]
fn plans_out_of_range_say_where() {
    let plan = ProvisionPlan::of(vec![hosted(), hosted()]);
    let minutes = |count: u64| Duration::from_secs(60 * count);
    let with = |hosted: HostedApplication| ProvisionPlan { applications: vec![hosted], ..plan.clone() };
    for (wrong, count, place) in [
        (plan.clone(), 7, "nodes"),
        (ProvisionPlan { applications: vec![], ..plan.clone() }, 13, "applications"),
        (with(HostedApplication { min_servers: 0, ..hosted() }), 13, "min_servers"),
        (with(HostedApplication { revenue: vec![1.0, 2.0], ..hosted() }), 13, "revenue"),
        (with(HostedApplication { revenue: vec![], ..hosted() }), 13, "revenue"),
        (ProvisionPlan { period: Duration::from_secs(90), ..plan.clone() }, 13, "period"),
        (ProvisionPlan { drop_window: minutes(0), ..plan.clone() }, 13, "drop_window"),
        (ProvisionPlan { drop_share: 1.0, ..plan.clone() }, 13, "drop_share"),
        (ProvisionPlan { step: 0, ..plan.clone() }, 13, "step"),
        (ProvisionPlan { trend_limit: 0.5, ..plan.clone() }, 13, "trend_limit"),
    ] {
        assert_eq!(Provisioner::new(Timestamp::ZERO, wrong, &nodes(count)).expect_err(place).place, place);
    }
    let twice = [NodeId(0), NodeId(0)];
    assert_eq!(Provisioner::new(Timestamp::ZERO, plan, &twice).expect_err("twice").place, "nodes");
}

#[test]
fn why_it_was_invoked_comes_first() {
    let mut control =
        Provisioner::new(Timestamp::ZERO, ProvisionPlan::of(vec![hosted()]), &nodes(6)).expect("in range");
    _ = split(&mut control, 0);
    assert_eq!(control.poll(Timestamp::from_secs(1800)), ProvisionAction::Invoked(Invocation::Period));
}
