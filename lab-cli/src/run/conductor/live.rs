//! A whole live run: block after block, arm after arm.

use std::{path::PathBuf, sync::Arc};

use analysis::{
    live::LiveEvent,
    manifest::Block,
    summary::{Capacity, RunSummary, Validity},
};
use controllers::random::{Random as _, Seeded, seed_for};
use experiment::{
    plan::{AppPlan, ArmPlan, OwnService, Work},
    plan_digest::{digest_of, seed_of},
    resolve,
};
use workloads::{
    background::HEALTH,
    plan::{Account, Target},
};

use super::{Finished, Run, RunRequest};
use crate::run::{
    RunFailure, calibrate,
    environment::headroom,
    live::{
        arm::{self, ArmTurn},
        carry_over::CarryOver,
        site::{Front, OwnSite, SiteSpec},
        snapshot::Corpus,
        target::log_in,
    },
    manifest::shape,
};

impl Run<'_> {
    pub(super) fn all_live(&mut self) -> Result<Finished, RunFailure> {
        let experiment = self.request.experiment;
        self.tell(&LiveEvent::RunStarted(shape(experiment, experiment.nominal_capacity(), false)))?;
        self.warnings()?;
        // The part with the service has the mail, and has solved its work.
        let arashi = experiment.target.app.arashi().filter(|_| !self.request.is_elsewhere());
        if arashi.is_some() {
            self.note("preparing mail (seconds the first time, then kept)")?;
        }
        let corpus = arashi.map(|arashi| Corpus::prepare(&arashi.mail)).transpose()?;
        let capacity = match (arashi.map(|arashi| arashi.work), &corpus) {
            (Some(Work::Capacity(wanted)), Some(corpus)) => Some(self.capacity(corpus, wanted)?),
            _ => None,
        };
        // What agents are able to is not known here.
        if self.request.sender.agents() == 0 {
            self.note("measuring the generator against a service that does nothing")?;
            let habit = experiment.users.connections;
            self.headroom = Some(headroom::measure(self.request.cpus, habit, &self.stop.fresh_flag())?);
        }
        let carry_over = CarryOver::of(experiment).filter(|_| !self.request.is_elsewhere());
        let mut blocks = Vec::new();
        let ours: Vec<u32> = (1..=experiment.repeat).filter(|block| self.request.has_block(*block)).collect();
        for block in ours {
            let seed = seed_of(experiment, block);
            let order = self.shuffled_arms(seed);
            let names = order.iter().map(|&index| experiment.arms[index].label.clone()).collect();
            blocks.push(Block { block, seed, order: names, plan: None, touched: Vec::new() });
            self.manifest(&capacity, &blocks)?;
            for index in order {
                let digest =
                    self.one_arm(index, (block, seed), corpus.as_ref(), capacity.as_ref(), carry_over.as_ref());
                let digest = digest.map_err(|failure| self.after_other_arms(failure))?;
                let touched = self.collected.arms.last().is_some_and(|arm| !arm.touches.is_empty());
                if let Some(entry) = blocks.last_mut()
                    && (entry.plan.is_none() || touched)
                {
                    entry.plan.get_or_insert(digest);
                    entry.touched.extend(touched.then(|| experiment.arms[index].label.clone()));
                    self.manifest(&capacity, &blocks)?;
                }
                // The arms so far stay readable if a later one fails.
                let so_far = self.summary(&capacity, true);
                self.folder.replace("summary.json", &so_far)?;
                self.folder.sync()?;
                if self.is_cut_off() || self.fails_fast(&so_far)? {
                    return self.finish(&capacity, true);
                }
            }
            if self.look()? {
                break;
            }
        }
        self.finish(&capacity, false)
    }

    /// What is bad usage before anything was run is a failure once an arm was.
    fn after_other_arms(&self, failure: RunFailure) -> RunFailure {
        match failure {
            RunFailure::Agents(why) if !self.collected.arms.is_empty() => {
                let run = self.folder.path().display();
                RunFailure::AgentsFailed(format!("{why}; the arms before it are kept: lab report {run}"))
            }
            failure => failure,
        }
    }

    /// True if an arm that was to be VALID is not, and the rest need not run.
    fn fails_fast(&mut self, so_far: &RunSummary) -> Result<bool, RunFailure> {
        let arms = if self.request.fail_fast { &so_far.arms[..] } else { &[] };
        let Some(arm) = arms.iter().find(|arm| arm.verdict == Validity::Invalid) else { return Ok(false) };
        self.note(&format!("{} is INVALID in block {}: the run ends here (--fail-fast)", arm.name, arm.block))?;
        Ok(true)
    }

    /// Tells what bears on the figures and cannot be seen in them.
    fn warnings(&mut self) -> Result<(), RunFailure> {
        if self.request.cpus.shared() {
            self.note("generator and target share one processor: the target's capacity depends on the load")?;
        }
        let experiment = self.request.experiment;
        let cautions = experiment.cautions().into_iter().chain(experiment.live_cautions());
        for caution in cautions.chain(experiment.too_few_blocks()).chain(experiment.time_to_decide()) {
            self.note(&caution)?;
        }
        if cfg!(debug_assertions) {
            self.note("this is a debug build: figures are of no use (cargo run --release)")?;
        }
        Ok(())
    }

    /// The order of arms in a block. Each repetition has its own: what drifts with time must not favour an arm.
    fn shuffled_arms(&self, seed: u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.request.experiment.arms.len()).collect();
        if self.request.experiment.repeat > 1 {
            let mut random = Seeded::new(seed_for(seed, "order"));
            for last in (1..order.len()).rev() {
                let pick = (random.uniform() * (last + 1) as f64) as usize;
                order.swap(last, pick.min(last));
            }
        }
        order
    }

    fn capacity(&mut self, corpus: &Corpus, wanted: f64) -> Result<Capacity, RunFailure> {
        let RunRequest { experiment, cpus, .. } = self.request;
        let log = log_in(self.folder.path());
        calibrate::search(experiment, corpus, wanted, cpus, &log, &self.stop.fresh_flag(), self.sinks)
    }

    fn one_arm(
        &mut self,
        index: usize,
        (block, seed): (u32, u64),
        corpus: Option<&Corpus>,
        capacity: Option<&Capacity>,
        carry_over: Option<&CarryOver>,
    ) -> Result<String, RunFailure> {
        let experiment = self.request.experiment;
        let arm = &experiment.arms[index];
        let database = corpus.map(Corpus::copy).transpose()?;
        let work = resolve::work(experiment, arm, capacity);
        let users = self.request.users();
        let site = match users.and_then(|(_, users)| users.target_at.clone()) {
            Some(url) => {
                // A check is in no count of requests, where it is a service of the lab's.
                let service = OwnService { url: Some(url), ready: HEALTH.to_owned(), ..OwnService::default() };
                SiteSpec::Own(Box::new(OwnSite { service, cpu: None, front: Front::Open, runs_on: false }))
            }
            None => self.site_of(arm, (database, work), seed, carry_over),
        };
        let sender = Arc::clone(&self.request.sender);
        let site = match users.and_then(|(_, users)| users.listen).or_else(|| sender.listen()) {
            Some(listen) => site.at(listen),
            None => site,
        };
        let (phases, watches, touches) = (&experiment.users.phases[..], &self.watches[..], &self.request.touches);
        let objective = resolve::objective(self.request.experiment);
        let turn = ArmTurn {
            arm,
            block,
            site,
            phases,
            watches,
            touches,
            objective,
            cpus: self.request.cpus,
            carry_over,
            users,
            sender: (&*sender, experiment, index),
            in_parts: experiment.figure.is_some() || !self.thresholds.is_empty(),
        };
        let of_app = if corpus.is_none() { resolve::accounts(&experiment.target.app) } else { Vec::new() };
        let accounts: &[Account] = corpus.map_or(&of_app, Corpus::accounts);
        let rate = capacity.map(|found| found.wanted_per_s).or(experiment.nominal_capacity());
        let mut digest = Ok(String::new());
        let plan = |target: Target| {
            let plan = resolve::load_plan(experiment, arm, accounts, target, seed, rate);
            digest = digest_of(&plan);
            plan
        };
        let ended = arm::run(&turn, plan, &mut self.folder, self.sinks, self.stop)?;
        for second in &ended.timeline {
            self.keep_second(second);
        }
        self.take_in(index, ended, rate)?;
        sender.kept();
        Ok(digest?)
    }

    /// The site of an arm: its mail, and the extra work that its requests are given.
    fn site_of(
        &self,
        arm: &ArmPlan,
        (database, work): (Option<PathBuf>, f64),
        seed: u64,
        carry_over: Option<&CarryOver>,
    ) -> SiteSpec {
        let experiment = self.request.experiment;
        let cpu = self.request.cpus.target;
        match &experiment.target.app {
            AppPlan::Tree(tree) => {
                let spec = Box::new(resolve::tree_spec(experiment, arm, tree, seed, cpu));
                SiteSpec::Many(spec, experiment.faults(false))
            }
            AppPlan::Own(service) => {
                let of_proxy = self.request.cpus.proxy;
                let front = match &arm.proxy {
                    Some(proxy) => {
                        Front::Foreign { name: arm.label.clone(), proxy: Box::new(proxy.clone()), cpu: of_proxy }
                    }
                    None if arm.direct => Front::Open,
                    None => Front::Lab(Box::new(resolve::proxy_spec(experiment, arm, "", seed, of_proxy))),
                };
                let runs_on = carry_over.is_some_and(CarryOver::has_begun);
                SiteSpec::Own(Box::new(OwnSite { service: service.clone(), cpu, front, runs_on }))
            }
            _ => {
                let mut target = Box::new(resolve::target_spec(experiment, arm, database, work, seed, cpu));
                match target.waiting_room.take() {
                    None => SiteSpec::One(target),
                    Some(_) => {
                        let proxy = resolve::room_spec(experiment, arm, seed, self.request.cpus.proxy);
                        SiteSpec::Behind(target, Box::new(proxy))
                    }
                }
            }
        }
    }
}
