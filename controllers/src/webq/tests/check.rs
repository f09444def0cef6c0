//! Section II-C: turns are checked.

use proptest::prelude::*;

use crate::Timestamp;

use super::{
    super::{CheckCounts, CheckParams, CheckRefusal, PromisedTurn, TokenCheck},
    at,
};

const ALICE: &[u8] = b"alice";

fn turn(after: u64, id: u128) -> PromisedTurn<'static> {
    PromisedTurn { at: at(after), id, binding: ALICE, presented: ALICE }
}

fn check(skew_s: u32, single_use: Option<usize>) -> TokenCheck {
    TokenCheck::new(CheckParams { skew_s, single_use }).expect("good params")
}

/// A wall clock that is right.
fn come(check: &mut TokenCheck, now: u64, turn: &PromisedTurn<'_>) -> Result<(), CheckRefusal> {
    check.check(at(now), Timestamp::from_secs(now), turn)
}

#[test]
fn a_turn_is_its_second_and_the_stated_skew() {
    // Skew 2, promised second 10: from 8 to 12.
    let mut check = check(2, None);
    let decisions: Vec<_> = (6..=14).map(|now| come(&mut check, now, &turn(10, 1))).collect();
    let (early, late) = (|by_s| Err(CheckRefusal::Early { by_s }), |by_s| Err(CheckRefusal::Late { by_s }));
    assert_eq!(decisions, [early(2), early(1), Ok(()), Ok(()), Ok(()), Ok(()), Ok(()), late(1), late(2)]);
    assert_eq!(check.counts(), CheckCounts { admitted: 5, early: 2, late: 2, ..CheckCounts::default() });
    // As published: exactly its second.
    let mut exact = TokenCheck::new(CheckParams { skew_s: 0, single_use: None }).expect("good params");
    assert_eq!([9, 10, 11].map(|now| come(&mut exact, now, &turn(10, 1))), [early(1), Ok(()), late(1)]);
}

#[test]
fn a_token_of_somebody_else_is_refused_and_not_used_up() {
    let mut check = check(2, Some(10));
    let stolen = PromisedTurn { presented: b"mallory", ..turn(10, 1) };
    assert_eq!(come(&mut check, 10, &stolen), Err(CheckRefusal::WrongBinding));
    assert_eq!(come(&mut check, 10, &turn(10, 1)), Ok(()), "its owner may still come");
    assert_eq!((check.counts().wrong_binding, check.remembered()), (1, 1));
}

#[test]
fn a_token_is_admitted_once_and_never_again() {
    let mut check = check(2, Some(10));
    assert_eq!(come(&mut check, 8, &turn(10, 1)), Ok(()));
    for now in 8..=12 {
        assert_eq!(come(&mut check, now, &turn(10, 1)), Err(CheckRefusal::Replayed));
    }
    // Another token of the same second; the same number in another second is another token.
    assert_eq!(come(&mut check, 12, &turn(10, 2)), Ok(()));
    assert_eq!(come(&mut check, 12, &turn(14, 1)), Ok(()));
    // Too late is too late, whether it was used or not.
    assert_eq!(come(&mut check, 13, &turn(10, 1)), Err(CheckRefusal::Late { by_s: 1 }));
    assert_eq!(check.counts().replayed, 5);
}

#[test]
fn a_full_memory_lets_nobody_in_and_is_free_again_when_its_window_is_over() {
    let mut check = check(0, Some(2));
    assert_eq!([1, 2, 3].map(|id| come(&mut check, 10, &turn(10, id))), [Ok(()), Ok(()), Err(CheckRefusal::Wait)]);
    assert_eq!(come(&mut check, 10, &turn(10, 2)), Err(CheckRefusal::Replayed), "known all the same");
    assert_eq!((check.remembered(), check.counts().wait), (2, 1));
    assert_eq!(come(&mut check, 11, &turn(11, 3)), Ok(()));
    assert_eq!(check.remembered(), 1);
}

#[test]
fn a_clock_that_goes_back_does_not_bring_used_tokens_back() {
    let mut check = check(2, Some(10));
    assert_eq!(come(&mut check, 5010, &turn(5010, 1)), Ok(()));
    assert_eq!(come(&mut check, 5100, &turn(5100, 2)), Ok(()));
    assert_eq!(check.remembered(), 1, "the first one's window is over");
    // The wall clock steps back by an hour, and the first token's second comes again: first now, then an hour later.
    let mut stepped = |steady, now, turn| check.check(at(now), Timestamp::from_secs(steady), &turn);
    assert_eq!(stepped(5101, 1501, turn(5010, 1)), Err(CheckRefusal::Early { by_s: 3507 }));
    assert_eq!(stepped(8610, 5010, turn(5010, 1)), Err(CheckRefusal::Forgotten));
    assert_eq!(stepped(8700, 5100, turn(5100, 2)), Err(CheckRefusal::Replayed));
    assert_eq!((check.counts().forgotten, check.counts().replayed), (1, 1));
}

#[test]
fn a_clock_that_is_ahead_for_a_moment_forgets_nothing() {
    let mut check = check(2, Some(10));
    assert_eq!(come(&mut check, 10, &turn(10, 1)), Ok(()));
    assert_eq!(check.check(at(3611), Timestamp::from_secs(11), &turn(3611, 2)), Ok(()));
    assert_eq!(come(&mut check, 12, &turn(10, 1)), Err(CheckRefusal::Replayed));
    assert_eq!(come(&mut check, 12, &turn(12, 3)), Ok(()), "and the others are let in");
}

/// Clocks that are wrong by an hour: whoever asks is early or late, and once they are right again nothing is lost and nothing is won.
#[test]
fn an_hour_ahead_everybody_is_late_and_an_hour_behind_everybody_is_early() {
    let (mut check, hour) = (check(5, Some(100)), 3600);
    let mut at_wall = |steady, wall, id| check.check(at(wall), Timestamp::from_secs(steady), &turn(7200, id));
    assert_eq!(at_wall(7200, 7200, 1), Ok(()));
    assert_eq!(at_wall(7200, 7200 + hour, 2), Err(CheckRefusal::Late { by_s: hour - 5 }));
    assert_eq!(at_wall(7200, 7200 - hour, 2), Err(CheckRefusal::Early { by_s: hour - 5 }));
    // Right again within the window.
    assert_eq!([at_wall(7205, 7205, 1), at_wall(7205, 7205, 2)], [Err(CheckRefusal::Replayed), Ok(())]);
    assert_eq!(at_wall(7206, 7206, 3), Err(CheckRefusal::Late { by_s: 1 }));
}

#[test]
fn a_million_identities_are_held_in_the_memory_of_the_bound() {
    let mut check = check(5, Some(65_536));
    let mut now = 0;
    for id in 0..1_000_000_u128 {
        now += u64::from(id % 5000 == 0);
        let _ = come(&mut check, now, &turn(now, id));
        assert!(check.remembered() <= 65_536);
    }
    let counts = check.counts();
    assert_eq!(counts.admitted + counts.wait, 1_000_000);
    assert!(counts.admitted > 300_000 && counts.wait > 0, "{counts:?}");
}

proptest! {
    /// Against a set without an end: nobody is admitted twice, and nobody is refused who is in time and new, but for want of
    /// room.
    #[test]
    fn single_use_is_exact(
        skew in 0..6_u32, most in 1..40_usize,
        tries in prop::collection::vec((0..3_u64, 0..20_u64, 0..5_u128), 1..300),
    ) {
        let mut check = check(skew, Some(most));
        let (mut now, mut used) = (20, std::collections::BTreeSet::new());
        for (pass, promised, id) in tries {
            now += pass;
            let promised = (now + promised).saturating_sub(10);
            let in_time = now.abs_diff(promised) <= u64::from(skew);
            let decision = come(&mut check, now, &turn(promised, id));
            let known = used.contains(&(promised, id));
            match decision {
                Ok(()) => prop_assert!(in_time && used.insert((promised, id))),
                Err(CheckRefusal::Replayed) => prop_assert!(in_time && known),
                Err(CheckRefusal::Wait) => prop_assert!(in_time && !known && check.remembered() == most),
                Err(CheckRefusal::Early { by_s }) => prop_assert_eq!(by_s, promised - now - u64::from(skew)),
                Err(CheckRefusal::Late { by_s }) => prop_assert_eq!(by_s, now - promised - u64::from(skew)),
                Err(other) => prop_assert!(false, "{other}"),
            }
            prop_assert!(check.remembered() <= most);
        }
    }
    /// Whatever the wall clock does: no token is admitted twice.
    #[test]
    fn no_step_of_the_clock_brings_a_used_token_back(
        skew in 0..6_u32,
        steps in prop::collection::vec((0..8_u64, prop_oneof![3 => Just(0_i64), 1 => -3600..3600_i64], 0..4_u64, 0..3_u128), 1..200),
    ) {
        let mut check = check(skew, Some(1000));
        let (mut steady, mut wall, mut used) = (0, 100_000_i64, std::collections::BTreeSet::new());
        for (pass, step, promised, id) in steps {
            steady += pass;
            wall = (wall + pass as i64 + step).max(10_000);
            let promised = wall as u64 + promised - 2;
            if check.check(at(wall as u64), Timestamp::from_secs(steady), &turn(promised, id)).is_ok() {
                prop_assert!(used.insert((promised, id)), "{promised} {id} twice");
            }
        }
    }
}
