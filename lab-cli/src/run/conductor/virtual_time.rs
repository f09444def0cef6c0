//! A whole run in virtual time: arms side by side on all cores, told in their order.

use std::sync::atomic::{AtomicU64, Ordering};

use analysis::{
    judge::measures,
    live::LiveEvent,
    manifest::Block,
    record::{self, ArmRecord},
    summary::{self, Capacity, LimitTry},
};
use experiment::{
    plan::{ArmPlan, Hindsight},
    plan_digest::seed_of,
};
use workloads::StopFlag;

use super::{Finished, Run};
use crate::run::{
    RunFailure,
    arm_recorder::Ended,
    manifest::shape,
    part::facts,
    reference::best_static,
    simulated::{
        arm::{ArmHost, EventBuffer, Simulated, Task},
        parallel::side_by_side,
        setup::VirtualSetup,
    },
};

/// An arm's turn.
enum Turn {
    /// It was run.
    Ran(Box<Simulated<EventBuffer>>),
    /// It was computed.
    Bound(Box<summary::Arm>),
    /// The run had been stopped before it.
    Left,
}

/// Values that all turns have in common.
struct World<'a> {
    setup: &'a VirtualSetup,
    /// Arms, those with a search as it has filled them in.
    arms: &'a [ArmPlan],
    capacity: Option<&'a Capacity>,
    /// Requests a second that the target can serve, where that is known.
    rate: Option<f64>,
    /// Ends all of them.
    flag: &'a StopFlag,
}

impl Run<'_> {
    pub(super) fn all_in_virtual_time(&mut self) -> Result<Finished, RunFailure> {
        let experiment = self.request.experiment;
        self.tell(&LiveEvent::RunStarted(shape(experiment, experiment.nominal_capacity(), true)))?;
        let cautions = experiment.cautions().into_iter().chain(experiment.virtual_cautions());
        for caution in cautions.chain(experiment.too_few_blocks()) {
            self.note(&caution)?;
        }
        let users = self.request.users().map(|(shard, _)| shard);
        let setup = VirtualSetup::of(experiment).of_part(users);
        let capacity = setup.capacity(experiment, &StopFlag::new())?;
        let rate = capacity.as_ref().map(|found| found.wanted_per_s).or(experiment.nominal_capacity());
        let (mut blocks, mut told) = (Vec::new(), 0.0);
        let (flag, computed) = (self.stop.fresh_flag(), AtomicU64::new(0));
        let mut arms = Vec::new();
        for until in self.stages() {
            let mut tasks = self.add_blocks(&mut blocks, until);
            if arms.is_empty() {
                // On the seeds of all blocks, whoever runs them.
                arms = self.with_limits(&setup, &blocks, capacity.as_ref(), &flag)?;
            }
            blocks.retain(|block| self.request.has_block(block.block));
            tasks.retain(|task| self.request.has_block(task.block));
            self.manifest(&capacity, &blocks)?;
            told += self.planned_seconds() * tasks.len() as f64;
            let world = World { setup: &setup, arms: &arms, capacity: capacity.as_ref(), rate, flag: &flag };
            self.run_stage(&world, &tasks, &mut blocks, (&computed, told))?;
            self.manifest(&capacity, &blocks)?;
            if self.is_cut_off() || self.look()? {
                break;
            }
        }
        self.finish(&capacity, self.is_cut_off())
    }

    /// Runs some blocks of arms. `told`: seconds that have been computed, of so many until the end of this stage.
    fn run_stage(
        &mut self,
        world: &World<'_>,
        tasks: &[Task],
        blocks: &mut [Block],
        (computed, of_s): (&AtomicU64, f64),
    ) -> Result<(), RunFailure> {
        let experiment = self.request.experiment;
        let World { setup, arms, capacity, rate, flag } = *world;
        let folder = self.folder.path().to_owned();
        let watches = self.watches.clone();
        let run = |task: Task| {
            // An interrupted run does not wait for the remaining arms to begin.
            if flag.is_stopped() {
                return Ok(Turn::Left);
            }
            let arm = &arms[task.arm];
            if arm.hindsight.as_ref().is_some_and(|known| experiment.computes(known)) {
                let of_block = |bound| summary::Arm { block: task.block, ..bound };
                return setup.bound(experiment, arm, task.seed).map(|bound| Turn::Bound(Box::new(of_block(bound))));
            }
            let host = ArmHost { events: EventBuffer::create(&folder)?, watches: &watches, stop: flag, computed };
            setup.run(experiment, arms, task, capacity, host).map(|ran| Turn::Ran(Box::new(ran)))
        };
        side_by_side(tasks, self.request.cpus.jobs, run, |ended| {
            let Some((task, turn)) = ended else {
                // What drains after its last phase is no part of the plan.
                let done_s = (computed.load(Ordering::Relaxed) as f64).min(of_s);
                self.sinks.tell(&LiveEvent::Computing { done_s, of_s });
                return Ok(());
            };
            if self.is_cut_off() {
                return Ok(());
            }
            let simulated = match turn? {
                Turn::Ran(simulated) => simulated,
                Turn::Left => return Ok(()),
                Turn::Bound(arm) => return self.take_bound(task.arm, *arm, rate),
            };
            if let Some(block) = blocks.iter_mut().find(|block| block.block == task.block) {
                block.plan.get_or_insert_with(|| simulated.digest.clone());
            }
            self.take_simulated(task, *simulated, rate)?;
            if self.abort.is_some() {
                flag.stop();
            }
            Ok(())
        })
    }

    /// The numbers of blocks after which the run may end: all of them, or the looks of its rule.
    fn stages(&self) -> Vec<u32> {
        let experiment = self.request.experiment;
        match &experiment.compare.until_decided {
            Some(rule) => rule.looks.iter().map(|look| look.blocks).collect(),
            None => vec![experiment.repeat],
        }
    }

    /// The arms, with the best fixed limit where that is looked for: on the seeds of these blocks, which are all of a fixed number, and
    /// those before the first look of a comparison that runs until it is decided.
    fn with_limits(
        &mut self,
        setup: &VirtualSetup,
        blocks: &[Block],
        capacity: Option<&Capacity>,
        flag: &StopFlag,
    ) -> Result<Vec<ArmPlan>, RunFailure> {
        let experiment = self.request.experiment;
        let mut arms = experiment.arms.clone();
        for arm in &mut arms {
            let Some(most) = arm.hindsight.as_ref().and_then(Hindsight::searched).map(|range| range.most) else {
                continue;
            };
            self.note(&format!("{}: looking for the limit with the most requests answered in time", arm.label))?;
            let found = best_static::search(&arm.label, most, |limits| {
                let tasks: Vec<(u32, u64)> =
                    limits.iter().flat_map(|limit| blocks.iter().map(|block| (*limit, block.seed))).collect();
                let mut tried: Vec<LimitTry> = limits.iter().map(|&limit| LimitTry { limit, in_time: 0 }).collect();
                let run =
                    |(limit, seed): (u32, u64)| setup.in_time(experiment, &limited(arm, limit), seed, capacity, flag);
                side_by_side(&tasks, self.request.cpus.jobs, run, |ended| {
                    let Some(((limit, _), in_time)) = ended else { return Ok(()) };
                    let in_time = in_time?;
                    tried.iter_mut().filter(|tried| tried.limit == limit).for_each(|tried| tried.in_time += in_time);
                    Ok(())
                })?;
                Ok::<_, RunFailure>(tried)
            })?;
            // What was interrupted has found nothing.
            if self.stop.is_asked() {
                break;
            }
            *arm = limited(arm, found.limit);
            self.note(&format!("{}: {}, of {} limits that were tried", found.arm, found.limit, found.tried.len()))?;
            self.searches.push(found);
        }
        Ok(arms)
    }

    /// Plans blocks until there are so many.
    fn add_blocks(&self, blocks: &mut Vec<Block>, until: u32) -> Vec<Task> {
        let experiment = self.request.experiment;
        let mut tasks = Vec::new();
        for block in blocks.len() as u32 + 1..=until {
            let seed = seed_of(experiment, block);
            // Nothing drifts in virtual time: arms go in the order of the file.
            let order = 0..experiment.arms.len();
            let names = experiment.arms.iter().map(|arm| arm.label.clone()).collect();
            blocks.push(Block { block, seed, order: names, plan: None, touched: Vec::new() });
            tasks.extend(order.map(|arm| Task { arm, block, seed }));
        }
        tasks
    }

    /// Seconds of one arm, without its drain.
    fn planned_seconds(&self) -> f64 {
        self.request.experiment.users.phases.iter().map(|phase| phase.duration.as_secs_f64()).sum()
    }

    fn take_bound(&mut self, index: usize, mut arm: summary::Arm, rate: Option<f64>) -> Result<(), RunFailure> {
        let plan = self.planned(rate);
        measures::fill_in(&mut arm, &[], &plan);
        let kept = ArmRecord::of_bound(&arm, self.context(&self.request.experiment.arms[index]), plan);
        self.folder.put(&record::file_name(&arm.name, arm.block), &kept)?;
        self.tell(&LiveEvent::ArmStarted { arm: arm.name.clone(), block: arm.block, policy: None })?;
        self.tell(&LiveEvent::ArmFinished(Box::new(arm.clone())))?;
        self.collected.arms.push(arm);
        Ok(())
    }

    fn take_simulated(
        &mut self,
        task: Task,
        mut simulated: Simulated<EventBuffer>,
        rate: Option<f64>,
    ) -> Result<(), RunFailure> {
        for event in simulated.events.read()? {
            let event = event?;
            self.tell(&event)?;
            if let LiveEvent::Second(second) = event {
                self.keep_second(&second);
                // Whole it is in the file: an arm may be long.
                simulated.ended.timeline.push(second.outline());
            }
        }
        let users = self.request.users();
        let part = users.map(|_| facts(simulated.digest.clone(), None));
        self.take_in(task.arm, Ended { part, ..simulated.ended }, rate)
    }
}

/// The arm with this limit, where one is looked for.
fn limited(arm: &ArmPlan, limit: u32) -> ArmPlan {
    let mut arm = arm.clone();
    let Some(range) = arm.hindsight.as_ref().and_then(Hindsight::searched).cloned() else { return arm };
    let policy = match &range.service {
        Some(service) => arm.services.get_mut(service),
        None => Some(&mut arm.policy),
    };
    if let Some(policy) = policy {
        policy.settings.insert(range.parameter, limit.into());
    }
    arm
}
