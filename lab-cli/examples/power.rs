//! What comparisons on this machine can find: `docs/validity.md` has its figures.
//!
//! ```sh
//! cargo run --release -p lab-cli --example power -- [--blocks N] A_A_RUN
//! cargo run --release -p lab-cli --example power -- [--blocks N] --noise 0.05 --noise 0.10
//! cargo run --release -p lab-cli --example power -- --until-decided [--arms N] [--blocks N] --noise 0.10
//! ```
//! A_A_RUN is a run with an arm and its twin (`arms: [none, none: {as: none-again}]`), or the beginning of its name below
//! `runs/`. Its blocks say how much two turns of one policy differ; with that noise, and with the most that it may be, 2000
//! comparisons are simulated (fixed seed): of arms that are the same, and of arms of which one is 20 % better or worse. With
//! `--noise` there is no run: the same for noise that is assumed, and the margin of goodput. With `--until-decided` too, runs
//! through the whole rule of `repeat: until-decided` are simulated, for `--arms N` (1) against a baseline and at most
//! `--blocks N` (64).

use std::process::ExitCode;

use analysis::{
    folder::Recorded,
    judge::compare::{
        Metric, SequentialRule,
        power::{COMPARISONS, Noise, simulated, until_decided},
        sequential,
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

/// What was typed.
#[derive(Default)]
struct Typed {
    blocks: Option<usize>,
    arms: Option<usize>,
    run: Option<String>,
    noise: Vec<f64>,
    until_decided: bool,
}

impl Typed {
    fn read() -> Result<Self, String> {
        let mut typed = Self::default();
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut number = |range: std::ops::RangeInclusive<f64>| {
                let given = args.next().and_then(|n| n.parse::<f64>().ok()).filter(|n| range.contains(n));
                given.ok_or_else(|| format!("{arg}: a number from {} to {}", range.start(), range.end()))
            };
            match arg.as_str() {
                "--blocks" => typed.blocks = Some(number(1.0..=512.0)? as usize),
                "--arms" => typed.arms = Some(number(1.0..=32.0)? as usize),
                "--noise" => typed.noise.push(number(0.0..=10.0)?),
                "--until-decided" => typed.until_decided = true,
                _ => {
                    if typed.run.replace(arg.clone()).is_some() {
                        return Err("name one run".to_owned());
                    }
                }
            }
        }
        Ok(typed)
    }
}

fn power() -> Result<String, String> {
    let Typed { blocks, arms, run, noise: assumed, until_decided } = Typed::read()?;
    let margin = Metric::Goodput.margin();
    if until_decided {
        return of_the_rule(arms.unwrap_or(1), blocks, &assumed, margin);
    }
    let blocks = blocks.unwrap_or(BLOCKS);
    if blocks > MOST_BLOCKS {
        return Err(format!("--blocks: a number from 1 to {MOST_BLOCKS}"));
    }
    if !assumed.is_empty() && run.is_none() {
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

/// Runs through the whole rule of a comparison that runs until it is decided.
fn of_the_rule(arms: usize, blocks: Option<usize>, assumed: &[f64], margin: f64) -> Result<String, String> {
    let most = blocks.map_or(sequential::MOST_BLOCKS, |blocks| blocks as u32);
    let rule = SequentialRule::new(most).ok_or("--blocks: so few cannot decide anything")?;
    let looks: Vec<String> =
        rule.looks.iter().map(|look| format!("{} ({:.4})", look.blocks, look.share * rule.level)).collect();
    let mut text = format!(
        "{COMPARISONS} simulated runs of {arms} arms against a baseline, margin {:.0} %; looks after so many blocks (level of each): {}\n\n\
         | noise | same arms: rejected at 5 % | same arms: EQUIVALENT | blocks | 10 % more: DIFFERENT | blocks | 20 % more: DIFFERENT | \
         blocks |\n|---|---|---|---|---|---|---|---|\n",
        margin * 100.0,
        looks.join(", "),
    );
    for noise in assumed {
        let of = |ratio: f64| until_decided(&rule, arms, libm::log(ratio), *noise, margin, COMPARISONS);
        let (same, tenth, fifth) = (of(1.0), of(1.1), of(1.2));
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        text += &format!(
            "| {noise:.2} | {} | {} | {:.1} | {} | {:.1} | {} | {:.1} |\n",
            percent(same.rejected),
            percent(same.equivalent),
            same.blocks,
            percent(tenth.different),
            tenth.blocks,
            percent(fifth.different),
            fifth.blocks,
        );
    }
    Ok(text)
}
