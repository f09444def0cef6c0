//! Runs experiments: block after block, arm after arm, on live services or in virtual time.
//!
//! `live` has a target process and a load generator in this one; `simulated` has a plant in place of both. Both worlds share what
//! lies beside these two: the conductor of a whole run, the recorder of an arm, and how an arm's summary is put together.

mod arm_recorder;
mod arm_summary;
mod calibrate;
mod conductor;
mod environment;
mod error;
#[cfg(feature = "live")]
mod live;
#[cfg(feature = "live")]
mod load;
mod manifest;
mod part;
mod policy_events;
mod preview;
pub mod progress;
mod reference;
mod sampler;
mod seconds;
#[cfg(feature = "live")]
mod sender;
mod simulated;
mod stop;
mod unread_requests;

use analysis::live::LiveEvent;

pub use arm_summary::parameters_of;
#[cfg(feature = "live")]
pub use calibrate::{
    PlantMeasurements, PlantRequest, PlantVerdict, ServiceMeasurements, ServiceRequest, as_table, as_yaml, caution,
    measure as measure_plant, measure_service, search as search_capacity,
};
pub use conductor::{Finished, RunRequest, conduct};
pub use environment::cpus::{Cpus, look_before};
pub use error::RunFailure;
#[cfg(feature = "live")]
pub use live::service::{
    Door, HttpAnswer, KeptConnection, RunningService, get as get_page, guard::guard, kept_connections,
    log_in as service_log,
};
#[cfg(feature = "live")]
pub use live::{
    carry_over::CarryOver,
    interventions::Interventions,
    snapshot::{Corpus, Scratch, cache_folder},
};
#[cfg(feature = "live")]
pub use load::{FinishedLoad, LoadEvent, LoadFolder, LoadRequest, context as load_context, run_load};
pub use manifest::WORLD;
pub use part::{RunShare, ShareOf, UsersShare};
pub use preview::{preview, previewed, rehearse};
#[cfg(feature = "live")]
pub use sender::{LoadNews, LoadSender, LoadToSend, OwnGenerator, SentLoad, SentSecond};
pub use simulated::{parallel::side_by_side, setup::VirtualSetup};
pub use stop::StopSignal;

#[cfg(not(feature = "live"))]
pub use crate::virtual_build::NoInterventions as Interventions;

/// Reads the event stream as it happens.
pub trait EventSink {
    /// One event.
    fn event(&mut self, event: &LiveEvent);
}

/// A function of the event.
impl<F: FnMut(&LiveEvent)> EventSink for F {
    fn event(&mut self, event: &LiveEvent) {
        self(event);
    }
}

/// Every sink of a run.
#[derive(Default)]
pub struct Sinks(Vec<Box<dyn EventSink + Send>>);

impl Sinks {
    /// Adds one.
    pub fn add(&mut self, sink: impl EventSink + Send + 'static) {
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
