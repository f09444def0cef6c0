//! What comparisons on this machine can find: `docs/validity.md` has its figures.
//!
//! ```sh
//! cargo run --release -p lab-cli --example power -- [--blocks N] A_A_RUN
//! cargo run --release -p lab-cli --example power -- [--blocks N] --noise 0.05 --noise 0.10
//! ```
//! A_A_RUN is a run with an arm and its twin (`arms: [none, none: {as: none-again}]`), or the beginning of its name below
//! `runs/`. Its blocks say how much two turns of one policy differ; with that noise, and with the most that it may be, 2000
//! comparisons are simulated (fixed seed): of arms that are the same, and of arms of which one is 20 % better or worse. With
//! `--noise` there is no run: the same for noise that is assumed, and the margin of goodput.

use std::process::ExitCode;

use analysis::{
    folder::Recorded,
    judge::compare::{
        Metric,
        power::{COMPARISONS, Noise, simulated},
    },
    manifest::Manifest,
};
use lab_cli::store::find_run;

/// Blocks of a comparison unless `--blocks` says otherwise.
const BLOCKS: usize = 7;
/// More take long: beyond 14, each test draws 20 000 assignments.
const MOST_BLOCKS: usize = 14;

fn main() -> ExitCode {
    match power() {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("power: {error}");
            ExitCode::from(2)
        }
    }
}

fn power() -> Result<String, String> {
    let mut blocks = BLOCKS;
    let mut run = None;
    let mut assumed = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if arg == "--blocks" {
            let given = args.next().and_then(|n| n.parse().ok()).filter(|n| (1..=MOST_BLOCKS).contains(n));
            blocks = given.ok_or_else(|| format!("--blocks: a number from 1 to {MOST_BLOCKS}"))?;
        } else if arg == "--noise" {
            let given = args.next().and_then(|n| n.parse::<f64>().ok()).filter(|n| (0.0..=10.0).contains(n));
            assumed.push(given.ok_or("--noise: a standard deviation from 0 to 10")?);
        } else if run.replace(arg).is_some() {
            return Err("name one run".to_owned());
        }
    }
    if !assumed.is_empty() && run.is_none() {
        let margin = Metric::Goodput.margin();
        let rows = assumed.into_iter().map(|noise| row(&format!("{noise:.2}"), noise, blocks, margin));
        return Ok(head(blocks, margin) + &rows.collect::<String>());
    }
    if !assumed.is_empty() {
        return Err("either a run or --noise".to_owned());
    }
    let name = run.ok_or("name a run of an arm and its twin: power [--blocks N] RUN")?;
    let folder = find_run(&name)?;
    let manifest = Manifest::read(&folder).map_err(|error| error.to_string())?;
    let recorded = Recorded::read(&folder).map_err(|error| error.to_string())?;
    let summary = recorded.summary.ok_or_else(|| format!("{name} has no summary.json: it was killed"))?;
    let twins = manifest.twins();
    if twins.is_empty() {
        return Err(format!(
            "{name} has no two arms that are the same; run one with arms: [none, none: {{as: none-again}}] and repeat: 7"
        ));
    }
    let order = manifest.arms();
    let mut text = String::new();
    for pair in &twins {
        let family = manifest.experiment.compare.family(&order, &[]);
        let noise = Noise::of(&summary.arms, pair, family).ok_or_else(|| {
            format!("{} and {}: no block that both ended, or compared by something that is no ratio", pair[0], pair[1])
        })?;
        text += &told(pair, &noise, blocks)?;
    }
    Ok(text)
}

fn told(pair: &[String; 2], noise: &Noise, blocks: usize) -> Result<String, String> {
    let [first, again] = pair;
    let (Some(found), Some(most)) = (noise.deviation(), noise.deviation_at_most()) else {
        return Err(format!("{first} and {again} share one block: two at least say something of noise"));
    };
    let of = noise.differences.len();
    let ratios: Vec<String> = noise.differences.iter().map(|by| format!("{:.3}", libm::exp(*by))).collect();
    let mut text = format!(
        "{} of {again} over {first} in {}, {of} blocks: {}\nnoise (standard deviation of the logarithm): {found:.3}, with 95 % confidence \
         at most {most:.3}\n",
        noise.metric.name(),
        noise.phase,
        ratios.join(" "),
    );
    text += &head(blocks, noise.margin);
    text += &row(&format!("{found:.3} (measured)"), found, blocks, noise.margin);
    text += &row(&format!("{most:.3} (at most)"), most, blocks, noise.margin);
    text.push('\n');
    Ok(text)
}

fn head(blocks: usize, margin: f64) -> String {
    format!(
        "{COMPARISONS} simulated comparisons of {blocks} blocks, margin {:.0} %:\n\n\
         | noise | same arms: rejected at 5 % | same arms: DIFFERENT | same arms: EQUIVALENT | 20 % more: DIFFERENT | 20 % less: \
         DIFFERENT |\n|---|---|---|---|---|---|\n",
        margin * 100.0
    )
}

fn row(name: &str, noise: f64, blocks: usize, margin: f64) -> String {
    let shares = |ratio: f64| simulated(libm::log(ratio), noise, blocks, margin);
    let same = shares(1.0);
    let percents = [same.rejected, same.different, same.equivalent, shares(1.2).different, shares(0.8).different];
    let cells: Vec<String> = percents.iter().map(|share| format!("{:.1} %", share * 100.0)).collect();
    format!("| {name} | {} |\n", cells.join(" | "))
}
