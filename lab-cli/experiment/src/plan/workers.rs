//! Workers of a service of one's own, where a policy has to know their number.

use controllers::Place;
use installed::catalogue;
use spec::proxy::ProxySpec;

use super::{AppPlan, Experiment};

impl Experiment {
    /// Says of policies that hold requests until a worker is free that the number of workers is a guess.
    pub(super) fn guessed_workers(&self) -> Vec<String> {
        let AppPlan::Own(own) = &self.target.app else { return Vec::new() };
        if own.concurrency.is_some() || self.simulation.costs.service.is_some() {
            return Vec::new();
        }
        let guess = ProxySpec::default().concurrency;
        let guessing = self.arms.iter().filter(|arm| arm.policy.counts_workers(catalogue(), Place::Single));
        let said = |label: &str| {
            format!(
                "{label} lets {guess} requests in and holds the others, and {guess} is a guess: say how many the service works on at once \
                 (target.concurrency; lab calibrate measures it), or let a limit make the room (compose: {{limit: gradient2, queue: …}})"
            )
        };
        guessing.map(|arm| said(&arm.label)).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Changes, read};

    #[test]
    fn a_queue_that_guesses_is_named_unless_somebody_said_or_a_limit_makes_the_room() {
        let said = |of_target: &str, arm: &str| {
            let text = format!(
                "name: x\ntarget: {{url: 'http://127.0.0.1:8080'{of_target}}}\nobjective: {{response_time: 1s}}\n\
                 users: {{model: url, phases: [{{name: x, requests: 5/s, for: 5s}}]}}\narms: [{arm}]\n"
            );
            read(&text, &Changes::default()).expect("it is sound").cautions()
        };
        for arm in ["codel", "fail-at-scale", "{compose: {select: dagor, queue: fair-queue}}"] {
            let cautions = said("", arm);
            assert!(matches!(&cautions[..], [one] if one.contains("lets 64 requests in")), "{arm}: {cautions:?}");
        }
        for (of_target, arm) in
            [(", concurrency: 8", "codel"), ("", "gradient2"), ("", "{compose: {limit: gradient2, queue: codel}}")]
        {
            assert_eq!(said(of_target, arm), [] as [String; 0], "{arm}");
        }
    }
}
