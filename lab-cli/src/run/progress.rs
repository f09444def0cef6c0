//! Plain progress lines, for logs and pipes.

use std::io::{self, Write};

use analysis::{
    live::{LiveEvent, TimelineSecond},
    text::{known_or_at_least, percent, scrubbed},
};

use super::EventSink;

/// Seconds between two lines of one phase.
const EVERY: u32 = 5;

/// Parts of a run in virtual time, each worth a line.
const PARTS: f64 = 5.0;

/// Writes progress lines to standard error.
#[derive(Debug, Default)]
pub struct ProgressLines {
    last: Option<(String, u32)>,
    arms: usize,
    started: usize,
    /// Parts of a run in virtual time that have been told, and of how many seconds.
    computed: (f64, f64),
}

impl EventSink for ProgressLines {
    fn event(&mut self, event: &LiveEvent) {
        let Some(line) = self.line(event) else { return };
        // Nobody may be reading; the run goes on.
        let _ = writeln!(io::stderr(), "{}", scrubbed(&line));
    }
}

impl ProgressLines {
    fn line(&mut self, event: &LiveEvent) -> Option<String> {
        match event {
            LiveEvent::RunStarted(shape) => {
                self.arms = shape.arms.len() * shape.blocks as usize;
                Some(format!("{}: {}", shape.experiment, shape.about))
            }
            LiveEvent::Note { text } => Some(text.clone()),
            LiveEvent::ArmStarted { arm, block, .. } => {
                self.started += 1;
                self.last = None;
                Some(format!("arm {} of {}: {arm} (block {block})", self.started, self.arms))
            }
            LiveEvent::LoadStarted { .. }
            | LiveEvent::PhaseStarted { .. }
            | LiveEvent::RunFailed { .. }
            | LiveEvent::RunFinished(_) => None,
            LiveEvent::Computing { done_s, of_s } => self.computing(*done_s, *of_s),
            LiveEvent::Second(second) => self.second(second),
            LiveEvent::Policy { second, stage, text } => Some(format!("  {second:.0} s  {stage}: {text}")),
            LiveEvent::Touched { second, touch } => Some(format!("  {second:.0} s  TOUCHED: {}", touch.in_words())),
            LiveEvent::ArmFinished(arm) => Some(format!("  {} is over: {}", arm.name, arm.verdict.word())),
            LiveEvent::Stopping => Some("stopping: what is open may end, then what was measured is saved".to_owned()),
        }
    }

    /// Every fifth part: what takes longer than a moment says how far it is.
    fn computing(&mut self, done_s: f64, of_s: f64) -> Option<String> {
        let part = (done_s / of_s * PARTS).floor();
        // More blocks were added: parts of all of them are told anew.
        let so_far =
            if self.computed.1 == of_s { self.computed.0 } else { (self.computed.0 * self.computed.1 / of_s).floor() };
        let more = part > so_far;
        self.computed = (so_far.max(part), of_s);
        more.then(|| format!("  computed {} of {of_s:.0} s of virtual time", percent(done_s / of_s)))
    }

    /// The first second of each phase, then every fifth.
    fn second(&mut self, second: &TimelineSecond) -> Option<String> {
        let due = match &self.last {
            Some((phase, at)) => *phase != second.phase || second.second >= at + EVERY,
            None => true,
        };
        if !due {
            return None;
        }
        self.last = Some((second.phase.clone(), second.second));
        let p90 = known_or_at_least(second.p90_ms, second.p90_at_least_ms);
        Some(format!(
            "  {:>4} s  {:<8} {:>5} users  {:>5} offered/s  {:>5} goodput/s  {:>5} rejected/s  p90 {p90}",
            second.second, second.phase, second.users, second.offered, second.goodput, second.rejected,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_with_each_phase_and_every_fifth_second() {
        let mut progress = ProgressLines::default();
        let mut at = Vec::new();
        for second in 0..13 {
            let phase = if second < 8 { "before" } else { "spike" }.to_owned();
            let event = LiveEvent::Second(Box::new(TimelineSecond { second, phase, ..TimelineSecond::default() }));
            if progress.line(&event).is_some() {
                at.push(second);
            }
        }
        // 0 begins a phase, 5 is five on, 8 begins the next; 13 would be next.
        assert_eq!(at, [0, 5, 8]);
    }

    #[test]
    fn goodput_is_what_was_answered_in_time() {
        let second = TimelineSecond { offered: 40, served: 30, goodput: 20, ..TimelineSecond::default() };
        let line = ProgressLines::default().line(&LiveEvent::Second(Box::new(second))).expect("a first second");
        assert!(line.contains("   40 offered/s     20 goodput/s"), "{line}");
    }

    #[test]
    fn a_long_run_in_virtual_time_says_how_far_it_is_five_times() {
        let mut progress = ProgressLines::default();
        let lines: Vec<String> = (0..=100)
            .filter_map(|done| progress.line(&LiveEvent::Computing { done_s: f64::from(done), of_s: 100.0 }))
            .collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[0], "  computed 20 % of 100 s of virtual time");
    }
}
