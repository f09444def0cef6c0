//! `lab tune`: the best parameters of a policy, by CMA-ES over their declared ranges.
//!
//! Settings are tried with training seeds. What is said of the winner comes from held-out seeds, which the search has never seen: its regret
//! against the oracle, and whether it is better than the arm as it is. Around the winner each parameter is turned alone, which
//! shows the region in which it makes no difference in practice.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{chart::Size, goal::GoalFound, summary::Arm};
use controllers::seed_for;
use experiment::Experiment;
use serde_json::json;

use super::{
    search::{Search, chosen, journal, margin, not_done},
    share::wait_for_start,
    stdout::print_as,
};
use crate::{
    args::{Output, TuneArgs, TuneOutput},
    exit::{CommandResult, End, Failure},
    run::StopSignal,
    screens::restore,
    sweep::{Bench, BenchError, CaseFound, Knob, KnobSearch, Seed, SweepCase, seeds},
    workers::pool,
};

mod over_suite;
mod result;

use over_suite::tune_over_suite;
use result::{HeldOut, Slice, SlicePoint, Tuned, TunedKnob};

/// Places of a slice, beside the winner's own.
const SLICE: usize = 9;

pub fn tune(args: &TuneArgs) -> CommandResult {
    if args.suite {
        return tune_over_suite(args);
    }
    let policy = match &args.policies[..] {
        [policy] => policy.as_str(),
        _ => return Err(Failure::usage("--policy: one at a time is tuned on a file; several with --suite")),
    };
    let output = match args.output {
        TuneOutput::Text => Output::Text,
        TuneOutput::Json => Output::Json,
        TuneOutput::Md => return Err(Failure::usage("--output md is for --suite; text or json here")),
    };
    let search = Search::read(args.experiment.as_deref().unwrap_or_default(), &args.set, &args.goal)?;
    let file = file(&search, policy)?;
    let arm = &file.arms[0];
    let knobs = chosen(&search.ranges, arm)?;
    let root = args.goal.seed.unwrap_or(file.seed);
    let plan = search.plan(
        "tune",
        &json!({"policy": policy, "evaluations": args.evaluations, "training": args.training, "seed": root,
               "for": search.goal.in_words(), "phase": args.goal.phase}),
    );
    let pool = pool(&args.workers)?;
    let journal = journal(args.goal.out.as_deref(), &format!("{}-tune-{}", file.name, arm.label), &plan)?;
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    wait_for_start(&args.start, &stop)?;
    let tried = args.evaluations as usize + knobs.len() * SLICE;
    let runs = tried * args.training as usize + 4 * args.held_out as usize;
    let mut tuning = Tuning {
        bench: Bench::new(vec![search.file()], journal, &stop, runs).on(pool),
        search: &search,
        policy,
        args,
        file: &file,
        knobs: &knobs,
        training: seeds(root, "training", args.training),
        phase: None,
        tried: BTreeMap::new(),
        refused: BTreeSet::new(),
    };
    let tuned = match tuning.all(root) {
        Ok(tuned) => tuned,
        Err(error) => return not_done(error, &tuning.bench, &stop),
    };
    let yaml = tuned.yaml(arm);
    let journal = tuning.bench.journal();
    for (number, knob) in tuned.knobs.iter().enumerate() {
        journal.write(&format!("slice-{}.svg", knob.name), &tuned.slice_figure(number).to_svg(&Size::FIGURE))?;
    }
    let json = analysis::text::json(&tuned).map_err(Failure::because)?;
    journal.write("result.json", &json)?;
    let text = tuned.text(&search.goal);
    journal.write("result.txt", &text)?;
    let winner = journal.write("winner.yaml", &yaml)?;
    print_as(output, &tuned, || format!("{text}\n{yaml}\nwinner: {}\n", winner.display()))?;
    tuning.bench.end(if tuned.holds { End::Done } else { End::Failed })
}

/// The file with the arm alone.
fn file(search: &Search, policy: &str) -> Result<Experiment, Failure> {
    let file = search.experiment(search.set.clone(), &[policy.to_owned()])?;
    match &file.arms[..] {
        [arm] if arm.hindsight.is_none() => Ok(file),
        [arm, ..] if arm.hindsight.is_some() => {
            Err(Failure::usage(format!("{} is a bound, and has nothing to tune", arm.label)))
        }
        arms => {
            let labels: Vec<&str> = arms.iter().map(|arm| arm.label.as_str()).collect();
            Err(Failure::usage(format!("--policy {policy} is several arms; say which: {}", labels.join(", "))))
        }
    }
}

/// A search under way.
struct Tuning<'a> {
    bench: Bench<'a>,
    search: &'a Search,
    policy: &'a str,
    args: &'a TuneArgs,
    file: &'a Experiment,
    knobs: &'a [Knob],
    training: Vec<Seed>,
    /// The one that decides, once it is known.
    phase: Option<String>,
    /// Settings that were tried, by values as they are written.
    tried: BTreeMap<Vec<String>, GoalFound>,
    /// Settings whose values do not go together.
    refused: BTreeSet<Vec<String>>,
}

impl Tuning<'_> {
    fn all(&mut self, root: u64) -> Result<Tuned, BenchError> {
        // As it is, before anything is turned: an arm that cannot run says why at once.
        if let CaseFound::Refused(why) = self.as_it_is(&self.training.clone())? {
            return Err(BenchError::Said(Failure::usage(format!("{}: {why}", self.search.shown))));
        }
        let search = KnobSearch { knobs: self.knobs, evaluations: self.args.evaluations, seed: seed_for(root, "tune") };
        search.run(|written| self.costs(written))?;
        let goal = &self.search.goal;
        let cost = |found: &GoalFound| goal.cost(found);
        let best = self.tried.iter().min_by(|(_, a), (_, b)| cost(a).total_cmp(&cost(b)));
        let Some((winner, found)) = best.map(|(values, found)| (values.clone(), found.clone())) else {
            return Err(BenchError::Said(Failure::usage("no setting could be run: its parameters do not go together")));
        };
        let margin = margin(self.file);
        let near = self.tried.values().filter(|other| goal.is_near(other, &found, margin)).count();
        let (tried, refused) = (self.tried.len(), self.refused.len());
        let slices = self.slices(&winner)?;
        let held_out = self.held_out(&winner, root)?;
        let knobs = self.knobs.iter().zip(&winner).zip(slices);
        let knobs =
            knobs.map(|((knob, value), slice)| TunedKnob::of(knob, value, slice, &found, goal, margin)).collect();
        Ok(Tuned {
            schema: result::SCHEMA,
            experiment: self.file.name.clone(),
            arm: self.file.arms[0].label.clone(),
            policy: self.file.arms[0].policy.name.clone(),
            phase: self.phase.clone().unwrap_or_default(),
            goal: goal.in_words(),
            tried,
            refused,
            near_best: near,
            margin,
            holds: found.holds() && held_out.winner.holds(),
            training: found,
            knobs,
            held_out,
        })
    }

    fn costs(&mut self, written: &[Vec<String>]) -> Result<Vec<f64>, BenchError> {
        let found = self.try_all(written)?;
        let cost = |found: &Option<GoalFound>| found.as_ref().map_or(f64::INFINITY, |of| self.search.goal.cost(of));
        Ok(found.iter().map(cost).collect())
    }

    /// Tries settings with the training seeds; `None`: their values do not go together.
    fn try_all(&mut self, written: &[Vec<String>]) -> Result<Vec<Option<GoalFound>>, BenchError> {
        let cases: Vec<SweepCase> = written.iter().map(|values| self.case(values)).collect();
        let ran = self.bench.run(&cases, &self.training)?;
        let mut all = Vec::new();
        for (values, case) in written.iter().zip(&ran) {
            let found = match case {
                CaseFound::Refused(_) => None,
                CaseFound::Ran(arms) => Some(self.judged(arms)?),
            };
            match &found {
                Some(found) => _ = self.tried.insert(values.clone(), found.clone()),
                None => _ = self.refused.insert(values.clone()),
            }
            all.push(found);
        }
        Ok(all)
    }

    fn judged(&mut self, arms: &[Arm]) -> Result<GoalFound, BenchError> {
        let phase = match &self.phase {
            Some(phase) => phase.clone(),
            None => self.search.phase(self.args.goal.phase.as_deref(), self.file, arms).map_err(BenchError::Said)?,
        };
        let found = self.search.goal.found(arms, self.label(), &phase);
        self.phase = Some(phase);
        Ok(found)
    }

    fn label(&self) -> &str {
        &self.file.arms[0].label
    }

    fn case(&self, values: &[String]) -> SweepCase {
        let label = self.label();
        let turned = self.knobs.iter().zip(values).map(|(knob, value)| format!("arms.{label}.{}={value}", knob.name));
        let set = self.search.set.iter().cloned().chain(turned).collect();
        SweepCase { set, arms: vec![label.to_owned()], file: 0 }
    }

    fn as_it_is(&mut self, seeds: &[Seed]) -> Result<CaseFound, BenchError> {
        let case = SweepCase { set: self.search.set.clone(), arms: vec![self.policy.to_owned()], file: 0 };
        let mut ran = self.bench.run(&[case], seeds)?;
        Ok(ran.swap_remove(0))
    }

    /// Each parameter alone over its range, the others as the winner has them.
    fn slices(&mut self, winner: &[String]) -> Result<Vec<Slice>, BenchError> {
        let mut slices = Vec::new();
        for (number, knob) in self.knobs.iter().enumerate() {
            let mut axis = knob.spread.grid(&knob.name, SLICE);
            // And what was tried with the others as they are, the winner itself first of all.
            let beside = |values: &&Vec<String>| (0..winner.len()).all(|at| at == number || values[at] == winner[at]);
            for value in self.tried.keys().filter(beside).map(|values| &values[number]) {
                let Some(at) = knob.spread.read(value).filter(|_| !axis.values.contains(value)) else { continue };
                let place = axis.at.iter().take_while(|other| **other < at).count();
                axis.at.insert(place, at);
                axis.values.insert(place, value.clone());
            }
            let with = |value: &String| {
                let mut values = winner.to_vec();
                values[number].clone_from(value);
                values
            };
            let written: Vec<Vec<String>> = axis.values.iter().map(with).collect();
            let found = self.try_all(&written)?;
            let points = axis.at.iter().zip(&axis.values).zip(found);
            let point = |((at, value), found): ((&f64, &String), Option<GoalFound>)| SlicePoint {
                at: *at,
                value: value.clone(),
                mean: found.as_ref().and_then(GoalFound::mean),
                found,
            };
            slices.push(Slice { log: axis.log, points: points.map(point).collect() });
        }
        Ok(slices)
    }

    /// The winner, the arm as it is, and the oracle, with seeds that the search has not seen.
    fn held_out(&mut self, winner: &[String], root: u64) -> Result<HeldOut, BenchError> {
        let seeds = seeds(root, "held-out", self.args.held_out);
        let winner_case = self.case(winner);
        let mut ran = self.bench.run(&[winner_case], &seeds)?;
        let winner_ran = ran.swap_remove(0);
        let as_it_is = self.as_it_is(&seeds)?;
        let oracle = SweepCase { set: self.search.set.clone(), arms: vec!["oracle".to_owned()], file: 0 };
        let oracle = self.bench.run(&[oracle], &seeds)?.swap_remove(0);
        let phase = self.phase.clone().unwrap_or_default();
        let found = |case: &CaseFound, label: &str| self.search.goal.found(case.arms(), label, &phase);
        let label = self.label();
        let known_oracle = matches!(oracle, CaseFound::Ran(_)).then(|| found(&oracle, "oracle"));
        Ok(HeldOut::of(
            found(&winner_ran, label),
            found(&as_it_is, label),
            known_oracle.filter(|found| found.mean().is_some()),
            &self.search.goal,
            result::compared(winner_ran.arms(), as_it_is.arms(), &phase, &self.search.goal, self.file.compare.margin),
        ))
    }
}
