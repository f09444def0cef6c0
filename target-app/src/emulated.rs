//! A service with emulated service times: any law, any number of servers, FIFO or shared. It burns no CPU.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use controllers::{JobId, Timestamp};
use http::{HeaderValue, Response, header, request::Parts};
use service_core::{
    request::DEGRADED,
    route::Route,
    synthetic::{
        CHEAPEST, Law,
        server_model::{BegunWork, Fifo, ProcessorSharing},
        typed_graph,
    },
};
use spec::{Discipline, EmulatedSpec, graph::Graph};
use tokio::sync::oneshot;

use live_service::{
    clock::ServiceClock,
    service::{At, Boxed, Bytes, Handled, PageBody, Request, Service, StatedCost},
    signals::{Probe, ThisProcess},
    stage::{Shared, SharedSite, keep_time, lock, spawn},
};

/// The emulated service. It has one stage, `work`.
///
/// The size of the stage's pool bounds the number of jobs at the servers: with fewer workers than servers the workers
/// are the limit, and for processor sharing the number of workers is the multiprogramming level.
#[derive(Debug)]
pub struct Emulated {
    law: Law,
    seed: u64,
    clock: ServiceClock,
    servers: ServerModel,
    used: Arc<Used>,
    page: Bytes,
    graph: Graph,
}

/// The servers' work, reported as the CPU time of a machine with this number of processors: the process itself sleeps
/// meanwhile.
#[derive(Debug)]
struct Used {
    servers: u32,
    clock: ServiceClock,
    begun: Mutex<BegunWork>,
}

#[derive(Debug)]
enum ServerModel {
    Fifo(Mutex<Fifo>),
    ProcessorSharing(Arc<SharedServers>),
}

/// Servers that all jobs share.
#[derive(Debug)]
struct SharedServers(Shared<ProcessorSharing<oneshot::Sender<()>>>);

impl Emulated {
    /// The service. Needs a runtime.
    pub fn new(law: Law, emulated: &EmulatedSpec, seed: u64, clock: ServiceClock) -> Arc<Self> {
        let EmulatedSpec { servers, discipline, answer_bytes, .. } = *emulated;
        let model = match discipline {
            Discipline::Fifo => ServerModel::Fifo(Mutex::new(Fifo::new(servers))),
            Discipline::ProcessorSharing => {
                let shared = Arc::new(SharedServers(Shared::new(ProcessorSharing::new(servers), clock)));
                spawn(keep_time(Arc::downgrade(&shared)));
                ServerModel::ProcessorSharing(shared)
            }
        };
        let used = Arc::new(Used { servers: servers.max(1), clock, begun: Mutex::default() });
        Arc::new(Self {
            law,
            seed,
            clock,
            servers: model,
            used,
            page: page(answer_bytes),
            graph: typed_graph(emulated),
        })
    }
}

impl Service for Emulated {
    fn graph(&self) -> Graph {
        self.graph.clone()
    }

    fn route(&self, head: &Parts) -> Route {
        self.law.route(head.uri.path())
    }

    fn handle<'a>(&'a self, request: Request, at: At<'a>) -> Boxed<'a, Handled> {
        let drawn = self.law.draw_at(self.seed, key(&request), (request.route.kind, request.tags.class), at.quality);
        // Exactly the drawn time if nothing slows the servers down.
        let work = if at.speed < 1.0 { drawn.div_f64(at.speed) } else { drawn };
        Box::pin(async move {
            match &self.servers {
                ServerModel::Fifo(fifo) => {
                    let done = lock(fifo).arrive(at.offered, at.started, work);
                    self.used.begin(done - work, drawn);
                    self.clock.sleep_until(done).await;
                    lock(fifo).leave(done);
                }
                ServerModel::ProcessorSharing(shared) => {
                    self.used.begin(self.clock.now(), drawn);
                    shared.serve(work).await;
                }
            }
            let mut answer = answer(self.page.clone());
            answer.extensions_mut().insert(StatedCost(drawn));
            let mark = self.law.mark(at.quality).and_then(|mark| HeaderValue::try_from(mark).ok());
            mark.into_iter().for_each(|mark| _ = answer.headers_mut().insert(DEGRADED, mark));
            Ok(answer)
        })
    }

    /// Spends the time on the server that is free first, before its jobs or among them.
    fn spend(&self, time: Duration) -> Boxed<'_, ()> {
        Box::pin(async move {
            self.used.begin(self.clock.now(), time);
            match &self.servers {
                ServerModel::Fifo(fifo) => {
                    let done = lock(fifo).interrupt(self.clock.now(), time);
                    self.clock.sleep_until(done).await;
                }
                ServerModel::ProcessorSharing(shared) => shared.serve(time).await,
            }
        })
    }

    fn is_emulated(&self) -> bool {
        true
    }

    fn probe(&self) -> Arc<dyn Probe> {
        Arc::<Used>::clone(&self.used)
    }

    /// Returns the page at once, marked: the cheapest answer of an emulated service.
    fn degrade<'a>(&'a self, _: &'a Request) -> Boxed<'a, Option<Response<PageBody>>> {
        let mut degraded = answer(self.page.clone());
        degraded.headers_mut().insert(DEGRADED, HeaderValue::from_static(CHEAPEST));
        Box::pin(std::future::ready(Some(degraded)))
    }
}

impl Used {
    /// Records that a server begins this amount of work at `then`, at full speed: a cut of the capacity reduces the use
    /// of the servers, as it does for processors.
    fn begin(&self, then: Timestamp, work: Duration) {
        lock(&self.begun).book(self.clock.now(), then, work);
    }
}

impl Probe for Used {
    fn cpu_time(&self) -> Duration {
        lock(&self.begun).by(self.clock.now())
    }

    fn cpus(&self) -> f64 {
        f64::from(self.servers)
    }

    /// Memory is not emulated.
    fn memory_share(&self) -> f64 {
        ThisProcess::default().memory_share()
    }
}

/// The key of a request's service time: the key that a run of ours gives it, else its number in the order of arrival.
fn key(request: &Request) -> JobId {
    request.draw().map_or(request.id, JobId)
}

impl SharedServers {
    /// Waits until this amount of work is done, among all other jobs.
    async fn serve(self: &Arc<Self>, work: Duration) {
        let (sender, done) = oneshot::channel();
        self.with(|servers, now| servers.arrive(now, work, sender));
        let _ = done.await; // the servers outlive their jobs
    }
}

impl SharedSite for SharedServers {
    type Machine = ProcessorSharing<oneshot::Sender<()>>;
    type Wants = ();

    fn shared(&self) -> &Shared<Self::Machine> {
        &self.0
    }

    fn poll(self: &Arc<Self>, servers: &mut Self::Machine, now: Timestamp) -> ((), Option<Timestamp>) {
        while let Some(done) = servers.leave(now) {
            let _ = done.send(()); // its handler may be gone with its runtime
        }
        ((), servers.next_done())
    }

    fn carry_out(self: &Arc<Self>, (): ()) {}
}

/// A page of this number of bytes.
pub(super) fn page(bytes: u32) -> Bytes {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let mut page = b"<!doctype html><html lang=\"en\"><head><title>Done</title></head><body data-page=\"done\"><p>Done.</p></body></html>\n".to_vec();
    page.resize(bytes.max(page.len()), b' ');
    page.truncate(bytes);
    Bytes::from(page)
}

pub(super) fn answer(page: Bytes) -> Response<PageBody> {
    let mut response = Response::new(page.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use controllers::Tags;
    use spec::ServiceTime;

    fn request(id: u64, draw: Option<&str>) -> Request {
        let mut head = http::Request::get("/").body(()).expect("a request").into_parts().0;
        head.headers.extend(
            draw.map(|draw| (http::HeaderName::from_static("x-draw"), HeaderValue::from_str(draw).expect("text"))),
        );
        Request {
            id: JobId(id),
            entered: Timestamp::ZERO,
            tags: Tags::default(),
            route: service_core::route::Route::ONLY,
            head,
            body: Bytes::new(),
            peer: ([127, 0, 0, 1], 1).into(),
        }
    }

    #[test]
    fn a_request_keeps_its_service_time_whenever_it_comes() {
        assert_eq!(key(&request(1, Some("42"))), key(&request(7, Some("42"))));
        assert_ne!(key(&request(1, Some("42"))), key(&request(1, Some("43"))));
        // From another sender, or invalid: by the order of arrival.
        assert_eq!(key(&request(7, None)), JobId(7));
        assert_eq!(key(&request(7, Some("-1"))), JobId(7));
    }

    #[tokio::test]
    async fn its_servers_are_what_policies_see_as_processors_at_work() {
        let clock = ServiceClock::start();
        let law = Law::new(&ServiceTime::Constant(Duration::from_millis(20))).expect("a law");
        let slow = law.clone().at_speed(0.5).expect("a speed");
        let at = |speed| {
            let now = clock.now();
            At { stage: "work", offered: now, started: now, quality: 1.0, p90: None, speed }
        };
        for discipline in [Discipline::Fifo, Discipline::ProcessorSharing] {
            let emulated =
                EmulatedSpec { discipline, ..EmulatedSpec::one(ServiceTime::Constant(Duration::from_millis(20))) };
            let service = Emulated::new(law.clone(), &EmulatedSpec { servers: 2, ..emulated.clone() }, 1, clock);
            let probe = service.probe();
            assert_eq!((probe.cpu_time(), probe.cpus()), (Duration::ZERO, 2.0));
            let jobs = [1, 2, 3].map(|id| service.handle(request(id, None), at(1.0)));
            let [one, two, three] = jobs;
            let (_, _, _, used) = tokio::join!(one, two, three, async { probe.cpu_time() });
            // The third waits for a server, if the servers are not shared.
            let begun = if discipline == Discipline::Fifo { 40 } else { 60 };
            assert_eq!(used, Duration::from_millis(begun), "{discipline:?}");
            assert_eq!(probe.cpu_time(), Duration::from_millis(60));
            service.spend(Duration::from_millis(3)).await;
            assert_eq!(
                probe.cpu_time(),
                Duration::from_millis(63),
                "reading and refusing count, where they cost something"
            );
            // The capacity is cut: the job takes twice as long, and is no more work.
            let _ = service.handle(request(4, None), at(0.5)).await;
            assert_eq!(probe.cpu_time(), Duration::from_millis(83));
            // The servers of a slow task are busy for the whole of their longer service times.
            let service = Emulated::new(slow.clone(), &emulated, 1, clock);
            let _ = service.handle(request(5, None), at(1.0)).await;
            assert_eq!(service.probe().cpu_time(), Duration::from_millis(40));
        }
    }
}
