use super::*;

fn result(text: &str, held: &[bool]) -> ThresholdResult {
    let block = |(n, held): (usize, &bool)| BlockResult {
        block: n as u32 + 1,
        held: *held,
        judged: true,
        found: String::new(),
    };
    ThresholdResult {
        text: text.to_owned(),
        held: held.iter().all(|held| *held),
        judged: true,
        why: String::new(),
        values: Vec::new(),
        blocks: held.iter().enumerate().map(block).collect(),
        aborted: None,
    }
}

fn row(letters: &str, variant: &str, label: &str) -> ClaimRow {
    let variant = Some(variant.to_owned()).filter(|variant| !variant.is_empty());
    ClaimRow { letters: letters.chars().collect(), variant, label: label.to_owned() }
}

const FIRST_FAILS: [bool; 10] = [false, true, true, true, true, true, true, true, true, true];
const LAST_FAILS: [bool; 10] = [true, true, true, true, true, true, true, true, true, false];

/// Claim a holds with nine seeds; b and c, whose two parts hold with nine each, with eight.
fn claims(tried: &BTreeMap<char, String>) -> Vec<LetteredClaim> {
    let rows = [
        row("a", "", "a: cut"),
        row("a", "as coded", "a, as coded: cut"),
        row("bc", "", "b (and c): both: `none.x.sent > 2`"),
        row("bc", "", "b (and c): both: `none.y.sent > 2`"),
        row("b", "with small steps", "b, with small steps: both: `small.x.sent > 2`"),
        row("b", "with small steps", "b, with small steps: both: `none.y.sent > small.y.sent`"),
        row("b", "by halves", "b, by halves: `half.x.sent > 2`"),
        row("c", "as coded", "c, as coded: `coded.x.sent > 2`"),
        row("c", "as coded", "c, as coded: `coded.y.sent > 2`"),
        row("", "", "more"),
    ];
    let ten = [true; 10];
    let results = [
        result("seda.x.sent > 1", &FIRST_FAILS),
        result("coded.x.sent > 1", &[false; 10]),
        result("none.x.sent > 2", &FIRST_FAILS),
        result("none.y.sent > 2", &LAST_FAILS),
        result("small.x.sent > 2", &ten),
        result("none.y.sent > small.y.sent", &LAST_FAILS),
        result("half.x.sent > 2", &ten),
        result("coded.x.sent > 2", &ten),
        result("coded.y.sent > 2", &[false; 10]),
        result("none.x.served > 2", &ten),
    ];
    lettered_claims(&rows, &results, tried)
}

#[test]
fn a_claim_holds_with_a_seed_if_all_of_its_parts_do_and_with_nine_of_ten_in_all() {
    let claims = claims(&BTreeMap::new());
    let of: Vec<_> = claims.iter().map(|claim| (claim.letter, claim.held_by, claim.seeds, claim.held)).collect();
    assert_eq!(of, [('a', 9, 10, true), ('b', 8, 10, false), ('c', 8, 10, false)]);
    assert_eq!(claims[1].label, "b (and c): both");
    assert!(holds_with(1, 1) && !holds_with(8, 9) && !holds_with(0, 0), "with fewer than ten all must hold");
}

#[test]
fn a_claim_that_fails_names_the_arm_that_makes_it_hold_or_says_that_nothing_does() {
    let claims = claims(&[('c', "Slower disks do not either.".to_owned())].into());
    assert_eq!(claims[0].remedy(), None, "it holds");
    let [small] = &claims[1].variants[..] else { panic!("a half of a claim is not the claim: {:?}", claims[1]) };
    assert_eq!((small.held_by, small.held, &small.arms[..]), (9, true, &["small".to_owned()][..]));
    let remedy = claims[1].remedy().expect("it fails");
    assert_eq!(remedy, "holds with the arm `small` (with small steps, 9 of 10 seeds).");
    let remedy = claims[2].remedy().expect("it fails");
    assert_eq!(remedy, "not with the arm `coded` (as coded, 0 of 10 seeds). Slower disks do not either.");
    let alone = LetteredClaim { variants: Vec::new(), ..claims[2].clone() };
    assert_eq!(alone.remedy().as_deref(), Some("Slower disks do not either."));
    let untried = LetteredClaim { tried: None, ..alone };
    assert_eq!(untried.remedy().as_deref(), Some("nothing was tried."));
}

#[test]
fn a_seed_that_was_not_judged_counts_neither_way() {
    let mut cut_off = result("none.x.sent > 2", &[true, true, false]);
    cut_off.blocks[2].judged = false;
    assert_eq!((cut_off.over_seeds(), cut_off.word_over_seeds()), ((2, 2), "held"));
    let rows = [row("a", "", "a: sent"), row("a", "", "a: sent")];
    let claims = lettered_claims(&rows, &[cut_off, result("none.y.sent > 2", &[true, false, true])], &BTreeMap::new());
    assert_eq!((claims[0].held_by, claims[0].seeds), (1, 2));
    let mut nothing = result("none.x.sent > 2", &[false]);
    nothing.blocks[0].judged = false;
    assert_eq!(nothing.word_over_seeds(), "not judged");
}

#[test]
fn claims_count_by_paper_and_those_of_no_paper_with_their_thresholds_alone() {
    let mut tally = ClaimCount::default();
    tally.add_counted("webq-fig2", Some(Paper::Webq), [('a', true)], [true, true]);
    tally.add_counted("seda-fig7", Some(Paper::SedaUsits03), [('a', true), ('b', false)], [true, false, true]);
    tally.add_counted("webq-2tiers", None, [('a', false)], [false]);
    tally.add_counted("noise", None, [('a', true)], [true]);
    assert_eq!(tally.claims(), "2 of 3 claims of the papers held");
    assert_eq!(tally.thresholds(), "5 of 7 thresholds");
    let rows = [["SEDA (USITS'03)", "2", "1", "seda-fig7 b"], ["WebQ", "1", "1", ""]].map(|row| row.map(str::to_owned));
    assert_eq!(tally.table().rows, rows);
    assert_eq!(ClaimCount::default().claims(), "0 of 0 claims of the papers held");
    // Of a run that was INVALID: neither held nor failed.
    let mut void = result("none.x.sent > 2", &[true, true]);
    void.leave_unjudged("the run is INVALID");
    let rows = [ClaimRow { letters: vec!['c'], ..ClaimRow::default() }];
    let claims = lettered_claims(&rows, std::slice::from_ref(&void), &BTreeMap::new());
    assert_eq!((claims[0].word(), claims[0].remedy()), ("not judged", None));
    tally.add("webq-fig3", Some(Paper::Webq), &claims, &[void]);
    assert_eq!(tally.claims(), "2 of 3 claims of the papers held, 1 not judged");
    assert_eq!(tally.thresholds(), "5 of 7 thresholds");
}
