//! Section III-A by hand.

use crate::UnixSeconds;

use super::{
    super::{Booking, BookingParams, Full, Subunits},
    ONE, at, booking, waits, whole,
};

#[test]
fn the_earliest_second_with_room_is_booked() {
    // C = 3: three a second.
    let mut queue = booking(1000, 3);
    assert_eq!(waits(&mut queue, 0, 7, ONE), [0, 0, 0, 1, 1, 1, 2]);
    assert_eq!(
        (queue.booked(), queue.longest_wait_s(at(0)), queue.next_wait_s(at(0))),
        (whole(&[3, 3, 1]), 2, Some(2))
    );
    // A second later N is shifted: [3, 1].
    assert_eq!(waits(&mut queue, 1, 3, ONE), [1, 1, 2]);
    assert_eq!(queue.booked(), whole(&[3, 3, 1]));
    // Two seconds later again: N = [1].
    assert_eq!(waits(&mut queue, 3, 3, ONE), [0, 0, 1]);
    assert_eq!(queue.counts().booked, 13);
}

#[test]
fn without_a_capacity_nothing_waits() {
    let mut queue = Booking::new(&BookingParams::alone()).expect("good params");
    assert_eq!((queue.capacity(), queue.share()), (None, None));
    assert!(waits(&mut queue, 0, 10_000, ONE).into_iter().all(|wait| wait == 0));
    // What came unshaped in this second is counted: 10 000 of 1000 a second, new requests start after ten seconds.
    queue.set_capacity(at(0), Some(Subunits::whole(1000)));
    assert_eq!(waits(&mut queue, 0, 1, ONE), [10]);
}

#[test]
fn beyond_the_horizon_the_queue_is_full_and_says_how_long_it_is() {
    // Three seconds of 2.
    let mut queue = booking(3, 2);
    assert_eq!(waits(&mut queue, 0, 6, ONE), [0, 0, 1, 1, 2, 2]);
    assert_eq!(queue.book(at(0), ONE), Err(Full { longest_wait_s: 2 }));
    assert_eq!((queue.next_wait_s(at(0)), queue.counts().full), (None, 1));
    // A second later the third second from then is free.
    assert_eq!(waits(&mut queue, 1, 2, ONE), [2, 2]);
    assert_eq!(queue.book(at(1), ONE), Err(Full { longest_wait_s: 2 }));
    // With no capacity at all nothing can be promised.
    let mut closed = booking(3, 0);
    assert_eq!(closed.book(at(0), ONE), Err(Full { longest_wait_s: 0 }));
}

#[test]
fn fractional_hardness_is_kept() {
    // Four of 2.5 are 10. The released code books 2 for each, and lets five into the second.
    let mut queue = booking(1000, 10);
    assert_eq!(waits(&mut queue, 0, 9, Subunits::of(2.5)), [0, 0, 0, 0, 1, 1, 1, 1, 2]);
}

#[test]
fn work_that_does_not_fit_is_counted_against_the_next_seconds() {
    // C = 100, hardness 70. Second 0 takes two (0 and 70 are below 100): 140, 40 over. Second 1 begins with 40: one (40 < 100)
    // makes 110, 10 over. Second 2 begins with 10: 10, 80 → 150, 50 over. Second 3: 50 → 120, 20 over. Second 4: 20, 90 →
    // 160, 60 over. Second 5: 60 → 130, 30 over. Second 6: 30, 100 is not below 100: one, nothing over. Then all again:
    // 10 requests of 70 in 7 seconds of 100. The paper's rule books 14.
    let mut queue = booking(1000, 100);
    assert_eq!(waits(&mut queue, 0, 12, Subunits::whole(70)), [0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 7, 7]);
    assert_eq!(queue.booked(), whole(&[140, 70, 140, 70, 140, 70, 70, 140]));
    // Harder than a second: 250 of 100 takes two and a half.
    let mut queue = booking(1000, 100);
    assert_eq!(waits(&mut queue, 0, 3, Subunits::whole(250)), [0, 2, 5]);
}

#[test]
fn a_capacity_that_rises_is_used_at_once() {
    // C = 2, booked for T = 3 seconds; then C′ = 3: N[0] = 2 < 3, the wait is 0 again.
    let mut queue = booking(1000, 2);
    waits(&mut queue, 0, 6, ONE);
    queue.set_capacity(at(0), Some(Subunits::whole(3)));
    assert_eq!(waits(&mut queue, 0, 4, ONE), [0, 1, 2, 3]);
    assert_eq!(queue.booked(), whole(&[3, 3, 3, 1]));
}

#[test]
fn a_capacity_that_falls_honours_promises_and_starts_new_ones_after_ct_by_c() {
    // C = 100 booked for T = 6 seconds; then C′ = 40: T′ = 100·6/40 = 15. Nothing is booked between 6 and 15.
    let mut queue = booking(1000, 100);
    assert_eq!(waits(&mut queue, 0, 600, ONE)[599], 5);
    queue.set_capacity(at(0), Some(Subunits::whole(40)));
    let after = waits(&mut queue, 0, 80, ONE);
    assert_eq!((after[0], after[39], after[40], after[79]), (15, 15, 16, 16));
    let booked = queue.booked();
    assert_eq!((&booked[..6], &booked[6..15]), (&whole(&[100; 6])[..], &[Subunits::ZERO; 9][..]));
    // The server is as far behind seconds later: after four, 11 are left of the 15, and 2 + 1 of these are 16 and 17.
    assert_eq!(waits(&mut queue, 4, 1, ONE), [13]);
}

#[test]
fn a_backlog_that_does_not_divide_is_exact() {
    // C = 10 for T = 5, C′ = 4: T′ = 12.5. The second 12 has room for half its capacity, 2.
    let mut queue = booking(1000, 10);
    waits(&mut queue, 0, 50, ONE);
    queue.set_capacity(at(0), Some(Subunits::whole(4)));
    assert_eq!(waits(&mut queue, 0, 7, ONE), [12, 12, 13, 13, 13, 13, 14]);
}

#[test]
fn a_gap_frees_what_has_passed_and_works_off_what_was_left_over() {
    // 250 in one second of 100: the server is busy for 2.5 seconds.
    let mut queue = booking(10, 100);
    waits(&mut queue, 0, 1, Subunits::whole(250));
    assert_eq!(queue.next_wait_s(at(2)), Some(0), "50 of second 2 are left");
    assert_eq!(waits(&mut queue, 2, 2, Subunits::whole(50)), [0, 1]);
    assert_eq!((queue.next_wait_s(at(100_000)), queue.booked()), (Some(0), vec![]));
}

#[test]
fn a_clock_that_swings_frees_nothing_and_one_that_steps_back_keeps_the_order() {
    let mut queue = booking(1000, 1);
    assert_eq!(waits(&mut queue, 10, 3, ONE), [0, 1, 2]);
    for _ in 0..100 {
        queue.next_wait_s(at(9));
        queue.next_wait_s(at(10));
    }
    // Three seconds back: the next free second is 13 still, 6 seconds from 7.
    assert_eq!(queue.book(at(7), ONE).expect("room"), super::super::Booked { at: at(13), wait_s: 6 });
    assert_eq!(queue.counts().clock_went_back, 101);
    // An hour back: promised turns are as far away as they were, and the new one is the fifth.
    let hour_ago = UnixSeconds(at(10).0 - 3600);
    assert_eq!(queue.book(hour_ago, ONE).expect("room").wait_s, 4);
    assert_eq!((queue.booked(), queue.longest_wait_s(hour_ago)), (whole(&[1; 5]), 4));
    // And from there on time moves as ever.
    assert_eq!(queue.book(UnixSeconds(hour_ago.0 + 3), ONE).expect("room").wait_s, 2);
}
