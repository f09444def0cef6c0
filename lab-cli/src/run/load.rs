//! A load on a service that is not the lab's, without an arm's target: one turn, recorded as that of an arm.

use std::path::{Path, PathBuf};

use analysis::{
    arm_metrics,
    digests::{self, Digests},
    histograms,
    judge::{gates, measures, threshold::Threshold},
    live::{LiveEvent, TimelineSecond},
    manifest::Block,
    record::{self, ArmRecord, PartFacts},
    sum_up::{Findings, sum_up},
    summary::{Arm, Conditions, LatencyObjective, Mode, NeighbourUse, RunSummary},
};
use experiment::{
    Experiment,
    plan::ArmPlan,
    plan_digest::{digest_of, seed_of},
    resolve,
};
use health::clock::Start;
use measure::{Report, Window};
use senders::RunOptions;
use workloads::{
    StopFlag,
    plan::{LoadPlan, Target},
};

use super::{
    Cpus, LoadNews, LoadSender, LoadToSend, RunFailure, SentLoad, SentSecond,
    arm_recorder::ArmRecorder,
    arm_summary,
    environment::neighbours::{NeighbourWatch, ServiceProcesses},
    live::service::process_tree,
    manifest::{manifest, shape},
    part::{AgentParts, RunShare, beginning, facts},
    seconds::Seconds,
};
use crate::{
    exit::complain,
    store::{folder::ResultsFolder, histograms::write as write_histograms, rfc3339, seconds_log::SecondsLog},
};

/// There is one repetition.
const BLOCK: u32 = 1;

/// The load to send, and the folder of its results.
#[derive(Debug)]
pub struct LoadRequest<'a> {
    /// One arm, whose users go to the service itself.
    pub experiment: &'a Experiment,
    /// The options of its run that are in no file.
    pub options: RunOptions,
    /// The load goes as fast as it can: a busy generator is what was asked for.
    pub flat_out: bool,
    /// The folder to make; `None`: none.
    pub out: Option<LoadFolder<'a>>,
    /// The part of the users that is sent from here; `None`: all of them.
    pub share: Option<&'a RunShare>,
    /// Requests that the recording has, where one is replayed as a whole.
    pub recorded: Option<u64>,
    /// The record has twentieths of phases.
    pub in_parts: bool,
    /// Who sends it.
    pub sender: &'a dyn LoadSender,
}

/// The folder of a load's results.
#[derive(Debug, Clone, Copy)]
pub enum LoadFolder<'a> {
    /// Below `runs`, by name and time.
    Named,
    /// Here.
    At(&'a Path),
}

/// What happens in a load.
#[derive(Debug)]
pub enum LoadEvent<'a> {
    /// A line for people.
    Note(&'a str),
    /// A second is over.
    Second(&'a Window, &'a TimelineSecond),
}

impl<'a> LoadEvent<'a> {
    /// The second that is over; a note goes to standard error.
    pub fn second(self) -> Option<(&'a Window, &'a TimelineSecond)> {
        match self {
            Self::Second(window, second) => Some((window, second)),
            Self::Note(text) => {
                complain(text);
                None
            }
        }
    }
}

/// A load that is over.
#[derive(Debug)]
pub struct FinishedLoad {
    /// The summary, whose one arm is judged.
    pub summary: RunSummary,
    /// The generator's report, with histograms.
    pub report: Report,
    /// The folder of the results, if they were saved.
    pub folder: Option<PathBuf>,
}

impl FinishedLoad {
    /// The one arm.
    pub fn arm(&self) -> &Arm {
        &self.summary.arms[0]
    }
}

impl LoadRequest<'_> {
    fn arm(&self) -> &ArmPlan {
        &self.experiment.arms[0]
    }

    fn seed(&self) -> u64 {
        seed_of(self.experiment, BLOCK)
    }

    fn to_send<'l>(&'l self, plan: &'l LoadPlan, options: &'l RunOptions) -> LoadToSend<'l> {
        let Self { experiment, flat_out, in_parts, .. } = *self;
        LoadToSend { experiment, arm: 0, plan, options, flat_out, in_parts }
    }

    /// The whole plan of the load, to be sent to this target.
    pub fn plan(&self, target: Target) -> LoadPlan {
        resolve::load_plan(self.experiment, self.arm(), &[], target, self.seed(), None)
    }
}

/// A report alone as an arm that gates have judged: of a load without a folder.
pub fn judged(plan: &LoadPlan, report: &Report, flat_out: bool) -> Arm {
    let mut arm = arm_metrics::arm(report);
    let objective = LatencyObjective { percentile: 99.0, response_time_ms: plan.objective.as_secs_f64() * 1e3 };
    gates::stamp(&mut arm, &context(objective, flat_out));
    arm
}

/// The context of gates for a load on somebody else's service.
pub fn context(objective: LatencyObjective, flat_out: bool) -> gates::Context {
    gates::Context { objective, flat_out, kernel_backlog_declared: true, ..gates::Context::default() }
}

/// Sends a plan, from its first request to its verdict. `seen` sees what happens.
///
/// # Errors
/// What made it impossible.
pub fn run_load(
    request: &LoadRequest<'_>,
    plan: LoadPlan,
    mut seen: impl FnMut(LoadEvent<'_>),
    flag: &StopFlag,
    partial: impl FnOnce() -> bool,
) -> Result<FinishedLoad, RunFailure> {
    let (experiment, arm) = (request.experiment, request.arm());
    let plan = LoadPlan { shard: request.share.map(|share| share.shard), ..plan };
    let mut saved = request.out.map(|out| Saved::create(out, request)).transpose()?;
    let seconds = Seconds::new(&arm.label, BLOCK, &plan);
    let mut recorder = ArmRecorder::new(arm, BLOCK, &plan, seconds, &[]);
    let mut timeline = Vec::new();
    let mut failure = None;
    let begins = request.options.begins.or_else(|| request.share.map(|_| Start::soon()));
    let options = RunOptions { second_times: true, begins, ..request.options.clone() };
    // Agents are told when.
    if let Some(start) = begins.filter(|_| request.sender.agents() == 0) {
        start.wait_for_setup(|| flag.is_stopped());
    }
    let told = request.share.and_then(RunShare::users).and_then(|users| users.began.clone());
    let began = told.or_else(|| begins.filter(|_| request.share.is_some()).map(beginning));
    let neighbours = if request.sender.agents() > 0 { None } else { neighbours(&plan.target, &options)? };
    let sent = request.sender.send(
        &request.to_send(&plan, &options),
        &mut |news| {
            let (window, events) = match news {
                LoadNews::Note(text) => {
                    seen(LoadEvent::Note(&text));
                    (None, vec![LiveEvent::Note { text }])
                }
                LoadNews::Begins(at) => (None, vec![LiveEvent::LoadStarted { at: rfc3339(at) }]),
                LoadNews::Second(second) => {
                    let SentSecond { window, agents } = *second;
                    let events = recorder.on_second((&window, agents.as_ref()), None, None, Vec::new());
                    (Some(window), events)
                }
            };
            if let Some(saved) = &mut saved
                && let Err(problem) = saved.add(window.as_ref(), &events)
            {
                // The disk is full, say: what was written stays readable.
                failure.get_or_insert(problem);
                flag.stop();
            }
            for event in events {
                if let (Some(window), LiveEvent::Second(second)) = (&window, event) {
                    seen(LoadEvent::Second(window, &second));
                    timeline.push(TimelineSecond { agents: Vec::new(), ..*second });
                }
            }
        },
        flag,
    );
    let SentLoad { report, agents, parts } = match sent {
        Ok(sent) => sent,
        Err(problem) => {
            // Nothing was sent, or nothing is known of it but its seconds.
            if timeline.is_empty() {
                saved.into_iter().for_each(Saved::discard);
            }
            return Err(problem);
        }
    };
    if let Some(failure) = failure {
        return Err(failure);
    }
    let stopped = partial();
    let neighbours = neighbours.map(|watch| watch.end(&own_process(), &report));
    // STEAL goes by the whole machine here.
    let neighbours = neighbours.map(|found| NeighbourUse { stolen: Vec::new(), ..found });
    let conditions = Conditions { neighbours, ..arm_metrics::conditions(&report) };
    let seen = Arm { conditions, ..Arm::default() };
    let ended = recorder.finish(report, seen);
    let (mut found, mut report) = (ended.arm, ended.report);
    if let (Some(replayed), Some(recorded)) = (report.replayed, request.recorded) {
        report.replayed = Some(replayed.of(recorded));
        found.replayed = report.replayed;
    }
    let parts =
        AgentParts { agents, plan: digest_of(&plan)?, model: arm_summary::model_of(&plan).cloned(), records: parts };
    let part = request.share.map(|_| facts(parts.plan.clone(), began));
    let at = saved.as_ref().map_or(Path::new("the load"), |saved| saved.folder.path());
    let record = judge(request, (&mut found, &mut report), part, (&parts, at), &timeline)?;
    let summary = summary(experiment, &found, &timeline, stopped || request.share.is_some());
    let folder = saved
        .map(|saved| saved.finish(request, &Ended { report: &report, record, parts }, &summary, stopped))
        .transpose()?;
    request.sender.kept();
    Ok(FinishedLoad { summary, report, folder })
}

/// Judges the arm, which is the sum of its parts where agents have sent it; gives its record.
fn judge(
    request: &LoadRequest<'_>,
    (found, report): (&mut Arm, &mut Report),
    part: Option<PartFacts>,
    (parts, folder): (&AgentParts, &Path),
    timeline: &[TimelineSecond],
) -> Result<ArmRecord, RunFailure> {
    let measures = request.experiment.measures_plan(None, false);
    let lost_at_most = request.sender.lost_at_most();
    let context = gates::Context { lost_at_most, ..context(request.experiment.objective, request.flat_out) };
    measures::fill_in(found, timeline, &measures);
    gates::stamp(found, &context);
    let mut record = ArmRecord::of(found, context, measures, report, |_| request.in_parts);
    record.part = part;
    if request.sender.agents() > 0 {
        let whole = parts.whole(&mut record, folder, timeline)?;
        (*found, *report) = (whole.arm, whole.report);
    }
    Ok(record)
}

/// Watches what a service of this machine waits for; `None`: it is another machine's, or of this process.
fn neighbours(target: &Target, options: &RunOptions) -> Result<Option<NeighbourWatch>, RunFailure> {
    let root = match &options.unix_socket {
        Some(path) => process_tree::unix_listener(path),
        None if target.address.ip().is_loopback() => process_tree::listener(target.address),
        None => return Ok(None),
    };
    if root == Ok(std::process::id()) {
        return Ok(None);
    }
    let pids = move || Ok(process_tree::sample(root.clone()?).map(|tree| tree.pids).unwrap_or_default());
    let watch = NeighbourWatch::begin(&Cpus::anywhere(), ServiceProcesses::new(false, pids));
    watch.map(Some).map_err(RunFailure::machine("the thread that follows the processors"))
}

fn own_process() -> Vec<i32> {
    i32::try_from(std::process::id()).into_iter().collect()
}

/// Values of a turn that are saved.
struct Ended<'a> {
    report: &'a Report,
    record: ArmRecord,
    parts: AgentParts,
}

fn summary(experiment: &Experiment, arm: &Arm, timeline: &[TimelineSecond], partial: bool) -> RunSummary {
    let thresholds: Vec<Threshold> =
        experiment.thresholds.iter().filter_map(|text| Threshold::parse(text).ok()).collect();
    sum_up(&Findings {
        experiment: &experiment.name,
        mode: Mode::Live,
        partial,
        blocks: BLOCK,
        objective: experiment.objective,
        entitled: experiment.entitled(),
        several_stages: false,
        capacity: None,
        searches: &[],
        headroom: None,
        arms: std::slice::from_ref(arm),
        thresholds: &thresholds,
        abort: None,
        timeline,
        // Conditions of a load are about whole phases.
        parts: &|_, _, _| None,
        order: &[arm.shown_name().to_owned()],
        hindsight: &[],
        told_costs: &[],
        twins: &[],
        compare: &experiment.compare,
    })
}

/// The folder of a load under way.
struct Saved {
    folder: ResultsFolder,
    times: SecondsLog,
}

impl Saved {
    fn create(out: LoadFolder<'_>, request: &LoadRequest<'_>) -> Result<Self, RunFailure> {
        let (experiment, arm) = (request.experiment, request.arm());
        let path = if let LoadFolder::At(path) = out { Some(path) } else { None };
        let mut folder = ResultsFolder::create(path, &experiment.name).map_err(RunFailure::of_new_folder)?;
        folder.event(&LiveEvent::RunStarted(shape(experiment, None, false)))?;
        folder.event(&ArmRecorder::started(arm, BLOCK))?;
        let times = SecondsLog::create(folder.path(), &arm.label, BLOCK)?;
        let saved = Self { folder, times };
        saved.manifest(request, None)?;
        Ok(saved)
    }

    /// Removes the folder, which has nothing in it but a plan.
    fn discard(self) {
        // What cannot be removed harms nobody.
        let _ = std::fs::remove_dir_all(self.folder.path());
    }

    fn manifest(&self, request: &LoadRequest<'_>, plan: Option<String>) -> Result<(), RunFailure> {
        let order = vec![request.arm().label.clone()];
        let block = Block { block: BLOCK, seed: request.seed(), order, plan, touched: Vec::new() };
        let cpus = Cpus::anywhere();
        let mut manifest = manifest(request.experiment, Mode::Live, None, &[], (&[block], request.share), &cpus)?;
        request.sender.facts().into_iter().for_each(|(key, fact)| manifest[key] = fact);
        Ok(self.folder.replace("manifest.json", &manifest)?)
    }

    fn add(&mut self, window: Option<&Window>, events: &[LiveEvent]) -> Result<(), RunFailure> {
        window.map_or(Ok(()), |window| self.times.add(window))?;
        events.iter().try_for_each(|event| self.folder.event(event))?;
        Ok(())
    }

    fn finish(
        mut self,
        request: &LoadRequest<'_>,
        ended: &Ended<'_>,
        summary: &RunSummary,
        stopped: bool,
    ) -> Result<PathBuf, RunFailure> {
        if stopped {
            self.folder.event(&LiveEvent::Stopping)?;
        }
        let label = &request.arm().label;
        write_histograms(ended.report, &self.folder.path().join(histograms::file_name(label, BLOCK)))?;
        ended.parts.save(label, BLOCK, &mut self.folder)?;
        self.folder.put(&record::file_name(label, BLOCK), &ended.record)?;
        self.manifest(request, Some(ended.parts.plan.clone()))?;
        self.folder.replace("summary.json", summary)?;
        self.folder.sync()?;
        self.folder.replace(digests::NAME, &Digests::of(self.folder.path())?)?;
        Ok(self.folder.path().to_owned())
    }
}
