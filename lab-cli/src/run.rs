//! Runs experiments on live services: a target process, a load generator in this one, arm after arm.

mod arm;
mod assemble;
mod balancers;
mod best_static;
mod bound;
mod calibrate;
mod conductor;
mod cpus;
mod error;
mod folder;
mod headroom;
mod histograms;
mod join;
mod kernel;
mod manifest;
mod named_run;
mod offline;
mod policy_events;
pub mod progress;
mod rehearsal;
mod renew;
mod reports;
mod sampler;
mod seconds_log;
mod simulate;
mod site;
mod snapshot;
mod speed;
mod spool;
mod stop;
mod surroundings;
mod target;
mod touches;
mod watch;

use analysis::live::LiveEvent;

pub use calibrate::{
    Measured, Request as PlantRequest, as_table, as_yaml, caution, measure as measure_plant, search as search_capacity,
};
pub use conductor::{Finished, Request, conduct};
pub use cpus::Cpus;
pub use error::RunFailure;
pub use folder::utc;
pub use named_run::{RUNS, named as find_run};
pub use rehearsal::rehearse;
pub use snapshot::{Corpus, Scratch, cache_folder};
pub use stop::Stop;
pub use touches::Touches;

/// Reads the event stream as it happens.
pub trait Sink {
    /// One event.
    fn event(&mut self, event: &LiveEvent);
}

/// Every sink of a run.
#[derive(Default)]
pub struct Sinks(Vec<Box<dyn Sink + Send>>);

impl Sinks {
    /// Adds one.
    pub fn add(&mut self, sink: impl Sink + Send + 'static) {
        self.0.push(Box::new(sink));
    }

    /// Tells all.
    pub fn tell(&mut self, event: &LiveEvent) {
        for sink in &mut self.0 {
            sink.event(event);
        }
    }

    /// Tells all a line for people.
    pub fn note(&mut self, text: impl Into<String>) {
        self.tell(&LiveEvent::Note { text: text.into() });
    }
}

impl std::fmt::Debug for Sinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} sinks", self.0.len())
    }
}

impl Sink for crate::tui::Teller {
    fn event(&mut self, event: &LiveEvent) {
        self.tell(crate::tui::Told::Event(Box::new(event.clone())));
    }
}
