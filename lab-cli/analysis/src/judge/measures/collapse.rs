//! Did goodput collapse? Under overload a service without control goes on working, and answers nobody in time (congestion collapse;
//! Nagle, RFC 896, 1984). The numbers are ours.

use crate::{live::TimelineSecond, summary::Collapse};

/// Seconds over which goodput is looked at: of one second alone it is a matter of chance.
const WINDOW: usize = 5;
/// Share of the highest goodput under which it has collapsed.
const COLLAPSED: f64 = 0.1;
/// It has to stay there for so many seconds, until the phase ends.
const LEAST_S: usize = 10;

/// The collapse in this phase; `seconds` are all of the arm.
pub(super) fn of(seconds: &[TimelineSecond], phase: &str) -> Option<Collapse> {
    let own: Vec<&TimelineSecond> = seconds.iter().filter(|second| second.phase == phase).collect();
    let last = own.last()?.second;
    let until: Vec<&TimelineSecond> = seconds.iter().filter(|second| second.second <= last).collect();
    let peak = until.windows(WINDOW).map(mean).fold(0.0, f64::max);
    let fallen = own.windows(WINDOW).rev().take_while(|window| mean(window) < COLLAPSED * peak).count();
    let windows = (own.len() + 1).checked_sub(WINDOW)?;
    let after = windows - fallen;
    if fallen == 0 || own.len() - after < LEAST_S {
        return None;
    }
    Some(Collapse { after_s: after as f64, goodput_per_s: mean(&own[after..]), peak_per_s: peak })
}

fn mean(seconds: &[&TimelineSecond]) -> f64 {
    seconds.iter().map(|second| second.goodput).sum::<u64>() as f64 / seconds.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many in time, second by second, of which the first ten are before.
    fn found(goodput: impl Fn(u32) -> u64, length: u32) -> Option<Collapse> {
        let second = |second: u32| TimelineSecond {
            second,
            phase: if second < 10 { "before" } else { "spike" }.to_owned(),
            goodput: goodput(second),
            ..TimelineSecond::default()
        };
        of(&(0..10 + length).map(second).collect::<Vec<_>>(), "spike")
    }

    #[test]
    fn what_falls_and_stays_down_has_collapsed_from_then_on() {
        let fell = found(|second| if second < 14 { 50 } else { 2 }, 30).expect("it collapsed");
        assert_eq!(fell, Collapse { after_s: 4.0, goodput_per_s: 2.0, peak_per_s: 50.0 });
        assert_eq!(found(|second| if second < 10 { 50 } else { 0 }, 30).map(|fell| fell.after_s), Some(0.0));
    }

    #[test]
    fn what_comes_back_or_is_only_less_has_not() {
        assert_eq!(found(|second| if (14..30).contains(&second) { 0 } else { 50 }, 30), None, "it came back");
        assert_eq!(found(|second| if second < 14 { 50 } else { 6 }, 30), None, "12 % are left");
        assert_eq!(found(|second| if second < 14 { 50 } else { 0 }, 13), None, "nine seconds are no collapse");
        assert_eq!(found(|_| 0, 30), None, "it never had any");
        assert_eq!(found(|_| 50, 3), None);
    }
}
