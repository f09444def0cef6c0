//! `lab sweep`: a measure over the values of a key.

use std::fmt::Write as _;

use analysis::{
    chart::{Chart, ChartAxis, ChartLine, ChartPanel, Scale, Size},
    goal::{self, GoalFound},
    judge::threshold::PhaseMeasure,
    series::value::Value as Drawn,
    summary::{Arm, arm_names},
    text::{counted, scrubbed, table::Table},
};
use controllers::catalogue::ParamKind;
use experiment::Experiment;
use installed::catalogue;
use serde::Serialize;
use serde_json::json;

use super::{
    search::{Search, journal, margin, not_done},
    share::wait_for_start,
    stdout::{print, print_as},
};
use crate::{
    args::{Output, SweepArgs},
    exit::{CommandResult, End, Failure, complain},
    run::StopSignal,
    screens::restore,
    sweep::{Bench, CaseFound, Grid, SweepCase, seeds},
    workers::pool,
};

/// Version of the JSON.
const SCHEMA: u32 = 1;
/// The most cases: more are a search, not a curve.
const MOST_CASES: usize = 2000;
/// What is left to do after a part.
pub(super) const MERGE: &str = "lab merge puts all parts together";
/// The result.
#[derive(Debug, Serialize)]
struct Swept {
    schema: u32,
    experiment: String,
    phase: String,
    goal: String,
    axes: Vec<Grid>,
    seeds: u32,
    /// The difference that does not matter in practice, as a share of the best value.
    margin: f64,
    points: Vec<Point>,
    /// The number of the best point; `None`: none meets the condition.
    best: Option<usize>,
}

/// An arm at one place of the grid.
#[derive(Debug, Default, Serialize)]
struct Point {
    /// The value of each axis.
    at: Vec<String>,
    arm: String,
    #[serde(flatten)]
    found: GoalFound,
    mean: Option<f64>,
    holds: bool,
    /// Within the margin of the best.
    near_best: bool,
    /// The reason why nothing was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

pub fn sweep(args: &SweepArgs) -> CommandResult {
    let mut search = Search::read(&args.experiment, &args.set, &args.goal)?;
    let policies = of_one_policy(&mut search, &args.policies)?;
    let file = read_once(&search, &policies)?;
    whole_numbers(&mut search, &file);
    let axes: Vec<Grid> = search.ranges.iter().map(|(key, range)| range.grid(key, args.points as usize)).collect();
    let cases = cases(&search, &axes, &policies)?;
    let root = args.goal.seed.unwrap_or(file.seed);
    let seeds = seeds(root, "sweep", args.repeat);
    let plan =
        search.plan("sweep", &json!({"points": args.points, "seeds": args.repeat, "seed": root, "policies": policies}));
    let pool = pool(&args.workers)?;
    let journal = journal(args.goal.out.as_deref(), &format!("{}-sweep", file.name), &plan)?;
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    wait_for_start(&args.start, &stop)?;
    let runs = cases.len() * seeds.len() * file.arms.len();
    let mut bench = Bench::new(vec![search.file()], journal, &stop, runs).of_shard(args.shard).on(pool);
    let found = match bench.run(&cases, &seeds) {
        Ok(found) => found,
        Err(error) => return not_done(error, &bench, &stop),
    };
    if let Some(shard) = args.shard {
        let (count, folder) = (bench.journal().count(), bench.journal().folder().display());
        return print(format!("part {shard}: {} in {folder}; {MERGE}\n", counted(count, "run")).as_bytes());
    }
    if let Some(why) = all_refused(&found) {
        return Err(Failure::usage(format!("{}: no value of the ranges can be run\n{why}", search.shown)));
    }
    let all: Vec<Arm> = found.iter().flat_map(|case| case.arms().iter().cloned()).collect();
    let phase = search.phase(args.goal.phase.as_deref(), &file, &all)?;
    let swept = judged(&search, &file, &axes, &found, &phase, args.repeat);
    let figure = figure(&search, &axes, &found, &swept);
    let picture = bench.journal().write("curve.svg", &figure.to_svg(&Size::FIGURE))?;
    let json = analysis::text::json(&swept).map_err(Failure::because)?;
    bench.journal().write("result.json", &json)?;
    bench.journal().write("result.txt", &text(&search, &swept))?;
    print_as(args.output, &swept, || format!("{}curves: {}\n", text(&search, &swept), picture.display()))?;
    if args.output == Output::Json {
        complain(&format!("curves: {}", picture.display()));
    }
    bench.end(if swept.best.is_some() { End::Done } else { End::Failed })
}

/// `--policy gradient2 --set limit_min=2..50` is `--set arms.gradient2.limit_min=2..50`. Gives the arms that run: those asked for, else
/// those that all ranges are about.
fn of_one_policy(search: &mut Search, policies: &[String]) -> Result<Vec<String>, Failure> {
    if search.ranges.is_empty() {
        return Err(Failure::usage("no --set has a range; write one as limit_min=2..50"));
    }
    if let [policy] = policies {
        for (key, _) in search.ranges.iter_mut().filter(|(key, _)| !key.contains('.')) {
            *key = format!("arms.{policy}.{key}");
        }
    }
    if !policies.is_empty() {
        return Ok(policies.to_vec());
    }
    let arm = |key: &String| Some(key.strip_prefix("arms.")?.split('.').next()?.to_owned());
    let mut arms: Vec<String> =
        search.ranges.iter().map(|(key, _)| arm(key)).collect::<Option<_>>().unwrap_or_default();
    arms.dedup();
    Ok(arms)
}

/// The experiment as it is with the first value of each range, or as it is: one of them must be sound.
fn read_once(search: &Search, policies: &[String]) -> Result<Experiment, Failure> {
    let read = |share: f64| {
        let ranges = search.ranges.iter().map(|(key, range)| format!("{key}={}", range.written(range.at(share))));
        search.experiment(search.set.iter().cloned().chain(ranges).collect(), policies)
    };
    // Some values may not go with others: a least limit above the first one.
    let experiment = read(0.0).or_else(|first| read(0.5).or_else(|_| read(1.0)).map_err(|_| first))?;
    let searched =
        |arm: &&experiment::plan::ArmPlan| arm.hindsight.as_ref().is_some_and(|known| known.searched().is_some());
    match experiment.arms.iter().find(searched) {
        Some(arm) => {
            Err(Failure::usage(format!("{} looks for a value itself: name the arms with --policy", arm.label)))
        }
        None => Ok(experiment),
    }
}

/// `1..3` is whole numbers, unless the parameter is none.
fn whole_numbers(search: &mut Search, file: &Experiment) {
    for (key, range) in &mut search.ranges {
        let of_arm = key.strip_prefix("arms.").and_then(|rest| rest.split_once('.'));
        let Some((label, name)) = of_arm else { continue };
        let arm = file.arms.iter().find(|arm| arm.label == label || arm.policy.name == label);
        let entry = arm.and_then(|arm| catalogue().find(&arm.policy.name));
        let params = entry.map(controllers::Entry::params).unwrap_or_default();
        if params.iter().any(|param| param.name == name && param.kind == ParamKind::Number) {
            range.whole = false;
        }
    }
}

/// One for each place of the grid.
fn cases(search: &Search, axes: &[Grid], policies: &[String]) -> Result<Vec<SweepCase>, Failure> {
    let mut sets: Vec<Vec<String>> = vec![search.set.clone()];
    for axis in axes {
        let with = |set: &Vec<String>, value: &String| [&set[..], &[format!("{}={value}", axis.key)]].concat();
        sets = sets.iter().flat_map(|set| axis.values.iter().map(move |value| with(set, value))).collect();
        if sets.len() > MOST_CASES {
            let message = format!("the grid has over {MOST_CASES} places: fewer --points, or lab tune, which searches");
            return Err(Failure::usage(message));
        }
    }
    Ok(sets.into_iter().map(|set| SweepCase { file: 0, set, arms: policies.to_vec() }).collect())
}

fn all_refused(found: &[CaseFound]) -> Option<&str> {
    found.iter().all(|case| matches!(case, CaseFound::Refused(_))).then_some(())?;
    found.iter().find_map(|case| if let CaseFound::Refused(why) = case { Some(why.as_str()) } else { None })
}

fn judged(search: &Search, file: &Experiment, axes: &[Grid], found: &[CaseFound], phase: &str, seeds: u32) -> Swept {
    let mut points = Vec::new();
    for (number, case) in found.iter().enumerate() {
        let at = place(axes, number);
        match case {
            CaseFound::Refused(why) => points.push(Point { at, refused: Some(why.clone()), ..Point::default() }),
            CaseFound::Ran(arms) => points.extend(arm_names(arms).into_iter().map(|arm| {
                let found = search.goal.found(arms, arm, phase);
                let (arm, mean, holds) = (arm.to_owned(), found.mean(), found.holds());
                Point { at: at.clone(), arm, found, mean, holds, ..Point::default() }
            })),
        }
    }
    let able =
        (0..points.len()).filter(|n| points[*n].refused.is_none() && points[*n].holds && points[*n].mean.is_some());
    let cost = |n: &usize| search.goal.cost(&points[*n].found);
    let best = able.min_by(|a, b| cost(a).total_cmp(&cost(b)));
    let margin = margin(file);
    if let Some(best) = best.map(|best| points[best].found.clone()) {
        for point in points.iter_mut().filter(|point| point.refused.is_none()) {
            point.near_best = search.goal.is_near(&point.found, &best, margin);
        }
    }
    Swept {
        schema: SCHEMA,
        experiment: file.name.clone(),
        phase: phase.to_owned(),
        goal: search.goal.in_words(),
        axes: axes.to_vec(),
        seeds,
        margin,
        points,
        best,
    }
}

/// The values at a place of the grid; the last axis goes through all its values first.
fn place(axes: &[Grid], mut number: usize) -> Vec<String> {
    let mut at = Vec::new();
    for axis in axes.iter().rev() {
        at.push(axis.values[number % axis.values.len()].clone());
        number /= axis.values.len();
    }
    at.reverse();
    at
}

fn text(search: &Search, swept: &Swept) -> String {
    let keys: Vec<&str> = swept.axes.iter().map(|axis| axis.key.as_str()).collect();
    let heads: Vec<&str> = keys.iter().copied().chain(["arm", "mean", "least", "greatest", "holds", ""]).collect();
    let mut table = Table::new(&heads, keys.len() + 1..keys.len() + 5);
    for (number, point) in swept.points.iter().enumerate() {
        let mut row = point.at.clone();
        if point.refused.is_some() {
            row.extend(["-", "-", "-", "-", "-", "not allowed"].map(str::to_owned));
            table.rows.push(row);
            continue;
        }
        let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| search.goal.shown(value));
        let ends = point.found.ends();
        let bound = if point.found.bound { ">= " } else { "" };
        let mark = match (Some(number) == swept.best, point.near_best) {
            (true, _) => "best",
            (false, true) => "as good",
            (false, false) => "",
        };
        let holds = format!("{} of {}", point.found.held, point.found.values.len());
        row.extend([
            scrubbed(&point.arm),
            format!("{bound}{}", shown(point.mean)),
            shown(ends.map(|ends| ends[0])),
            shown(ends.map(|ends| ends[1])),
            holds,
            mark.to_owned(),
        ]);
        table.rows.push(row);
    }
    let mut text = format!("{} in {}, {} seeds a value\n\n", swept.goal, scrubbed(&swept.phase), swept.seeds);
    text += &table.to_text();
    if let Some(why) = swept.points.iter().find_map(|point| point.refused.as_ref()) {
        let _ = writeln!(text, "not allowed: {}", scrubbed(why.lines().next().unwrap_or_default()));
    }
    text.push('\n');
    text + &conclusion(search, swept)
}

/// The best value, and how far from it one may be.
fn conclusion(search: &Search, swept: &Swept) -> String {
    let Some(best) = swept.best.map(|best| &swept.points[best]) else {
        return format!("no value meets the condition with every seed: {}\n", swept.goal);
    };
    let set: Vec<String> =
        swept.axes.iter().zip(&best.at).map(|(axis, value)| format!("{}={value}", axis.key)).collect();
    let mean = best.mean.map_or("-".to_owned(), |mean| search.goal.shown(mean));
    let mut text = format!("best: {} ({}), {mean}\n", set.join(" "), scrubbed(&best.arm));
    for (number, axis) in swept.axes.iter().enumerate() {
        let near: Vec<usize> = swept
            .points
            .iter()
            .filter(|point| point.near_best && point.arm == best.arm)
            .filter_map(|point| axis.values.iter().position(|value| *value == point.at[number]))
            .collect();
        let (Some(least), Some(most)) = (near.iter().min(), near.iter().max()) else { continue };
        let edge = if *least == 0 || most + 1 == axis.values.len() { ", up to the edge of the range" } else { "" };
        let _ = writeln!(
            text,
            "within {:.0} % of it: {} from {} to {}{edge}",
            swept.margin * 100.0,
            axis.key,
            axis.values[*least],
            axis.values[*most]
        );
    }
    text
}

/// The measure over the first range, and what the condition is about beneath it: a line for each arm and value of the other ranges.
fn figure(search: &Search, axes: &[Grid], found: &[CaseFound], swept: &Swept) -> Chart {
    let limited = search.goal.limited().filter(|limited| *limited != search.goal.measure());
    let measures = std::iter::once(search.goal.measure()).chain(limited);
    let first = &axes[0];
    let times = first.values.iter().all(|value| value.ends_with('s'));
    let scale = match first.log {
        true => Scale::Log(first.at.clone()),
        false => Scale::Linear([first.at[0], first.at[first.at.len() - 1]]),
    };
    let unit = if times { " (s)" } else { "" };
    Chart {
        title: format!("{}: {} in {}, mean of {} seeds", swept.experiment, swept.goal, swept.phase, swept.seeds),
        across: ChartAxis { title: format!("{}{unit}", first.key), scale, ..ChartAxis::default() },
        panels: measures.map(|measure| panel(measure, axes, found, &swept.phase)).collect(),
        notes: Vec::new(),
    }
}

fn panel(measure: &PhaseMeasure, axes: &[Grid], found: &[CaseFound], phase: &str) -> ChartPanel {
    let mut lines: Vec<ChartLine> = Vec::new();
    for (number, case) in found.iter().enumerate() {
        let at = place(axes, number);
        let x = axes[0].values.iter().position(|value| *value == at[0]).map_or(0.0, |index| axes[0].at[index]);
        for arm in arm_names(case.arms()) {
            let others = axes[1..].iter().zip(&at[1..]);
            let others: String = others.map(|(axis, value)| format!(", {} {value}", last_word(&axis.key))).collect();
            let name = format!("{arm}{others}");
            let point = (x, mean(&goal::values(measure, case.arms(), arm, phase)));
            let known = lines.len();
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => {
                    lines.push(ChartLine { name, colour: Some(known), points: vec![point], ..ChartLine::default() });
                }
            }
        }
    }
    let unit = if measure.is_time() { " (ms)" } else { "" };
    ChartPanel { title: format!("{}{unit}", measure.text()), lines, ..ChartPanel::default() }
}

fn last_word(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Over seeds; of some that are bounds it is one.
fn mean(values: &[Option<Drawn>]) -> Option<Drawn> {
    let values: Vec<Drawn> = values.iter().copied().collect::<Option<_>>()?;
    let at = values.iter().map(|value| value.at).sum::<f64>() / values.len() as f64;
    (!values.is_empty()).then(|| Drawn { at, at_least: values.iter().any(|value| value.at_least) })
}
