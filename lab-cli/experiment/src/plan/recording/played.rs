//! A trace as the sessions that a run replays.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, Read},
    path::PathBuf,
    time::Duration,
};

use controllers::{Class, Kind, random::mix, seed_for};
use serde::{Deserialize, Serialize};
use traces::{regroup, trace::Reader};
use workloads::{
    mail::REQUEST_TYPES,
    replay::{Coming, ReplaySession, ReplaySource, ReplayStep},
};

use super::names::Names;

/// Part of a trace, with its speed and its repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    /// Sessions that start from here on, by the trace's clock.
    #[serde(rename = "from_ms", with = "controllers::millis")]
    pub from: Duration,
    /// For so long.
    #[serde(rename = "for_ms", with = "controllers::millis")]
    pub lasts: Duration,
    /// All times are divided by this, 0.1 to 1000.
    pub speed: f64,
    /// Every session is walked by so many users, 1 to 10 000; each copy starts up to a second later.
    pub copies: u32,
    /// This share of the sessions, whole ones, 0 to 1.
    pub sample: f64,
}

/// Copies of a session start within so long (by the run's clock), so that they are not users in step.
pub const SPREAD: Duration = Duration::from_secs(1);

impl Cut {
    /// All of it, once, at its own speed.
    pub fn whole() -> Self {
        Self { from: Duration::ZERO, lasts: Duration::MAX, speed: 1.0, copies: 1, sample: 1.0 }
    }
}

/// A trace, as it is replayed.
#[derive(Debug, Clone)]
pub struct Played {
    file: PathBuf,
    cut: Cut,
    name: String,
    with_texts: bool,
}

impl Played {
    /// The trace of this digest.
    pub fn new(file: PathBuf, sha256: &str, cut: Cut) -> Self {
        let Cut { from, lasts, speed, copies, sample } = &cut;
        let name = format!("trace {sha256} from {from:?} for {lasts:?} at {speed} times {copies}, share {sample}");
        Self { file, cut, name, with_texts: false }
    }

    /// The same, whose steps have the trace's own words too.
    pub fn with_texts(self) -> Self {
        Self { with_texts: true, name: self.name + " in its own words", ..self }
    }

    /// Sessions to replay, in order of start.
    pub fn sessions(&self) -> Result<Coming, String> {
        let file = File::open(&self.file).map_err(|error| error.to_string())?;
        let reader = Reader::open(BufReader::new(file)).map_err(|error| error.to_string())?;
        Ok(Box::new(Playing {
            sessions: regroup::Sessions::new(reader),
            cut: self.cut,
            names: Names::new(self.with_texts),
            soon: BTreeMap::new(),
            read_to: Duration::ZERO,
            number: 0,
            over: false,
        }))
    }
}

impl ReplaySource for Played {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self) -> Result<Coming, String> {
        self.sessions().map_err(|problem| format!("the trace cannot be replayed: {problem}"))
    }
}

struct Playing<R> {
    sessions: regroup::Sessions<R>,
    cut: Cut,
    names: Names,
    /// Sessions read, by start, then as they were read: some copies start later than a session that is still to be read.
    soon: BTreeMap<(Duration, u64), ReplaySession>,
    read_to: Duration,
    number: u64,
    over: bool,
}

impl<R: Read> Playing<R> {
    fn take_in(&mut self, session: &regroup::Session) {
        let start = Duration::from_micros(session.start);
        let Some(into) = start.checked_sub(self.cut.from).filter(|into| *into < self.cut.lasts) else { return };
        let user = self.names.user(&session.user);
        // By user and start: the same sessions whatever else is in the trace.
        let key = seed_for(session.start, &session.user);
        if unit(key) >= self.cut.sample {
            return;
        }
        let scaled =
            |time: Duration| Duration::try_from_secs_f64(time.as_secs_f64() / self.cut.speed).unwrap_or(Duration::MAX);
        let names = &mut self.names;
        let step = |step: &regroup::Step| ReplayStep {
            kind: kind(&step.action),
            at: scaled(Duration::from_micros(step.at)),
            pause: scaled(Duration::from_micros(step.pause)),
            object: names.object(&session.user, &step.object, key ^ step.at),
            texts: names.texts(step),
        };
        let steps: std::sync::Arc<[ReplayStep]> = session.steps.iter().map(step).collect();
        let name = self.names.text(&session.user);
        self.read_to = scaled(into);
        for copy in 0..self.cut.copies {
            let later = if copy == 0 { Duration::ZERO } else { SPREAD.mul_f64(unit(mix(key ^ u64::from(copy)))) };
            if self.read_to + later >= scaled(self.cut.lasts) {
                continue; // it would start when the run is over
            }
            let user = user.wrapping_mul(self.cut.copies).wrapping_add(copy);
            let (at, class) = (self.read_to + later, Class(session.class));
            let session = ReplaySession { at, user, name: name.clone(), class, steps: steps.clone() };
            self.soon.insert((at, self.number), session);
            self.number += 1;
        }
    }
}

/// Sessions come in order of start, so what starts by the last one read is complete.
impl<R: Read> Iterator for Playing<R> {
    type Item = Result<ReplaySession, String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let next = self.soon.first_entry().filter(|soon| self.over || soon.key().0 <= self.read_to);
            if let Some(soon) = next {
                return Some(Ok(soon.remove()));
            }
            if self.over {
                return None;
            }
            match self.sessions.next() {
                None => self.over = true,
                Some(Ok(session)) => self.take_in(&session),
                Some(Err(problem)) => {
                    self.over = true;
                    self.soon.clear();
                    return Some(Err(problem.to_string()));
                }
            }
        }
    }
}

/// Fraction from 0 to under 1.
fn unit(key: u64) -> f64 {
    (mix(key) >> 11) as f64 / (1_u64 << 53) as f64
}

/// The request type of an action; what is not known is `other`.
fn kind(action: &str) -> Kind {
    let at = REQUEST_TYPES.iter().position(|known| *known == action).unwrap_or(REQUEST_TYPES.len() - 1);
    Kind(u16::try_from(at).unwrap_or(u16::MAX))
}
