//! Runs operations through a live service: its real gate, dispatch, stages and workers, on a runtime of this thread,
//! under a clock that the test advances.

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use controllers::Timestamp;
use service_core::{
    events::Events,
    policies::{Resolved, Seating},
};
use spec::{TargetSpec, services::TaskSpec};
use tokio::task::{JoinHandle, LocalSet};

use super::{
    AFTERWARDS, Arrival, HEADERS, Operation, Outcome, Reply, Timed,
    recording::{self, Difference},
    service::{self, Stages},
};
use crate::{
    app::{AppAnswer, LiveApp, Sites},
    clock::{ServiceClock, manual::ManualClock},
    serve::assemble,
    service::Service,
};

pub(super) fn run(target: &TargetSpec, operations: &[Timed], differs: Option<Difference>) -> Outcome {
    let mut operations = operations.to_vec();
    if differs == Some(Difference::Order) && operations.len() > 11 {
        let (a, b) = (operations[10].1.clone(), operations[11].1.clone());
        (operations[10].1, operations[11].1) = (b, a);
    }
    recording::begin(differs);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    LocalSet::new().block_on(&runtime, drive(target, &operations))
}

struct Driver {
    clock: &'static ManualClock,
    app: Arc<LiveApp>,
    replies: Rc<std::cell::RefCell<BTreeMap<usize, (Timestamp, Reply)>>>,
    requests: Vec<JoinHandle<()>>,
}

async fn drive(target: &TargetSpec, operations: &[Timed]) -> Outcome {
    let manual = ManualClock::leaked();
    let clock = ServiceClock::manual(manual);
    let chosen = Resolved::live(&target.policy).expect("a policy");
    let service: Arc<dyn Service> = Arc::new(service::Live::new(clock, Stages::of(&chosen)));
    let graph = Arc::new(service.graph());
    let seating = Seating::new(graph, target.objective, target.seed, Events::default());
    let seating = seating.wrapped(Some(recording::wrap));
    let built = assemble(&TaskSpec::alone(target.clone()), &chosen, service, &seating, clock).expect("a service");
    built.start();
    let app = Arc::clone(&built.app);
    let mut driver = Driver { clock: manual, app, replies: Rc::default(), requests: Vec::new() };
    settle().await;
    let mut outcome = Outcome::default();
    let mut now = Timestamp::ZERO;
    for (after, operation) in operations {
        now = now + *after;
        driver.until(now).await;
        match operation {
            Operation::Arrive(arrival) => driver.arrive(arrival),
            Operation::Leave(nth) => driver.leave(*nth),
            Operation::Renew => {
                let sites = &driver.app.sites;
                let but_accept = sites.inner_first().into_iter().filter(|site| *site != sites.graph.accept());
                but_accept.for_each(|site| sites.replace(site, seating.policy(&chosen, site)));
            }
        }
        settle().await;
        let Sites { dispatch, stages, dispatchers, .. } = &driver.app.sites;
        let gauges = std::iter::once(dispatch.gauges()).chain(stages.iter().map(|stage| stage.gauges()));
        outcome.gauges.push((gauges.collect(), dispatchers.counts()));
    }
    driver.until(now + AFTERWARDS).await;
    // Before the tasks of requests are dropped, whose jobs leave then and let others come.
    outcome.calls = recording::end();
    outcome.replies = driver.replies.take();
    outcome
}

impl Driver {
    /// Advances the clock, from one sleeper to the next.
    async fn until(&self, until: Timestamp) {
        while self.clock.advance(until) {
            settle().await;
        }
    }

    fn arrive(&mut self, arrival: &Arrival) {
        // The edge asks the gate at accept first, under an identity of its own.
        let _ = self.app.intake.connection(Timestamp::ZERO);
        let (app, replies, number) = (Arc::clone(&self.app), Rc::clone(&self.replies), self.requests.len());
        let (head, ()) = request(arrival).into_parts();
        let clock = self.clock;
        self.requests.push(tokio::task::spawn_local(async move {
            let peer = std::net::SocketAddr::from(([127, 0, 0, 1], 1024));
            let answer = app.answer(head, crate::service::Bytes::new(), clock.now(), peer).await;
            replies.borrow_mut().insert(number, (clock.now(), reply(&answer)));
        }));
    }

    fn leave(&mut self, nth: usize) {
        if let Some(request) = nth.checked_rem(self.requests.len()).map(|nth| &self.requests[nth]) {
            request.abort();
        }
    }
}

fn request(arrival: &Arrival) -> http::Request<()> {
    let path = if arrival.slow { "/slow" } else { "/fast" };
    let mut request = http::Request::get(path)
        .header("x-draw", arrival.work.as_nanos().to_string())
        .header("x-criticality", arrival.criticality.name())
        .header("x-user", arrival.customer.to_string())
        .header("x-customer", arrival.customer.to_string());
    if arrival.attempt > 0 {
        request = request.header("x-attempt", arrival.attempt.to_string());
    }
    if let Some(note) = arrival.note {
        request = request.header("x-note", note.to_string());
    }
    if let Some(left) = arrival.left_ms {
        request = request.header("x-timeout-ms", left.to_string());
    }
    request.body(()).expect("a request")
}

fn reply(answer: &AppAnswer) -> Reply {
    let value = |name| Some((name, answer.response.headers().get(name)?.to_str().ok()?.to_owned()));
    Reply { status: answer.response.status().as_u16(), headers: HEADERS.into_iter().filter_map(value).collect() }
}

/// Lets all tasks run until none of them can continue.
async fn settle() {
    for _ in 0..40 {
        tokio::task::yield_now().await;
    }
}
