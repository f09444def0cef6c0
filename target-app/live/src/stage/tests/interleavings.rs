//! A stage and dispatch in many orders of the tasks that share them.

use std::{collections::BTreeSet, sync::Mutex};

use super::*;
use crate::{
    clock::manual::ManualClock,
    stage::interleaved::{explore, switch},
};

const ORDERS: usize = 2_000;

/// Work that is done at once, but for what other tasks do meanwhile.
#[derive(Debug)]
struct Quick {
    id: u64,
    began: Began,
    says: mpsc::UnboundedSender<Said>,
}

/// Jobs in the order in which work on them began, and when each was offered.
type Began = Arc<Mutex<Vec<(u64, Timestamp)>>>;

impl StageWork for Quick {
    fn offer(&self) -> Offer {
        Offer { id: JobId(self.id), tags: Tags::default(), entered: Timestamp::ZERO, note: None }
    }

    fn gone(&self) -> bool {
        false
    }

    fn run<'a>(&'a mut self, at: At<'a>) -> Boxed<'a, Outcome> {
        self.began.lock().unwrap().push((self.id, at.offered));
        switch();
        Box::pin(std::future::ready(Outcome::Served))
    }

    fn expire(&mut self, _: Refusal) -> Outcome {
        unreachable!("no job has a deadline")
    }

    fn deliver(self, _: Option<Note>) {
        let _ = self.says.send(Said::Done(self.id));
    }

    fn refuse(self, away: TurnedAway) {
        let _ = self.says.send(Said::Refused(self.id, away.refusal.reason));
    }
}

struct Scene {
    stage: Arc<LiveStage<Quick>>,
    clock: &'static ManualClock,
    began: Began,
    says: mpsc::UnboundedSender<Said>,
    said: mpsc::UnboundedReceiver<Said>,
}

impl Scene {
    fn new(workers: u32) -> Self {
        let clock = ManualClock::leaked();
        let installed = none();
        let seat = Seat::new(SiteId(2), installed.policy, 7, Box::new(()));
        let site = PolicySite::new(seat, installed.entry, Vec::new());
        let spec = StageSpec { batch: 2, ..spec(workers, 100) };
        let stage = LiveStage::new("work", site, spec, this_process(), None, ServiceClock::manual(clock));
        stage.start(nobody());
        let (says, said) = mpsc::unbounded_channel();
        Self { stage, clock, began: Arc::default(), says, said }
    }

    /// A task that offers these jobs in order, while time goes on.
    fn offers(&self, ids: std::ops::Range<u64>) {
        let (stage, clock, began, says) =
            (Arc::clone(&self.stage), self.clock, Arc::clone(&self.began), self.says.clone());
        drop(shuttle::future::spawn(async move {
            for id in ids {
                clock.advance(Timestamp::from_nanos(clock.now().as_nanos() + 1));
                assert!(stage.enqueue(Quick { id, began: Arc::clone(&began), says: says.clone() }).is_ok());
            }
        }));
    }

    /// Waits until that many jobs are done.
    async fn done(&mut self, jobs: usize) -> Vec<u64> {
        let mut done = Vec::new();
        while done.len() < jobs {
            let Some(Said::Done(id)) = self.said.recv().await else { panic!("no policy refuses") };
            done.push(id);
        }
        done.sort_unstable();
        done
    }
}

#[test]
fn every_job_is_done_once_and_no_worker_misses_its_wake_up() {
    explore(ORDERS, || async {
        let mut scene = Scene::new(2);
        scene.offers(0..3);
        scene.offers(3..5);
        assert_eq!(scene.done(5).await, [0, 1, 2, 3, 4]);
        assert_eq!(scene.began.lock().unwrap().len(), 5);
        let gauges = scene.stage.gauges();
        assert_eq!((gauges.completed, gauges.queue), (5, 0));
    });
}

#[test]
fn a_worker_takes_jobs_in_the_order_in_which_they_were_offered() {
    explore(ORDERS, || async {
        let mut scene = Scene::new(1);
        scene.offers(0..3);
        scene.offers(3..6);
        scene.done(6).await;
        let began = scene.began.lock().unwrap();
        assert!(began.is_sorted_by_key(|(_, offered)| *offered), "a time went back: {began:?}");
        let of = |task: std::ops::Range<u64>| {
            began.iter().map(|(id, _)| *id).filter(|id| task.contains(id)).collect::<Vec<_>>()
        };
        assert_eq!((of(0..3), of(3..6)), (vec![0, 1, 2], vec![3, 4, 5]));
    });
}

#[test]
fn every_worker_leaves_a_stage_that_closes() {
    explore(ORDERS, || async {
        let mut scene = Scene::new(2);
        scene.offers(0..2);
        scene.done(2).await;
        scene.stage.close();
        // Each worker has a share in the stage; the timer has one for its turns alone.
        while Arc::strong_count(&scene.stage) > 1 {
            shuttle::future::yield_now().await;
        }
    });
}

/// A site that is to be woken at times which other tasks name: those that are to come, and when it was.
struct Alarm(Shared<(BTreeSet<Timestamp>, Vec<Timestamp>)>);

impl SharedSite for Alarm {
    type Machine = (BTreeSet<Timestamp>, Vec<Timestamp>);
    type Wants = ();

    fn shared(&self) -> &Shared<Self::Machine> {
        &self.0
    }

    fn poll(self: &Arc<Self>, (to_come, came): &mut Self::Machine, now: Timestamp) -> ((), Option<Timestamp>) {
        if to_come.first().is_some_and(|at| *at <= now) {
            came.push(now);
        }
        to_come.retain(|at| *at > now);
        ((), to_come.first().copied())
    }

    fn carry_out(self: &Arc<Self>, (): ()) {}
}

#[test]
fn a_timer_wakes_a_site_at_the_earliest_time_that_was_asked_for() {
    explore(ORDERS, || async {
        let clock = ManualClock::leaked();
        let alarm = Arc::new(Alarm(Shared::new(Default::default(), ServiceClock::manual(clock))));
        spawn(keep_time(Arc::downgrade(&alarm)));
        let times = [9, 5].map(Timestamp::from_millis);
        let tasks = times.map(|at| {
            let alarm = Arc::clone(&alarm);
            shuttle::future::spawn(async move {
                alarm.with(|(to_come, _), _| to_come.insert(at));
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        // A timer that sleeps until the second is not woken at the first.
        for (turns, at) in [(1, 5), (2, 9)] {
            while alarm.0.peek(|(_, came)| came.len()) < turns {
                clock.advance(Timestamp::from_millis(at));
                shuttle::future::yield_now().await;
            }
        }
        assert_eq!(alarm.0.peek(|(_, came)| came.clone()), [5, 9].map(Timestamp::from_millis));
    });
}
