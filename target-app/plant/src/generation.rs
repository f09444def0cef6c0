//! Token generation in a plant: one server, whose steps are work on its one core, so that faults slow them down as they do all work.

use controllers::{Class, JobId, Kind};
use service_core::synthetic::{SequenceTokens, TokenBatch, emulated_graph};
use spec::{GenerationSpec, graph::Graph};

use super::{
    backend::{Backend, Draws},
    context::PlantContext,
    cpu::{Step, Task},
    world::Plant,
};

/// Service that generates tokens. Its workers are the places in the batch: what they have not taken waits in the stage's queue.
#[derive(Debug)]
pub(super) struct PlantGeneration {
    pub(super) spec: GenerationSpec,
    pub(super) workers: u32,
    pub(super) seed: u64,
}

impl PlantGeneration {
    /// Name of the stage that works.
    pub(super) const STAGE: &str = "work";
    /// Its number.
    const NUMBER: usize = 0;
}

impl Backend for PlantGeneration {
    fn graph(&self) -> Graph {
        emulated_graph()
    }

    fn batch(&self) -> Option<TokenBatch<JobId>> {
        Some(TokenBatch::new(self.spec, self.workers))
    }

    fn tokens(&self, Draws { key, .. }: Draws) -> Option<SequenceTokens> {
        Some(SequenceTokens::draw(&self.spec, self.seed, key))
    }

    /// What it costs in the fullest batch, for whoever asks for costs.
    fn steps(&mut self, _: Kind, _: Class, Draws { key, .. }: Draws, _: f64) -> Vec<Step> {
        let SequenceTokens { prompt, output } = SequenceTokens::draw(&self.spec, self.seed, key);
        vec![Step { pool: None, demand: self.spec.work(self.workers, prompt.into(), output.into()) }]
    }
}

impl Plant {
    /// Begins the next step of a batch, unless one is under way: workers take jobs as long as there is room for them.
    pub(super) fn begin_step_of_batch(&mut self, cx: &mut dyn PlantContext) {
        let Some(batch) = &mut self.batch else { return };
        batch.prepare();
        while self.start_worker(PlantGeneration::NUMBER, cx) {}
        if let Some(time) = self.batch.as_mut().and_then(TokenBatch::begin) {
            self.cpu.run(cx.now(), Task::Batch, time);
        }
    }

    /// Ends a step: answers that are complete go out.
    pub(super) fn end_step_of_batch(&mut self, cx: &mut dyn PlantContext) {
        let done = self.batch.as_mut().map(|batch| batch.end(cx.now())).unwrap_or_default();
        for (id, readable) in done {
            self.requests.in_flight.get_mut(id).into_iter().for_each(|request| request.readable = Some(readable));
            self.step_done(id, cx);
        }
    }
}
