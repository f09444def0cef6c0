//! Arashi in virtual time.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use controllers::{
    Class, Kind, Timestamp,
    random::{lognormal_factor, mix},
};
use http::request::Parts;
use service_core::{
    mail::{self, WorkKnob},
    request::DEGRADED,
    route::{Route, WorkError},
};
use spec::{
    WorkSpec,
    graph::Graph,
    plant::{PlantSpec, TypeCost, ms},
};
use workloads::{
    persona::Call,
    sim::{Mailboxes, Response},
};

use super::{
    backend::{Backend, DegradedWork, Draws},
    cpu::Step,
};

/// The index of the pool of connections for reading, and of that for changes.
const READERS: usize = 0;
const WRITERS: usize = 1;
/// Separates the draw of extra operations from the other draws.
const OF_WORK: u64 = 4;

/// The web-mail service: pages from mailboxes in memory, costs from a plant file, and the live service's own work knob.
#[derive(Debug)]
pub(super) struct PlantMail {
    costs: Vec<TypeCost>,
    operation: Duration,
    work: WorkKnob,
    pools: [u32; 2],
    slowdown: Vec<f64>,
    boxes: Mailboxes,
    /// The largest age of a copy of a list that is shown; zero: none is kept.
    stale: Duration,
    /// The times at which lists were last read, by session and request.
    copies: BTreeMap<(Arc<str>, Arc<str>), Timestamp>,
}

impl PlantMail {
    pub(super) fn new(
        spec: &PlantSpec,
        connections: u32,
        work: &WorkSpec,
        folders: &[Vec<u32>],
        stale: Duration,
    ) -> Result<Self, WorkError> {
        let graph = mail::graph();
        let costs = graph.kinds().iter().map(|kind| spec.types.get(kind).copied().unwrap_or_default());
        let mut mail = Self {
            costs: costs.collect(),
            operation: ms(spec.operation_ms),
            work: WorkKnob::default(),
            pools: [connections, spec.writers],
            slowdown: spec.slowdown.clone(),
            boxes: Mailboxes::with_folders(folders.to_vec()),
            stale,
            copies: BTreeMap::new(),
        };
        mail.set_work(work)?;
        Ok(mail)
    }

    fn cost(&self, kind: Kind) -> TypeCost {
        self.costs.get(usize::from(kind.0)).copied().unwrap_or_default()
    }

    /// True if there is a copy of this list that is not too old.
    fn has_copy(&self, call: &Call, now: Timestamp) -> bool {
        self.copies.get(&copy_of(call)).is_some_and(|made| now.since(*made) <= self.stale)
    }
}

impl Backend for PlantMail {
    fn graph(&self) -> Graph {
        mail::graph()
    }

    fn pools(&self) -> Vec<u32> {
        self.pools.to_vec()
    }

    fn slowdown(&self) -> Vec<f64> {
        self.slowdown.clone()
    }

    fn route(&self, head: &Parts) -> Route {
        mail::route(head.uri.path())
    }

    fn steps(&mut self, kind: Kind, _: Class, Draws { key, user }: Draws, _: f64) -> Vec<Step> {
        let cost = self.cost(kind);
        let varies = |time: f64, purpose: u64| ms(time * lognormal_factor(cost.spread, mix(key ^ purpose)));
        let due = u32::try_from(self.work.due_by(usize::from(kind.0), user, key ^ OF_WORK)).unwrap_or(u32::MAX);
        let mut operations = self.operation.saturating_mul(due);
        // Each use of a connection waits for one. Work without a use of its own is part of the operations.
        let (turns, reading) = (mail::turns(kind), varies(cost.read_ms, 1));
        if turns == 0 {
            operations += reading;
        }
        let read = Step { pool: Some(READERS), demand: reading / turns.max(1) };
        let steps = [Step { pool: Some(READERS), demand: operations }]
            .into_iter()
            .chain(std::iter::repeat_n(read, turns as usize))
            .chain([
                Step { pool: Some(WRITERS), demand: varies(cost.write_ms, 2) },
                Step { pool: None, demand: varies(cost.cpu_ms, 3) },
            ]);
        steps.filter(|step| !step.demand.is_zero()).collect()
    }

    /// As the live service: a search through the newest part of the mail, in proportion to the database's work; a copy
    /// of a list, at the cost of the work outside of the database.
    fn less(
        &mut self,
        (kind, _): (Kind, Class),
        call: &Call,
        draws: Draws,
        quality: f64,
        now: Timestamp,
    ) -> Option<DegradedWork> {
        match mail::graph().kind_name(kind) {
            "search" => {
                let mut steps = self.steps(kind, Class::default(), draws, 1.0);
                let of_database = steps.iter_mut().filter(|step| step.pool.is_some());
                of_database.for_each(|step| step.demand = step.demand.mul_f64(quality.clamp(0.0, 1.0)));
                Some(DegradedWork { steps, how: mail::newest(quality) })
            }
            "list messages" if self.has_copy(call, now) => {
                let mut steps = self.steps(kind, Class::default(), draws, 1.0);
                steps.retain(|step| step.pool.is_none());
                Some(DegradedWork { steps, how: STALE.to_owned() })
            }
            _ => None,
        }
    }

    fn answer(&mut self, call: &Call, less: Option<&str>, now: Timestamp) -> Response {
        let mut response = self.boxes.answer(call);
        if let Some(how) = less {
            response.headers.push((DEGRADED, how.to_owned()));
            return response;
        }
        if !self.stale.is_zero() && is_list(call) {
            if self.copies.len() >= MOST_COPIES {
                let stale = self.stale;
                self.copies.retain(|_, made| now.since(*made) <= stale);
            }
            self.copies.insert(copy_of(call), now);
        }
        response
    }

    /// As the live service: a copy of a list, at the cost of the work outside of the database, or a list or a message
    /// without extra work.
    fn degrade(&mut self, kind: Kind, call: &Call, key: u64, now: Timestamp) -> Option<(Duration, Response)> {
        let route = mail::route(call.path.split('?').next().unwrap_or("/"));
        let name = mail::graph();
        if !matches!(name.kind_name(route.kind), "list messages" | "show message") {
            return None;
        }
        let cost = self.cost(kind);
        let (of_database, how) = if self.has_copy(call, now) { (0.0, STALE) } else { (cost.read_ms, "reduced") };
        let takes = ms((of_database + cost.cpu_ms) * lognormal_factor(cost.spread, key));
        Some((takes, self.answer(call, Some(how), now)))
    }

    fn set_work(&mut self, work: &WorkSpec) -> Result<(), WorkError> {
        mail::set_work(&self.work, work)
    }
}

/// The value of the degraded mark of a copied list.
const STALE: &str = "stale";

/// Old copies are dropped when there are this many.
const MOST_COPIES: usize = 10_000;

fn is_list(call: &Call) -> bool {
    let route = mail::route(call.path.split('?').next().unwrap_or("/"));
    mail::graph().kind_name(route.kind) == "list messages"
}

/// The key of a copy: the session's headers, and the request.
fn copy_of(call: &Call) -> (Arc<str>, Arc<str>) {
    (Arc::clone(&call.headers), Arc::clone(&call.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use controllers::Class;

    fn call(path: &str) -> Call {
        Call { kind: Kind(2), ..Call::get(Class(0), path.into(), "".into()) }
    }

    /// Lists, and searches with five extra operations of 2 ms, of four folders.
    fn mail() -> PlantMail {
        let cost = TypeCost { cpu_ms: 1.0, read_ms: 4.0, ..TypeCost::default() };
        let types = ["list messages", "search"].map(|name| (name.to_owned(), cost)).into();
        let spec = PlantSpec { types, operation_ms: 2.0, ..PlantSpec::default() };
        let weights = [("search".to_owned(), 5.0), ("list messages".to_owned(), 0.0)].into();
        let work = WorkSpec { operations: 1.0, weights, spread: 0.0 };
        PlantMail::new(&spec, 1, &work, &[vec![5; 4]], Duration::from_secs(30)).expect("is sensible")
    }

    #[test]
    fn below_full_quality_searches_cost_their_part_of_the_database_and_copies_none() {
        let mut mail = mail();
        let (search, list) = (Kind(6), Kind(2));
        let less = |mail: &mut PlantMail, kind: Kind, path: &str, at: u64| {
            let less = mail.less(
                (kind, Class::default()),
                &call(path),
                Draws { key: 1, user: 0 },
                0.25,
                Timestamp::from_secs(at),
            )?;
            Some((less.steps.iter().map(|step| step.demand.as_micros()).collect::<Vec<_>>(), less.how))
        };
        // A quarter of 10 ms and of two uses of 2 ms, and 1 ms outside of the database.
        let part = Some((vec![2500, 500, 500, 1000], "newest 25%".to_owned()));
        assert_eq!(less(&mut mail, search, "/search?q=a", 0), part);
        assert_eq!(less(&mut mail, list, "/list?folderid=1", 0), None, "there is no copy");
        mail.answer(&call("/list?folderid=1"), None, Timestamp::from_secs(1));
        let copy = Some((vec![1000], "stale".to_owned()));
        assert_eq!(less(&mut mail, list, "/list?folderid=1", 31), copy);
        // Showing a copy does not renew it.
        let shown = mail.answer(&call("/list?folderid=1"), Some("stale"), Timestamp::from_secs(31));
        assert_eq!(shown.headers.last().expect("a mark").1, "stale");
        assert_eq!(less(&mut mail, list, "/list?folderid=1", 32), None, "too old");
        assert_eq!(less(&mut mail, Kind(3), "/show?folderid=1&entry=1", 32), None, "messages are as usual");
    }

    #[test]
    fn each_turn_at_a_connection_is_waited_for_and_changes_have_none_of_their_own() {
        let cost = TypeCost { cpu_ms: 1.0, read_ms: 4.0, write_ms: 3.0, ..TypeCost::default() };
        let types = ["login", "list messages", "delete"].map(|name| (name.to_owned(), cost)).into();
        let spec = PlantSpec { types, operation_ms: 2.0, ..PlantSpec::default() };
        let weights = ["login", "list messages", "delete"].map(|name| (name.to_owned(), 1.0)).into();
        let work = WorkSpec { operations: 1.0, weights, spread: 0.0 };
        let mut mail = PlantMail::new(&spec, 1, &work, &[vec![5; 4]], Duration::ZERO).expect("is sensible");
        let mut steps = |kind: u16| {
            let steps = mail.steps(Kind(kind), Class::default(), Draws { key: 1, user: 0 }, 1.0);
            steps.iter().map(|step| (step.pool, step.demand.as_millis())).collect::<Vec<_>>()
        };
        let (reader, writer) = (Some(READERS), Some(WRITERS));
        assert_eq!(steps(0), [(reader, 2), (reader, 4), (writer, 3), (None, 1)], "login looks the account up");
        assert_eq!(steps(2), [(reader, 2), (reader, 2), (reader, 2), (writer, 3), (None, 1)], "folders, then the list");
        assert_eq!(steps(4), [(reader, 6), (writer, 3), (None, 1)]);
    }

    #[test]
    fn a_copy_of_a_list_costs_no_database_while_it_is_fresh() {
        let mut mail = mail();
        let (list, other) = (call("/list?folderid=1"), call("/list?folderid=2"));
        let degraded = |mail: &mut PlantMail, call: &Call, at: u64| {
            let (takes, response) = mail.degrade(Kind(2), call, 1, Timestamp::from_secs(at)).expect("a list");
            (takes.as_millis(), response.headers.last().expect("a mark").1.clone())
        };
        assert_eq!(degraded(&mut mail, &list, 0), (5, "reduced".to_owned()));
        mail.answer(&list, None, Timestamp::from_secs(1));
        assert_eq!(degraded(&mut mail, &list, 31), (1, "stale".to_owned()));
        assert_eq!(degraded(&mut mail, &other, 31), (5, "reduced".to_owned()), "another list");
        assert_eq!(degraded(&mut mail, &list, 32), (5, "reduced".to_owned()), "too old");
    }
}
