//! Changes to the screen of a run by its events and by the person's keys.

use std::collections::VecDeque;

use analysis::{
    live::{LiveEvent, NOT_DONE, Touch},
    summary::verdict_and_codes,
    text::scrubbed,
};
use controllers::catalogue::PolicySpec;
use crossterm::event::KeyEvent;

use super::{
    form::{Change, Filled, Form},
    keymap::Action,
    requests::UserRequest,
    state::{MOST_ARMS, MOST_LINES, MOST_MARKS, MOST_SECONDS, Running, State, TimelineNote, YOU},
};

/// Returns what the person asks of the run.
pub(super) fn pressed(state: &mut State, action: Action) -> Option<UserRequest> {
    match action {
        Action::Freeze => state.running.iter_mut().for_each(Running::freeze),
        Action::Scroll(by) => state.running.iter_mut().for_each(|running| running.scroll(by.into())),
        Action::Panel(panel) => state.enlarged = Some(panel).filter(|_| state.enlarged != Some(panel)),
        Action::Percentile => state.next_percentile(),
        Action::Up | Action::Down => state.choose_stage(action == Action::Down),
        Action::Back => {
            state.enlarged = None;
            state.running.iter_mut().for_each(|running| running.until = None);
        }
        Action::Change(_) | Action::Arrivals if state.untouchable().is_some() => {
            state.said = state.untouchable().map(str::to_owned);
        }
        Action::Change(change) => change_is_wanted(state, change),
        Action::Arrivals => {
            let resting = state.running.as_ref().is_some_and(|running| running.resting);
            return Some(touch(state, if resting { Touch::Resume } else { Touch::Pause }));
        }
        Action::Stop if state.stopping => return Some(UserRequest::Abort),
        Action::Stop => {
            state.stopping = true;
            log(state, "stopping: what is open is awaited and saved; press again to end at once");
            return Some(UserRequest::Stop);
        }
        _ => {}
    }
    None
}

/// A key while a form is filled in.
pub(super) fn typed(state: &mut State, key: KeyEvent) -> Option<UserRequest> {
    let filled = state.form.as_mut()?.key(key)?;
    state.form = None;
    match filled {
        Filled::GivenUp | Filled::Fault(_) => None,
        // The arm may have ended while it was filled in.
        Filled::Asked(_) if state.untouchable().is_some() => {
            state.said = state.untouchable().map(str::to_owned);
            None
        }
        Filled::Asked(wanted) => Some(touch(state, wanted)),
    }
}

fn change_is_wanted(state: &mut State, change: Change) {
    let in_force = state.running.as_ref().map(Running::in_force).unwrap_or_default();
    let form = Form::of(change, in_force);
    if form.fields.first().is_some_and(|field| field.line.text.is_empty()) {
        // A parameter of a policy that has none.
        state.said = Some(form.help());
    } else {
        state.form = Some(form);
    }
}

fn touch(state: &mut State, touch: Touch) -> UserRequest {
    state.said = Some(format!("asked for: {}", touch.in_words()));
    UserRequest::Touch(touch)
}

/// The note on an event within an arm.
pub(super) fn note_of(event: &LiveEvent) -> Option<TimelineNote> {
    let note = |second: f64, who: &str, text: &str| TimelineNote {
        second: Some(second),
        who: scrubbed(who),
        text: scrubbed(text.trim_end()),
    };
    match event {
        LiveEvent::PhaseStarted { phase, second } => Some(note(f64::from(*second), "plan", phase)),
        LiveEvent::Policy { second, stage, text } => Some(note(*second, stage, text)),
        LiveEvent::Touched { second, touch } => Some(note(*second, YOU, &touch.in_words())),
        _ => None,
    }
}

pub(super) fn happened(state: &mut State, event: LiveEvent) {
    if let Some(note) = note_of(&event) {
        keep(&mut state.log, note, MOST_LINES);
    }
    match event {
        LiveEvent::RunStarted(shape) => state.shape = Some(shape),
        LiveEvent::Note { text } => {
            // A change that was asked for on this screen.
            if text.starts_with(NOT_DONE) {
                state.said = Some(scrubbed(&text));
            }
            log(state, &text);
        }
        LiveEvent::ArmStarted { arm, block, policy } => {
            state.begun += 1;
            log(state, &format!("arm {arm} begins"));
            state.running = Some(Running { name: arm, block, policy, ..Running::default() });
        }
        LiveEvent::LoadStarted { at } => log(state, &format!("its load begins at {at}")),
        LiveEvent::PhaseStarted { phase, second } => {
            if let Some(running) = &mut state.running {
                running.phase = phase;
                running.phase_began = second;
            }
        }
        LiveEvent::Second(second) => {
            let Some(running) = &mut state.running else { return };
            state.steps.clear();
            let tokens = running.tokens.back().cloned().unwrap_or_default().with(&second);
            keep(&mut running.tokens, tokens, MOST_SECONDS);
            keep(&mut running.seconds, *second, MOST_SECONDS);
            running.forget_agents();
        }
        LiveEvent::Computing { done_s, of_s } => state.computing = Some((done_s, of_s)),
        LiveEvent::Policy { .. } => {}
        LiveEvent::Touched { second, touch } => {
            state.said = None;
            if let Some(running) = &mut state.running {
                keep(&mut running.marks, second, MOST_MARKS);
                match touch {
                    Touch::Pause => running.resting = true,
                    Touch::Resume => running.resting = false,
                    Touch::Policy { name, settings, at } => {
                        running.policy = Some(PolicySpec::written(name, settings));
                        running.switched = Some(at);
                    }
                    Touch::Machines { .. }
                    | Touch::Spike { .. }
                    | Touch::Capacity { .. }
                    | Touch::Latency { .. }
                    | Touch::Impatience { .. } => {}
                }
            }
        }
        LiveEvent::ArmFinished(arm) => {
            let verdict = verdict_and_codes(arm.verdict, arm.reasons.iter().map(|reason| reason.code.as_str()));
            log(state, &format!("arm {} is over: {verdict}", arm.shown_name()));
            state.keep_curve();
            state.running = None;
            keep(&mut state.finished, *arm, MOST_ARMS);
        }
        LiveEvent::Stopping => {
            // A key has said so already; a signal has not.
            if !state.stopping {
                state.stopping = true;
                log(state, "stopping: what is open is awaited and saved");
            }
        }
        LiveEvent::RunFailed { why } => log(state, &format!("the run failed: {why}")),
        LiveEvent::RunFinished(_) => state.over = true,
    }
}

fn log(state: &mut State, line: &str) {
    let text = scrubbed(line.trim_end());
    if state.is_preparing() && state.steps.len() < MOST_LINES {
        state.steps.push((state.waiting_for.unwrap_or_default(), text.clone()));
    }
    keep(&mut state.log, TimelineNote { second: None, who: "lab".to_owned(), text }, MOST_LINES);
}

/// Adds the newest; the oldest goes where there are too many.
fn keep<T>(all: &mut VecDeque<T>, newest: T, most: usize) {
    all.push_back(newest);
    if all.len() > most {
        all.pop_front();
    }
}
