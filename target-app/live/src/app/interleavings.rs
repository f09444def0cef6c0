//! Requests under back-pressure, in many orders of the tasks that bring them.

use std::sync::Mutex;

use controllers::{Objective, Settings, catalogue::PolicySpec, site::OnRefuse};
use service_core::{
    events::Events,
    policies::{Resolved, Seating},
    route::Route,
};
use spec::{
    App, EmulatedSpec, ServiceTime, StageSpec, TargetSpec,
    graph::{Branch, Graph, Role},
};

use super::*;
use crate::{
    clock::manual::ManualClock,
    serve::assemble,
    service::{At, Boxed, Handled},
    stage::interleaved::{explore, switch},
};

const ORDERS: usize = 500;

/// A service that answers at once, except for what other tasks do meanwhile.
#[derive(Debug)]
struct Quick;

impl Service for Quick {
    fn graph(&self) -> Graph {
        Graph::new(&["request"], &[("work", Role::Dynamic)])
    }

    fn route(&self, _: &Parts) -> Route {
        Route { kind: Kind(0), branch: Branch(0) }
    }

    fn handle<'a>(&'a self, _: Request, _: At<'a>) -> Boxed<'a, Handled> {
        switch();
        Box::pin(std::future::ready(Ok(Response::new(Bytes::new().into()))))
    }

    fn is_emulated(&self) -> bool {
        true
    }
}

/// One worker at dispatch, and one job in the queue of the stage: further requests wait at dispatch.
fn app(clock: ServiceClock) -> Arc<LiveApp> {
    let none = PolicySpec { name: "none".to_owned(), place: None, settings: Settings::new() };
    let mut target: TargetSpec = TargetSpec::new(
        App::Emulated(EmulatedSpec::one(ServiceTime::Constant(Duration::from_millis(10)))),
        none,
        Objective { percentile: 90.0, response_time: Duration::from_secs(1) },
    );
    let stage = StageSpec { workers: 1, queue: 1, on_refuse: OnRefuse::Block, ..StageSpec::default() };
    let dispatch = StageSpec { workers: 1, queue: 100, ..StageSpec::default() };
    target.stages = [("work".to_owned(), stage), ("dispatch".to_owned(), dispatch)].into();
    let chosen = Resolved::live(&target.policy).unwrap();
    let seating = Seating::new(Arc::new(Quick.graph()), target.objective, target.seed, Events::default());
    let built = assemble(&TaskSpec::alone(target), &chosen, Arc::new(Quick), &seating, clock).unwrap();
    built.start();
    built.app
}

/// Sends a request in a task of its own.
fn ask(app: &Arc<LiveApp>, answers: &Arc<Mutex<Vec<StatusCode>>>) -> shuttle::future::JoinHandle<()> {
    let (app, answers) = (Arc::clone(app), Arc::clone(answers));
    shuttle::future::spawn(async move {
        let head = http::Request::new(()).into_parts().0;
        let answer = app.answer(head, Bytes::new(), app.clock.now(), ([127, 0, 0, 1], 1).into()).await;
        answers.lock().unwrap().push(answer.response.status());
    })
}

/// Advances the clock, so that blocked jobs are tried again, until no request waits in the app.
async fn settle(app: &LiveApp, clock: &ManualClock, idle: impl Fn() -> bool) {
    let at_rest = || app.sites.dispatchers.counts() == [0, 1, 0, 0] && app.sites.stages[0].gauges().queue == 0;
    while !idle() || !at_rest() {
        clock.advance(clock.now() + Duration::from_millis(5));
        shuttle::future::yield_now().await;
    }
}

#[test]
fn requests_that_back_pressure_holds_are_all_answered_once() {
    explore(ORDERS, || async {
        let clock = ManualClock::leaked();
        let app = app(ServiceClock::manual(clock));
        let answers = Arc::default();
        let asked: Vec<_> = (0..4).map(|_| ask(&app, &answers)).collect();
        settle(&app, clock, || answers.lock().unwrap().len() == asked.len()).await;
        assert_eq!(*answers.lock().unwrap(), [StatusCode::OK; 4]);
        assert_eq!(app.sites.stages[0].gauges().completed, 4);
    });
}

#[test]
fn a_client_that_goes_away_frees_the_worker_that_waits_with_its_request() {
    explore(ORDERS, || async {
        let clock = ManualClock::leaked();
        let app = app(ServiceClock::manual(clock));
        let answers = Arc::default();
        let asked: Vec<_> = (0..4).map(|_| ask(&app, &answers)).collect();
        shuttle::future::yield_now().await;
        asked[2].abort();
        settle(&app, clock, || answers.lock().unwrap().len() >= 3).await;
        assert!(answers.lock().unwrap().iter().all(|status| *status == StatusCode::OK));
    });
}
