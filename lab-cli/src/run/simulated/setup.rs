//! Parts of a run in virtual time: its users, its plants, and the capacity that they are solved for.

use std::collections::BTreeMap;

use analysis::{
    arm_metrics,
    summary::{self, Capacity},
};
use controllers::seed_for;
use experiment::{
    Experiment,
    plan::{AppPlan, ArashiPlan, ArmPlan, Hindsight, Work, policy_resets},
    plan_digest::nowhere,
    resolve,
};
use measure::{Report, Shard};
use plant::{Cluster, Plant, PlantError, PlantPlan, Servers, Simulate};
use spec::{App, fault::Fault};
use workloads::{
    Crowd, StopFlag,
    plan::{Account, LoadPlan},
};

use super::arm::{ArmHost, Simulated, Task, run_on};
use crate::run::{
    EventSink, RunFailure,
    calibrate::{self, ThroughputWatch},
    reference::{
        offline::{self, Knowledge},
        supply::Supply,
    },
};

/// Values that all arms of a run in virtual time have in common.
#[derive(Debug)]
pub struct VirtualSetup {
    accounts: Vec<Account>,
    plan: PlantPlan,
    /// The part of the users that comes.
    shard: Option<Shard>,
}

/// The model of the target, ready to run.
enum Built {
    One(Box<Plant>),
    Several(Box<Cluster>),
}

impl VirtualSetup {
    /// Sets up an experiment.
    pub fn of(experiment: &Experiment) -> Self {
        let accounts = resolve::accounts(&experiment.target.app);
        let arashi = experiment.target.app.arashi();
        let folders = arashi.map_or_else(Vec::new, |arashi| arashi.mail.corpus().folders());
        let simulation = &experiment.simulation;
        let emulated = matches!(experiment.target.app, AppPlan::Emulated(_) | AppPlan::Generation(_) | AppPlan::Own(_));
        let plan = PlantPlan {
            costs: if emulated { simulation.emulated_costs() } else { simulation.costs.clone() },
            wire: emulated,
            folders,
            faults: simulation.faults.clone(),
            renewals: policy_resets(&experiment.users.phases),
            foresight: None,
            waits: false,
            reports_load: false,
            speed: None,
        };
        Self { accounts, plan, shard: None }
    }

    /// The same with a part of the users.
    #[must_use]
    pub fn of_part(self, shard: Option<Shard>) -> Self {
        Self { shard, ..self }
    }

    /// Turns the plant's work knob as a live run turns the service's, where a capacity is asked for.
    pub fn capacity(&self, experiment: &Experiment, stop: &StopFlag) -> Result<Option<Capacity>, RunFailure> {
        let AppPlan::Arashi(ArashiPlan { work: Work::Capacity(wanted), .. }) = experiment.target.app else {
            return Ok(None);
        };
        let mail = calibrate::users(experiment, &self.accounts)?;
        let calm = PlantPlan { faults: Vec::new(), renewals: Vec::new(), ..self.plan.clone() };
        let seed = calibrate::seed(experiment);
        calibrate::of_all_arms(experiment, |work| {
            let [long, short] = [wanted, f64::INFINITY].map(|wanted| ThroughputWatch::in_virtual_time(wanted, work));
            calibrate::solve(wanted, &long, |operations| {
                let mut spec = resolve::target_spec(experiment, &ArmPlan::none(), None, operations, seed, None);
                if let App::Arashi { work: of_spec, .. } = &mut spec.app {
                    *of_spec = work.work_at(operations);
                }
                let mut plant = Plant::new(&spec, &calm).map_err(|error| unfit(&error))?;
                // Without extra operations thousands a second are served: the mix is that of a long run at once.
                let watch = if operations > 0.0 { &long } else { &short };
                let plan = watch.plan(&mail, nowhere(), seed);
                let mut served = 0;
                let link = self.plan.costs.link();
                plant.simulate(&plan, link, &mut |window, _, _| watch.count(&mut served, &window), stop)?;
                Ok(watch.per_second(served))
            })
        })
        .map(Some)
    }

    /// Unique wants that an arm answers in time with one seed.
    pub fn in_time(
        &self,
        experiment: &Experiment,
        arm: &ArmPlan,
        seed: u64,
        capacity: Option<&Capacity>,
        stop: &StopFlag,
    ) -> Result<u64, RunFailure> {
        let (report, _) = self.report(experiment, arm, seed, capacity, stop)?;
        Ok(report.total.measured.served)
    }

    /// An arm with its phases, of one seed: counts and times of requests, and nothing of the service or of single seconds.
    ///
    /// # Errors
    /// What a run of the arm would fail with.
    pub fn measured(
        &self,
        experiment: &Experiment,
        arm: &ArmPlan,
        seed: u64,
        capacity: Option<&Capacity>,
        stop: &StopFlag,
    ) -> Result<summary::Arm, RunFailure> {
        let (report, absences) = self.report(experiment, arm, seed, capacity, stop)?;
        Ok(summary::Arm {
            blind_per_s: self.blind_per_s(experiment, arm, seed, &absences)?,
            name: arm.label.clone(),
            policy: arm.policy_name().to_owned(),
            valid: true,
            phases: report.phases.iter().map(arm_metrics::phase).collect(),
            ..summary::Arm::default()
        })
    }

    /// A run of which nobody is told, and the times in which tasks on demand were not there.
    fn report(
        &self,
        experiment: &Experiment,
        arm: &ArmPlan,
        seed: u64,
        capacity: Option<&Capacity>,
        stop: &StopFlag,
    ) -> Result<(Report, Vec<Fault>), RunFailure> {
        let link = arm.link(experiment);
        let (plan, service) = self.set_up(experiment, arm, seed, capacity)?;
        match service {
            Built::One(mut plant) => Ok((plant.simulate(&plan, link, &mut |_, _, _| {}, stop)?.report, Vec::new())),
            Built::Several(mut cluster) => {
                let finished = cluster.simulate(&plan, link, &mut |_, _, _| {}, stop)?;
                Ok((finished.report, cluster.absences(finished.ended)))
            }
        }
    }

    /// Builds an arm and its users, and runs nothing.
    ///
    /// # Errors
    /// What a run of the arm would fail with at its start.
    pub fn can_start(&self, experiment: &Experiment, arm: &ArmPlan) -> Result<(), RunFailure> {
        if experiment.has_no_plant() {
            // Nothing is known of what its requests cost: a live run needs no plant.
            let plan = resolve::load_plan(experiment, arm, &self.accounts, nowhere(), experiment.seed, None);
            Crowd::new(&plan)?;
            return Ok(());
        }
        let (plan, _) = self.set_up(experiment, arm, experiment.seed, None)?;
        Crowd::new(&plan)?;
        Ok(())
    }

    /// Plans the users, and builds the target.
    fn set_up(
        &self,
        experiment: &Experiment,
        arm: &ArmPlan,
        seed: u64,
        capacity: Option<&Capacity>,
    ) -> Result<(LoadPlan, Built), RunFailure> {
        let service = if let Some(tree) = experiment.target.app.tree() {
            let spec = resolve::tree_spec(experiment, arm, tree, seed, None);
            let (hop, of_tree) = (experiment.simulation.link().delay, seed_for(seed, "tree"));
            Cluster::new(&spec, &self.plan_of(arm), hop, of_tree).map(|cluster| Built::Several(Box::new(cluster)))
        } else {
            let work = resolve::work(experiment, arm, capacity);
            let spec = resolve::target_spec(experiment, arm, None, work, seed, None);
            Plant::new(&spec, &self.plan_of(arm)).map(|plant| Built::One(Box::new(plant)))
        };
        let service = service.map_err(|error| unfit(&error))?;
        let rate = capacity.map(|found| found.wanted_per_s).or(experiment.nominal_capacity());
        let plan = resolve::load_plan(experiment, arm, &self.accounts, nowhere(), seed, rate);
        Ok((LoadPlan { shard: self.shard, ..plan }, service))
    }

    fn plan_of(&self, arm: &ArmPlan) -> PlantPlan {
        PlantPlan { foresight: arm.hindsight.as_ref().and_then(Hindsight::seated), ..self.plan.clone() }
    }

    /// The bound that no policy can exceed, with this seed.
    ///
    /// # Errors
    /// What a run of the arm would fail with at its start.
    pub fn bound(&self, experiment: &Experiment, arm: &ArmPlan, seed: u64) -> Result<summary::Arm, RunFailure> {
        let knowledge = match &arm.hindsight {
            Some(known) if known.is_blind() => Knowledge::Means,
            _ => Knowledge::Costs,
        };
        let phases = self.bounds(experiment, arm, seed, knowledge, &[])?;
        let (name, policy) = (arm.label.clone(), arm.policy_name().to_owned());
        Ok(summary::Arm { name, policy, bound: true, valid: true, phases, ..summary::Arm::default() })
    }

    /// Goodput a second, by phase, that nobody exceeds in the mean who does not know sizes, on the tasks that an autoscaler gave this arm;
    /// nothing of other experiments.
    fn blind_per_s(
        &self,
        experiment: &Experiment,
        arm: &ArmPlan,
        seed: u64,
        absences: &[Fault],
    ) -> Result<BTreeMap<String, f64>, RunFailure> {
        if !experiment.gives_tasks() {
            return Ok(BTreeMap::new());
        }
        // Whoever holds requests back before they are sent wants no fewer.
        let free = ArmPlan { client: None, ..arm.clone() };
        let phases = self.bounds(experiment, &free, seed, Knowledge::Means, absences)?;
        Ok(phases.into_iter().map(|phase| (phase.name, phase.measured.goodput_per_s)).collect())
    }

    /// Bounds of all phases. `absences`: crashes beside the faults of the plan.
    fn bounds(
        &self,
        experiment: &Experiment,
        arm: &ArmPlan,
        seed: u64,
        knowledge: Knowledge,
        absences: &[Fault],
    ) -> Result<Vec<summary::PhaseSummary>, RunFailure> {
        let faults: Vec<&Fault> = experiment.simulation.faults.iter().chain(absences).collect();
        let link = arm.link(experiment);
        let (plan, service) = self.set_up(experiment, arm, seed, None)?;
        let names: Vec<&str> =
            experiment.target.app.tree().iter().flat_map(|tree| &tree.services).map(|service| &*service.name).collect();
        // One service alone has no name, and every fault hits it.
        let hits = |fault: &Fault, service: usize, task: u32| {
            names.get(service).is_none_or(|name| fault.hits_task(name, task))
        };
        let supply = |service: usize, tasks: &[Servers]| {
            Supply::of(tasks, |task| faults.iter().copied().filter(move |fault| hits(fault, service, task)))
        };
        match service {
            Built::One(plant) => offline::bounds(&plan, *plant, link, knowledge, supply),
            Built::Several(cluster) => offline::bounds(&plan, *cluster, link, knowledge, supply),
        }
    }

    /// Runs an arm. `arms`: those of the experiment, with what was looked for filled in.
    pub fn run<E: EventSink>(
        &self,
        experiment: &Experiment,
        arms: &[ArmPlan],
        task: Task,
        capacity: Option<&Capacity>,
        host: ArmHost<'_, E>,
    ) -> Result<Simulated<E>, RunFailure> {
        let arm = &arms[task.arm];
        let (plan, service) = self.set_up(experiment, arm, task.seed, capacity)?;
        let mut ran = match service {
            Built::One(plant) => run_on(*plant, &plan, experiment, (arm, task), host),
            Built::Several(cluster) => run_on(*cluster, &plan, experiment, (arm, task), host),
        }?;
        ran.ended.arm.blind_per_s = self.blind_per_s(experiment, arm, task.seed, &ran.absences)?;
        Ok(ran)
    }
}

fn unfit(error: &PlantError) -> RunFailure {
    RunFailure::Target(error.to_string())
}
