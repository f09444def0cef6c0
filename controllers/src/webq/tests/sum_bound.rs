//! The bound on what all replicas together book for one second (see the module `replicas`).

use proptest::prelude::*;

use super::{
    super::{ExcessRule, Subunits},
    cluster::Cluster,
};

/// Loads of a second by replica, in requests, and hardness in tenths.
fn seconds(n: usize) -> impl Strategy<Value = Vec<(Vec<usize>, u64)>> {
    let load = prop_oneof![3 => 0..10_usize, 1 => 0..400_usize, 1 => Just(0)];
    prop::collection::vec((prop::collection::vec(load, n), 1..60_u64), 5..40)
}

fn tenths(n: u64) -> Subunits {
    Subunits::of(n as f64 / 10.0)
}

/// `C + n·h`, with a millionth for each rounding.
fn bound(capacity: Subunits, cluster: &Cluster) -> Subunits {
    let n = cluster.replicas.len() as u64;
    capacity + cluster.hardest.times(n) + Subunits::of(1e-3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn who_hear_each_other_never_promise_more_than_the_capacity_and_a_request_each(
        (capacity, seconds) in (10..300_u64, (2..6_usize).prop_flat_map(seconds)),
    ) {
        for (rule, times) in [(ExcessRule::Split, 1), (ExcessRule::AsPublished, 2)] {
            let n = seconds[0].0.len();
            let mut cluster = Cluster::new(n as u16, capacity, rule);
            for (second, (loads, hardness)) in (0..).zip(&seconds) {
                cluster.exchange(second, &vec![Some(0); n]);
                cluster.ask_all(second, loads, tenths(*hardness));
            }
            let limit = bound(Subunits::whole(capacity).times(times), &cluster);
            prop_assert!(cluster.most() <= limit, "{rule:?}: {:?} of {limit:?}", cluster.most());
        }
    }

    /// The network falls into two groups, and is whole again later.
    #[test]
    fn groups_that_are_cut_off_add_at_most_their_last_shares(
        (capacity, seconds, sides) in (10..300_u64, (2..6_usize).prop_flat_map(
            |n| (Just(n), seconds(n), prop::collection::vec(0..2_u8, n)),
        )).prop_map(|(capacity, (_, seconds, sides))| (capacity, seconds, sides)),
        cut in 2..20_u64, healed in 2..30_u64,
    ) {
        let n = seconds[0].0.len();
        let mut cluster = Cluster::new(n as u16, capacity, ExcessRule::Split);
        let (together, apart) = (vec![Some(0); n], sides.iter().copied().map(Some).collect::<Vec<_>>());
        let mut outside = Subunits::ZERO;
        for (second, (loads, hardness)) in (0..).zip(&seconds) {
            let is_cut = (cut..cut + healed).contains(&second);
            cluster.exchange(second, if is_cut { &apart } else { &together });
            if second == cut {
                // All shares are those of the last exchange; those outside the majority's group add up.
                let shares: Vec<Subunits> = cluster.replicas.iter().filter_map(super::super::Booking::share).collect();
                let of = |side: u8| shares.iter().zip(&sides).filter(|(_, s)| **s == side).map(|(share, _)| *share).sum();
                let first = sides.iter().filter(|side| **side == sides[0]).count();
                let majority = if 2 * first >= n { sides[0] } else { 1 - sides[0] };
                outside = of(1 - majority);
            }
            cluster.ask_all(second, loads, tenths(*hardness));
            // With steady reports the shares themselves never exceed the capacity.
            let shares: f64 = cluster.shares().iter().sum();
            prop_assert!(shares <= capacity as f64 + 1e-3, "{shares} at {second}");
        }
        let limit = bound(Subunits::whole(capacity), &cluster) + outside;
        prop_assert!(cluster.most() <= limit, "{:?} of {limit:?}", cluster.most());
    }
}
