//! `lab tune --suite`: a policy's score over the scenarios of a suite with its authors' defaults, with one setting for all, and with one for each.
//!
//! The one setting is looked for with training seeds in half of the scenarios, drawn by the seed, from the defaults on; that of a scenario with
//! training seeds in it alone, from the better of both. All three are scored with held-out seeds in all scenarios.

use std::{collections::BTreeMap, path::Path};

use analysis::{
    report::tuned as report,
    sha256,
    suite::{SUITE_SCHEMA, SuiteCell, SuiteRow, TunedRow, TunedSuite, cell_of, no_cell},
    summary::Arm,
};
use controllers::seed_for;
use experiment::plan::ArmPlan;
use serde_json::json;

use crate::{
    args::{TuneArgs, TuneOutput},
    command::{
        search::{chosen, journal, not_done, parted},
        share::wait_for_start,
        stdout::{print, print_json},
        suite::{
            arms::{known, written},
            scenario::{self, BOUND, Scenario, ScenarioSource},
        },
    },
    exit::{CommandResult, End, Failure},
    run::StopSignal,
    screens::restore,
    sweep::{Bench, BenchError, CaseFound, Knob, KnobSearch, Seed, Spread, SweepCase, SweepFile, seeds},
    workers::pool,
};

/// A policy and what is turned of it.
#[derive(Debug)]
struct Contender {
    name: String,
    knobs: Vec<Knob>,
}

/// A setting in a scenario, by number: values of the knobs; none: the defaults.
type Try<'a> = (usize, &'a [String]);

pub fn tune_over_suite(args: &TuneArgs) -> CommandResult {
    let (single, ranges) = parted(&args.set)?;
    if let Some(set) = single.first() {
        return Err(Failure::usage(format!("--set {set}: with --suite it is a range of a parameter, KEY=A..B")));
    }
    let contenders = contenders(&args.policies, &ranges)?;
    let folder = args.experiment.as_deref().map(Path::new);
    let source = ScenarioSource { folder, random: None, seed: None, repeat: 1 };
    let mut scenarios = scenario::read(&source, &args.policies)?;
    scenarios.retain(|scenario| scenario.unscored.is_none());
    if scenarios.is_empty() {
        return Err(Failure::usage("no scenario has a score: there is nothing to tune by"));
    }
    let root = args.goal.seed.unwrap_or(1);
    let texts: Vec<String> = scenarios.iter().map(|scenario| sha256::of(scenario.text.as_bytes())).collect();
    let plan = json!({"search": "tune-suite", "lab": env!("CARGO_PKG_VERSION"), "files": texts, "set": args.set,
        "policies": args.policies, "evaluations": args.evaluations, "training": args.training, "seed": root});
    let pool = pool(&args.workers)?;
    let journal = journal(args.goal.out.as_deref(), "suite-tune", &plan)?;
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    wait_for_start(&args.start, &stop)?;
    let files = scenarios.iter().map(|of| SweepFile { name: of.name(), text: &of.text, folder: &of.folder }).collect();
    let searched = half(&scenarios, root);
    let mut tuning = SuiteTuning {
        bench: Bench::new(files, journal, &stop, runs(&contenders, scenarios.len(), searched.len(), args)).on(pool),
        scenarios: &scenarios,
        training: seeds(root, "training", args.training),
        held_out: seeds(root, "held-out", args.held_out),
        searched: &searched,
        evaluations: args.evaluations,
        root,
    };
    let rows = contenders.iter().map(|of| tuning.row(of)).collect::<Result<Vec<_>, _>>();
    let rows = match rows {
        Ok(rows) => rows,
        Err(error) => return not_done(error, &tuning.bench, &stop),
    };
    let names = |numbers: &[usize]| numbers.iter().map(|number| scenarios[*number].name().to_owned()).collect();
    let tuned = TunedSuite {
        schema: SUITE_SCHEMA,
        lab: env!("CARGO_PKG_VERSION").to_owned(),
        evaluations: args.evaluations,
        training: args.training,
        held_out: args.held_out,
        scenarios: names(&(0..scenarios.len()).collect::<Vec<_>>()),
        searched: names(&searched),
        rows,
    };
    let json = analysis::text::json(&tuned).map_err(Failure::because)?;
    let (text, markdown) = (report::text(&tuned), report::markdown(&tuned));
    let journal = tuning.bench.journal();
    for (file, text) in [("result.json", &json), ("result.txt", &text), ("result.md", &markdown)] {
        journal.write(file, text)?;
    }
    match args.output {
        TuneOutput::Json => print_json(&tuned)?,
        TuneOutput::Md => print(markdown.as_bytes())?,
        TuneOutput::Text => print(format!("{text}search: {}\n", journal.folder().display()).as_bytes())?,
    };
    tuning.bench.end(End::Done)
}

/// The policies, each with its knobs: those with a range, else all.
fn contenders(policies: &[String], ranges: &[(String, Spread)]) -> Result<Vec<Contender>, Failure> {
    let of_arm = |policy: &str| format!("arms.{policy}.");
    let stray = ranges.iter().find(|(key, _)| !policies.iter().any(|policy| key.starts_with(&of_arm(policy))));
    if let Some((key, _)) = stray.filter(|_| policies.len() > 1) {
        let first = &policies[0];
        return Err(Failure::usage(format!(
            "--set {key}: of several policies say whose it is: arms.{first}.{key}=A..B"
        )));
    }
    let contender = |policy: &String| {
        let arm = ArmPlan { label: policy.clone(), policy: known(policy)?, ..ArmPlan::none() };
        let own = |(key, _): &&(String, Spread)| policies.len() == 1 || key.starts_with(&of_arm(policy));
        let own: Vec<(String, Spread)> = ranges.iter().filter(own).cloned().collect();
        // What has nothing to turn is scored as it is.
        let knobs = if own.is_empty() { chosen(&own, &arm).unwrap_or_default() } else { chosen(&own, &arm)? };
        Ok(Contender { name: policy.clone(), knobs })
    };
    policies.iter().map(contender).collect()
}

/// Half of the scenarios, drawn by the seed, in their order.
fn half(scenarios: &[Scenario], root: u64) -> Vec<usize> {
    let mut drawn: Vec<usize> = (0..scenarios.len()).collect();
    drawn.sort_by_key(|number| seed_for(root, &format!("half {}", scenarios[*number].name())));
    drawn.truncate(scenarios.len().div_ceil(2));
    drawn.sort_unstable();
    drawn
}

/// About how many runs there will be, bounds included.
fn runs(contenders: &[Contender], scenarios: usize, searched: usize, args: &TuneArgs) -> usize {
    let [evaluations, training, held_out] = [args.evaluations, args.training, args.held_out].map(|n| n as usize);
    let of_one = |of: &Contender| match of.knobs.len() {
        0 => scenarios * held_out,
        _ => evaluations * training * (searched + scenarios) + 3 * scenarios * held_out,
    };
    contenders.iter().map(of_one).sum::<usize>() + scenarios * (training + held_out)
}

/// A search under way.
struct SuiteTuning<'a> {
    bench: Bench<'a>,
    scenarios: &'a [Scenario],
    training: Vec<Seed>,
    held_out: Vec<Seed>,
    /// Scenarios in which the one setting is looked for.
    searched: &'a [usize],
    evaluations: u32,
    root: u64,
}

impl SuiteTuning<'_> {
    fn row(&mut self, of: &Contender) -> Result<TunedRow, BenchError> {
        let all: Vec<usize> = (0..self.scenarios.len()).collect();
        let all: Vec<usize> = all.into_iter().filter(|number| self.sits(of, *number)).collect();
        let searched: Vec<usize> = self.searched.iter().copied().filter(|number| self.sits(of, *number)).collect();
        let one = self.best(of, &of.knobs, &searched, "suite")?;
        let mut each: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for number in &all {
            let from = self.better_start(of, *number, &one)?;
            let found = self.best(of, &from, &[*number], self.scenarios[*number].name())?;
            each.insert(*number, found);
        }
        let defaults = self.held_out(of, |_| &[])?;
        let (of_one, of_each) = match of.knobs.len() {
            0 => (defaults.clone(), defaults.clone()),
            _ => (self.held_out(of, |_| one.as_slice())?, self.held_out(of, |number| each[&number].as_slice())?),
        };
        let named = |values: &[String]| -> BTreeMap<String, String> {
            of.knobs.iter().map(|knob| knob.name.clone()).zip(values.iter().cloned()).collect()
        };
        let settings = each.iter().map(|(number, values)| (self.scenarios[*number].name().to_owned(), named(values)));
        Ok(TunedRow {
            policy: of.name.clone(),
            knobs: of.knobs.iter().map(|knob| knob.name.clone()).collect(),
            price: TunedRow::price_of(&of_one, &of_each),
            setting: named(&one),
            settings: settings.collect(),
            defaults,
            one: of_one,
            each: of_each,
        })
    }

    fn sits(&self, of: &Contender, number: usize) -> bool {
        !self.scenarios[number].left_out.contains_key(&of.name)
    }

    /// The knobs as the defaults have them, or as this setting for all scenarios has them, where that is better in this one by training seeds.
    fn better_start(&mut self, of: &Contender, number: usize, one: &[String]) -> Result<Vec<Knob>, BenchError> {
        let training = self.training.clone();
        let cells = self.cells(of, &[(number, &[]), (number, one)], &training)?;
        let [defaults, other] = [0, 1].map(|at| self.cost(of, &[number], &cells[at..=at]));
        if one.is_empty() || other >= defaults {
            return Ok(of.knobs.clone());
        }
        let turned = |(knob, value): (&Knob, &String)| Knob { value: knob.spread.read(value), ..knob.clone() };
        Ok(of.knobs.iter().zip(one).map(turned).collect())
    }

    /// The setting with the highest geometric mean over these scenarios, by training seeds, from where these knobs are; none where
    /// nothing can be turned, or no setting can run.
    fn best(
        &mut self,
        of: &Contender,
        knobs: &[Knob],
        scenarios: &[usize],
        name: &str,
    ) -> Result<Vec<String>, BenchError> {
        if knobs.is_empty() {
            return Ok(Vec::new());
        }
        let seed = seed_for(self.root, &format!("{} in {name}", of.name));
        let search = KnobSearch { knobs, evaluations: self.evaluations, seed };
        let training = self.training.clone();
        let found = search.run(|settings| {
            let tries: Vec<Try<'_>> = settings
                .iter()
                .flat_map(|setting| scenarios.iter().map(move |number| (*number, setting.as_slice())))
                .collect();
            let cells = self.cells(of, &tries, &training)?;
            Ok(cells.chunks(scenarios.len().max(1)).map(|cells| self.cost(of, scenarios, cells)).collect())
        })?;
        Ok(found.unwrap_or_default())
    }

    /// Infinite if the setting cannot run in one of the scenarios.
    fn cost(&self, of: &Contender, scenarios: &[usize], cells: &[SuiteCell]) -> f64 {
        let row = self.suite_row(of, scenarios, cells);
        if row.scored < scenarios.len() {
            f64::INFINITY
        } else {
            row.geometric_mean.map_or(f64::INFINITY, |mean| -mean)
        }
    }

    /// Scores with held-out seeds in all scenarios; where the policy has no place it has a cell without a score.
    fn held_out<'s>(
        &mut self,
        of: &Contender,
        setting: impl Fn(usize) -> &'s [String],
    ) -> Result<SuiteRow, BenchError> {
        let sits: Vec<usize> = (0..self.scenarios.len()).filter(|number| self.sits(of, *number)).collect();
        let tries: Vec<Try<'_>> = sits.iter().map(|number| (*number, setting(*number))).collect();
        let held_out = self.held_out.clone();
        let cells = self.cells(of, &tries, &held_out)?;
        Ok(self.suite_row(of, &sits, &cells))
    }

    fn suite_row(&self, of: &Contender, scenarios: &[usize], cells: &[SuiteCell]) -> SuiteRow {
        let names: Vec<String> = scenarios.iter().map(|number| self.scenarios[*number].name().to_owned()).collect();
        SuiteRow::of(&of.name, names.iter().cloned().zip(cells.iter().cloned()).collect(), &names)
    }

    /// Cells of settings in scenarios, in this order.
    fn cells(&mut self, of: &Contender, tries: &[Try<'_>], seeds: &[Seed]) -> Result<Vec<SuiteCell>, BenchError> {
        let mut bounds: BTreeMap<usize, Vec<Arm>> = BTreeMap::new();
        for (number, _) in tries {
            if !bounds.contains_key(number) {
                bounds.insert(*number, self.bounds(*number, seeds)?);
            }
        }
        let cases: Vec<SweepCase> = tries.iter().map(|(number, values)| self.case(of, *number, values)).collect();
        let ran = self.bench.run(&cases, seeds)?;
        let cell = |(found, (number, _)): (CaseFound, &Try<'_>)| match found {
            CaseFound::Ran(arms) => cell_of(arms, &bounds[number]),
            CaseFound::Refused(why) => no_cell(&why),
        };
        Ok(ran.into_iter().zip(tries).map(cell).collect())
    }

    fn case(&self, of: &Contender, number: usize, values: &[String]) -> SweepCase {
        let settings: Vec<String> =
            of.knobs.iter().zip(values).map(|(knob, value)| format!("{}: {value}", knob.name)).collect();
        let arm = written(&of.name, &self.scenarios[number].place, &settings);
        SweepCase { file: number, set: vec![format!("arms=[{arm}]")], arms: Vec::new() }
    }

    /// The bound of each seed; none where every arm has its own.
    fn bounds(&mut self, number: usize, seeds: &[Seed]) -> Result<Vec<Arm>, BenchError> {
        if self.scenarios[number].experiment.gives_tasks() {
            return Ok(Vec::new());
        }
        let case = SweepCase { file: number, set: vec![format!("arms=[none, {BOUND}]")], arms: vec![BOUND.to_owned()] };
        match self.bench.run(&[case], seeds)?.pop() {
            Some(CaseFound::Ran(arms)) => Ok(arms),
            Some(CaseFound::Refused(why)) => {
                Err(BenchError::Said(Failure::because(format!("{}: {why}", self.scenarios[number].name()))))
            }
            None => Ok(Vec::new()),
        }
    }
}
