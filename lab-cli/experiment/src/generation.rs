//! Keys of a service that generates tokens.

use std::{ops::RangeInclusive, time::Duration};

use spec::GenerationSpec;

use super::{
    fields::Fields,
    keys::{Table as _, count, number, table, time},
};

const STEP: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_secs(60);
const MORE: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(60);
const TOKENS: RangeInclusive<u32> = 1..=10_000_000;

/// Most sequences in a batch of which nothing is said: the default of vLLM's `max_num_seqs` in its first years.
pub(super) const SEQUENCES: u32 = 256;

table! {
    /// Token generation.
    pub(super) struct GenerationKeys as "Generation" {
        prompt: Option<u32> = count(TOKENS).wanted("161"), "Mean tokens of a prompt";
        output: Option<u32> = count(TOKENS).wanted("338"), "Mean tokens of an answer";
        spread: f64 = number(0.0..=3.0).or(0.0).example("0.8"), "Spread of both: each is drawn by request, lognormal with that mean, and this is the standard deviation of the logarithm. 0: all are alike";
        memory: Option<u32> = count(TOKENS).wanted("15700"), "Tokens that memory holds (the KV cache): of prompts and answers so far of all in the batch. `workers`, 256 unless said, are the most requests in it";
        step: Option<Duration> = time(STEP).wanted("17ms"), "Time of a step, which gives each request in the batch a token, whatever is in it";
        sequence: Option<Duration> = time(MORE).wanted("300us"), "More time of a step for each request in the batch";
        prefill: Option<Duration> = time(MORE).wanted("170us"), "More time of a step for each token of prompts that is read in it";
    }
}

/// Reads the server.
pub fn generation(fields: &Fields<'_>) -> Option<GenerationSpec> {
    let GenerationKeys { prompt, output, spread, memory, step, sequence, prefill } = GenerationKeys::read(fields);
    let (prompt, output, memory) = (prompt?, output?, memory?);
    let (step, sequence, prefill) = (step?, sequence?, prefill?);
    Some(GenerationSpec { prompt, output, spread, memory, step, sequence, prefill, tokens_per_s: None })
}

#[cfg(test)]
mod tests {
    use crate::{Changes, Experiment, plan::AppPlan, read};

    const FILE: &str = "
name: tokens
about: tokens
target: {app: generation, prompt: 100, output: 300, memory: 4000, step: 20ms, sequence: 1ms, prefill: 1ms}
objective: {response_time: 1s}
users: {model: url, phases: [{name: calm, requests: 0.5x, for: 60s}]}
arms: [none, {none: {as: few, target: {workers: 4}}}]
";

    fn with(set: &[&str]) -> Result<Experiment, String> {
        let changes = Changes { set: set.iter().map(|set| (*set).to_owned()).collect(), ..Changes::default() };
        let problems =
            |all: Vec<crate::problem::FileProblem>| all.into_iter().map(|of| format!("{}: {}\n", of.key, of.message));
        read(FILE, &changes).map_err(|all| problems(all).collect())
    }

    #[test]
    fn its_batch_has_256_places_and_every_arm_has_the_pace_of_the_objective() {
        let experiment = with(&["objective.tokens_per_s=10"]).expect("it is good");
        assert!(experiment.virtual_only());
        assert_eq!(experiment.target.stage_defaults.workers, 256);
        for arm in &experiment.arms {
            let AppPlan::Generation(tokens) = &arm.target(&experiment).app else { panic!("{arm:?}") };
            assert_eq!(tokens.tokens_per_s, Some(10.0));
        }
        // 4000 tokens, 100 + 300 / 2 for each: 16 in the batch. 100 ms, and 300 × (20 / 16 + 1) ms.
        let capacity = experiment.nominal_capacity().expect("it is known");
        assert!((capacity - 1.0 / 0.775).abs() < 1e-9, "{capacity}");
    }

    #[test]
    fn what_response_times_are_is_said() {
        let said = |set: &[&str]| with(set).expect("it is good").virtual_cautions().concat();
        assert!(said(&[]).contains("the first token, however slowly"), "{}", said(&[]));
        assert!(said(&["objective.tokens_per_s=5"]).contains("who read 5 a second"));
    }

    #[test]
    fn tokens_are_of_no_other_target_and_none_of_its_keys_can_be_missing() {
        let other = with(&["target={app: emulated, service: 10ms}", "objective.tokens_per_s=10"]);
        assert_eq!(other.expect_err("no tokens"), "objective: answers of this target do not come in tokens\n");
        let missing = with(&["target={app: generation, prompt: 5}"]).expect_err("too few keys");
        assert_eq!(missing.lines().count(), 5, "{missing}");
    }
}
