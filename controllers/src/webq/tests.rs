//! The laws against numbers worked by hand, and their invariants.

mod bad_params;
mod booking;
mod check;
mod cluster;
mod estimation;
mod longest_wait;
mod model;
mod replicas;
mod sum_bound;
mod synthetic;
mod token_gen;
mod waiting_room;

use crate::UnixSeconds;

use super::{Booked, Booking, BookingParams, Subunits};

/// A second that tests begin with.
const START: u64 = 1_000_000;

const ONE: Subunits = Subunits::whole(1);

/// `after` seconds into the test.
fn at(after: u64) -> UnixSeconds {
    UnixSeconds(START + after)
}

/// A single replica with a capacity in whole subunits a second.
fn booking(horizon_s: u32, capacity: u64) -> Booking {
    let mut booking = Booking::new(&BookingParams { horizon_s, ..BookingParams::alone() }).expect("good params");
    booking.set_capacity(at(0), Some(Subunits::whole(capacity)));
    booking
}

/// The waits of `n` requests of this hardness.
fn waits(booking: &mut Booking, after: u64, n: usize, hardness: Subunits) -> Vec<u32> {
    (0..n).map(|_| booking.book(at(after), hardness).map_or(u32::MAX, |Booked { wait_s, .. }| wait_s)).collect()
}

fn whole(booked: &[u64]) -> Vec<Subunits> {
    booked.iter().map(|n| Subunits::whole(*n)).collect()
}
