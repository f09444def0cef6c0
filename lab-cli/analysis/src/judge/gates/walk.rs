//! WALK: did users walk what their model says? A page may not offer what was drawn; they list messages then.
//!
//! A model that leads users back to a message that they have deleted wants the page in its place, which offers nothing: what is drawn
//! there is left out. It is the same in every arm, and no other than what the model says.

use measure::Offered;

use super::{
    context::Context,
    gate::{Check, Reasons, ValidityGate},
    limits::{NOT_OFFERED, NOT_OFFERED_DRAWS, NOT_OFFERED_RISE},
    reading::fraction,
};
use crate::{
    summary::{Arm, Validity, WalkCell},
    text::percent,
};

pub(super) const WALK: ValidityGate = ValidityGate {
    code: "WALK",
    verdicts: &[Validity::Warn],
    finds: "pages did not offer what users drew from their model: they listed messages instead, and walked another mix; or that grew on the way, as mailboxes ran empty",
    limit: "5 % of what was drawn; 5 points more at the end than at the beginning",
    remedy: "read the mix that was walked (`walk` in `summary.json`); a shorter run, or more mail (`target.mail.inbox`)",
    checks: &[Check::Arm(check)],
    reading: |run| run.most(share, |share, _| format!("{} of what users drew was not offered", percent(share))),
};

fn check(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    if let Some(share) = share(arm).filter(|share| *share > NOT_OFFERED) {
        let worst = worst(arm).unwrap_or_default();
        reasons.warn(
            format!("{:.1} % of the pages that users drew were not offered{worst}", share * 100.0),
            format!("{:.0} %", NOT_OFFERED * 100.0),
            "users listed messages in place of what their pages did not offer: the mix that was walked is not the model's",
            "read the arm's walk in summary.json for what was walked; a model fitted to another service may draw what this one's pages lack",
        );
    }
    if let Some((first, last)) = first_and_last(&arm.offered)
        && last - first > NOT_OFFERED_RISE
    {
        reasons.warn(
            format!(
                "{:.1} % of what users drew was not offered at first, and {:.1} % at the end",
                first * 100.0,
                last * 100.0
            ),
            format!("{:.0} points more", NOT_OFFERED_RISE * 100.0),
            "the load changed on the way: users delete and refile, no mail comes in, and lists run empty",
            "more mail in each inbox (target.mail.inbox), more accounts, or a shorter run",
        );
    }
}

/// Share of the draws that no page offered; `None`: nothing was drawn.
fn share(arm: &Arm) -> Option<f64> {
    let cells = || arm.walk.iter().flat_map(|row| row.to.values());
    let not_offered = cells().map(not_offered).sum();
    let drawn: u64 = cells().map(|cell| cell.made + cell.made_elsewhere + cell.substituted).sum();
    (drawn > 0).then(|| fraction(not_offered, drawn))
}

fn not_offered(cell: &WalkCell) -> u64 {
    cell.substituted.saturating_sub(cell.gone)
}

/// The way that stood for most of it.
fn worst(arm: &Arm) -> Option<String> {
    let cells = arm.walk.iter().flat_map(|row| row.to.iter().map(move |(to, cell)| (not_offered(cell), &row.from, to)));
    let (_, from, to) = cells.max_by_key(|(count, ..)| *count)?;
    Some(format!("; most often {to} after {from}"))
}

/// Shares in as many minutes from the first, and up to the last, as have enough draws; `None`: they are not told apart.
fn first_and_last(minutes: &[Offered]) -> Option<(f64, f64)> {
    let (first, used) = enough(minutes.iter())?;
    let (last, _) = enough(minutes[used..].iter().rev())?;
    Some((first, last))
}

/// The share in the first minutes that have enough draws together, and how many these are.
fn enough<'m>(minutes: impl Iterator<Item = &'m Offered>) -> Option<(f64, usize)> {
    let mut sum = Offered::default();
    for (number, minute) in minutes.enumerate() {
        sum.drawn += minute.drawn;
        sum.not_offered += minute.not_offered;
        if sum.drawn >= NOT_OFFERED_DRAWS {
            return Some((fraction(sum.not_offered, sum.drawn), number + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(counts: &[(u64, u64)]) -> Vec<Offered> {
        counts.iter().map(|&(drawn, not_offered)| Offered { drawn, not_offered }).collect()
    }

    #[test]
    fn the_beginning_and_the_end_are_of_enough_draws_and_do_not_overlap() {
        let far = minutes(&[(600, 6), (400, 4), (5000, 4000), (300, 200), (700, 100)]);
        assert_eq!(first_and_last(&far), Some((0.01, 0.3)));
        assert_eq!(first_and_last(&minutes(&[(1000, 6), (999, 900)])), None);
        assert_eq!(first_and_last(&[]), None);
    }
}
