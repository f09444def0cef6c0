//! Identities of events in the digest of a run.

use controllers::random::mix;

use super::{ConnId, Response, SimRequest};

/// The identity of an event, which distinguishes it from others at the same time: its kind and the ids in it. It
/// contains no memory addresses and no randomly seeded hash, so that it is the same in every run and on every machine.
pub trait Identity {
    /// A number that differs, except by chance, where the events differ.
    fn identity(&self) -> u64;
}

/// The identity of an event of this kind with these ids, whose order matters.
#[must_use]
pub fn identity_of(kind: u64, ids: &[u64]) -> u64 {
    // The increment of splitmix64: `mix` alone keeps zero.
    ids.iter().fold(mix(kind.wrapping_add(0x9E37_79B9_7F4A_7C15)), |so_far, id| mix(so_far.rotate_left(1) ^ mix(*id)))
}

/// For a world that schedules no events, or only one kind.
impl Identity for () {
    fn identity(&self) -> u64 {
        0
    }
}

impl Identity for ConnId {
    fn identity(&self) -> u64 {
        u64::from(self.place) << 32 | u64::from(self.generation)
    }
}

/// Its connection and its key: everything else follows from them.
impl Identity for SimRequest {
    fn identity(&self) -> u64 {
        identity_of(0, &[self.conn.identity(), self.key])
    }
}

/// The parts of an answer that a client sees first.
impl Identity for Response {
    fn identity(&self) -> u64 {
        u64::from(self.status) << 1 | u64::from(self.close)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn kinds_ids_and_their_order_tell_events_apart() {
        let mut seen = BTreeSet::new();
        for kind in 0..20 {
            assert!(seen.insert(identity_of(kind, &[])), "kind {kind}");
            for one in 0..20 {
                assert!(seen.insert(identity_of(kind, &[one])), "kind {kind}, {one}");
                for other in 0..20 {
                    assert!(seen.insert(identity_of(kind, &[one, other])), "kind {kind}, {one} and {other}");
                }
            }
        }
    }

    #[test]
    fn a_place_that_is_used_again_is_another_connection() {
        let id = |place, generation| ConnId { place, generation }.identity();
        let ids: BTreeSet<u64> = [id(0, 1), id(1, 0), id(1, 1), id(1 << 31, 1), id(1, 1 << 31)].into();
        assert_eq!(ids.len(), 5);
    }
}
