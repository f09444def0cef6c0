//! The machines of a whole tree of services, which receive the reports of every task: the same live and in virtual time.

use std::sync::Arc;

use controllers::{
    Effect, LoadSample, PeerReport, Seen, Timestamp,
    site::{LoadReading, SiteMachine, StageGauges, earliest},
};
use spec::services::TreeSpec;

use crate::{
    events::Events,
    policies::{MachineError, Resolved, Seating},
    tree::{
        autoscaler::Autoscaler,
        platform::{Platform, TaskId, TreeChange},
    },
};

/// The machines of a tree.
#[derive(Debug)]
pub struct TreeMachines {
    machines: Vec<SiteMachine>,
    platform: Option<Platform>,
    autoscalers: Vec<Autoscaler>,
}

/// What the machines of a tree want done.
#[derive(Debug, Default)]
pub struct TreeTurn {
    /// Reports to tasks, their sites numbered among those of all tasks.
    pub told: Vec<PeerReport>,
    /// Changes of the running tree, in order.
    pub changes: Vec<TreeChange>,
    /// The next wake-up.
    pub wake: Option<Timestamp>,
}

impl TreeMachines {
    /// The machines of a tree.
    ///
    /// # Errors
    /// Names that are no machines, or wrong settings.
    pub fn new(spec: &TreeSpec) -> Result<Self, MachineError> {
        let Some(first) = spec.services.first() else {
            return Ok(Self { machines: Vec::new(), platform: None, autoscalers: Vec::new() });
        };
        let graph = Arc::new(crate::synthetic::emulated_graph());
        let seating = Seating::new(Arc::clone(&graph), first.task.objective, first.task.seed, Events::default());
        let machine = |spec| {
            let resolved = Resolved::new(spec)?;
            let machine = seating.machine(&resolved, graph.system(), Timestamp::ZERO);
            machine.ok_or_else(|| MachineError::NotAMachine(spec.name.clone()))
        };
        let platform = spec.platform.as_ref().map(|platform| Platform::new(platform, spec, graph.dispatch()));
        Ok(Self {
            machines: spec.machines.iter().map(machine).collect::<Result<_, _>>()?,
            platform: platform.transpose()?,
            autoscalers: Autoscaler::all(spec),
        })
    }

    /// The services whose tasks run only while a platform or an autoscaler wants them; the tasks of the others run all the
    /// time.
    pub fn on_demand(&self) -> impl Iterator<Item = usize> {
        self.platform.iter().flat_map(Platform::services).chain(self.autoscalers.iter().map(Autoscaler::service))
    }

    /// The tasks whose load is to be told before the turn at this time ([`Self::load`]).
    pub fn samples(&self, now: Timestamp) -> Vec<TaskId> {
        self.autoscalers.iter().flat_map(|scaler| scaler.samples(now)).collect()
    }

    /// Takes in the load of a task.
    pub fn load(&mut self, task: TaskId, reading: LoadReading) {
        self.autoscalers.iter_mut().for_each(|scaler| scaler.load(task, reading));
    }

    /// Notes that a task takes requests.
    pub fn started(&mut self, task: TaskId) {
        self.platform.iter_mut().for_each(|platform| platform.started(task));
        self.autoscalers.iter_mut().for_each(|scaler| scaler.started(task));
    }

    /// Notes that a task has finished what it had.
    pub fn drained(&mut self, task: TaskId) {
        self.platform.iter_mut().for_each(|platform| platform.drained(task));
        self.autoscalers.iter_mut().for_each(|scaler| scaler.drained(task));
    }

    /// Delivers a task's report, whose site is numbered among those of all tasks ([`super::global`]).
    pub fn hear(&mut self, now: Timestamp, report: PeerReport) {
        self.machines.iter_mut().for_each(|machine| machine.observe(now, &Seen::Peer(report)));
        self.platform.iter_mut().for_each(|platform| platform.hear(now, report));
    }

    /// Lets the machines do what is due.
    pub fn turn(&mut self, now: Timestamp) -> TreeTurn {
        let nothing = LoadSample::Stage { queue: 0, workers: 0, idle: 0, completed: 0 };
        // They use no CPU and no memory.
        let (none, mut wants, mut wake) = (LoadReading::default(), Vec::new(), None);
        for machine in &mut self.machines {
            wake = earliest(wake, machine.poll(now, nothing, &none, |want| wants.push(want)));
        }
        let told = |want| match want {
            Effect::Tell(report) => Some(report),
            _ => None,
        };
        let mut turn = TreeTurn { told: wants.into_iter().filter_map(told).collect(), changes: Vec::new(), wake };
        if let Some(platform) = &mut self.platform {
            let at = platform.turn(now, &mut turn.changes, &mut turn.told);
            turn.wake = earliest(turn.wake, Some(at));
        }
        for scaler in &mut self.autoscalers {
            let at = scaler.turn(now, &mut turn.changes);
            turn.wake = earliest(turn.wake, Some(at));
        }
        turn
    }

    /// Their rows of gauges.
    #[must_use]
    pub fn gauges(&self) -> Vec<StageGauges> {
        let mut row = StageGauges { name: "beside".to_owned(), ..StageGauges::default() };
        self.machines.iter().for_each(|machine| machine.gauges(&mut row.policy));
        let mut rows: Vec<StageGauges> = (!row.policy.is_empty()).then_some(row).into_iter().collect();
        self.platform.iter().for_each(|platform| platform.gauges(&mut rows));
        rows.extend(self.autoscalers.iter().map(Autoscaler::gauges));
        rows
    }
}
