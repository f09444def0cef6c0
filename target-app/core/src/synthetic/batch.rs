//! Continuous batching: sequences of tokens that share the steps and the memory of one server.
//!
//! Each step gives every sequence in the batch one token, so that it takes longer the more there are; one that joins has its prompt read in its
//! first step (Orca, OSDI'22, section 3.1). A sequence holds memory for its prompt and for what has been generated. Who comes first is let in first, as
//! far as there is memory, with a hundredth left free; where the batch grows beyond it, the last that was let in leaves, and is the first to
//! come back, when all of its tokens are computed again (vLLM, SOSP'23, section 4.5, and its default `watermark`).
//!
//! Left out: blocks of memory, shared prefixes, a limit on the tokens of prompts in one step.

use std::{collections::VecDeque, time::Duration};

use controllers::{
    Timestamp,
    random::{lognormal_factor, mix},
};
use spec::GenerationSpec;

/// Tokens of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceTokens {
    /// Of its prompt, at least 1.
    pub prompt: u32,
    /// Of its answer, at least 1.
    pub output: u32,
}

impl SequenceTokens {
    /// Tokens of the request with this key; never more than memory holds.
    #[must_use]
    pub fn draw(spec: &GenerationSpec, seed: u64, key: u64) -> Self {
        let drawn = |mean: u32, purpose: u64| {
            let factor = lognormal_factor(spec.spread, mix(seed ^ mix(key ^ purpose)));
            (f64::from(mean) * factor).round() as u32
        };
        let prompt = drawn(spec.prompt, OF_PROMPT).clamp(1, (spec.memory / 2).max(1));
        Self { prompt, output: drawn(spec.output, OF_OUTPUT).clamp(1, spec.memory.saturating_sub(prompt).max(1)) }
    }
}

/// Separate the draws of a request.
const OF_PROMPT: u64 = 5;
const OF_OUTPUT: u64 = 6;

/// Share of memory that is left free when a sequence is let in.
const WATERMARK: f64 = 0.01;

/// Batch of a server, from step to step: [`prepare`](Self::prepare), [`add`](Self::add) while it [takes](Self::takes) any, [`begin`](Self::begin),
/// [`end`](Self::end). `J`: a job.
#[derive(Debug)]
pub struct TokenBatch<J> {
    spec: GenerationSpec,
    workers: u32,
    /// In order of admission.
    running: Vec<Sequence<J>>,
    /// Let in by nobody yet, or sent back.
    waiting: VecDeque<Sequence<J>>,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The next step is being prepared, and may have more sequences.
    Open,
    /// The same, without room for more.
    Crowded,
    /// Under way.
    Step,
}

#[derive(Debug)]
struct Sequence<J> {
    job: J,
    tokens: SequenceTokens,
    made: u32,
    /// What it holds is in memory: else the next step computes it.
    computed: bool,
    /// When a reader could have begun who is never kept waiting.
    readable: Timestamp,
}

impl<J> Sequence<J> {
    fn held(&self) -> u32 {
        self.tokens.prompt + self.made
    }
}

impl<J> TokenBatch<J> {
    /// An empty batch, to which no more jobs are added than there are workers.
    #[must_use]
    pub fn new(spec: GenerationSpec, workers: u32) -> Self {
        Self { spec, workers, running: Vec::new(), waiting: VecDeque::new(), phase: Phase::Open }
    }

    /// Makes room for the next token of each sequence, and lets in those who wait. Nothing while a step is under way.
    pub fn prepare(&mut self) {
        if self.phase == Phase::Step {
            return;
        }
        self.phase = Phase::Open;
        while self.running.len() > 1 && self.used() + self.running.len() as u64 > u64::from(self.spec.memory) {
            self.phase = Phase::Crowded;
            let last = self.running.pop().map(|last| Sequence { computed: false, ..last });
            last.into_iter().for_each(|last| self.waiting.push_front(last));
        }
        self.let_in();
    }

    /// True if another job may be [added](Self::add) to the next step.
    #[must_use]
    pub fn takes(&self) -> bool {
        self.phase == Phase::Open && self.waiting.is_empty()
    }

    /// Adds a job; it waits if there is no room.
    pub fn add(&mut self, job: J, tokens: SequenceTokens) {
        self.waiting.push_back(Sequence { job, tokens, made: 0, computed: false, readable: Timestamp::ZERO });
        self.let_in();
    }

    fn let_in(&mut self) {
        while self.phase == Phase::Open
            && let Some(next) = self.waiting.pop_front()
        {
            let wanted = self.used() + u64::from(next.held()) + self.running.len() as u64 + 1;
            if !self.running.is_empty() && wanted as f64 > f64::from(self.spec.memory) * (1.0 - WATERMARK) {
                return self.waiting.push_front(next);
            }
            self.running.push(next);
        }
    }

    /// Begins a step; returns its time at the usual speed. `None`: there is nothing to do, or one is under way.
    pub fn begin(&mut self) -> Option<Duration> {
        if self.phase == Phase::Step || self.running.is_empty() {
            return None;
        }
        self.phase = Phase::Step;
        let sequences = u32::try_from(self.running.len()).unwrap_or(u32::MAX);
        let read: u32 = self.running.iter().filter(|of| !of.computed).map(Sequence::held).sum();
        Some(self.spec.step + self.spec.sequence * sequences + self.spec.prefill * read)
    }

    /// Ends the step: each sequence has a token more. Returns the jobs whose answers are complete, each with the time from which its reader was
    /// never kept waiting: that of its first token, or later, if others came more slowly than people read.
    pub fn end(&mut self, now: Timestamp) -> Vec<(J, Timestamp)> {
        self.phase = Phase::Open;
        let pace = self.spec.tokens_per_s;
        let mut done = Vec::new();
        for mut of in std::mem::take(&mut self.running) {
            let read_until_here = pace.map(|pace| Duration::from_secs_f64(f64::from(of.made) / pace));
            if let Some(time) = read_until_here.or_else(|| (of.made == 0).then_some(Duration::ZERO)) {
                of.readable = of.readable.max(now - time);
            }
            of.made += 1;
            of.computed = true;
            if of.made < of.tokens.output { self.running.push(of) } else { done.push((of.job, of.readable)) }
        }
        done
    }

    /// Time until the first token of a request that has the server to itself.
    #[must_use]
    pub fn first_token(&self, tokens: SequenceTokens) -> Duration {
        self.spec.step + self.spec.sequence + self.spec.prefill * tokens.prompt
    }

    /// Sequences in it when it is full, in the mean.
    #[must_use]
    pub fn places(&self) -> f64 {
        self.spec.most(self.workers)
    }

    /// Drops all sequences.
    pub fn clear(&mut self) {
        *self = Self::new(self.spec, self.workers);
    }

    /// Share of memory in use, 0 to 1.
    #[must_use]
    pub fn memory(&self) -> f64 {
        (self.used() as f64 / f64::from(self.spec.memory)).min(1.0)
    }

    /// Tokens in memory.
    fn used(&self) -> u64 {
        self.running.iter().map(|of| u64::from(of.held())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: GenerationSpec = GenerationSpec {
        prompt: 10,
        output: 5,
        spread: 0.0,
        memory: 100,
        step: Duration::from_millis(20),
        sequence: Duration::from_millis(2),
        prefill: Duration::from_millis(1),
        tokens_per_s: None,
    };

    fn batch(memory: u32, tokens_per_s: Option<f64>) -> TokenBatch<char> {
        TokenBatch::new(GenerationSpec { memory, tokens_per_s, ..SPEC }, 8)
    }

    fn tokens(prompt: u32, output: u32) -> SequenceTokens {
        SequenceTokens { prompt, output }
    }

    /// Steps one after another from time zero, with jobs that come before a step; the time of each in milliseconds, and who is done then and readable
    /// when.
    fn run(batch: &mut TokenBatch<char>, come: &[(usize, char, SequenceTokens)]) -> Vec<(u64, Vec<(char, u64)>)> {
        let mut now = Timestamp::ZERO;
        let mut all = Vec::new();
        loop {
            batch.prepare();
            let step = all.len();
            come.iter().filter(|(at, ..)| *at == step).for_each(|(_, job, tokens)| batch.add(*job, *tokens));
            let Some(time) = batch.begin() else { return all };
            now = now + time;
            let done = batch.end(now).into_iter().map(|(job, at)| (job, at.as_nanos() / 1_000_000)).collect();
            all.push((time.as_millis() as u64, done));
        }
    }

    #[test]
    fn a_step_takes_longer_for_each_sequence_and_for_each_prompt() {
        let mut batch = batch(100, None);
        let come = [(0, 'a', tokens(10, 3)), (1, 'b', tokens(7, 2))];
        // 20 + 2 + 10; then b's prompt beside a: 20 + 4 + 7; both; a and b are done with it, with first tokens at 32 and 63 ms.
        let wanted = vec![(32, vec![]), (31, vec![]), (24, vec![('a', 32), ('b', 63)])];
        assert_eq!(run(&mut batch, &come), wanted);
        assert!(batch.memory() < 1e-9);
    }

    #[test]
    fn who_does_not_fit_waits_and_so_does_who_comes_after() {
        let mut batch = batch(50, None);
        batch.prepare();
        batch.add('a', tokens(30, 2));
        assert!(batch.takes() && (batch.memory() - 0.6).abs() < 1e-9);
        // 30 + 18, one token each, is 50; a hundredth is left free.
        batch.add('b', tokens(18, 1));
        assert!(!batch.takes());
        batch.add('c', tokens(1, 1));
        let jobs = |done: Vec<(char, u64)>| done.into_iter().map(|(job, _)| job).collect::<String>();
        let steps: Vec<_> = run(&mut batch, &[]).into_iter().map(|(time, done)| (time, jobs(done))).collect();
        assert_eq!(steps, [(52, String::new()), (22, "a".to_owned()), (43, "bc".to_owned())]);
    }

    #[test]
    fn the_last_gives_its_memory_back_and_is_computed_again() {
        // 10 + 10 and a token each make 22; 24 after two steps, and there is no room for two more.
        let mut batch = batch(25, None);
        let come = [(0, 'a', tokens(10, 4)), (0, 'b', tokens(10, 4))];
        let steps = run(&mut batch, &come);
        // a alone for two steps; then b, with 10 + 2 tokens to be computed.
        let wanted =
            [(44, vec![]), (24, vec![]), (22, vec![]), (22, vec![('a', 44)]), (34, vec![]), (22, vec![('b', 44)])];
        assert_eq!(steps, wanted);
    }

    #[test]
    fn a_reader_at_a_pace_waits_for_the_slowest_token() {
        // Ten tokens a second: those of a are there after 32, 54 and 76 ms, which is soon enough.
        assert_eq!(run(&mut batch(100, Some(10.0)), &[(0, 'a', tokens(10, 3))])[2].1, [('a', 32)]);
        // A hundred a second: the third, at 76 ms, is read 20 ms after the beginning.
        assert_eq!(run(&mut batch(100, Some(100.0)), &[(0, 'a', tokens(10, 3))])[2].1, [('a', 56)]);
    }

    #[test]
    fn tokens_belong_to_their_request_and_fit_into_memory() {
        let spec = GenerationSpec { spread: 0.8, ..SPEC };
        let draw = |key| SequenceTokens::draw(&spec, 1, key);
        assert_eq!((draw(7), SequenceTokens::draw(&SPEC, 1, 7)), (draw(7), tokens(10, 5)));
        let mean =
            |of: fn(SequenceTokens) -> u32| (0..20_000).map(|key| f64::from(of(draw(key)))).sum::<f64>() / 20_000.0;
        // Standard error: 10 × √(e^.64 − 1) / √20000 = 0.07.
        assert!((mean(|of| of.prompt) - 10.0).abs() < 0.35, "{}", mean(|of| of.prompt));
        let tight = GenerationSpec { memory: 12, ..spec };
        assert!(
            (0..1000)
                .map(|key| SequenceTokens::draw(&tight, 1, key))
                .all(|of| of.prompt <= 6 && of.prompt + of.output <= 12)
        );
    }
}
