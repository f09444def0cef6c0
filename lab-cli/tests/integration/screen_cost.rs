//! Does the screen change what is measured? Runs in pairs, with and without it, of a service under twice the load that it can take: see
//! docs/benchmarks.md. It takes ten minutes of a quiet machine, and is no test of every day.

use std::{
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use analysis::{
    judge::{
        compare::{Across, Contest, ContestSide, ContestTurn, Metric, across, words::in_words},
        gates::is_external,
    },
    summary::{Arm, ComparisonVerdict, RunSummary, Validity},
};

use crate::{program, terminal::Tmux};

const PAIRS: u32 = 12;
/// Pairs that may be left out, as a whole and whatever their figures were, for what is the machine's alone.
const SPOILED: u32 = 3;
const PHASE: &str = "over";
/// By how much figures of that phase may differ at most: shares of goodput and of the 90th percentile, points of what was rejected.
/// With twelve pairs these can be told if one run differs from the next by about that much, as live runs on a shared machine do.
const MARGINS: [(Metric, f64); 3] = [(Metric::Goodput, 0.10), (Metric::P90, 0.20), (Metric::RejectFraction, 0.05)];

/// What a run takes: an arm of `noise`, whose load is open and steady, with a seed of its pair. Crowds of users in step swing by more
/// from one run to the next than a screen could ever cost.
fn arguments(pair: u32, out: &Path) -> Vec<String> {
    ["run", "noise", "--policy", "one", "--repeat", "1", "--seed", &(100 + pair).to_string(), "--out"]
        .map(str::to_owned)
        .into_iter()
        .chain([out.display().to_string()])
        .collect()
}

fn with_screen(tmux: &Tmux, pair: u32, out: &Path) {
    let lab = program::path();
    // A file is waited for: ten looks at the terminal a second are 4 % of a processor, which would be the test's own noise.
    let over = out.with_extension("over");
    tmux.enter(&format!("clear; {lab} {}; touch {}", arguments(pair, out).join(" "), over.display()));
    let begun = Instant::now();
    while !over.exists() {
        assert!(begun.elapsed() < Duration::from_secs(300), "the run does not end:\n{}", tmux.screen());
        thread::sleep(Duration::from_millis(100));
    }
    assert!(out.join("summary.json").exists(), "{}", tmux.screen());
}

fn without_screen(pair: u32, out: &Path) {
    let mut command = program::lab();
    let said = std::fs::File::create(out.with_extension("said")).expect("a file");
    command.args(arguments(pair, out)).arg("--no-tui").stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
    // INVALID and failed claims are seen in the summary.
    let status = command.status().expect("it runs");
    let said = || std::fs::read_to_string(out.with_extension("said")).unwrap_or_default();
    assert!(out.join("summary.json").exists(), "{status}:\n{}", said());
}

/// The only arm of a run; `Err`: the machine spoiled it, in words.
fn arm(out: &Path) -> Result<Arm, String> {
    let text = std::fs::read_to_string(out.join("summary.json")).expect("a summary");
    let mut summary: RunSummary = serde_json::from_str(&text).expect("a summary");
    if summary.verdict != Validity::Invalid {
        return Ok(summary.arms.remove(0));
    }
    let void = || summary.reasons.iter().filter(|reason| reason.verdict == Validity::Invalid);
    assert!(void().all(is_external), "{}: {:?}", out.display(), summary.reasons);
    Err(void().map(|reason| format!("{}: {}", reason.code, reason.value)).collect::<Vec<_>>().join("; "))
}

/// Runs with the same number are a pair.
fn side<'a>(name: &str, arms: &'a [Arm], pairs: &'a [String]) -> ContestSide<'a> {
    let turns = arms.iter().zip(pairs).map(|(arm, pair)| ContestTurn { arm, plan: Some(pair) }).collect();
    ContestSide { name: name.to_owned(), turns, hindsight: false }
}

/// Each of the metrics, with against without, and whether the two agree within its margin: that the interval (90 %) of the effect
/// lies in it. That no difference was seen is not enough.
fn compared(with: &[Arm], without: &[Arm]) -> Vec<Across> {
    let pairs: Vec<String> = (1..=with.len()).map(|pair| pair.to_string()).collect();
    let contest = Contest { ours: side("with", with, &pairs), theirs: side("without", without, &pairs) };
    let contests = [contest];
    let of = |(metric, margin): (Metric, f64)| {
        let found = across(&contests, PHASE, metric, Some(margin), None);
        found.into_iter().find(|found| found.comparison.primary).expect("the metric that was asked for")
    };
    MARGINS.into_iter().map(of).collect()
}

/// The verdicts of made pairs: goodput with the screen is so many times as much, give or take so much.
fn verdicts(times: f64, noise: f64) -> Vec<ComparisonVerdict> {
    use analysis::summary::{Measured, PhaseSummary, Times};
    let arm = |pair: u32, times: f64| {
        let measured = Measured {
            sent: 1000,
            goodput_per_s: times * (50.0 + f64::from(pair)),
            reject_fraction: 0.3,
            response_time_ms: Times { p90: Some(900.0), ..Times::default() },
            ..Measured::default()
        };
        Arm {
            phases: vec![PhaseSummary { name: PHASE.to_owned(), seconds: 30.0, measured, ..PhaseSummary::default() }],
            ..Arm::default()
        }
    };
    let sign = |pair: u32| if pair.is_multiple_of(2) { noise } else { -noise };
    let with: Vec<Arm> = (0..PAIRS).map(|pair| arm(pair, times * (1.0 + sign(pair)))).collect();
    let without: Vec<Arm> = (0..PAIRS).map(|pair| arm(pair, 1.0)).collect();
    compared(&with, &without).into_iter().map(|found| found.comparison.verdict).collect()
}

#[test]
fn only_what_lies_within_the_margin_for_sure_agrees() {
    assert_eq!(verdicts(1.01, 0.02), [ComparisonVerdict::Equivalent; 3]);
    assert_eq!(verdicts(0.8, 0.02)[0], ComparisonVerdict::Worse);
    assert_eq!(
        verdicts(1.0, 0.3)[0],
        ComparisonVerdict::Undecided,
        "no difference is seen, and none this large can be"
    );
}

#[test]
#[ignore = "ten minutes of a quiet machine; docs/benchmarks.md: cargo test --release -p lab-cli --test integration screen_cost:: -- --ignored --nocapture"]
fn results_with_and_without_the_screen_agree() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let Some(tmux) = Tmux::start(200, 60) else { return };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    println!("| pair | generator CPU with, without | send lag p99 with, without, ms |\n|---|---|---|");
    for pair in 1..=PAIRS + SPOILED {
        if with.len() == PAIRS as usize {
            break;
        }
        let folder = |name: &str| scratch.path().join(format!("{name}-{pair}"));
        let (shown, plain) = (folder("with"), folder("without"));
        // What drifts must not favour one side.
        if pair % 2 == 0 {
            with_screen(&tmux, pair, &shown);
            without_screen(pair, &plain);
        } else {
            without_screen(pair, &plain);
            with_screen(&tmux, pair, &shown);
        }
        let (shown, plain) = match (arm(&shown), arm(&plain)) {
            (Ok(shown), Ok(plain)) => (shown, plain),
            (Err(why), _) | (_, Err(why)) => {
                println!("| {pair} | left out | {why} |");
                continue;
            }
        };
        // What the screen costs: not judged.
        let (a, b) = (&shown.generator, &plain.generator);
        println!("| {pair} | {:.3}, {:.3} | {:.2}, {:.2} |", a.cpu, b.cpu, a.send_lag_p99_ms, b.send_lag_p99_ms);
        with.push(shown);
        without.push(plain);
    }
    assert_eq!(with.len(), PAIRS as usize, "too many pairs were spoiled");
    let found = compared(&with, &without);
    println!("\n| figure | with against without (95 %) | margin |\n|---|---|---|");
    for Across { comparison, .. } in &found {
        println!("| {} | {} | {} |", comparison.metric, in_words(comparison), comparison.margin);
    }
    let others = found
        .iter()
        .map(|found| &found.comparison)
        .filter(|comparison| comparison.verdict != ComparisonVerdict::Equivalent);
    let others: Vec<_> = others.collect();
    assert!(others.is_empty(), "not the same within the margin, or too noisy to tell: {others:#?}");
}
