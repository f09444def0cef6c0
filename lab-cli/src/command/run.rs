//! `lab run`.

#[cfg(feature = "live")]
use std::sync::Arc;
use std::{
    io::{IsTerminal, Write as _},
    path::Path,
};

use analysis::{
    chart::Size,
    report::{RunFiles, html},
    series,
    summary::{ComparisonVerdict, DecisionEnd, RunSummary, SequentialOutcome, ThresholdResult, Validity, deciding},
};
use experiment::{Changes, Experiment};

#[cfg(feature = "live")]
use super::terminal::{has_view, of_one_run};
use super::{
    destination,
    input::read_experiment,
    share::{check_agents, share, start},
    stdout::print_as,
};
use crate::{
    args::{self, Colours, Output},
    exit::{CommandResult, End, Failure, complain},
    run::{
        Cpus, Finished, Interventions, RunFailure, RunRequest, RunShare, Sinks, StopSignal, conduct, look_before,
        progress::ProgressLines,
    },
    screens::restore,
};

pub fn run(args: &args::RunArgs, colours: Colours) -> CommandResult {
    let one_place =
        [("--out", &args.out), ("--svg", &args.svg), ("--series", &args.series), ("--curves", &args.curves)];
    if let Some((flag, _)) = one_place.iter().find(|(_, path)| path.is_some() && args.experiments.len() > 1) {
        let message = format!("{flag} names one place, and there are several experiments: run them one by one");
        return Err(Failure::usage(message));
    }
    let changes = Changes {
        set: of_one_policy(&args.set, &args.policies),
        policies: args.policies.clone(),
        seed: args.seed,
        repeat: args.repeat,
        virtual_time: args.virtual_time,
        ..Changes::default()
    };
    // All of them are read before any runs: a slip in the third must not cost the time of the first two.
    let experiments: Vec<Experiment> =
        args.experiments.iter().map(|name| read_experiment(name, &changes)).collect::<Result<_, _>>()?;
    all(&experiments, args, colours)
}

/// `--policy seda --set target=5ms` is `--set arms.seda.target=5ms`, as for lab sweep, tune and proxy; a table is the file's.
fn of_one_policy(set: &[String], policies: &[String]) -> Vec<String> {
    let [policy] = policies else { return set.to_vec() };
    let rows = installed::catalogue().find(policy).map(|entry| entry.rows(None)).unwrap_or_default();
    let is_its = |key: &str, value: &str| !value.starts_with('{') && rows.iter().any(|row| row.name == key);
    let whole = |assignment: &String| match assignment.split_once('=') {
        Some((key, value)) if is_its(key, value) => format!("arms.{policy}.{assignment}"),
        _ => assignment.clone(),
    };
    set.iter().map(whole).collect()
}

/// Runs them one after the other.
pub(super) fn all(experiments: &[Experiment], args: &args::RunArgs, colours: Colours) -> CommandResult {
    if let Some(only) = experiments.iter().find(|experiment| !args.virtual_time && experiment.virtual_only()) {
        return Err(Failure::usage(format!("{} runs in virtual time alone: add --virtual", only.name)));
    }
    if !args.virtual_time && !cfg!(feature = "live") {
        return Err(RunFailure::VirtualBuild.into());
    }
    for experiment in experiments {
        check_agents(experiment, args)?;
        if !args.virtual_time {
            destination::may_run(experiment, &args.allow_host)?;
        } else if let Some(why) = experiment.live_only() {
            return Err(RunFailure::LiveOnly { name: experiment.name.clone(), why }.into());
        }
    }
    let shares: Vec<Option<RunShare>> =
        experiments.iter().map(|experiment| share(experiment, args)).collect::<Result<_, _>>()?;
    // Parts of the users wait for it with all made ready.
    let start = if shares.iter().flatten().any(|share| share.users().is_some()) { None } else { start(&args.start)? };
    #[cfg(feature = "live")]
    let sender = crate::agents::sender(&args.agents, args.shard, args.listen)?;
    let cpus = Cpus::choose();
    if !args.virtual_time {
        cpus.pin_generator();
        look(&cpus, experiments)?;
    }
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    let mut worst = End::Done;
    if let Some(start) = start {
        start.wait(|| stop.is_asked());
    }
    for (experiment, share) in experiments.iter().zip(shares) {
        let request = RunRequest { share, ..asked(experiment, args, &cpus) };
        #[cfg(feature = "live")]
        let request = RunRequest { sender: Arc::clone(&sender), ..request };
        let finished = one(request, args, colours, &stop);
        // Whatever could not be carried out because of the interrupt, the interrupt is why.
        if let Some(end) = stop.end() {
            if let Err(Failure::Cause(message)) = finished {
                complain(&message);
            }
            return Ok(end);
        }
        let summary = finished?.summary;
        let undecided = experiment.compare.decide && is_undecided(&summary);
        worst = worst.max(end_of(&summary)).max(if undecided { End::Failed } else { End::Done });
        // Whatever gates make of the arms before it.
        if args.fail_fast && summary.arms.iter().any(|arm| arm.verdict == Validity::Invalid) {
            return Ok(if worst == End::Done { End::Invalid } else { worst });
        }
    }
    Ok(worst)
}

/// Before the first arm: says if others have the processors, and asks a person whether to go on.
pub(super) fn look<'a>(cpus: &Cpus, experiments: impl IntoIterator<Item = &'a Experiment>) -> Result<(), Failure> {
    let lasts = experiments.into_iter().map(Experiment::planned_time).sum();
    let Some(found) = look_before(cpus, lasts) else { return Ok(()) };
    complain(&found);
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(());
    }
    let mut answer = String::new();
    let _ = write!(std::io::stderr(), "lab: go on all the same? [y/N] ");
    std::io::stdin().read_line(&mut answer)?;
    let goes_on = matches!(answer.trim(), "y" | "Y" | "yes");
    if goes_on { Ok(()) } else { Err(Failure::because("nothing was run")) }
}

fn asked<'a>(experiment: &'a Experiment, args: &'a args::RunArgs, cpus: &'a Cpus) -> RunRequest<'a> {
    let fail_fast = args.fail_fast;
    RunRequest { fail_fast, ..RunRequest::unattended(experiment, args.out.as_deref(), cpus, args.virtual_time) }
}

fn one(
    request: RunRequest<'_>,
    args: &args::RunArgs,
    colours: Colours,
    stop: &StopSignal,
) -> Result<Finished, Failure> {
    let mut sinks = Sinks::default();
    let touches = Interventions::default();
    #[cfg(feature = "live")]
    let screen = view_wanted(args).then(|| of_one_run(colours, stop, &touches, &mut sinks)).transpose()?;
    #[cfg(not(feature = "live"))]
    let screen: Option<()> = None;
    if screen.is_none() {
        sinks.add(ProgressLines::default());
    }
    let request = RunRequest { live_view: screen.is_some(), touches, ..request };
    let outcome = conduct(request, &mut sinks, stop);
    // Gives the terminal back before anything is printed.
    drop((sinks, screen));
    let finished = outcome?;
    over_time(&finished.folder, args)?;
    let Finished { summary, folder } = &finished;
    print_as(args.output, summary, || analysis::report::text(summary, args.details) + &where_it_is(folder))?;
    Ok(finished)
}

/// `--svg`, `--curves` and `--series`: from the results folder, like everything that is made of a run.
fn over_time(folder: &Path, args: &args::RunArgs) -> Result<(), Failure> {
    if args.svg.is_none() && args.curves.is_none() && args.series.is_none() {
        return Ok(());
    }
    let Some(run) = RunFiles::read(folder).map_err(Failure::because)? else { return Ok(()) };
    let write = |path: &Path, text: &str| std::fs::write(path, text).map_err(Failure::at(path));
    if let Some(path) = &args.series {
        write(path, &series::rows(&run.timeline))?;
    }
    if let Some(path) = &args.curves {
        match html::chart_over_load(&run) {
            Some(chart) => write(path, &chart.to_svg(&Size::FILE))?,
            None => complain("--curves: there are fewer than three loads, so that there is no curve to draw"),
        }
    }
    if let Some(path) = &args.svg {
        write(path, &html::chart_over_time(&run).to_svg(&Size::FILE))?;
    }
    Ok(())
}

/// The live view needs a terminal to draw on, one that nobody reads results from, and a run that takes its time.
#[cfg(feature = "live")]
fn view_wanted(args: &args::RunArgs) -> bool {
    !args.no_tui && !args.virtual_time && args.output == Output::Text && has_view()
}

/// The folder of a run, and how to see more of it.
pub(super) fn where_it_is(folder: &Path) -> String {
    format!("details: lab report {0} (--format text --details)\nresults: {0}\n", folder.display())
}

pub(super) fn end_of(summary: &RunSummary) -> End {
    let valid = summary.verdict != Validity::Invalid;
    // Of an INVALID run those thresholds alone are judged that its verdict leaves standing; one that ended it is not among them.
    let stands = |threshold: &ThresholdResult| valid || threshold.judged && threshold.aborted.is_none();
    let failed = summary.thresholds.iter().any(|threshold| !threshold.held && stands(threshold));
    if failed || summary.nothing_served() {
        End::Failed
    } else if valid {
        End::Done
    } else {
        End::Invalid
    }
}

/// No decision: of the metric that decides, an arm's difference from the baseline is not known, or nothing was compared
/// at all.
fn is_undecided(summary: &RunSummary) -> bool {
    let deciding = deciding(&summary.comparisons);
    let is_open = |decision: &SequentialOutcome| decision.ended != Some(DecisionEnd::Decided);
    summary.decision.as_ref().is_some_and(is_open)
        || deciding.is_empty()
        || deciding.iter().any(|comparison| comparison.verdict == ComparisonVerdict::Undecided)
}
