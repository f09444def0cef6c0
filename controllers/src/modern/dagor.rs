//! DAGOR: while jobs wait too long, jobs of low priority are refused, and replies tell callers the admitted levels.

mod cursor;

use std::time::Duration;

pub use cursor::LevelCursor;

use crate::{
    Criticality, Ctx, Effect, Entry, Gauge, Grant, JobId, Machine, Note, Offer, Outcome, Place, Policy, Reason,
    Refusal, Seen, Timestamp, Verdict,
    entry::{
        CompositionRole, EntryKind, Given, Preset, Source, choice, count, flag, ms, number, params, s, time, time_or,
        us,
    },
    random::mix,
};

/// Admits the levels of priority below a cursor, which moves with the mean wait.
#[derive(Debug)]
struct Dagor {
    params: DagorParams,
    levels: LevelCursor,
    service: ServiceTime,
    /// The start of the window: the first job after the previous one.
    began: Option<Timestamp>,
    waited: Duration,
    started: u32,
    /// The mean wait of the last window in which work on a job started.
    mean_wait: Duration,
    /// Put the cursor on replies, for callers.
    tell: bool,
    /// The last cursor from a callee, and the time of its arrival.
    heard: Option<(u32, Timestamp)>,
    /// True at a sender, which puts the level on requests.
    sends: bool,
}

/// The attribute that gives a job's importance; level 0 is the most important.
#[derive(Debug, Clone, Copy)]
enum Business {
    Criticality,
    Class,
    Kind,
}

impl Business {
    /// The number of levels.
    const fn levels(self) -> u32 {
        match self {
            Self::Criticality => Criticality::ALL.len() as u32,
            Self::Class => 10,
            Self::Kind => 64,
        }
    }

    fn level(self, job: &Offer) -> u32 {
        let last = self.levels() - 1;
        match self {
            Self::Criticality => last - job.tags.criticality.level() as u32,
            Self::Class => last - u32::from(job.tags.class.0).min(last),
            Self::Kind => u32::from(job.tags.kind.0).min(last),
        }
    }
}

/// The owner of a user level.
#[derive(Debug, Clone, Copy)]
enum LevelOf {
    User,
    Customer,
    Job,
}

/// The mean service time of recently served jobs.
#[derive(Debug, Default)]
struct ServiceTime {
    mean_s: f64,
    /// The number of jobs in the mean.
    jobs: u32,
}

impl ServiceTime {
    /// The mean covers about this number of jobs: those of a window.
    fn add(&mut self, took: Duration, window_jobs: u32) {
        self.jobs = (self.jobs + 1).min(window_jobs);
        self.mean_s += (took.as_secs_f64() - self.mean_s) / f64::from(self.jobs);
    }

    /// `None` until a job was served.
    fn mean_s(&self) -> Option<f64> {
        (self.jobs > 0).then_some(self.mean_s)
    }
}

const HOUR_S: u64 = 3600;

/// Marks a note as a cursor, to distinguish it from notes of other policies.
const CURSOR: u64 = 0xDA60 << 48;

/// Marks a note as the level of a request.
const LEVEL: u64 = 0xDA61 << 48;

/// The number in a note with this mark.
fn marked(note: Note, mark: u64) -> Option<u32> {
    (note.0 & (0xFFFF << 48) == mark).then(|| u32::try_from(note.0 & !mark).ok())?
}

impl Dagor {
    /// The level on the request; else the business level, then the user's level of this hour, which changes each hour
    /// so that refusals hit other users.
    fn level(&self, job: &Offer, cx: &Ctx<'_>) -> u32 {
        if let Some(level) = job.note.and_then(|note| marked(note, LEVEL)) {
            return level.min(self.params.levels() - 1);
        }
        let who = match self.params.user {
            LevelOf::User => job.tags.user,
            LevelOf::Customer => u64::from(job.tags.customer),
            LevelOf::Job => job.id.0,
        };
        let user = mix(mix(cx.wall.0 / HOUR_S) ^ who) % u64::from(self.params.user_levels);
        self.params.business.level(job) * self.params.user_levels + user as u32
    }

    /// Closes the window if it is over.
    fn look(&mut self, cx: &mut Ctx<'_>) {
        let Some(began) = self.began else { return };
        if self.levels.offered() < u64::from(self.params.window_jobs) && cx.now.since(began) < self.params.window {
            return;
        }
        self.began = None;
        if self.started > 0 {
            self.mean_wait = self.waited / self.started;
            self.levels.close(self.is_over(self.mean_wait));
        } else if cx.in_flight == 0 {
            // No job waits, since none was admitted.
            self.levels.close(false);
        } else {
            // All workers are busy with jobs that started before: the window has no information about waiting.
            self.levels.forget();
        }
        self.started = 0;
        self.waited = Duration::ZERO;
    }

    /// True if a mean wait of this length indicates overload. A site that has served no job yet has no mean service
    /// time to compare with, and no overload.
    fn is_over(&self, wait: Duration) -> bool {
        let DagorParams { threshold, threshold_services, .. } = self.params;
        let of_services = |mean| wait.as_secs_f64() > threshold_services * mean;
        threshold.map_or_else(|| self.service.mean_s().is_some_and(of_services), |threshold| wait > threshold)
    }

    /// True if the callee would refuse the job: a refusal here costs less.
    fn callee_refuses(&self, level: u32, now: Timestamp) -> bool {
        self.heard.is_some_and(|(cursor, at)| level >= cursor && now.since(at) < self.params.window)
    }

    fn hear(&mut self, note: Note, now: Timestamp) {
        if let Some(cursor) = marked(note, CURSOR) {
            self.heard = Some((cursor, now));
        }
    }

    fn tell(&self, id: JobId, cx: &mut Ctx<'_>) {
        if self.tell {
            cx.effects.push(Effect::Annotate(id, Note(CURSOR | u64::from(self.levels.cursor()))));
        }
    }
}

impl Machine for Dagor {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            Seen::Started { waited, .. } => {
                self.look(cx);
                self.began.get_or_insert(cx.now);
                self.waited += *waited;
                self.started += 1;
            }
            Seen::Ended { id, outcome, timing, note, .. } => {
                if *outcome == Outcome::Served {
                    self.service.add(timing.ended.since(timing.started), self.params.window_jobs);
                }
                if let Some(note) = note {
                    self.hear(*note, cx.now);
                }
                self.tell(*id, cx);
            }
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.began.map(|began| began + self.params.window)
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.look(cx);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("admission_level"), f64::from(self.levels.cursor()));
        visit(Gauge::of("mean_wait_ms"), self.mean_wait.as_secs_f64() * 1e3);
        if let Some(mean) = self.service.mean_s() {
            visit(Gauge::of("mean_service_ms"), mean * 1e3);
        }
        if let Some((cursor, _)) = self.heard {
            visit(Gauge::of("callee_level"), f64::from(cursor));
        }
    }
}

impl Policy for Dagor {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        self.look(cx);
        self.began.get_or_insert(cx.now);
        let level = self.level(job, cx);
        // The histogram counts the job's own level: a callee's cursor says nothing about the wait here.
        if self.levels.admits(level) && !self.callee_refuses(level, cx.now) {
            if self.sends {
                cx.effects.push(Effect::Annotate(job.id, Note(LEVEL | u64::from(level))));
            }
            return Verdict::Admit(Grant::default());
        }
        self.tell(job.id, cx);
        Verdict::Refuse(Refusal::new(Reason::Class))
    }
}

const SOCC: &str = "section 4";

params! {
    struct DagorParams {
        threshold_services: f64 = number(0.01..=1000.0, 4.0),
            "mean wait in the queue above which a window counts as overloaded, in mean service times of the site",
            "the lab's: the mean wait of an M/M/1 queue at 80 % load, ρ/(1 − ρ) service times";
        threshold: Option<Duration> = time_or(us(10)..=s(60), "none"),
            "the same as a time, in place of threshold_services", "20 ms, section 4.1, is the preset wechat";
        window: Duration = time(ms(1)..=s(60), s(1)), "the level moves after this long", "1 s, section 4.1";
        window_jobs: u32 = count(1..=10_000_000, 2000),
            "or after so many arrivals, if they come sooner", "2000 requests, section 4.1";
        alpha: f64 = number(0.001..=0.9, 0.05),
            "part of the admitted that is taken away after an overloaded window", "α, section 4.2";
        beta: f64 = number(0.0001..=1.0, 0.01),
            "part of all arrivals that is added after another window", "β, section 4.2";
        business: Business = choice(
            ("criticality", Business::Criticality),
            &[("class", Business::Class), ("kind", Business::Kind)],
        ), "what says how important a job is: criticality, class (the highest first), or kind (the type first in the host's list first)",
            "B, section 4.2.1; the lab's tags";
        user: LevelOf = choice(("user", LevelOf::User), &[("customer", LevelOf::Customer), ("job", LevelOf::Job)]),
            "who shares a level: a user for an hour, or all users of a customer; or each job draws one, for hosts that know neither (sites then do not agree)",
            "U, section 4.2.2; customer and job are the lab's";
        user_levels: u32 = count(1..=1024, 128),
            "levels of users within each importance", "the lab's notes on section 4.2.2";
        tell: bool = flag(true),
            "put the level on replies, for callers to refuse what would be refused here",
            "collaborative admission control, section 4.2";
    }
}

impl DagorParams {
    /// The number of levels of priority.
    fn levels(&self) -> u32 {
        self.business.levels() * self.user_levels
    }
}

pub(crate) const DAGOR: Entry = Entry {
    name: "dagor",
    about: "refuses jobs of low priority, by importance and then by user, while jobs wait for more than four service times",
    caution: "needs jobs of many levels: where few users and one importance make up the load it lets in all or none of them; steps of 5 % and 1 % a second follow a flash crowd slowly",
    source: Source { title: "Zhou et al., Overload Control for Scaling WeChat Microservices, SoCC'18", place: SOCC },
    deviations: &[
        "The threshold is a multiple of the mean service time, start to end of the jobs that were served last; the paper's fixed 20 ms, for its own services, is the preset wechat.",
        "Importance is the job's criticality, class or type; the paper has a table of entry actions, for which the host's rules stand.",
        "A request that comes without a level gets one at the first site that asks, from user and hour; a caller's own dagor puts it on the request, and it rides on from there. In the paper the entry service assigns both levels.",
        "A service takes the level that a request brings, as it takes the criticality: who may send it what is for the host to bound.",
        "The first level is never refused, so that something is always learned.",
        "A window in which no work began says nothing if jobs are in flight, and counts as calm if none are; a window begins with its first job.",
        "What a callee told holds for one window, so that a caller who refuses everything asks again.",
        "A caller keeps the level that it heard last: of a service of several tasks, or with a policy at each of several stages, that is now one's and now another's.",
    ],
    places: &[Place::Stage, Place::Single, Place::Client, Place::Proxy],
    presets: &[
        Preset { name: "service-times", about: "overload from a mean wait of four service times on", given: &[] },
        Preset {
            name: "wechat",
            about: "overload from a mean wait of 20 ms on, as in WeChat's services",
            given: &[("threshold", Given::Text("20ms"))],
        },
        Preset {
            name: "socc18-load",
            about: "a window of 250 requests, or a second: what each of the three servers of M, which do 750 a second, has in one (section 5.1)",
            given: &[("window_jobs", Given::Number(250.0))],
        },
    ],
    samples: &[],
    roles: &[CompositionRole::Select],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &DagorParams, site| {
            let sends = site.place == Place::Client;
            Box::new(Dagor {
                levels: LevelCursor::new(params.levels(), params.alpha, params.beta),
                service: ServiceTime::default(),
                began: None,
                waited: Duration::ZERO,
                started: 0,
                mean_wait: Duration::ZERO,
                // A sender has no callers.
                tell: params.tell && !sends,
                heard: None,
                sends,
                params: params.clone(),
            })
        })
    }),
};
