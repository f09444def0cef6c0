//! Two runs that were opened on the screen: what `lab compare OLD NEW` finds, in every phase.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{
    judge::compare::{Across, across},
    manifest::Manifest,
};

use super::{
    sides::{NotCompared, alike, contests, entry},
    verdicts::asides,
};
use crate::{
    exit::Failure,
    screens::{OpenRun, RunsCompared},
};

/// The second of them against the first.
pub fn of_two(runs: [&OpenRun; 2]) -> RunsCompared {
    let mut left_out = Vec::new();
    let found = by_phase(runs, &mut left_out);
    let folders = runs.map(|run| run.folder.clone());
    match found {
        Ok((phases, notes)) => RunsCompared { folders, phases, notes: asides(&left_out, &notes) },
        Err(failure) => {
            let mut notes = asides(&left_out, &[]);
            notes.extend(failure.in_words().lines().map(str::to_owned));
            RunsCompared { folders, phases: BTreeMap::new(), notes }
        }
    }
}

/// Comparisons by phase, and notes for the reader.
type Found = (BTreeMap<String, Vec<Across>>, Vec<String>);

fn by_phase(runs: [&OpenRun; 2], left_out: &mut Vec<NotCompared>) -> Result<Found, Failure> {
    let mut entries = Vec::new();
    for run in runs {
        let manifest = Manifest::read(&run.folder).map_err(Failure::because)?;
        entries.extend(entry(run.name.clone(), None, manifest, run.summary.clone(), left_out));
    }
    let [old, new] = &entries[..] else { return Ok(Found::default()) };
    let new = std::slice::from_ref(new);
    let notes = alike(old, new, false)?;
    let contests = contests(old, new, left_out)?;
    let turns = contests.iter().flat_map(|contest| &contest.theirs.turns);
    let phases: BTreeSet<&str> = turns.flat_map(|turn| &turn.arm.phases).map(|phase| phase.name.as_str()).collect();
    let plan = &old.manifest.experiment.compare;
    let found = |phase: &str| (phase.to_owned(), across(&contests, phase, plan.metric, plan.margin, None));
    Ok((phases.into_iter().map(found).collect(), notes))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use analysis::summary::{Arm, ComparisonVerdict, LatencyObjective, Measured, PhaseSummary, RunSummary, Validity};

    use super::*;

    /// A run of two arms with so many blocks, whose plans are those of every run with this seed.
    fn run(folder: &Path, name: &str, blocks: u32, times: f64) -> OpenRun {
        let at = folder.join(name);
        std::fs::create_dir(&at).expect("made");
        let plan = |block: u32| serde_json::json!({"block": block, "seed": 1, "order": ["none", "seda"], "plan": block.to_string()});
        let manifest = serde_json::json!({
            "lab": "1", "mode": "virtual", "capacity": null, "blocks": (1..=blocks).map(plan).collect::<Vec<_>>(),
            "experiment": {
                "name": name.split('-').next(), "objective": LatencyObjective::default(), "thresholds": [], "compare": {},
                "arms": [{"label": "none", "policy": null}, {"label": "seda", "policy": null}],
            },
        });
        std::fs::write(at.join("manifest.json"), manifest.to_string()).expect("written");
        let arm = |policy: &str, block: u32| {
            let goodput_per_s = times * (20.0 + f64::from(block));
            let measured = Measured { planned: 900, sent: 900, goodput_per_s, ..Measured::default() };
            let phase = |name: &str| PhaseSummary {
                name: name.to_owned(),
                seconds: 30.0,
                measured: measured.clone(),
                ..PhaseSummary::default()
            };
            Arm {
                policy: policy.to_owned(),
                block,
                valid: true,
                phases: vec![phase("calm"), phase("spike")],
                ..Arm::default()
            }
        };
        let arms = (1..=blocks).flat_map(|block| ["none", "seda"].map(|policy| arm(policy, block))).collect();
        let summary = RunSummary { valid: true, arms, ..RunSummary::default() };
        let (timeline, events, made) = (Vec::new(), Vec::new(), Vec::new());
        OpenRun { name: name.to_owned(), folder: at, summary, timeline, events, shape: None, made, took: None }
    }

    #[test]
    fn every_arm_meets_its_like_in_every_phase_and_few_blocks_decide_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |name: &str, blocks, times| run(folder.path(), name, blocks, times);
        let many = of_two([&of("x-1", 8, 1.0), &of("x-2", 8, 1.3)]);
        assert_eq!(many.phases.keys().collect::<Vec<_>>(), ["calm", "spike"]);
        let goodput = |found: &RunsCompared| {
            let all = found.phases["spike"].iter().filter(|found| found.comparison.metric == "goodput_per_s");
            all.map(|found| found.comparison.clone()).collect::<Vec<_>>()
        };
        let [none, seda] = &goodput(&many)[..] else { panic!("two arms: {many:?}") };
        assert_eq!((none.baseline.as_str(), none.policy.as_str()), ("x-1:none", "x-2:none"));
        assert!(seda.verdict == ComparisonVerdict::Better && seda.interval.is_some(), "{seda:?}");
        let few = of_two([&of("x-3", 1, 1.0), &of("x-4", 1, 1.3)]);
        assert!(
            goodput(&few).iter().all(|found| found.interval.is_none() && found.verdict == ComparisonVerdict::Undecided)
        );
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |name: &str| run(folder.path(), name, 2, 1.0);
        let found = of_two([&of("x-1"), &of("y-1")]);
        assert!(
            found.phases.is_empty() && found.notes.iter().any(|note| note.contains("other experiment: x and y")),
            "{found:?}"
        );
        let mut spoiled = of("x-2");
        spoiled.summary.verdict = Validity::Invalid;
        let found = of_two([&of("x-3"), &spoiled]);
        assert_eq!((found.phases.len(), found.notes), (0, vec!["left out: x-2: INVALID ()".to_owned()]));
        let gone = OpenRun { folder: folder.path().join("gone"), ..of("x-4") };
        assert!(of_two([&of("x-5"), &gone]).notes[0].contains("manifest.json"));
    }
}
