//! What a replica may use of a second (equations 2 and 3).

use super::super::Subunits;

/// How replicas make room for one that has booked more than its present share of a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExcessRule {
    /// Equations 2 and 3: each replica that sees an excess reduces its own share by all of it, and an excess is what
    /// the others have booked beyond their shares *together*.
    ///
    /// A share that others have not used yet hides an excess: all of those with room see none, and fill their shares.
    /// With shares of 0, 50 and 50 of 100, and 50 booked by the first, both others see 50 of the 50 that are left
    /// to others, and the second gets 150. All together book less than twice the capacity for a second, and one request
    /// each.
    AsPublished,
    /// The excess of a second is divided among those with room in it, in proportion to their room. The replicas know
    /// all that this needs from the reports that they exchange anyway. All together book at most the capacity for a
    /// second, and one request each; after a cut also the last shares of those who were cut off.
    #[default]
    Split,
}

/// One replica in one second, as all know it from the last exchange.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// `S_j`, in this second.
    pub(super) share: Subunits,
    /// `N_j[k]`.
    pub(super) booked: Subunits,
}

impl ExcessRule {
    /// `C_i[k]`: usable capacity of a replica in a second of capacity `total`.
    pub(super) fn usable(self, total: Subunits, mine: Part, others: impl Iterator<Item = Part>) -> Subunits {
        match self {
            Self::AsPublished => {
                let booked: Subunits = others.map(|other| other.booked).sum();
                mine.share.less(booked.less(total.less(mine.share)))
            }
            Self::Split => {
                let room = mine.share.less(mine.booked);
                let (mut excess, mut all_room) = (Subunits::ZERO, room);
                for other in others {
                    excess += other.booked.less(other.share);
                    all_room += other.share.less(other.booked);
                }
                if excess == Subunits::ZERO || mine.booked >= mine.share {
                    return mine.share;
                }
                if excess >= all_room {
                    return mine.booked;
                }
                // Rounded up: together they give up the whole excess.
                mine.share.less(excess.share(room, all_room) + Subunits::of(1e-6))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usable(rule: ExcessRule, total: u64, parts: &[(u64, u64)]) -> Vec<f64> {
        let part =
            |(share, booked): &(u64, u64)| Part { share: Subunits::whole(*share), booked: Subunits::whole(*booked) };
        let parts: Vec<Part> = parts.iter().map(part).collect();
        let others = |i: usize| parts.iter().enumerate().filter(move |(j, _)| *j != i).map(|(_, part)| *part);
        let usable = |i| rule.usable(Subunits::whole(total), parts[i], others(i)).as_f64();
        (0..parts.len()).map(usable).collect()
    }

    #[test]
    fn as_published_by_hand() {
        let rule = ExcessRule::AsPublished;
        // No excess: E_1 = 240 + 120 − (720 − 360) = 0.
        assert_eq!(usable(rule, 720, &[(360, 0), (240, 240), (120, 120)]), [360.0, 240.0, 120.0]);
        // The third has 240 booked of a share of 120: E_1 = 480 − 360 = 120, and C_1 = 360 − 120;
        // E_2 = 0 + 240 − 480 < 0, and C_2 = S_2; E_3 = 0 + 240 − 600 < 0: it has used its share, and more.
        assert_eq!(usable(rule, 720, &[(360, 0), (240, 240), (120, 240)]), [240.0, 240.0, 120.0]);
        // More excess than its share: nothing is left.
        assert_eq!(usable(rule, 720, &[(120, 0), (300, 420), (300, 420)])[0], 0.0);
    }

    #[test]
    fn as_published_unused_shares_hide_an_excess() {
        assert_eq!(usable(ExcessRule::AsPublished, 100, &[(0, 50), (50, 0), (50, 0)]), [0.0, 50.0, 50.0]);
        let split = usable(ExcessRule::Split, 100, &[(0, 50), (50, 0), (50, 0)]);
        assert!((split[1] - 25.0).abs() < 1e-5 && (split[2] - 25.0).abs() < 1e-5, "{split:?}");
    }

    #[test]
    fn split_by_hand() {
        let close = |found: Vec<f64>, by_hand: [f64; 3]| {
            let near = found.iter().zip(by_hand).all(|(found, by_hand)| (found - by_hand).abs() < 1e-5);
            assert!(near, "{found:?} {by_hand:?}");
        };
        // 90 over its share; room 60 and 30: the first gives up 60 of 90 · 60/90, the second 30. Nobody books on.
        close(usable(ExcessRule::Split, 300, &[(100, 40), (100, 70), (100, 190)]), [40.0, 70.0, 100.0]);
        // 30 over its share: they give up 20 and 10, and 300 − 130 = 170 = 80 + 90 is what they may have.
        close(usable(ExcessRule::Split, 300, &[(100, 40), (100, 70), (100, 130)]), [80.0, 90.0, 100.0]);
        // 120 over: more than all room, and no more is booked.
        close(usable(ExcessRule::Split, 300, &[(100, 40), (100, 70), (100, 220)]), [40.0, 70.0, 100.0]);
    }
}
