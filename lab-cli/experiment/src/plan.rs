//! An experiment as it is meant: every value checked, every default filled in. Written to the manifest as it is.

mod arm;
mod capacity;
mod classes;
mod hindsight;
mod measures;
mod recording;
mod script;
mod services;
mod simulation;
mod target;
mod users;
mod workers;

use std::{collections::BTreeMap, time::Duration};

use analysis::{
    figure::FigurePlan,
    judge::{
        claims::{ClaimRow, Paper},
        compare::{Compare, TooFewBlocks, too_few_blocks},
        threshold::{AbortRule, Threshold},
    },
    manifest::Declared,
    summary::LatencyObjective,
    text::{counted, long_time},
};
use controllers::Class;
use serde::{Deserialize, Serialize};
use spec::{fault::Fault, measured_service::MeasuredService};
use workloads::sim::LinkSpec;

use arm::steers_by;

pub use crate::{
    calls::CallChanges,
    costs::CostChanges,
    exported_metrics::{ExportedMetrics, MetricSeries},
    mail::Mail,
    own_proxy::{OwnProxy, PRESETS, ProxyPlaces, ProxyPreset},
    own_service::{CommandWords, OwnService, PORT},
    rate::Rate,
};
pub use arm::{ArmPlan, OwnTarget};
pub(crate) use classes::classes;
pub use hindsight::{Foreknowledge, Hindsight, SearchRange};
pub use recording::{Cut, Played, Recording};
pub(crate) use script::concealed_plan;
pub use script::preview;
pub use services::{Tree, TreeService};
pub use simulation::{Simulation, read_plant};
pub use target::{AppPlan, ArashiPlan, TargetPlan, Work};
pub use users::{LoadStream, Model, PhasePlan, UsersPlan, concealed, policy_resets, replayed};

/// A whole experiment. It is read back from a run's manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Names the results folder.
    pub name: String,
    /// One line.
    pub about: String,
    /// Figure and paper, where there is one.
    pub source: Option<String>,
    /// Paper whose claims the letters of thresholds are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<Paper>,
    /// Service under test.
    pub target: TargetPlan,
    /// Promise of the service.
    pub objective: LatencyObjective,
    /// Response times that classes are promised in its place, milliseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub class_objectives: BTreeMap<Class, f64>,
    /// Senders of the load.
    pub users: UsersPlan,
    /// Arms in the order of the file.
    pub arms: Vec<ArmPlan>,
    /// Number of blocks: runs of every arm.
    pub repeat: u32,
    /// Root of all randomness.
    pub seed: u64,
    /// Thresholds in their own language.
    pub thresholds: Vec<String>,
    /// Claim of each threshold, in the same order.
    #[serde(skip)]
    pub rows: Vec<ClaimRow>,
    /// Thresholds that end the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aborts: Vec<AbortRule>,
    /// Variants that were tried for a claim that does not hold and are no arm here: a sentence by the letter of the
    /// claim.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tried: BTreeMap<char, String>,
    /// Comparison of arms.
    pub compare: Compare,
    /// Declarations of what would otherwise be held against the run's validity.
    pub declares: Vec<Declared>,
    /// For runs in virtual time.
    #[serde(rename = "virtual")]
    pub simulation: Simulation,
    /// Figure of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<FigurePlan>,
}

impl Experiment {
    /// True if who comes when does not depend on what is answered, and nobody comes twice: then what an oracle can do at most
    /// can be computed beforehand. For services whose requests cost what they cost by themselves.
    pub fn is_open(&self) -> bool {
        self.users.is_open(&self.target.app)
    }

    /// True of a bound that is computed from the arrivals and not run. A want that is repeated is due when its first attempt was,
    /// and costs the same in the mean; so who knows the mean alone gains nothing by repetitions.
    pub fn computes(&self, known: &Hindsight) -> bool {
        let open = if known.is_blind() { self.users.wants_openly(&self.target.app) } else { self.is_open() };
        open && known.knows_arrivals()
    }

    /// True if an autoscaler gives each arm tasks by what it lets in, in a load that does not depend on answers: then what could be done on them
    /// is known after the run.
    pub fn gives_tasks(&self) -> bool {
        let is_autoscaled = matches!(&self.target.app, AppPlan::Tree(tree) if tree.is_autoscaled());
        is_autoscaled && self.users.asks_openly(&self.target.app)
    }

    /// The rate that the target can serve, if it is known before it is measured.
    pub fn nominal_capacity(&self) -> Option<f64> {
        match &self.target.app {
            AppPlan::Arashi(ArashiPlan { work: Work::Capacity(rate), .. }) => Some(*rate),
            AppPlan::Arashi(_) | AppPlan::Checksum(_) => None,
            AppPlan::Own(_) => self.simulation.costs.service.as_ref().and_then(MeasuredService::capacity),
            AppPlan::Emulated(emulated) => emulated.capacity(self.work_stage().workers),
            AppPlan::Generation(tokens) => tokens.capacity(self.work_stage().workers),
            AppPlan::Tree(tree) => tree.capacity(),
        }
    }

    /// A live run is refused.
    pub fn virtual_only(&self) -> bool {
        let is_autoscaled = matches!(&self.target.app, AppPlan::Tree(tree) if tree.is_autoscaled());
        let has_jitter = self.arms.iter().any(|arm| arm.jitter.is_some());
        let generates = matches!(self.target.app, AppPlan::Generation(_));
        self.simulation.only || is_autoscaled || generates || self.rooms_in_virtual_time() || has_jitter
    }

    /// True if an arm has waiting rooms that a live run cannot have: several, or one before several services.
    fn rooms_in_virtual_time(&self) -> bool {
        let mut rooms = self.arms.iter().filter_map(|arm| arm.target(self).waiting_room.as_ref());
        let tree = matches!(self.target.app, AppPlan::Tree(_));
        rooms.any(|rooms| tree || rooms.replicas > 1)
    }

    /// True for a service of one's own of which nobody knows what requests cost it: it has no virtual time.
    pub fn has_no_plant(&self) -> bool {
        matches!(self.target.app, AppPlan::Own(_)) && self.simulation.costs.service.is_none()
    }

    /// Reason for which a run in virtual time is refused, if it is: a service of which nothing is known, a proxy that is not the lab's, users who need what answers
    /// there do not carry, or a threshold on what the generator used.
    pub fn live_only(&self) -> Option<String> {
        let asks = |text: &&String| Threshold::parse(text).is_ok_and(|threshold| threshold.asks_generator());
        if let Some(threshold) = self.thresholds.iter().find(asks) {
            return Some(format!(
                "the threshold `{threshold}` asks what the generator used, and in virtual time there is none: run it \
                 live, or leave the threshold out"
            ));
        }
        if let Some(arm) = self.arms.iter().find(|arm| arm.proxy.is_some()) {
            return Some(format!(
                "{} is another program, which has no virtual time: run it live, or leave it out (--policy)",
                arm.label
            ));
        }
        let missing = match &self.users.model {
            // Its pages are there in virtual time too.
            Model::Script { .. } if matches!(self.target.app, AppPlan::Arashi(_)) => None,
            Model::Script { plan, .. } => script::missing_in_virtual_time(plan),
            Model::Mail { .. } | Model::Url { .. } => None,
        };
        let unknown = "nothing is known of what this service's requests cost: lab calibrate FILE -o plant.yaml, then virtual: {plant: plant.yaml} \
                       in the file (or --set virtual.plant=plant.yaml)";
        missing.or_else(|| self.has_no_plant().then(|| unknown.to_owned()))
    }

    /// Cautions for readers of the figures: policies that steer by another percentile than the promise's, users whose
    /// class the target does not go by, and requests of a recording that are not sent.
    pub fn cautions(&self) -> Vec<String> {
        let promised = self.objective.percentile;
        let by_another = |arm: &ArmPlan| {
            let percentile = steers_by(&arm.policy).filter(|percentile| (promised - percentile).abs() > 1e-9)?;
            let label = &arm.label;
            Some(format!("{label} steers by the {percentile}th percentile; the objective is about the {promised}th"))
        };
        let by_another = self.arms.iter().filter_map(by_another).chain(classes::caution(&self.target, &self.users));
        by_another.chain(self.users.model.left_out()).chain(self.too_tight()).chain(self.guessed_workers()).collect()
    }

    /// The names of some arms, in the order of the file.
    pub fn labels(&self, of: fn(&ArmPlan) -> bool) -> Vec<String> {
        self.arms.iter().filter(|arm| of(arm)).map(|arm| arm.label.clone()).collect()
    }

    /// Arms that are held against another, and between which somebody can choose: nobody can deploy what knows the future, so that it
    /// is shown, and no comparison of the family.
    pub fn comparisons(&self) -> usize {
        self.arms.iter().filter(|arm| arm.hindsight.is_none()).count().saturating_sub(1)
    }

    /// Says of a run of several blocks, or of one that is there to decide, that it can decide nothing.
    pub fn too_few_blocks(&self) -> Option<String> {
        let comparisons = self.comparisons();
        if self.compare.until_decided.is_some() || comparisons == 0 || (self.repeat == 1 && !self.compare.decide) {
            return None;
        }
        let TooFewBlocks { least_p, least } = too_few_blocks(self.repeat)?;
        Some(format!(
            "{} cannot decide anything (the smallest p value is {least_p:.3}): repeat: {least} at least \
             (--repeat {least})",
            counted(self.repeat as usize, "block"),
        ))
    }

    /// Time to a decision, of a run that is there to decide: blocks times their seconds, without starting and
    /// draining.
    pub fn time_to_decide(&self) -> Option<String> {
        let comparisons = self.comparisons();
        if comparisons == 0 || !self.compare.decide {
            return None;
        }
        let block = self.block_time().as_secs_f64();
        let takes = |blocks: u32| long_time(block * f64::from(blocks));
        let of = format!("blocks of {} arms and {}", self.arms.len(), long_time(block));
        Some(match &self.compare.until_decided {
            Some(rule) => {
                let (first, most) = (rule.looks.first().map_or(1, |look| look.blocks), rule.most_blocks());
                format!("a decision takes {first} to {most} {of}: {} to {}", takes(first), takes(most))
            }
            None => {
                let least = TooFewBlocks::least_blocks();
                format!("a decision takes at least {least} {of}: {}", takes(least))
            }
        })
    }

    /// Parts of the experiment that a live run leaves out.
    pub fn live_cautions(&self) -> Vec<String> {
        let mut left_out = if let AppPlan::Tree(tree) = &self.target.app { tree.live_cautions() } else { Vec::new() };
        // Where a live run is refused, none leaves anything out.
        if let AppPlan::Own(own) = &self.target.app {
            left_out.extend(own.live_caution(self.arms.len() * self.repeat as usize));
        }
        left_out.extend(self.simulation.live_caution(self.is_tree()).filter(|_| !self.virtual_only()));
        left_out
    }

    /// The faults of a run in one of both worlds.
    pub fn faults(&self, virtual_time: bool) -> Vec<Fault> {
        match virtual_time {
            true => self.simulation.faults.clone(),
            false => self.simulation.live_faults(self.is_tree()).cloned().collect(),
        }
    }

    fn is_tree(&self) -> bool {
        matches!(self.target.app, AppPlan::Tree(_))
    }

    /// Parts of the experiment that a run in virtual time leaves out.
    pub fn virtual_cautions(&self) -> Vec<String> {
        let mut all = if let AppPlan::Tree(tree) = &self.target.app { tree.virtual_cautions() } else { Vec::new() };
        all.extend(self.target.app.said_of_times());
        all.extend(self.slower_workers());
        all.extend(self.void_twins());
        all
    }

    /// Duration of all arms in all blocks, without starting and draining.
    pub fn planned_time(&self) -> Duration {
        self.block_time() * self.repeat
    }

    /// One block of all arms.
    pub fn block_time(&self) -> Duration {
        let one: Duration = self.users.phases.iter().map(|phase| phase.duration).sum();
        one * u32::try_from(self.arms.len()).unwrap_or(u32::MAX)
    }
}

impl ArmPlan {
    /// Target of this arm: its own service, else the experiment's.
    pub fn target<'a>(&'a self, experiment: &'a Experiment) -> &'a TargetPlan {
        self.own_target.as_ref().map_or(&experiment.target, |own| &own.target)
    }

    /// The way between this arm's users and the service, in virtual time.
    pub fn link(&self, experiment: &Experiment) -> LinkSpec {
        let link = experiment.simulation.link();
        LinkSpec { jitter: self.jitter.unwrap_or(link.jitter), ..link }
    }
}
