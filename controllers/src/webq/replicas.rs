//! Several replicas of TokenGen behave as one (section III-B).
//!
//! # Bound on the sum
//!
//! Let h be the hardness of the hardest request, n the number of replicas, and let reports be exchanged at each change
//! of the second. What all replicas together book for one second is then
//!
//! - at most `C + n·h` by [`ExcessRule::Split`], while all hear each other, whatever the loads do;
//! - below `2·C + n·h` by [`ExcessRule::AsPublished`];
//! - at most `C + n·h + Σ S_j` by `Split` if the network falls apart into groups, where j runs over the replicas outside
//!   the group of the majority, and `S_j` is the last share of each: what they booked after they were last heard of.
//!   The same holds for a replica that starts anew: it has forgotten what it booked, the others have not.
//!
//! What is booked between a report and its arrival is not in it, and comes on top where shares change: with the paper's load
//! (figures 6 to 8) the fullest second has 107 % of the capacity if reports take a tenth of a second, 117 % if they take half a
//! second, 120 % if nine tenths (the test `reports_that_arrive_late_in_their_second_overbook_by_up_to_a_fifth`).
//!
//! Cuts in one direction, or between some members of a group, are not covered: a replica that is heard but does not hear
//! counts with the others as long as it hears a majority.

mod divide;
mod excess;
mod peer;
mod peers;

pub use excess::ExcessRule;
pub use peers::{ReplicaCounts, ReplicaParams};

pub(super) use peers::Peers;
