//! What a run's events and the person's keys change on its screen.

use super::{
    Ask,
    keymap::Action,
    state::{MOST_ARMS, MOST_LINES, MOST_SECONDS, Running, State},
};
use crate::{live::LiveEvent, text::scrubbed};

/// Returns what the person asks of the run.
pub(super) fn pressed(state: &mut State, action: Action) -> Option<Ask> {
    match action {
        Action::Pause => state.paused = !state.paused,
        Action::Stop if state.stopping => return Some(Ask::Abort),
        Action::Stop => {
            state.stopping = true;
            log(state, "stopping: what is open is awaited and saved; press again to end at once");
            return Some(Ask::Stop);
        }
        _ => {}
    }
    None
}

pub(super) fn happened(state: &mut State, event: LiveEvent) {
    match event {
        LiveEvent::RunStarted(shape) => state.shape = Some(shape),
        LiveEvent::Note { text } => log(state, &text),
        LiveEvent::ArmStarted { arm, block } => {
            state.begun += 1;
            log(state, &format!("arm {arm} begins"));
            state.running = Some(Running { name: arm, block, ..Running::default() });
        }
        LiveEvent::PhaseStarted { phase, second } => {
            log(state, &format!("{second} s: {phase}"));
            if let Some(running) = &mut state.running {
                running.phase = phase;
                running.phase_began = second;
            }
        }
        LiveEvent::Second(second) => {
            let Some(running) = &mut state.running else { return };
            running.seconds.push_back(*second);
            if running.seconds.len() > MOST_SECONDS {
                running.seconds.pop_front();
            }
        }
        LiveEvent::Policy { second, stage, text } => log(state, &format!("{second:.0} s: {stage}: {text}")),
        LiveEvent::ArmFinished(arm) => {
            let reasons: Vec<&str> = arm.reasons.iter().map(|reason| reason.code.as_str()).collect();
            log(state, &format!("arm {} is over: {} {}", arm.shown_name(), arm.verdict.word(), reasons.join(" ")));
            state.running = None;
            state.finished.push_back(*arm);
            if state.finished.len() > MOST_ARMS {
                state.finished.pop_front();
            }
        }
        LiveEvent::Stopping => {
            // A key has said so already; a signal has not.
            if !state.stopping {
                state.stopping = true;
                log(state, "stopping: what is open is awaited and saved");
            }
        }
        LiveEvent::RunFinished(_) => state.over = true,
    }
}

fn log(state: &mut State, line: &str) {
    state.log.push_back(scrubbed(line.trim_end()));
    if state.log.len() > MOST_LINES {
        state.log.pop_front();
    }
}
