//! One arm in virtual time: the plan and the target of the live arm, a plant in place of the target's process.

use std::sync::atomic::{AtomicU64, Ordering};

use analysis::{
    figures,
    judge::threshold::{Watch, abort_at},
    live::LiveEvent,
    summary::{self, Capacity},
};
use controllers::{Timestamp, seed_for};
use experiment::{
    Experiment,
    hindsight::Hindsight,
    plan::{App, Arm, Tree},
    plan_digest::{digest_of, nowhere},
    resolve,
};
use target_app::{
    control::wire::{Gauges, ReadRequests, StreamedEvent},
    plant::{Cluster, Fault, FaultKind, Plant, PlantError, PlantPlan},
};
use workloads::{
    Crowd, StopFlag,
    plan::{Account, LoadPlan},
    sim,
};

use super::{
    RunFailure, arm::Ended, assemble, calibrate, join::join, offline, policy_events, renew, spool::Spool,
    watch::Seconds,
};

/// What all arms of a run in virtual time have in common.
#[derive(Debug)]
pub struct Ground {
    accounts: Vec<Account>,
    plan: PlantPlan,
}

/// One arm to run.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    /// Which arm.
    pub arm: usize,
    /// Which repetition.
    pub block: u32,
    /// Its seed.
    pub seed: u64,
}

/// Whom an arm tells what happens, and who may end it.
#[derive(Debug)]
pub struct Told<'a> {
    /// Waits for its turn here.
    pub events: Spool,
    /// Thresholds that end the run.
    pub watches: &'a [(usize, Watch)],
    /// Ends all arms.
    pub stop: &'a StopFlag,
    /// Seconds that have been computed, over all arms.
    pub computed: &'a AtomicU64,
}

/// An arm that was run.
#[derive(Debug)]
pub struct Simulated {
    /// What it left.
    pub ended: Ended,
    /// What happened, in order.
    pub events: Spool,
    /// Of its plan.
    pub digest: String,
}

impl Ground {
    /// The ground of an experiment.
    pub fn of(experiment: &Experiment) -> Self {
        let accounts = resolve::accounts(&experiment.target.app);
        let folders = match &experiment.target.app {
            App::Arashi(arashi) => arashi.mail.corpus().folders(),
            App::Checksum(_) | App::Emulated(_) | App::Tree(_) => Vec::new(),
        };
        let simulation = &experiment.simulation;
        let emulated = matches!(experiment.target.app, App::Emulated(_));
        let plan = PlantPlan {
            costs: if emulated { simulation.emulated_costs() } else { simulation.costs.clone() },
            wire: emulated,
            folders,
            faults: simulation.faults.clone(),
            renewals: renew::starts(&experiment.users.phases),
            oracle: false,
            waits: false,
            speed: None,
        };
        Self { accounts, plan }
    }

    /// Turns the plant's work knob as a live run turns the service's.
    pub fn capacity(&self, experiment: &Experiment, wanted: f64) -> Result<Capacity, RunFailure> {
        let mail = calibrate::users(experiment, &self.accounts)?;
        let calm = PlantPlan { faults: Vec::new(), renewals: Vec::new(), ..self.plan.clone() };
        let seed = calibrate::seed(experiment);
        calibrate::solve(wanted, |operations| {
            let spec = resolve::target_spec(experiment, &Arm::none(), None, operations, seed, None);
            let mut plant = Plant::new(&spec, &calm).map_err(|error| unfit(&error))?;
            let plan = calibrate::plan(&mail, nowhere(), seed);
            let mut served = calibrate::Served::default();
            let link = self.plan.costs.link();
            let stop = StopFlag::new();
            sim::run(&plan, link, &mut plant, |window, _, _| served.count(&window), &stop)
                .map_err(workloads::RunError::from)?;
            Ok(served.per_second())
        })
    }

    /// Unique wants that an arm answers in time with one seed.
    pub fn in_time(
        &self,
        experiment: &Experiment,
        arm: &Arm,
        seed: u64,
        capacity: Option<&Capacity>,
        stop: &StopFlag,
    ) -> Result<u64, RunFailure> {
        let link = experiment.simulation.link();
        let finished = if let App::Tree(tree) = &experiment.target.app {
            let (plan, mut cluster) = self.set_up_tree(experiment, arm, tree, seed)?;
            sim::run(&plan, link, &mut cluster, |_, _, _| {}, stop)
        } else {
            let (plan, mut plant) = self.set_up(experiment, arm, seed, capacity)?;
            sim::run(&plan, link, &mut plant, |_, _, _| {}, stop)
        };
        Ok(finished.map_err(workloads::RunError::from)?.report.total.ledger.served_intents)
    }

    /// Builds an arm and its users, and runs nothing.
    ///
    /// # Errors
    /// What a run of the arm would fail with at its start.
    pub fn can_start(&self, experiment: &Experiment, arm: &Arm) -> Result<(), RunFailure> {
        let plan = if let App::Tree(tree) = &experiment.target.app {
            self.set_up_tree(experiment, arm, tree, experiment.seed)?.0
        } else {
            self.set_up(experiment, arm, experiment.seed, None)?.0
        };
        Crowd::new(&plan).map_err(workloads::RunError::from)?;
        Ok(())
    }

    /// Who sends, and to what.
    fn set_up(
        &self,
        experiment: &Experiment,
        arm: &Arm,
        seed: u64,
        capacity: Option<&Capacity>,
    ) -> Result<(LoadPlan, Plant), RunFailure> {
        let work = resolve::work(experiment, capacity);
        let spec = resolve::target_spec(experiment, arm, None, work, seed, None);
        let plant = Plant::new(&spec, &self.plan_of(arm)).map_err(|error| unfit(&error))?;
        let rate = capacity.map(|found| found.wanted_per_s).or(experiment.nominal_capacity());
        let plan = resolve::load_plan(experiment, arm, &self.accounts, nowhere(), seed, rate);
        Ok((plan, plant))
    }

    /// The same for several services.
    fn set_up_tree(
        &self,
        experiment: &Experiment,
        arm: &Arm,
        tree: &Tree,
        seed: u64,
    ) -> Result<(LoadPlan, Cluster), RunFailure> {
        let spec = resolve::tree_spec(experiment, arm, tree, seed, None);
        let (hop, of_tree) = (experiment.simulation.link().delay, seed_for(seed, "tree"));
        let cluster = Cluster::new(&spec, &self.plan_of(arm), hop, of_tree).map_err(|error| unfit(&error))?;
        let rate = experiment.nominal_capacity();
        let plan = resolve::load_plan(experiment, arm, &self.accounts, nowhere(), seed, rate);
        Ok((plan, cluster))
    }

    fn plan_of(&self, arm: &Arm) -> PlantPlan {
        PlantPlan { oracle: arm.hindsight == Some(Hindsight::Oracle), ..self.plan.clone() }
    }

    /// What no policy can exceed, with this seed.
    pub fn bound(&self, experiment: &Experiment, arm: &Arm, task: Task) -> Result<summary::Arm, RunFailure> {
        let faults = &experiment.simulation.faults;
        let link = experiment.simulation.link();
        let phases = if let App::Tree(tree) = &experiment.target.app {
            let (plan, cluster) = self.set_up_tree(experiment, arm, tree, task.seed)?;
            let fastest: Vec<f64> = tree
                .services
                .iter()
                .map(|service| fastest(faults.iter().filter(|fault| fault.hits(&service.name))))
                .collect();
            offline::bounds(&plan, cluster, link, &fastest)?
        } else {
            let (plan, plant) = self.set_up(experiment, arm, task.seed, None)?;
            offline::bounds(&plan, plant, link, &[fastest(faults.iter())])?
        };
        let (name, policy) = (arm.label.clone(), arm.policy_name().to_owned());
        Ok(summary::Arm {
            name,
            policy,
            block: task.block,
            bound: true,
            valid: true,
            phases,
            ..summary::Arm::default()
        })
    }

    /// Runs an arm. `arms`: those of the experiment, with what was looked for filled in.
    pub fn run(
        &self,
        experiment: &Experiment,
        arms: &[Arm],
        task: Task,
        capacity: Option<&Capacity>,
        told: Told<'_>,
    ) -> Result<Simulated, RunFailure> {
        let arm = &arms[task.arm];
        if let App::Tree(tree) = &experiment.target.app {
            let (plan, cluster) = self.set_up_tree(experiment, arm, tree, task.seed)?;
            return run_on(cluster, &plan, experiment, (arm, task), told);
        }
        let (plan, plant) = self.set_up(experiment, arm, task.seed, capacity)?;
        run_on(plant, &plan, experiment, (arm, task), told)
    }
}

/// The highest speed that these faults give a server, all at once if they are together somewhere; at least its own, 1.
fn fastest<'a>(faults: impl Iterator<Item = &'a Fault>) -> f64 {
    let speed = |fault: &Fault| match fault.kind {
        FaultKind::Capacity(share) => share.max(1.0),
        FaultKind::Latency(_) => 1.0,
    };
    faults.map(speed).product()
}

fn run_on<W: Simulation>(
    mut plant: W,
    plan: &LoadPlan,
    experiment: &Experiment,
    (arm, task): (&Arm, Task),
    Told { mut events, watches, stop, computed }: Told<'_>,
) -> Result<Simulated, RunFailure> {
    let mut watches = watches.to_vec();
    let mut abort = None;
    // Of this arm alone: others run beside it.
    let end = StopFlag::new();
    if stop.is_stopped() {
        end.stop();
    }
    let names = plan.phases.iter().map(|phase| phase.name.clone()).collect();
    let mut seconds = Seconds::in_virtual_time(&arm.label, task.block, names);
    let policy = Some(arm.policy.clone());
    events.write(&LiveEvent::ArmStarted { arm: arm.label.clone(), block: task.block, policy });
    let mut phase = None;
    let finished = sim::run(
        plan,
        experiment.simulation.link(),
        &mut plant,
        |window, plant, now| {
            if phase != Some(window.phase) {
                phase = Some(window.phase);
                let second = u32::try_from(window.second).unwrap_or(u32::MAX);
                events.write(&LiveEvent::PhaseStarted { phase: seconds.phase(window.phase).to_owned(), second });
            }
            for event in policy_events::lines(plant.drain_events().into_iter(), 0) {
                events.write(&event);
            }
            computed.fetch_add(1, Ordering::Relaxed);
            let second = seconds.next(&window, Some(plant.shown(now)));
            if abort.is_none() {
                abort = abort_at(&mut watches, &second);
                if let Some(abort) = &abort {
                    events.write(&LiveEvent::Note { text: abort.found.clone() });
                }
            }
            events.write(&LiveEvent::Second(Box::new(second)));
            if abort.is_some() || stop.is_stopped() {
                end.stop();
            }
        },
        &end,
    )
    .map_err(workloads::RunError::from)?;
    let report = finished.report;
    let read = plant.read();
    let joined = report.numbers.as_ref().and_then(|numbers| join(numbers, &read));
    let last = plant.shown(finished.ended);
    let found = summary::Arm {
        name: arm.label.clone(),
        policy: arm.policy_name().to_owned(),
        parameters: assemble::parameters_of(arm),
        block: task.block,
        generator: figures::generator(&report),
        conditions: figures::conditions(&report),
        server: Some(summary::Server {
            services: plant.services(),
            ..assemble::server(None, &last, &read.ledger, joined.as_ref())
        }),
        requests: joined,
        phases: report.phases.iter().map(figures::phase).collect(),
        walk: figures::walk(&report, assemble::model_of(plan)),
        offered: report.offered.clone(),
        replayed: report.replayed,
        ..summary::Arm::default()
    };
    let digest = digest_of(plan)?;
    Ok(Simulated { ended: Ended { arm: found, report, timeline: Vec::new(), abort }, events, digest })
}

/// What is measured in virtual time: a plant, or several services.
trait Simulation: sim::SimServer {
    fn shown(&self, now: Timestamp) -> Gauges;
    fn read(&self) -> ReadRequests;
    fn drain_events(&mut self) -> Vec<StreamedEvent>;
    fn services(&self) -> Vec<summary::Service>;
}

impl Simulation for Plant {
    fn shown(&self, now: Timestamp) -> Gauges {
        self.gauges(now)
    }

    fn read(&self) -> ReadRequests {
        self.requests()
    }

    fn drain_events(&mut self) -> Vec<StreamedEvent> {
        self.events().iter().map(|event| (**event).clone()).collect()
    }

    fn services(&self) -> Vec<summary::Service> {
        Vec::new()
    }
}

impl Simulation for Cluster {
    fn shown(&self, now: Timestamp) -> Gauges {
        self.gauges(now)
    }

    fn read(&self) -> ReadRequests {
        self.requests()
    }

    fn drain_events(&mut self) -> Vec<StreamedEvent> {
        self.events()
    }

    fn services(&self) -> Vec<summary::Service> {
        self.books().into_iter().map(assemble::service).collect()
    }
}

fn unfit(error: &PlantError) -> RunFailure {
    RunFailure::Target(error.to_string())
}
