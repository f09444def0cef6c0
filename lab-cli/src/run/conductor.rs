//! A whole run: capacity, blocks of arms, thresholds, the summary.

#[cfg(feature = "live")]
use std::sync::Arc;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use analysis::{
    arm_metrics,
    digests::{self, Digests},
    figure::FigurePlan,
    histograms,
    judge::{
        decision, gates, measures,
        threshold::{Abort, Threshold, Watch, watches},
    },
    live::{LiveEvent, TimelineSecond},
    manifest::{Block, Declared},
    record::{self, ArmRecord},
    sum_up::{Findings, sum_up},
    summary::{self, Capacity, Headroom, LimitSearch, Mode, RunSummary},
};
use experiment::plan::{AppPlan, Experiment, Foreknowledge, LoadStream, SearchRange, replayed};
use measure::{Report, Shard, StallCause};

use super::{
    Cpus, Interventions, RunFailure, Sinks, StopSignal,
    arm_recorder::{Ended, tell},
    calibrate,
    manifest::manifest,
    part::{RunShare, UsersShare},
    preview::rehearse,
};
#[cfg(feature = "live")]
use super::{LoadSender, OwnGenerator};
use crate::store::{folder::ResultsFolder, histograms::write as write_histograms};

#[cfg(feature = "live")]
mod live;
mod virtual_time;

/// Shorter ones are in the summary as numbers.
const STALL_WORTH_A_LINE: Duration = Duration::from_millis(100);

/// The inputs of a run.
#[derive(Debug, Clone)]
pub struct RunRequest<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// `--out DIR`.
    pub out: Option<&'a Path>,
    /// Processors of generator and target.
    pub cpus: &'a Cpus,
    /// The world: virtual time instead of live.
    pub virtual_time: bool,
    /// The part of it that is run here; `None`: all of it.
    pub share: Option<RunShare>,
    /// Shown in the live view while it goes on.
    pub live_view: bool,
    /// A live run ends at its first INVALID arm.
    pub fail_fast: bool,
    /// Interventions of a person while it goes on, if it is live.
    pub touches: Interventions,
    /// Who sends its load, if it is live.
    #[cfg(feature = "live")]
    pub sender: Arc<dyn LoadSender>,
}

impl<'a> RunRequest<'a> {
    /// A run that nobody watches or touches.
    pub fn unattended(experiment: &'a Experiment, out: Option<&'a Path>, cpus: &'a Cpus, virtual_time: bool) -> Self {
        let (live_view, fail_fast, touches) = (false, false, Interventions::default());
        Self {
            experiment,
            out,
            cpus,
            virtual_time,
            share: None,
            live_view,
            fail_fast,
            touches,
            #[cfg(feature = "live")]
            sender: Arc::new(OwnGenerator),
        }
    }

    /// The part of the users that is sent from here; `None`: all of them.
    fn users(&self) -> Option<(Shard, &UsersShare)> {
        let share = self.share.as_ref()?;
        Some((share.shard, share.users()?))
    }

    /// The service is another part's.
    fn is_elsewhere(&self) -> bool {
        self.users().is_some_and(|(_, users)| users.target_at.is_some())
    }

    /// True if this block is run here.
    fn has_block(&self, block: u32) -> bool {
        self.share.as_ref().is_none_or(|share| share.has_block(block))
    }
}

/// A run that is over.
#[derive(Debug)]
pub struct Finished {
    pub summary: RunSummary,
    /// The folder of the results.
    pub folder: PathBuf,
}

/// Runs an experiment from its first arm to its verdict.
///
/// # Errors
/// What made it impossible; what was measured before is in the folder.
pub fn conduct(request: RunRequest<'_>, sinks: &mut Sinks, stop: &StopSignal) -> Result<Finished, RunFailure> {
    let live_only = request.experiment.live_only().filter(|_| request.virtual_time);
    if let Some(why) = live_only {
        return Err(RunFailure::LiveOnly { name: request.experiment.name.clone(), why });
    }
    if !request.virtual_time {
        check_hindsight(request.experiment)?;
    }
    rehearse(request.experiment)?;
    #[cfg(feature = "live")]
    if !request.virtual_time && request.sender.agents() == 0 {
        super::preview::fits(request.experiment, request.users().map(|(shard, _)| shard))?;
    }
    let folder = ResultsFolder::create(request.out, &request.experiment.name).map_err(RunFailure::of_new_folder)?;
    let thresholds: Vec<Threshold> =
        request.experiment.thresholds.iter().filter_map(|text| Threshold::parse(text).ok()).collect();
    let watches = watches(&thresholds, &request.experiment.aborts);
    let (searches, abort, headroom, recorded) = (Vec::new(), None, None, None);
    let collected = Collected::default();
    let mut run =
        Run { request, folder, sinks, stop, thresholds, watches, abort, searches, headroom, recorded, collected };
    #[cfg(feature = "live")]
    let outcome = if run.request.virtual_time { run.all_in_virtual_time() } else { run.all_live() };
    #[cfg(not(feature = "live"))]
    let outcome = if run.request.virtual_time { run.all_in_virtual_time() } else { Err(RunFailure::VirtualBuild) };
    if matches!(outcome, Err(RunFailure::Interrupted)) && run.collected.arms.is_empty() {
        // Nothing was measured. Whatever cannot be removed stays.
        let _ = std::fs::remove_dir_all(run.folder.path());
    } else if let Err(failure) = &outcome {
        // Told already if the folder itself is what failed.
        let _ = run.folder.event(&LiveEvent::RunFailed { why: failure.in_a_line() });
    }
    outcome
}

/// Bounds that need the future exist in virtual time only.
fn check_hindsight(experiment: &Experiment) -> Result<(), RunFailure> {
    for arm in &experiment.arms {
        let Some(known) = &arm.hindsight else { continue };
        let (label, policy) = (arm.label.clone(), arm.policy_name());
        let remedy = match &known.known {
            Foreknowledge::BestValue(SearchRange { service, parameter, .. }) => {
                let then = match service {
                    Some(service) => {
                        format!("none: {{as: {label}, services: {{{service}: {{{policy}: {{{parameter}: N}}}}}}}}")
                    }
                    None => format!("{policy}: {{as: {label}, {parameter}: N}}"),
                };
                format!(
                    "lab run {} --virtual --policy {label} looks for the limit; then write - {then}",
                    experiment.name
                )
            }
            Foreknowledge::Costs { .. } => "add --virtual, or name the arms to run with --policy".to_owned(),
        };
        return Err(RunFailure::Hindsight { arm: label, remedy });
    }
    Ok(())
}

struct Run<'a> {
    request: RunRequest<'a>,
    folder: ResultsFolder,
    sinks: &'a mut Sinks,
    stop: &'a StopSignal,
    thresholds: Vec<Threshold>,
    /// Watches that end the run, each with the index of its threshold.
    watches: Vec<(usize, Watch)>,
    /// One of them did.
    abort: Option<Abort>,
    searches: Vec<LimitSearch>,
    /// The generator's headroom, of live runs.
    headroom: Option<Headroom>,
    /// Requests that the recording has for this run, once it was asked.
    recorded: Option<u64>,
    collected: Collected,
}

/// Data of ended arms for the summary. Memory does not grow with the histograms of every arm and the seconds of every
/// run: the rest of an arm's data is in the folder.
#[derive(Default)]
struct Collected {
    arms: Vec<summary::Arm>,
    /// The parts of phases that thresholds ask for.
    parts: Vec<Part>,
    timeline: Vec<TimelineSecond>,
}

/// A part of a phase that a threshold asks for.
struct Part {
    arm: usize,
    phase: String,
    part: std::ops::Range<f64>,
    found: summary::PhaseSummary,
}

impl Run<'_> {
    /// A person, a signal or a threshold ended it before its plan did.
    fn is_cut_off(&self) -> bool {
        self.stop.is_asked() || self.abort.is_some()
    }

    /// After a block: whether the rule of a comparison that runs until it is decided ends the run here. Says what a look found.
    fn look(&mut self) -> Result<bool, RunFailure> {
        let experiment = self.request.experiment;
        let found = decision(
            &self.collected.arms,
            &experiment.compare,
            &experiment.labels(|_| true),
            &experiment.labels(|arm| arm.hindsight.is_some()),
        );
        let ran = self.collected.arms.last().map_or(0, |arm| arm.block);
        let Some(found) = found.filter(|found| found.looks.last().is_some_and(|look| look.blocks == ran)) else {
            return Ok(false);
        };
        match found.ended {
            Some(_) => self.note(&found.in_words())?,
            None => {
                let open: Vec<&str> = found.undecided.iter().map(|open| open.policy.as_str()).collect();
                self.note(&format!("after {ran} blocks not decided yet: {}", open.join(", ")))?;
            }
        }
        Ok(found.ended.is_some())
    }

    fn finish(&mut self, capacity: &Option<Capacity>, partial: bool) -> Result<Finished, RunFailure> {
        let summary = self.summary(capacity, partial || self.request.share.is_some());
        self.folder.replace("summary.json", &summary)?;
        self.folder.sync()?;
        self.folder.replace(digests::NAME, &Digests::of(self.folder.path())?)?;
        self.sinks.tell(&LiveEvent::RunFinished(Box::new(summary.clone())));
        Ok(Finished { summary, folder: self.folder.path().to_owned() })
    }

    fn tell(&mut self, event: &LiveEvent) -> Result<(), RunFailure> {
        tell(event, &mut self.folder, self.sinks)
    }

    fn note(&mut self, text: &str) -> Result<(), RunFailure> {
        self.tell(&LiveEvent::Note { text: text.to_owned() })
    }

    /// Judges an arm that has ended, and keeps what it left. `rate`: what the target can serve, where that is known.
    fn take_in(&mut self, index: usize, mut ended: Ended, rate: Option<f64>) -> Result<(), RunFailure> {
        if let (Some(replayed), Some(recorded)) = (ended.report.replayed, self.recorded()?) {
            ended.report.replayed = Some(replayed.of(recorded));
            ended.arm.replayed = ended.report.replayed;
        }
        let arm = &self.request.experiment.arms[index];
        let mut found = ended.arm;
        let block = found.block;
        let plan = self.planned(rate);
        measures::fill_in(&mut found, &ended.timeline, &plan);
        gates::stamp(&mut found, &self.context(arm));
        for stall in ended.report.generator.health.stalls.iter().filter(|stall| stall.late >= STALL_WORTH_A_LINE) {
            let cause = match stall.cause {
                StallCause::Busy => "it had more to do than time",
                StallCause::Crowded => "another program had its processor",
                StallCause::Stolen => "the host of this machine had its processor",
                StallCause::Asleep => "the machine stood still, or the wake-up came late",
            };
            let (late, due) = (stall.late.as_secs_f64() * 1e3, stall.due.as_secs_f64());
            self.note(&format!("the generator was {late:.0} ms late at {due:.1} s: {cause}"))?;
        }
        self.abort = self.abort.take().or(ended.abort);
        let drawn = self.request.experiment.figure.as_ref().is_some_and(FigurePlan::reads_parts);
        let in_parts = |phase: &str| drawn || self.wanted_parts(&found).iter().any(|(name, _)| name == phase);
        let mut kept = ArmRecord::of(&found, self.context(arm), plan, &ended.report, in_parts);
        kept.part = ended.part;
        if let Some(parts) = &ended.sent {
            let whole = parts.whole(&mut kept, self.folder.path(), &ended.timeline)?;
            (found, ended.report) = (whole.arm, whole.report);
            parts.save(&arm.label, block, &mut self.folder)?;
        }
        let name = histograms::file_name(&arm.label, block);
        write_histograms(&ended.report, &self.folder.path().join(name))?;
        self.folder.put(&record::file_name(&arm.label, block), &kept)?;
        self.tell(&LiveEvent::ArmFinished(Box::new(found.clone())))?;
        self.keep_parts(&found, &ended.report);
        self.collected.arms.push(found);
        Ok(())
    }

    /// Requests that the recording has for the phases of this experiment; `None`: nothing is replayed.
    fn recorded(&mut self) -> Result<Option<u64>, RunFailure> {
        let users = &self.request.experiment.users;
        if let (None, Some(trace)) = (self.recorded, &users.trace) {
            let failed = |problem| RunFailure::Recording(format!("{}: {problem}", trace.file.display()));
            self.recorded = Some(trace.requests_in(&replayed(&users.phases)).map_err(failed)?);
        }
        Ok(self.recorded)
    }

    /// The parts of phases that thresholds ask of an arm.
    fn wanted_parts(&self, arm: &summary::Arm) -> Vec<(String, std::ops::Range<f64>)> {
        let seconds = |name: &str| arm.phases.iter().find(|phase| phase.name == name).map(|phase| phase.seconds);
        self.thresholds.iter().flat_map(|threshold| threshold.parts(arm.shown_name(), seconds)).collect()
    }

    fn keep_parts(&mut self, arm: &summary::Arm, report: &Report) {
        for (phase, part) in self.wanted_parts(arm) {
            if let Some(found) = report.part(&phase, part.clone()) {
                self.collected.parts.push(Part {
                    arm: self.collected.arms.len(),
                    phase,
                    part,
                    found: arm_metrics::phase(&found),
                });
            }
        }
    }

    /// Keeps a second for thresholds about gauges, if there are any about its arm.
    fn keep_second(&mut self, second: &TimelineSecond) {
        if self.thresholds.iter().any(|threshold| threshold.reads_gauges(&second.arm)) {
            self.collected.timeline.push(second.clone());
        }
    }

    /// The plan's part that measures need.
    fn planned(&self, rate: Option<f64>) -> measures::MeasuresPlan {
        self.request.experiment.measures_plan(rate, self.request.virtual_time)
    }

    fn context(&self, arm: &experiment::plan::ArmPlan) -> gates::Context {
        let experiment = self.request.experiment;
        let closed = |load: &LoadStream| matches!(load, LoadStream::Users { .. });
        let any_closed = experiment.users.phases.iter().flat_map(|phase| &phase.loads).any(closed);
        let declared = |what| experiment.declares.contains(&what);
        gates::Context {
            objective: experiment.objective,
            closed: any_closed && !declared(Declared::ClosedOverload),
            flat_out: false,
            kernel_backlog_declared: arm.works_at_accept() || declared(Declared::KernelBacklog),
            tasks_crash: !self.request.virtual_time && !experiment.faults(false).is_empty(),
            own_target: !arm.direct && !self.request.is_elsewhere(),
            foreign_service: matches!(experiment.target.app, AppPlan::Own(_)) || self.request.is_elsewhere(),
            without_live_view: !self.request.live_view && !self.request.virtual_time,
            debug_build_plant: self.request.virtual_time && experiment.simulation.costs.from_debug_build(),
            plant: if self.request.virtual_time {
                calibrate::doubts(&experiment.simulation)
            } else {
                Default::default()
            },
            headroom: self.headroom,
            #[cfg(feature = "live")]
            lost_at_most: self.request.sender.lost_at_most(),
            #[cfg(not(feature = "live"))]
            lost_at_most: 0.0,
        }
    }

    fn summary(&self, capacity: &Option<Capacity>, partial: bool) -> RunSummary {
        let experiment = self.request.experiment;
        let parts = |index: usize, phase: &str, part: std::ops::Range<f64>| {
            let kept =
                self.collected.parts.iter().find(|kept| kept.arm == index && kept.phase == phase && kept.part == part);
            kept.map(|kept| kept.found.clone())
        };
        let order = experiment.labels(|_| true);
        let hindsight = experiment.labels(|arm| arm.hindsight.is_some());
        let told_costs =
            experiment.labels(|arm| arm.hindsight.as_ref().is_some_and(|known| known.searched().is_none()));
        sum_up(&Findings {
            experiment: &experiment.name,
            mode: if self.request.virtual_time { Mode::Virtual } else { Mode::Live },
            partial,
            blocks: experiment.repeat,
            objective: experiment.objective,
            entitled: experiment.entitled(),
            several_stages: experiment.target.app.arashi().is_some(),
            capacity: capacity.as_ref(),
            searches: &self.searches,
            headroom: self.headroom,
            arms: &self.collected.arms,
            thresholds: &self.thresholds,
            abort: self.abort.as_ref(),
            timeline: &self.collected.timeline,
            parts: &parts,
            order: &order,
            hindsight: &hindsight,
            told_costs: &told_costs,
            twins: &experiment.twins(),
            compare: &experiment.compare,
        })
    }

    fn manifest(&self, capacity: &Option<Capacity>, blocks: &[Block]) -> Result<(), RunFailure> {
        let RunRequest { experiment, cpus, virtual_time, .. } = self.request;
        let share = self.request.share.as_ref();
        let mode = if virtual_time { Mode::Virtual } else { Mode::Live };
        #[cfg_attr(not(feature = "live"), expect(unused_mut, reason = "agents send live loads"))]
        let mut manifest = manifest(experiment, mode, capacity.as_ref(), &self.searches, (blocks, share), cpus)?;
        #[cfg(feature = "live")]
        self.request.sender.facts().into_iter().for_each(|(key, fact)| manifest[key] = fact);
        Ok(self.folder.replace("manifest.json", &manifest)?)
    }
}
