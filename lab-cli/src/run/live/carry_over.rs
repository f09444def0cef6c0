//! What a load (an arm of a run, a trial of a search) leaves in a service that runs on: before the next one, its backlog has to be gone.

use std::{
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use analysis::summary::CarriedOver;
use experiment::plan::{AppPlan, Experiment, Model, OwnService};

use super::service::{Door, get};
use crate::run::StopSignal;

/// Questions before the first arm, and answers that are looked at later: the newest ones.
const QUESTIONS: usize = 5;
/// Of these the larger part has to be as before the first arm.
const ENOUGH: usize = 3;
/// The longest wait for one answer before the first arm of a run.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest wait for a service to be as before.
const LONGEST: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);
/// What any machine may add to an answer.
const MARGIN: Duration = Duration::from_millis(20);

/// Asks a service for one of its users' pages: before the first arm, and then before each until it answers as it did.
#[derive(Debug)]
pub struct CarryOver {
    page: String,
    headers: Vec<(String, String)>,
    patience: Duration,
    /// `None`: it gave too few answers.
    first: OnceLock<Option<Calm>>,
}

/// How a service answers that has nothing to do.
#[derive(Debug, Clone, Copy)]
struct Calm {
    /// The first digit of its status.
    class: u16,
    took: Duration,
}

impl Calm {
    /// Twice its time, and a margin.
    fn longest(&self) -> Duration {
        self.took * 2 + MARGIN
    }
}

impl CarryOver {
    /// `None`: every arm has a service of its own, or there is one arm.
    pub fn of(experiment: &Experiment) -> Option<Self> {
        let AppPlan::Own(OwnService { command: None, ready, .. }) = &experiment.target.app else { return None };
        if experiment.arms.len() as u32 * experiment.repeat < 2 {
            return None;
        }
        Some(Self::by_page(&experiment.users.model, ready, PATIENCE))
    }

    /// Asks for a page that changes nothing: one of these users', or else this one. `patience`: the longest wait for an answer before the
    /// first arm.
    pub fn by_page(users: &Model, otherwise: &str, patience: Duration) -> Self {
        let plain = |path: &str| !path.contains('{');
        let (page, headers) = match users {
            Model::Url { requests, .. } if !requests.is_empty() => {
                let found = requests.iter().find(|one| one.method == "GET" && one.body.is_none() && plain(&one.path));
                found.map_or_else(|| (otherwise.to_owned(), Vec::new()), |one| (one.path.clone(), one.headers.clone()))
            }
            Model::Url { path, .. } if plain(path) => (path.clone(), Vec::new()),
            _ => (otherwise.to_owned(), Vec::new()),
        };
        Self { page, headers, patience, first: OnceLock::new() }
    }

    /// True once the service was asked before the first arm: from then on a wait for it is [`wait`](Self::wait)'s.
    pub fn has_begun(&self) -> bool {
        self.first.get().is_some()
    }

    /// Before an arm. `tell`: what the wait is for, in words. `None`: it is the first one, or how the service answered then is not known.
    pub fn wait(&self, door: &Door, stop: &StopSignal, mut tell: impl FnMut(String)) -> Option<CarriedOver> {
        let Some(first) = self.first.get() else {
            if self.first.get_or_init(|| self.calm(door)).is_none() {
                tell(format!(
                    "{} is not answered in time: whether a load leaves a backlog for the next one is not known",
                    self.page
                ));
            }
            return None;
        };
        let calm = (*first)?;
        let (began, mut newest, mut told) = (Instant::now(), Vec::new(), false);
        let waited = |settled, last: Option<Duration>| CarriedOver {
            settled,
            waited_s: began.elapsed().as_secs_f64(),
            before_ms: calm.took.as_secs_f64() * 1e3,
            last_ms: last.map(|took| took.as_secs_f64() * 1e3),
        };
        loop {
            let answer = self.ask(door, (calm.longest() * 4).max(Duration::from_secs(1)));
            newest.push(answer.is_some_and(|now| now.class == calm.class && now.took <= calm.longest()));
            let last = answer.map(|answer| answer.took);
            if newest.iter().rev().take(QUESTIONS).filter(|fine| **fine).count() >= ENOUGH {
                if told {
                    tell(format!(
                        "the service answers as it did at first, after {:.1} s",
                        began.elapsed().as_secs_f64()
                    ));
                }
                return Some(waited(true, last));
            }
            if stop.is_asked() {
                return None;
            }
            if began.elapsed() > LONGEST {
                return Some(waited(false, last));
            }
            if !told && newest.len() >= ENOUGH {
                told = true;
                tell(format!(
                    "the service still works on what the load before has left (at first it answered in {:.0} ms): waiting, at most {} s",
                    calm.took.as_secs_f64() * 1e3,
                    LONGEST.as_secs()
                ));
            }
            thread::sleep(PAUSE);
        }
    }

    /// The middle one of some answers.
    fn calm(&self, door: &Door) -> Option<Calm> {
        let mut answers: Vec<Calm> = (0..QUESTIONS).map_while(|_| self.ask(door, self.patience)).collect();
        answers.sort_by_key(|answer| answer.took);
        (answers.len() >= ENOUGH).then(|| answers[answers.len() / 2])
    }

    fn ask(&self, door: &Door, timeout: Duration) -> Option<Calm> {
        let answer = get(door, &self.page, &self.headers, timeout).ok()?;
        Some(Calm { class: answer.status / 100, took: answer.took })
    }
}
