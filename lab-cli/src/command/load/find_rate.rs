//! `--find-rate`: the highest rate at which an objective is met, by trials of one rate after the other.

mod search;
mod trial;

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use analysis::{
    arm_metrics,
    judge::gates::{self, limits},
    summary::{CarriedOver, LatencyObjective, SCHEMA, Validity},
    text::{counted, percent, rate, time},
};
use experiment::{
    Experiment,
    plan::{LoadStream, PhasePlan, Rate},
};
use senders::RunOptions;
use serde::Serialize;
use workloads::plan::Target;

use self::{
    search::{Next, Search},
    trial::{Outcome, Trial},
};
use super::{
    super::stdout::{print, print_as},
    conditions::RateObjective,
};
use crate::{
    args::{LoadArgs, LoadOutput, Output},
    exit::{CommandResult, End, Failure, complain},
    run::{
        CarryOver, Door, FinishedLoad, LoadEvent, LoadFolder, LoadRequest, OwnGenerator, StopSignal, load_context,
        run_load,
    },
    screens::restore,
};

/// Requests a second of the first trial, unless -R says otherwise.
const FIRST: f64 = 100.0;
/// The confirmation lasts so many times the shortest trial.
const CONFIRMATION: u32 = 3;
/// After a rate that was too high the service is left alone for so long at least: it may still work on what was given up.
const PAUSE: Duration = Duration::from_secs(2);
/// And for so long at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The reason to end a search whose service does not recover from the last trial.
const CARRIES: &str = "a minute after the last trial the service did not yet answer as before the first: what comes next would be about that trial";

/// The output of `--output json`.
#[derive(Debug, Default, Serialize)]
struct Found {
    schema: u32,
    url: String,
    objective: String,
    /// The highest rate at which the objective was met, and that a run of its own has confirmed. `null`: none.
    rate_per_s: Option<f64>,
    /// Between the highest rate that met it and the lowest that did not; `null` where the search found no such end.
    interval_per_s: [Option<f64>; 2],
    confirmed: bool,
    /// The reason why the search ended before the interval was narrow, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// The verdict of the run that confirms the rate. `null`: no rate was confirmed.
    verdict: Option<Validity>,
    /// The service was asked, and nothing was answered as asked in any trial.
    nothing_served: bool,
    partial: bool,
    trials: Vec<Trial>,
    /// The folder of the run that confirms the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
}

/// The inputs of a search, the same for all of its trials.
struct Finder<'a> {
    args: &'a LoadArgs,
    experiment: Experiment,
    objective: RateObjective,
    target: &'a Target,
    options: &'a RunOptions,
    stop: StopSignal,
    /// The backlog that a trial leaves to the next one.
    carry_over: CarryOver,
}

pub(super) fn find_rate(
    args: &LoadArgs,
    experiment: &Experiment,
    target: &Target,
    options: &RunOptions,
) -> CommandResult {
    if !matches!(args.results.output, LoadOutput::Text | LoadOutput::Json) {
        return Err(Failure::usage("--find-rate prints text or json"));
    }
    if let Some(out) = args.results.out.as_ref().filter(|out| out.exists()) {
        return Err(Failure::usage(format!("{} is there already: name another with --out", out.display())));
    }
    let objective = RateObjective::parse(args.rates.find_rate.as_deref().unwrap_or_default())?;
    if objective.within > args.timeout {
        return Err(Failure::usage("--find-rate: the time is over the time-out: raise --timeout"));
    }
    let mut experiment = experiment.clone();
    let within = objective.within.as_secs_f64() * 1e3;
    experiment.objective =
        LatencyObjective { percentile: 100.0 * (1.0 - objective.may_miss), response_time_ms: within };
    let stop = StopSignal::listen_and_cut(restore).map_err(Failure::because)?;
    let carry_over = CarryOver::by_pages(&experiment.users.model, "/", args.timeout);
    let finder = Finder { args, experiment, objective, target, options, stop, carry_over };
    let found = finder.search()?;
    match args.results.output {
        LoadOutput::Json => print_as(Output::Json, &found, String::new)?,
        _ => print(text(&found).as_bytes())?,
    };
    Ok(finder.stop.end().unwrap_or(match found.verdict {
        _ if found.nothing_served => End::Failed,
        Some(Validity::Invalid) => End::Invalid,
        _ if found.confirmed => End::Done,
        _ => End::Failed,
    }))
}

impl Finder<'_> {
    fn search(&self) -> Result<Found, Failure> {
        let mut search = Search::from(self.args.rates.rate.unwrap_or(FIRST));
        let (url, objective) = (self.args.url.clone(), self.objective.text.clone());
        let mut found = Found { schema: SCHEMA, url, objective, nothing_served: true, ..Found::default() };
        let mut carries = false;
        self.asked();
        loop {
            match search.next() {
                Next::Try(rate) => {
                    let (trial, in_vain) = self.attempt(rate)?;
                    found.nothing_served &= in_vain;
                    search.takes(&trial);
                    found.trials.push(trial);
                }
                Next::Confirm(rate) => {
                    let (finished, trial) = self.confirm(rate)?;
                    found.nothing_served &= finished.summary.nothing_served();
                    if trial.outcome == Outcome::Missed && search.may_go_on() {
                        search.takes(&trial);
                        found.trials.push(trial);
                    } else {
                        found.confirmed = trial.outcome == Outcome::Met;
                        found.verdict = Some(finished.arm().verdict);
                        found.folder = finished.folder.map(|folder| folder.display().to_string());
                        found.rate_per_s = Some(rate).filter(|_| found.confirmed);
                        found.trials.push(trial);
                        break;
                    }
                }
                Next::End => break,
            }
            let missed = found.trials.last().filter(|trial| trial.outcome == Outcome::Missed);
            carries = missed.is_some_and(|trial| !self.settles(trial));
            if carries || self.stop.is_asked() {
                break;
            }
        }
        found.partial = self.stop.is_asked();
        found.nothing_served &= !found.partial;
        found.interval_per_s = search.interval();
        found.why = carries.then(|| CARRIES.to_owned()).or_else(|| search.why(self.args.rates.try_for[1]));
        if search.generator_failed() {
            found.verdict = Some(Validity::Invalid);
        }
        Ok(found)
    }

    fn at(&self, rate: f64, duration: Duration) -> Experiment {
        let (from, to) = (Rate::PerSecond(rate), Rate::PerSecond(rate));
        let load = LoadStream::Requests { from, to, law: self.args.rates.arrivals.law(), class: 0 };
        let mut experiment = self.experiment.clone();
        experiment.about = format!("{rate} requests/s, open loop");
        experiment.users.phases = vec![PhasePlan::of_load("load", duration, load)];
        experiment
    }

    /// Sends at this rate until it is decided whether the objective is met; true if nothing was served.
    fn attempt(&self, rate: f64) -> Result<(Trial, bool), Failure> {
        let [least, most] = self.args.rates.try_for;
        let experiment = self.at(rate, most);
        let request = LoadRequest {
            experiment: &experiment,
            options: self.options.clone(),
            flat_out: false,
            out: None,
            share: None,
            recorded: None,
            in_parts: false,
            sender: &OwnGenerator,
        };
        let mut trial = Trial::of(rate, &self.objective, least);
        let flag = self.stop.fresh_flag();
        let ending = flag.clone();
        let seen = |event: LoadEvent<'_>| {
            if event.second().is_some_and(|(window, _)| trial.takes(window)) {
                ending.stop_now();
            }
        };
        let finished = run_load(&request, request.plan(self.target.clone()), seen, &flag, || true)?;
        trial.ends();
        // A late request makes a response time longer: what is met in spite of that is met.
        let unsound =
            generator_failed(&finished).filter(|why| trial.outcome != Outcome::Met || why.starts_with("UNSENT"));
        if let Some(why) = unsound {
            trial.outcome = Outcome::Generator;
            trial.why = Some(why);
        }
        complain(&trial.in_words(&self.objective));
        Ok((trial, finished.summary.nothing_served()))
    }

    /// A run at this rate, in one piece, that is saved.
    fn confirm(&self, rate: f64) -> Result<(FinishedLoad, Trial), Failure> {
        let [least, most] = self.args.rates.try_for;
        let mut experiment = self.at(rate, (least * CONFIRMATION).min(most));
        let share = 1.0 - self.objective.may_miss;
        experiment.thresholds = vec![format!("load.load.served / load.load.planned >= {share:.6}")];
        let saved = self.args.results.out.as_ref().map(|path| another(path));
        let out = match &saved {
            _ if self.args.results.no_save => None,
            Some(path) => Some(LoadFolder::At(path)),
            None => Some(LoadFolder::Named),
        };
        let request = LoadRequest {
            experiment: &experiment,
            options: self.options.clone(),
            flat_out: false,
            out,
            share: None,
            recorded: None,
            in_parts: false,
            sender: &OwnGenerator,
        };
        let mut trial = Trial::of(rate, &self.objective, most);
        let seen = |event: LoadEvent<'_>| _ = event.second().is_some_and(|(window, _)| trial.takes(window));
        let flag = self.stop.fresh_flag();
        let finished = run_load(&request, request.plan(self.target.clone()), seen, &flag, || self.stop.is_asked())?;
        trial.is_a_whole_run(&finished.summary);
        complain(&format!("confirmation: {}", trial.in_words(&self.objective)));
        Ok((finished, trial))
    }

    /// Leaves the service alone until it answers as before the first trial: `false` if it does not.
    fn settles(&self, trial: &Trial) -> bool {
        let pause = (PAUSE + trial.backlog()).min(LONGEST_PAUSE);
        let until = std::time::Instant::now() + pause;
        while std::time::Instant::now() < until && !self.stop.is_asked() {
            std::thread::sleep(Duration::from_millis(100));
        }
        self.asked().is_none_or(|carried| carried.settled)
    }

    /// Before the first trial, and after one that was too much. `None`: it is not known how the service answers that has nothing to do.
    fn asked(&self) -> Option<CarriedOver> {
        // A path of this machine has no address to ask at.
        self.args.transport.unix_socket.is_none().then_some(())?;
        let RunOptions { tls, version, .. } = self.options;
        let door =
            Door { url: self.target.url.clone(), address: self.target.address, tls: tls.clone(), version: *version };
        self.carry_over.wait(&door, &self.stop, |said| complain(&said))
    }
}

/// The folder for a confirmation; with a number where one before it did not confirm.
fn another(out: &Path) -> PathBuf {
    let numbered = (2..100).map(|n| PathBuf::from(format!("{}-{n}", out.display())));
    let mut paths = std::iter::once(out.to_owned()).chain(numbered);
    paths.find(|path| !path.exists()).unwrap_or_else(|| out.to_owned())
}

/// The reason why a trial says nothing about the service: the generator was too late with its requests.
fn generator_failed(finished: &FinishedLoad) -> Option<String> {
    let report = &finished.report;
    let mut arm = arm_metrics::arm(report);
    // A trial is stopped as soon as it is decided: what is open then was not forgotten.
    gates::stamp(&mut arm, &load_context(finished.summary.objective, false));
    let allowed = limits::lag_ms(finished.summary.objective.response_time_ms);
    // What a trial decides is a promise about one time, and what is small beside that moves nothing.
    if arm.generator.send_lag_p99_ms > allowed {
        let lag = time(arm.generator.send_lag_p99_ms);
        return Some(format!("LAG send lag p99 {lag} (allowed: {}, 5 % of the objective)", time(allowed)));
    }
    let unsent = arm.reasons.iter().find(|reason| reason.code == "UNSENT")?;
    Some(format!("{} {} (allowed: {})", unsent.code, unsent.value, unsent.threshold))
}

fn text(found: &Found) -> String {
    let mut text = format!("{}: {}\n", found.url, found.objective);
    let shown = |end: Option<f64>| end.map_or_else(|| "?".to_owned(), |end| format!("{}/s", rate(end)));
    let _ = match found.rate_per_s {
        Some(highest) => writeln!(text, "  highest rate    {:>12}/s", rate(highest)),
        None => writeln!(text, "  highest rate            none"),
    };
    let [low, high] = found.interval_per_s.map(shown);
    let _ = writeln!(text, "  between {low} (met) and {high} (not met)");
    if let Some(why) = &found.why {
        let _ = writeln!(text, "  {why}");
    }
    let _ = writeln!(text, "  {}", counted(found.trials.len(), "trial"));
    let _ = writeln!(
        text,
        "    {:>10} {:>7} {:>10} {:>22}  result",
        "requests/s", "seconds", "requests", "missed, 99 % interval"
    );
    for trial in &found.trials {
        let bounds = format!("{} to {}", percent(trial.interval[0]), percent(trial.interval[1]));
        let _ = writeln!(
            text,
            "    {:>10} {:>7} {:>10} {bounds:>22}  {}",
            rate(trial.rate_per_s),
            trial.seconds,
            trial.requests,
            trial.outcome.word()
        );
    }
    if let Some(folder) = &found.folder {
        let _ = writeln!(text, "  saved in {folder}");
    }
    if let Some(verdict) = found.verdict {
        let _ = writeln!(text, "{}", verdict.word());
    }
    if found.nothing_served {
        let _ = writeln!(text, "FAILED: nothing was served at any rate");
    } else if !found.confirmed && !found.partial {
        let _ = writeln!(text, "FAILED: no rate was confirmed");
    }
    text
}
