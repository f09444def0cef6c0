//! Token generation as values: a server on which all requests share one batch and its memory.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Server that generates tokens, in steps that give each sequence of its batch one. Tokens of a request are drawn: lognormal factors of mean
/// 1 on the means of prompt and answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerationSpec {
    /// Mean tokens of a prompt.
    pub prompt: u32,
    /// Mean tokens of an answer.
    pub output: u32,
    /// Standard deviation of the logarithm of both; 0: all are alike.
    pub spread: f64,
    /// Tokens that memory holds of all sequences in the batch, prompts and answers so far (the KV cache).
    pub memory: u32,
    /// Time of a step, whatever is in the batch: reading the weights.
    #[serde(rename = "step_ms", with = "controllers::millis")]
    pub step: Duration,
    /// More time of a step for each sequence in it.
    #[serde(rename = "sequence_ms", with = "controllers::millis")]
    pub sequence: Duration,
    /// More time of a step for each token of a prompt that is read in it.
    #[serde(rename = "prefill_ms", with = "controllers::millis")]
    pub prefill: Duration,
    /// Tokens a second at which people read. `None`: an answer is there with its first token, however slowly the rest comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_s: Option<f64>,
}

impl GenerationSpec {
    /// Mean tokens that memory holds of a sequence in the batch, over its time there: its prompt, and half of its answer, of which long ones
    /// are there for longer (E\[out²\] / 2 E\[out\]).
    #[must_use]
    pub fn held(&self) -> f64 {
        let of_answer = f64::from(self.output) * libm::exp(self.spread * self.spread) / 2.0;
        (f64::from(self.prompt) + of_answer).max(1.0)
    }

    /// Sequences in the fullest batch, in the mean: as many as memory holds, and no more than there are workers.
    #[must_use]
    pub fn most(&self, workers: u32) -> f64 {
        (f64::from(self.memory) / self.held()).clamp(1.0, f64::from(workers.max(1)))
    }

    /// Time of the server for a request of so many tokens, in the fullest batch: its prompt alone, and its share of the steps.
    #[must_use]
    pub fn work(&self, workers: u32, prompt: f64, output: f64) -> Duration {
        let most = self.most(workers);
        self.prefill.mul_f64(prompt) + (self.step.div_f64(most) + self.sequence).mul_f64(output)
    }

    /// Requests a second that it can serve in the mean, with the fullest batch and nothing done twice.
    #[must_use]
    pub fn capacity(&self, workers: u32) -> Option<f64> {
        let work = self.work(workers, self.prompt.into(), self.output.into()).as_secs_f64();
        (work > 0.0).then(|| work.recip())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_batch_is_what_memory_holds_and_sets_the_capacity() {
        let ms = Duration::from_millis;
        // Mean square of the lengths: twice the square of the mean.
        let spread = libm::sqrt(libm::log(2.0));
        let [step, sequence, prefill] = [ms(20), ms(1), ms(1)];
        let of = GenerationSpec {
            prompt: 100,
            output: 300,
            spread,
            memory: 4000,
            step,
            sequence,
            prefill,
            tokens_per_s: None,
        };
        assert!((of.held() - 400.0).abs() < 1e-9 && (of.most(64) - 10.0).abs() < 1e-9);
        // 100 × 1 ms, and 300 × (20 / 10 + 1) ms: 1 s.
        assert!((of.capacity(64).expect("it takes time") - 1.0).abs() < 1e-6);
        // Four workers: 100 ms, and 300 × (5 + 1) ms.
        assert!((of.capacity(4).expect("it takes time") - 1.0 / 1.9).abs() < 1e-6);
    }
}
