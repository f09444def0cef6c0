//! The door: who passes, and what the others are told.

use crate::{Timestamp, UnixSeconds};

use super::{
    super::{
        BookingParams, CheckParams, CheckRefusal, Comer, PromisedTurn, RoomAnswer, RoomParams, ShownToken, Subunits,
        TokenFault, TokenGenParams, TokenRefusal, VisitClaim, WaitingRoom,
    },
    at,
};

const ALICE: &[u8] = b"alice";

/// A room of two requests a second, with a window of a second more at either end.
fn room(stay_s: u32, horizon_s: u32) -> WaitingRoom {
    let booking = BookingParams { horizon_s, ..BookingParams::alone() };
    let params = RoomParams {
        tokens: TokenGenParams { booking, ..TokenGenParams::alone() },
        check: CheckParams { skew_s: 1, single_use: Some(100) },
        stay_s,
        source_share: None,
    };
    let mut room = WaitingRoom::new(&params).expect("good params");
    room.give(at(0), Some(Subunits::whole(2)), vec![]);
    room
}

fn come(room: &mut WaitingRoom, now: u64, token: &ShownToken<'_>) -> RoomAnswer {
    room.present(at(now), Timestamp::from_secs(now), Comer { kind: 0, source: 0 }, token)
}

fn turn(promised: UnixSeconds, id: u128) -> ShownToken<'static> {
    ShownToken::Turn(PromisedTurn { at: promised, id, binding: ALICE, presented: ALICE })
}

/// The wait that a request without a token is told; `None`: it passes.
fn asks(room: &mut WaitingRoom, now: u64) -> Option<u32> {
    match come(room, now, &ShownToken::Absent) {
        RoomAnswer::Pass { visit: None } => None,
        RoomAnswer::Wait { at: second, wait_s, keeps_token: false, why: None } => {
            assert_eq!(second, at(now + u64::from(wait_s)));
            Some(wait_s)
        }
        other => panic!("{other:?}"),
    }
}

const IN: RoomAnswer = RoomAnswer::Pass { visit: None };

#[test]
fn who_has_no_turn_gets_one_and_passes_in_it() {
    let mut room = room(0, 1000);
    assert_eq!([(); 5].map(|()| asks(&mut room, 0)), [None, None, Some(1), Some(1), Some(2)]);
    // Early by two seconds less one of skew: the place is kept, and nothing new is booked.
    let early = TokenRefusal::Check(CheckRefusal::Early { by_s: 2 });
    let kept = RoomAnswer::Wait { at: at(2), wait_s: 2, keeps_token: true, why: Some(early) };
    assert_eq!([(); 3].map(|()| come(&mut room, 0, &turn(at(2), 5))), [kept; 3]);
    assert_eq!(asks(&mut room, 0), Some(2));
    let figures = room.figures(at(0));
    assert_eq!((figures.queued, figures.longest_wait_s, figures.next_wait_s), (Subunits::whole(4), 2, Some(3)));
    assert_eq!(come(&mut room, 2, &turn(at(2), 5)), IN);
    let counts = room.counts();
    assert_eq!((counts.passed, counts.promised, counts.early), (3, 4, 3));
    assert_eq!(room.figures(at(2)).queued, Subunits::ZERO);
}

#[test]
fn a_token_that_is_refused_costs_the_place_and_says_why() {
    let mut room = room(0, 1000);
    for _ in 0..4 {
        asks(&mut room, 0);
    }
    let stolen = ShownToken::Turn(PromisedTurn { at: at(0), id: 1, binding: ALICE, presented: b"mallory" });
    let forged = ShownToken::Unverified(TokenFault::Forged);
    let mut refused = |now: u64, token: &ShownToken<'_>| match come(&mut room, now, token) {
        RoomAnswer::Wait { keeps_token: false, wait_s, why: Some(why), .. } => (wait_s, why.name()),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(0, &stolen), (2, "other-binding"));
    assert_eq!(refused(0, &forged), (2, "forged"));
    assert_eq!(refused(0, &ShownToken::Unverified(TokenFault::UnknownKey)), (3, "unknown-key"));
    assert_eq!(come(&mut room, 1, &turn(at(1), 7)), IN);
    let mut refused = |now: u64, token: &ShownToken<'_>| match come(&mut room, now, token) {
        RoomAnswer::Wait { keeps_token: false, wait_s, why: Some(why), .. } => (wait_s, why.name()),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(1, &turn(at(1), 7)), (2, "replayed"));
    // Booked at 0: two in seconds 1 and 2, one and one in 3. A late one at 3 gets the first free second.
    assert_eq!(refused(3, &turn(at(1), 9)), (1, "late"));
    let counts = room.counts();
    assert_eq!((counts.other_binding, counts.forged, counts.unknown_key), (1, 1, 1));
    assert_eq!((counts.replayed, counts.late, counts.promised), (1, 1, 7));
}

#[test]
fn nobody_else_is_told_when_a_turn_is() {
    let mut room = room(0, 1000);
    for _ in 0..2 {
        asks(&mut room, 0);
    }
    let stolen = ShownToken::Turn(PromisedTurn { at: at(500), id: 1, binding: ALICE, presented: b"mallory" });
    let answer = come(&mut room, 0, &stolen);
    assert!(matches!(answer, RoomAnswer::Wait { wait_s: 1, keeps_token: false, .. }), "{answer:?}");
}

#[test]
fn a_full_queue_says_how_long_it_is() {
    let mut room = room(0, 3);
    assert_eq!([(); 6].map(|()| asks(&mut room, 0)), [None, None, Some(1), Some(1), Some(2), Some(2)]);
    let RoomAnswer::Full { full, why: None } = come(&mut room, 0, &ShownToken::Absent) else { panic!("room for more") };
    assert_eq!((full.longest_wait_s, room.counts().full), (2, 1));
    assert_eq!([0, 1, 2, u64::MAX].map(|drawn| full.come_back_s(drawn)), [1, 2, 1, 2]);
}

#[test]
fn who_is_inside_stays_and_takes_room_of_those_who_ask() {
    let mut room = room(10, 1000);
    let visit = |until| ShownToken::Visit(VisitClaim { until: at(until), binding: ALICE, presented: ALICE });
    assert_eq!(come(&mut room, 0, &ShownToken::Absent), RoomAnswer::Pass { visit: Some(at(10)) });
    // A page of six requests: with the first, seven of two a second are there.
    for _ in 0..6 {
        assert_eq!(come(&mut room, 1, &visit(10)), IN);
    }
    // Second 1 has six, second 2 and 3 two each of what is left over; the first open one is 4.
    let asked = come(&mut room, 1, &ShownToken::Absent);
    assert!(matches!(asked, RoomAnswer::Wait { wait_s: 3, .. }), "{asked:?}");
    // Half of it is over: the visit goes on.
    assert_eq!(come(&mut room, 5, &visit(10)), IN);
    assert_eq!(come(&mut room, 6, &visit(10)), RoomAnswer::Pass { visit: Some(at(16)) });
    // It is over: like anybody else.
    let late = come(&mut room, 11, &visit(10));
    assert_eq!((late, room.counts().late), (RoomAnswer::Pass { visit: Some(at(21)) }, 1));
    let other = ShownToken::Visit(VisitClaim { until: at(30), binding: ALICE, presented: b"mallory" });
    come(&mut room, 12, &other);
    assert_eq!((room.counts().other_binding, room.counts().inside), (1, 8));
}

#[test]
fn without_a_capacity_everybody_passes() {
    let params =
        RoomParams { tokens: TokenGenParams::alone(), check: CheckParams::default(), stay_s: 0, source_share: None };
    let mut room = WaitingRoom::new(&params).expect("good params");
    assert!((0..1000).all(|_| come(&mut room, 0, &ShownToken::Absent) == IN));
}

/// By hand: a tenth of two requests a second for 100 s is twenty.
#[test]
fn a_source_that_has_its_share_is_turned_away_and_others_wait_no_longer_for_it() {
    let booking = BookingParams { horizon_s: 100, ..BookingParams::alone() };
    let params = RoomParams {
        tokens: TokenGenParams { booking, ..TokenGenParams::alone() },
        check: CheckParams { skew_s: 1, single_use: Some(100) },
        stay_s: 0,
        source_share: Some(0.1),
    };
    let mut room = WaitingRoom::new(&params).expect("good params");
    room.give(at(0), Some(Subunits::whole(2)), vec![]);
    let come = |room: &mut WaitingRoom, now: u64, source| {
        room.present(at(now), Timestamp::from_secs(now), Comer { kind: 0, source }, &ShownToken::Absent)
    };
    let greedy: Vec<_> = (0..100).map(|_| come(&mut room, 0, 7)).collect();
    let has = |wanted: fn(&RoomAnswer) -> bool| greedy.iter().filter(|answer| wanted(answer)).count();
    assert_eq!(has(|answer| matches!(answer, RoomAnswer::Pass { .. })), 2);
    assert_eq!(has(|answer| matches!(answer, RoomAnswer::Wait { .. })), 20);
    assert_eq!(has(|answer| matches!(answer, RoomAnswer::Full { full, .. } if full.longest_wait_s == 10)), 78);
    assert!(matches!(come(&mut room, 0, 8), RoomAnswer::Wait { wait_s: 11, .. }));
    assert_eq!((room.counts().over_share, room.counts().full), (78, 0));
    let wrong = RoomParams { source_share: Some(0.0), ..params };
    assert!(WaitingRoom::new(&wrong).is_err());
}
