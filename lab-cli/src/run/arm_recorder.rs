//! Recording of an arm: its events while it runs, and its results; the same live and in virtual time.

use crate::store::folder::ResultsFolder;
use analysis::{
    arm_metrics,
    judge::threshold::{Abort, Watch, abort_at},
    live::{AgentSecond, CoreSpeeds, GeneratorSecond, LiveEvent, TimelineSecond},
    record::PartFacts,
    summary,
};
use experiment::plan::ArmPlan;
use measure::{Report, Window};
use spec::wire::Gauges;
use workloads::plan::LoadPlan;

use super::{RunFailure, Sinks, arm_summary, part::AgentParts, seconds::Seconds};

/// The results of an arm.
#[derive(Debug)]
pub struct Ended {
    /// For the summary; not judged yet.
    pub arm: summary::Arm,
    /// The generator's report, with its histograms.
    pub report: Report,
    /// Second by second.
    pub timeline: Vec<TimelineSecond>,
    /// A threshold ended it.
    pub abort: Option<Abort>,
    /// Facts about the part of the users that it is of.
    pub part: Option<PartFacts>,
    /// Parts that agents sent, where they did.
    pub sent: Option<AgentParts>,
}

/// Makes the events of an arm, second by second, and watches the thresholds that end the run.
#[derive(Debug)]
pub struct ArmRecorder<'a> {
    arm: &'a ArmPlan,
    block: u32,
    plan: &'a LoadPlan,
    seconds: Seconds,
    watches: Vec<(usize, Watch)>,
    /// The phase that was told last.
    phase: Option<usize>,
    abort: Option<Abort>,
}

impl<'a> ArmRecorder<'a> {
    /// For an arm of a block. `watches`: thresholds that end the run, each with its number.
    pub fn new(arm: &'a ArmPlan, block: u32, plan: &'a LoadPlan, seconds: Seconds, watches: &[(usize, Watch)]) -> Self {
        Self { arm, block, plan, seconds, watches: watches.to_vec(), phase: None, abort: None }
    }

    /// The event with which an arm begins.
    pub fn started(arm: &ArmPlan, block: u32) -> LiveEvent {
        LiveEvent::ArmStarted { arm: arm.label.clone(), block, policy: Some(arm.policy.clone()) }
    }

    /// The events of a second, in order. `agents`: those that sent it, and the busiest generator; `happened`: what else happened in it.
    pub fn on_second(
        &mut self,
        (window, agents): (&Window, Option<&(GeneratorSecond, Vec<AgentSecond>)>),
        gauges: Option<Gauges>,
        speed: Option<CoreSpeeds>,
        happened: Vec<LiveEvent>,
    ) -> Vec<LiveEvent> {
        let mut events = Vec::with_capacity(happened.len() + 3);
        if self.phase != Some(window.phase) {
            self.phase = Some(window.phase);
            let phase = self.seconds.phase(window.phase).to_owned();
            events.push(LiveEvent::PhaseStarted { phase, second: u32::try_from(window.second).unwrap_or(u32::MAX) });
        }
        events.extend(happened);
        let mut second = TimelineSecond { speed, ..self.seconds.next(window, gauges) };
        if let Some((busiest, agents)) = agents {
            (second.generator, second.agents) = (*busiest, agents.clone());
        }
        if self.abort.is_none() {
            self.abort = abort_at(&mut self.watches, &second);
            events.extend(self.abort.iter().map(|abort| LiveEvent::Note { text: abort.found.clone() }));
        }
        events.push(LiveEvent::Second(Box::new(second)));
        events
    }

    /// A threshold has ended the run.
    pub fn is_aborted(&self) -> bool {
        self.abort.is_some()
    }

    /// Ends the recording, without the arm's timeline. `seen`: what its host alone knows.
    pub fn finish(self, report: Report, seen: summary::Arm) -> Ended {
        let arm = summary::Arm {
            name: self.arm.label.clone(),
            policy: self.arm.policy_name().to_owned(),
            parameters: arm_summary::parameters_of(self.arm),
            client: self.plan.client.as_ref().map(arm_summary::client),
            block: self.block,
            part: self.plan.shard,
            generator: arm_metrics::generator(&report),
            phases: report.phases.iter().map(arm_metrics::phase).collect(),
            walk: arm_metrics::walk(&report, arm_summary::model_of(self.plan)),
            offered: report.offered.clone(),
            replayed: report.replayed,
            ..seen
        };
        Ended { arm, report, timeline: Vec::new(), abort: self.abort, part: None, sent: None }
    }
}

/// Records first, then shows.
pub fn tell(event: &LiveEvent, folder: &mut ResultsFolder, sinks: &mut Sinks) -> Result<(), RunFailure> {
    let recorded = folder.event(event);
    sinks.tell(event);
    Ok(recorded?)
}
