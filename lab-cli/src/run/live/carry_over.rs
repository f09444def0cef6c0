//! Carry-over of a load (an arm of a run, a trial of a search) in a service that runs on: before the next one, its
//! backlog has to be gone.

use std::{
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use analysis::summary::CarriedOver;
use experiment::plan::{AppPlan, Experiment, Model, OwnService};

use super::service::{Door, get};
use crate::run::StopSignal;

/// Pages that are asked for at most.
const MOST_PAGES: usize = 8;
/// Questions before the first arm for each page, and answers that are looked at later: the newest ones.
const QUESTIONS: usize = 5;
/// Answers, among the newest, that have to be as before the first arm: the larger part.
const ENOUGH: usize = 3;
/// The longest wait for one answer before the first arm of a run.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest wait for a service to be as before.
const LONGEST: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);
/// The time that any machine may add to an answer.
const MARGIN: Duration = Duration::from_millis(20);

/// Asks a service for its users' pages: before the first arm, and then before each until it answers as it did.
#[derive(Debug)]
pub struct CarryOver {
    pages: Vec<Page>,
    patience: Duration,
    /// Answers of pages that were answered often enough; `None`: none was.
    first: OnceLock<Option<Vec<(usize, Calm)>>>,
}

/// A page that changes nothing.
#[derive(Debug, Clone, PartialEq)]
struct Page {
    path: String,
    headers: Vec<(String, String)>,
}

/// The answer of a service that has nothing to do.
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
        Some(Self::by_pages(&experiment.users.model, ready, PATIENCE))
    }

    /// Asks for pages that change nothing: these users', or else this one. Each may wait in a queue of its own. `patience`: the longest wait
    /// for an answer before the first arm.
    pub fn by_pages(users: &Model, otherwise: &str, patience: Duration) -> Self {
        let plain = |path: &str| !path.contains('{');
        let mut pages: Vec<Page> = Vec::new();
        if let Model::Url { requests, path, .. } = users {
            for one in requests.iter().filter(|one| one.method == "GET" && one.body.is_none() && plain(&one.path)) {
                let page = Page { path: one.path.clone(), headers: one.headers.clone() };
                if pages.len() < MOST_PAGES && !pages.contains(&page) {
                    pages.push(page);
                }
            }
            if requests.is_empty() && plain(path) {
                pages.push(Page { path: path.clone(), headers: Vec::new() });
            }
        }
        if pages.is_empty() {
            pages.push(Page { path: otherwise.to_owned(), headers: Vec::new() });
        }
        Self { pages, patience, first: OnceLock::new() }
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
                    self.pages[0].path
                ));
            }
            return None;
        };
        let (began, mut told, mut settled) = (Instant::now(), false, None::<CarriedOver>);
        for (page, calm) in first.as_ref()? {
            let found = self.page_settles(door, (&self.pages[*page], *calm), began, stop, || {
                if !std::mem::replace(&mut told, true) {
                    tell(format!(
                        "the service still works on what the load before has left (at first it answered in {:.0} ms): waiting, at most {} s",
                        calm.took.as_secs_f64() * 1e3,
                        LONGEST.as_secs()
                    ));
                }
            })?;
            if !found.settled {
                return Some(found);
            }
            settled.get_or_insert(found);
        }
        if told {
            tell(format!("the service answers as it did at first, after {:.1} s", began.elapsed().as_secs_f64()));
        }
        settled.map(|first| CarriedOver { waited_s: began.elapsed().as_secs_f64(), ..first })
    }

    /// Waits for one page; `None`: somebody stopped it.
    fn page_settles(
        &self,
        door: &Door,
        (page, calm): (&Page, Calm),
        began: Instant,
        stop: &StopSignal,
        mut is_late: impl FnMut(),
    ) -> Option<CarriedOver> {
        let mut newest = Vec::new();
        loop {
            let answer = ask(door, page, (calm.longest() * 4).max(Duration::from_secs(1)));
            newest.push(answer.is_some_and(|now| now.class == calm.class && now.took <= calm.longest()));
            let fine = newest.iter().rev().take(QUESTIONS).filter(|fine| **fine).count();
            let settled = fine >= ENOUGH;
            if settled || began.elapsed() > LONGEST {
                let ms = |time: Duration| time.as_secs_f64() * 1e3;
                return Some(CarriedOver {
                    settled,
                    waited_s: began.elapsed().as_secs_f64(),
                    before_ms: ms(calm.took),
                    last_ms: answer.map(|answer| ms(answer.took)),
                });
            }
            if stop.is_asked() {
                return None;
            }
            if newest.len() > fine + 1 {
                is_late();
            }
            thread::sleep(PAUSE);
        }
    }

    /// The middle one of some answers of each page.
    fn calm(&self, door: &Door) -> Option<Vec<(usize, Calm)>> {
        let of_page = |(nth, page): (usize, &Page)| {
            let mut answers: Vec<Calm> = (0..QUESTIONS).map_while(|_| ask(door, page, self.patience)).collect();
            answers.sort_by_key(|answer| answer.took);
            (answers.len() >= ENOUGH).then(|| (nth, answers[answers.len() / 2]))
        };
        let found: Vec<(usize, Calm)> = self.pages.iter().enumerate().filter_map(of_page).collect();
        (!found.is_empty()).then_some(found)
    }
}

fn ask(door: &Door, page: &Page, timeout: Duration) -> Option<Calm> {
    let answer = get(door, &page.path, &page.headers, timeout).ok()?;
    Some(Calm { class: answer.status / 100, took: answer.took })
}
