//! nginx's `limit_conn`: a limit on requests in progress of each key.

use super::zones::{KEY, ZoneKey, Zones};
use crate::{
    Ctx, Entry, Gauge, Machine, Offer, Place, Policy, Reason, Seen, Verdict,
    entry::{EntryKind, Source, count, params},
};

params! {
    struct LimitConnParams {
        max: u32 = count(1..=65_535, 100), "most requests in progress of a key", "limit_conn perserver 100, the documentation's example";
        key: ZoneKey = KEY;
    }
}

#[derive(Debug)]
struct LimitConn {
    /// Requests in progress; a key without any is forgotten.
    busy: Zones<u32>,
    max: u32,
}

impl Machine for LimitConn {
    fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
        if let Seen::Ended { tags, .. } = seen
            && let Some(busy) = self.busy.of(tags)
        {
            *busy = busy.saturating_sub(1);
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("limit"), f64::from(self.max));
        visit(Gauge::of("keys"), self.busy.len() as f64);
    }
}

impl Policy for LimitConn {
    fn offer(&mut self, job: &Offer, _: &mut Ctx<'_>) -> Verdict {
        let max = self.max;
        match self.busy.of(&job.tags) {
            Some(busy) => {
                let room = *busy < max;
                *busy += u32::from(room);
                Verdict::admit_if(room, Reason::Concurrency)
            }
            None => {
                self.busy.begin(&job.tags, 1, |busy| *busy == 0);
                Verdict::admit_if(true, Reason::Concurrency)
            }
        }
    }
}

pub(crate) const LIMIT_CONN: Entry = Entry {
    name: "limit-conn",
    about: "nginx's limit_conn: a limit on requests in progress that you set, of all or of each user",
    caution: "right only while the service time is what it was when the limit was chosen; by user it bounds nobody but the greedy",
    source: Source { title: "nginx 1.22, ngx_http_limit_conn_module.c", place: "ngx_http_limit_conn_handler" },
    deviations: &["Requests that a policy before this one had admitted are not counted after a live switch."],
    places: &[Place::Single, Place::Stage, Place::Proxy],
    presets: &[],
    samples: &[],
    roles: &[],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &LimitConnParams, _| Box::new(LimitConn { busy: Zones::new(params.key), max: params.max }))
    }),
};
