//! Measures what a live target's requests cost, for a plant in virtual time. The figures come from what clients see and from the
//! target's CPU seconds; nothing inside of the target is switched on for it.

use std::{cell::RefCell, collections::BTreeMap, path::Path, time::Duration};

use controllers::random::seed_for;
use experiment::{Experiment, plan::ArmPlan, resolve::target_spec};
use spec::{
    self, ChecksumSpec, WorkSpec,
    plant::{PlantSpec, TypeCost},
    services::TaskSpec,
};
use workloads::{
    StopFlag,
    plan::{ConnectionHabit, Users},
};

use super::{
    super::{
        Corpus, Cpus, RunFailure, Sinks, StopSignal,
        live::target::{TargetProcess, destination},
    },
    busy::Busy,
    capacity::{USERS, users},
    figures::{self, Series},
    load::{self, Loaded, url_users},
    verdict::PlantVerdict,
};

/// Users at once: one, that nothing waits; so many that the database is never idle.
const LEVELS: [u32; 4] = [1, 2, 4, USERS];
/// Extra operations a request at the points whose slope is the cost of one.
const OPERATIONS: [f64; 3] = [0.0, 20.0, 60.0];
/// Loads that are refused: by one, by many, and each on a new connection.
const REFUSED: usize = 3;
/// Loads of a repetition on the mail service: all levels without extra operations and with the most of them, and many users with the
/// other numbers of operations.
const MAIL_LOADS: usize = REFUSED + 2 * LEVELS.len() + OPERATIONS.len() - 1;
/// The same on the checksum service.
const CHECKSUM_LOADS: usize = REFUSED + 1;
/// Types that the mail users' model never asks for, and that change mail in the same stage as *delete*.
const ALIKE: [&str; 2] = ["create folder", "delete folder"];
/// Most requests on connections of their own in one load: their ports are out of use for a minute afterwards.
const NEW_CONNECTIONS: u64 = 4000;

/// The inputs of a calibration.
#[derive(Debug)]
pub struct PlantRequest<'a> {
    /// Experiments whose targets are measured, one for each service. Their first arm is without control, their second refuses
    /// nearly everything before dispatch.
    pub experiments: &'a [Experiment],
    /// Rounds.
    pub repeat: u32,
    /// The length of each load.
    pub lasts: Duration,
    /// The file for the targets' output.
    pub log: &'a Path,
    /// Processors of generator and target.
    pub cpus: &'a Cpus,
}

/// Figures of all rounds: every figure as often as it was measured.
#[derive(Debug, Default)]
pub struct PlantMeasurements {
    /// Plain figures by name, in the order of the file.
    pub figures: BTreeMap<Figure, Series>,
    /// Slowdown, by number of connections in use.
    pub slowdown: Vec<Series>,
    /// Costs by request type: outside of the database, on readers, on the writer, spread.
    pub types: BTreeMap<String, [Series; 4]>,
    /// Shares that tell how good the figures are, for people.
    pub checks: BTreeMap<String, Series>,
    /// The gates' findings about the loads.
    pub verdict: PlantVerdict,
}

/// Plain figures of a plant file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// One way between users and service.
    Link,
    /// Taking a connection.
    Accept,
    /// Reading a request.
    Read,
    /// Refusing a request.
    Refuse,
    /// An extra database operation.
    Operation,
    /// A read of the checksum service.
    ChecksumRead,
}

impl PlantMeasurements {
    fn add(&mut self, figure: Figure, value: f64) {
        self.figures.entry(figure).or_default().add(value.max(0.0));
    }

    fn check(&mut self, name: &str, value: f64) {
        self.checks.entry(name.to_owned()).or_default().add(value);
    }

    fn median(&self, figure: Figure) -> f64 {
        self.figures.get(&figure).map_or(0.0, Series::median)
    }

    /// A rise of the slowdown with more connections in use, which should fall: the number of them before, and both
    /// factors as they go into the file.
    pub fn noisy_slowdown(&self) -> Option<(usize, [f64; 2])> {
        let factors: Vec<f64> = self.slowdown.iter().map(Series::median).collect();
        figures::rise(&factors)
    }

    /// The plant: medians.
    pub fn plant(&self, measured: String) -> PlantSpec {
        let types = self.types.iter().map(|(kind, series)| {
            let [cpu_ms, read_ms, write_ms, spread] = [0, 1, 2, 3].map(|at| series[at].median());
            (kind.clone(), TypeCost { cpu_ms, read_ms, write_ms, spread: spread.min(3.0) })
        });
        let mut types: BTreeMap<String, TypeCost> = types.collect();
        if let Some(&delete) = types.get("delete") {
            for kind in ALIKE {
                types.entry(kind.to_owned()).or_insert(delete);
            }
        }
        PlantSpec {
            measured,
            cores: 1,
            link_ms: self.median(Figure::Link),
            accept_ms: self.median(Figure::Accept),
            read_ms: self.median(Figure::Read),
            refuse_ms: self.median(Figure::Refuse),
            operation_ms: self.median(Figure::Operation),
            checksum_read_ms: self.median(Figure::ChecksumRead),
            writers: 1,
            slowdown: self.slowdown.iter().map(Series::median).collect(),
            types,
            // Health checks and open connections are not measured.
            ..PlantSpec::default()
        }
    }
}

/// Measures. Takes 13 loads on the mail service for each repetition, 4 on the checksum service.
///
/// # Errors
/// A target that does not start or answer, or an interrupt: then there is nothing to write.
pub fn measure(
    request: &PlantRequest<'_>,
    sinks: &mut Sinks,
    stop: &StopSignal,
) -> Result<PlantMeasurements, RunFailure> {
    if request.cpus.shared() {
        sinks.note("generator and target share one processor: what the target costs then cannot be told");
    }
    let mut measured =
        PlantMeasurements { verdict: PlantVerdict::of_rounds(request.repeat), ..PlantMeasurements::default() };
    for experiment in request.experiments {
        let arashi = experiment.target.app.arashi();
        if arashi.is_some() {
            sinks.note("preparing mail (seconds the first time, then kept)");
        }
        let corpus = arashi.map(|arashi| Corpus::prepare(&arashi.mail)).transpose()?;
        for turn in 1..=request.repeat {
            let loads = if corpus.is_some() { MAIL_LOADS } else { CHECKSUM_LOADS };
            let (name, repeat, lasts) = (&experiment.name, request.repeat, request.lasts.as_secs_f64());
            sinks.note(format!("{name}: measuring, {turn} of {repeat}: {loads} loads of {lasts} s"));
            let verdict = RefCell::new(std::mem::take(&mut measured.verdict));
            let bench = Bench {
                request,
                experiment,
                corpus: corpus.as_ref(),
                turn,
                verdict: &verdict,
                stop: stop.fresh_flag(),
            };
            bench.refusals(&mut measured)?;
            match &corpus {
                Some(corpus) => bench.mail(corpus, &mut measured, sinks)?,
                None => bench.checksum(&mut measured)?,
            }
            measured.verdict = verdict.into_inner();
        }
    }
    Ok(measured)
}

/// One repetition on one target.
struct Bench<'a> {
    request: &'a PlantRequest<'a>,
    experiment: &'a Experiment,
    corpus: Option<&'a Corpus>,
    turn: u32,
    verdict: &'a RefCell<PlantVerdict>,
    stop: StopFlag,
}

impl Bench<'_> {
    fn target(&self, arm: usize) -> Result<TargetProcess, RunFailure> {
        let database = self.corpus.map(Corpus::copy).transpose()?;
        let none = ArmPlan::none();
        let arm = self.experiment.arms.get(arm).unwrap_or(&none);
        let mut spec = target_spec(self.experiment, arm, database, 0.0, self.seed(), self.request.cpus.target);
        spec.edge.kept.connection_requests = 0;
        TargetProcess::start(TaskSpec::alone(spec), self.request.log)
    }

    fn seed(&self) -> u64 {
        seed_for(self.experiment.seed, &format!("calibrate {}", self.turn))
    }

    fn load(
        &self,
        name: &str,
        target: &TargetProcess,
        (users, at_once): (&Users, u32),
        most: Option<u64>,
    ) -> Result<Loaded, RunFailure> {
        let busy = Busy { users: users.clone(), at_once, lasts: self.request.lasts, seed: self.seed() };
        let plan = busy.plan(destination(&target.ready)?);
        let (loaded, report) = load::run(target, &plan, most, &self.stop)?;
        let name = format!("{}, {name} with {at_once} at once", self.experiment.name);
        self.verdict.borrow_mut().judge(&name, &plan, &report, (loaded.per_second(), loaded.seconds));
        Ok(loaded)
    }

    /// Requests that are refused before dispatch cost their reading and the refusal; on a connection of their own, that too.
    fn refusals(&self, measured: &mut PlantMeasurements) -> Result<(), RunFailure> {
        let target = self.target(1)?;
        let kept = url_users("/", ConnectionHabit::PerUser);
        let alone = self.load("refusals", &target, (&kept, 1), None)?;
        let many = self.load("refusals", &target, (&kept, USERS), None)?;
        let fresh = url_users("/", ConnectionHabit::PerRequest);
        let anew = self.load("refusals on new connections", &target, (&fresh, USERS), Some(NEW_CONNECTIONS))?;
        target.stop()?;
        // From outside the reading and the refusal cannot be told apart: half each.
        measured.add(Figure::Read, many.cpu_ms() / 2.0);
        measured.add(Figure::Refuse, many.cpu_ms() / 2.0);
        measured.add(Figure::Accept, anew.cpu_ms() - many.cpu_ms());
        measured.add(Figure::Link, (alone.refused_ms.unwrap_or(0.0) - alone.cpu_ms()) / 2.0);
        measured.check("refusals: share that was refused", many.refused / many.answered.max(1.0));
        Ok(())
    }

    fn mail(&self, corpus: &Corpus, measured: &mut PlantMeasurements, sinks: &mut Sinks) -> Result<(), RunFailure> {
        let users = Users::Mail(users(self.experiment, corpus.accounts())?);
        let target = self.target(0)?;
        let read_ms = measured.median(Figure::Read);
        let mut by_level = Vec::new();
        for at_once in LEVELS {
            let seen = self.load("mail", &target, (&users, at_once), None)?;
            measured.check(&format!("CPU a request without extra work, {at_once} at once, ms"), seen.cpu_ms());
            by_level.push(seen);
        }
        if let [alone, .., crowded] = by_level.as_slice() {
            measured.check("share of one user's service time that is CPU time", alone.busy_share());
            if crowded.threads.is_none() {
                sinks.note("the kernel does not tell CPU time by thread: all of it counts as outside of the database");
            }
            for (kind, cost) in figures::types(alone, crowded, read_ms) {
                let series = measured.types.entry(kind).or_default();
                let parts = [cost.cpu_ms, cost.read_ms, cost.write_ms, cost.spread];
                series.iter_mut().zip(parts).for_each(|(series, part)| series.add(part));
            }
        }
        self.operations(&target, &users, measured)?;
        target.stop()
    }

    /// The same number of extra operations for every request, whatever its type.
    fn operations(
        &self,
        target: &TargetProcess,
        users: &Users,
        measured: &mut PlantMeasurements,
    ) -> Result<(), RunFailure> {
        let weights: BTreeMap<String, f64> =
            service_core::mail::KINDS.iter().map(|&kind| (kind.to_owned(), 1.0)).collect();
        let mut by_operations = Vec::new();
        let mut by_level = Vec::new();
        for operations in OPERATIONS {
            target.control.set_work(&WorkSpec { operations, weights: weights.clone(), spread: 0.0 })?;
            let seen = self.load(&format!("{operations} operations"), target, (users, USERS), None)?;
            by_operations.push((operations, 1e3 / seen.per_second(), seen.cpu_ms()));
            by_level = vec![(USERS, seen)];
        }
        for &at_once in LEVELS.iter().filter(|&&level| level != USERS) {
            let seen = self.load("most operations", target, (users, at_once), None)?;
            by_level.push((at_once, seen));
        }
        let line = |of: &dyn Fn(&(f64, f64, f64)) -> f64| {
            figures::slope(&by_operations.iter().map(|point| (point.0, of(point))).collect::<Vec<_>>()).unwrap_or(0.0)
        };
        measured.add(Figure::Operation, line(&|point| point.1));
        measured.check("CPU of an extra operation, ms", line(&|point| point.2));
        let Some(&most) = OPERATIONS.last() else { return Ok(()) };
        let connections = self.experiment.target.app.arashi().map_or(0, |arashi| arashi.spec.connections);
        let mut points = Vec::new();
        for (at_once, seen) in &by_level {
            let in_use = seen.busy_workers.min(f64::from(connections)).max(1.0);
            measured.check(&format!("CPU a request with {most} operations, {at_once} at once, ms"), seen.cpu_ms());
            measured.check(&format!("workers busy with {at_once} at once"), seen.busy_workers);
            points.push((in_use, seen.cpu_ms()));
        }
        let factors = figures::slowdown(&points, connections);
        measured.slowdown.resize_with(factors.len(), Series::default);
        measured.slowdown.iter_mut().zip(factors).for_each(|(series, factor)| series.add(factor));
        Ok(())
    }

    /// A page of the checksum service is its reads, and its reading as a request.
    fn checksum(&self, measured: &mut PlantMeasurements) -> Result<(), RunFailure> {
        let spec = target_spec(self.experiment, &ArmPlan::none(), None, 0.0, self.seed(), self.request.cpus.target);
        let spec::App::Checksum(ChecksumSpec { rounds, fixed_rounds, reads, .. }) = spec.app else { return Ok(()) };
        let target = self.target(0)?;
        let seen = self.load("checksums", &target, (&url_users("/", ConnectionHabit::PerUser), 4), None)?;
        target.stop()?;
        let all = f64::from(rounds + fixed_rounds) * f64::from(reads);
        measured.add(Figure::ChecksumRead, (seen.cpu_ms() - measured.median(Figure::Read)) / all.max(1.0));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    #[test]
    fn help_says_how_many_loads_there_are() {
        let mut calibrate = <args::CalibrateArgs as clap::Args>::augment_args(clap::Command::new("calibrate"));
        let help = calibrate.render_long_help().to_string();
        let help: Vec<&str> = help.split_whitespace().collect();
        let both = MAIL_LOADS + CHECKSUM_LOADS;
        let said =
            format!("has {both} of them for arashi, {MAIL_LOADS} on the mail service and {CHECKSUM_LOADS} on the");
        assert!(help.join(" ").contains(&said), "{said}: {help:?}");
    }
}
