//! A saved run as it ran: the state of the live screen, made from what was recorded, at a second that a person chooses or that
//! goes on by itself.

use std::{collections::VecDeque, time::Duration};

use analysis::live::LiveEvent;

use super::Compare;
use crate::{
    curve::ArmCurve,
    front_doors::TokenTotals,
    keymap::Action,
    state::{MOST_LINES, Running, State, TimelineNote},
    update,
};

/// Seconds of the run in a second: at most, and at least.
const FASTEST: f64 = 64.0;
const SLOWEST: f64 = 0.5;

#[derive(Debug, Default)]
pub(crate) struct Replay {
    pub state: State,
    pub playing: bool,
    /// Seconds of the run in a second.
    pub speed: f64,
    /// The position, in seconds of the arm.
    at: f64,
    /// What happened in the arm.
    notes: Vec<TimelineNote>,
}

impl Replay {
    /// The arm under the cursor, at the time that is looked at, else at the end of the phase that is shown; `None`: none of its
    /// seconds are known.
    pub fn of(compare: &Compare) -> Option<Self> {
        let arm_series = compare.chosen()?;
        let run = &compare.runs[arm_series.run];
        let block = compare.drawn_block(arm_series.run);
        let name = compare.arm_name(arm_series).to_owned();
        let seconds: VecDeque<_> = compare.seconds(arm_series).cloned().collect();
        seconds.front()?;
        let mut totals = TokenTotals::default();
        let tokens = seconds
            .iter()
            .map(|second| {
                totals = totals.with(second);
                totals.clone()
            })
            .collect();
        let arms = &run.summary.arms;
        let policy = run.events.iter().find_map(|event| match event {
            LiveEvent::ArmStarted { arm, block: of, policy } if *arm == name && *of == block => policy.clone(),
            _ => None,
        });
        let marks = compare.touches(arm_series).map(|touched| touched.second).collect();
        let running = Running { name: name.clone(), block, seconds, tokens, policy, marks, ..Running::default() };
        let beside = compare.all_series.iter().filter(|other| other.run == arm_series.run);
        let curves = beside.map(|other| ArmCurve::of(compare.arm_name(*other), compare.seconds(*other)));
        let position = arms.iter().position(|arm| arm.shown_name() == name && arm.block == block);
        let state = State {
            shape: run.shape.clone(),
            running: Some(running),
            begun: position.map_or(1, |position| position + 1),
            curves: curves.collect(),
            finished: arms.iter().filter(|arm| arm.block == block).cloned().collect(),
            ..State::default()
        };
        let mut replay = Self { state, playing: false, speed: 1.0, at: 0.0, notes: notes(&run.events, &name, block) };
        let begins = compare.phase_span(arm_series.run).map_or(0.0, |[begin, _]| begin);
        replay.go(compare.look.moment.unwrap_or(begins));
        Some(replay)
    }

    /// The second that is shown.
    pub fn second(&self) -> u32 {
        self.at as u32
    }

    /// Replay at the second of another arm's, seen in the same way.
    pub fn seen_as(mut self, other: &Self) -> Self {
        (self.state.enlarged, self.state.percentile) = (other.state.enlarged, other.state.percentile);
        (self.playing, self.speed) = (other.playing, other.speed);
        self.go(f64::from(other.second()));
        self
    }

    pub fn pressed(&mut self, action: Action) {
        let last = self.ends().1;
        match action {
            Action::Play => {
                // At its end it begins again.
                if !self.playing && self.at >= last {
                    self.go(0.0);
                }
                self.playing = !self.playing;
            }
            Action::Scroll(by) => self.go(self.at.floor() + f64::from(by)),
            Action::First => self.go(0.0),
            Action::Last => self.go(last),
            Action::Faster => self.speed = (self.speed * 2.0).min(FASTEST),
            Action::Slower => self.speed = (self.speed / 2.0).max(SLOWEST),
            Action::Panel(panel) => {
                self.state.enlarged = Some(panel).filter(|_| self.state.enlarged != Some(panel));
            }
            Action::Percentile => self.state.next_percentile(),
            Action::Up | Action::Down => self.state.choose_stage(action == Action::Down),
            _ => {}
        }
    }

    /// All panels again: `false` if they are all there.
    pub fn back(&mut self) -> bool {
        self.state.enlarged.take().is_some()
    }

    /// So much time has passed: `true` if another second is shown.
    pub fn passed(&mut self, time: Duration) -> bool {
        if !self.playing {
            return false;
        }
        let (before, last) = (self.second(), self.ends().1);
        self.go(self.at + time.as_secs_f64() * self.speed);
        self.playing = self.at < last;
        self.second() != before || !self.playing
    }

    /// The first and the last second that are known.
    fn ends(&self) -> (f64, f64) {
        let seconds = self.state.running.as_ref().map(|running| &running.seconds);
        let end = |second: Option<&analysis::live::TimelineSecond>| second.map_or(0.0, |second| second.second.into());
        (end(seconds.and_then(VecDeque::front)), end(seconds.and_then(VecDeque::back)))
    }

    fn go(&mut self, at: f64) {
        let (first, last) = self.ends();
        self.at = at.clamp(first, last);
        let second = self.second();
        if let Some(running) = &mut self.state.running {
            running.until = Some(second);
            running.phase = running.latest().map_or_else(String::new, |second| second.phase.clone());
        }
        let known = self.notes.iter().filter(|note| note.second.is_none_or(|when| when <= self.at));
        let known: Vec<TimelineNote> = known.cloned().collect();
        let from = known.len().saturating_sub(MOST_LINES);
        self.state.log = known.into_iter().skip(from).collect();
    }
}

/// Events in a turn of an arm, in the words of the live screen.
fn notes(events: &[LiveEvent], name: &str, of: u32) -> Vec<TimelineNote> {
    let mut inside = false;
    let mut notes = Vec::new();
    for event in events {
        match event {
            LiveEvent::ArmStarted { arm, block, .. } => inside = arm == name && *block == of,
            LiveEvent::ArmFinished(_) => inside = false,
            _ => {}
        }
        if inside {
            notes.extend(update::note_of(event));
        }
    }
    notes
}
