//! A stage and dispatch in many orders of the tasks that share them.

use std::sync::Mutex;

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

impl Work for Quick {
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

    fn deliver(self, _: Option<Note>) {
        let _ = self.says.send(Said::Done(self.id));
    }

    fn refuse(self, away: TurnedAway) {
        let _ = self.says.send(Said::Refused(self.id, away.refusal.reason));
    }
}

struct Shared {
    stage: Arc<Stage<Quick>>,
    clock: &'static ManualClock,
    began: Began,
    says: mpsc::UnboundedSender<Said>,
    said: mpsc::UnboundedReceiver<Said>,
}

impl Shared {
    fn new(workers: u32) -> Self {
        let clock = ManualClock::leaked();
        let installed = none();
        let seat = Seat::new(SiteId(2), installed.policy, 7, Box::new(()));
        let site = PolicySite::new(seat, installed.entry, Vec::new());
        let spec = StageSpec { batch: 2, ..spec(workers, 100) };
        let stage = Stage::new("work", site, spec, this_process(), None, Clock::manual(clock));
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
        let mut shared = Shared::new(2);
        shared.offers(0..3);
        shared.offers(3..5);
        assert_eq!(shared.done(5).await, [0, 1, 2, 3, 4]);
        assert_eq!(shared.began.lock().unwrap().len(), 5);
        let gauges = shared.stage.gauges();
        assert_eq!((gauges.completed, gauges.queue), (5, 0));
    });
}

#[test]
fn a_worker_takes_jobs_in_the_order_in_which_they_were_offered() {
    explore(ORDERS, || async {
        let mut shared = Shared::new(1);
        shared.offers(0..3);
        shared.offers(3..6);
        shared.done(6).await;
        let began = shared.began.lock().unwrap();
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
        let mut shared = Shared::new(2);
        shared.offers(0..2);
        shared.done(2).await;
        shared.stage.close();
        // Each worker has a share in the stage, and so has the timer while it waits.
        while Arc::strong_count(&shared.stage) > 2 {
            shuttle::future::yield_now().await;
        }
    });
}

#[test]
fn a_timer_wakes_a_site_at_the_earliest_time_that_was_asked_for() {
    /// A site that wants to be woken at times which other tasks name.
    struct Alarm {
        clock: &'static ManualClock,
        wakes: Mutex<(Option<Timestamp>, Vec<Timestamp>)>,
        alarm: Notify,
    }

    impl Timed for Alarm {
        fn turn(self: &Arc<Self>) -> Option<Timestamp> {
            let mut wakes = lock(&self.wakes);
            if wakes.0.is_some_and(|at| at <= self.clock.now()) {
                let at = wakes.0.take();
                wakes.1.extend(at);
            }
            wakes.0
        }

        fn alarm(&self) -> &Notify {
            &self.alarm
        }

        fn clock(&self) -> Clock {
            Clock::manual(self.clock)
        }
    }

    explore(ORDERS, || async {
        let alarm = Arc::new(Alarm { clock: ManualClock::leaked(), wakes: Mutex::default(), alarm: Notify::new() });
        spawn(keep_time(Arc::downgrade(&alarm)));
        let first = Timestamp::from_millis(5);
        for at in [Timestamp::from_millis(9), first] {
            let alarm = Arc::clone(&alarm);
            drop(shuttle::future::spawn(async move {
                let earlier = rearm(&mut lock(&alarm.wakes).0, Some(at));
                if earlier {
                    alarm.alarm.notify_one();
                }
            }));
        }
        while lock(&alarm.wakes).0 != Some(first) {
            shuttle::future::yield_now().await;
        }
        while lock(&alarm.wakes).1.is_empty() {
            alarm.clock.advance(first);
            shuttle::future::yield_now().await;
        }
    });
}
