//! Figure 12: the waits of a burst, by the paper's load of section VI-D.

use super::{
    super::{Booking, BookingParams, Subunits},
    ONE, at, booking, waits,
};

/// 2400 requests a second for 10 s, then 10 a second for 40 s.
fn load(second: u64) -> usize {
    if second % 50 < 10 { 2400 } else { 10 }
}

#[test]
fn the_longest_wait_is_what_is_left_over_by_the_capacity() {
    // In 10 s 24 000 requests come and 7200 are served: 16 800 are left, 10·(2400 − 720)/720 = 23.3 s of the capacity. The
    // last of them comes at second 9 of the burst, and is number 24 000: it is served in second 23 999 div 720 = 33.
    let mut queue = booking(1000, 720);
    let mut longest = Vec::new();
    for second in 0..50 {
        longest.push(waits(&mut queue, second, load(second), ONE).into_iter().max().expect("requests"));
        assert_eq!(queue.longest_wait_s(at(second)).max(longest[second as usize]), queue.longest_wait_s(at(second)));
    }
    assert_eq!(longest.iter().max(), Some(&24));
    // (2400·n − 1) div 720 − (n − 1) at the end of second n: 3 − 0, 6 − 1, …
    let by_hand: Vec<u32> = (1..=10).map(|n| (2400 * n - 1) / 720 - (n - 1)).collect();
    assert_eq!(longest[..10], by_hand);
    // Waits fall by a second for each second, and by 40 s all is as before.
    assert_eq!((longest[15], longest[49]), (18, 0));
}

#[test]
fn cycles_do_not_add_up_since_the_mean_load_is_below_the_capacity() {
    // 24 400 requests in 50 s: 488/s of 720/s.
    let mut queue = Booking::new(&BookingParams::alone()).expect("good params");
    queue.set_capacity(at(0), Some(Subunits::whole(720)));
    let longest = |queue: &mut Booking, cycle: u64| {
        let of = |second: u64| waits(queue, second, load(second), ONE).into_iter().max().expect("requests");
        (cycle * 50..(cycle + 1) * 50).map(of).max()
    };
    assert_eq!((0..4).map(|cycle| longest(&mut queue, cycle)).collect::<Vec<_>>(), [Some(24); 4]);
}
