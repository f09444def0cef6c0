//! Progress of a run where no screen shows it: one line that is rewritten on a terminal; elsewhere one a minute, for
//! logs.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use analysis::{
    live::{LiveEvent, TimelineSecond},
    summary::Validity,
    text::{known_or_at_least, percent, scrubbed},
};

use super::EventSink;

/// Between two lines of a log.
const EVERY: Duration = Duration::from_secs(60);

/// Writes them to standard error.
#[derive(Debug)]
pub struct ProgressLines {
    began: Instant,
    lines: Lines,
}

impl Default for ProgressLines {
    fn default() -> Self {
        Self { began: Instant::now(), lines: Lines { rewrites: io::stderr().is_terminal(), ..Lines::default() } }
    }
}

impl EventSink for ProgressLines {
    fn event(&mut self, event: &LiveEvent) {
        let written = self.lines.added_by(event, self.began.elapsed());
        // Nobody may be reading; the run goes on.
        let _ = io::stderr().write_all(written.as_bytes());
    }
}

impl Drop for ProgressLines {
    fn drop(&mut self) {
        let _ = io::stderr().write_all(self.lines.cleared().as_bytes());
    }
}

/// The lines, and the times at which they are due.
#[derive(Debug, Default)]
struct Lines {
    /// The line with how far it is is rewritten; else it comes once a minute.
    rewrites: bool,
    /// The time of the last one.
    last: Option<Duration>,
    /// One stands on the terminal.
    stands: bool,
    arms: usize,
    started: usize,
    running: String,
}

impl Lines {
    /// Text for this event, at this time of the run: a notice that must be known, and the progress where that is due.
    fn added_by(&mut self, event: &LiveEvent, now: Duration) -> String {
        let mut text = String::new();
        if let Some(notice) = self.notice(event) {
            text = format!("{}{}\n", self.cleared(), scrubbed(&notice));
        }
        if let Some(far) = self.how_far(event).filter(|_| self.rewrites || self.is_due(now)) {
            self.last = Some(now);
            text += &self.status(&scrubbed(&far));
        }
        text
    }

    /// A notice, which stays: what a person must know of the run.
    fn notice(&mut self, event: &LiveEvent) -> Option<String> {
        match event {
            LiveEvent::RunStarted(shape) => {
                self.arms = shape.arms.len() * shape.blocks as usize;
                let about = if shape.about.is_empty() { String::new() } else { format!(": {}", shape.about) };
                Some(format!("{}{about}", shape.experiment))
            }
            LiveEvent::Note { text } => Some(text.clone()),
            LiveEvent::Touched { second, touch } => Some(format!("  {second:.0} s  TOUCHED: {}", touch.in_words())),
            LiveEvent::ArmFinished(arm) if arm.verdict == Validity::Invalid => {
                Some(format!("  {} (block {}) is over: INVALID", arm.name, arm.block))
            }
            LiveEvent::Stopping => Some("stopping: what is open may end, then what was measured is saved".to_owned()),
            _ => None,
        }
    }

    fn how_far(&mut self, event: &LiveEvent) -> Option<String> {
        match event {
            LiveEvent::ArmStarted { arm, block, .. } => {
                self.started += 1;
                self.running = format!("arm {} of {}: {arm} (block {block})", self.started, self.arms);
                Some(self.running.clone())
            }
            LiveEvent::Computing { done_s, of_s } => {
                Some(format!("computed {} of {of_s:.0} s of virtual time", percent(done_s / of_s)))
            }
            LiveEvent::Second(second) => Some(format!("{}  {}", self.running, of_second(second))),
            _ => None,
        }
    }

    fn is_due(&self, now: Duration) -> bool {
        self.last.is_none_or(|last| now >= last + EVERY)
    }

    fn status(&mut self, line: &str) -> String {
        if !self.rewrites {
            return format!("{line}\n");
        }
        self.stands = true;
        format!("\r\x1b[2K{line}")
    }

    /// Takes away the line that stands.
    fn cleared(&mut self) -> &'static str {
        if std::mem::take(&mut self.stands) { "\r\x1b[2K" } else { "" }
    }
}

fn of_second(second: &TimelineSecond) -> String {
    let p90 = known_or_at_least(second.p90_ms, second.p90_at_least_ms);
    format!(
        "{} s {}: {} of {} offered/s in time, p90 {p90}",
        second.second, second.phase, second.goodput, second.offered,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: u32) -> LiveEvent {
        LiveEvent::Second(Box::new(TimelineSecond {
            second,
            offered: 40,
            served: 30,
            goodput: 20,
            ..TimelineSecond::default()
        }))
    }

    #[test]
    fn a_log_has_a_line_a_minute_and_what_must_be_known() {
        let mut lines = Lines::default();
        // A matrix in virtual time: 2900 seconds in four real ones.
        let all: String = (0..2900).map(|n| lines.added_by(&second(n), Duration::from_millis(u64::from(n)))).collect();
        assert_eq!(all.lines().count(), 1, "{all}");
        assert!(lines.added_by(&second(1), Duration::from_secs(60)).contains("20 of 40 offered/s in time"));
        let note = LiveEvent::Note { text: "5 blocks cannot decide".to_owned() };
        assert_eq!(lines.added_by(&note, Duration::from_secs(61)), "5 blocks cannot decide\n");
        let computing = LiveEvent::Computing { done_s: 20.0, of_s: 100.0 };
        assert_eq!(lines.added_by(&computing, Duration::from_secs(62)), "");
        assert_eq!(lines.added_by(&computing, Duration::from_secs(121)), "computed 20 % of 100 s of virtual time\n");
    }

    #[test]
    fn a_terminal_has_one_line_that_is_rewritten_and_gives_way() {
        let mut lines = Lines { rewrites: true, ..Lines::default() };
        let all: String = (0..50).map(|n| lines.added_by(&second(n), Duration::ZERO)).collect();
        assert!(!all.contains('\n') && all.matches("\r\x1b[2K").count() == 50, "{all:?}");
        let note = LiveEvent::Note { text: "x".to_owned() };
        assert_eq!(lines.added_by(&note, Duration::ZERO), "\r\x1b[2Kx\n");
        assert_eq!(lines.cleared(), "", "nothing stands");
    }
}
