//! What a layer is built of, and whether that is possible.

use std::{sync::Arc, time::Duration};

use controllers::{
    Entry, Objective, Place, Settings, SiteId,
    catalogue::{Factory, PolicySpec, Setting},
    site::Probe,
};

use crate::{BuildError, PolicyChoice, clock::Clock, reports::OnTell, sharding};

/// The parts of a layer's gates, apart from their policy.
#[derive(Debug, Clone)]
pub(crate) struct SitePlan {
    pub(crate) name: String,
    /// What was asked for: a server's layer takes a client's policy too.
    pub(crate) side: Side,
    pub(crate) capacity: Option<u32>,
    /// `None`: nobody has stated one.
    pub(crate) objective: Option<Objective>,
    pub(crate) shards: u32,
    pub(crate) shadow: bool,
    pub(crate) seed: u64,
    pub(crate) probe: Arc<dyn Probe>,
    pub(crate) clock: Clock,
    /// The number in reports.
    pub(crate) site: SiteId,
    /// The receiver of reports.
    pub(crate) on_tell: Option<OnTell>,
}

/// The side of the wire that a layer is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Server(Place),
    Client,
}

impl Side {
    pub(crate) fn place(self) -> Place {
        match self {
            Self::Server(place) => place,
            Self::Client => Place::Client,
        }
    }
}

/// A policy that can run here.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) entry: &'static Entry,
    pub(crate) factory: Factory,
    pub(crate) side: Side,
}

/// The objective until another is set: nine of ten requests within a second.
const OBJECTIVE: Objective = Objective { percentile: 90.0, response_time: Duration::from_secs(1) };

impl SitePlan {
    /// The objective that policies are told.
    pub(crate) fn told_objective(&self) -> Objective {
        self.objective.unwrap_or(OBJECTIVE)
    }

    /// Checks a policy: its settings, its place, the capacity that it needs, and its shards.
    pub(crate) fn check(&self, choice: &PolicyChoice) -> Result<Checked, BuildError> {
        let (entry, PolicySpec { place, settings, .. }, factory) = choice.check()?;
        let problem = |message: String| BuildError::one(entry.name, message);
        if entry.bound().is_some() {
            return Err(problem("it knows what no policy can know: it exists in virtual time alone".to_owned()));
        }
        if !entry.is_policy() {
            return Err(problem("it decides about no request: it sizes pools, or signals".to_owned()));
        }
        let side = match (self.side, place) {
            (Side::Client, None | Some(Place::Client)) if entry.places.contains(&Place::Client) => Side::Client,
            (Side::Client, _) => {
                let places = entry.places.iter().map(|place| place.scope()).collect::<Vec<_>>().join(", ");
                return Err(problem(format!("it has no place at a client; it has: {places}")));
            }
            (Side::Server(_), Some(Place::Client)) => Side::Client,
            (Side::Server(_), Some(place @ (Place::Single | Place::Proxy))) => Side::Server(place),
            (Side::Server(_), None) => server_place(entry).ok_or_else(|| problem(NOT_IN_A_LAYER.to_owned()))?,
            (Side::Server(_), Some(Place::Stage | Place::Accept)) => {
                return Err(BuildError::one(
                    format!("{}.scope", entry.name),
                    "in a layer it may be: single, proxy, client",
                ));
            }
        };
        if factory.counts_workers(side.place()) && self.capacity.is_none() {
            return Err(problem(format!(
                "{} makes requests wait until there is room: set the layer's `capacity`, the number of requests that the \
                 service works on side by side, or let a limit make the room: compose, with a limit and a queue",
                entry.name
            )));
        }
        if self.objective.is_none() && factory.takes_objective() {
            return Err(problem(
                "it needs the objective, and none is given: say with the layer's `objective` when an answer is late"
                    .to_owned(),
            ));
        }
        if self.on_tell.is_none() && reports(&settings) {
            return Err(BuildError::one(format!("{}.report_usage", entry.name), NOBODY_TOLD));
        }
        sharding::check(entry, side == Side::Client, self.shards)
            .map_err(|message| BuildError::one("shards", message))?;
        Ok(Checked { entry, factory, side })
    }
}

const NOT_IN_A_LAYER: &str = "it needs a queue and workers, or connections, that a layer does not have: it runs in a stage of the lab's services, or at accept";

const NOBODY_TOLD: &str = "nobody gets the reports: say with the layer's `on_tell` how they reach the quota-server, and give its answers to `Admission::tell`";

/// True if a policy with these settings, or a part of it, reports to other sites.
fn reports(settings: &Settings) -> bool {
    settings.iter().any(|(key, value)| match value {
        Setting::Map(part) => reports(part),
        value => key == "report_usage" && *value == Setting::Flag(true),
    })
}

/// The place of an entry in a server's layer, unless its settings say another.
fn server_place(entry: &Entry) -> Option<Side> {
    let has = |place| entry.places.contains(&place);
    if has(Place::Single) {
        Some(Side::Server(Place::Single))
    } else if has(Place::Client) {
        Some(Side::Client)
    } else if has(Place::Proxy) {
        Some(Side::Server(Place::Proxy))
    } else {
        None
    }
}
