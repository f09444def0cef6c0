//! `manifest.json`: what was run, so that it can be run again.

use analysis::{
    live::{PhaseShape, Shape},
    manifest::{Block, ShardBy},
    summary::{Capacity, LimitSearch, Mode, SCHEMA},
};
use experiment::{Experiment, plan::PhasePlan, resolve};
use measure::Shard;
use serde::Serialize;
use serde_json::Value;

use super::{Cpus, part::RunShare};

/// The edition of virtual time: what is run again in another one may come out otherwise. One more for each change after which a
/// run has other figures (`tests/golden.rs` finds them).
pub const WORLD: u32 = 3;

/// Written before the first arm, and again when the order of a block is known.
#[derive(Debug, Serialize)]
struct Manifest<'a> {
    schema: u32,
    lab: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    world: Option<u32>,
    mode: Mode,
    experiment: &'a Experiment,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<Shard>,
    #[serde(skip_serializing_if = "ShardBy::is_block")]
    shard_by: ShardBy,
    capacity: Option<&'a Capacity>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    searches: &'a [LimitSearch],
    blocks: &'a [Block],
    host: Host,
}

/// Facts about the machine that bear on the figures. Nothing that names it or its owner.
#[derive(Debug, Serialize)]
struct Host {
    cores: usize,
    generator_cpu: Option<usize>,
    target_cpu: Option<usize>,
    kernel: String,
    clocksource: String,
    descriptor_limit: u64,
    debug_build: bool,
}

/// The manifest as JSON. Times are milliseconds, as in every file that the lab writes.
///
/// # Errors
/// If a value cannot be written as JSON.
pub fn manifest(
    experiment: &Experiment,
    mode: Mode,
    capacity: Option<&Capacity>,
    searches: &[LimitSearch],
    (blocks, share): (&[Block], Option<&RunShare>),
    cpus: &Cpus,
) -> serde_json::Result<Value> {
    let manifest = Manifest {
        schema: SCHEMA,
        lab: env!("CARGO_PKG_VERSION"),
        world: (mode == Mode::Virtual).then_some(WORLD),
        mode,
        experiment,
        seed: experiment.seed,
        shard: share.map(|share| share.shard),
        shard_by: share.map_or_else(ShardBy::default, RunShare::by),
        capacity,
        searches,
        blocks,
        host: Host::of(cpus),
    };
    serde_json::to_value(manifest)
}

/// The plan of a run, as its first event has it.
pub fn shape(experiment: &Experiment, capacity: Option<f64>, virtual_time: bool) -> Shape {
    let phase = |phase: &PhasePlan| PhaseShape {
        name: phase.name.clone(),
        seconds: phase.duration.as_secs_f64(),
        load: resolve::load_in_words(phase, capacity),
    };
    Shape {
        experiment: experiment.name.clone(),
        mode: if virtual_time { Mode::Virtual } else { Mode::Live },
        about: experiment.about.clone(),
        objective: experiment.objective,
        arms: experiment.labels(|_| true),
        blocks: experiment.repeat,
        capacity_per_s: capacity,
        capacity_changes: experiment.capacity_changes(capacity, virtual_time),
        phases: experiment.users.phases.iter().map(phase).collect(),
    }
}

impl Host {
    fn of(cpus: &Cpus) -> Self {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease");
        Self {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            generator_cpu: cpus.generator,
            target_cpu: cpus.target,
            kernel: kernel.map(|text| text.trim().to_owned()).unwrap_or_default(),
            clocksource: health::clock::clock_source(),
            descriptor_limit: health::descriptor_limit(),
            debug_build: cfg!(debug_assertions),
        }
    }
}

#[cfg(test)]
mod tests {
    use experiment::{Changes, read};

    use super::*;

    const FILE: &str = "
name: times
target: {app: emulated, service: {bimodal: {short: 5ms, long: 1500us, long_share: 0.5}}}
objective: {response_time: 1s}
users:
  model: url
  think: 20ms
  on_reject: {then: backoff, base: 100ms, cap: 90s}
  retry_after: 2m
  phases: [{name: all, users: 1, for: 1s}]
arms: [none]
";

    #[test]
    fn times_are_plain_numbers_of_milliseconds() {
        let experiment = read(FILE, &Changes::default()).expect("it is sound");
        let written = manifest(&experiment, Mode::Live, None, &[], (&[], None), &Cpus::anywhere()).expect("JSON");
        let at = |path: &str| written.pointer(path).unwrap_or_else(|| panic!("{path} in {written:#}")).clone();
        let behaviour = "/experiment/users/behaviour";
        assert_eq!(at(&format!("{behaviour}/on_reject/backoff/cap")), 90_000.0);
        assert_eq!(at(&format!("{behaviour}/on_failure/login/wait")), 5000.0);
        assert_eq!(at(&format!("{behaviour}/retry_after_at_most")), 120_000.0);
        assert_eq!(at("/experiment/target/app/service/bimodal/long"), 1.5);
        assert_eq!(at("/experiment/users/timeout"), 60_000.0);
        assert!(!written.to_string().contains("nanos"), "{written:#}");
    }

    /// `lab recheck` makes plans again from it.
    #[test]
    fn every_experiment_of_the_library_is_read_back_as_it_was_written() {
        let cpus = Cpus::anywhere();
        for entry in experiment::Library::all() {
            let experiment = read(entry.text, &Changes::default()).expect("it is sound");
            let written = manifest(&experiment, Mode::Virtual, None, &[], (&[], None), &cpus).expect("JSON");
            let text = written.to_string();
            let whole: Value = serde_json::from_str(&text).expect("JSON");
            let again: Experiment = serde_json::from_value(whole["experiment"].clone())
                .unwrap_or_else(|error| panic!("{}: {error}", entry.id));
            let again = manifest(&again, Mode::Virtual, None, &[], (&[], None), &cpus).expect("JSON");
            assert_eq!(again["experiment"], whole["experiment"], "{}", entry.id);
        }
    }

    #[test]
    fn a_model_is_named_by_its_file_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mine.yaml");
        std::fs::write(&path, workloads::mail::ARASHI).expect("written");
        let emulated = FILE.lines().find(|line| line.starts_with("target")).expect("it has one");
        let text = FILE.replace(emulated, "target: {app: arashi}");
        let text = text.replace("model: url", &format!("model: {}", path.display()));
        let experiment = read(&text, &Changes::default()).expect("it is sound");
        let written = manifest(&experiment, Mode::Live, None, &[], (&[], None), &Cpus::anywhere()).expect("JSON");
        assert_eq!(written.pointer("/experiment/users/model/mail/file"), Some(&Value::from("mine.yaml")));
        assert!(!written.to_string().contains(folder.path().to_str().expect("text")));
    }
}
