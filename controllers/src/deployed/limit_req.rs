//! nginx's `limit_req`: a leaky bucket that delays what is over the rate, and refuses what is over the burst.

use std::{collections::BTreeMap, time::Duration};

use super::zones::{KEY, ZoneKey, Zones};
use crate::{
    Ctx, Effect, Entry, Gauge, Grant, JobId, Machine, Offer, Place, Policy, Reason, Refusal, Seen, Timestamp, Verdict,
    entry::{EntryKind, Source, count, flag, number, params},
};

params! {
    struct LimitReqParams {
        rate: f64 = number(0.001..=1e6, 10.0).in_unit("/s"), "requests a second", "rate, the documentation's example of a whole server";
        burst: u32 = count(0..=1_000_000, 10), "requests over the rate that wait; more are refused",
            "burst, the documentation's example of a whole server";
        nodelay: bool = flag(false), "whether requests within the burst go in at once", "nodelay: not by default";
        delay: u32 = count(0..=1_000_000, 0), "requests over the rate that go in at once, before others wait", "delay: 0 by default";
        key: ZoneKey = KEY;
    }
}

/// The bucket of a key.
#[derive(Debug)]
struct Bucket {
    /// Requests over the rate, thousandths.
    excess: i64,
    last_ms: i64,
}

#[derive(Debug)]
struct LimitReq {
    buckets: Zones<Bucket>,
    /// Jobs in the order in which they are let in, with their sequence.
    delayed: BTreeMap<(Timestamp, u64), JobId>,
    by_id: BTreeMap<JobId, (Timestamp, u64)>,
    next: u64,
    params: LimitReqParams,
}

impl LimitReqParams {
    /// Thousandths of requests a second.
    fn rate(&self) -> i64 {
        ((self.rate * 1000.0) as i64).max(1)
    }

    /// Excess of a bucket when a request comes.
    fn excess(&self, bucket: &Bucket, now_ms: i64) -> i64 {
        let passed = (now_ms - bucket.last_ms).max(0);
        (bucket.excess - self.rate() * passed / 1000 + 1000).max(0)
    }
}

impl LimitReq {
    /// The time that a request has to wait; `None`: it is refused.
    fn wait(&mut self, job: &Offer, now: Timestamp) -> Option<Duration> {
        let now_ms = i64::try_from(now.as_nanos() / 1_000_000).unwrap_or(i64::MAX);
        let params = &self.params;
        let Some(bucket) = self.buckets.of(&job.tags) else {
            let first = Bucket { excess: 0, last_ms: now_ms };
            // A request later it has no excess left, as one that begins.
            self.buckets.begin(&job.tags, first, |bucket| params.excess(bucket, now_ms - 1) == 0);
            return Some(Duration::ZERO);
        };
        let excess = params.excess(bucket, now_ms);
        if excess > i64::from(params.burst) * 1000 {
            return None;
        }
        *bucket = Bucket { excess, last_ms: now_ms };
        let over = excess - i64::from(params.delay) * 1000;
        let wait_ms = if params.nodelay || over <= 0 { 0 } else { over * 1000 / params.rate() };
        Some(Duration::from_millis(wait_ms.unsigned_abs()))
    }

    fn release_due(&mut self, cx: &mut Ctx<'_>) {
        while let Some((&due, &id)) = self.delayed.first_key_value().filter(|((at, _), _)| *at <= cx.now) {
            self.delayed.remove(&due);
            self.by_id.remove(&id);
            cx.effects.push(Effect::Release(id, Grant::default()));
        }
    }
}

impl Machine for LimitReq {
    fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
        if let Seen::Left(id) = seen
            && let Some(due) = self.by_id.remove(id)
        {
            self.delayed.remove(&due);
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.delayed.first_key_value().map(|((at, _), _)| *at)
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.release_due(cx);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("held"), self.delayed.len() as f64);
        let most = self.buckets.values().map(|bucket| bucket.excess).max().unwrap_or(0);
        visit(Gauge::of("excess"), most as f64 / 1000.0);
    }
}

impl Policy for LimitReq {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        self.release_due(cx);
        match self.wait(job, cx.now) {
            None => Verdict::Refuse(Refusal::new(Reason::Rate)),
            Some(Duration::ZERO) => Verdict::Admit(Grant::default()),
            Some(wait) => {
                let due = (cx.now + wait, self.next);
                self.next += 1;
                self.delayed.insert(due, job.id);
                self.by_id.insert(job.id, due);
                Verdict::Hold
            }
        }
    }
}

pub(crate) const LIMIT_REQ: Entry = Entry {
    name: "limit-req",
    about: "nginx's limit_req: a rate that you set; what is over it waits for its turn, up to a burst",
    caution: "right only while the capacity is what it was when the rate was chosen; without nodelay a burst waits also where workers are free",
    source: Source {
        title: "nginx 1.22, ngx_http_limit_req_module.c",
        place: "ngx_http_limit_req_lookup, ngx_http_limit_req_account",
    },
    deviations: &[
        "A zone's memory is bounded by forgetting keys without excess, not by its size in bytes.",
        "Several zones are several policies; there is one here.",
    ],
    places: &[Place::Single, Place::Stage, Place::Proxy],
    presets: &[],
    samples: &[],
    roles: &[],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &LimitReqParams, _| {
            Box::new(LimitReq {
                buckets: Zones::new(params.key),
                delayed: BTreeMap::new(),
                by_id: BTreeMap::new(),
                next: 0,
                params: params.clone(),
            })
        })
    }),
};
