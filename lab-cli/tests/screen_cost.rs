//! Does the screen change what is measured? Runs in pairs, with and without it, on the flash crowd: see docs/benchmarks.md. It takes
//! about a quarter of an hour on a quiet machine, and is no test of every day.

mod terminal;

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;
use terminal::Tmux;

const PAIRS: usize = 7;
/// Figures of the spike, and of the generator.
const FIGURES: [(&str, &str); 5] = [
    ("in time/s", "/arms/0/phases/1/goodput_per_s"),
    ("p90 ms", "/arms/0/phases/1/response_time_ms/p90"),
    ("rejected", "/arms/0/phases/1/reject_fraction"),
    ("generator CPU", "/arms/0/generator/cpu"),
    ("send lag p99 ms", "/arms/0/generator/send_lag_p99_ms"),
];
/// As many as may differ: the generator's own CPU and lag are what the screen costs, and are shown.
const JUDGED: usize = 3;

/// What a run takes: the arm `seda` of the flash crowd, with a seed of its pair.
fn arguments(pair: usize, out: &Path) -> Vec<String> {
    ["run", "flash-crowd", "--policy", "seda", "--seed", &(100 + pair).to_string(), "--out"]
        .map(str::to_owned)
        .into_iter()
        .chain([out.display().to_string()])
        .collect()
}

fn with_screen(tmux: &Tmux, pair: usize, out: &Path) {
    let lab = env!("CARGO_BIN_EXE_lab");
    // What is waited for must not be in the line that was typed.
    tmux.type_in(&format!("clear; {lab} {}; echo over=$((40+2))", arguments(pair, out).join(" ")));
    tmux.type_in("Enter");
    tmux.wait_up_to(Duration::from_secs(300), &["over=42"]);
}

fn without_screen(pair: usize, out: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(arguments(pair, out)).arg("--no-tui").stdout(Stdio::null()).stderr(Stdio::null());
    // INVALID and failed claims are seen in the summary.
    command.status().expect("it runs");
}

fn figures(out: &Path) -> [f64; FIGURES.len()] {
    let text = std::fs::read_to_string(out.join("summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    assert_ne!(summary["verdict"], "INVALID", "{}: {}", out.display(), summary["reasons"]);
    FIGURES.map(|(name, path)| summary.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {name}")))
}

/// Chance of a sum of differences at least as far from nothing if signs were drawn by lot: exact, over all 2^n.
fn chance(differences: &[f64]) -> f64 {
    let seen = differences.iter().sum::<f64>().abs();
    let all = 1_u32 << differences.len();
    let as_far = (0..all).filter(|signs| {
        let signed = |(n, by): (usize, &f64)| if signs >> n & 1 == 1 { *by } else { -by };
        differences.iter().enumerate().map(signed).sum::<f64>().abs() >= seen - 1e-12
    });
    as_far.count() as f64 / f64::from(all)
}

fn spread(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().fold(f64::MIN, f64::max) - values.fold(f64::MAX, f64::min)
}

#[test]
fn signs_drawn_by_lot() {
    // All seven to one side: two of 128 are as far.
    assert!((chance(&[1.0, 2.0, 3.0, 1.5, 2.5, 1.0, 2.0]) - 2.0 / 128.0).abs() < 1e-12);
    assert!((chance(&[1.0, -1.0]) - 1.0).abs() < 1e-12);
}

/// `cargo test --release -p lab-cli --test screen_cost -- --ignored --nocapture`
#[test]
#[ignore = "a quarter of an hour on a quiet machine"]
fn results_with_and_without_the_screen_do_not_differ_by_more_than_the_noise() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let Some(tmux) = Tmux::start(200, 60) else { return };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
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
        with.push(figures(&shown));
        without.push(figures(&plain));
        println!("pair {}: with {:?}, without {:?}", pair + 1, with[pair], without[pair]);
    }
    println!(
        "| figure | with the screen | without | mean difference | spread without | p |\n|---|---|---|---|---|---|"
    );
    for (n, (name, _)) in FIGURES.iter().enumerate() {
        let mean = |runs: &[[f64; FIGURES.len()]]| runs.iter().map(|run| run[n]).sum::<f64>() / PAIRS as f64;
        let differences: Vec<f64> = with.iter().zip(&without).map(|(with, without)| with[n] - without[n]).collect();
        let difference = differences.iter().sum::<f64>() / PAIRS as f64;
        let (noise, p) = (spread(without.iter().map(|run| run[n])), chance(&differences));
        println!("| {name} | {:.3} | {:.3} | {difference:+.3} | {noise:.3} | {p:.3} |", mean(&with), mean(&without));
        if n < JUDGED {
            assert!(
                difference.abs() <= noise || p > 0.05,
                "{name} differs by {difference:.3}, noise {noise:.3}, p {p:.3}"
            );
        }
    }
}
