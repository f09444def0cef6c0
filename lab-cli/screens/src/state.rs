//! State of a run: made from events alone, bounded in memory.

use std::{cmp::Reverse, collections::VecDeque, time::Duration};

use analysis::{
    live::{AgentSecond, Shape, StageSecond, TimelineSecond},
    summary::{Arm, Mode},
    text::scrubbed,
};
use controllers::{Place, catalogue::PolicySpec};

use super::{
    column::Column,
    curve::ArmCurve,
    form::{Form, InForce},
    front_doors::TokenTotals,
    panel::Panel,
};

/// Seconds of an arm that are kept to be drawn: an hour.
pub(super) const MOST_SECONDS: usize = 3600;
/// Agents of seconds that are kept, over all seconds.
const MOST_AGENTS: usize = 100_000;
/// Lines of the log that are kept.
pub(super) const MOST_LINES: usize = 200;
/// Finished arms that are kept.
pub(super) const MOST_ARMS: usize = 64;
/// Changes by a person of which the marks are kept.
pub(super) const MOST_MARKS: usize = 100;

#[derive(Debug, Default)]
pub(super) struct State {
    pub shape: Option<Shape>,
    /// The arm that runs.
    pub running: Option<Running>,
    /// The number of arms that have begun.
    pub begun: usize,
    /// Seconds of a run in virtual time: those that are computed, and all.
    pub computing: Option<(f64, f64)>,
    /// For how long there has been no second to be shown.
    pub waiting_for: Option<Duration>,
    /// What has happened in that time, with the time before it.
    pub steps: Vec<(Duration, String)>,
    /// Arms that are over.
    pub finished: VecDeque<Arm>,
    /// The newest turn of each arm, over time: of those that are over; in a saved run of all.
    pub curves: Vec<ArmCurve>,
    /// Newest last.
    pub log: VecDeque<TimelineNote>,
    /// This panel has the screen for itself.
    pub enlarged: Option<Panel>,
    /// The stage that a person chose, by its number.
    pub stage: Option<usize>,
    /// The percentile of response times that a person chose to see.
    pub percentile: Option<Column>,
    /// The form of the intervention that a person is about to make.
    pub form: Option<Form>,
    /// A line for the person, until the next key.
    pub said: Option<String>,
    /// CPU that the screen itself uses, as a share of a core; not known yet at first.
    pub own_cpu: Option<f64>,
    pub stopping: bool,
    pub over: bool,
}

/// Something that happened, scrubbed: when in the arm, and by whom.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TimelineNote {
    pub second: Option<f64>,
    pub who: String,
    pub text: String,
}

/// The author of what a person did.
pub(super) const YOU: &str = "you";

#[derive(Debug, Default)]
pub(super) struct Running {
    pub name: String,
    pub block: u32,
    pub phase: String,
    /// Second of the arm at which the phase began.
    pub phase_began: u32,
    pub seconds: VecDeque<TimelineSecond>,
    /// Tokens of its waiting rooms up to each of these seconds.
    pub tokens: VecDeque<TokenTotals>,
    /// The last second that is shown, where that is not the newest: the view stands still, or looks back.
    pub until: Option<u32>,
    /// The policy that is in force, as far as it is known.
    pub policy: Option<PolicySpec>,
    /// A person chose it, and where: it is not the arm's own any more.
    pub switched: Option<Option<String>>,
    /// Times of interventions, in seconds of the arm.
    pub marks: VecDeque<f64>,
    /// No user begins a request, because a person has paused arrivals.
    pub resting: bool,
}

/// The end of each phase, in seconds of the arm, with its name, which is scrubbed.
pub(super) fn phase_ends(shape: &Shape) -> Vec<(f64, String)> {
    let names = shape.phases.iter().map(|phase| scrubbed(&phase.name));
    shape.ends().into_iter().zip(names).collect()
}

/// Rows of a service at which no policy sits.
const NO_SITES: [&str; 4] = ["read", "send", "system", "balancer"];
/// Rows, or what rows begin with, of others than services: users, machines beside them, a platform.
const OF_OTHERS: [&str; 3] = ["client", "beside", "platform"];

impl Running {
    /// The values with which a form for an intervention begins.
    pub fn in_force(&self) -> InForce {
        let mut spots = Vec::new();
        let target = self.seconds.iter().rev().find_map(|second| second.target.as_ref());
        let stages = target.map_or(&[][..], |target| &target.stages);
        for stage in stages.iter().filter(|stage| !stage.is_exported()) {
            let (service, name) =
                stage.name.rsplit_once('/').map_or((None, &*stage.name), |(service, name)| (Some(service), name));
            if NO_SITES.contains(&name) || name.starts_with("calls ") || OF_OTHERS.contains(&service.unwrap_or(name)) {
                continue;
            }
            for spot in service.into_iter().chain([&*stage.name]) {
                if !spots.iter().any(|known| known == spot) {
                    spots.push(spot.to_owned());
                }
            }
        }
        let own = self.policy.as_ref().and_then(|policy| policy.place).filter(|place| *place != Place::Proxy);
        let at = self.switched.clone().unwrap_or_else(|| own.map(|place| place.scope().to_owned()));
        InForce { policy: self.policy.clone(), at, spots }
    }

    /// Seconds that are shown, in order.
    pub fn shown(&self) -> impl DoubleEndedIterator<Item = &TimelineSecond> {
        let until = self.until.unwrap_or(u32::MAX);
        let shown = self.seconds.partition_point(|second| second.second <= until);
        self.seconds.range(..shown)
    }

    /// The last second that is shown.
    pub fn latest(&self) -> Option<&TimelineSecond> {
        self.shown().next_back()
    }

    /// Tokens of its waiting rooms up to that second.
    pub fn tokens_so_far(&self) -> Option<&TokenTotals> {
        self.tokens.get(self.shown().count().checked_sub(1)?)
    }

    /// Forgets the agents of a second that is long over, where there are many.
    pub fn forget_agents(&mut self) {
        let each = self.seconds.back().map_or(1, |second| second.agents.len().max(1));
        let old = self.seconds.len().checked_sub(MOST_AGENTS / each + 1);
        if let Some(second) = old.and_then(|at| self.seconds.get_mut(at)) {
            second.agents = Vec::new();
        }
    }

    /// Agents in the last second that is shown.
    pub fn agents(&self) -> &[AgentSecond] {
        self.latest().map_or(&[], |second| &second.agents)
    }

    /// Stands still where it is, or goes on with the newest.
    pub fn freeze(&mut self) {
        self.until = match self.until {
            Some(_) => None,
            None => self.seconds.back().map(|second| second.second),
        };
    }

    /// Looks so many seconds further back, or forth.
    pub fn scroll(&mut self, by: i64) {
        let (Some(first), Some(last)) = (self.seconds.front(), self.seconds.back()) else { return };
        let at = i64::from(self.until.unwrap_or(last.second)) + by;
        let at = at.clamp(i64::from(first.second), i64::from(last.second));
        self.until = u32::try_from(at).ok();
    }
}

impl State {
    /// Keeps what the arm that ran has shown over time, in place of its turn before.
    pub fn keep_curve(&mut self) {
        let Some(running) = &self.running else { return };
        let curve = ArmCurve::of(&running.name, &running.seconds);
        self.curves.retain(|before| before.name != curve.name);
        if self.curves.len() == MOST_ARMS {
            self.curves.remove(0);
        }
        self.curves.push(curve);
    }

    /// A run in virtual time, whose arms come when they are computed.
    pub fn is_virtual(&self) -> bool {
        self.shape.as_ref().is_some_and(|shape| shape.mode == Mode::Virtual)
    }

    /// No second of the arm is known yet.
    pub fn is_preparing(&self) -> bool {
        self.running.as_ref().is_none_or(|running| running.seconds.is_empty())
    }

    /// Stages of the service, as the last second has them.
    fn stages(&self) -> &[StageSecond] {
        let latest = self.running.as_ref().and_then(Running::latest).and_then(|second| second.target.as_ref());
        latest.map_or(&[], |target| &target.stages)
    }

    /// The number of the stage whose figures over time are shown: the one with the longest queue, unless a person chose another.
    pub fn stage_at(&self) -> usize {
        let longest = || {
            let queues = self.stages().iter().enumerate().map(|(n, stage)| (Reverse(stage.queue), n));
            queues.min().map_or(0, |(_, n)| n)
        };
        self.stage.unwrap_or_else(longest)
    }

    /// The next stage, or the one before.
    pub fn choose_stage(&mut self, down: bool) {
        let (at, last) = (self.stage_at(), self.stages().len().saturating_sub(1));
        self.stage = Some(if down { (at + 1).min(last) } else { at.saturating_sub(1) });
    }

    /// Arms times blocks.
    pub fn turns(&self) -> usize {
        self.shape.as_ref().map_or(0, |shape| shape.arms.len() * shape.blocks as usize)
    }

    /// The view stands still, or looks back.
    pub fn is_frozen(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.until.is_some())
    }

    /// The reason why nothing can be changed now, if so.
    pub fn untouchable(&self) -> Option<&'static str> {
        match (&self.shape, &self.running) {
            (Some(shape), _) if shape.mode == Mode::Virtual => Some(
                "a run in virtual time is over before it could be changed: this key is for live runs (v in the setup)",
            ),
            (_, None) => Some("no arm runs now: wait for the next one"),
            (_, Some(running)) if running.phase == "drain" => Some("this arm is over: its last requests end"),
            (_, Some(_)) if self.stopping => Some("the run is being stopped"),
            (_, Some(running)) if running.seconds.is_empty() => {
                Some("the load has not begun: wait for the first second")
            }
            _ => None,
        }
    }

    /// The planned length of an arm, seconds, without its drain.
    pub fn planned_seconds(&self) -> f64 {
        self.shape.as_ref().map_or(0.0, Shape::seconds)
    }

    /// Seconds of the arm at which each phase ends, with its name.
    pub fn phase_ends(&self) -> Vec<(f64, String)> {
        self.shape.as_ref().map_or_else(Vec::new, phase_ends)
    }

    /// Requests a second that the service can serve at a second of the arm, faults included, where that is known.
    pub fn capacity_at(&self, second: u32) -> Option<f64> {
        self.shape.as_ref()?.capacity_at(f64::from(second))
    }

    /// Requests a second that the service can serve, where that is known.
    pub fn capacity_per_s(&self) -> Option<f64> {
        self.shape.as_ref()?.capacity_per_s
    }

    /// The percentile of response times that is shown: the objective's, unless a person chose another.
    pub fn percentile(&self) -> Column {
        let of_objective = || self.shape.as_ref().map_or(Column::P90, |shape| Column::bounded_by(&shape.objective));
        self.percentile.unwrap_or_else(of_objective)
    }

    pub fn next_percentile(&mut self) {
        self.percentile = Some(self.percentile().next_percentile());
    }

    pub fn objective_ms(&self) -> Option<f64> {
        self.shape.as_ref().map(|shape| shape.objective.response_time_ms)
    }
}
