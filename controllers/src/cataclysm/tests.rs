//! The machines by hand, their invariants, and the paper's three classes in virtual time.

mod figure_3;
mod policy_by_hand;
mod provisioner_by_hand;
mod provisioner_invariants;
mod sentry_by_hand;
mod sentry_invariants;

use std::time::Duration;

use super::{
    DelayPlan, NodeId, Policing, PolicingPlan, ResourceUsage, Sentry, SentryAction, SentryClass, SentryPermit,
    SentryPlan, SentryRefusal, SentryRequest, ServiceRanges, ServiceTimePlan, UrlName,
};
use crate::{Class, JobId, Seeded, Timestamp};

const GOLD: Class = Class(2);
const SILVER: Class = Class(1);
const BRONZE: Class = Class(0);

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn nodes(servers: u32) -> Vec<NodeId> {
    (0..servers).map(NodeId).collect()
}

/// The paper's experiment: three classes with delays of 0, 50 and 100 ms and a target of 1 s, batch policing. A request is
/// expected to take 100 ms, the middle of the range from 90 to 110 ms.
fn by_batches() -> SentryPlan {
    let ms = Duration::from_millis;
    SentryPlan {
        ranges: ServiceRanges::new(vec![0.010, 0.090, 0.110, 0.290]).expect("ascending"),
        delays: DelayPlan::Fixed(vec![ms(0), ms(50), ms(100)]),
        policing: PolicingPlan::Always(Policing::Batch),
        service_times: ServiceTimePlan { initial_s: 0.1, ..ServiceTimePlan::default() },
        ..SentryPlan::three_classes()
    }
}

/// A sentry, with the permits of what it has admitted.
struct Bench {
    sentry: Sentry<u64>,
    random: Seeded,
    permits: Vec<(u64, SentryPermit)>,
    next: u64,
}

impl Bench {
    fn new(plan: SentryPlan, servers: u32) -> Self {
        let sentry = Sentry::new(Timestamp::ZERO, plan, &nodes(servers)).expect("a plan in range");
        Self { sentry, random: Seeded::new(1), permits: Vec::new(), next: 0 }
    }

    /// Offers a request and returns its number; nothing is polled.
    fn offer(&mut self, ms: u64, class: Class, url: &str) -> u64 {
        self.next += 1;
        let request = SentryRequest { id: JobId(self.next), class, url: UrlName::Path(url) };
        self.sentry.offer(at(ms), request, self.next, &mut self.random);
        self.next
    }

    /// Offers `count` requests of a class.
    fn offer_many(&mut self, ms: u64, class: Class, count: u32) {
        (0..count).for_each(|_| _ = self.offer(ms, class, "/"));
    }

    /// Polls until there is nothing to do: who is admitted, who is refused and why, and the next wake-up.
    fn poll(&mut self, ms: u64) -> (Vec<u64>, Vec<(u64, SentryRefusal)>, Timestamp) {
        let (mut admitted, mut refused) = (Vec::new(), Vec::new());
        loop {
            match self.sentry.poll(at(ms)) {
                SentryAction::Admit(job, permit) => {
                    admitted.push(job);
                    self.permits.push((job, permit));
                }
                SentryAction::Refuse(job, why) => refused.push((job, why)),
                SentryAction::WakeAt(wake) => return (admitted, refused, wake),
            }
        }
    }

    /// Ends the oldest admitted request.
    fn end(&mut self, ms: u64, usage: Option<ResourceUsage>) {
        let (_, permit) = self.permits.remove(0);
        self.sentry.ended(at(ms), permit, usage, &mut self.random);
    }

    /// Ends every admitted request without a word of its cost.
    fn end_all(&mut self, ms: u64) {
        while !self.permits.is_empty() {
            self.end(ms, None);
        }
    }
}

fn usage(cpu_ms: u64) -> ResourceUsage {
    let cpu = Duration::from_millis(cpu_ms);
    ResourceUsage { cpu, data: Duration::ZERO, actual: cpu }
}

#[test]
fn plans_out_of_range_say_where() {
    let plan = by_batches();
    let ms = Duration::from_millis;
    for (wrong, place) in [
        (SentryPlan { classes: vec![], ..plan.clone() }, "classes"),
        (SentryPlan { classes: vec![SentryClass::guaranteed(-1.0); 3], ..plan.clone() }, "classes"),
        (SentryPlan { response: ms(0), ..plan.clone() }, "response"),
        (SentryPlan { delays: DelayPlan::Fixed(vec![ms(0), ms(50)]), ..plan.clone() }, "delays"),
        (SentryPlan { delays: DelayPlan::Fixed(vec![ms(1), ms(2), ms(3)]), ..plan.clone() }, "delays"),
        (SentryPlan { delays: DelayPlan::Fixed(vec![ms(0), ms(9), ms(3)]), ..plan.clone() }, "delays"),
        (SentryPlan { period: ms(0), ..plan.clone() }, "period"),
        (SentryPlan { old_weight: 1.0, ..plan.clone() }, "old_weight"),
        (SentryPlan { utilization: 1.1, ..plan.clone() }, "utilization"),
        (SentryPlan { held: 0, ..plan.clone() }, "held"),
        (
            SentryPlan { service_times: ServiceTimePlan { urls: 0, ..plan.service_times }, ..plan.clone() },
            "service_times.urls",
        ),
    ] {
        let error = Sentry::<u64>::new(Timestamp::ZERO, wrong, &nodes(1)).expect_err(place);
        assert_eq!(error.place, place);
    }
}
