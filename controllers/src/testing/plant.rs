//! A small service in virtual time: one queue, some workers, users that think, send requests and back off after
//! refusals, and an open stream of jobs. It closes the control loop for tests; the simulator of experiments is
//! `target-app`'s plant.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, VecDeque},
    time::Duration,
};

mod series;

pub use series::{Second, Series};

use crate::{
    Class, Criticality, Effect, Gauge, Grant, JobId, LoadSample, Machine, MachineSeat, Next, Observer, Offer, Outcome,
    PeerReport, Policy, Random, Resize, Seat, Seeded, Seen, SiteId, Tags, Timestamp, Timing, Verdict, seed_for,
};

/// The service time of a job at quality 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Constant.
    Constant(Duration),
    /// Exponential with a mean.
    Exponential(Duration),
}

/// A phase of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// The number of users.
    pub users: usize,
    /// The duration.
    pub lasts: Duration,
    /// New users send their first requests evenly over this time.
    ///
    /// A constant back-off keeps refused users synchronised: a crowd that arrives at one moment returns as one.
    pub arrive_over: Duration,
    /// Mean rate of an additional open stream, jobs per second at exponential intervals. The rate does not depend on
    /// answers, and refused jobs are not retried.
    pub open_per_s: u32,
}

/// The service and its users.
#[derive(Debug, Clone)]
pub struct Plant {
    /// The initial number of workers.
    pub workers: u32,
    /// Service time.
    pub service: Service,
    /// The think time between an answer and the next request.
    pub think: Duration,
    /// The back-off of a user after a refusal.
    pub retreat: Duration,
    /// The number of classes, to which users belong in turn. With four classes they are the levels of criticality, too.
    pub classes: u8,
    /// The phases, in order.
    pub phases: Vec<Phase>,
    /// The seed of all draws.
    pub seed: u64,
}

impl Plant {
    /// Runs the plant with a policy and machines. They receive samples of stage and CPU every 100 ms, and of runnable
    /// jobs every 20 ms.
    #[must_use]
    pub fn run(&self, policy: Box<dyn Policy>, machines: Vec<Box<dyn Machine>>) -> Series {
        self.run_observed(policy, machines, Box::new(()))
    }

    /// The same with an observer of the policy's events.
    #[must_use]
    pub fn run_observed(
        &self,
        policy: Box<dyn Policy>,
        machines: Vec<Box<dyn Machine>>,
        observer: Box<dyn Observer>,
    ) -> Series {
        Run::new(self, policy, machines, observer).finish()
    }
}

/// The number of customers, to which users and jobs of the open stream belong in turn.
const CUSTOMERS: u64 = 1000;

/// The sampling period of the stage.
const SAMPLE: Duration = Duration::from_millis(100);
/// The sampling period of runnable jobs. These samples start after the first of the stage and between two others, since
/// some policies count time from their first fact.
const READY: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    PhaseBegins(usize),
    UserAsks(usize),
    /// The next job of the open stream, in this phase.
    JobComes(usize),
    WorkEnds(JobId),
    Sample,
    SampleReady,
    SecondEnds,
    PolicyWakes,
    MachineWakes(usize),
}

#[derive(Debug)]
struct Job {
    /// The user that waits for it; `None`: a job of the open stream.
    user: Option<usize>,
    offer: Offer,
    grant: Grant,
    started: Option<Timestamp>,
}

struct Run<'a> {
    plant: &'a Plant,
    seat: Seat,
    machines: Vec<MachineSeat>,
    /// Events by time and sequence number.
    heap: BinaryHeap<Reverse<(Timestamp, u64, Event)>>,
    sequence: u64,
    now: Timestamp,
    random: Seeded,
    load: OfferedLoad,
    jobs: BTreeMap<JobId, Job>,
    pool: WorkerPool,
    record: RunRecord,
    policy_wake: Option<Timestamp>,
}

/// Users and the open stream.
struct OfferedLoad {
    /// The random source of the open stream, separate so that no policy shifts it.
    arrivals: Seeded,
    phase: usize,
    /// The number of active users.
    users: usize,
    next_id: u64,
}

/// The queue and its workers.
struct WorkerPool {
    queue: VecDeque<JobId>,
    busy: u32,
    workers: u32,
    quality: f64,
    completed: u64,
    busy_since_sample: Duration,
}

/// Results so far.
#[derive(Default)]
struct RunRecord {
    responses_ms: Vec<u64>,
    second: Second,
    series: Series,
}

impl<'a> Run<'a> {
    fn new(
        plant: &'a Plant,
        policy: Box<dyn Policy>,
        machines: Vec<Box<dyn Machine>>,
        observer: Box<dyn Observer>,
    ) -> Self {
        let site = SiteId(1);
        let seat_of = |(index, machine)| {
            MachineSeat::new(site, machine, seed_for(plant.seed, &format!("machine {index}")), Box::new(()))
        };
        let mut run = Self {
            plant,
            seat: Seat::new(site, policy, seed_for(plant.seed, "policy"), observer),
            machines: machines.into_iter().enumerate().map(seat_of).collect(),
            heap: BinaryHeap::new(),
            sequence: 0,
            now: Timestamp::ZERO,
            random: Seeded::new(seed_for(plant.seed, "plant")),
            load: OfferedLoad {
                arrivals: Seeded::new(seed_for(plant.seed, "arrivals")),
                phase: 0,
                users: 0,
                next_id: 0,
            },
            jobs: BTreeMap::new(),
            pool: WorkerPool {
                queue: VecDeque::new(),
                busy: 0,
                workers: plant.workers,
                quality: 1.0,
                completed: 0,
                busy_since_sample: Duration::ZERO,
            },
            record: RunRecord::default(),
            policy_wake: None,
        };
        let mut begins = Timestamp::ZERO;
        for (index, phase) in plant.phases.iter().enumerate() {
            run.at(begins, Event::PhaseBegins(index));
            begins = begins + phase.lasts;
        }
        run.at(Timestamp::ZERO + SAMPLE, Event::Sample);
        run.at(Timestamp::ZERO + SAMPLE + READY / 2, Event::SampleReady);
        run.at(Timestamp::from_secs(1), Event::SecondEnds);
        run
    }

    fn at(&mut self, when: Timestamp, event: Event) {
        self.sequence += 1;
        self.heap.push(Reverse((when, self.sequence, event)));
    }

    fn finish(mut self) -> Series {
        let end = self.plant.phases.iter().fold(Timestamp::ZERO, |end, phase| end + phase.lasts);
        while let Some(Reverse((when, _, event))) = self.heap.pop() {
            if when > end {
                break;
            }
            self.now = when;
            self.step(event);
            self.drain();
        }
        self.record.series
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::PhaseBegins(index) => self.begin(index),
            Event::UserAsks(user) => self.ask(user),
            Event::JobComes(phase) => self.job_comes(phase),
            Event::WorkEnds(id) => self.end(id),
            Event::Sample => self.sample(),
            Event::SampleReady => self.sample_ready(),
            Event::SecondEnds => self.close_second(),
            Event::PolicyWakes | Event::MachineWakes(_) => {} // polling performs the work that is due
        }
    }

    fn begin(&mut self, index: usize) {
        let phase = self.plant.phases[index];
        self.load.phase = index;
        self.next_job();
        // Users that leave still receive their last answer.
        for user in self.load.users..phase.users {
            let first = self.random.below(phase.arrive_over.as_nanos() as u64 + 1);
            self.at(self.now + Duration::from_nanos(first), Event::UserAsks(user));
        }
        self.load.users = phase.users;
    }

    fn next_job(&mut self) {
        let rate = self.plant.phases[self.load.phase].open_per_s;
        if rate > 0 {
            let after = self.load.arrivals.exponential(1.0 / f64::from(rate));
            self.at(self.now + Duration::from_secs_f64(after), Event::JobComes(self.load.phase));
        }
    }

    fn job_comes(&mut self, phase: usize) {
        if phase == self.load.phase {
            self.offer(None);
            self.next_job();
        }
    }

    fn ask(&mut self, user: usize) {
        if user < self.load.users {
            self.offer(Some(user));
        }
    }

    fn offer(&mut self, user: Option<usize>) {
        self.load.next_id += 1;
        let number = user.map_or(self.load.next_id, |user| user as u64);
        let class = Class((number % u64::from(self.plant.classes.max(1))) as u8);
        let criticality = match self.plant.classes {
            4 => Criticality::ALL[usize::from(class.0)],
            _ => Criticality::default(),
        };
        let tags = Tags { class, criticality, user: number, customer: (number % CUSTOMERS) as u32, ..Tags::default() };
        let offer = Offer { id: JobId(self.load.next_id), tags, entered: self.now, note: None };
        self.record.second.offered += 1;
        self.record.series.by_class.entry(class).or_default().0 += 1;
        let job = Job { user, offer, grant: Grant::default(), started: None };
        match self.seat.offer(self.now, &offer) {
            Verdict::Admit(grant) => self.admit(Job { grant, ..job }),
            Verdict::Hold => {
                self.jobs.insert(offer.id, job);
                self.tell_room();
            }
            Verdict::Refuse(_) => self.refuse(&job, self.plant.retreat),
            Verdict::ComeBack(wait) => self.refuse(&job, wait),
        }
    }

    fn admit(&mut self, job: Job) {
        self.pool.queue.push_back(job.offer.id);
        self.jobs.insert(job.offer.id, job);
        self.start();
    }

    fn refuse(&mut self, job: &Job, wait: Duration) {
        self.record.second.refused += 1;
        self.record.series.by_class.entry(job.offer.tags.class).or_default().1 += 1;
        self.comes_again(job, wait);
    }

    fn comes_again(&mut self, job: &Job, wait: Duration) {
        if let Some(user) = job.user {
            self.at(self.now + wait, Event::UserAsks(user));
        }
    }

    /// Reports free workers to a policy that holds jobs, as a stage does.
    fn tell_room(&mut self) {
        let free = self.pool.workers.saturating_sub(self.pool.busy).saturating_sub(self.pool.queue.len() as u32);
        if free > 0 && self.seat.held() > 0 {
            self.seat.observe(self.now, &Seen::Room(free));
        }
    }

    fn start(&mut self) {
        while self.pool.busy < self.pool.workers
            && let Some(id) = self.pool.queue.pop_front()
        {
            self.pool.busy += 1;
            let mean = match self.plant.service {
                Service::Constant(time) | Service::Exponential(time) => time.as_secs_f64() * self.pool.quality,
            };
            let takes = match self.plant.service {
                Service::Constant(_) => mean,
                Service::Exponential(_) => self.random.exponential(mean),
            };
            let Some(job) = self.jobs.get_mut(&id) else { continue };
            job.started = Some(self.now);
            let waited = self.now.since(job.offer.entered);
            self.at(self.now + Duration::from_secs_f64(takes), Event::WorkEnds(id));
            self.seat.observe(self.now, &Seen::Started { id, waited });
        }
    }

    fn end(&mut self, id: JobId) {
        let Some(job) = self.jobs.remove(&id) else { return };
        self.pool.busy -= 1;
        self.pool.completed += 1;
        self.record.second.served += 1;
        let started = job.started.unwrap_or(self.now);
        let busy = self.now.since(started);
        self.pool.busy_since_sample += busy;
        let entered = job.offer.entered;
        let timing = Timing { entered, offered: entered, started, ended: self.now };
        self.record.responses_ms.push(timing.response().as_millis() as u64);
        let (tags, grant) = (job.offer.tags, job.grant);
        let ended = Seen::Ended { id, grant, tags, outcome: Outcome::Served, timing, cost: Some(busy), note: None };
        self.seat.observe(self.now, &ended);
        self.seat.observe(self.now, &Seen::Batch { jobs: 1, busy });
        self.comes_again(&job, self.plant.think);
        self.start();
        self.tell_room();
    }

    fn sample(&mut self) {
        let queue = self.pool.queue.len() as u32;
        let idle = self.pool.workers.saturating_sub(self.pool.busy);
        let stage = LoadSample::Stage { queue, workers: self.pool.workers, idle, completed: self.pool.completed };
        let possible = SAMPLE.as_secs_f64() * f64::from(self.pool.workers.max(1));
        let cpu = LoadSample::Cpu((self.pool.busy_since_sample.as_secs_f64() / possible).min(1.0));
        self.pool.busy_since_sample = Duration::ZERO;
        self.tell_sample(stage);
        self.tell_sample(cpu);
        self.at(self.now + SAMPLE, Event::Sample);
    }

    fn sample_ready(&mut self) {
        self.tell_sample(LoadSample::Ready(self.pool.queue.len() as u32 + self.pool.busy));
        self.at(self.now + READY, Event::SampleReady);
    }

    fn tell_sample(&mut self, sample: LoadSample) {
        let seen = Seen::Load(sample);
        self.seat.observe(self.now, &seen);
        for machine in &mut self.machines {
            machine.observe(self.now, &seen);
        }
    }

    fn close_second(&mut self) {
        self.record.responses_ms.sort_unstable();
        let index = self.record.responses_ms.len() * 9 / 10;
        self.record.second.p90_ms = self.record.responses_ms.get(index).copied().unwrap_or(0);
        self.record.responses_ms.clear();
        let Second { rate_per_s, limit, .. } = &mut self.record.second;
        self.seat.gauges(&mut |gauge, value| {
            let shown = match gauge {
                Gauge { name: "admission_rate_per_s", class: None } => &mut *rate_per_s,
                Gauge { name: "limit", class: None } => &mut *limit,
                _ => return,
            };
            *shown = Some(value.round() as u64);
        });
        let oldest = self.jobs.values().filter(|job| job.started.is_none()).map(|job| job.offer.entered).min();
        self.record.second.oldest_ms = oldest.map_or(0, |entered| self.now.since(entered).as_millis() as u64);
        self.record.second.quality_percent = (self.pool.quality * 100.0).round() as u32;
        self.record.second.workers = self.pool.workers;
        self.record.series.seconds.push(std::mem::take(&mut self.record.second));
        self.at(self.now + Duration::from_secs(1), Event::SecondEnds);
    }

    /// Performs the current effects of policy and machines.
    fn drain(&mut self) {
        loop {
            let next = self.seat.poll(self.now);
            match next {
                Next::WakeAt(at) => {
                    if self.policy_wake.is_none_or(|known| known <= self.now || at < known) {
                        self.policy_wake = Some(at);
                        self.at(at, Event::PolicyWakes);
                    }
                    break;
                }
                Next::Idle => break,
                doing => doing.effect().iter().for_each(|effect| self.apply(effect)),
            }
        }
        for index in 0..self.machines.len() {
            loop {
                match self.machines[index].poll(self.now) {
                    Next::WakeAt(at) => {
                        self.at(at, Event::MachineWakes(index));
                        break;
                    }
                    Next::Idle => break,
                    doing => doing.effect().iter().for_each(|effect| self.apply(effect)),
                }
            }
        }
    }

    fn apply(&mut self, effect: &Effect) {
        match *effect {
            Effect::Release(id, grant) => {
                if let Some(job) = self.jobs.remove(&id) {
                    self.admit(Job { grant, ..job });
                }
            }
            Effect::Refuse(id, _) => {
                if let Some(job) = self.jobs.remove(&id) {
                    self.refuse(&job, self.plant.retreat);
                }
            }
            Effect::Quality(quality) => self.pool.quality = quality,
            Effect::Resize(Resize::Workers(workers)) => {
                self.pool.workers = workers;
                self.start();
                self.tell_room();
            }
            // The plant has one stage: its reports to upstream stages return to itself, as from a monitor.
            Effect::Shed { level, .. } => {
                let report = PeerReport::Pressure { from: SiteId(2), level };
                self.seat.observe(self.now, &Seen::Peer(report));
            }
            Effect::Resize(Resize::Batch(_)) | Effect::Annotate(..) | Effect::Tell(_) => {}
        }
    }
}
