//! Identities of events in the digest of a run.

use controllers::random::mix;

use super::{ConnId, Response, SimRequest};

/// What tells an event from others that might have come at the same time: its kind and the ids in it. No addresses in memory
/// and no hash with a seed of its own, so that it is the same in every run and on every machine.
pub trait Identity {
    /// A number that differs, but for chance, where the events do.
    fn identity(&self) -> u64;
}

/// The identity of an event of this kind with these ids, their order counting.
#[must_use]
pub fn identity_of(kind: u64, ids: &[u64]) -> u64 {
    // The increment of splitmix64: `mix` alone keeps zero.
    ids.iter().fold(mix(kind.wrapping_add(0x9E37_79B9_7F4A_7C15)), |so_far, id| mix(so_far.rotate_left(1) ^ mix(*id)))
}

/// A world that plans nothing, or only ever one thing.
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

/// Its connection and its key: what is wanted follows from them.
impl Identity for SimRequest {
    fn identity(&self) -> u64 {
        identity_of(0, &[self.conn.identity(), self.key])
    }
}

/// What a client sees of it before it reads on.
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
