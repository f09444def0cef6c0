//! Shares of capacity by load (equation 1), none below the reserved minimum.

use super::super::Subunits;

/// `S_i = L_i / Σ L_j · total` (equation 1). Whose share would be under `floor` gets `floor`, and the others divide the
/// rest in the same way. Without any load all shares are equal. The sum is never more than the total, and less by at
/// most a millionth of a subunit for each replica.
pub(super) fn divide(total: Subunits, loads: &[Subunits], floor: Subunits) -> Vec<Subunits> {
    let equal = total.split(loads.len());
    let floor = floor.min(equal);
    let mut shares = vec![None; loads.len()];
    // Each turn fixes at least one share, or is the last.
    loop {
        let fixed: Subunits = shares.iter().flatten().copied().sum();
        let rest = total.less(fixed);
        let open: Vec<usize> = (0..loads.len()).filter(|i| shares[*i].is_none()).collect();
        let load: Subunits = open.iter().map(|i| loads[*i]).sum();
        let share = |i: usize| if load == Subunits::ZERO { rest.split(open.len()) } else { rest.share(loads[i], load) };
        let under: Vec<usize> = open.iter().copied().filter(|i| share(*i) < floor).collect();
        if under.is_empty() {
            return (0..loads.len()).map(|i| shares[i].unwrap_or_else(|| share(i))).collect();
        }
        for i in under {
            shares[i] = Some(floor);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(total: u64, loads: &[u64], floor: u64) -> Vec<f64> {
        let loads: Vec<Subunits> = loads.iter().map(|load| Subunits::whole(*load)).collect();
        divide(Subunits::whole(total), &loads, Subunits::whole(floor)).into_iter().map(Subunits::as_f64).collect()
    }

    #[test]
    fn by_hand() {
        // Figures 6 to 8: 720 · 800/2400 = 240, 720 · 1200/2400 = 360, 720 · 400/2400 = 120.
        assert_eq!(of(720, &[800, 1200, 400], 72), [240.0, 360.0, 120.0]);
        // One idle replica keeps 72; 648 are divided 1 : 2.
        assert_eq!(of(720, &[100, 200, 0], 72), [216.0, 432.0, 72.0]);
        // 720 · 100/2000 = 36 is under 72. Of the remaining 648 both others have 950 of 1900: 324.
        assert_eq!(of(720, &[100, 950, 950], 72), [72.0, 324.0, 324.0]);
        // One after the other: 100·8/108 = 7.4 is under 10; then 90·12/100 = 10.8 is not.
        assert_eq!(of(100, &[8, 12, 88], 10), [10.0, 10.8, 79.2]);
        // No load: equal shares. A floor over the equal share is the equal share.
        assert_eq!(of(720, &[0, 0, 0], 72), [240.0; 3]);
        assert_eq!(of(720, &[1, 5, 9], 500), [240.0; 3]);
        assert_eq!(of(720, &[], 1), [0.0; 0]);
    }

    proptest! {
        #[test]
        fn the_sum_is_the_total_and_no_share_is_under_the_floor(
            total in 0..2_000_000_u64, loads in prop::collection::vec(0..1_000_000_u64, 1..17), part in 0.0..=1.0_f64,
        ) {
            let total = Subunits::whole(total);
            let floor = Subunits::of(total.split(loads.len()).as_f64() * part).min(total.split(loads.len()));
            let loads: Vec<Subunits> = loads.into_iter().map(Subunits::whole).collect();
            let shares = divide(total, &loads, floor);
            let sum: Subunits = shares.iter().copied().sum();
            prop_assert!(sum <= total && total.less(sum) <= Subunits::of(1e-6 * loads.len() as f64), "{sum:?}");
            prop_assert!(shares.iter().all(|share| *share >= floor));
            // Who has more load never has a smaller share.
            for (i, j) in (0..loads.len()).flat_map(|i| (0..loads.len()).map(move |j| (i, j))) {
                prop_assert!(loads[i] < loads[j] || shares[i] >= shares[j]);
            }
        }
    }
}
