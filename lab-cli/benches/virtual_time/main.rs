//! How fast virtual time is, and how much memory a run takes.
//!
//! `cargo bench -p lab-cli --bench virtual_time [-- host|plant|paper|memory|repeat]`. Events are those of the host's heap:
//! what users do when a pause ends is not counted. `host` and `plant` run in this process on one core; the others are
//! `lab run --virtual` as a person runs it.

mod host;
mod plant;
mod program;

/// Rounds of which the median is shown.
const ROUNDS: usize = 5;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let parts: [(&str, fn()); 5] = [
        ("host", host::measure),
        ("plant", plant::measure),
        ("paper", program::paper),
        ("memory", program::memory),
        ("repeat", program::repeat),
    ];
    for (name, measure) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            measure();
        }
    }
}

/// Events a second of several rounds, and what one event costs.
fn speed(name: &str, mut round: impl FnMut() -> u64) {
    let mut rates: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let began = std::time::Instant::now();
            let events = round();
            events as f64 / began.elapsed().as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    let (least, median, most) = (rates[0], rates[ROUNDS / 2], rates[ROUNDS - 1]);
    println!(
        "{name:44} {:.2} million events a second (median of {ROUNDS}, {:.2} to {:.2}), {:.0} ns an event",
        median / 1e6,
        least / 1e6,
        most / 1e6,
        1e9 / median
    );
}
