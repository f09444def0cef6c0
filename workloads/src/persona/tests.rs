use super::*;

#[test]
fn draws_are_the_same_on_every_machine() {
    // Whole numbers, recorded when first drawn: a change here changes every recorded run.
    let mut draws = Draws::new(7, 42);
    let first = draws.of(Purpose::Transition).next_u64();
    draws.at_step(3);
    let seen = [first, draws.of(Purpose::Transition).next_u64(), draws.of(Purpose::Think).next_u64()];
    assert_eq!(seen, GOLDEN);
    assert_eq!(draws.of(Purpose::Think).next_u64(), seen[2], "asked twice, it is the same");
}

const GOLDEN: [u64; 3] = [11_941_963_896_021_102_984, 7_119_013_734_295_566_042, 1_970_750_988_458_862_046];

#[test]
fn draws_differ_by_user_step_purpose_and_seed() {
    let mut seen = Vec::new();
    for seed in 0..4 {
        for user in 0..4 {
            for step in 0..4 {
                for purpose in [Purpose::Transition, Purpose::Link, Purpose::Think, Purpose::Backoff] {
                    let mut draws = Draws::new(seed, user);
                    draws.at_step(step);
                    seen.push(draws.of(purpose).next_u64());
                }
            }
        }
    }
    let all = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), all);
}

#[test]
fn headers_are_found_whatever_their_case() {
    let answer = Answer::whole(200, &[("Retry-After", b"5"), ("X", b"\xff")], b"");
    assert_eq!((answer.header("retry-after"), answer.header("x"), answer.header("y")), (Some("5"), None, None));
}
