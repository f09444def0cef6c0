//! Capacity of the target: while faults hinder it, and where a setting allows for less than what calm asks for.

use std::time::Duration;

use analysis::{live::CapacityChange, summary::PlannedLoad, text::rate};
use controllers::catalogue::{PolicySpec, Setting};
use installed::catalogue;
use spec::{
    EmulatedSpec, StageSpec,
    fault::{Fault, FaultKind, Hindrance, moments},
};

use super::{AppPlan, ArmPlan, Experiment, PhasePlan, measures::peak_of};

/// Share of the capacity up to which a load is calm.
const CALM: f64 = 0.9;

impl Experiment {
    /// Changes of the capacity while faults hinder the target, given its capacity without them: each stretch in which
    /// it is another.
    pub fn capacity_changes(&self, capacity: Option<f64>, virtual_time: bool) -> Vec<CapacityChange> {
        let faults = self.faults(virtual_time);
        let Some(usual) = capacity.filter(|usual| *usual > 0.0) else { return Vec::new() };
        let stretches = moments(faults.iter());
        let change = |pair: &[Duration]| {
            let per_s = self.capacity_at(&faults, pair[0], usual)?;
            let (from, to) = (pair[0].as_secs_f64(), pair[1].as_secs_f64());
            ((per_s - usual).abs() > 1e-6 * usual).then_some(CapacityChange { from, to, per_s })
        };
        stretches.windows(2).filter_map(change).collect()
    }

    fn capacity_at(&self, faults: &[Fault], moment: Duration, usual: f64) -> Option<f64> {
        let of_all = Hindrance::at(faults.iter(), moment);
        match &self.target.app {
            AppPlan::Emulated(emulated) => emulated.capacity_at(self.work_stage().workers, of_all.share(), of_all.wait),
            AppPlan::Tree(tree) => tree.capacity_under(|service, task| {
                Hindrance::at(faults.iter().filter(|fault| fault.hits_task(service, task)), moment)
            }),
            // How many of their requests are worked on side by side is not known.
            AppPlan::Arashi(_) | AppPlan::Checksum(_) | AppPlan::Generation(_) | AppPlan::Own(_) => {
                Some(usual * of_all.share())
            }
        }
    }

    /// The stage in which emulated servers work.
    pub(super) fn work_stage(&self) -> &StageSpec {
        self.target.stages.get("work").unwrap_or(&self.target.stage_defaults)
    }

    /// Emulated servers with their stages, by service.
    fn emulated_stages(&self) -> Vec<(&str, &EmulatedSpec, &StageSpec)> {
        match &self.target.app {
            AppPlan::Emulated(emulated) => vec![("work", emulated, self.work_stage())],
            AppPlan::Tree(tree) => tree.services.iter().map(|of| (of.name.as_str(), &of.emulated, &of.stage)).collect(),
            AppPlan::Arashi(_) | AppPlan::Checksum(_) | AppPlan::Generation(_) | AppPlan::Own(_) => Vec::new(),
        }
    }

    /// Says of an additional time that it holds workers, where there are too few for it to be a time alone.
    pub(super) fn slower_workers(&self) -> Vec<String> {
        let stages = self.emulated_stages();
        let slower = |fault: &Fault| {
            let FaultKind::Latency(wait) = fault.kind else { return None };
            let hit = |name: &str| !matches!(self.target.app, AppPlan::Tree(_)) || fault.hits(name);
            stages.iter().filter(|(name, _, _)| hit(name)).find_map(|(name, emulated, stage)| {
                let usual = emulated.capacity(stage.workers)?;
                let left = emulated.capacity_at(stage.workers, 1.0, wait).filter(|left| *left < usual * 0.999)?;
                let enough = (usual * (emulated.service.mean() + wait).as_secs_f64() - 1e-9).ceil();
                let (left, usual, workers) = (rate(left), rate(usual), stage.workers);
                Some(format!(
                    "virtual.faults: a request that takes {} ms longer holds one of the {workers} workers of {name} all that time: \
                     it can then do {left}/s of {usual}/s; with workers: {enough:.0} only the time changes",
                    wait.as_millis(),
                ))
            })
        };
        self.simulation.faults.iter().filter_map(slower).collect()
    }

    /// Says of settings that they must refuse a part of what comes in calm, as far as the service is known.
    pub(super) fn too_tight(&self) -> Vec<String> {
        let AppPlan::Emulated(emulated) = &self.target.app else { return Vec::new() };
        if !emulated.class_work.is_empty() || !emulated.types.is_empty() {
            return Vec::new();
        }
        let Some((phase, asked)) = self.nominal_capacity().and_then(|usual| self.calm(usual)) else {
            return Vec::new();
        };
        let mean = emulated.service.mean().as_secs_f64();
        let busy = emulated.servers.min(self.work_stage().workers);
        let of_arm = |arm: &ArmPlan| {
            // What knows what no policy can know has no setting of its own.
            let policy = Some(&arm.policy).filter(|_| arm.hindsight.is_none())?;
            if let Some(servers) = number(policy, "sentry", "servers").filter(|servers| *servers < f64::from(busy)) {
                return Some(format!(
                    "{}: servers: {servers:.0} before {busy} that work: it takes what is inside for {:.1} times the work that it is, \
                     and refuses in calm",
                    arm.label,
                    f64::from(busy) / servers,
                ));
            }
            let (setting, per_s) = self.ceiling(policy, mean).filter(|(_, per_s)| *per_s < asked * 0.999)?;
            Some(format!(
                "{}: with {setting} at most {}/s get in of the {}/s in {}: {:.0} % are refused that the service could do",
                arm.label,
                rate(per_s),
                rate(asked),
                phase.name,
                100.0 * (1.0 - per_s / asked),
            ))
        };
        self.arms.iter().filter_map(of_arm).collect()
    }

    /// A setting that bounds what gets in, and the bound in requests a second of which each works so long in the mean.
    fn ceiling(&self, policy: &PolicySpec, mean: f64) -> Option<(String, f64)> {
        if let Some(rate) = number(policy, "fixed-rate", "rate") {
            return Some((format!("rate: {rate}/s"), rate));
        }
        // Little's law: each is inside for as long as it works, at least.
        if let Some(max) = number(policy, "concurrency", "max") {
            return Some((format!("max: {max:.0}"), max / mean));
        }
        let limit = number(policy, "quota", "default_limit").or_else(|| {
            let quota = setting(policy, "sre", "quota")? == Setting::Flag(true);
            quota.then(|| number(policy, "sre", "default_limit"))?
        })?;
        // Customers whose own limits are known to nobody but who wrote them.
        let one_customer = self.users.marks.customer.is_empty() && !policy.settings.contains_key("limits");
        one_customer.then(|| {
            (format!("default_limit: {limit} CPU s/s for the one customer that all requests are of"), limit / mean)
        })
    }

    /// The highest load that the service can do with ease, in requests a second, where all of them cost the same in the mean.
    fn calm(&self, usual: f64) -> Option<(&PhasePlan, f64)> {
        let asked = |phase: &PhasePlan| match peak_of(&phase.loads, Some(usual))? {
            PlannedLoad::RequestsPerS(asked) => Some(asked),
            PlannedLoad::Users(_) | PlannedLoad::SessionsPerS(_) => None,
        };
        let phases = self.users.phases.iter().filter_map(|phase| Some((phase, asked(phase)?)));
        let calm = phases.filter(|(_, asked)| *asked <= CALM * usual);
        calm.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// A parameter of a policy with this name, as set or by default.
fn setting(policy: &PolicySpec, name: &str, parameter: &str) -> Option<Setting> {
    let entry = catalogue().find(&policy.name).filter(|_| policy.name == name)?;
    catalogue().check(entry, policy.place, &policy.settings).ok()?.setting(parameter).cloned()
}

fn number(policy: &PolicySpec, name: &str, parameter: &str) -> Option<f64> {
    match setting(policy, name, parameter)? {
        Setting::Text(text) => text.strip_suffix("/s")?.trim().parse().ok(),
        other => other.number(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Changes, read};

    /// 200 requests a second, 120 of which come.
    const FILE: &str = "
name: hindered
target: {app: emulated, service: {exponential: 20ms}, servers: 4, workers: 4}
objective: {percentile: 90, response_time: 200ms}
users: {model: url, phases: [{name: calm, requests: 0.6x, for: 60s}, {name: over, requests: 2x, for: 30s}]}
arms: [none]
";

    fn with(set: &[&str]) -> Experiment {
        let set = set.iter().map(|set| (*set).to_owned()).collect();
        read(FILE, &Changes { set, ..Changes::default() }).expect("it is sound")
    }

    fn changes(faults: &str) -> Vec<[f64; 3]> {
        let experiment = with(&[&format!("virtual={{faults: [{faults}]}}")]);
        let changes = experiment.capacity_changes(experiment.nominal_capacity(), true);
        assert_eq!(experiment.capacity_changes(Some(200.0), false), [], "a live run does none of it");
        changes.into_iter().map(|change| [change.from, change.to, change.per_s.round()]).collect()
    }

    #[test]
    fn the_capacity_follows_faults_also_where_they_overlap() {
        assert_eq!(changes("{at: 10s, for: 10s, capacity: 0.3}"), [[10.0, 20.0, 60.0]]);
        assert_eq!(changes("{at: 10s, for: 10s, crash: true}"), [[10.0, 20.0, 0.0]]);
        // 4 / (20 + 100 ms).
        assert_eq!(changes("{at: 10s, for: 10s, latency: 100ms}"), [[10.0, 20.0, 33.0]]);
        let both = "{at: 10s, for: 10s, capacity: 0.5}, {at: 15s, for: 10s, latency: 100ms}";
        // 4 / (40 + 100 ms) between.
        assert_eq!(changes(both), [[10.0, 15.0, 100.0], [15.0, 20.0, 29.0], [20.0, 25.0, 33.0]]);
        let apart = "{at: 10s, for: 5s, capacity: 0.5}, {at: 20s, for: 5s, capacity: 2}";
        assert_eq!(changes(apart), [[10.0, 15.0, 100.0], [20.0, 25.0, 400.0]]);
    }

    #[test]
    fn of_a_tree_the_service_with_the_least_left_counts() {
        let text = FILE.replace(
            "{app: emulated, service: {exponential: 20ms}, servers: 4, workers: 4}",
            "{app: tree, services: {front: {service: 1ms, servers: 8, workers: 8, calls: [back]}, \
             back: {service: 10ms, servers: 1, workers: 1, tasks: 4}}}",
        );
        let text = text
            + "virtual: {faults: [{at: 5s, for: 5s, crash: true, service: back, task: 1}, \
             {at: 20s, for: 5s, capacity: 0.01, service: front}]}\n";
        let experiment = read(&text, &Changes::default()).expect("it is sound");
        let changes = |live: bool| experiment.capacity_changes(Some(400.0), !live);
        let of = |from, to, per_s| CapacityChange { from, to, per_s };
        assert_eq!(changes(true), [of(5.0, 10.0, 300.0)], "its processes are killed in a live run too");
        assert_eq!(changes(false)[0], of(5.0, 10.0, 300.0));
        assert_eq!(changes(false)[1].per_s.round(), 80.0);
    }

    #[test]
    fn an_additional_time_is_said_to_hold_workers_where_they_are_few() {
        let slower = |workers| {
            let fault = "virtual={faults: [{at: 10s, for: 10s, latency: 100ms}]}";
            with(&[&format!("target.workers={workers}"), fault]).virtual_cautions()
        };
        let [said] = &slower(4)[..] else { panic!("{:?}", slower(4)) };
        assert!(said.contains("it can then do 33/s of 200/s; with workers: 24 only the time changes"), "{said}");
        assert_eq!([slower(23).len(), slower(24).len()], [1, 0]);
    }

    #[test]
    fn settings_that_must_refuse_calm_load_are_named_with_what_they_refuse() {
        let said = |arm: &str| with(&[&format!("arms=[{arm}]")]).cautions();
        let one = |arm: &str, words: &str| {
            assert!(matches!(&said(arm)[..], [said] if said.contains(words)), "{arm}: {:?}", said(arm));
        };
        one("fixed-rate", "with rate: 100/s at most 100/s get in of the 120/s in calm: 17 % are refused");
        one("{fixed-rate: {rate: 60/s}}", "50 % are refused");
        // 2.4 are at work in the mean.
        one("{concurrency: {max: 2}}", "with max: 2 at most 100/s get in");
        one("quota", "default_limit: 1 CPU s/s for the one customer that all requests are of at most 50/s get in");
        one("sre", "58 % are refused");
        one("sentry", "servers: 1 before 4 that work");
        for good in ["none", "{fixed-rate: {rate: 120/s}}", "{concurrency: {max: 3}}", "{sentry: {servers: 4}}"] {
            assert_eq!(said(good), [] as [String; 0], "{good}");
        }
        for good in ["{sre: {quota: false}}", "{quota: {default_limit: 3}}", "{quota: {limits: {0: 9}}}", "seda"] {
            assert!(said(good).iter().all(|said| !said.contains("get in")), "{good}: {:?}", said(good));
        }
    }
}
