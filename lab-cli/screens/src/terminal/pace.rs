//! The pace of drawing.

use std::time::Duration;

use crate::panel::Screen;

/// The time between frames of a run, also while a key is held down: the view runs on the generator's core.
const RUN_FRAME: Duration = Duration::from_millis(200);
/// The time between frames where nothing is measured: that of repeated keys.
const FRAME: Duration = Duration::from_millis(33);
/// The time between looks for news.
const TICK: Duration = Duration::from_millis(100);

/// The time until the next frame of this screen is due, so long after the last one; `None`: there was none.
pub(super) fn until_due(since_drawn: Option<Duration>, screen: Screen) -> Duration {
    let frame = if matches!(screen, Screen::Live | Screen::Load) { RUN_FRAME } else { FRAME };
    since_drawn.map_or(Duration::ZERO, |since| frame.saturating_sub(since))
}

/// The longest wait for a key before news are looked for, or the frame that is wanted is drawn.
pub(super) fn wait(wanted: bool, since_drawn: Option<Duration>, screen: Screen) -> Duration {
    if wanted { TICK.min(until_due(since_drawn, screen)) } else { TICK }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Frames that are drawn, each with the keys that it is the first to show, when a key comes every so often: the loop of
    /// [`super::super::run`] with no time but that of its waits.
    fn frames(screen: Screen, keys: u32, every: Duration) -> Vec<u32> {
        let (mut now, mut drawn) = (Duration::ZERO, None::<Duration>);
        let (mut pressed, mut shown, mut frames) = (0, 0, Vec::new());
        while shown < keys {
            let since = |drawn: Option<Duration>| drawn.map(|at| now - at);
            let until = now + wait(pressed > shown, since(drawn), screen);
            let next_key = every * (pressed + 1);
            if pressed < keys && next_key <= until {
                now = next_key;
                pressed += 1;
            } else {
                now = until;
            }
            if pressed > shown && until_due(drawn.map(|at| now - at), screen).is_zero() {
                frames.push(pressed - shown);
                (drawn, shown) = (Some(now), pressed);
            }
        }
        frames
    }

    #[test]
    fn every_key_on_a_list_has_a_frame_of_its_own_as_fast_as_keys_are_repeated() {
        for screen in [Screen::Home, Screen::Setup, Screen::Past, Screen::Compare, Screen::Trace] {
            for every in [33 * MS, 50 * MS, 300 * MS] {
                assert_eq!(frames(screen, 20, every), [1; 20], "{screen:?}, a key every {every:?}");
            }
            // Faster ones share frames, and none is lost.
            let fast = frames(screen, 60, 11 * MS);
            assert!(fast.len() > 15 && fast.iter().sum::<u32>() == 60, "{fast:?}");
        }
    }

    #[test]
    fn a_run_is_drawn_five_times_a_second_however_fast_keys_come() {
        let frames = frames(Screen::Live, 60, 33 * MS);
        assert_eq!(frames.iter().sum::<u32>(), 60);
        assert!((9..=11).contains(&frames.len()), "in two seconds: {frames:?}");
    }
}
